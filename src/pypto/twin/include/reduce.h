/* CPU twin: reductions of a repeat or a block: Whole/Block/Pair/RepeatReduce*, Reduce* new names.
 *
 * NUM-SUM-1  a repeat is summed as a tree: lane groups of eight are halved (group i plus group
 *            i + n / 2), then the eight lanes (lane i plus lane i + 4, + 2, + 1). Lanes masked off
 *            count as +0. The order depends on nothing else.
 * NUM-SUM-2  sums of half round to half after every addition, so they overflow at 65504.
 * NUM-RMAX-1 maxima and minima: NaN wins; the index is that of the first NaN, else of the first
 *            extreme value (-0 equals +0).
 * NUM-RED-1  a repeat, block or pair without an active lane leaves its result unwritten.
 */
#ifndef PYPTO_TWIN_REDUCE_H
#define PYPTO_TWIN_REDUCE_H

#include "compare.h"

namespace AscendC {

enum class ReduceType : uint8_t { SUM = 0, MAX, MIN };
enum class ReduceOrder : uint8_t {
    ORDER_VALUE_INDEX = 0,
    ORDER_INDEX_VALUE,
    ORDER_ONLY_VALUE,
    ORDER_ONLY_INDEX
};

}  // namespace AscendC

namespace pypto_twin {
namespace reduce {

using namespace simd;

PYPTO_INLINE f32x8 round_to_half(f32x8 v) { return from_half(to_half(v)); }

template <typename T>
struct Sum {
    static constexpr bool indexed = false;
    static PYPTO_INLINE float neutral() { return 0.0f; }
    static PYPTO_INLINE f32x8 combine(f32x8 a, f32x8 b)
    {
        if constexpr (is_same<T, half>) return round_to_half(a + b);
        return normal(a + b);
    }
};
template <typename T>
struct Max {
    static constexpr bool indexed = true;
    static PYPTO_INLINE float neutral() { return -__builtin_inff(); }
    static PYPTO_INLINE f32x8 combine(f32x8 a, f32x8 b)
    {
        return assume::reduce_nan_ignore ? maximum_number(a, b) : maximum(a, b);
    }
};
template <typename T>
struct Min {
    static constexpr bool indexed = true;
    static PYPTO_INLINE float neutral() { return __builtin_inff(); }
    static PYPTO_INLINE f32x8 combine(f32x8 a, f32x8 b)
    {
        return assume::reduce_nan_ignore ? minimum_number(a, b) : minimum(a, b);
    }
};

/* The lower `width` lanes of v combined with the next `width` ones. */
template <typename Op>
PYPTO_INLINE float across(f32x8 v)
{
    const f32x4 four[2] = {low_half(v), high_half(v)};
    const f32x8 a = Op::combine(join(four[0], four[0]), join(four[1], four[1]));
    const f32x8 b = Op::combine(a, f32x8{a[2], a[3], a[2], a[3], a[2], a[3], a[2], a[3]});
    const f32x8 c = Op::combine(b, f32x8{b[1], b[1], b[1], b[1], b[1], b[1], b[1], b[1]});
    return c[0];
}

template <typename T>
PYPTO_INLINE f32x8 load(const T* from)
{
    return normal(simd::Lanes<T, 8>::load(from));
}

/* Eight lanes; those masked off replaced. */
template <typename T>
PYPTO_INLINE f32x8 load_masked(const T* from, uint32_t bits, float neutral)
{
    const f32x8 value = load(from);
    return bits == 0xff ? value : select(mask_of_bits(bits), value, splat(neutral));
}

/* All active lanes of repeat r. */
template <typename Op, typename T>
PYPTO_INLINE float repeat(const Operand<T>& src, uint32_t r, const Coverage& covered)
{
    constexpr uint32_t groups = kRepeatBytes / sizeof(T) / 8;
    f32x8 v[groups];
    for (uint32_t g = 0; g < groups; ++g) {
        const uint32_t bits = covered.bits<8>(r, g * 8);
        v[g] = bits == 0 ? splat(Op::neutral())
                         : load_masked(address_of<8>(src, r, g), bits, Op::neutral());
    }
    for (uint32_t width = groups / 2; width != 0; width /= 2) {
        for (uint32_t g = 0; g < width; ++g) v[g] = Op::combine(v[g], v[g + width]);
    }
    return across<Op>(v[0]);
}

/* The first active lane of repeat r that holds `value`, or NaN if value is NaN. */
template <typename T>
PYPTO_INLINE uint32_t find(const Operand<T>& src, uint32_t r, const Coverage& covered, float value)
{
    constexpr uint32_t groups = kRepeatBytes / sizeof(T) / 8;
    const f32x8 wanted = splat(value);
    for (uint32_t g = 0; g < groups; ++g) {
        const uint32_t bits = covered.bits<8>(r, g * 8);
        if (bits == 0) continue;
        const f32x8 lanes = load(address_of<8>(src, r, g));
        const uint32_t hits = bits & (value != value ? lane_bits(lanes != lanes) : lane_bits(lanes == wanted));
        if (hits != 0) return g * 8 + static_cast<uint32_t>(__builtin_ctz(hits));
    }
    return 0;
}

template <typename T>
PYPTO_INLINE void put_index(T* to, uint32_t index)
{
    if constexpr (sizeof(T) == 2) {
        const uint16_t narrow = static_cast<uint16_t>(index);
        __builtin_memcpy(to, &narrow, 2);
    } else {
        __builtin_memcpy(to, &index, 4);
    }
}

/* What is known of the register that keeps the last result. */
template <bool is_extreme>
PYPTO_INLINE void keep_flow(const Flow& flow)
{
#if defined(PYPTO_TWIN_CHECKED)
    (is_extreme ? state().registers.extreme : state().registers.sum) = flow.origin();
#endif
    (void)flow;
}

/* One result a repeat. `pitch`: results from one to the next, in units of the order. */
template <typename Op, typename T>
PYPTO_HIDDEN PYPTO_OUTLINE void whole(const AscendC::LocalTensor<T>& dst, const Operand<T>& src, int32_t pitch,
                                      const Coverage& covered, AscendC::ReduceOrder order)
{
    using AscendC::ReduceOrder;
    if (!on_instruction(PIPE_V)) {
        return;
    }
    report_covered<8, false>(src, covered);
    const bool pair = Op::indexed && (order == ReduceOrder::ORDER_VALUE_INDEX ||
                                      order == ReduceOrder::ORDER_INDEX_VALUE);
    const uint64_t unit = pair ? 2 * sizeof(T)
                               : (order == ReduceOrder::ORDER_ONLY_INDEX ? sizeof(uint32_t) : sizeof(T));
    on_write(dst.Position(), dst.GetPhyAddr(), unit, PIPE_V, covered.repeats, unit * static_cast<uint32_t>(pitch));
    for (uint32_t r = 0; r < covered.repeats; ++r) {
        if ((covered.word(r, false) | covered.word(r, true)) == 0) continue;
        uint8_t* const bytes = reinterpret_cast<uint8_t*>(dst.GetPhyAddr()) + r * unit * static_cast<uint32_t>(pitch);
        T* const to = reinterpret_cast<T*>(bytes);
        const float value = repeat<Op>(src, r, covered);
        if constexpr (kChecked) {
            Flow flow;
            take_lanes(flow, src, r, covered);
            flow.to(dst.Position(), bytes, unit);
            keep_flow<Op::indexed>(flow);
        }
        if constexpr (!Op::indexed) {
            to[0] = T(value);
            state().reduce_sum = value;
        } else {
            state().reduce_value = value;
            if (order == ReduceOrder::ORDER_ONLY_VALUE) {
                to[0] = T(value);
                continue;
            }
            const uint32_t index = find(src, r, covered, value);
            state().reduce_index = index;
            if (order == ReduceOrder::ORDER_ONLY_INDEX) {
                __builtin_memcpy(bytes, &index, sizeof(index));
            } else {
                const bool first = order == ReduceOrder::ORDER_VALUE_INDEX;
                to[first ? 0 : 1] = T(value);
                put_index(to + (first ? 1 : 0), index);
            }
        }
    }
}

/* Eight results a repeat, one for each block. `pitch` in eight results. */
template <typename Op, typename T>
PYPTO_HIDDEN PYPTO_OUTLINE void blocks(const AscendC::LocalTensor<T>& dst, const Operand<T>& src, int32_t pitch,
                                       const Coverage& covered)
{
    constexpr uint32_t groups = kBlockBytes / sizeof(T) / 8; /* of a block */
    if (!on_instruction(PIPE_V)) {
        return;
    }
    report_covered<8, false>(src, covered);
    on_write(dst.Position(), dst.GetPhyAddr(), 8 * sizeof(T), PIPE_V, covered.repeats,
             8 * sizeof(T) * static_cast<uint32_t>(pitch));
    for (uint32_t r = 0; r < covered.repeats; ++r) {
        T* const to = dst.GetPhyAddr() + uint64_t{r} * 8 * static_cast<uint32_t>(pitch);
        for (uint32_t b = 0; b < 8; ++b) {
            const uint32_t bits = covered.bits<groups * 8>(r, b * groups * 8);
            if (bits == 0) continue;
            f32x8 v = load_masked(address_of<8>(src, r, b * groups), bits & 0xff, Op::neutral());
            if constexpr (groups == 2) {
                const T* const next = address_of<8>(src, r, b * groups + 1);
                v = Op::combine(v, load_masked(next, bits >> 8, Op::neutral()));
            }
            if constexpr (kChecked) {
                Flow flow;
                take_lanes(flow, src, r, covered, b * groups * 8, (b + 1) * groups * 8);
                flow.to(dst.Position(), to + b, sizeof(T));
            }
            to[b] = T(across<Op>(v));
        }
    }
}

/* Sums of neighbours: E / 2 results a repeat. `pitch` in 128 bytes. */
template <typename T>
PYPTO_HIDDEN PYPTO_OUTLINE void pairs(const AscendC::LocalTensor<T>& dst, const Operand<T>& src, int32_t pitch,
                                      const Coverage& covered)
{
    constexpr uint32_t lanes = kRepeatBytes / sizeof(T);
    if (!on_instruction(PIPE_V)) {
        return;
    }
    report_covered<8, false>(src, covered);
    on_write(dst.Position(), dst.GetPhyAddr(), 128, PIPE_V, covered.repeats,
             uint64_t{128} * static_cast<uint32_t>(pitch));
    for (uint32_t r = 0; r < covered.repeats; ++r) {
        T* const to = dst.GetPhyAddr() + uint64_t{r} * (lanes / 2) * static_cast<uint32_t>(pitch);
        for (uint32_t g = 0; g < lanes / 8; ++g) {
            const uint32_t bits = covered.bits<8>(r, g * 8);
            if (bits == 0) continue;
            const f32x8 v = load_masked(address_of<8>(src, r, g), bits, 0.0f);
            for (uint32_t k = 0; k < 4; ++k) {
                if (((bits >> (2 * k)) & 3) == 0) continue;
                if constexpr (kChecked) {
                    Flow flow;
                    take_lanes(flow, src, r, covered, g * 8 + 2 * k, g * 8 + 2 * k + 2);
                    flow.to(dst.Position(), to + g * 4 + k, sizeof(T));
                }
                to[g * 4 + k] = T(normal(splat(v[2 * k] + v[2 * k + 1]))[0]);
            }
        }
    }
}

template <AscendC::ReduceType type, typename T>
struct OperatorOf {
    using Type = Sum<T>;
};
template <typename T>
struct OperatorOf<AscendC::ReduceType::MAX, T> {
    using Type = Max<T>;
};
template <typename T>
struct OperatorOf<AscendC::ReduceType::MIN, T> {
    using Type = Min<T>;
};

template <typename T>
PYPTO_INLINE Operand<T> source(const AscendC::LocalTensor<T>& src, int32_t block, int32_t repeat)
{
    return operand(src, static_cast<uint32_t>(block), static_cast<uint32_t>(repeat));
}

/* Bytes of a repeat's result. */
template <AscendC::ReduceType type, typename T>
constexpr uint64_t result_bytes(AscendC::ReduceOrder order)
{
    using AscendC::ReduceOrder;
    if (type == AscendC::ReduceType::SUM || order == ReduceOrder::ORDER_ONLY_VALUE) {
        return sizeof(T);
    }
    return order == ReduceOrder::ORDER_ONLY_INDEX ? sizeof(uint32_t) : 2 * sizeof(T);
}

/* The forms, whatever their names; `mask` is a number of lanes or one bit a lane. */
template <AscendC::ReduceType type, bool isSetMask, typename T, typename Mask>
PYPTO_INLINE void run_whole(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, Mask mask,
                            int32_t repeats, int32_t pitch, int32_t block, int32_t repeat_stride,
                            AscendC::ReduceOrder order)
{
    PYPTO_TWIN_TYPES("WholeReduce, ReduceRepeat", T, half, float);
    whole<typename OperatorOf<type, T>::Type>(
        dst, source(src, block, repeat_stride), pitch,
        cover<isSetMask>(mask, static_cast<uint32_t>(repeats), kRepeatBytes / sizeof(T)), order);
}
template <AscendC::ReduceType type, bool isSetMask, typename T, typename Mask>
PYPTO_INLINE void run_blocks(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, Mask mask,
                             int32_t repeats, int32_t pitch, int32_t block, int32_t repeat_stride)
{
    PYPTO_TWIN_TYPES("BlockReduce, ReduceDataBlock", T, half, float);
    blocks<typename OperatorOf<type, T>::Type>(
        dst, source(src, block, repeat_stride), pitch,
        cover<isSetMask>(mask, static_cast<uint32_t>(repeats), kRepeatBytes / sizeof(T)));
}
template <bool isSetMask, typename T, typename Mask>
PYPTO_INLINE void run_pairs(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, Mask mask,
                            int32_t repeats, int32_t pitch, int32_t block, int32_t repeat_stride)
{
    PYPTO_TWIN_TYPES("PairReduceSum, ReducePairElem", T, half, float);
    pairs(dst, source(src, block, repeat_stride), pitch,
          cover<isSetMask>(mask, static_cast<uint32_t>(repeats), kRepeatBytes / sizeof(T)));
}

}  // namespace reduce
}  // namespace pypto_twin

