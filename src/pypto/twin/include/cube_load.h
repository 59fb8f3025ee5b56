/* CPU twin: copies into the cube unit's memories: global memory to L1, L1 to L0A and L0B, constants.
 *
 * L1 holds NZ: strips of C0 columns, rows inside a strip in order. L0A: fractals row by row over (m, k),
 * each [16 m][C0 k]. L0B: fractals row by row over (k, n), each [16 n][C0 k].
 *
 * CUBE-LOAD-1  nd2nz fills the columns up to C0 with zeros; rows are not filled
 * CUBE-LOAD-2  a 4-byte square block is two fractals side by side; narrower ones stack theirs
 * CUBE-LOAD-3  LoadData3D writes whole fractals; what is outside of the rows and columns asked for is 0
 */
#ifndef PYPTO_TWIN_CUBE_LOAD_H
#define PYPTO_TWIN_CUBE_LOAD_H

#include "cube_types.h"
#include "move.h"
#include "walk.h"

namespace pypto_twin {

constexpr uint32_t kFractalBytes = 512;

/* As whole bytes, where two elements share one: the table knows the copies for these only. */
template <typename T>
PYPTO_INLINE auto whole_bytes(const AscendC::LocalTensor<T>& tensor)
{
    if constexpr (is_same<T, int4b_t>) {
        return tensor.template ReinterpretCast<int8_t>();
    } else {
        return tensor;
    }
}

/* `size`: bytes of an element; `bits` of one. */
PYPTO_SHARED void nd_to_nz(Place dst, Place src, uint32_t size, const AscendC::Nd2NzParams& params);
PYPTO_SHARED void nz_to_nd(Place dst, Place src, uint32_t size, const AscendC::Nz2NdParamsFull& params);
PYPTO_SHARED void load_fractals(Place dst, Place src, uint32_t bits, const AscendC::LoadData2DParams& params);
PYPTO_SHARED void load_squares(Place dst, Place src, uint32_t bits,
                               const AscendC::LoadData2dTransposeParams& params);
PYPTO_SHARED void load_image(Place dst, Place src, uint32_t size, const Image& image, uint64_t padding);
PYPTO_SHARED void fill_blocks(Place dst, uint32_t size, uint64_t value, uint16_t repeats, uint16_t blocks,
                              uint16_t gap);
PYPTO_SHARED void widen_bias(Place dst, Place src, const AscendC::DataCopyParams& params);

}  // namespace pypto_twin

#define PYPTO_TWIN_ND half, bfloat16_t, float, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t
#define PYPTO_TWIN_FRACTAL half, bfloat16_t, float, int8_t, uint8_t, int32_t, uint32_t, int4b_t

namespace AscendC {

template <typename T>
PYPTO_INLINE void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const Nd2NzParams& params)
{
    PYPTO_TWIN_TYPES("DataCopy (nd2nz)", T, PYPTO_TWIN_ND);
    if (pypto_twin::memory_of(dst.Position()) != Hardware::UB) {
        PYPTO_RULES(DataCopy_nd2nz_GM_L1, bytes(dst, 32).bytes(src, 1).fields(params));
    }
    pypto_twin::nd_to_nz(pypto_twin::place_of(dst), pypto_twin::place_of(src), sizeof(T), params);
}
template <typename T>
PYPTO_INLINE void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src,
                           const Nz2NdParamsFull& params)
{
    PYPTO_TWIN_TYPES("DataCopy (nz2nd)", T, PYPTO_TWIN_ND);
    PYPTO_RULES(DataCopy_nz2nd_UB_GM, bytes(dst, 1).bytes(src, 32).fields(params));
    pypto_twin::nz_to_nd(pypto_twin::place_of(dst), pypto_twin::place_of(src), sizeof(T), params);
}

/* L1 to the bias table with a conversion; blockLen and dstGap in 64 bytes of it. */
PYPTO_INLINE void DataCopy(const LocalTensor<float>& dst, const LocalTensor<half>& src,
                           const DataCopyParams& params)
{
    PYPTO_RULES(DataCopy_L1_C2_convert, bytes(dst, 64).bytes(src, 32));
    pypto_twin::widen_bias(pypto_twin::place_of(dst), pypto_twin::place_of(src), params);
}

