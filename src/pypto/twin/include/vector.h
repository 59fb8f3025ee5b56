/* CPU twin: elementwise vector instructions. What they compute: lanes.h; how they walk: walk.h. */
#ifndef PYPTO_TWIN_VECTOR_H
#define PYPTO_TWIN_VECTOR_H

#include "forms.h"
#include "lanes.h"

namespace pypto_twin {

/* Type pairs (dst, sources) of the multiply-add instructions; half to float only for MulAddDst, Axpy. */
template <typename T, typename U, typename Function>
constexpr void require_ternary()
{
    if constexpr (is_same<Function, lane::MulAddDstLanes>) {
        static_assert((is_same<T, U> && one_of<T, half, float>) || (is_same<T, float> && is_same<U, half>),
                      "MulAddDst, Axpy: the device has these instructions only for half, half; "
                      "float, float; float, half");
    } else {
        static_assert(is_same<T, U> && one_of<T, half, float>,
                      "FusedMulAdd, MulAddRelu: the device has these instructions only for half, float");
    }
}

}  // namespace pypto_twin

namespace AscendC {

/* Three forms: count; bit mask and repeat; length mask and repeat. */
#define PYPTO_TWIN_BINARY(Name, Function, ...)                                                   \
    template <typename T>                                                                        \
    PYPTO_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0,                \
                           const LocalTensor<T>& src1, const pypto_twin::SignedCount& count)     \
    {                                                                                            \
        PYPTO_TWIN_TYPES(#Name, T, __VA_ARGS__);                                                 \
        PYPTO_RULES(Name, count(count).tensor(dst).tensor(src0).tensor(src1));                   \
        pypto_twin::count_form(pypto_twin::lane::Function{}, static_cast<uint32_t>(count), dst,  \
                               src0, src1);                                                      \
    }                                                                                            \
    template <typename T, bool isSetMask = true>                                                 \
    PYPTO_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0,                \
                           const LocalTensor<T>& src1, const uint64_t mask[],                    \
                           const pypto_twin::Field8 repeatTime, const BinaryRepeatParams& p)                \
    {                                                                                            \
        using namespace pypto_twin;                                                              \
        PYPTO_TWIN_TYPES(#Name, T, __VA_ARGS__);                                                 \
        PYPTO_RULES(Name, repeats(repeatTime).lanes<isSetMask>(mask, sizeof(T))                  \
                              .tensor(dst, p.dstBlkStride, p.dstRepStride)                       \
                              .tensor(src0, p.src0BlkStride, p.src0RepStride)                    \
                              .tensor(src1, p.src1BlkStride, p.src1RepStride).fields(p));        \
        bits_form<isSetMask>(lane::Function{}, mask, repeatTime,                                 \
                             operand(dst, p.dstBlkStride, p.dstRepStride),                       \
                             operand(src0, p.src0BlkStride, p.src0RepStride),                    \
                             operand(src1, p.src1BlkStride, p.src1RepStride));                   \
    }                                                                                            \
    template <typename T, bool isSetMask = true>                                                 \
    PYPTO_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0,                \
                           const LocalTensor<T>& src1, uint64_t mask, const pypto_twin::Field8 repeatTime,  \
                           const BinaryRepeatParams& p)                                          \
    {                                                                                            \
        using namespace pypto_twin;                                                              \
        PYPTO_TWIN_TYPES(#Name, T, __VA_ARGS__);                                                 \
        PYPTO_RULES(Name, repeats(repeatTime).lanes<isSetMask>(mask)                             \
                              .tensor(dst, p.dstBlkStride, p.dstRepStride)                       \
                              .tensor(src0, p.src0BlkStride, p.src0RepStride)                    \
                              .tensor(src1, p.src1BlkStride, p.src1RepStride).fields(p));        \
        length_form<isSetMask>(lane::Function{}, mask, repeatTime,                               \
                               outstanding(dst, p.dstBlkStride, p.dstRepStride),                     \
                               outstanding(src0, p.src0BlkStride, p.src0RepStride),                  \
                               outstanding(src1, p.src1BlkStride, p.src1RepStride));                 \
    }

PYPTO_TWIN_BINARY(Add, AddLanes, half, float, int16_t, int32_t)
PYPTO_TWIN_BINARY(Sub, SubLanes, half, float, int16_t, int32_t)
PYPTO_TWIN_BINARY(Mul, MulLanes, half, float, int16_t, int32_t)
PYPTO_TWIN_BINARY(Max, MaxLanes, half, float, int16_t, int32_t)
PYPTO_TWIN_BINARY(Min, MinLanes, half, float, int16_t, int32_t)
PYPTO_TWIN_BINARY(Div, DivLanes, half, float)
PYPTO_TWIN_BINARY(And, AndLanes, int16_t, uint16_t)
PYPTO_TWIN_BINARY(Or, OrLanes, int16_t, uint16_t)
PYPTO_TWIN_BINARY(AddRelu, AddReluLanes, half, float, int16_t)
PYPTO_TWIN_BINARY(SubRelu, SubReluLanes, half, float, int16_t)
#undef PYPTO_TWIN_BINARY

#define PYPTO_TWIN_UNARY(Name, Function, ...)                                                    \
    template <typename T>                                                                        \
    PYPTO_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                 \
                           const pypto_twin::SignedCount& count)                                 \
    {                                                                                            \
        PYPTO_TWIN_TYPES(#Name, T, __VA_ARGS__);                                                 \
        PYPTO_RULES(Name, count(count).tensor(dst).tensor(src));                                 \
        pypto_twin::count_form(pypto_twin::lane::Function{}, static_cast<uint32_t>(count), dst,  \
                               src);                                                             \
    }                                                                                            \
    template <typename T, bool isSetMask = true>                                                 \
    PYPTO_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                 \
                           const uint64_t mask[], const pypto_twin::Field8 repeatTime,                      \
                           const UnaryRepeatParams& p)                                           \
    {                                                                                            \
        using namespace pypto_twin;                                                              \
        PYPTO_TWIN_TYPES(#Name, T, __VA_ARGS__);                                                 \
        PYPTO_RULES(Name, repeats(repeatTime).lanes<isSetMask>(mask, sizeof(T))                  \
                              .tensor(dst, p.dstBlkStride, p.dstRepStride)                       \
                              .tensor(src, p.srcBlkStride, p.srcRepStride).fields(p));           \
        bits_form<isSetMask>(lane::Function{}, mask, repeatTime,                                 \
                             operand(dst, p.dstBlkStride, p.dstRepStride),                       \
                             operand(src, p.srcBlkStride, p.srcRepStride));                      \
    }                                                                                            \
    template <typename T, bool isSetMask = true>                                                 \
    PYPTO_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask,  \
                           const pypto_twin::Field8 repeatTime, const UnaryRepeatParams& p)                 \
    {                                                                                            \
        using namespace pypto_twin;                                                              \
        PYPTO_TWIN_TYPES(#Name, T, __VA_ARGS__);                                                 \
        PYPTO_RULES(Name, repeats(repeatTime).lanes<isSetMask>(mask)                             \
                              .tensor(dst, p.dstBlkStride, p.dstRepStride)                       \
                              .tensor(src, p.srcBlkStride, p.srcRepStride).fields(p));           \
        length_form<isSetMask>(lane::Function{}, mask, repeatTime,                               \
                               outstanding(dst, p.dstBlkStride, p.dstRepStride),                     \
                               outstanding(src, p.srcBlkStride, p.srcRepStride));                    \
    }

PYPTO_TWIN_UNARY(Not, NotLanes, int16_t, uint16_t)
PYPTO_TWIN_UNARY(Relu, ReluLanes, half, float, int32_t)
PYPTO_TWIN_UNARY(Abs, AbsLanes, half, float)
PYPTO_TWIN_UNARY(Exp, ExpLanes, half, float)
PYPTO_TWIN_UNARY(Ln, LnLanes, half, float)
PYPTO_TWIN_UNARY(Sqrt, SqrtLanes, half, float)
PYPTO_TWIN_UNARY(Rsqrt, RsqrtLanes, half, float)
PYPTO_TWIN_UNARY(Reciprocal, ReciprocalLanes, half, float)
#undef PYPTO_TWIN_UNARY

#define PYPTO_TWIN_SCALAR(Name, Function, ...)                                                   \
    template <typename T, bool isSetMask = true>                                                 \
    PYPTO_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                 \
                           const T& scalarValue, const pypto_twin::SignedCount& count)           \
    {                                                                                            \
        using namespace pypto_twin;                                                              \
        PYPTO_TWIN_TYPES(#Name, T, __VA_ARGS__);                                                 \
        PYPTO_RULES(Name, count(count).tensor(dst).tensor(src));                                 \
        count_form(lane::Function<lane::Register<T>>{lane::scalar_of(scalarValue)},                   \
                   static_cast<uint32_t>(count), dst, src);                                      \
    }                                                                                            \
    template <typename T, bool isSetMask = true>                                                 \
    PYPTO_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                 \
                           const T& scalarValue, const uint64_t mask[],                          \
                           const pypto_twin::Field8 repeatTime, const UnaryRepeatParams& p)                 \
    {                                                                                            \
        using namespace pypto_twin;                                                              \
        PYPTO_TWIN_TYPES(#Name, T, __VA_ARGS__);                                                 \
        PYPTO_RULES(Name, repeats(repeatTime).lanes<isSetMask>(mask, sizeof(T))                  \
                              .tensor(dst, p.dstBlkStride, p.dstRepStride)                       \
                              .tensor(src, p.srcBlkStride, p.srcRepStride).fields(p));           \
        bits_form<isSetMask>(lane::Function<lane::Register<T>>{lane::scalar_of(scalarValue)}, mask,   \
                             repeatTime, operand(dst, p.dstBlkStride, p.dstRepStride),           \
                             operand(src, p.srcBlkStride, p.srcRepStride));                      \
    }                                                                                            \
    template <typename T, bool isSetMask = true>                                                 \
    PYPTO_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                 \
                           const T& scalarValue, uint64_t mask, const pypto_twin::Field8 repeatTime,        \
                           const UnaryRepeatParams& p)                                           \
    {                                                                                            \
        using namespace pypto_twin;                                                              \
        PYPTO_TWIN_TYPES(#Name, T, __VA_ARGS__);                                                 \
        PYPTO_RULES(Name, repeats(repeatTime).lanes<isSetMask>(mask)                             \
                              .tensor(dst, p.dstBlkStride, p.dstRepStride)                       \
                              .tensor(src, p.srcBlkStride, p.srcRepStride).fields(p));           \
        length_form<isSetMask>(lane::Function<lane::Register<T>>{lane::scalar_of(scalarValue)}, mask, \
                               repeatTime, outstanding(dst, p.dstBlkStride, p.dstRepStride),         \
                               outstanding(src, p.srcBlkStride, p.srcRepStride));                    \
    }

PYPTO_TWIN_SCALAR(Adds, AddsLanes, half, float, int16_t, int32_t)
PYPTO_TWIN_SCALAR(Muls, MulsLanes, half, float, int16_t, int32_t)
PYPTO_TWIN_SCALAR(Maxs, MaxsLanes, half, float, int16_t, int32_t)
PYPTO_TWIN_SCALAR(Mins, MinsLanes, half, float, int16_t, int32_t)
PYPTO_TWIN_SCALAR(LeakyRelu, LeakyReluLanes, half, float)
#undef PYPTO_TWIN_SCALAR

/* Shift amounts 0 .. bits of T. roundEn adds the last bit shifted out. */
template <typename T>
PYPTO_INLINE void ShiftLeft(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                            const T& scalarValue, const pypto_twin::SignedCount& count)
{
    PYPTO_TWIN_TYPES("ShiftLeft", T, int16_t, uint16_t, int32_t, uint32_t);
    PYPTO_RULES(ShiftLeft, count(count).tensor(dst).tensor(src).value(static_cast<int64_t>(scalarValue)));
    pypto_twin::count_form(pypto_twin::lane::ShiftLeftLanes{static_cast<uint32_t>(scalarValue)},
                           static_cast<uint32_t>(count), dst, src);
}
template <typename T>
PYPTO_INLINE void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                             const T& scalarValue, const pypto_twin::SignedCount& count)
{
    PYPTO_TWIN_TYPES("ShiftRight", T, int16_t, uint16_t, int32_t, uint32_t);
    PYPTO_RULES(ShiftRight, count(count).tensor(dst).tensor(src).value(static_cast<int64_t>(scalarValue)));
    pypto_twin::count_form(
        pypto_twin::lane::ShiftRightLanes{static_cast<uint32_t>(scalarValue), false},
        static_cast<uint32_t>(count), dst, src);
}
#define PYPTO_TWIN_SHIFT(mask_type, form)                                                        \
    template <typename T, bool isSetMask = true>                                                 \
    PYPTO_INLINE void ShiftLeft(const LocalTensor<T>& dst, const LocalTensor<T>& src,            \
                                const T& scalarValue, mask_type, const pypto_twin::Field8 repeatTime,       \
                                const UnaryRepeatParams& p)                                      \
    {                                                                                            \
        using namespace pypto_twin;                                                              \
        PYPTO_TWIN_TYPES("ShiftLeft", T, int16_t, uint16_t, int32_t, uint32_t);                  \
        PYPTO_RULES(ShiftLeft, repeats(repeatTime).lanes<isSetMask>(mask, sizeof(T))             \
                              .tensor(dst, p.dstBlkStride, p.dstRepStride)                       \
                              .tensor(src, p.srcBlkStride, p.srcRepStride).fields(p)             \
                              .value(static_cast<int64_t>(scalarValue)));                        \
        form<isSetMask>(lane::ShiftLeftLanes{static_cast<uint32_t>(scalarValue)}, mask,          \
                        repeatTime, operand(dst, p.dstBlkStride, p.dstRepStride),                \
                        operand(src, p.srcBlkStride, p.srcRepStride));                           \
    }                                                                                            \
    template <typename T, bool isSetMask = true>                                                 \
    PYPTO_INLINE void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src,           \
                                 const T& scalarValue, mask_type, const pypto_twin::Field8 repeatTime,      \
                                 const UnaryRepeatParams& p, bool roundEn = false)               \
    {                                                                                            \
        using namespace pypto_twin;                                                              \
        PYPTO_TWIN_TYPES("ShiftRight", T, int16_t, uint16_t, int32_t, uint32_t);                 \
        PYPTO_RULES(ShiftRight, repeats(repeatTime).lanes<isSetMask>(mask, sizeof(T))            \
                              .tensor(dst, p.dstBlkStride, p.dstRepStride)                       \
                              .tensor(src, p.srcBlkStride, p.srcRepStride).fields(p)             \
                              .value(static_cast<int64_t>(scalarValue)));                        \
        form<isSetMask>(lane::ShiftRightLanes{static_cast<uint32_t>(scalarValue), roundEn},      \
                        mask, repeatTime, operand(dst, p.dstBlkStride, p.dstRepStride),          \
                        operand(src, p.srcBlkStride, p.srcRepStride));                           \
    }
