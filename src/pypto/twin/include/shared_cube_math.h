/* CPU twin: bodies of what is compiled once for all kernels: Mmad and Fixpipe. */
#ifndef PYPTO_TWIN_SHARED_CUBE_MATH_H
#define PYPTO_TWIN_SHARED_CUBE_MATH_H

#include "cube_fixpipe.h"
#include "cube_mmad.h"
#include "scalar.h"
#include "shared_cube_load.h"

namespace pypto_twin {

/* float with 10 bits of fraction: nearest; ties to even, or towards zero. NaN and inf stay. */
PYPTO_INLINE float to_hf32(float value, bool to_zero)
{
    const uint32_t bits = __builtin_bit_cast(uint32_t, value);
    if ((bits & 0x7f800000u) == 0x7f800000u) {
        return value;
    }
    const uint32_t below_half = 0xfffu + (to_zero ? 0 : bits >> 13 & 1u);
    return __builtin_bit_cast(float, (bits + below_half) & ~0x1fffu);
}

constexpr uint32_t bits_of(CubeType type)
{
    return type == CubeType::i4 ? 4 : type == CubeType::i8 ? 8 : type == CubeType::f32 ? 32 : 16;
}
/* Elements of a row of a fractal. */
constexpr uint32_t c0_of(CubeType type) { return kBlockBytes * 8 / bits_of(type); }
constexpr uint32_t kMostC0 = c0_of(CubeType::i4);

/* A row of a fractal as numbers that sums are made of: float, or integers that wrap. */
static PYPTO_OUTLINE void get_factors(CubeType type, const uint8_t* row, float* out)
{
    for (uint32_t i = 0; i < c0_of(type); ++i) {
        if (type == CubeType::f32) {
            __builtin_memcpy(out + i, row + i * 4, 4);
            out[i] = state().hf32 ? to_hf32(out[i], state().hf32_to_zero) : out[i];
        } else {
            uint16_t bits;
            __builtin_memcpy(&bits, row + i * 2, 2);
            out[i] = type == CubeType::f16 ? half_to_float(bits) : bfloat16_to_float(bits);
        }
    }
}
static PYPTO_OUTLINE void get_factors(CubeType type, const uint8_t* row, uint32_t* out)
{
    for (uint32_t i = 0; i < c0_of(type); ++i) {
        const uint32_t nibble = row[i / 2] >> i % 2 * 4 & 15u;
        out[i] = type == CubeType::i8 ? static_cast<uint32_t>(static_cast<int8_t>(row[i])) : (nibble ^ 8u) - 8u;
    }
}

/* Where the operands of a product are: sizes in elements, pitches in fractals. */
struct Product {
    uint8_t* c;
    const uint8_t* a;
    const uint8_t* b;
    uint32_t m, n, k;
    uint32_t a_pitch; /* fractals of k in a row of A; 0: A is a vector */
    uint32_t b_pitch; /* fractals of n in a row of B */
    uint32_t c_rows;  /* of a strip of C */

