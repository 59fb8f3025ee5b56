/* CPU twin: parameters of the cube unit's instructions and of the copies around it.
 *
 * C0: elements of 32 bytes. A fractal is 16 rows of C0 elements, 512 bytes.
 */
#ifndef PYPTO_TWIN_CUBE_TYPES_H
#define PYPTO_TWIN_CUBE_TYPES_H

#include "rules.h"

/* What Fixpipe does to a value: B8 is int8_t or uint8_t; V: a scale for each column. */
enum QuantMode_t {
    NoQuant = 0,
    F322F16,
    F322BF16,
    QF322B8_PRE,
    VQF322B8_PRE,
    DEQF16,
    VDEQF16,
    REQ8,
    VREQ8
};

namespace AscendC {

using ::QuantMode_t;

/* Row-major matrices in global memory to NZ. Strides of the source in elements; of a strip of C0
 * columns and of a row in 32 bytes; from one matrix to the next in elements. */
struct Nd2NzParams {
    pypto_twin::Field16 ndNum = 0;
    pypto_twin::Field16 nValue = 0; /* rows */
    pypto_twin::Field16 dValue = 0; /* columns */
    pypto_twin::Field16 srcNdMatrixStride = 0;
    pypto_twin::Field16 srcDValue = 0; /* row pitch */
    pypto_twin::Field16 dstNzC0Stride = 0;
    pypto_twin::Field16 dstNzNStride = 0;
    pypto_twin::Field16 dstNzMatrixStride = 0;

    constexpr Nd2NzParams() = default;
    constexpr Nd2NzParams(pypto_twin::Field16 matrices, pypto_twin::Field16 rows,
                          pypto_twin::Field16 columns, pypto_twin::Field16 matrixStride,
                          pypto_twin::Field16 rowPitch, pypto_twin::Field16 c0Stride,
                          pypto_twin::Field16 rowStride, pypto_twin::Field16 nzMatrixStride)
        : ndNum(matrices),
          nValue(rows),
          dValue(columns),
          srcNdMatrixStride(matrixStride),
          srcDValue(rowPitch),
          dstNzC0Stride(c0Stride),
          dstNzNStride(rowStride),
          dstNzMatrixStride(nzMatrixStride)
    {
    }
};

/* NZ with strips of 16 columns in the UB to row-major matrices in global memory. */
struct Nz2NdParamsFull {
    pypto_twin::Field16 ndNum = 1;
    pypto_twin::Field16 nValue = 0; /* rows */
    pypto_twin::Field16 dValue = 0; /* columns, a multiple of 16 */
    pypto_twin::Field16 srcNdMatrixStride = 1; /* 256 elements */
    pypto_twin::Field16 srcNStride = 0;        /* strip to strip, 16 elements */
    pypto_twin::Field16 dstDStride = 0;        /* row pitch, elements */
    pypto_twin::Field16 dstNdMatrixStride = 1; /* elements */

    constexpr Nz2NdParamsFull() = default;
    constexpr Nz2NdParamsFull(pypto_twin::Field16 matrices, pypto_twin::Field16 rows,
                              pypto_twin::Field16 columns, pypto_twin::Field16 matrixStride,
                              pypto_twin::Field16 stripStride, pypto_twin::Field16 rowPitch,
                              pypto_twin::Field16 ndMatrixStride)
        : ndNum(matrices),
          nValue(rows),
          dValue(columns),
          srcNdMatrixStride(matrixStride),
          srcNStride(stripStride),
          dstDStride(rowPitch),
          dstNdMatrixStride(ndMatrixStride)
    {
    }
};

/* Indices, strides and gaps in fractals; a stride from start to start, a gap from end to start. */
struct LoadData2DParams {
    pypto_twin::Field16 startIndex = 0;
    pypto_twin::Field16 dstGap = 0;
    pypto_twin::Field16 srcStride = 0;
    bool ifTranspose = false;
    pypto_twin::Field8 repeatTimes = 0;
    pypto_twin::Field8 sid = 0;
    pypto_twin::Field8 addrMode = 0; /* 1: the source descends from startIndex */

