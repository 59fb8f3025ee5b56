/* CPU twin: Select(dst, bits, a, b): dst = bit ? a : b. Rules NUM-SEL-1 in compare.h. */
#ifndef PYPTO_TWIN_SELECT_H
#define PYPTO_TWIN_SELECT_H

#include "compare.h"
#include "fill.h"

namespace pypto_twin {

/* Eight lanes as they lie in memory, and the mask of their width. */
template <typename T>
struct RawLanes;
template <>
struct RawLanes<float> {
    using Vector = simd::i32x8;
    static PYPTO_INLINE Vector mask(uint32_t bits) { return simd::mask_of_bits(bits); }
    static PYPTO_INLINE Vector fill(float v) { return Vector{} + __builtin_bit_cast(int32_t, v); }
};
template <>
struct RawLanes<half> {
    using Vector = simd::i16x8;
    static PYPTO_INLINE Vector mask(uint32_t bits) { return simd::mask_of_bits_narrow(bits); }
    static PYPTO_INLINE Vector fill(half v) { return Vector{} + static_cast<int16_t>(v.bits); }
};

/* The scalar as else-branch. */
template <typename T>
struct RawScalar {
    typename RawLanes<T>::Vector value;
    PYPTO_INLINE auto operator()(uint32_t, uint32_t) const { return value; }
    PYPTO_INLINE auto dense(uint32_t) const { return value; }
    PYPTO_INLINE void reported(uint32_t) const {}
    PYPTO_INLINE void flow(Flow&, uint32_t, uint32_t, uint32_t, uint32_t) const {}
};
template <typename T>
struct RawTensor {
    Operand<T> at;
    PYPTO_INLINE auto operator()(uint32_t r, uint32_t step) const
    {
        return simd::load<typename RawLanes<T>::Vector>(address_of<8>(at, r, step));
    }
    PYPTO_INLINE auto dense(uint32_t step) const
    {
        return simd::load<typename RawLanes<T>::Vector>(at.address + 8 * step);
    }
    PYPTO_INLINE void reported(uint32_t repeats) const
    {
        report<8, false>(at, repeats, kRepeatBytes / sizeof(T));
    }
    PYPTO_INLINE void flow(Flow& flow, uint32_t r, uint32_t step, uint32_t lane, uint32_t lanes) const
    {
        flow.from(at.position, address_of<8>(at, r, step) + lane, lanes * sizeof(T));
    }
};

/* Where the bits of a Select come from: memory, or the compare register (checked build: what is known
 * of its bits). */
struct SelectBits {
    const uint8_t* bytes;
    uint32_t pitch; /* bytes from one repeat's to the next one's: E / 8, or 0 when one set serves all */
    Provenance position;
    bool in_register;

