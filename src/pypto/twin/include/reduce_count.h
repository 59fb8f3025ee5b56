/* CPU twin: ReduceMax, ReduceMin, ReduceSum of a whole tensor. Rules in reduce.h, and
 *
 * NUM-SUM-3  ReduceSum sums each repeat as a tree and adds the repeats in order, from the first.
 */
#ifndef PYPTO_TWIN_REDUCE_COUNT_H
#define PYPTO_TWIN_REDUCE_COUNT_H

#include "reduce.h"

namespace pypto_twin {
namespace reduce {

/* These instructions leave a partial mask: code that relies on it is wrong on the device too. */
PYPTO_INLINE void leave_partial_mask() { set_mask(3, 0); }

/* All active lanes take part in one result. */
template <bool is_extreme, typename T>
PYPTO_INLINE void flow_all(AscendC::TPosition position, const void* to, uint64_t bytes, const Operand<T>& src,
                           const Coverage& covered)
{
    if constexpr (kChecked) {
        Flow flow;
        for (uint32_t r = 0; r < covered.repeats; ++r) {
            take_lanes(flow, src, r, covered);
        }
        flow.to(position, to, bytes);
        keep_flow<is_extreme>(flow);
    }
    (void)position, (void)to, (void)bytes, (void)src, (void)covered;
}

/* dst[0] = extreme value, dst[1] = its index r * E + lane as raw bits if `with_index`. */
template <typename Op, typename T>
PYPTO_HIDDEN PYPTO_OUTLINE void extreme(const AscendC::LocalTensor<T>& dst, const Operand<T>& src,
                                        const Coverage& covered, bool with_index)
{
    constexpr uint32_t lanes = kRepeatBytes / sizeof(T);
    if (!on_instruction(PIPE_V)) {
        leave_partial_mask();
        return;
    }
    report_covered<8, false>(src, covered);
    on_write(dst.Position(), dst.GetPhyAddr(), (with_index ? 2 : 1) * sizeof(T), PIPE_V);
    f32x8 best = splat(Op::neutral());
    for (uint32_t r = 0; r < covered.repeats; ++r) {
        for (uint32_t g = 0; g < lanes / 8; ++g) {
            const uint32_t bits = covered.bits<8>(r, g * 8);
            if (bits == 0) continue;
            best = Op::combine(best, load_masked(address_of<8>(src, r, g), bits, Op::neutral()));
        }
    }
    const float value = across<Op>(best);
    uint32_t index = 0;
    for (uint32_t r = 0; with_index && r < covered.repeats; ++r) {
        const uint32_t at = find(src, r, covered, value);
        const float there = load(address_of<8>(src, r, at / 8))[at % 8];
        if (covered.active(r, at) && (there == value || (value != value && there != there))) {
            index = r * lanes + at;
            break;
        }
    }
    T* const to = dst.GetPhyAddr();
    flow_all<true>(dst.Position(), to, (with_index ? 2 : 1) * sizeof(T), src, covered);
    to[0] = T(value);
    if (with_index) put_index(to + 1, index);
    leave_partial_mask();
}

template <typename T>
PYPTO_HIDDEN PYPTO_OUTLINE void total(const AscendC::LocalTensor<T>& dst, const Operand<T>& src, const Coverage& covered)
{
    if (!on_instruction(PIPE_V)) {
        return;
    }
    report_covered<8, false>(src, covered);
    on_write(dst.Position(), dst.GetPhyAddr(), sizeof(T), PIPE_V);
    float sum = repeat<Sum<T>>(src, 0, covered);
    for (uint32_t r = 1; r < covered.repeats; ++r) {
        const float next = normal(splat(sum + repeat<Sum<T>>(src, r, covered)))[0];
        sum = static_cast<float>(T(next));
    }
    flow_all<false>(dst.Position(), dst.GetPhyAddr(), sizeof(T), src, covered);
    dst.GetPhyAddr()[0] = T(sum);
    state().reduce_sum = sum;
}

PYPTO_INLINE uint32_t positive_count(int32_t count)
{
    if (__builtin_expect(count <= 0, 0)) fail("ReduceMax, ReduceMin, ReduceSum: count must be at least 1");
    return static_cast<uint32_t>(count);
}

}  // namespace reduce
}  // namespace pypto_twin

