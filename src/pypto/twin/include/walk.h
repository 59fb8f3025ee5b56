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

/* A function that is compiled once, whatever its arguments. */
#if defined(__clang__)
#define PYPTO_OUTLINE __attribute__((noinline))
#else
#define PYPTO_OUTLINE __attribute__((noinline, noclone))
#endif

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

/* Strides in blocks. Its loads may be outstanding: for forms that find them. */
template <typename T>
PYPTO_INLINE Operand<T> outstanding(const AscendC::LocalTensor<T>& tensor, uint32_t block,
                                    uint32_t repeat)
{
    return {tensor.Address(), block * kBlockBytes, repeat * kBlockBytes, tensor.Position()};
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

/* d = f(s...) for `count` dense elements. Reads whole steps (not past the 32-byte block of the last
 * element), writes exactly the elements. The loops below are functions of their own, and f appears
 * once in each: compiling is faster than with everything inlined into the kernel. */
template <typename F, typename D, typename... S>
PYPTO_OUTLINE void walk_dense(F f, uint32_t count, D* d, const S*... s)
{
    constexpr uint32_t lanes = step_lanes<D, S...>;
    const uint64_t whole = count / lanes * lanes;
    D last[lanes];
    uint64_t i = 0, end = whole, to = reinterpret_cast<uint64_t>(d);
    for (;;) { /* a second turn computes the last step into `last` */
        for (; i < end; i += lanes) {
            simd::store(reinterpret_cast<D*>(to) + i,
                        simd::Lanes<D, lanes>::pack(f(simd::Lanes<S, lanes>::load(s + i)...)));
        }
        if (end >= count) break;
        end += lanes;
        to = reinterpret_cast<uint64_t>(last) - whole * sizeof(D);
    }
    if (count != whole) {
        using Packed = decltype(simd::Lanes<D, lanes>::pack(f(simd::Lanes<S, lanes>::load(s)...)));
        simd::store_first<sizeof(D)>(d + whole, simd::load<Packed>(last), count % lanes);
    }
}

/* Cuts the mask of a repeat into steps of `lanes` lanes; how many steps there are up to the last lane. */
PYPTO_OUTLINE inline uint32_t step_bits(uint32_t bits[], uint32_t most, uint32_t lanes, uint64_t low,
                                        uint64_t high)
{
    uint32_t steps = 0;
#pragma GCC unroll 1
    for (uint32_t step = 0; step < most; ++step) {
        const uint32_t first = step * lanes;
        bits[step] = static_cast<uint32_t>((first < 64 ? low : high) >> (first % 64)) & ((1u << lanes) - 1);
        if (bits[step] != 0) steps = step + 1;
    }
    return steps;
}

/* d = f(s...) in the lanes of every repeat whose bit is set. */
template <typename F, typename D, typename... S>
PYPTO_OUTLINE void walk_strided(F f, uint32_t repeats, uint64_t low, uint64_t high, Operand<D> d,
                                Operand<S>... s)
{
    constexpr uint32_t lanes = step_lanes<D, S...>, most = repeat_lanes<D, S...> / lanes;
    constexpr uint32_t all = (1u << lanes) - 1;
    uint32_t bits[most];
    const uint32_t steps = step_bits(bits, most, lanes, low, high);
    for (uint32_t r = 0; r < repeats; ++r) {
#pragma GCC unroll 1
        for (uint32_t step = 0; step < steps; ++step) {
            const auto packed =
                simd::Lanes<D, lanes>::pack(f(simd::Lanes<S, lanes>::load(address_of<lanes>(s, r, step))...));
            D* const to = address_of<lanes>(d, r, step);
            if (__builtin_expect(bits[step] == all, 1)) {
                simd::store(to, packed);
            } else {
                simd::store_lanes<sizeof(D)>(to, packed, bits[step]);
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

/* walk_dense, once the sources are found: what is written may be what is read. */
template <typename F, typename D, typename... S>
PYPTO_INLINE void walk_resolved(const F& f, uint32_t count, D* d, const S*... s)
{
    written(d, bytes_of<D>(count), true);
    walk_dense<F, D, S...>(f, count, d, s...);
}

/* Op(dst, src..., count) on `dst` and `src` of any types. */
template <typename F, typename D, typename... S>
inline void count_form(const F& f, uint32_t count, const AscendC::LocalTensor<D>& d,
                             const AscendC::LocalTensor<S>&... s)
{
    constexpr uint32_t lanes = step_lanes<D, S...>;
    on_instruction(PIPE_V);
    report<lanes, true>(outstanding(d, 1, 0), 1, count);
    (report<lanes, false>(outstanding(s, 1, 0), 1, count), ...);
    walk_resolved<F, D, S...>(f, count, d.Address(), source(s.Address(), bytes_of<S>(count))...);
    leave_count_form();
}

/* `repeats` repeats, lanes by mask bits. */
template <typename F, typename D, typename... S>
inline void strided(const F& f, uint32_t repeats, uint64_t low, uint64_t high, const Operand<D>& d,
                          const Operand<S>&... s)
{
    constexpr uint32_t lanes = step_lanes<D, S...>;
    report<lanes, true>(d, repeats, repeat_lanes<D, S...>);
    (report<lanes, false>(s, repeats, repeat_lanes<D, S...>), ...);
    walk_strided<F, D, S...>(f, repeats, low, high, d, s...);
}

PYPTO_INLINE uint64_t low_bits(uint64_t count)
{
    return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}
PYPTO_INLINE uint64_t high_bits(uint64_t count) { return count > 64 ? low_bits(count - 64) : 0; }

template <typename T>
PYPTO_INLINE Operand<T> advance(const Operand<T>& at, uint64_t repeats)
{
    return {reinterpret_cast<T*>(reinterpret_cast<uint64_t>(at.address) + repeats * at.repeat), at.block,
            at.repeat, at.position};
}

/* Runs a repeat form under the mask registers as they stand (isSetMask = false, or bit masks). */
template <typename F, typename D, typename... S>
inline void masked_form(const F& f, uint32_t repeats, const Operand<D>& d, const Operand<S>&... s)
{
    constexpr uint32_t lanes = repeat_lanes<D, S...>;
    if (!state.mask_counter) {
        strided(f, repeats, state.mask_low, state.mask_high, d, s...);
        return;
    }
    /* counter mode: the total number of elements; the repeat count does not matter */
    const uint32_t total = static_cast<uint32_t>(state.mask_low);
    strided(f, total / lanes, ~uint64_t{0}, ~uint64_t{0}, d, s...);
    if (total % lanes != 0) {
        strided(f, 1, low_bits(total % lanes), high_bits(total % lanes), advance(d, total / lanes),
                advance(s, total / lanes)...);
    }
}

PYPTO_INLINE void refuse_counter_mode()
{
    if (__builtin_expect(state.mask_counter, 0)) {
        fail("a repeat form with isSetMask = true in counter mode takes its mask bits as a total");
    }
}

/* d = f(s...) in the first `mask` lanes of every repeat. */
template <typename F, typename D, typename... S>
PYPTO_OUTLINE void walk_length(const F& f, uint64_t mask, uint32_t repeats, const Operand<D>& d,
                               const Operand<S>&... s)
{
    constexpr uint32_t lanes = repeat_lanes<D, S...>;
    const bool dense = mask >= lanes && d.block == kBlockBytes && ((s.block == kBlockBytes) && ...) &&
                       d.repeat == lanes * sizeof(D) && ((s.repeat == lanes * sizeof(S)) && ...);
    if (!dense) {
        strided(f, repeats, low_bits(mask), high_bits(mask), d, s...);
    } else { /* dense repeats are one long run */
        report<lanes, true>(d, repeats, lanes);
        (report<lanes, false>(s, repeats, lanes), ...);
        walk_dense<F, D, S...>(f, repeats * lanes, d.address, s.address...);
    }
}

/* Bytes from the first to the last lane of an operand in `repeats` repeats of `mask` lanes. */
template <typename T>
PYPTO_INLINE uint64_t reach(const Operand<T>& at, uint64_t mask, uint32_t repeats)
{
    if (mask == 0 || repeats == 0) {
        return 0;
    }
    const uint64_t blocks = (bytes_of<T>(mask) + kBlockBytes - 1) / kBlockBytes;
    return uint64_t{repeats - 1} * at.repeat + (blocks - 1) * at.block + kBlockBytes;
}

template <typename T>
PYPTO_INLINE Operand<T> resolved(const Operand<T>& at, uint64_t mask, uint32_t repeats)
{
    return {source(at.address, reach(at, mask, repeats)), at.block, at.repeat, at.position};
}

/* length_form while loads are outstanding. */
template <typename F, typename D, typename... S>
PYPTO_COLD void length_form_resolved(const F& f, uint64_t mask, uint32_t repeats, const Operand<D>& d,
                                     const Operand<S>&... s)
{
    const uint64_t row = bytes_of<D>(mask);
    const bool whole = row % kBlockBytes == 0 && (d.block == kBlockBytes || row == kBlockBytes) &&
                       (repeats == 1 || d.repeat == row);
    written(d.address, reach(d, mask, repeats), whole);
    walk_length<F, D, S...>(f, mask, repeats, d, s...);
}

/* Op(dst, src..., mask, repeat, strides): the first `mask` lanes of every repeat. */
template <bool isSetMask, typename F, typename D, typename... S>
PYPTO_OUTLINE void length_form(const F& f, uint64_t mask, uint32_t repeats, const Operand<D>& d,
                              const Operand<S>&... s)
{
    on_instruction(PIPE_V);
    if constexpr (!isSetMask) {
        settle();
        masked_form(f, repeats, d, s...);
    } else {
        refuse_counter_mode();
        set_mask(low_bits(mask), high_bits(mask));
        if (kDefers && state.deferred_count != 0) {
            length_form_resolved(f, mask, repeats, d, resolved(s, mask, repeats)...);
        } else {
            walk_length<F, D, S...>(f, mask, repeats, d, s...);
        }
    }
}

/* Op(dst, src..., mask[], repeat, strides): one bit a lane. */
template <bool isSetMask, typename F, typename D, typename... S>
PYPTO_OUTLINE void bits_form(const F& f, const uint64_t mask[], uint32_t repeats, const Operand<D>& d,
                            const Operand<S>&... s)
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

/* `count` elements, `lanes` a repeat. */
PYPTO_INLINE Coverage cover_count(uint32_t count, uint32_t lanes)
{
    const uint32_t repeats = (count + lanes - 1) / lanes;
    const uint64_t last = count - uint64_t{repeats == 0 ? 0 : repeats - 1} * lanes;
    return {repeats, low_bits(lanes), high_bits(lanes), low_bits(last), high_bits(last)};
}

/* The mask registers as they stand. */
PYPTO_INLINE Coverage cover_registers(uint32_t repeats, uint32_t lanes)
{
    if (state.mask_counter) return cover_count(static_cast<uint32_t>(state.mask_low), lanes);
    const uint64_t low = state.mask_low & low_bits(lanes), high = state.mask_high & high_bits(lanes);
    return {repeats, low, high, low, high};
}

/* A repeat form's mask argument, set into the registers first where the form says so. */
template <bool isSetMask>
PYPTO_INLINE Coverage cover(uint64_t mask, uint32_t repeats, uint32_t lanes)
{
    if constexpr (isSetMask) {
        refuse_counter_mode();
        set_mask(low_bits(mask), high_bits(mask));
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
