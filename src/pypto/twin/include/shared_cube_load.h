/* CPU twin: bodies of what is compiled once for all kernels: copies into the cube unit's memories. */
#ifndef PYPTO_TWIN_SHARED_CUBE_LOAD_H
#define PYPTO_TWIN_SHARED_CUBE_LOAD_H

#include "cube_load.h"

namespace pypto_twin {

constexpr uint32_t kFractalRows = 16;

constexpr uint32_t units(uint32_t value, uint32_t unit) { return (value + unit - 1) / unit; }

PYPTO_SHARED void nd_to_nz(Place dst, Place src, uint32_t size, const AscendC::Nd2NzParams& p)
{
    if (!on_instruction(PIPE_MTE2)) {
        return;
    }
    settle();
    const uint32_t width = p.dValue * size;
    const uint32_t strips = units(width, kBlockBytes);
    const uint64_t pitch = uint64_t{p.srcDValue} * size;
    if (p.nValue == 0 || width == 0) {
        return;
    }
    for (uint32_t matrix = 0; matrix < p.ndNum; ++matrix) {
        const uint8_t* const from = src.address + uint64_t{matrix} * p.srcNdMatrixStride * size;
        uint8_t* const to = dst.address + uint64_t{matrix} * p.dstNzMatrixStride * size;
        on_read(src.position, from, width, PIPE_MTE2, p.nValue, pitch);
        for (uint32_t strip = 0; strip < strips; ++strip) {
            const uint32_t column = strip * kBlockBytes;
            const uint32_t bytes = width - column < kBlockBytes ? width - column : kBlockBytes;
            uint8_t* const first = to + uint64_t{strip} * p.dstNzC0Stride * kBlockBytes;
            const uint32_t apart = p.dstNzNStride * kBlockBytes;
            on_write(dst.position, first, kBlockBytes, PIPE_MTE2, p.nValue, apart);
            on_move(dst.position, first, apart, src.position, from + column, pitch, bytes, p.nValue);
            on_define(dst.position, first + bytes, kBlockBytes - bytes, p.nValue, apart);
            for (uint32_t row = 0; row < p.nValue; ++row) {
                uint8_t* const block = first + uint64_t{row} * apart;
                copy_bytes(block, from + row * pitch + column, bytes);
                fill_elements(block + bytes, 0, 1, kBlockBytes - bytes);
            }
        }
    }
}

PYPTO_SHARED void nz_to_nd(Place dst, Place src, uint32_t size, const AscendC::Nz2NdParamsFull& p)
{
    if (!on_instruction(PIPE_MTE3)) {
        return;
    }
    settle();
    const uint32_t bytes = 16 * size; /* of a row of a strip */
    for (uint32_t matrix = 0; matrix < p.ndNum; ++matrix) {
        uint8_t* const to = dst.address + uint64_t{matrix} * p.dstNdMatrixStride * size;
        const uint8_t* const from = src.address + uint64_t{matrix} * p.srcNdMatrixStride * 256 * size;
        for (uint32_t strip = 0; strip < p.dValue / 16u; ++strip) {
            const Rows r{to + strip * bytes, from + uint64_t{strip} * p.srcNStride * bytes, bytes,
                         uint64_t{p.dstDStride} * size, bytes, p.nValue};
            if (r.rows == 0) {
                return;
            }
            on_read(src.position, r.src, r.bytes, PIPE_MTE3, r.rows, r.src_pitch);
            on_write(dst.position, r.dst, r.bytes, PIPE_MTE3, r.rows, r.dst_pitch);
            on_move(dst.position, r.dst, r.dst_pitch, src.position, r.src, r.src_pitch, r.bytes, r.rows,
                    state().accumulate != nullptr);
            if (state().accumulate != nullptr) {
                state().accumulate(r);
            } else {
                copy_rows(r);
            }
        }
    }
}

/* Whether all bytes of a run are defined; no in other builds, where nobody asks. */
PYPTO_INLINE bool all_defined(AscendC::TPosition position, const void* address, uint64_t bytes)
{
    Flow flow;
    flow.from(position, address, bytes);
    return kChecked && flow.origin() == check::kDefined;
}

/* 16-bit elements only. */
PYPTO_INLINE void transpose_fractal(Place dst, const Place& src)
{
    const bool whole = all_defined(src.position, src.address, kFractalBytes);
    if (whole) {
        on_define(dst.position, dst.address, kFractalBytes);
    }
    for (uint32_t row = 0; row < 16; ++row) {
        for (uint32_t column = 0; column < 16; ++column) {
            uint8_t* const to = dst.address + (column * 16 + row) * 2;
            const uint8_t* const from = src.address + (row * 16 + column) * 2;
            if (!whole) {
                on_move(dst.position, to, 0, src.position, from, 0, 2);
            }
            copy_unit<uint16_t>(to, from);
        }
    }
}

PYPTO_SHARED void load_fractals(Place dst, Place src, uint32_t bits, const AscendC::LoadData2DParams& p)
{
    const pipe_t pipe = src.position == AscendC::TPosition::GM ? PIPE_MTE2 : PIPE_MTE1;
    if (__builtin_expect(p.ifTranspose && bits != 16, 0)) {
        fail("LoadData: ifTranspose is for types of 2 bytes");
    }
    if (__builtin_expect(bits == 4 && memory_of(dst.position) == AscendC::Hardware::L1, 0)) {
        fail("LoadData: int4b_t goes to L0A and L0B only");
    }
    if (!on_instruction(pipe)) {
        return;
    }
    const int64_t step = int64_t{p.srcStride} * (p.addrMode == 0 ? 1 : -1);
    for (uint32_t i = 0; i < p.repeatTimes; ++i) {
        uint8_t* const from = src.address + (p.startIndex + i * step) * kFractalBytes;
        uint8_t* const to = dst.address + uint64_t{i} * (1u + p.dstGap) * kFractalBytes;
        on_read(src.position, from, kFractalBytes, pipe);
        on_write(dst.position, to, kFractalBytes, pipe);
        if (p.ifTranspose) {
            transpose_fractal(Place{to, dst.position}, Place{from, src.position});
        } else {
            on_move(dst.position, to, 0, src.position, from, 0, kFractalBytes);
            copy_bytes(to, from, kFractalBytes);
        }
    }
}

/* A square block: `side` elements of `bits` in a row and a column, in `fractals`. */
struct Square {
    uint32_t bits, side, fractals;