namespace AscendC {

#define PYPTO_TWIN_EXTREME(Name, Operator)                                                       \
    template <typename T>                                                                        \
    PYPTO_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                 \
                           const LocalTensor<T>& work, const pypto_twin::SignedCount count, bool calIndex = false) \
    {                                                                                            \
        using namespace pypto_twin;                                                              \
        PYPTO_TWIN_TYPES(#Name, T, half, float);                                                 \
        PYPTO_RULES(Name, count(count).bytes(dst, (calIndex ? 2 : 1) * sizeof(T)).tensor(src)    \
                              .tmp(work).index(calIndex));                                       \
        const uint32_t length = reduce::positive_count(count);                                   \
        reduce::extreme<reduce::Operator<T>>(dst, operand(src, 1, 8),                            \
                                             cover_count(length, kRepeatBytes / sizeof(T)),      \
                                             calIndex);                                          \
    }                                                                                            \
    template <typename T>                                                                        \
    PYPTO_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                 \
                           const LocalTensor<T>& work, const int32_t mask, const int32_t repeatTime,  \
                           const int32_t srcRepStride, bool calIndex = false)                    \
    {                                                                                            \
        using namespace pypto_twin;                                                              \
        PYPTO_TWIN_TYPES(#Name, T, half, float);                                                 \
        PYPTO_RULES(Name, repeats(repeatTime).lanes<true>(mask)                                  \
                              .bytes(dst, (calIndex ? 2 : 1) * sizeof(T))                        \
                              .tensor(src, 1, srcRepStride).tmp(work).index(calIndex)            \
                              .strides(srcRepStride));                                           \
        const uint32_t repeats = static_cast<uint32_t>(repeatTime);                              \
        reduce::extreme<reduce::Operator<T>>(                                                    \
            dst, reduce::source(src, 1, srcRepStride),                                           \
            cover<true>(static_cast<uint64_t>(mask), repeats, kRepeatBytes / sizeof(T)),         \
            calIndex);                                                                           \
    }                                                                                            \
    template <typename T>                                                                        \
    PYPTO_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                 \
                           const LocalTensor<T>& work, const uint64_t mask[],                         \
                           const int32_t repeatTime, const int32_t srcRepStride,                 \
                           bool calIndex = false)                                                \
    {                                                                                            \
        using namespace pypto_twin;                                                              \
        PYPTO_TWIN_TYPES(#Name, T, half, float);                                                 \
        PYPTO_RULES(Name, repeats(repeatTime).lanes<true>(mask, sizeof(T))                       \
                              .bytes(dst, (calIndex ? 2 : 1) * sizeof(T))                        \
                              .tensor(src, 1, srcRepStride).tmp(work).index(calIndex)            \
                              .strides(srcRepStride));                                           \
        const uint32_t repeats = static_cast<uint32_t>(repeatTime);                              \
        reduce::extreme<reduce::Operator<T>>(dst, reduce::source(src, 1, srcRepStride),          \
                                             cover<true>(mask, repeats, kRepeatBytes / sizeof(T)), \
                                             calIndex);                                          \
    }
PYPTO_TWIN_EXTREME(ReduceMax, Max)
PYPTO_TWIN_EXTREME(ReduceMin, Min)
#undef PYPTO_TWIN_EXTREME

template <typename T, bool isSetMask = true>
PYPTO_INLINE void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                            const LocalTensor<T>&, const pypto_twin::SignedCount count)
{
    using namespace pypto_twin;
    PYPTO_TWIN_TYPES("ReduceSum", T, half, float);
    PYPTO_RULES(ReduceSum, count(count).bytes(dst, sizeof(T)).tensor(src));
    const uint32_t length = reduce::positive_count(count);
    reduce::total(dst, operand(src, 1, 8), cover_count(length, kRepeatBytes / sizeof(T)));
    leave_count_form();
}
template <typename T, bool isSetMask = true>
PYPTO_INLINE void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                            const LocalTensor<T>& work, const int32_t mask, const int32_t repeatTime,
                            const int32_t srcRepStride)
{
    using namespace pypto_twin;
    PYPTO_TWIN_TYPES("ReduceSum", T, half, float);
    PYPTO_RULES(ReduceSum, repeats(repeatTime).lanes<isSetMask>(mask).bytes(dst, sizeof(T))
                               .tensor(src, 1, srcRepStride).tmp(work).strides(srcRepStride));
    const uint32_t repeats = static_cast<uint32_t>(repeatTime);
    reduce::total(dst, reduce::source(src, 1, srcRepStride),
                  cover<isSetMask>(static_cast<uint64_t>(mask), repeats, kRepeatBytes / sizeof(T)));
    reduce::leave_partial_mask();
}
template <typename T, bool isSetMask = true>
PYPTO_INLINE void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                            const LocalTensor<T>& work, const uint64_t mask[], const int32_t repeatTime,
                            const int32_t srcRepStride)
{
    using namespace pypto_twin;
    PYPTO_TWIN_TYPES("ReduceSum", T, half, float);
    PYPTO_RULES(ReduceSum, repeats(repeatTime).lanes<isSetMask>(mask, sizeof(T)).bytes(dst, sizeof(T))
                               .tensor(src, 1, srcRepStride).tmp(work).strides(srcRepStride));
    const uint32_t repeats = static_cast<uint32_t>(repeatTime);
    reduce::total(dst, reduce::source(src, 1, srcRepStride),
                  cover<isSetMask>(mask, repeats, kRepeatBytes / sizeof(T)));
    reduce::leave_partial_mask();
}

}  // namespace AscendC

#endif
