/* CPU twin: instructions that fill a tensor: Duplicate, Brcb, CreateVecIndex, Arange.
 *
 * NUM-INDEX-1  CreateVecIndex and Arange compute first + i * step in double (integers: wrapping) and
 *              round once to the type.
 */
#ifndef PYPTO_TWIN_FILL_H
#define PYPTO_TWIN_FILL_H

#include "forms.h"
#include "move.h"

namespace AscendC {

/* Strides in blocks. */
struct BrcbRepeatParams {
    pypto_twin::Field16 dstBlkStride = 1;
    pypto_twin::Field16 dstRepStride = 8;

    constexpr BrcbRepeatParams() = default;
    constexpr BrcbRepeatParams(pypto_twin::Field16 blockStride, pypto_twin::Field16 repeatStride)
        : dstBlkStride(blockStride), dstRepStride(repeatStride)
    {
    }
};

}  // namespace AscendC

PYPTO_FIELDS(BrcbRepeatParams, wide(p.dstBlkStride), wide(p.dstRepStride))

namespace pypto_twin {

/* The unsigned integer of T's size: moving data needs no more. */
template <uint32_t size>
struct PatternOf;
template <>
struct PatternOf<2> {
    using type = uint16_t;
    using Vector = simd::u16x16;
};
template <>
struct PatternOf<4> {
    using type = uint32_t;
    using Vector = simd::u32x8;
};
template <typename T>
using Pattern = typename PatternOf<sizeof(T)>::type;

template <typename T>
PYPTO_INLINE Operand<Pattern<T>> pattern_of(const Operand<T>& at)
{
    return {reinterpret_cast<Pattern<T>*>(at.address), at.block, at.repeat, at.position};
}

namespace lane {

template <typename V, typename E>
struct ConstantLanes {
    E value;
    PYPTO_INLINE V operator()() const { return V{} + value; }
};

template <typename T>
PYPTO_INLINE auto constant(const T& value)
{
    using Vector = typename PatternOf<sizeof(T)>::Vector;
    return ConstantLanes<Vector, Pattern<T>>{__builtin_bit_cast(Pattern<T>, value)};
}

/* Element i of the sequence first, first + step, ... */
template <typename T>
PYPTO_INLINE T sequence(T first, T step, uint32_t i)
{
    if constexpr (is_same<T, float>) {
        return static_cast<float>(double(first) + double(step) * i);
    } else if constexpr (is_same<T, half>) {
        return half(double(float(first)) + double(float(step)) * i);
    } else {
        return static_cast<T>(static_cast<uint32_t>(first) + static_cast<uint32_t>(step) * i);
    }
}

}  // namespace lane

/* Brcb on elements of T's size. */
template <typename T>
PYPTO_HIDDEN PYPTO_OUTLINE void broadcast(const Operand<T>& to, const AscendC::LocalTensor<T>& src,
                                          uint32_t repeats)
{
    if (!on_instruction(PIPE_V)) {
        set_mask(~uint64_t{0}, ~uint64_t{0});
        return;
    }
    report<kBlockBytes / sizeof(T), true>(to, repeats, kRepeatBytes / sizeof(T));
    const T* const from = src.GetPhyAddr();
    on_read(src.Position(), from, uint64_t{repeats} * 8 * sizeof(T), PIPE_V);
    for (uint32_t r = 0; r < repeats; ++r) {
        for (uint32_t k = 0; k < 8; ++k) {
            const auto block = lane::constant(from[8 * r + k]);
            T* const filled = address_of<kBlockBytes / sizeof(T)>(to, r, k);
            if constexpr (kChecked) {
                Flow flow;
                flow.from(src.Position(), from + 8 * r + k, sizeof(T));
                flow.to(to.position, filled, kBlockBytes);
            }
            simd::store(filled, block());
        }
    }
    set_mask(~uint64_t{0}, ~uint64_t{0});
}

}  // namespace pypto_twin

