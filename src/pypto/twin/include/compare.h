/* CPU twin: Compare to bits, Select by bits. Bit i % 8 of byte i / 8 belongs to element i.
 *
 * NUM-CMP-1  comparisons with NaN are false, except NE.
 * NUM-SEL-1  Select moves bits: NaN patterns survive.
 * NUM-CMP-2  the register form of Compare clears the bits of lanes that are masked off.
 */
#ifndef PYPTO_TWIN_COMPARE_H
#define PYPTO_TWIN_COMPARE_H

#include "forms.h"
#include "lanes.h"

namespace AscendC {

enum class CMPMODE : uint8_t { LT = 0, GT, EQ, LE, GE, NE };
enum class SELMODE : uint8_t { VSEL_CMPMASK_SPR = 0, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE };

}  // namespace AscendC

namespace pypto_twin {
namespace simd {

template <AscendC::CMPMODE value>
struct constant_mode {
    static constexpr AscendC::CMPMODE mode = value;
};

/* Lane i's sign bit as bit i. */
template <typename M>
PYPTO_INLINE uint8_t lane_bits(M mask)
{
#if defined(__AVX__)
    return static_cast<uint8_t>(__builtin_ia32_movmskps256(as<f32x8>(mask)));
#else
    const u32x8 bits = (as<u32x8>(mask) >> 31) << as<u32x8>(iota_i32());
    uint32_t result = 0;
    for (int i = 0; i < 8; ++i) result |= bits[i];
    return static_cast<uint8_t>(result);
#endif
}

template <AscendC::CMPMODE mode, typename V>
PYPTO_INLINE uint8_t compare(V a, V b)
{
    using AscendC::CMPMODE;
    if constexpr (mode == CMPMODE::LT) return lane_bits(a < b);
    if constexpr (mode == CMPMODE::GT) return lane_bits(a > b);
    if constexpr (mode == CMPMODE::EQ) return lane_bits(a == b);
    if constexpr (mode == CMPMODE::LE) return lane_bits(a <= b);
    if constexpr (mode == CMPMODE::GE) return lane_bits(a >= b);
    return lane_bits(a != b);
}

/* f(constant of the mode): loops are compiled for each. */
template <typename F>
PYPTO_INLINE auto for_mode(AscendC::CMPMODE mode, F f)
{
    using AscendC::CMPMODE;
    switch (mode) {
        case CMPMODE::LT: return f(constant_mode<CMPMODE::LT>{});
        case CMPMODE::GT: return f(constant_mode<CMPMODE::GT>{});
        case CMPMODE::EQ: return f(constant_mode<CMPMODE::EQ>{});
        case CMPMODE::LE: return f(constant_mode<CMPMODE::LE>{});
        case CMPMODE::GE: return f(constant_mode<CMPMODE::GE>{});
        default: return f(constant_mode<CMPMODE::NE>{});
    }
}

template <typename V>
PYPTO_INLINE uint8_t compare(V a, V b, AscendC::CMPMODE mode)
{
    return for_mode(mode, [&](auto m) { return compare<decltype(m)::mode>(a, b); });
}

}  // namespace simd

template <typename D, typename S>
PYPTO_INLINE void check_compare(AscendC::CMPMODE mode, bool scalar)
{
    PYPTO_TWIN_TYPES("Compare", S, half, float, int32_t);
    PYPTO_TWIN_TYPES("Compare (result bits)", D, uint8_t, int8_t);
    if (is_same<S, int32_t> && __builtin_expect(mode != AscendC::CMPMODE::EQ, 0)) {
        fail("Compare: int32_t has the mode EQ only");
    }
    (void)scalar;
}

/* The length of a count form: whole repeats of 256 bytes. */
template <typename S>
PYPTO_INLINE uint32_t whole_repeats(uint32_t count)
{
    if (__builtin_expect(count * sizeof(S) % kRepeatBytes != 0, 0)) {
        fail("Compare: count * sizeof(T) must be a multiple of 256");
    }
    return count;
}

/* Eight lanes of an operand take part in eight bits. */
template <typename S>
PYPTO_INLINE void flow_bits(BitFlow& flow, const Operand<S>& at, uint32_t r, uint32_t step)
{
    const S* const from = address_of<8>(at, r, step);
    Flow whole;
    whole.from(at.position, from, 8 * sizeof(S));
    for (uint32_t lane = 0; whole.origin() != check::kDefined && lane < 8; ++lane) {
        flow.from(lane, at.position, from + lane, sizeof(S));
    }
}

/* Operands without gaps: the count forms, whose counts are multiples of 64. */
template <typename S, typename B>
PYPTO_HIDDEN PYPTO_OUTLINE void compare_dense(uint8_t* to, const S* a, B b, AscendC::CMPMODE mode, uint32_t steps)
{
    simd::for_mode(mode, [=](auto m) {
        const auto bits = [=](uint32_t step) -> uint32_t {
            return simd::compare<decltype(m)::mode>(simd::Lanes<S, 8>::load(a + 8 * step), b.dense(step));
        };
        for (uint32_t step = 0; step < steps; step += 4) {
            const uint32_t four = bits(step) | bits(step + 1) << 8 | bits(step + 2) << 16 | bits(step + 3) << 24;
            __builtin_memcpy(to + step, &four, 4);
        }
    });
}

/* One byte for eight lanes, `lanes` lanes of each repeat; bytes are packed without gaps. b(r, step) is
 * the second operand. */
template <typename S, typename B>
PYPTO_HIDDEN PYPTO_OUTLINE void compare_walk(uint8_t* to, Provenance position, const Operand<S>& a, B b,
                                             AscendC::CMPMODE mode, uint32_t repeats, uint32_t lanes)
{
    on_write(position, to, uint64_t{repeats} * lanes / 8, PIPE_V);
    report<8, false>(a, repeats, lanes);
    if constexpr (!kChecked && !kNaive) {
        if (repeats == 1 && a.block == 1 && b.is_dense()) {
            return compare_dense(to, a.address, b, mode, lanes / 8);
        }
    }
    for (uint32_t r = 0; r < repeats; ++r) {
        for (uint32_t step = 0; step < lanes / 8; ++step) {
            const auto value = simd::Lanes<S, 8>::load(address_of<8>(a, r, step));
            if constexpr (kChecked) {
                BitFlow flow;
                flow_bits(flow, a, r, step);
                b.flow(flow, r, step);
                flow.to(position, to);
            }
            *to++ = simd::compare(value, b(r, step), mode);
        }
    }
}

template <typename S>
struct TensorSide {
    Operand<S> at;
    PYPTO_INLINE auto operator()(uint32_t r, uint32_t step) const
    {
        return simd::Lanes<S, 8>::load(address_of<8>(at, r, step));
    }
    PYPTO_INLINE bool is_dense() const { return at.block == 1; }
    PYPTO_INLINE auto dense(uint32_t step) const { return simd::Lanes<S, 8>::load(at.address + 8 * step); }
    PYPTO_INLINE void flow(BitFlow& flow, uint32_t r, uint32_t step) const { flow_bits(flow, at, r, step); }
};
template <typename S>
struct ScalarSide {
    lane::Element<lane::Register<S>> value;
    PYPTO_INLINE auto operator()(uint32_t, uint32_t) const { return lane::fill<lane::Register<S>>(value); }
    PYPTO_INLINE bool is_dense() const { return true; }
    PYPTO_INLINE auto dense(uint32_t) const { return lane::fill<lane::Register<S>>(value); }
    PYPTO_INLINE void flow(BitFlow&, uint32_t, uint32_t) const {}
};

}  // namespace pypto_twin

