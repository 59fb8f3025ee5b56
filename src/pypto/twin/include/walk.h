/* CPU twin: how a vector instruction walks over its operands: the loops. Who runs them: forms.h.
 *
 * A repeat is 256 bytes of the widest operand. It is done in steps of as many lanes as a 32-byte
 * register computes: floats of any width eight, others a block. Lane j of repeat r of an operand
 * with e elements a block lies in block r * repeat stride + (j / e) * block stride. The count forms
 * are one repeat of any length with all strides dense, so one loop serves both forms.
 */
#ifndef PYPTO_TWIN_WALK_H
#define PYPTO_TWIN_WALK_H

#include "lanes.h"
#include "simd.h"
#include "tensor.h"

namespace AscendC {

/* Strides in blocks of 32 bytes. A block stride 0 rereads one block, a repeat stride 0 a repeat. */
struct UnaryRepeatParams {
    pypto_twin::Field16 dstBlkStride = 1;
    pypto_twin::Field16 srcBlkStride = 1;
    pypto_twin::Field8 dstRepStride = 8;
    pypto_twin::Field8 srcRepStride = 8;
    bool halfBlock = false;

    constexpr UnaryRepeatParams() = default;
    constexpr UnaryRepeatParams(pypto_twin::Field16 dstBlk, pypto_twin::Field16 srcBlk,
                                pypto_twin::Field8 dstRep, pypto_twin::Field8 srcRep,
                                bool half_block = false)
        : dstBlkStride(dstBlk), srcBlkStride(srcBlk), dstRepStride(dstRep), srcRepStride(srcRep),
          halfBlock(half_block)
    {
    }
};

struct BinaryRepeatParams {
    pypto_twin::Field8 dstBlkStride = 1;
    pypto_twin::Field8 src0BlkStride = 1;
    pypto_twin::Field8 src1BlkStride = 1;
    pypto_twin::Field8 dstRepStride = 8;
    pypto_twin::Field8 src0RepStride = 8;
    pypto_twin::Field8 src1RepStride = 8;

    constexpr BinaryRepeatParams() = default;
    constexpr BinaryRepeatParams(pypto_twin::Field8 dstBlk, pypto_twin::Field8 src0Blk,
                                 pypto_twin::Field8 src1Blk, pypto_twin::Field8 dstRep,
                                 pypto_twin::Field8 src0Rep, pypto_twin::Field8 src1Rep)
        : dstBlkStride(dstBlk), src0BlkStride(src0Blk), src1BlkStride(src1Blk),
          dstRepStride(dstRep), src0RepStride(src0Rep), src1RepStride(src1Rep)
    {
    }
};

}  // namespace AscendC

PYPTO_FIELDS(UnaryRepeatParams, wide(p.dstBlkStride), wide(p.srcBlkStride), wide(p.dstRepStride),
             wide(p.srcRepStride), p.halfBlock)
PYPTO_FIELDS(BinaryRepeatParams, wide(p.dstBlkStride), wide(p.src0BlkStride), wide(p.src1BlkStride),
             wide(p.dstRepStride), wide(p.src0RepStride), wide(p.src1RepStride))

namespace pypto_twin {

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
        if (at.block == 0 && length > kBlockBytes / sizeof(T)) {
            length = kBlockBytes / sizeof(T); /* all its blocks are one */
        }
        for (uint64_t lane = 0; lane < length; lane += lanes) {
            const uint64_t bytes = (length - lane < lanes ? length - lane : lanes) * sizeof(T);
            T* const start = address_of<lanes>(at, 0, static_cast<uint32_t>(lane / lanes));
            if constexpr (writes) {
                on_write(at.position, start, bytes, PIPE_V, repeats, at.repeat);
            } else {
                on_read(at.position, start, bytes, PIPE_V, repeats, at.repeat);
            }
        }
    }
    (void)at, (void)repeats, (void)length;
}