    PYPTO_INLINE uint8_t operator()(uint32_t r, uint32_t step) const { return bytes[r * pitch + step]; }
    /* Which of a byte's bits are defined, and what is said of the others. */
    PYPTO_INLINE uint8_t known(uint32_t r, uint32_t step) const
    {
#if defined(PYPTO_TWIN_CHECKED)
        if (in_register) return state().registers.compare_bits[step];
#endif
        return defined_bits(position, bytes + r * pitch + step);
    }
    PYPTO_INLINE void flow(Flow& flow, uint32_t r, uint32_t step) const
    {
#if defined(PYPTO_TWIN_CHECKED)
        if (in_register) return flow.from(state().registers.compare);
#endif
        flow.from(position, bytes + r * pitch + step, 1);
    }
};

/* A lane is defined when its bit is and the operand that the bit chooses. */
template <typename T, typename B>
PYPTO_INLINE void select_flow(const Operand<T>& d, const SelectBits& bits, const Operand<T>& a, const B& b,
                              uint32_t r, uint32_t step, uint32_t active)
{
    const T* const to = address_of<8>(d, r, step);
    const T* const from = address_of<8>(a, r, step);
    const uint8_t known = bits.known(r, step), chosen = bits(r, step);
    Flow whole;
    whole.from(a.position, from, 8 * sizeof(T));
    b.flow(whole, r, step, 0, 8);
    if (active == 0xff && known == 0xff && whole.origin() == check::kDefined) {
        return whole.to(d.position, to, 8 * sizeof(T));
    }
    for (uint32_t lane = 0; lane < 8; ++lane) {
        if (((active >> lane) & 1) == 0) continue;
        Flow flow;
        if (((known >> lane) & 1) == 0) bits.flow(flow, r, step);
        if (((chosen >> lane) & 1) != 0) {
            flow.from(a.position, from + lane, sizeof(T));
        } else {
            b.flow(flow, r, step, lane, 1);
        }
        flow.to(d.position, to + lane, sizeof(T));
    }
}

template <typename T, typename B>
PYPTO_HIDDEN PYPTO_OUTLINE void select_walk(const Operand<T>& d, const SelectBits& bits, const Operand<T>& a,
                                            const B& b, const Coverage& covered)
{
    using Raw = RawLanes<T>;
    constexpr uint32_t lanes = kRepeatBytes / sizeof(T);
    report_covered<8, true>(d, covered);
    report_covered<8, false>(a, covered);
    b.reported(covered.repeats);
    for (uint32_t r = 0; r < covered.repeats; ++r) {
        for (uint32_t step = 0; step < lanes / 8; ++step) {
            const uint32_t active = covered.bits<8>(r, step * 8);
            if (active == 0) continue;
            const auto yes = simd::load<typename Raw::Vector>(address_of<8>(a, r, step));
            const auto mask = Raw::mask(bits(r, step));
            if constexpr (kChecked) select_flow(d, bits, a, b, r, step, active);
            const auto value = (mask & yes) | (~mask & b(r, step));
            T* const to = address_of<8>(d, r, step);
            if (active == 0xff) {
                simd::store(to, value);
            } else {
                simd::store_lanes<sizeof(T)>(to, value, active);
            }
        }
    }
}

/* The first `count` elements of operands without gaps. */
template <typename T, typename B>
PYPTO_HIDDEN PYPTO_OUTLINE void select_dense(T* to, const uint8_t* bits, const T* a, B b, uint32_t count)
{
    using Vector = typename RawLanes<T>::Vector;
    const auto choose = [=](uint32_t step, uint32_t eight) {
        const auto mask = RawLanes<T>::mask(eight);
        return (mask & simd::load<Vector>(a + 8 * step)) | (~mask & b.dense(step));
    };
    const auto chosen = [=](uint32_t step) { return choose(step, bits[step]); };
    uint32_t step = 0;
    for (; step + 4 <= count / 8; step += 4) {
        uint32_t four;
        __builtin_memcpy(&four, bits + step, 4);
        for (uint32_t part = 0; part < 4; ++part, four >>= 8) {
            simd::store(to + 8 * (step + part), choose(step + part, four & 0xff));
        }
    }
    for (; step < count / 8; ++step) {
        simd::store(to + 8 * step, chosen(step));
    }
    if (count % 8 != 0) {
        simd::store_lanes<sizeof(T)>(to + count / 8 * 8, chosen(count / 8), (1u << count % 8) - 1);
    }
}

template <typename T, typename U>
PYPTO_INLINE void check_select(AscendC::SELMODE mode, bool scalar)
{
    using AscendC::SELMODE;
    PYPTO_TWIN_TYPES("Select", T, half, float);
    PYPTO_TWIN_TYPES("Select (bits)", U, uint8_t, uint16_t, uint32_t, uint64_t);
    if (__builtin_expect(scalar != (mode == SELMODE::VSEL_TENSOR_SCALAR_MODE), 0)) {
        fail("Select: VSEL_TENSOR_SCALAR_MODE goes with a scalar, the other modes with a tensor");
    }
}

template <typename T>
PYPTO_INLINE uint32_t select_pitch(AscendC::SELMODE mode)
{
    return mode == AscendC::SELMODE::VSEL_CMPMASK_SPR ? 0 : kRepeatBytes / sizeof(T) / 8;
}

/* Bytes of bits that `lanes` lanes take. */
template <typename T>
PYPTO_INLINE uint64_t select_bytes(AscendC::SELMODE mode, uint32_t lanes)
{
    return mode == AscendC::SELMODE::VSEL_CMPMASK_SPR ? kRepeatBytes / sizeof(T) / 8 : (uint64_t{lanes} + 7) / 8;
}

/* Count forms see their operands as dense repeats. */
template <typename T>
PYPTO_INLINE Operand<T> dense(const AscendC::LocalTensor<T>& tensor)
{
    return operand(tensor, 1, 8);
}

template <typename T, typename U>
PYPTO_INLINE SelectBits bit_bytes(const AscendC::LocalTensor<U>& bits, uint32_t repeats, uint32_t pitch)
{
    on_read(bits.Position(), bits.GetPhyAddr(),
            pitch == 0 ? kRepeatBytes / sizeof(T) / 8 : uint64_t{repeats} * pitch, PIPE_V);
    return {reinterpret_cast<const uint8_t*>(bits.GetPhyAddr()), pitch, bits.Position(), false};
}

/* A count form of Select. */
template <typename T, typename U, typename B>
PYPTO_INLINE void select_count(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<U>& selMask,
                               const AscendC::LocalTensor<T>& src0, const B& b, uint32_t pitch, uint32_t count)
{
    if constexpr (!kChecked && !kHooks && !kNaive) {
        if (pitch != 0) {
            return select_dense(dst.GetPhyAddr(), reinterpret_cast<const uint8_t*>(selMask.GetPhyAddr()),
                                src0.GetPhyAddr(), b, count);
        }
    }
    const Coverage covered = cover_count(count, kRepeatBytes / sizeof(T));
    select_walk(dense(dst), bit_bytes<T>(selMask, covered.repeats, pitch), dense(src0), b, covered);
}

}  // namespace pypto_twin

