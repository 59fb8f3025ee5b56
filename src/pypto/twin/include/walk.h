/* CPU twin: how a vector instruction walks over its operands.
 *
 * A repeat is 256 bytes of the widest operand. It is done in steps of as many lanes as a 32-byte
 * register computes: floats of any width eight, others a block. Lane j of repeat r of an operand
 * with e elements a block lies in block r * repeat stride + (j / e) * block stride. The count forms
 * are one repeat of any length with all strides dense, so one loop serves both forms.
 */
#ifndef PYPTO_TWIN_WALK_H
#define PYPTO_TWIN_WALK_H

#include "simd.h"
#include "tensor.h"

namespace AscendC {

/* Strides in blocks of 32 bytes. A block stride 0 rereads one block, a repeat stride 0 a repeat. */
struct UnaryRepeatParams {
    uint16_t dstBlkStride = 1;
    uint16_t srcBlkStride = 1;
    uint8_t dstRepStride = 8;
    uint8_t srcRepStride = 8;
    bool halfBlock = false;

    constexpr UnaryRepeatParams() = default;
    constexpr UnaryRepeatParams(uint16_t dstBlk, uint16_t srcBlk, uint8_t dstRep, uint8_t srcRep,
                                bool half_block = false)
        : dstBlkStride(dstBlk), srcBlkStride(srcBlk), dstRepStride(dstRep), srcRepStride(srcRep),
          halfBlock(half_block)
    {
    }
};

struct BinaryRepeatParams {
    uint8_t dstBlkStride = 1;
    uint8_t src0BlkStride = 1;
    uint8_t src1BlkStride = 1;
    uint8_t dstRepStride = 8;
    uint8_t src0RepStride = 8;
    uint8_t src1RepStride = 8;

    constexpr BinaryRepeatParams() = default;
    constexpr BinaryRepeatParams(uint8_t dstBlk, uint8_t src0Blk, uint8_t src1Blk, uint8_t dstRep,
                                 uint8_t src0Rep, uint8_t src1Rep)
        : dstBlkStride(dstBlk), src0BlkStride(src0Blk), src1BlkStride(src1Blk),
          dstRepStride(dstRep), src0RepStride(src0Rep), src1RepStride(src1Rep)
    {
    }
};

}  // namespace AscendC