/* d = f(s...) for `count` dense elements, whole steps. */
template <typename F, typename D, typename... S>
PYPTO_INLINE void walk_dense(const F f, uint32_t count, D* d, const S*... s)
{
    constexpr uint32_t lanes = step_lanes<D, S...>;
    for (uint64_t i = 0; i < count; i += lanes) {
        simd::store(d + i, simd::Lanes<D, lanes>::pack(f(simd::Lanes<S, lanes>::load(s + i)...)));
    }
}

/* d = f(a, b) with one block of b for all; whole steps. */
template <typename F, typename T>
PYPTO_INLINE void walk_fixed(const F f, uint32_t count, T* d, const T* a, const T* b)
{
    constexpr uint32_t lanes = step_lanes<T>;
    using Lanes = simd::Lanes<T, lanes>;
    const auto fixed = Lanes::load(b);
    for (uint64_t i = 0; i < count; i += lanes) {
        simd::store(d + i, Lanes::pack(f(Lanes::load(a + i), fixed)));
    }
}

/* d = f(a, d) for all lanes of every repeat; d is one repeat, in registers meanwhile. */
template <typename F, typename T>
PYPTO_INLINE void walk_fold(const F f, uint32_t repeats, T* d, const Operand<T>& a)
{
    constexpr uint32_t lanes = step_lanes<T>, steps = repeat_lanes<T> / lanes;
    using Lanes = simd::Lanes<T, lanes>;
    decltype(Lanes::load(d)) sums[steps];
#pragma GCC unroll 8
    for (uint32_t k = 0; k < steps; ++k) {
        sums[k] = Lanes::load(d + k * lanes);
    }
    for (uint32_t r = 0; r < repeats; ++r) {
#pragma GCC unroll 8
        for (uint32_t k = 0; k < steps; ++k) {
            sums[k] = f(Lanes::load(address_of<lanes>(a, r, 0) + k * lanes), sums[k]);
        }
    }
#pragma GCC unroll 8
    for (uint32_t k = 0; k < steps; ++k) {
        simd::store(d + k * lanes, Lanes::pack(sums[k]));
    }
}

/* Cuts the mask of a repeat into steps of `lanes` lanes; how many steps there are up to the last lane. */
PYPTO_SHARED uint32_t step_bits(uint32_t bits[], uint32_t most, uint32_t lanes, uint64_t low,
                                uint64_t high);

