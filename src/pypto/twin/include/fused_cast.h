/* CPU twin: arithmetic fused with a conversion: AddReluCast, SubReluCast, MulCast, AddDeqRelu.
 *
 * NUM-FUSED-1  the arithmetic is done in the source type (half rounds, int16_t wraps), then converted
 *              as Cast does with RINT: half to even, saturating.
 * NUM-FUSED-2  AddDeqRelu: max(float(a + b) * scale of SetDeqScale, 0), the sum wrapping, rounded to half.
 */
#ifndef PYPTO_TWIN_FUSED_CAST_H
#define PYPTO_TWIN_FUSED_CAST_H

#include "cast.h"
#include "lanes.h"

namespace pypto_twin {
namespace simd {

typedef int8_t i8x16 __attribute__((vector_size(16)));

/* Beside int16_t a step has sixteen lanes. */
template <>
struct Lanes<int8_t, 16> {
    static PYPTO_INLINE i8x16 pack(i16x16 v)
    {
        const i16x16 low = i16x16{} - int16_t{128}, high = i16x16{} + int16_t{127};
        v = select_bits(v < low, low, v);
        v = select_bits(v > high, high, v);
        return __builtin_convertvector(v, i8x16);
    }
};

}  // namespace simd

namespace lane {

template <typename D, typename S, typename Operation>
struct FusedCastLanes {
    template <typename V>
    PYPTO_INLINE auto operator()(V a, V b) const
    {
        const V value = Operation{}(a, b);
        if constexpr (is_same<S, half>) {
            const f32x8 rounded = from_half(simd::to_half(value));
            return CastLanes<D, half, AscendC::RoundMode::CAST_RINT>{}(rounded);
        } else {
            return value; /* float to half and int16_t to int8_t convert as they are packed */
        }
    }
};

struct AddDeqReluLanes {
    float scale;
    PYPTO_INLINE f32x8 operator()(i32x8 a, i32x8 b) const
    {
        return rectify(to_float(AddLanes{}(a, b)) * splat(scale));
    }
};

}  // namespace lane

template <typename D, typename S, bool multiplies>
constexpr void require_fused_cast()
{
    if constexpr (multiplies) {
        static_assert(is_same<S, half> && one_of<D, int8_t, uint8_t>,
                      "MulCast: the device has this instruction only for half to int8_t, uint8_t");
    } else {
        static_assert((is_same<S, half> && is_same<D, int8_t>) || (is_same<S, int16_t> && is_same<D, int8_t>) ||
                          (is_same<S, float> && is_same<D, half>),
                      "AddReluCast, SubReluCast: the device has these instructions only for half to int8_t, "
                      "int16_t to int8_t, float to half");
    }
}

}  // namespace pypto_twin

namespace AscendC {

#define PYPTO_TWIN_FUSED_CAST(Name, Operation, multiplies)                                       \
    template <typename T, typename U>                                                            \
    inline void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src0,                      \
                     const LocalTensor<U>& src1, const pypto_twin::UnsignedCount count)          \
    {                                                                                            \
        using namespace pypto_twin;                                                              \
        require_fused_cast<T, U, multiplies>();                                                  \
        PYPTO_RULES(Name, count(count).tensor(dst).tensor(src0).tensor(src1));                   \
        count_form(lane::FusedCastLanes<T, U, lane::Operation>{}, count, dst, src0, src1);       \
    }                                                                                            \
    template <typename T, typename U, bool isSetMask = true>                                     \
    inline void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src0,                      \
                     const LocalTensor<U>& src1, uint64_t mask, const pypto_twin::Field8 repeatTime,        \
                     const BinaryRepeatParams& p)                                                \
    {                                                                                            \
        using namespace pypto_twin;                                                              \
        require_fused_cast<T, U, multiplies>();                                                  \
        PYPTO_RULES(Name, repeats(repeatTime).lanes<isSetMask>(mask)                             \
                              .tensor(dst, p.dstBlkStride, p.dstRepStride)                       \
                              .tensor(src0, p.src0BlkStride, p.src0RepStride)                    \
                              .tensor(src1, p.src1BlkStride, p.src1RepStride).fields(p));        \
        length_form<isSetMask>(lane::FusedCastLanes<T, U, lane::Operation>{}, mask, repeatTime,  \
                               operand(dst, p.dstBlkStride, p.dstRepStride),                     \
                               operand(src0, p.src0BlkStride, p.src0RepStride),                  \
                               operand(src1, p.src1BlkStride, p.src1RepStride));                 \
    }                                                                                            \
    template <typename T, typename U, bool isSetMask = true>                                     \
    inline void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src0,                      \
                     const LocalTensor<U>& src1, const uint64_t mask[],                          \
                     const pypto_twin::Field8 repeatTime, const BinaryRepeatParams& p)                      \
    {                                                                                            \
        using namespace pypto_twin;                                                              \
        require_fused_cast<T, U, multiplies>();                                                  \
        PYPTO_RULES(Name, repeats(repeatTime).lanes<isSetMask>(mask, sizeof(U))                  \
                              .tensor(dst, p.dstBlkStride, p.dstRepStride)                       \
                              .tensor(src0, p.src0BlkStride, p.src0RepStride)                    \
                              .tensor(src1, p.src1BlkStride, p.src1RepStride).fields(p));        \
        bits_form<isSetMask>(lane::FusedCastLanes<T, U, lane::Operation>{}, mask, repeatTime,    \
                             operand(dst, p.dstBlkStride, p.dstRepStride),                       \
                             operand(src0, p.src0BlkStride, p.src0RepStride),                    \
                             operand(src1, p.src1BlkStride, p.src1RepStride));                   \
    }
PYPTO_TWIN_FUSED_CAST(AddReluCast, AddReluLanes, false)
PYPTO_TWIN_FUSED_CAST(SubReluCast, SubReluLanes, false)
PYPTO_TWIN_FUSED_CAST(MulCast, MulLanes, true)
#undef PYPTO_TWIN_FUSED_CAST

template <typename T, typename U>
inline void AddDeqRelu(const LocalTensor<T>& dst, const LocalTensor<U>& src0,
                       const LocalTensor<U>& src1, const pypto_twin::SignedCount& count)
{
    using namespace pypto_twin;
    static_assert(is_same<T, half> && is_same<U, int32_t>,
                  "AddDeqRelu: the device has this instruction only for int32_t to half");
    PYPTO_RULES(AddDeqRelu, count(count).tensor(dst).tensor(src0).tensor(src1));
    count_form(lane::AddDeqReluLanes{state().deq_scale}, static_cast<uint32_t>(count), dst, src0, src1);
}

}  // namespace AscendC

#endif
