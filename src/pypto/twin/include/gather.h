/* CPU twin: Gather (bytes offsets), Gatherb (blocks), GatherMask (compaction). */
#ifndef PYPTO_TWIN_GATHER_H
#define PYPTO_TWIN_GATHER_H

#include "fill.h"

namespace AscendC {

/* Strides in blocks. */
struct GatherRepeatParams {
    pypto_twin::Field8 dstBlkStride = 1;
    pypto_twin::Field16 dstRepStride = 8;

    constexpr GatherRepeatParams() = default;
    constexpr GatherRepeatParams(pypto_twin::Field8 dstBlk, pypto_twin::Field16 dstRep)
        : dstBlkStride(dstBlk), dstRepStride(dstRep)
    {
    }
};

struct GatherMaskParams {
    pypto_twin::Field8 src0BlockStride = 1;
    pypto_twin::Field16 repeatTimes = 0;
    pypto_twin::Field16 src0RepeatStride = 8;
    pypto_twin::Field8 src1RepeatStride = 8;

    constexpr GatherMaskParams() = default;
    constexpr GatherMaskParams(pypto_twin::Field8 block, pypto_twin::Field16 repeats,
                               pypto_twin::Field16 repeatStride, pypto_twin::Field8 bitsStride)
        : src0BlockStride(block), repeatTimes(repeats), src0RepeatStride(repeatStride),
          src1RepeatStride(bitsStride)
    {
    }
};

}  // namespace AscendC

PYPTO_FIELDS(GatherRepeatParams, wide(p.dstBlkStride), wide(p.dstRepStride))
PYPTO_FIELDS(GatherMaskParams, wide(p.src0BlockStride), wide(p.repeatTimes), wide(p.src0RepeatStride),
             wide(p.src1RepeatStride))

namespace pypto_twin {

template <typename T>
PYPTO_INLINE void gather_one(AscendC::TPosition position, T* to, const AscendC::LocalTensor<T>& src, uint64_t offset)
{
    T value;
    const uint8_t* const from = reinterpret_cast<const uint8_t*>(src.GetPhyAddr()) + offset;
    PYPTO_CHECK(gather_offset, offset, sizeof(T));
    on_read(src.Position(), from, sizeof(T), PIPE_V);
    on_move(position, to, 0, src.Position(), from, 0, sizeof(T));
    __builtin_memcpy(&value, from, sizeof(T));
    *to = value;
}

/* Whether an offset can be followed. */
PYPTO_INLINE bool known_offset(AscendC::TPosition position, const uint32_t* offset)
{
    return on_use("undefined-offset", "an offset of Gather", position, offset, sizeof(*offset));
}

template <typename T>
PYPTO_INLINE void gather_repeats(const Operand<T>& to, const AscendC::LocalTensor<T>& src,
                                 const AscendC::LocalTensor<uint32_t>& offsets, uint32_t base,
                                 const Coverage& covered)
{
    PYPTO_TWIN_TYPES("Gather", T, PYPTO_TWIN_MOVABLE);
    constexpr uint32_t lanes = kRepeatBytes / sizeof(T), block = kBlockBytes / sizeof(T);
    if (!on_instruction(PIPE_V)) {
        return;
    }
    report_covered<block, true>(to, covered);
    const uint32_t* const offset = offsets.GetPhyAddr();
    on_read(offsets.Position(), offset, uint64_t{covered.repeats} * lanes * 4, PIPE_V);
    for (uint32_t r = 0; r < covered.repeats; ++r) {
        for (uint32_t j = 0; j < lanes; ++j) {
            const uint32_t* const at = offset + r * lanes + j;
            if (!covered.active(r, j) || !known_offset(offsets.Position(), at)) continue;
            gather_one(to.position, address_of<block>(to, r, j / block) + j % block, src, uint64_t{base} + *at);
        }
    }
}

/* The first `lanes` bits decide which lanes are kept, and where all that follow go. */
PYPTO_INLINE void use_bits(AscendC::TPosition position, const uint8_t* bits, uint32_t lanes)
{
    for (uint32_t first = 0; first < lanes; first += 8) {
        const uint32_t wanted = first + 8 <= lanes ? 0xff : (1u << (lanes - first)) - 1;
        if ((defined_bits(position, bits + first / 8) & wanted) != wanted) {
            on_use("undefined-mask", "a bit of GatherMask", position, bits + first / 8, 1);
        }
    }
}

/* The kept lanes of each repeat, one after the other. keep(r, lane) tells which. The caller has issued
 * the instruction. */
template <typename T, typename Keep>
PYPTO_INLINE uint64_t compact(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
                              bool counted, uint32_t mask, const AscendC::GatherMaskParams& p, Keep keep)
{
    PYPTO_TWIN_TYPES("GatherMask", T, PYPTO_TWIN_MOVABLE);
    constexpr uint32_t block = kBlockBytes / sizeof(T);
    const uint32_t lanes = counted ? mask : kRepeatBytes / sizeof(T);
    const Operand<T> from = operand(src, p.src0BlockStride, p.src0RepeatStride);
    report<block, false>(from, p.repeatTimes, lanes);
    if constexpr (kChecked) { /* counted before any is written, up to one more than there is memory for */
        uint64_t bytes = 0;
        for (uint32_t r = 0; r < p.repeatTimes; ++r) {
            for (uint32_t j = 0; j < lanes && bytes <= memory_bytes(AscendC::Hardware::UB); ++j) {
                bytes += keep(r, j) ? sizeof(T) : 0;
            }
        }
        on_write(dst.Position(), dst.GetPhyAddr(), bytes, PIPE_V);
    }
    T* to = dst.GetPhyAddr();
    for (uint32_t r = 0; r < p.repeatTimes; ++r) {
        for (uint32_t j = 0; j < lanes; ++j) {
            if (!keep(r, j)) continue;
            const T* const kept = address_of<block>(from, r, j / block) + j % block;
            on_move(dst.Position(), to, 0, from.position, kept, 0, sizeof(T));
            const T value = *kept;
            *to++ = value;
        }
    }
    return static_cast<uint64_t>(to - dst.GetPhyAddr());
}

/* Patterns 1..7 of GatherMask: which lanes of every four are kept, as bits. */
PYPTO_INLINE uint32_t pattern_bits(uint8_t pattern)
{
    switch (pattern) {
        case 1: return 0x5;
        case 2: return 0xa;
        case 3: return 0x1;
        case 4: return 0x2;
        case 5: return 0x4;
        case 6: return 0x8;
        case 7: return 0xf;
        default: fail("GatherMask: patterns are 1 to 7");
    }
}

}  // namespace pypto_twin