PYPTO_TWIN_SHIFT(uint64_t mask, length_form)
PYPTO_TWIN_SHIFT(const uint64_t mask[], bits_form)
#undef PYPTO_TWIN_SHIFT

/* Instructions whose dst is a source too. U is the type of the other operands. */
#define PYPTO_TWIN_TERNARY(Name, Function)                                                       \
    template <typename T, typename U>                                                            \
    PYPTO_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src0,                \
                           const LocalTensor<U>& src1, const pypto_twin::SignedCount& count)     \
    {                                                                                            \
        pypto_twin::require_ternary<T, U, pypto_twin::lane::Function>();                         \
        PYPTO_RULES(Name, count(count).tensor(dst).tensor(src0).tensor(src1));                   \
        pypto_twin::count_form(pypto_twin::lane::Function{}, static_cast<uint32_t>(count), dst,  \
                               dst, src0, src1);                                                 \
    }                                                                                            \
    template <typename T, typename U, bool isSetMask = true>                                     \
    PYPTO_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src0,                \
                           const LocalTensor<U>& src1, const uint64_t mask[],                    \
                           const pypto_twin::Field8 repeatTime, const BinaryRepeatParams& p)                \
    {                                                                                            \
        using namespace pypto_twin;                                                              \
        require_ternary<T, U, lane::Function>();                                                 \
        PYPTO_RULES(Name, repeats(repeatTime).lanes<isSetMask>(mask, sizeof(T))                  \
                              .tensor(dst, p.dstBlkStride, p.dstRepStride)                       \
                              .tensor(src0, p.src0BlkStride, p.src0RepStride)                    \
                              .tensor(src1, p.src1BlkStride, p.src1RepStride).fields(p));        \
        const Operand<T> to = operand(dst, p.dstBlkStride, p.dstRepStride);                      \
        bits_form<isSetMask>(lane::Function{}, mask, repeatTime, to, to,                         \
                             operand(src0, p.src0BlkStride, p.src0RepStride),                    \
                             operand(src1, p.src1BlkStride, p.src1RepStride));                   \
    }                                                                                            \
    template <typename T, typename U, bool isSetMask = true>                                     \
    PYPTO_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src0,                \
                           const LocalTensor<U>& src1, uint64_t mask, const pypto_twin::Field8 repeatTime,  \
                           const BinaryRepeatParams& p)                                          \
    {                                                                                            \
        using namespace pypto_twin;                                                              \
        require_ternary<T, U, lane::Function>();                                                 \
        PYPTO_RULES(Name, repeats(repeatTime).lanes<isSetMask>(mask)                             \
                              .tensor(dst, p.dstBlkStride, p.dstRepStride)                       \
                              .tensor(src0, p.src0BlkStride, p.src0RepStride)                    \
                              .tensor(src1, p.src1BlkStride, p.src1RepStride).fields(p));        \
        const Operand<T> to = operand(dst, p.dstBlkStride, p.dstRepStride);                      \
        length_form<isSetMask>(lane::Function{}, mask, repeatTime, to, to,                       \
                               outstanding(src0, p.src0BlkStride, p.src0RepStride),                  \
                               outstanding(src1, p.src1BlkStride, p.src1RepStride));                 \
    }