    PYPTO_INLINE uint8_t* c_row(uint32_t strip, uint32_t row) const
    {
        return c + (uint64_t{strip} * c_rows + row) * 64;
    }
    PYPTO_INLINE const uint8_t* a_row(uint32_t row, uint32_t group) const
    {
        return a_pitch == 0 ? a + group * kBlockBytes
                            : a + uint64_t{row / kFractalRows * a_pitch + group} * kFractalBytes +
                                  row % kFractalRows * kBlockBytes;
    }
    PYPTO_INLINE const uint8_t* b_fractal(uint32_t group, uint32_t strip) const
    {
        return b + (uint64_t{group} * b_pitch + strip) * kFractalBytes;
    }
};

/* Adds the products of one fractal of B, `depth` of its C0 in use. */
template <typename Sum>
PYPTO_HIDDEN PYPTO_OUTLINE void add_products(const Product& p, CubeType type, uint32_t strip, uint32_t group, uint32_t depth)
{
    typedef Sum Eight __attribute__((vector_size(32)));
    Sum factors[kMostC0], columns[kMostC0][kFractalRows];
    for (uint32_t n = 0; n < kFractalRows; ++n) {
        get_factors(type, p.b_fractal(group, strip) + n * kBlockBytes, factors);
        for (uint32_t k = 0; k < depth; ++k) {
            columns[k][n] = factors[k];
        }
    }
    const uint32_t width = p.n - strip * 16 < 16 ? p.n - strip * 16 : 16;
    for (uint32_t row = 0; row < p.m; ++row) {
        get_factors(type, p.a_row(row, group), factors);
        Eight sum[2], next[2];
        __builtin_memcpy(sum, p.c_row(strip, row), sizeof sum);
        for (uint32_t k = 0; k < depth; ++k) {
            __builtin_memcpy(next, columns[k], sizeof next);
            sum[0] += factors[k] * next[0];
            sum[1] += factors[k] * next[1];
        }
        __builtin_memcpy(p.c_row(strip, row), sum, width * 4);
    }
}

template <typename Sum>
PYPTO_INLINE void add_all(const Product& p, CubeType type)
{
    const uint32_t c0 = c0_of(type);
    for (uint32_t strip = 0; strip < units(p.n, 16); ++strip) {
        for (uint32_t group = 0; group < units(p.k, c0); ++group) {
            add_products<Sum>(p, type, strip, group, p.k - group * c0 < c0 ? p.k - group * c0 : c0);
        }
    }
}

PYPTO_INLINE void report_product(const Product& p, uint32_t bits, Place c, Place a, Place b, Place bias,
                                 bool reads_c)
{
    if constexpr (kHooks) {
        const uint32_t c0 = kBlockBytes * 8 / bits;
        for (uint32_t group = 0; group < units(p.k, c0); ++group) {
            const uint32_t depth = p.k - group * c0 < c0 ? p.k - group * c0 : c0;
            const uint32_t bytes = units(depth * bits, 8);
            for (uint32_t row = 0; row < p.m; row += kFractalRows) {
                const uint32_t rows = p.m - row < kFractalRows ? p.m - row : kFractalRows;
                on_read(a.position, p.a_row(row, group), bytes, PIPE_M, rows, kBlockBytes);
            }
            for (uint32_t strip = 0; strip < units(p.n, 16); ++strip) {
                const uint32_t columns = p.n - strip * 16 < 16 ? p.n - strip * 16 : 16;
                on_read(b.position, p.b_fractal(group, strip), bytes, PIPE_M, columns, kBlockBytes);
            }
        }
        if (bias.address != nullptr) {
            on_read(bias.position, bias.address, uint64_t{p.n} * 4, PIPE_M);
        }
        for (uint32_t strip = 0; strip < units(p.n, 16); ++strip) {
            const uint32_t columns = p.n - strip * 16 < 16 ? p.n - strip * 16 : 16;
            if (reads_c) {
                on_read(c.position, p.c_row(strip, 0), columns * 4, PIPE_M, p.m, 64);
            }
            on_write(c.position, p.c_row(strip, 0), columns * 4, PIPE_M, p.m, 64);
        }
    }
}

/* Element (m, n) of C comes from row m of A, column n of B and the value where the sum starts. */
PYPTO_INLINE void flow_product(const Product& p, uint32_t bits, Place c, Place a, Place b, Place bias,
                               bool goes_on)
{
    if constexpr (kChecked) {
        constexpr uint32_t most = 4096; /* columns of a Mmad */
        check::Origin columns[most];
        const uint32_t c0 = kBlockBytes * 8 / bits;
        const auto gather = [&](Flow& flow, const auto& row, AscendC::TPosition position) {
            for (uint32_t group = 0; group < units(p.k, c0); ++group) {
                const uint32_t depth = p.k - group * c0 < c0 ? p.k - group * c0 : c0;
                flow.from(position, row(group), units(depth * bits, 8));
            }
        };
        for (uint32_t n = 0; n < p.n && n < most; ++n) {
            Flow flow;
            gather(flow, [&](uint32_t group) { return p.b_fractal(group, n / 16) + n % 16 * kBlockBytes; },
                   b.position);
            if (bias.address != nullptr) {
                flow.from(bias.position, bias.address + n * 4, 4);
            }
            columns[n] = flow.origin();
        }
        for (uint32_t m = 0; m < p.m; ++m) {
            Flow row;
            gather(row, [&](uint32_t group) { return p.a_row(m, group); }, a.position);
            for (uint32_t n = 0; n < p.n && n < most; ++n) {
                uint8_t* const to = p.c_row(n / 16, m) + n % 16 * 4;
                Flow flow = row;
                flow.from(columns[n]);
                if (goes_on) {
                    flow.from(c.position, to, 4);
                }
                flow.to(c.position, to, 4);
            }
        }
    }
}

PYPTO_SHARED void multiply(CubeType type, Place c, Place a, Place b, Place bias, const AscendC::MmadParams& params)
{
    const uint32_t bits = bits_of(type), c0 = c0_of(type);
    const uint32_t k_unit = type == CubeType::f32 && params.kDirectionAlign ? 16 : c0;
    const Product p{c.address,
                    a.address,
                    b.address,
                    params.m,
                    params.n,
                    params.k,
                    params.m == 1 ? 0 : round_up(params.k, k_unit) / c0,
                    units(params.n, 16),
                    round_up(params.m, kFractalRows)};
    const bool goes_on = !params.cmatrixInitVal && bias.address == nullptr;
    if (params.cmatrixInitVal) {
        bias.address = nullptr;
    }
    /* on a large tile the unit itself keeps accumulations apart */
    if (goes_on && units(p.m, 16) * units(p.n, 16) >= 10) {
        on_ordered(PIPE_M, PIPE_M);
    }
    on_unit_product(params.unitFlag, c.address, p.k == 0 ? 0 : uint64_t{units(p.n, 16)} * units(p.m, 16) * 1024,
                    goes_on);
    if (!on_instruction(PIPE_M) || p.m == 0 || p.n == 0 || p.k == 0) {
        return;
    }
    report_product(p, bits, c, a, b, bias, goes_on);
    flow_product(p, bits, c, a, b, bias, goes_on);
    for (uint32_t n = 0; n < p.n && !goes_on; ++n) {
        for (uint32_t m = 0; m < p.m; ++m) {
            uint8_t* const to = p.c_row(n / 16, m) + n % 16 * 4;
            if (bias.address != nullptr) {
                copy_unit<uint32_t>(to, bias.address + n * 4);
            } else {
                fill_elements(to, 0, 4, 4);
            }
        }
    }
    if (type == CubeType::i8 || type == CubeType::i4) {
        add_all<uint32_t>(p, type);
    } else {
        add_all<float>(p, type);
    }
}

/* What quantPre asks for, given the types; ends the process where it does not fit them. */
PYPTO_INLINE void check_mode(const Drain& what, const AscendC::FixpipeParamsV220& p)
{
    const bool vector = p.quantPre == VQF322B8_PRE || p.quantPre == VDEQF16 || p.quantPre == VREQ8;
    FixType type = what.integers ? FixType::i32 : FixType::f32; /* of NoQuant */
    bool integers = what.integers;
    switch (p.quantPre) {
        case NoQuant: break;
        case F322F16: type = FixType::f16, integers = false; break;
        case F322BF16: type = FixType::bf16, integers = false; break;
        case DEQF16:
        case VDEQF16: type = FixType::f16, integers = true; break;
        case QF322B8_PRE:
        case VQF322B8_PRE: type = FixType::b8, integers = false; break;
        default: type = FixType::b8, integers = true; break;
    }
    if (__builtin_expect(type != what.type || integers != what.integers, 0)) {
        fail("Fixpipe: quantPre does not fit the types of destination and source");
    }
    if (__builtin_expect(vector != (what.scales.address != nullptr), 0)) {
        fail("Fixpipe: the modes VQF322B8_PRE, VDEQF16 and VREQ8, and only they, take a tensor of scales");
    }
    if (__builtin_expect(p.isChannelSplit && (what.rows || what.type != FixType::f32), 0)) {
        fail("Fixpipe: isChannelSplit is for float in NZ");
    }
}

/* One value on its way out, 1 to 4 bytes to `to`. `scale`: as deqScalar. */
PYPTO_INLINE void convert(FixType type, bool integers, bool relu, uint64_t scale, const uint8_t* from, uint8_t* to)
{
    uint32_t bits;
    __builtin_memcpy(&bits, from, 4);
    const int32_t integer = static_cast<int32_t>(bits);
    float value = integers ? static_cast<float>(integer) : __builtin_bit_cast(float, bits);
    if (relu && value < 0) {
        bits = 0;
        value = 0;
    }
    const float factor = __builtin_bit_cast(float, static_cast<uint32_t>(scale) & ~0x1fffu);
    if (type == FixType::f32 || type == FixType::i32) {
        __builtin_memcpy(to, &bits, 4);
    } else if (type == FixType::f16) {
        const uint16_t out = float_to_half(integers ? value * factor : value);
        __builtin_memcpy(to, &out, 2);
    } else if (type == FixType::bf16) {
        const uint16_t out = float_to_bfloat16(value);
        __builtin_memcpy(to, &out, 2);
    } else {
        const int32_t offset = static_cast<int32_t>(static_cast<uint32_t>(scale >> 37) << 23) >> 23;
        const bool is_signed = (scale >> 46 & 1u) != 0;
        const int64_t sum = int64_t{saturate_int32(round_even(double{value * factor}))} + offset;
        const int64_t least = is_signed ? -128 : 0, most = is_signed ? 127 : 255;
        *to = static_cast<uint8_t>(sum < least ? least : sum > most ? most : sum);
    }
}

/* Columns of L0C that are written side by side, and where they go. */
struct Layout {
    uint32_t size;  /* bytes of an element of the destination */
    uint32_t width; /* columns of a strip: 16 or less come from one strip of L0C */
    uint64_t row, strip;