    constexpr LoadData2DParams() = default;
    constexpr LoadData2DParams(pypto_twin::Field16 start, pypto_twin::Field8 repeats,
                               pypto_twin::Field16 stride, pypto_twin::Field8 id, pypto_twin::Field16 gap,
                               bool transpose, pypto_twin::Field8 mode)
        : startIndex(start),
          dstGap(gap),
          srcStride(stride),
          ifTranspose(transpose),
          repeatTimes(repeats),
          sid(id),
          addrMode(mode)
    {
    }
};

/* startIndex and srcStride in square blocks. dstGap: end of a block's first fractal to the first of the
 * next block; dstFracGap: between the fractals of a block; both in fractals. */
struct LoadData2dTransposeParams {
    pypto_twin::Field16 startIndex = 0;
    pypto_twin::Field8 repeatTimes = 0;
    pypto_twin::Field16 srcStride = 0;
    pypto_twin::Field16 dstGap = 0;
    pypto_twin::Field16 dstFracGap = 0;
    pypto_twin::Field8 addrMode = 0;

    constexpr LoadData2dTransposeParams() = default;
    constexpr LoadData2dTransposeParams(pypto_twin::Field16 start, pypto_twin::Field8 repeats,
                                        pypto_twin::Field16 stride, pypto_twin::Field16 gap,
                                        pypto_twin::Field16 fractalGap, pypto_twin::Field8 mode = 0)
        : startIndex(start),
          repeatTimes(repeats),
          srcStride(stride),
          dstGap(gap),
          dstFracGap(fractalGap),
          addrMode(mode)
    {
    }
};

enum class FmatrixMode : uint8_t { FMATRIX_LEFT = 0, FMATRIX_RIGHT = 1 };

}  // namespace AscendC

namespace pypto_twin {

/* An image in L1 (channel strip, row, column, C0 channels) and the part of its patch matrix to take. */
struct Image {
    uint8_t padList[4] = {0, 0, 0, 0}; /* left, right, top, bottom */
    Field16 l1H = 0;
    Field16 l1W = 0;
    Field16 channelSize = 0;
    Field16 kExtension = 0; /* columns */
    Field16 mExtension = 0; /* rows */
    Field16 kStartPt = 0;
    Field16 mStartPt = 0;
    Field8 strideW = 1;
    Field8 strideH = 1;
    Field8 filterW = 1;
    Field8 filterH = 1;
    Field8 dilationFilterW = 1;
    Field8 dilationFilterH = 1;
    bool enTranspose = false;
    bool enSmallK = false;
    bool filterSizeW = false; /* the filter is 256 wider */
    bool filterSizeH = false;
    bool fMatrixCtrl = false;
};

}  // namespace pypto_twin

namespace AscendC {

template <typename T>
struct LoadData3DParamsV2 : pypto_twin::Image {
    T padValue = static_cast<T>(0);
};

struct LoadDataRepeatParam {
    pypto_twin::Field16 repeatStride = 0;
    pypto_twin::Field8 repeatTime = 1;
    pypto_twin::Field8 repeatMode = 0;
};

/* blockNum and dstGap in blocks: 32 bytes in L1, 512 in L0. */
template <typename T>
struct InitConstValueParams {
    pypto_twin::Field16 repeatTimes = 0;
    pypto_twin::Field16 blockNum = 0;
    pypto_twin::Field16 dstGap = 0;
    T initValue = static_cast<T>(0);