    /* Where element (row, column) is: the fractal, and the bit inside of it. */
    PYPTO_INLINE uint32_t fractal(uint32_t row, uint32_t column) const
    {
        return bits == 32 ? column / 8 : row / kFractalRows;
    }
    PYPTO_INLINE uint32_t bit(uint32_t row, uint32_t column) const
    {
        return row % kFractalRows * (kBlockBytes * 8) + column % (kBlockBytes * 8 / bits) * bits;
    }
};

constexpr Square square_of(uint32_t bits)
{
    return bits == 4    ? Square{bits, 64, 4}
           : bits == 8  ? Square{bits, 32, 2}
           : bits == 16 ? Square{bits, 16, 1}
                        : Square{bits, 16, 2};
}

/* Four bits of a byte in the place of others. */
constexpr uint8_t merged_nibble(uint8_t there, uint32_t to, uint8_t taken, uint32_t from)
{
    return static_cast<uint8_t>((there & ~(15u << to)) | (taken >> from & 15u) << to);
}

/* Element at bit `from` of `src` to bit `to` of `dst`. */
PYPTO_INLINE void copy_element(Place dst, uint32_t to, Place src, uint32_t from, uint32_t bits, bool defined)
{
    uint8_t* const target = dst.address + to / 8;
    const uint8_t* const source = src.address + from / 8;
    if (bits == 4) {
        if (kChecked && !defined) {
            Flow flow;
            flow.from(src.position, source, 1);
            const uint8_t known = merged_nibble(defined_bits(dst.position, target), to % 8,
                                                defined_bits(src.position, source), from % 8);
            PYPTO_CHECK(assign_bits, dst.position, target, known,
                        flow.origin() == check::kDefined ? check::kNever : flow.origin());
            (void)known;
        }
        *target = merged_nibble(*target, to % 8, *source, from % 8);
    } else {
        if (!defined) {
            on_move(dst.position, target, 0, src.position, source, 0, bits / 8);
        }
        __builtin_memcpy(target, source, bits / 8);
    }
}

PYPTO_SHARED void load_squares(Place dst, Place src, uint32_t bits,
                               const AscendC::LoadData2dTransposeParams& p)
{
    if (__builtin_expect(bits == 4 && dst.position != AscendC::TPosition::B2, 0)) {
        fail("LoadDataWithTranspose: int4b_t goes to L0B only");
    }
    if (!on_instruction(PIPE_MTE1)) {
        return;
    }
    const Square square = square_of(bits);
    const uint32_t bytes = square.fractals * kFractalBytes;
    for (uint32_t i = 0; i < p.repeatTimes; ++i) {
        uint8_t* const from = src.address + (uint64_t{p.startIndex} + i * p.srcStride) * bytes;
        uint8_t* const to = dst.address + uint64_t{i} * (1u + p.dstGap) * kFractalBytes;
        const uint32_t pitch = (1u + p.dstFracGap) * kFractalBytes;
        on_read(src.position, from, bytes, PIPE_MTE1);
        on_write(dst.position, to, kFractalBytes, PIPE_MTE1, square.fractals, pitch);
        const bool defined = all_defined(src.position, from, bytes);
        if (defined) {
            on_define(dst.position, to, kFractalBytes, square.fractals, pitch);
        }
        for (uint32_t row = 0; row < square.side; ++row) {
            for (uint32_t column = 0; column < square.side; ++column) {
                const Place target{to + square.fractal(column, row) * pitch, dst.position};
                const Place source{from + square.fractal(row, column) * kFractalBytes, src.position};
                copy_element(target, square.bit(column, row), source, square.bit(row, column), bits, defined);
            }
        }
    }
}

/* The patch matrix of an image: a row for each place of the filter, columns (channel strip, filter row,
 * filter column, C0 channels). */
struct Patches {
    const Image& image;
    uint32_t width, height; /* of the filter */
    uint32_t across;        /* places of the filter in a row */
    uint32_t rows;          /* of the matrix */
    uint32_t strips;        /* its columns, in strips of C0 */
    const uint8_t* base;

