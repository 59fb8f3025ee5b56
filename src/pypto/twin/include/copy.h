/* CPU twin: Copy, from UB to UB by mask, on the vector pipe. */
#ifndef PYPTO_TWIN_COPY_H
#define PYPTO_TWIN_COPY_H

#include "tensor.h"

namespace AscendC {

/* Block strides and repeat strides in 32-byte blocks. The device's default stride is 0 indeed. */
struct CopyRepeatParams {
    pypto_twin::Field16 dstStride = 0;
    pypto_twin::Field16 srcStride = 0;
    pypto_twin::Field16 dstRepeatSize = 8;
    pypto_twin::Field16 srcRepeatSize = 8;

    constexpr CopyRepeatParams() = default;
    constexpr CopyRepeatParams(pypto_twin::Field16 dst, pypto_twin::Field16 src, pypto_twin::Field16 dstRepeat,
                               pypto_twin::Field16 srcRepeat)
        : dstStride(dst), srcStride(src), dstRepeatSize(dstRepeat), srcRepeatSize(srcRepeat)
    {
    }
};

}  // namespace AscendC

PYPTO_FIELDS(CopyRepeatParams, wide(p.dstStride), wide(p.srcStride), wide(p.dstRepeatSize), wide(p.srcRepeatSize))

namespace pypto_twin {

/* Lanes of one repeat as bits: [0] lanes 0..63, [1] lanes 64..127. */
struct Lanes {
    uint64_t low;
    uint64_t high;
};

constexpr Lanes first_lanes(uint64_t count)
{
    const uint64_t ones = ~uint64_t{0};
    return Lanes{count >= 64 ? ones : (uint64_t{1} << count) - 1,
                 count >= 128 ? ones : (count > 64 ? (uint64_t{1} << (count - 64)) - 1 : 0)};
}

/* One masked repeat after another; a masked-off lane of dst keeps its value. */
template <typename T>
inline __attribute__((noinline)) void copy_masked(const AscendC::LocalTensor<T>& dst,
                                                  const AscendC::LocalTensor<T>& src, Lanes lanes,
                                                  uint8_t repeat, AscendC::CopyRepeatParams p)
{
    constexpr uint32_t per_block = kBlockBytes / sizeof(T);
    if (!on_instruction(PIPE_V)) {
        return;
    }
    for (uint32_t r = 0; r < repeat; ++r) {
        for (uint32_t block = 0; block < 8; ++block) {
            T* const to = dst.GetPhyAddr() + (r * p.dstRepeatSize + block * p.dstStride) * per_block;
            const T* const from =
                src.GetPhyAddr() + (r * p.srcRepeatSize + block * p.srcStride) * per_block;
            const uint32_t first = block * per_block;
            const uint64_t word = first < 64 ? lanes.low >> first : lanes.high >> (first - 64);
            for (uint32_t lane = 0; lane < per_block; ++lane) {
                if (((word >> lane) & 1u) != 0) {
                    on_read(src.Position(), from + lane, sizeof(T), PIPE_V);
                    on_write(dst.Position(), to + lane, sizeof(T), PIPE_V);
                    on_move(dst.Position(), to + lane, 0, src.Position(), from + lane, 0, sizeof(T));
                    to[lane] = from[lane];
                }
            }
        }
    }
}

}  // namespace pypto_twin

namespace AscendC {

/* `mask`: the first lanes of each repeat; in counter mode too it counts per repeat. Leaves the
 * mask register as it set it. */
template <typename T, bool isSetMask = true>
PYPTO_INLINE void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask,
                       pypto_twin::Field8 repeat, const CopyRepeatParams& params)
{
    PYPTO_TWIN_TYPES("Copy", T, PYPTO_TWIN_MOVABLE);
    PYPTO_RULES(Copy, repeats(repeat).lanes<isSetMask>(mask, sizeof(T))
                          .tensor(dst, params.dstStride, params.dstRepeatSize)
                          .tensor(src, params.srcStride, params.srcRepeatSize).fields(params));
    if constexpr (isSetMask) {
        const pypto_twin::Lanes lanes = pypto_twin::first_lanes(mask);
        SetVectorMask<T>(lanes.high, lanes.low);
        pypto_twin::copy_masked(dst, src, lanes, repeat, params);
    } else {
        const pypto_twin::State& s = pypto_twin::state();
        pypto_twin::copy_masked(dst, src,
                                s.mask_counter ? pypto_twin::first_lanes(s.mask_low)
                                               : pypto_twin::Lanes{s.mask_low, s.mask_high},
                                repeat, params);
    }
}

template <typename T, bool isSetMask = true>
PYPTO_INLINE void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[],
                       pypto_twin::Field8 repeat, const CopyRepeatParams& params)
{
    PYPTO_TWIN_TYPES("Copy", T, PYPTO_TWIN_MOVABLE);
    PYPTO_RULES(Copy, repeats(repeat).lanes<isSetMask>(mask, sizeof(T))
                          .tensor(dst, params.dstStride, params.dstRepeatSize)
                          .tensor(src, params.srcStride, params.srcRepeatSize).fields(params));
    if constexpr (isSetMask) {
        SetVectorMask<T>(sizeof(T) == 2 ? mask[1] : 0, mask[0]);
        pypto_twin::copy_masked(dst, src, pypto_twin::Lanes{mask[0], sizeof(T) == 2 ? mask[1] : 0},
                                repeat, params);
    } else {
        const pypto_twin::State& s = pypto_twin::state();
        pypto_twin::copy_masked(dst, src,
                                s.mask_counter ? pypto_twin::first_lanes(s.mask_low)
                                               : pypto_twin::Lanes{s.mask_low, s.mask_high},
                                repeat, params);
    }
}

}  // namespace AscendC

#endif