    constexpr InitConstValueParams() = default;
    constexpr InitConstValueParams(pypto_twin::Field16 repeats, pypto_twin::Field16 blocks,
                                   pypto_twin::Field16 gap, T value)
        : repeatTimes(repeats), blockNum(blocks), dstGap(gap), initValue(value)
    {
    }
};

/* Real sizes; m == 1 reads A as a vector. isBias, fmOffset and en* have no meaning on this target. */
struct MmadParams {
    pypto_twin::Field16 m = 0;
    pypto_twin::Field16 n = 0;
    pypto_twin::Field16 k = 0;
    bool isBias = false;
    int32_t fmOffset = 0;
    bool enSsparse = false;
    bool enWinogradA = false;
    bool enWinogradB = false;
    pypto_twin::Field8 unitFlag = 0;         /* 0 off, 2 keep, 3 flip */
    bool kDirectionAlign = false; /* float: K of A is rounded up to 16, not to 8 */
    bool cmatrixSource = false;   /* start from the bias table */
    bool cmatrixInitVal = true;   /* start from zero */
};

enum class HF32Mode : uint8_t { DISABLE = 0, ENABLE = 1 };
enum class HF32TransMode : uint8_t { NEAREST_EVEN = 0, NEAREST_ZERO = 1 };

enum class CO2Layout : uint8_t { NZ = 0, ROW_MAJOR };
struct FixpipeConfig {
    CO2Layout format;
};
inline constexpr FixpipeConfig CFG_NZ{CO2Layout::NZ};
inline constexpr FixpipeConfig CFG_ROW_MAJOR{CO2Layout::ROW_MAJOR};

struct FixpipeParamsV220 {
    pypto_twin::Field16 nSize = 0;
    pypto_twin::Field16 mSize = 0;
    pypto_twin::Field16 srcStride = 0; /* 16 values of L0C: the rows of its strips */
    pypto_twin::Field32 dstStride = 0; /* row-major: pitch in elements; NZ: strip to strip in 32 bytes */
    QuantMode_t quantPre = NoQuant;
    uint64_t deqScalar = 0; /* bits 0..31 scale, 37..45 offset, 46 int8_t (else uint8_t) */
    pypto_twin::Field16 ndNum = 1;
    pypto_twin::Field16 srcNdStride = 0; /* 256 values of L0C */
    pypto_twin::Field16 dstNdStride = 0; /* elements */
    bool reluEn = false;
    pypto_twin::Field8 unitFlag = 0;
    bool isChannelSplit = false; /* float to NZ: strips of 8 columns */
};

}  // namespace AscendC

PYPTO_FIELDS(Nd2NzParams, wide(p.ndNum), wide(p.nValue), wide(p.dValue), wide(p.srcNdMatrixStride),
             wide(p.srcDValue), wide(p.dstNzC0Stride), wide(p.dstNzNStride), wide(p.dstNzMatrixStride))
PYPTO_FIELDS(Nz2NdParamsFull, wide(p.ndNum), wide(p.nValue), wide(p.dValue), wide(p.srcNdMatrixStride),
             wide(p.srcNStride), wide(p.dstDStride), wide(p.dstNdMatrixStride))
PYPTO_FIELDS(LoadData2DParams, wide(p.startIndex), wide(p.repeatTimes), wide(p.srcStride), wide(p.sid),
             wide(p.dstGap), wide(p.ifTranspose), wide(p.addrMode))
PYPTO_FIELDS(LoadData2dTransposeParams, wide(p.startIndex), wide(p.repeatTimes), wide(p.srcStride),
             wide(p.dstGap), wide(p.dstFracGap), wide(p.addrMode))
PYPTO_FIELDS(MmadParams, wide(p.m), wide(p.n), wide(p.k), wide(p.unitFlag), wide(p.kDirectionAlign),
             wide(p.cmatrixSource), wide(p.cmatrixInitVal))
PYPTO_FIELDS(FixpipeParamsV220, wide(p.nSize), wide(p.mSize), wide(p.srcStride), wide(p.dstStride),
             wide(p.deqScalar), wide(p.ndNum), wide(p.srcNdStride), wide(p.dstNdStride), wide(p.reluEn),
             wide(p.unitFlag), wide(p.isChannelSplit))
PYPTO_TEMPLATE_FIELDS(LoadData3DParamsV2, wide(p.l1H), wide(p.l1W), wide(p.channelSize), wide(p.kExtension),
                      wide(p.mExtension), wide(p.kStartPt), wide(p.mStartPt), wide(p.strideW),
                      wide(p.strideH), wide(p.filterW), wide(p.filterH), wide(p.dilationFilterW),
                      wide(p.dilationFilterH), wide(p.enTranspose), wide(p.enSmallK))
PYPTO_TEMPLATE_FIELDS(InitConstValueParams, wide(p.repeatTimes), wide(p.blockNum), wide(p.dstGap))

#endif