namespace AscendC {

template <typename T, typename U>
PYPTO_INLINE void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask,
                         const LocalTensor<T>& src0, const LocalTensor<T>& src1, SELMODE selMode,
                         pypto_twin::UnsignedCount count)
{
    using namespace pypto_twin;
    PYPTO_RULES(Select_tensor_tensor, count(count).tensor(dst).bytes(selMask, select_bytes<T>(selMode, count))
                                          .tensor(src0).tensor(src1).value(static_cast<int64_t>(selMode)));
    check_select<T, U>(selMode, false);
    if (!on_instruction(PIPE_V)) {
        leave_count_form();
        return;
    }
    select_count(dst, selMask, src0, RawTensor<T>{dense(src1)}, select_pitch<T>(selMode), count);
    leave_count_form();
}
template <typename T, typename U>
PYPTO_INLINE void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask,
                         const LocalTensor<T>& src0, T src1, SELMODE selMode, pypto_twin::UnsignedCount count)
{
    using namespace pypto_twin;
    PYPTO_RULES(Select_tensor_scalar, count(count).tensor(dst).bytes(selMask, select_bytes<T>(selMode, count))
                                          .tensor(src0).value(static_cast<int64_t>(selMode)));
    check_select<T, U>(selMode, true);
    if (!on_instruction(PIPE_V)) {
        leave_count_form();
        return;
    }
    select_count(dst, selMask, src0, RawScalar<T>{RawLanes<T>::fill(src1)}, select_pitch<T>(selMode), count);
    leave_count_form();
}