/* d = f(s...) in the lanes of every repeat whose bit is set. */
template <typename F, typename D, typename... S>
PYPTO_INLINE void walk_strided(const F f, uint32_t repeats, uint64_t low, uint64_t high, Operand<D> d,
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

template <unsigned... index>
struct Indices {};
template <unsigned n>
struct IndicesOf;
template <>
struct IndicesOf<0> {
    using type = Indices<>;
};
template <>
struct IndicesOf<1> {
    using type = Indices<1>;
};
template <>
struct IndicesOf<2> {
    using type = Indices<1, 2>;
};
template <>
struct IndicesOf<3> {
    using type = Indices<1, 2, 3>;
};

template <typename To, typename From>
PYPTO_INLINE Operand<To> retyped(const Operand<From>& at)
{
    return {reinterpret_cast<To*>(at.address), at.block, at.repeat, at.position};
}

/* The loops of f on these types. instances.h lists those that are compiled once and for all. */
template <typename F, typename D, typename... S>
struct Loops {
    static void dense(const void* f, uint32_t count, const Operand<uint8_t>* operands);
    static void strided(const void* f, uint32_t repeats, uint64_t low, uint64_t high,
                        const Operand<uint8_t>* operands);

    template <unsigned... index>
    static PYPTO_INLINE void run_dense(const F& f, uint32_t count, const Operand<uint8_t>* at,
                                       Indices<index...>)
    {
        walk_dense<F, D, S...>(f, count, reinterpret_cast<D*>(at[0].address),
                               reinterpret_cast<const S*>(at[index].address)...);
    }
    template <unsigned... index>
    static PYPTO_INLINE void run_strided(const F& f, uint32_t repeats, uint64_t low, uint64_t high,
                                         const Operand<uint8_t>* at, Indices<index...>)
    {
        walk_strided<F, D, S...>(f, repeats, low, high, retyped<D>(at[0]), retyped<S>(at[index])...);
    }
};

template <typename F, typename D, typename... S>
PYPTO_HIDDEN PYPTO_OUTLINE void Loops<F, D, S...>::dense(const void* f, uint32_t count,
                                                         const Operand<uint8_t>* operands)
{
    run_dense(*static_cast<const F*>(f), count, operands, typename IndicesOf<sizeof...(S)>::type{});
}

template <typename F, typename D, typename... S>
PYPTO_HIDDEN PYPTO_OUTLINE void Loops<F, D, S...>::strided(const void* f, uint32_t repeats, uint64_t low,
                                                           uint64_t high, const Operand<uint8_t>* operands)
{
    run_strided(*static_cast<const F*>(f), repeats, low, high, operands,
                typename IndicesOf<sizeof...(S)>::type{});
}

/* The loops of f for a block that stays, and for sums: of the few instructions that use them most. */
template <typename F, typename T>
struct FixedLoops {
    static void fixed(const void* f, uint32_t count, const Operand<uint8_t>* operands);
    static void fold(const void* f, uint32_t repeats, const Operand<uint8_t>* operands);
};

template <typename F, typename T>
PYPTO_HIDDEN PYPTO_OUTLINE void FixedLoops<F, T>::fixed(const void* f, uint32_t count,
                                                        const Operand<uint8_t>* operands)
{
    walk_fixed(*static_cast<const F*>(f), count, reinterpret_cast<T*>(operands[0].address),
               reinterpret_cast<const T*>(operands[1].address),
               reinterpret_cast<const T*>(operands[2].address));
}

template <typename F, typename T>
PYPTO_HIDDEN PYPTO_OUTLINE void FixedLoops<F, T>::fold(const void* f, uint32_t repeats,
                                                       const Operand<uint8_t>* operands)
{
    walk_fold(*static_cast<const F*>(f), repeats, reinterpret_cast<T*>(operands[0].address),
              retyped<T>(operands[1]));
}

template <typename F, typename... T>
inline constexpr bool has_fixed = false;
template <typename F>
inline constexpr bool has_fixed<F, float, float, float> =
    one_of<F, lane::AddLanes, lane::SubLanes, lane::MulLanes, lane::DivLanes, lane::MaxLanes, lane::MinLanes>;

template <typename F>
inline constexpr Mixing mixing_of = Mixing::all;
template <>
inline constexpr Mixing mixing_of<lane::AndLanes> = Mixing::ands;
template <>
inline constexpr Mixing mixing_of<lane::OrLanes> = Mixing::ors;
template <>
inline constexpr Mixing mixing_of<lane::NotLanes> = Mixing::in_place;

template <typename F, typename D, typename... S>
constexpr Instruction make_instruction()
{
    Instruction made = {&Loops<F, D, S...>::dense,
                        &Loops<F, D, S...>::strided,
                        nullptr,
                        nullptr,
                        repeat_lanes<D, S...>,
                        step_lanes<D, S...>,
                        1 + sizeof...(S),
                        {sizeof(D), sizeof(S)...},
                        sizeof(F),
                        mixing_of<F>};
    if constexpr (has_fixed<F, D, S...>) {
        made.fixed = &FixedLoops<F, D>::fixed;
        made.fold = &FixedLoops<F, D>::fold;
    }
    return made;
}

template <typename F, typename D, typename... S>
inline constexpr Instruction instruction_of = make_instruction<F, D, S...>();

}  // namespace pypto_twin

#endif