namespace AscendC {

template <typename T, typename U>
PYPTO_INLINE void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0,
                          const LocalTensor<T>& src1, CMPMODE cmpMode, pypto_twin::UnsignedCount count)
{
    using namespace pypto_twin;
    PYPTO_RULES(Compare, count(count).bytes(dst, count / 8).tensor(src0).tensor(src1)
                             .value(static_cast<int64_t>(cmpMode)));
    check_compare<U, T>(cmpMode, false);
    if (!on_instruction(PIPE_V)) {
        return;
    }
    report<8, false>(operand(src1), 1, count);
    compare_walk(reinterpret_cast<uint8_t*>(dst.GetPhyAddr()), dst.Position(), operand(src0),
                 TensorSide<T>{operand(src1)}, cmpMode, 1, whole_repeats<T>(count));
}

/* The mask argument has no effect on this target. */
template <typename T, typename U, bool isSetMask = true>
PYPTO_INLINE void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0,
                          const LocalTensor<T>& src1, CMPMODE cmpMode, uint64_t,
                          pypto_twin::Field8 repeatTime, const BinaryRepeatParams& p)
{
    using namespace pypto_twin;
    PYPTO_RULES(Compare, repeats(repeatTime).bytes(dst, uint64_t{repeatTime} * (kRepeatBytes / sizeof(T) / 8))
                             .tensor(src0, p.src0BlkStride, p.src0RepStride)
                             .tensor(src1, p.src1BlkStride, p.src1RepStride).fields(p)
                             .value(static_cast<int64_t>(cmpMode)));
    check_compare<U, T>(cmpMode, false);
    if (!on_instruction(PIPE_V)) {
        return;
    }
    const Operand<T> second = operand(src1, p.src1BlkStride, p.src1RepStride);
    report<8, false>(second, repeatTime, kRepeatBytes / sizeof(T));
    compare_walk(reinterpret_cast<uint8_t*>(dst.GetPhyAddr()), dst.Position(),
                 operand(src0, p.src0BlkStride, p.src0RepStride), TensorSide<T>{second}, cmpMode,
                 repeatTime, kRepeatBytes / sizeof(T));
}