namespace AscendC {

/* What these instructions are given: `unit` is the bytes of one result. */
#define PYPTO_TWIN_REDUCE_RULES(api, unit)                                                       \
    PYPTO_RULES_OF(api, repeats(repeatTime).lanes<isSetMask>(mask, sizeof(T))                    \
                            .bytes(dst, unit, static_cast<uint64_t>(repeatTime),                 \
                                   (unit) * static_cast<uint64_t>(dstRepStride))                 \
                            .tensor(src, srcBlkStride, srcRepStride)                             \
                            .strides(dstRepStride, srcBlkStride, srcRepStride))

/* New names: mask before repeat; and Whole*. */
#define PYPTO_TWIN_REDUCE(mask_type)                                                             \
    template <ReduceType type, typename T, typename U = T, bool isSetMask = true>                \
    PYPTO_INLINE void ReduceRepeat(const LocalTensor<U>& dst, const LocalTensor<T>& src,         \
                                   mask_type, const int32_t repeatTime,                          \
                                   const int32_t dstRepStride, const int32_t srcBlkStride,       \
                                   const int32_t srcRepStride,                                   \
                                   ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX)           \
    {                                                                                            \
        using namespace pypto_twin;                                                              \
        static_assert(is_same<T, U>, "ReduceRepeat: dst has the type of src");                   \
        PYPTO_TWIN_REDUCE_RULES(type == ReduceType::SUM   ? check::Api::ReduceRepeat_SUM         \
                                : type == ReduceType::MAX ? check::Api::ReduceRepeat_MAX         \
                                                          : check::Api::ReduceRepeat_MIN,        \
                                (reduce::result_bytes<type, T>(order)));                         \
        reduce::run_whole<type, isSetMask>(dst, src, mask, repeatTime, dstRepStride, srcBlkStride,\
                                           srcRepStride, order);                                 \
    }                                                                                            \
    template <ReduceType type, typename T, typename U = T, bool isSetMask = true>                \
    PYPTO_INLINE void ReduceDataBlock(const LocalTensor<U>& dst, const LocalTensor<T>& src,      \
                                      mask_type, const int32_t repeatTime,                       \
                                      const int32_t dstRepStride, const int32_t srcBlkStride,    \
                                      const int32_t srcRepStride)                                \
    {                                                                                            \
        using namespace pypto_twin;                                                              \
        static_assert(is_same<T, U>, "ReduceDataBlock: dst has the type of src");                \
        PYPTO_TWIN_REDUCE_RULES(type == ReduceType::SUM   ? check::Api::ReduceDataBlock_SUM      \
                                : type == ReduceType::MAX ? check::Api::ReduceDataBlock_MAX      \
                                                          : check::Api::ReduceDataBlock_MIN,     \
                                8 * sizeof(T));                                                  \
        reduce::run_blocks<type, isSetMask>(dst, src, mask, repeatTime, dstRepStride,            \
                                            srcBlkStride, srcRepStride);                         \
    }                                                                                            \
    template <ReduceType type, typename T, typename U = T, bool isSetMask = true>                \
    PYPTO_INLINE void ReducePairElem(const LocalTensor<U>& dst, const LocalTensor<T>& src,       \
                                     mask_type, const int32_t repeatTime,                        \
                                     const int32_t dstRepStride, const int32_t srcBlkStride,     \
                                     const int32_t srcRepStride)                                 \
    {                                                                                            \
        using namespace pypto_twin;                                                              \
        static_assert(type == ReduceType::SUM && is_same<T, U>, "ReducePairElem: only sums");    \
        PYPTO_TWIN_REDUCE_RULES(check::Api::ReducePairElem_SUM, 128);                            \
        reduce::run_pairs<isSetMask>(dst, src, mask, repeatTime, dstRepStride, srcBlkStride,     \
                                     srcRepStride);                                              \
    }                                                                                            \
    template <typename T, bool isSetMask = true>                                                 \
    PYPTO_INLINE void WholeReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src,       \
                                     mask_type, const int32_t repeatTime,                        \
                                     const int32_t dstRepStride, const int32_t srcBlkStride,     \
                                     const int32_t srcRepStride)                                 \
    {                                                                                            \
        using namespace pypto_twin;                                                              \
        PYPTO_TWIN_REDUCE_RULES(check::Api::WholeReduceSum, sizeof(T));                          \
        reduce::run_whole<ReduceType::SUM, isSetMask>(dst, src, mask, repeatTime, dstRepStride,  \
                                                      srcBlkStride, srcRepStride,                \
                                                      ReduceOrder::ORDER_ONLY_VALUE);            \
    }                                                                                            \
    template <typename T, bool isSetMask = true>                                                 \
    PYPTO_INLINE void WholeReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src,       \
                                     mask_type, const int32_t repeatTime,                        \
                                     const int32_t dstRepStride, const int32_t srcBlkStride,     \
                                     const int32_t srcRepStride,                                 \
                                     ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX)         \
    {                                                                                            \
        using namespace pypto_twin;                                                              \
        PYPTO_TWIN_REDUCE_RULES(check::Api::WholeReduceMax,                                      \
                                (reduce::result_bytes<ReduceType::MAX, T>(order)));              \
        reduce::run_whole<ReduceType::MAX, isSetMask>(dst, src, mask, repeatTime, dstRepStride,  \
                                                      srcBlkStride, srcRepStride, order);        \
    }                                                                                            \
    template <typename T, bool isSetMask = true>                                                 \
    PYPTO_INLINE void WholeReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src,       \
                                     mask_type, const int32_t repeatTime,                        \
                                     const int32_t dstRepStride, const int32_t srcBlkStride,     \
                                     const int32_t srcRepStride,                                 \
                                     ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX)         \
    {                                                                                            \
        using namespace pypto_twin;                                                              \
        PYPTO_TWIN_REDUCE_RULES(check::Api::WholeReduceMin,                                      \
                                (reduce::result_bytes<ReduceType::MIN, T>(order)));              \
        reduce::run_whole<ReduceType::MIN, isSetMask>(dst, src, mask, repeatTime, dstRepStride,  \
                                                      srcBlkStride, srcRepStride, order);        \
    }