namespace AscendC {

template <typename T>
PYPTO_INLINE void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, const pypto_twin::SignedCount& count)
{
    using namespace pypto_twin;
    PYPTO_TWIN_TYPES("Duplicate", T, PYPTO_TWIN_MOVABLE);
    PYPTO_RULES(Duplicate, count(count).tensor(dst));
    count_form(lane::constant(scalarValue), static_cast<uint32_t>(count),
               dst.template ReinterpretCast<Pattern<T>>());
}
template <typename T, bool isSetMask = true>
PYPTO_INLINE void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, uint64_t mask,
                            const pypto_twin::Field8 repeatTime,
                            const pypto_twin::Field16 dstBlockStride,
                            const pypto_twin::Field8 dstRepeatStride)
{
    using namespace pypto_twin;
    PYPTO_TWIN_TYPES("Duplicate", T, PYPTO_TWIN_MOVABLE);
    PYPTO_RULES(Duplicate, repeats(repeatTime).lanes<isSetMask>(mask)
                               .tensor(dst, dstBlockStride, dstRepeatStride)
                               .strides(dstBlockStride, dstRepeatStride));
    length_form<isSetMask>(lane::constant(scalarValue), mask, repeatTime,
                           pattern_of(operand(dst, dstBlockStride, dstRepeatStride)));
}
template <typename T, bool isSetMask = true>
PYPTO_INLINE void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, const uint64_t mask[],
                            const pypto_twin::Field8 repeatTime,
                            const pypto_twin::Field16 dstBlockStride,
                            const pypto_twin::Field8 dstRepeatStride)
{
    using namespace pypto_twin;
    PYPTO_TWIN_TYPES("Duplicate", T, PYPTO_TWIN_MOVABLE);
    PYPTO_RULES(Duplicate, repeats(repeatTime).lanes<isSetMask>(mask, sizeof(T))
                               .tensor(dst, dstBlockStride, dstRepeatStride)
                               .strides(dstBlockStride, dstRepeatStride));
    bits_form<isSetMask>(lane::constant(scalarValue), mask, repeatTime,
                         pattern_of(operand(dst, dstBlockStride, dstRepeatStride)));
}

/* Each repeat takes eight source elements and fills one block with each. */
template <typename T>
PYPTO_INLINE void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                       const pypto_twin::Field8 repeatTime, const BrcbRepeatParams& p)
{
    using namespace pypto_twin;
    PYPTO_TWIN_TYPES("Brcb", T, PYPTO_TWIN_MOVABLE);
    PYPTO_RULES(Brcb, repeats(repeatTime).tensor(dst, p.dstBlkStride, p.dstRepStride)
                          .bytes(src, uint64_t{repeatTime} * 8 * sizeof(T)).fields(p));
    broadcast(pattern_of(operand(dst, p.dstBlkStride, p.dstRepStride)),
              src.template ReinterpretCast<Pattern<T>>(), repeatTime);
}

/* first, first + 1, ... */
template <typename T>
PYPTO_INLINE void CreateVecIndex(const LocalTensor<T>& dst, const T& firstValue, pypto_twin::UnsignedCount count)
{
    using namespace pypto_twin;
    PYPTO_TWIN_TYPES("CreateVecIndex", T, half, float, int16_t, int32_t);
    PYPTO_RULES(CreateVecIndex, count(count).tensor(dst));
    if (!on_instruction(PIPE_V)) {
        set_mask(~uint64_t{0}, ~uint64_t{0});
        return;
    }
    on_write(dst.Position(), dst.GetPhyAddr(), uint64_t{count} * sizeof(T), PIPE_V);
    T* const to = dst.GetPhyAddr();
    on_define(dst.Position(), to, uint64_t{count} * sizeof(T));
    for (uint32_t i = 0; i < count; ++i) to[i] = lane::sequence(firstValue, T(1), i);
    set_mask(~uint64_t{0}, ~uint64_t{0});
}

}  // namespace AscendC

namespace pypto_twin {

template <typename T>
PYPTO_INLINE void index_repeats(const Operand<T>& to, T first, const Coverage& covered)
{
    constexpr uint32_t lanes = kRepeatBytes / sizeof(T), block = kBlockBytes / sizeof(T);
    if (!on_instruction(PIPE_V)) {
        return;
    }
    report_covered<block, true>(to, covered);
    for (uint32_t r = 0; r < covered.repeats; ++r) {
        for (uint32_t j = 0; j < lanes; ++j) {
            if (!covered.active(r, j)) continue;
            T* const element = address_of<block>(to, r, j / block) + j % block;
            on_define(to.position, element, sizeof(T));
            *element = lane::sequence(first, T(1), r * lanes + j);
        }
    }
}

}  // namespace pypto_twin