template <typename T, typename U>
PYPTO_INLINE void Compares(const LocalTensor<U>& dst, const LocalTensor<T>& src0,
                           const T src1Scalar, CMPMODE cmpMode, pypto_twin::UnsignedCount count)
{
    using namespace pypto_twin;
    PYPTO_RULES(Compares, count(count).bytes(dst, count / 8).tensor(src0).value(static_cast<int64_t>(cmpMode)));
    check_compare<U, T>(cmpMode, true);
    PYPTO_TWIN_TYPES("Compares (result bits)", U, uint8_t);
    if (!on_instruction(PIPE_V)) {
        return;
    }
    compare_walk(reinterpret_cast<uint8_t*>(dst.GetPhyAddr()), dst.Position(), operand(src0),
                 ScalarSide<T>{lane::scalar_of(src1Scalar)}, cmpMode, 1, whole_repeats<T>(count));
}
template <typename T, typename U, bool isSetMask = true>
PYPTO_INLINE void Compares(const LocalTensor<U>& dst, const LocalTensor<T>& src0,
                           const T src1Scalar, CMPMODE cmpMode, uint64_t,
                           pypto_twin::Field8 repeatTime, const UnaryRepeatParams& p)
{
    using namespace pypto_twin;
    PYPTO_RULES(Compares, repeats(repeatTime).bytes(dst, uint64_t{repeatTime} * (kRepeatBytes / sizeof(T) / 8))
                              .tensor(src0, p.srcBlkStride, p.srcRepStride).fields(p)
                              .value(static_cast<int64_t>(cmpMode)));
    check_compare<U, T>(cmpMode, true);
    PYPTO_TWIN_TYPES("Compares (result bits)", U, uint8_t);
    if (!on_instruction(PIPE_V)) {
        return;
    }
    compare_walk(reinterpret_cast<uint8_t*>(dst.GetPhyAddr()), dst.Position(),
                 operand(src0, p.srcBlkStride, p.srcRepStride),
                 ScalarSide<T>{lane::scalar_of(src1Scalar)}, cmpMode, repeatTime,
                 kRepeatBytes / sizeof(T));
}

/* Old name of Compares. */
template <typename T, typename U>
PYPTO_INLINE void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src0,
                                const T src1Scalar, CMPMODE cmpMode, pypto_twin::UnsignedCount count)
{
    Compares(dst, src0, src1Scalar, cmpMode, count);
}
template <typename T, typename U, bool isSetMask = true>
PYPTO_INLINE void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src0,
                                const T src1Scalar, CMPMODE cmpMode, uint64_t mask,
                                pypto_twin::Field8 repeatTime, const UnaryRepeatParams& p)
{
    Compares<T, U, isSetMask>(dst, src0, src1Scalar, cmpMode, mask, repeatTime, p);
}

}  // namespace AscendC