#define PYPTO_TWIN_SELECT(mask_type)                                                             \
    template <typename T, typename U, bool isSetMask = true>                                     \
    PYPTO_INLINE void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask,           \
                             const LocalTensor<T>& src0, const LocalTensor<T>& src1,             \
                             SELMODE selMode, mask_type, pypto_twin::Field8 repeatTime,                     \
                             const BinaryRepeatParams& p)                                        \
    {                                                                                            \
        using namespace pypto_twin;                                                              \
        PYPTO_RULES(Select_tensor_tensor, repeats(repeatTime).lanes<isSetMask>(mask, sizeof(T))  \
            .tensor(dst, p.dstBlkStride, p.dstRepStride)                                         \
            .bytes(selMask, select_bytes<T>(selMode, repeatTime * (kRepeatBytes / sizeof(T))))   \
            .tensor(src0, p.src0BlkStride, p.src0RepStride)                                      \
            .tensor(src1, p.src1BlkStride, p.src1RepStride).fields(p)                            \
            .value(static_cast<int64_t>(selMode)));                                              \
        check_select<T, U>(selMode, false);                                                      \
        const Coverage covered = cover<isSetMask>(mask, repeatTime, kRepeatBytes / sizeof(T));   \
        const uint32_t pitch = select_pitch<T>(selMode);                                         \
        if (!on_instruction(PIPE_V)) return;                                                     \
        select_walk(operand(dst, p.dstBlkStride, p.dstRepStride),                                \
                    bit_bytes<T>(selMask, covered.repeats, pitch),                               \
                    operand(src0, p.src0BlkStride, p.src0RepStride),                             \
                    RawTensor<T>{operand(src1, p.src1BlkStride, p.src1RepStride)}, covered);     \
    }                                                                                            \
    template <typename T, typename U, bool isSetMask = true>                                     \
    PYPTO_INLINE void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask,           \
                             const LocalTensor<T>& src0, T src1, SELMODE selMode, mask_type,     \
                             pypto_twin::Field8 repeatTime, const BinaryRepeatParams& p)                    \
    {                                                                                            \
        using namespace pypto_twin;                                                              \
        PYPTO_RULES(Select_tensor_scalar, repeats(repeatTime).lanes<isSetMask>(mask, sizeof(T))  \
            .tensor(dst, p.dstBlkStride, p.dstRepStride)                                         \
            .bytes(selMask, select_bytes<T>(selMode, repeatTime * (kRepeatBytes / sizeof(T))))   \
            .tensor(src0, p.src0BlkStride, p.src0RepStride).fields(p)                            \
            .value(static_cast<int64_t>(selMode)));                                              \
        check_select<T, U>(selMode, true);                                                       \
        const Coverage covered = cover<isSetMask>(mask, repeatTime, kRepeatBytes / sizeof(T));   \
        const uint32_t pitch = select_pitch<T>(selMode);                                         \
        if (!on_instruction(PIPE_V)) return;                                                     \
        select_walk(operand(dst, p.dstBlkStride, p.dstRepStride),                                \
                    bit_bytes<T>(selMask, covered.repeats, pitch),                               \
                    operand(src0, p.src0BlkStride, p.src0RepStride),                             \
                    RawScalar<T>{RawLanes<T>::fill(src1)}, covered);                             \
    }
PYPTO_TWIN_SELECT(uint64_t mask)
PYPTO_TWIN_SELECT(const uint64_t mask[])
#undef PYPTO_TWIN_SELECT

/* By the compare register; all lanes that the mask registers allow. */
template <typename T, SELMODE selMode>
PYPTO_INLINE void Select(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                         const LocalTensor<T>& src1, pypto_twin::Field8 repeatTime, const BinaryRepeatParams& p)
{
    using namespace pypto_twin;
    PYPTO_TWIN_TYPES("Select (register)", T, half, float);
    static_assert(selMode == SELMODE::VSEL_CMPMASK_SPR, "Select (register): only VSEL_CMPMASK_SPR");
    PYPTO_RULES(Select_register, repeats(repeatTime).lanes<false>(uint64_t{0})
                                     .tensor(dst, p.dstBlkStride, p.dstRepStride)
                                     .tensor(src0, p.src0BlkStride, p.src0RepStride)
                                     .tensor(src1, p.src1BlkStride, p.src1RepStride).fields(p));
    if (!on_instruction(PIPE_V)) {
        return;
    }
    const SelectBits bits{reinterpret_cast<const uint8_t*>(state().compare_mask), 0, Provenance{TPosition::VECCALC}, true};
    select_walk(operand(dst, p.dstBlkStride, p.dstRepStride), bits,
                operand(src0, p.src0BlkStride, p.src0RepStride),
                RawTensor<T>{operand(src1, p.src1BlkStride, p.src1RepStride)},
                cover_registers(repeatTime, kRepeatBytes / sizeof(T)));
}

}  // namespace AscendC

#endif