namespace AscendC {

template <typename T>
PYPTO_INLINE void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                         const LocalTensor<uint32_t>& srcOffset, const uint32_t srcBaseAddr,
                         const pypto_twin::UnsignedCount count)
{
    using namespace pypto_twin;
    PYPTO_TWIN_TYPES("Gather", T, PYPTO_TWIN_MOVABLE);
    PYPTO_RULES(Gather, count(count).tensor(dst).bytes(src, sizeof(T)).bytes(srcOffset, uint64_t{count} * 4)
                            .value(srcBaseAddr));
    if (!on_instruction(PIPE_V)) {
        set_mask(~uint64_t{0}, ~uint64_t{0});
        return;
    }
    on_read(srcOffset.Position(), srcOffset.GetPhyAddr(), uint64_t{count} * 4, PIPE_V);
    on_write(dst.Position(), dst.GetPhyAddr(), uint64_t{count} * sizeof(T), PIPE_V);
    T* const to = dst.GetPhyAddr();
    const uint32_t* const offset = srcOffset.GetPhyAddr();
    for (uint32_t i = 0; i < count; ++i) {
        if (!known_offset(srcOffset.Position(), offset + i)) continue;
        gather_one(dst.Position(), to + i, src, uint64_t{srcBaseAddr} + offset[i]);
    }
    set_mask(~uint64_t{0}, ~uint64_t{0});
}
template <typename T>
PYPTO_INLINE void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                         const LocalTensor<uint32_t>& srcOffset, const uint32_t srcBaseAddr,
                         const uint64_t mask, const pypto_twin::Field8 repeatTime,
                         const pypto_twin::Field16 dstRepStride)
{
    using namespace pypto_twin;
    PYPTO_RULES(Gather, repeats(repeatTime).lanes<true>(mask).tensor(dst, 1, dstRepStride).bytes(src, sizeof(T))
                            .bytes(srcOffset, uint64_t{repeatTime} * (kRepeatBytes / sizeof(T)) * 4)
                            .strides(dstRepStride).value(srcBaseAddr));
    gather_repeats(operand(dst, 1, dstRepStride), src, srcOffset, srcBaseAddr,
                   cover<true>(mask, repeatTime, kRepeatBytes / sizeof(T)));
}
template <typename T>
PYPTO_INLINE void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                         const LocalTensor<uint32_t>& srcOffset, const uint32_t srcBaseAddr,
                         const uint64_t mask[], const pypto_twin::Field8 repeatTime,
                         const pypto_twin::Field16 dstRepStride)
{
    using namespace pypto_twin;
    PYPTO_RULES(Gather, repeats(repeatTime).lanes<true>(mask, sizeof(T)).tensor(dst, 1, dstRepStride).bytes(src, sizeof(T))
                            .bytes(srcOffset, uint64_t{repeatTime} * (kRepeatBytes / sizeof(T)) * 4)
                            .strides(dstRepStride).value(srcBaseAddr));
    gather_repeats(operand(dst, 1, dstRepStride), src, srcOffset, srcBaseAddr,
                   cover<true>(mask, repeatTime, kRepeatBytes / sizeof(T)));
}