    /* The 32 bytes of strip `k` in row `m`; 1: padding, nullptr: outside of the matrix. */
    PYPTO_INLINE const uint8_t* at(uint32_t m, uint32_t k, const uint8_t* padding) const
    {
        if (m >= rows || k >= strips) {
            return nullptr;
        }
        const uint32_t tap = k % (width * height);
        const int64_t y = int64_t{m / across} * image.strideH - image.padList[2] +
                          int64_t{tap / width} * image.dilationFilterH;
        const int64_t x = int64_t{m % across} * image.strideW - image.padList[0] +
                          int64_t{tap % width} * image.dilationFilterW;
        if (y < 0 || x < 0 || y >= image.l1H || x >= image.l1W) {
            return padding;
        }
        const uint64_t strip = k / (width * height);
        return base + ((strip * image.l1H + static_cast<uint64_t>(y)) * image.l1W + static_cast<uint64_t>(x)) *
                          kBlockBytes;
    }
};

/* Places of a filter of `taps`, `dilation` apart, along `length` with borders `pad`. */
PYPTO_INLINE uint32_t places(uint32_t length, uint32_t pad, uint32_t taps, uint32_t dilation, uint32_t stride)
{
    const uint32_t reach = (taps - 1) * dilation + 1;
    return length + pad < reach ? 0 : (length + pad - reach) / stride + 1;
}

PYPTO_INLINE Patches patches_of(const Image& image, const uint8_t* base, uint32_t size)
{
    const uint32_t width = image.filterW + (image.filterSizeW ? 256u : 0u);
    const uint32_t height = image.filterH + (image.filterSizeH ? 256u : 0u);
    if (__builtin_expect(width == 0 || height == 0 || image.strideW == 0 || image.strideH == 0, 0)) {
        fail("LoadData (3D): a stride or the filter's size is 0");
    }
    const uint32_t across =
        places(image.l1W, image.padList[0] + image.padList[1], width, image.dilationFilterW, image.strideW);
    const uint32_t down =
        places(image.l1H, image.padList[2] + image.padList[3], height, image.dilationFilterH, image.strideH);
    return Patches{image,         width, height, across, across * down,
                   units(image.channelSize * size, kBlockBytes) * width * height, base};
}

PYPTO_SHARED void load_image(Place dst, Place src, uint32_t size, const Image& image, uint64_t padding)
{
    const bool right = dst.position == AscendC::TPosition::B2;
    const bool transposed = right || image.enTranspose;
    const uint32_t c0 = kBlockBytes / size;
    const Patches patches = patches_of(image, src.address, size);
    if (__builtin_expect(transposed && size == 1, 0)) {
        fail("LoadData (3D): types of 1 byte go to L0A only, without enTranspose");
    }
    if (__builtin_expect(image.enSmallK || image.kStartPt % c0 != 0, 0)) {
        fail("LoadData (3D): enSmallK does not exist on this target; kStartPt is a multiple of 32 bytes");
    }
    if (!on_instruction(PIPE_MTE1)) {
        return;
    }
    alignas(32) uint8_t border[kBlockBytes];
    fill_elements(border, padding, size, kBlockBytes);
    static const uint8_t zeros[kBlockBytes] = {};
    /* whole fractals: 16 rows; of a matrix that is transposed, 16 columns too */
    const uint32_t rows = round_up(image.mExtension, kFractalRows);
    const uint32_t strips = units(round_up(image.kExtension, transposed ? kFractalRows : c0), c0);
    on_write(dst.position, dst.address, kBlockBytes, PIPE_MTE1, rows * strips, kBlockBytes);
    on_define(dst.position, dst.address, uint64_t{rows} * strips * kBlockBytes); /* but for what is copied */
    for (uint32_t strip = 0; strip < strips; ++strip) {
        for (uint32_t row = 0; row < rows; ++row) {
            bool defined = true;
            const bool wanted = row < image.mExtension && strip * c0 < image.kExtension;
            const uint8_t* block =
                wanted ? patches.at(image.mStartPt + row, image.kStartPt / c0 + strip, border) : nullptr;
            if (block == nullptr) {
                block = zeros;
            } else if (block != border) {
                on_read(src.position, block, kBlockBytes, PIPE_MTE1);
                defined = all_defined(src.position, block, kBlockBytes);
            }
            if (!transposed) {
                const uint32_t fractal = row / kFractalRows * strips + strip;
                uint8_t* const to = dst.address + fractal * kFractalBytes + row % kFractalRows * kBlockBytes;
                if (!defined) {
                    on_move(dst.position, to, 0, src.position, block, 0, kBlockBytes);
                }
                copy_bytes(to, block, kBlockBytes);
                continue;
            }
            const uint32_t group = row / c0; /* C0 of the matrix's rows are a row of a fractal */
            for (uint32_t i = 0; i < c0; ++i) {
                const uint32_t column = strip * c0 + i;
                const uint32_t fractal = right ? group * (strips * c0 / kFractalRows) + column / kFractalRows
                                               : column / kFractalRows * (rows / c0) + group;
                uint8_t* const to = dst.address + fractal * kFractalBytes +
                                    column % kFractalRows * kBlockBytes + row % c0 * size;
                if (!defined) {
                    on_move(dst.position, to, 0, src.position, block + i * size, 0, size);
                }
                __builtin_memcpy(to, block + i * size, size);
            }
        }
    }
}

PYPTO_SHARED void fill_blocks(Place dst, uint32_t size, uint64_t value, uint16_t repeats, uint16_t blocks,
                              uint16_t gap)
{
    const bool l1 = memory_of(dst.position) == AscendC::Hardware::L1;
    const pipe_t pipe = l1 ? PIPE_MTE2 : PIPE_MTE1;
    const uint64_t unit = l1 ? kBlockBytes : kFractalBytes;
    if (!on_instruction(pipe)) {
        return;
    }
    const uint64_t bytes = blocks * unit, pitch = bytes + gap * unit;
    on_write(dst.position, dst.address, bytes, pipe, repeats, pitch);
    on_define(dst.position, dst.address, bytes, repeats, pitch);
    for (uint32_t i = 0; i < repeats; ++i) {
        fill_elements(dst.address + i * pitch, value, size, bytes);
    }
}

PYPTO_SHARED void widen_bias(Place dst, Place src, const AscendC::DataCopyParams& p)
{
    if (!on_instruction(PIPE_MTE1) || p.blockLen == 0) {
        return;
    }
    const uint64_t taken = uint64_t{p.blockLen} * 32, made = uint64_t{p.blockLen} * 64;
    const uint64_t from = taken + uint64_t{p.srcGap} * 32, to = made + uint64_t{p.dstGap} * 64;
    on_read(src.position, src.address, taken, PIPE_MTE1, p.blockCount, from);
    on_write(dst.position, dst.address, made, PIPE_MTE1, p.blockCount, to);
    for (uint32_t block = 0; block < p.blockCount; ++block) {
        for (uint64_t i = 0; i < taken / 2; ++i) {
            const uint8_t* const narrow = src.address + block * from + i * 2;
            uint8_t* const wide = dst.address + block * to + i * 4;
            Flow flow;
            flow.from(src.position, narrow, 2);
            flow.to(dst.position, wide, 4);
            uint16_t bits;
            __builtin_memcpy(&bits, narrow, 2);
            const float value = half_to_float(bits);
            __builtin_memcpy(wide, &value, 4);
        }
    }
}

}  // namespace pypto_twin

#endif