namespace pypto_twin {

template <typename T, typename... Types>
inline constexpr bool one_of = (is_same<T, Types> || ...);

/* Refuses at compile time what the device has no instruction for. */
#define PYPTO_TWIN_TYPES(instruction, T, ...)                                                    \
    static_assert(pypto_twin::one_of<T, __VA_ARGS__>,                                            \
                  instruction ": the device has this instruction only for " #__VA_ARGS__)

constexpr uint32_t widest() { return 1; }
template <typename... Sizes>
constexpr uint32_t widest(uint32_t first, Sizes... rest)
{
    return first > widest(rest...) ? first : widest(rest...);
}

/* Lanes of a repeat, and of a step, of an instruction on these types. */
template <typename... T>
inline constexpr uint32_t repeat_lanes = kRepeatBytes / widest(sizeof(T)...);
template <typename... T>
inline constexpr uint32_t step_lanes = (one_of<T, half, bfloat16_t> || ...)
                                           ? (widest(sizeof(T)...) == 8 ? 4 : 8)
                                           : kBlockBytes / widest(sizeof(T)...);

/* One tensor operand with its strides in bytes. */
template <typename T>
struct Operand {
    T* address;
    uint32_t block;
    uint32_t repeat;
    AscendC::TPosition position;
};

/* Dense operand of a count form. */
template <typename T>
PYPTO_INLINE Operand<T> operand(const AscendC::LocalTensor<T>& tensor)
{
    return {tensor.GetPhyAddr(), kBlockBytes, 0, tensor.Position()};
}

/* Strides in blocks. */
template <typename T>
PYPTO_INLINE Operand<T> operand(const AscendC::LocalTensor<T>& tensor, uint32_t block, uint32_t repeat)
{
    return {tensor.GetPhyAddr(), block * kBlockBytes, repeat * kBlockBytes, tensor.Position()};
}

/* Where step `step` of repeat `repeat` starts. */
template <uint32_t lanes, typename T>
PYPTO_INLINE T* address_of(const Operand<T>& at, uint32_t repeat, uint32_t step)
{
    constexpr uint32_t bytes = lanes * sizeof(T);
    constexpr uint32_t steps = kBlockBytes / bytes; /* per block; more than 1 on the narrow side */
    const uint64_t offset = steps == 1 ? uint64_t{step} * at.block
                                       : uint64_t{step / steps} * at.block + (step % steps) * bytes;
    return reinterpret_cast<T*>(reinterpret_cast<uint64_t>(at.address) +
                                uint64_t{repeat} * at.repeat + offset);
}

/* Tells the hooks what an operand's lanes are; nothing in the fast build. */
template <uint32_t lanes, bool writes, typename T>
PYPTO_INLINE void report(const Operand<T>& at, uint32_t repeats, uint32_t length)
{
    if constexpr (kHooks) {
        for (uint32_t lane = 0; lane < length; lane += lanes) {
            const uint64_t bytes = (length - lane < lanes ? length - lane : lanes) * sizeof(T);
            T* const start = address_of<lanes>(at, 0, lane / lanes);
            if constexpr (writes) {
                on_write(at.position, start, bytes, PIPE_V, repeats, at.repeat);
            } else {
                on_read(at.position, start, bytes, PIPE_V, repeats, at.repeat);
            }
        }
    }
    (void)at, (void)repeats, (void)length;
}

/* d = f(s...) in `length` lanes of each repeat, `last` lanes of the last one. Reads whole steps
 * (never past the 32-byte block of the last lane), writes exactly the lanes. */
template <typename F, typename D, typename... S>
PYPTO_INLINE void walk(const F& f, uint32_t repeats, uint32_t length, uint32_t last, Operand<D> d,
                       Operand<S>... s)
{
    constexpr uint32_t lanes = step_lanes<D, S...>;
    report<lanes, true>(d, repeats, length);
    (report<lanes, false>(s, repeats, length), ...);
    for (uint32_t r = 0; r < repeats; ++r) {
        const uint32_t active = r + 1 == repeats ? last : length;
        const uint32_t full = active / lanes;
        const uint32_t steps = (active + lanes - 1) / lanes;
        for (uint32_t step = 0; step < steps; ++step) {
            const auto packed =
                simd::Lanes<D, lanes>::pack(f(simd::Lanes<S, lanes>::load(address_of<lanes>(s, r, step))...));
            D* const to = address_of<lanes>(d, r, step);
            if (__builtin_expect(step < full, 1)) {
                simd::store(to, packed);
            } else {
                simd::store_first<sizeof(D)>(to, packed, active % lanes);
            }
        }
    }
}

/* The same under a mask of one bit a lane. */
template <typename F, typename D, typename... S>
PYPTO_INLINE void walk_bits(const F& f, uint32_t repeats, uint64_t low, uint64_t high, Operand<D> d,
                            Operand<S>... s)
{
    constexpr uint32_t lanes = step_lanes<D, S...>;
    constexpr uint32_t whole = repeat_lanes<D, S...>;
    constexpr uint32_t all = (1u << lanes) - 1;
    report<lanes, true>(d, repeats, whole);
    (report<lanes, false>(s, repeats, whole), ...);
    for (uint32_t r = 0; r < repeats; ++r) {
        for (uint32_t step = 0; step < whole / lanes; ++step) {
            const uint32_t first = step * lanes;
            const uint32_t bits = static_cast<uint32_t>((first < 64 ? low : high) >> (first % 64)) & all;
            if (bits == 0) continue;
            const auto packed =
                simd::Lanes<D, lanes>::pack(f(simd::Lanes<S, lanes>::load(address_of<lanes>(s, r, step))...));
            D* const to = address_of<lanes>(d, r, step);
            if (bits == all) {
                simd::store(to, packed);
            } else {
                simd::store_lanes<sizeof(D)>(to, packed, bits);
            }
        }
    }
}

/* Mask registers after a count form: all lanes, normal mode. */
PYPTO_INLINE void leave_count_form()
{
    state.mask_low = state.mask_high = ~uint64_t{0};
    state.mask_counter = false;
}

PYPTO_INLINE void set_mask(uint64_t low, uint64_t high)
{
    state.mask_low = low;
    state.mask_high = high;
}

/* The first `lanes` lanes. */
PYPTO_INLINE void set_mask_length(uint64_t lanes)
{
    AscendC::SetVectorMask<uint8_t>(static_cast<int32_t>(lanes < 128 ? lanes : 128));
}

/* Op(dst, src..., count). */
template <typename F, typename D, typename... S>
PYPTO_INLINE void count_form(const F& f, uint32_t count, const AscendC::LocalTensor<D>& d,
                             const AscendC::LocalTensor<S>&... s)
{
    on_instruction(PIPE_V);
    walk(f, 1, count, count, operand(d), operand(s)...);
    leave_count_form();
}

/* Runs a repeat form under the mask registers as they stand (isSetMask = false, or bit masks). */
template <typename F, typename D, typename... S>
PYPTO_INLINE void masked_form(const F& f, uint32_t repeats, Operand<D> d, Operand<S>... s)
{
    constexpr uint32_t lanes = repeat_lanes<D, S...>;
    if (state.mask_counter) { /* the total number of elements; the repeat count does not matter */
        const uint32_t total = static_cast<uint32_t>(state.mask_low);
        const uint32_t whole = (total + lanes - 1) / lanes;
        walk(f, whole, lanes, total - (whole - 1) * lanes, d, s...);
    } else {
        walk_bits(f, repeats, state.mask_low, state.mask_high, d, s...);
    }
}

PYPTO_INLINE void refuse_counter_mode()
{
    if (__builtin_expect(state.mask_counter, 0)) {
        fail("a repeat form with isSetMask = true in counter mode takes its mask bits as a total");
    }
}

/* Op(dst, src..., mask, repeat, strides): the first `mask` lanes of every repeat. */
template <bool isSetMask, typename F, typename D, typename... S>
PYPTO_INLINE void length_form(const F& f, uint64_t mask, uint32_t repeats, Operand<D> d, Operand<S>... s)
{
    on_instruction(PIPE_V);
    if constexpr (!isSetMask) {
        masked_form(f, repeats, d, s...);
    } else {
        constexpr uint32_t lanes = repeat_lanes<D, S...>;
        refuse_counter_mode();
        set_mask_length(mask);
        const uint32_t length = mask < lanes ? static_cast<uint32_t>(mask) : lanes;
        const bool dense = length == lanes && d.block == kBlockBytes && ((s.block == kBlockBytes) && ...) &&
                           d.repeat == lanes * sizeof(D) && ((s.repeat == lanes * sizeof(S)) && ...);
        const uint32_t joined = dense ? repeats * lanes : length; /* dense repeats are one long run */
        walk(f, dense ? 1 : repeats, joined, joined, d, s...);
    }
}

/* Op(dst, src..., mask[], repeat, strides): one bit a lane. */
template <bool isSetMask, typename F, typename D, typename... S>
PYPTO_INLINE void bits_form(const F& f, const uint64_t mask[], uint32_t repeats, Operand<D> d,
                            Operand<S>... s)
{
    on_instruction(PIPE_V);
    if constexpr (isSetMask) {
        refuse_counter_mode();
        set_mask(mask[0], widest(sizeof(D), sizeof(S)...) == 2 ? mask[1] : 0);
    }
    masked_form(f, repeats, d, s...);
}

/* What a repeat form covers, for instructions that are not elementwise. */
struct Coverage {
    uint32_t repeats;
    uint64_t low, high;           /* lanes of every repeat */
    uint64_t last_low, last_high; /* lanes of the last one */

    PYPTO_INLINE uint64_t word(uint32_t repeat, bool upper) const
    {
        const bool last = repeat + 1 == repeats;
        return upper ? (last ? last_high : high) : (last ? last_low : low);
    }
    /* The bits of `lanes` (a divisor of 64) lanes from lane `first` on. */
    template <uint32_t lanes>
    PYPTO_INLINE uint32_t bits(uint32_t repeat, uint32_t first) const
    {
        constexpr uint64_t all = (uint64_t{1} << lanes) - 1;
        return static_cast<uint32_t>((word(repeat, first >= 64) >> (first % 64)) & all);
    }
    PYPTO_INLINE bool active(uint32_t repeat, uint32_t lane) const
    {
        return ((word(repeat, lane >= 64) >> (lane % 64)) & 1) != 0;
    }
};

PYPTO_INLINE uint64_t low_bits(uint64_t count) { return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1; }

/* `count` elements, `lanes` a repeat. */
PYPTO_INLINE Coverage cover_count(uint32_t count, uint32_t lanes)
{
    const uint32_t repeats = (count + lanes - 1) / lanes;
    const uint64_t last = count - uint64_t{repeats == 0 ? 0 : repeats - 1} * lanes;
    const uint64_t high = lanes > 64 ? low_bits(lanes - 64) : 0;
    return {repeats, low_bits(lanes < 64 ? lanes : 64), high, low_bits(last < 64 ? last : 64),
            last > 64 ? low_bits(last - 64) : 0};
}

/* The mask registers as they stand. */
PYPTO_INLINE Coverage cover_registers(uint32_t repeats, uint32_t lanes)
{
    if (state.mask_counter) return cover_count(static_cast<uint32_t>(state.mask_low), lanes);
    const uint64_t low = state.mask_low & low_bits(lanes < 64 ? lanes : 64);
    const uint64_t high = lanes > 64 ? state.mask_high & low_bits(lanes - 64) : 0;
    return {repeats, low, high, low, high};
}

/* A repeat form's mask argument, set into the registers first where the form says so. */
template <bool isSetMask>
PYPTO_INLINE Coverage cover(uint64_t mask, uint32_t repeats, uint32_t lanes)
{
    if constexpr (isSetMask) {
        refuse_counter_mode();
        set_mask_length(mask);
    }
    return cover_registers(repeats, lanes);
}
template <bool isSetMask>
PYPTO_INLINE Coverage cover(const uint64_t mask[], uint32_t repeats, uint32_t lanes)
{
    if constexpr (isSetMask) {
        refuse_counter_mode();
        set_mask(mask[0], lanes > 64 ? mask[1] : 0);
    }
    return cover_registers(repeats, lanes);
}

}  // namespace pypto_twin

#endif
