/* CPU twin: parameters of the cube unit's instructions and of the copies around it.
 *
 * C0: elements of 32 bytes. A fractal is 16 rows of C0 elements, 512 bytes.
 */
#ifndef PYPTO_TWIN_CUBE_TYPES_H
#define PYPTO_TWIN_CUBE_TYPES_H

#include "types.h"

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
    uint16_t ndNum = 0;
    uint16_t nValue = 0; /* rows */
    uint16_t dValue = 0; /* columns */
    uint16_t srcNdMatrixStride = 0;
    uint16_t srcDValue = 0; /* row pitch */
    uint16_t dstNzC0Stride = 0;
    uint16_t dstNzNStride = 0;
    uint16_t dstNzMatrixStride = 0;

    constexpr Nd2NzParams() = default;
    constexpr Nd2NzParams(uint16_t matrices, uint16_t rows, uint16_t columns, uint16_t matrixStride,
                          uint16_t rowPitch, uint16_t c0Stride, uint16_t rowStride,
                          uint16_t nzMatrixStride)
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
    uint16_t ndNum = 1;
    uint16_t nValue = 0; /* rows */
    uint16_t dValue = 0; /* columns, a multiple of 16 */
    uint16_t srcNdMatrixStride = 1; /* 256 elements */
    uint16_t srcNStride = 0;        /* strip to strip, 16 elements */
    uint16_t dstDStride = 0;        /* row pitch, elements */
    uint16_t dstNdMatrixStride = 1; /* elements */

    constexpr Nz2NdParamsFull() = default;
    constexpr Nz2NdParamsFull(uint16_t matrices, uint16_t rows, uint16_t columns, uint16_t matrixStride,
                              uint16_t stripStride, uint16_t rowPitch, uint16_t ndMatrixStride)
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
    uint16_t startIndex = 0;
    uint16_t dstGap = 0;
    uint16_t srcStride = 0;
    bool ifTranspose = false;
    uint8_t repeatTimes = 0;
    uint8_t sid = 0;
    uint8_t addrMode = 0; /* 1: the source descends from startIndex */

    constexpr LoadData2DParams() = default;
    constexpr LoadData2DParams(uint16_t start, uint8_t repeats, uint16_t stride, uint8_t id, uint16_t gap,
                               bool transpose, uint8_t mode)
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
    uint16_t startIndex = 0;
    uint8_t repeatTimes = 0;
    uint16_t srcStride = 0;
    uint16_t dstGap = 0;
    uint16_t dstFracGap = 0;
    uint8_t addrMode = 0;

    constexpr LoadData2dTransposeParams() = default;
    constexpr LoadData2dTransposeParams(uint16_t start, uint8_t repeats, uint16_t stride, uint16_t gap,
                                        uint16_t fractalGap, uint8_t mode = 0)
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
    uint16_t l1H = 0;
    uint16_t l1W = 0;
    uint16_t channelSize = 0;
    uint16_t kExtension = 0; /* columns */
    uint16_t mExtension = 0; /* rows */
    uint16_t kStartPt = 0;
    uint16_t mStartPt = 0;
    uint8_t strideW = 1;
    uint8_t strideH = 1;
    uint8_t filterW = 1;
    uint8_t filterH = 1;
    uint8_t dilationFilterW = 1;
    uint8_t dilationFilterH = 1;
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
    uint16_t repeatStride = 0;
    uint8_t repeatTime = 1;
    uint8_t repeatMode = 0;
};

/* blockNum and dstGap in blocks: 32 bytes in L1, 512 in L0. */
template <typename T>
struct InitConstValueParams {
    uint16_t repeatTimes = 0;
    uint16_t blockNum = 0;
    uint16_t dstGap = 0;
    T initValue = static_cast<T>(0);

    constexpr InitConstValueParams() = default;
    constexpr InitConstValueParams(uint16_t repeats, uint16_t blocks, uint16_t gap, T value)
        : repeatTimes(repeats), blockNum(blocks), dstGap(gap), initValue(value)
    {
    }
};

/* Real sizes; m == 1 reads A as a vector. isBias, fmOffset and en* have no meaning on this target. */
struct MmadParams {
    uint16_t m = 0;
    uint16_t n = 0;
    uint16_t k = 0;
    bool isBias = false;
    int32_t fmOffset = 0;
    bool enSsparse = false;
    bool enWinogradA = false;
    bool enWinogradB = false;
    uint8_t unitFlag = 0;         /* 0 off, 2 keep, 3 flip */
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
    uint16_t nSize = 0;
    uint16_t mSize = 0;
    uint16_t srcStride = 0; /* 16 values of L0C: the rows of its strips */
    uint32_t dstStride = 0; /* row-major: pitch in elements; NZ: strip to strip in 32 bytes */
    QuantMode_t quantPre = NoQuant;
    uint64_t deqScalar = 0; /* bits 0..31 scale, 37..45 offset, 46 int8_t (else uint8_t) */
    uint16_t ndNum = 1;
    uint16_t srcNdStride = 0; /* 256 values of L0C */
    uint16_t dstNdStride = 0; /* elements */
    bool reluEn = false;
    uint8_t unitFlag = 0;
    bool isChannelSplit = false; /* float to NZ: strips of 8 columns */
};

}  // namespace AscendC

#endif