namespace AscendC {

template <typename T>
PYPTO_INLINE void CreateVecIndex(LocalTensor<T>& dst, const T& firstValue, uint64_t mask,
                                 pypto_twin::Field8 repeatTime, pypto_twin::Field16 dstBlkStride,
                                 pypto_twin::Field8 dstRepStride)
{
    using namespace pypto_twin;
    PYPTO_TWIN_TYPES("CreateVecIndex", T, half, float, int16_t, int32_t);
    PYPTO_RULES(CreateVecIndex, repeats(repeatTime).lanes<true>(mask)
                                    .tensor(dst, dstBlkStride, dstRepStride).strides(dstBlkStride, dstRepStride));
    index_repeats(operand(dst, dstBlkStride, dstRepStride), firstValue,
                  cover<true>(mask, repeatTime, kRepeatBytes / sizeof(T)));
}
template <typename T>
PYPTO_INLINE void CreateVecIndex(LocalTensor<T>& dst, const T& firstValue, uint64_t mask[],
                                 pypto_twin::Field8 repeatTime, pypto_twin::Field16 dstBlkStride,
                                 pypto_twin::Field8 dstRepStride)
{
    using namespace pypto_twin;
    PYPTO_TWIN_TYPES("CreateVecIndex", T, half, float, int16_t, int32_t);
    PYPTO_RULES(CreateVecIndex, repeats(repeatTime).lanes<true>(static_cast<const uint64_t*>(mask), sizeof(T))
                                    .tensor(dst, dstBlkStride, dstRepStride).strides(dstBlkStride, dstRepStride));
    index_repeats(operand(dst, dstBlkStride, dstRepStride), firstValue,
                  cover<true>(static_cast<const uint64_t*>(mask), repeatTime, kRepeatBytes / sizeof(T)));
}

/* firstValue + i * diffValue */
template <typename T>
PYPTO_INLINE void Arange(const LocalTensor<T>& dst, const T firstValue, const T diffValue,
                         const pypto_twin::SignedCount count)
{
    using namespace pypto_twin;
    PYPTO_TWIN_TYPES("Arange", T, half, float, int16_t, int32_t);
    PYPTO_RULES(Arange, count(count).tensor(dst).value(static_cast<float>(diffValue) < 0.0f ? -1 : 0));
    if (!on_instruction(PIPE_V)) {
        leave_count_form();
        return;
    }
    const uint32_t length = static_cast<uint32_t>(count);
    on_write(dst.Position(), dst.GetPhyAddr(), uint64_t{length} * sizeof(T), PIPE_V);
    T* const to = dst.GetPhyAddr();
    on_define(dst.Position(), to, uint64_t{length} * sizeof(T));
    for (uint32_t i = 0; i < length; ++i) to[i] = lane::sequence(firstValue, diffValue, i);
    leave_count_form();
}
template <typename T>
PYPTO_INLINE void ArithProgression(const LocalTensor<T>& dst, const T firstValue, const T diffValue,
                                   const pypto_twin::SignedCount count)
{
    Arange(dst, firstValue, diffValue, count);
}

}  // namespace AscendC

namespace pypto_twin {

/* `count` elements of `size` bytes of global memory, by MTE3. */
PYPTO_SHARED void fill_global(Place dst, uint32_t size, uint64_t value, uint64_t count);

}  // namespace pypto_twin

namespace AscendC {

/* Global memory; the device copies from a buffer of the UB, before any InitBuffer. */
template <typename T>
PYPTO_INLINE void Fill(GlobalTensor<T>& gmWorkspaceAddr, const uint64_t size, const T value)
{
    using namespace pypto_twin;
    PYPTO_TWIN_TYPES("Fill", T, uint16_t, int16_t, half, uint32_t, int32_t, float);
    PYPTO_RULES(Fill_GM, bytes(gmWorkspaceAddr, size * sizeof(T)));
    fill_global(place_of(gmWorkspaceAddr), sizeof(T), raw_bits(value), size);
}
template <typename T>
PYPTO_INLINE void InitOutput(GlobalTensor<T> gmWorkspaceAddr, const uint32_t size, const T value = 0)
{
    Fill(gmWorkspaceAddr, uint64_t{size}, value);
}
template <typename T>
PYPTO_INLINE void InitGlobalMemory(GlobalTensor<T>& gmWorkspaceAddr, const uint64_t size, const T value)
{
    Fill(gmWorkspaceAddr, size, value);
}

}  // namespace AscendC

#endif