/* L1 to L0A or L0B; global memory to L1, L0A or L0B. */
template <typename T>
PYPTO_INLINE void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                           const LoadData2DParams& params)
{
    PYPTO_TWIN_TYPES("LoadData", T, PYPTO_TWIN_FRACTAL);
    PYPTO_RULES(LoadData2D_L1_L0, bytes(pypto_twin::whole_bytes(dst), 512)
                                      .bytes(pypto_twin::whole_bytes(src), 512).fields(params));
    constexpr uint32_t bits = pypto_twin::is_same<T, int4b_t> ? 4 : sizeof(T) * 8;
    pypto_twin::load_fractals(pypto_twin::place_of(dst), pypto_twin::place_of(src), bits, params);
}
template <typename T>
PYPTO_INLINE void LoadData(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                           const LoadData2DParams& params)
{
    PYPTO_TWIN_TYPES("LoadData", T, PYPTO_TWIN_FRACTAL);
    if (pypto_twin::memory_of(dst.Position()) != Hardware::L0A &&
        pypto_twin::memory_of(dst.Position()) != Hardware::L0B) {
        PYPTO_RULES(LoadData2D_GM_L1, bytes(dst, 512).bytes(src, 512).fields(params));
    }
    constexpr uint32_t bits = pypto_twin::is_same<T, int4b_t> ? 4 : sizeof(T) * 8;
    pypto_twin::load_fractals(pypto_twin::place_of(dst), pypto_twin::place_of(src), bits, params);
}

template <typename T>
PYPTO_INLINE void LoadDataWithTranspose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                        const LoadData2dTransposeParams& params)
{
    PYPTO_TWIN_TYPES("LoadDataWithTranspose", T, PYPTO_TWIN_FRACTAL);
    PYPTO_RULES(LoadDataWithTranspose, bytes(pypto_twin::whole_bytes(dst), 512)
                                           .bytes(pypto_twin::whole_bytes(src), 512).fields(params));
    constexpr uint32_t bits = pypto_twin::is_same<T, int4b_t> ? 4 : sizeof(T) * 8;
    pypto_twin::load_squares(pypto_twin::place_of(dst), pypto_twin::place_of(src), bits, params);
}

/* Image to patch matrix, one row for each place of the filter. To L0B the matrix is [k, n]. */
template <typename T>
PYPTO_INLINE void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                           const LoadData3DParamsV2<T>& params)
{
    PYPTO_TWIN_TYPES("LoadData (3D)", T, half, bfloat16_t, float, int8_t, int32_t, uint32_t);
    PYPTO_RULES(LoadData3DV2_L1_L0, bytes(dst, 512).bytes(src, 32).fields(params));
    pypto_twin::load_image(pypto_twin::place_of(dst), pypto_twin::place_of(src), sizeof(T), params,
                           pypto_twin::raw_bits(params.padValue));
}

/* LoadData takes the image's size, its borders and their value from its own parameters. */
PYPTO_INLINE void SetFmatrix(uint16_t l1H, uint16_t l1W, const uint8_t padList[4], const FmatrixMode& mode)
{
    (void)l1H, (void)l1W, (void)padList, (void)mode;
}
template <typename T>
PYPTO_INLINE void SetLoadDataPaddingValue(const T padValue)
{
    PYPTO_TWIN_TYPES("SetLoadDataPaddingValue", T, PYPTO_TWIN_ND);
    (void)padValue;
}
PYPTO_INLINE void SetLoadDataBoundary(uint32_t boundary)
{
    if (__builtin_expect(boundary != 0, 0)) {
        pypto_twin::fail("SetLoadDataBoundary: the twin's L1 does not wrap around; 0 only");
    }
}
PYPTO_INLINE void SetLoadDataRepeat(const LoadDataRepeatParam& repeat)
{
    if (__builtin_expect(repeat.repeatTime != 1, 0)) {
        pypto_twin::fail("SetLoadDataRepeat: the twin has one repeat of LoadData only");
    }
}

/* Fills L1, L0A or L0B. */
template <typename T>
PYPTO_INLINE void Fill(const LocalTensor<T>& dst, const InitConstValueParams<T>& params)
{
    PYPTO_TWIN_TYPES("Fill", T, half, bfloat16_t, int16_t, uint16_t, float, int32_t, uint32_t);
    PYPTO_RULES(Fill_L1_L0, bytes(dst, 32).fields(params));
    pypto_twin::fill_blocks(pypto_twin::place_of(dst), sizeof(T), pypto_twin::raw_bits(params.initValue),
                            params.repeatTimes, params.blockNum, params.dstGap);
}
template <typename T>
PYPTO_INLINE void InitConstValue(const LocalTensor<T>& dst, const InitConstValueParams<T>& params)
{
    Fill(dst, params);
}

}  // namespace AscendC

#endif