    PYPTO_INLINE uint64_t at(uint32_t m, uint32_t n) const
    {
        return n / width * strip + m * row + uint64_t{n % width} * size;
    }
};

PYPTO_INLINE Layout layout_of(const Drain& what, const AscendC::FixpipeParamsV220& p)
{
    const uint32_t size = what.type == FixType::b8                                   ? 1
                          : what.type == FixType::f16 || what.type == FixType::bf16 ? 2
                                                                                     : 4;
    if (what.rows) {
        return Layout{size, 16, uint64_t{p.dstStride} * size, 16 * size};
    }
    const uint32_t width = p.isChannelSplit ? 8 : size == 1 ? 32 : 16;
    return Layout{size, width, width * size, uint64_t{p.dstStride} * kBlockBytes};
}

/* An element of L0C is defined or not as a whole, so the first bytes of it speak for the narrower result. */
PYPTO_INLINE void flow_columns(const Drain& what, const AscendC::FixpipeParamsV220& p, const Layout& to,
                               uint8_t* dst, const uint8_t* src, uint32_t n, uint32_t columns, bool adds)
{
    if constexpr (kChecked) {
        for (uint32_t m = 0; m < p.mSize; ++m) {
            if (to.size == 4) {
                on_move(what.dst.position, dst + to.at(m, n), 0, what.src.position, src + m * 64, 0, columns * 4,
                        1, adds);
                continue;
            }
            for (uint32_t i = 0; i < columns; ++i) {
                on_move(what.dst.position, dst + to.at(m, n + i), 0, what.src.position, src + m * 64 + i * 4, 0,
                        to.size, 1, adds);
            }
        }
    }
}

/* Columns [n, n + columns) of one matrix, all of them in one strip of L0C and of the destination. */
PYPTO_INLINE void drain_columns(const Drain& what, const AscendC::FixpipeParamsV220& p, const Layout& to,
                                uint8_t* dst, const uint8_t* src, uint32_t n, uint32_t columns)
{
    on_read(what.src.position, src, columns * 4, PIPE_FIX, p.mSize, 64);
    on_write(what.dst.position, dst + to.at(0, n), columns * to.size, PIPE_FIX, p.mSize, to.row);
    const bool adds = state().accumulate != nullptr && what.dst.position == AscendC::TPosition::GM;
    flow_columns(what, p, to, dst, src, n, columns, adds);
    for (uint32_t m = 0; m < p.mSize; ++m) {
        uint8_t out[64];
        for (uint32_t i = 0; i < columns; ++i) {
            uint64_t scale = p.deqScalar;
            if (what.scales.address != nullptr) {
                __builtin_memcpy(&scale, what.scales.address + (n + i) * 8, 8);
            }
            convert(what.type, what.integers, p.reluEn, scale, src + m * 64 + i * 4, out + i * to.size);
        }
        const Rows r{dst + to.at(m, n), out, columns * to.size, 0, 0, 1};
        if (adds) {
            state().accumulate(r);
        } else {
            copy_bytes(r.dst, r.src, r.bytes);
        }
    }
}

PYPTO_SHARED void drain(const Drain& what, const AscendC::FixpipeParamsV220& p)
{
    check_mode(what, p);
    const uint32_t matrices = what.rows ? uint32_t{p.ndNum} : 1;
    for (uint32_t matrix = 0; matrix < matrices; ++matrix) {
        on_unit_drain(p.unitFlag, what.src.address + uint64_t{matrix} * p.srcNdStride * 1024, uint64_t{p.mSize} * 64,
                      units(p.nSize, 16), uint64_t{p.srcStride} * 64);
    }
    if (!on_instruction(PIPE_FIX) || p.nSize == 0 || p.mSize == 0) {
        return;
    }
    const Layout to = layout_of(what, p);
    const uint32_t step = to.width < 16 ? to.width : 16;
    if (what.scales.address != nullptr) {
        on_read(what.scales.position, what.scales.address, uint64_t{p.nSize} * 8, PIPE_FIX);
        (void)on_use("undefined-scalar", "a scale of Fixpipe", what.scales.position, what.scales.address,
                     uint64_t{p.nSize} * 8);
    }
    for (uint32_t matrix = 0; matrix < matrices; ++matrix) {
        const uint8_t* const from = what.src.address + uint64_t{matrix} * p.srcNdStride * 1024;
        uint8_t* const dst = what.dst.address + uint64_t{matrix} * p.dstNdStride * to.size;
        for (uint32_t n = 0; n < p.nSize; n += step) {
            const uint32_t columns = p.nSize - n < step ? p.nSize - n : step;
            drain_columns(what, p, to, dst, from + uint64_t{n / 16} * p.srcStride * 64 + n % 16 * 4, n, columns);
        }
    }
}

}  // namespace pypto_twin

#endif
