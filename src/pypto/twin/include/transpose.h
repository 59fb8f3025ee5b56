/* CPU twin: Transpose of a 16 x 16 matrix, TransDataTo5HD of sixteen blocks. */
#ifndef PYPTO_TWIN_TRANSPOSE_H
#define PYPTO_TWIN_TRANSPOSE_H

#include "cube_load.h"

namespace AscendC {

/* Strides in blocks, 0 with a single repeat. dstHighHalf, srcHighHalf: the upper 16 elements of the blocks
 * of a 1-byte type. */
struct TransDataTo5HDParams {
    bool dstHighHalf = false;
    bool srcHighHalf = false;
    pypto_twin::Field8 repeatTimes = 1;
    pypto_twin::Field16 dstRepStride = 0;
    pypto_twin::Field16 srcRepStride = 0;

    constexpr TransDataTo5HDParams() = default;
    constexpr TransDataTo5HDParams(bool dstHigh, bool srcHigh, pypto_twin::Field8 repeats,
                                   pypto_twin::Field16 dstStride, pypto_twin::Field16 srcStride)
        : dstHighHalf(dstHigh),
          srcHighHalf(srcHigh),
          repeatTimes(repeats),
          dstRepStride(dstStride),
          srcRepStride(srcStride)
    {
    }
};

}  // namespace AscendC

PYPTO_FIELDS(TransDataTo5HDParams, wide(p.dstHighHalf), wide(p.srcHighHalf), wide(p.repeatTimes),
             wide(p.dstRepStride), wide(p.srcRepStride))

namespace pypto_twin {

constexpr uint32_t kTransposed = 16; /* blocks */

/* Where elements of sixteen blocks are, `first` bytes into each; `pitch` bytes from repeat to repeat. */
struct Blocks {
    uint8_t* at[kTransposed];
    Provenance position;
    uint32_t first, pitch;
};

/* Element j of source block i to element i of destination block j; of 4-byte types, which have 8 elements
 * a block, to block 2j for the first eight blocks and 2j + 1 for the others. */
PYPTO_SHARED void transpose_blocks(const Blocks& dst, const Blocks& src, uint32_t size, uint32_t repeats);

}  // namespace pypto_twin

namespace AscendC {

template <typename T>
PYPTO_INLINE void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src)
{
    using namespace pypto_twin;
    PYPTO_TWIN_TYPES("Transpose", T, int16_t, uint16_t, half);
    PYPTO_RULES(Transpose, bytes(dst, 512).bytes(src, 512));
    settle();
    Blocks to{{}, dst.Position(), 0, 0}, from{{}, src.Position(), 0, 0};
    for (uint32_t i = 0; i < kTransposed; ++i) {
        to.at[i] = bytes_at(dst.Address()) + i * kBlockBytes;
        from.at[i] = bytes_at(src.Address()) + i * kBlockBytes;
    }
    transpose_blocks(to, from, 2, 1);
}

template <typename T>
PYPTO_INLINE void TransDataTo5HD(const LocalTensor<T> (&dst)[16], const LocalTensor<T> (&src)[16],
                                 const TransDataTo5HDParams& params)
{
    using namespace pypto_twin;
    PYPTO_TWIN_TYPES("TransDataTo5HD", T, int8_t, uint8_t, int16_t, uint16_t, half, int32_t, uint32_t, float);
    for (uint32_t i = 0; i < kTransposed; ++i) {
        PYPTO_RULES(TransDataTo5HD, bytes(dst[i], 0).bytes(src[i], 0).fields(params));
    }
    settle();
    constexpr uint32_t half_block = sizeof(T) == 1 ? 16 : 0;
    Blocks to{{}, dst[0].Position(), params.dstHighHalf ? half_block : 0, params.dstRepStride * kBlockBytes};
    Blocks from{{}, src[0].Position(), params.srcHighHalf ? half_block : 0, params.srcRepStride * kBlockBytes};
    for (uint32_t i = 0; i < kTransposed; ++i) {
        to.at[i] = bytes_at(dst[i].Address());
        from.at[i] = bytes_at(src[i].Address());
    }
    PYPTO_CHECK(block_lists, to, from, kTransposed * (sizeof(T) == 1 ? 1 : 2), params.repeatTimes);
    transpose_blocks(to, from, sizeof(T), params.repeatTimes);
}

}  // namespace AscendC

#endif