PYPTO_TWIN_REDUCE(const int32_t mask)
PYPTO_TWIN_REDUCE(const uint64_t mask[])
#undef PYPTO_TWIN_REDUCE

/* Old names: repeat before mask. */
#define PYPTO_TWIN_REDUCE(Name, unit, mask_type, ...)                                            \
    template <typename T, bool isSetMask = true>                                                 \
    PYPTO_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                 \
                           const int32_t repeatTime, mask_type, const int32_t dstRepStride,      \
                           const int32_t srcBlkStride, const int32_t srcRepStride)               \
    {                                                                                            \
        using namespace pypto_twin;                                                              \
        PYPTO_TWIN_REDUCE_RULES(check::Api::Name, unit);                                         \
        reduce::__VA_ARGS__(dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride);\
    }
PYPTO_TWIN_REDUCE(BlockReduceSum, 8 * sizeof(T), const int32_t mask, run_blocks<ReduceType::SUM, isSetMask>)
PYPTO_TWIN_REDUCE(BlockReduceMax, 8 * sizeof(T), const int32_t mask, run_blocks<ReduceType::MAX, isSetMask>)
PYPTO_TWIN_REDUCE(BlockReduceMin, 8 * sizeof(T), const int32_t mask, run_blocks<ReduceType::MIN, isSetMask>)
PYPTO_TWIN_REDUCE(PairReduceSum, 128, const int32_t mask, run_pairs<isSetMask>)
PYPTO_TWIN_REDUCE(BlockReduceSum, 8 * sizeof(T), const uint64_t mask[], run_blocks<ReduceType::SUM, isSetMask>)
PYPTO_TWIN_REDUCE(BlockReduceMax, 8 * sizeof(T), const uint64_t mask[], run_blocks<ReduceType::MAX, isSetMask>)
PYPTO_TWIN_REDUCE(BlockReduceMin, 8 * sizeof(T), const uint64_t mask[], run_blocks<ReduceType::MIN, isSetMask>)
PYPTO_TWIN_REDUCE(PairReduceSum, 128, const uint64_t mask[], run_pairs<isSetMask>)
#undef PYPTO_TWIN_REDUCE

/* dstBlkStride has no effect: a repeat has one result. */
template <typename T, bool isSetMask = true>
PYPTO_INLINE void RepeatReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                  const int32_t repeatTime, const int32_t mask, const int32_t,
                                  const int32_t srcBlkStride, const int32_t dstRepStride,
                                  const int32_t srcRepStride)
{
    using namespace pypto_twin;
    PYPTO_TWIN_REDUCE_RULES(check::Api::RepeatReduceSum, sizeof(T));
    reduce::run_whole<ReduceType::SUM, isSetMask>(dst, src, mask, repeatTime, dstRepStride, srcBlkStride,
                                                  srcRepStride, ReduceOrder::ORDER_ONLY_VALUE);
}
#undef PYPTO_TWIN_REDUCE_RULES

}  // namespace AscendC

#endif