PYPTO_TWIN_TERNARY(MulAddDst, MulAddDstLanes)
PYPTO_TWIN_TERNARY(FusedMulAdd, FusedMulAddLanes)
PYPTO_TWIN_TERNARY(MulAddRelu, MulAddReluLanes)
PYPTO_TWIN_TERNARY(FusedMulAddRelu, MulAddReluLanes)
#undef PYPTO_TWIN_TERNARY

/* dst += src * scalar */
template <typename T, typename U>
PYPTO_INLINE void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalarValue,
                       const pypto_twin::SignedCount& count)
{
    using namespace pypto_twin;
    require_ternary<T, U, lane::MulAddDstLanes>();
    PYPTO_RULES(Axpy, count(count).tensor(dst).tensor(src));
    count_form(lane::AxpyLanes{static_cast<float>(scalarValue)},
               static_cast<uint32_t>(count), dst, dst, src);
}
template <typename T, typename U, bool isSetMask = true>
PYPTO_INLINE void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalarValue,
                       const uint64_t mask[], const pypto_twin::Field8 repeatTime, const UnaryRepeatParams& p)
{
    using namespace pypto_twin;
    require_ternary<T, U, lane::MulAddDstLanes>();
    PYPTO_RULES(Axpy, repeats(repeatTime).lanes<isSetMask>(mask, sizeof(T))
                          .tensor(dst, p.dstBlkStride, p.dstRepStride)
                          .tensor(src, p.srcBlkStride, p.srcRepStride).fields(p));
    const Operand<T> to = operand(dst, p.dstBlkStride, p.dstRepStride);
    bits_form<isSetMask>(lane::AxpyLanes{static_cast<float>(scalarValue)}, mask,
                         repeatTime, to, to, operand(src, p.srcBlkStride, p.srcRepStride));
}
template <typename T, typename U, bool isSetMask = true>
PYPTO_INLINE void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalarValue,
                       uint64_t mask, const pypto_twin::Field8 repeatTime, const UnaryRepeatParams& p)
{
    using namespace pypto_twin;
    require_ternary<T, U, lane::MulAddDstLanes>();
    PYPTO_RULES(Axpy, repeats(repeatTime).lanes<isSetMask>(mask)
                          .tensor(dst, p.dstBlkStride, p.dstRepStride)
                          .tensor(src, p.srcBlkStride, p.srcRepStride).fields(p));
    const Operand<T> to = operand(dst, p.dstBlkStride, p.dstRepStride);
    length_form<isSetMask>(lane::AxpyLanes{static_cast<float>(scalarValue)}, mask,
                           repeatTime, to, to, outstanding(src, p.srcBlkStride, p.srcRepStride));
}

}  // namespace AscendC

#endif