/* One block for each offset, eight a repeat. */
template <typename T>
PYPTO_INLINE void Gatherb(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                          const LocalTensor<uint32_t>& offset, const pypto_twin::Field8 repeatTime,
                          const GatherRepeatParams& p)
{
    using namespace pypto_twin;
    PYPTO_TWIN_TYPES("Gatherb", T, uint16_t, uint32_t);
    PYPTO_RULES(Gatherb, repeats(repeatTime).tensor(dst, p.dstBlkStride, p.dstRepStride).bytes(src, kBlockBytes)
                             .bytes(offset, uint64_t{repeatTime} * 32).fields(p));
    if (!on_instruction(PIPE_V)) {
        set_mask(~uint64_t{0}, ~uint64_t{0});
        return;
    }
    const Operand<T> to = operand(dst, p.dstBlkStride, p.dstRepStride);
    report<kBlockBytes / sizeof(T), true>(to, repeatTime, kRepeatBytes / sizeof(T));
    on_read(offset.Position(), offset.GetPhyAddr(), uint64_t{repeatTime} * 32, PIPE_V);
    for (uint32_t i = 0; i < uint32_t{repeatTime} * 8; ++i) {
        if (!known_offset(offset.Position(), offset.GetPhyAddr() + i)) continue;
        const uint8_t* const from =
            reinterpret_cast<const uint8_t*>(src.GetPhyAddr()) + offset.GetPhyAddr()[i];
        T* const block = address_of<kBlockBytes / sizeof(T)>(to, i / 8, i % 8);
        PYPTO_CHECK(gather_offset, offset.GetPhyAddr()[i], kBlockBytes);
        on_read(src.Position(), from, kBlockBytes, PIPE_V);
        on_move(to.position, block, 0, src.Position(), from, 0, kBlockBytes);
        simd::store(block, simd::load<simd::u32x8>(from));
    }
    set_mask(~uint64_t{0}, ~uint64_t{0});
}

template <typename T>
PYPTO_INLINE void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                             const uint8_t src1Pattern, const bool reduceMode, const uint32_t mask,
                             const GatherMaskParams& p, uint64_t& rsvdCnt)
{
    using namespace pypto_twin;
    PYPTO_RULES(GatherMask_pattern, repeats(p.repeatTimes).bytes(dst, sizeof(T))
                                        .tensor(src0, p.src0BlockStride, p.src0RepeatStride).fields(p)
                                        .value(src1Pattern));
    const uint32_t pattern = pattern_bits(src1Pattern);
    if (on_instruction(PIPE_V)) {
        rsvdCnt = compact(dst, src0, reduceMode, mask, p,
                          [pattern](uint32_t, uint32_t lane) { return ((pattern >> (lane % 4)) & 1) != 0; });
    } else {
        const uint32_t lanes = reduceMode ? mask : kRepeatBytes / sizeof(T);
        const uint32_t rest = static_cast<uint32_t>(__builtin_popcount(pattern & ((1u << lanes % 4) - 1)));
        rsvdCnt = uint64_t{p.repeatTimes} *
                  (lanes / 4 * static_cast<uint32_t>(__builtin_popcount(pattern)) + rest);
    }
    leave_count_form();
}

/* User bits: each repeat's row starts src1RepeatStride blocks after the one before. */
template <typename T, typename U>
PYPTO_INLINE void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                             const LocalTensor<U>& src1Pattern, const bool reduceMode,
                             const uint32_t mask, const GatherMaskParams& p, uint64_t& rsvdCnt)
{
    using namespace pypto_twin;
    static_assert((sizeof(T) == 2 && is_same<U, uint16_t>) || (sizeof(T) == 4 && is_same<U, uint32_t>),
                  "GatherMask: the bits are uint16_t for 2-byte and uint32_t for 4-byte elements");
    PYPTO_RULES(GatherMask_bits, repeats(p.repeatTimes).bytes(dst, sizeof(T))
                                     .tensor(src0, p.src0BlockStride, p.src0RepeatStride)
                                     .bytes(src1Pattern, (uint64_t{reduceMode ? mask : kRepeatBytes / sizeof(T)} + 7) / 8,
                                            p.repeatTimes, p.src1RepeatStride * kBlockBytes).fields(p));
    const uint8_t* const bits = reinterpret_cast<const uint8_t*>(src1Pattern.GetPhyAddr());
    const uint32_t pitch = p.src1RepeatStride * kBlockBytes;
    const uint32_t lanes = reduceMode ? mask : kRepeatBytes / sizeof(T);
    if (on_instruction(PIPE_V)) {
        on_read(src1Pattern.Position(), bits, (uint64_t{lanes} + 7) / 8, PIPE_V, p.repeatTimes, pitch);
        for (uint32_t r = 0; kChecked && r < p.repeatTimes; ++r) {
            use_bits(src1Pattern.Position(), bits + r * pitch, lanes);
        }
        rsvdCnt = compact(dst, src0, reduceMode, mask, p, [bits, pitch](uint32_t r, uint32_t lane) {
            return ((bits[r * pitch + lane / 8] >> (lane % 8)) & 1) != 0;
        });
    }
    rsvdCnt = vector_value(rsvdCnt);
    leave_count_form();
    if (reduceMode) set_mask(mask, 0); /* the counted form leaves its mask value in the register */
}

}  // namespace AscendC

#endif