namespace pypto_twin {

/* What is known of byte `at` of the compare register. */
PYPTO_INLINE void set_register_bits(uint32_t at, uint8_t bits, check::Origin origin)
{
#if defined(PYPTO_TWIN_CHECKED)
    check::Registers& registers = state().registers;
    registers.compare_bits[at] = bits;
    registers.compare = bits != 0xff ? origin : registers.compare;
#endif
    (void)at, (void)bits, (void)origin;
}

/* The same between the register and 16 bytes of memory. */
PYPTO_INLINE void store_register_bits(AscendC::TPosition position, const uint8_t* to)
{
    for (uint32_t i = 0; kChecked && i < 16; ++i) {
        PYPTO_CHECK(assign_bits, position, to + i, state().registers.compare_bits[i], state().registers.compare);
    }
    (void)position, (void)to;
}
PYPTO_INLINE void load_register_bits(AscendC::TPosition position, const uint8_t* from)
{
    for (uint32_t i = 0; kChecked && i < 16; ++i) {
        Flow flow;
        flow.from(position, from + i, 1);
        set_register_bits(i, defined_bits(position, from + i), flow.origin());
    }
}

/* One repeat into the compare register. */
template <typename T>
PYPTO_INLINE void compare_register(const Operand<T>& a, const Operand<T>& b, AscendC::CMPMODE mode,
                                   const Coverage& covered)
{
    PYPTO_TWIN_TYPES("Compare (register)", T, half, float);
    constexpr uint32_t lanes = kRepeatBytes / sizeof(T);
    if (!on_instruction(PIPE_V, true)) {
        return;
    }
    report<8, false>(a, 1, lanes);
    report<8, false>(b, 1, lanes);
    state().compare_mask[0] = state().compare_mask[1] = 0;
    for (uint32_t i = lanes / 8; kChecked && i < 16; ++i) {
        set_register_bits(i, 0xff, check::kDefined);
    }
    for (uint32_t step = 0; step < lanes / 8; ++step) {
        if constexpr (kChecked) {
            BitFlow flow;
            flow_bits(flow, a, 0, step);
            flow_bits(flow, b, 0, step);
            set_register_bits(step, static_cast<uint8_t>(flow.bits() | ~covered.bits<8>(0, step * 8)), flow.origin());
        }
        const uint64_t bits = simd::compare(simd::Lanes<T, 8>::load(address_of<8>(a, 0, step)),
                                            simd::Lanes<T, 8>::load(address_of<8>(b, 0, step)), mode);
        state().compare_mask[step / 8] |= (bits & covered.bits<8>(0, step * 8)) << (step % 8 * 8);
    }
}

}  // namespace pypto_twin

namespace AscendC {

template <typename T, bool isSetMask = true>
PYPTO_INLINE void Compare(const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode,
                          uint64_t mask, const BinaryRepeatParams& p)
{
    using namespace pypto_twin;
    PYPTO_RULES(Compare_register, repeats(1).lanes<isSetMask>(mask)
                                      .tensor(src0, p.src0BlkStride, p.src0RepStride)
                                      .tensor(src1, p.src1BlkStride, p.src1RepStride).fields(p));
    compare_register(operand(src0, p.src0BlkStride, p.src0RepStride),
                     operand(src1, p.src1BlkStride, p.src1RepStride), cmpMode,
                     cover<isSetMask>(mask, 1, kRepeatBytes / sizeof(T)));
}
template <typename T, bool isSetMask = true>
PYPTO_INLINE void Compare(const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode,
                          const uint64_t mask[], const BinaryRepeatParams& p)
{
    using namespace pypto_twin;
    PYPTO_RULES(Compare_register, repeats(1).lanes<isSetMask>(mask, sizeof(T))
                                      .tensor(src0, p.src0BlkStride, p.src0RepStride)
                                      .tensor(src1, p.src1BlkStride, p.src1RepStride).fields(p));
    compare_register(operand(src0, p.src0BlkStride, p.src0RepStride),
                     operand(src1, p.src1BlkStride, p.src1RepStride), cmpMode,
                     cover<isSetMask>(mask, 1, kRepeatBytes / sizeof(T)));
}

template <typename T>
PYPTO_INLINE void GetCmpMask(const LocalTensor<T>& dst)
{
    PYPTO_TWIN_TYPES("GetCmpMask", T, uint8_t, uint16_t, uint32_t, uint64_t);
    PYPTO_RULES(GetCmpMask, bytes(dst, 16));
    if (!pypto_twin::on_instruction(PIPE_V)) {
        return;
    }
    pypto_twin::on_write(dst.Position(), dst.GetPhyAddr(), 16, PIPE_V);
    pypto_twin::store_register_bits(dst.Position(), reinterpret_cast<const uint8_t*>(dst.GetPhyAddr()));
    __builtin_memcpy(dst.GetPhyAddr(), pypto_twin::state().compare_mask, 16);
}
template <typename T>
PYPTO_INLINE void SetCmpMask(const LocalTensor<T>& src)
{
    PYPTO_TWIN_TYPES("SetCmpMask", T, uint8_t, uint16_t, uint32_t, uint64_t, half, float);
    PYPTO_RULES(SetCmpMask, bytes(src, 16));
    if (!pypto_twin::on_instruction(PIPE_V, true)) {
        return;
    }
    pypto_twin::on_read(src.Position(), src.GetPhyAddr(), 16, PIPE_V);
    pypto_twin::load_register_bits(src.Position(), reinterpret_cast<const uint8_t*>(src.GetPhyAddr()));
    __builtin_memcpy(pypto_twin::state().compare_mask, src.GetPhyAddr(), 16);
}

}  // namespace AscendC

#endif
