/* CPU twin: 32-byte vectors. One Ascend C block is one vector register of a CPU with AVX2.
 *
 * Written on the vector extensions of g++ and clang, so that it compiles for any CPU; instructions
 * that the extensions cannot name are used under #ifdef. No header beyond types.h.
 */
#ifndef PYPTO_TWIN_SIMD_H
#define PYPTO_TWIN_SIMD_H

#include "assume.h"
#include "types.h"

/* Passing 32-byte vectors by value has no ABI without AVX; everything here is inlined. */
#pragma GCC diagnostic ignored "-Wpsabi"

namespace pypto_twin {
namespace simd {

typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x4 __attribute__((vector_size(16)));
typedef double f64x4 __attribute__((vector_size(32)));
typedef int8_t i8x32 __attribute__((vector_size(32)));
typedef int16_t i16x16 __attribute__((vector_size(32)));
typedef uint16_t u16x16 __attribute__((vector_size(32)));
typedef int16_t i16x8 __attribute__((vector_size(16)));
typedef uint16_t u16x8 __attribute__((vector_size(16)));
typedef int32_t i32x8 __attribute__((vector_size(32)));
typedef uint32_t u32x8 __attribute__((vector_size(32)));
typedef int32_t i32x4 __attribute__((vector_size(16)));
typedef int64_t i64x4 __attribute__((vector_size(32)));
typedef uint64_t u64x4 __attribute__((vector_size(32)));


/* Unaligned access to memory of any type. */
template <typename V>
PYPTO_INLINE V load(const void* from)
{
    V value;
    __builtin_memcpy(&value, from, sizeof(V));
    return value;
}

template <typename V>
PYPTO_INLINE void store(void* to, V value)
{
    __builtin_memcpy(to, &value, sizeof(V));
}

/* The same bits seen as another vector of the same size. */
template <typename To, typename From>
PYPTO_INLINE To as(From value)
{
    static_assert(sizeof(To) == sizeof(From), "reinterpretation keeps the size");
    To result;
    __builtin_memcpy(&result, &value, sizeof(To));
    return result;
}

PYPTO_INLINE f32x8 splat(float value)
{
    return f32x8{value, value, value, value, value, value, value, value};
}
PYPTO_INLINE i32x8 splat_i32(int32_t value)
{
    return i32x8{value, value, value, value, value, value, value, value};
}
PYPTO_INLINE u32x8 splat_u32(uint32_t value) { return as<u32x8>(splat_i32(static_cast<int32_t>(value))); }
PYPTO_INLINE i32x8 iota_i32() { return i32x8{0, 1, 2, 3, 4, 5, 6, 7}; }
PYPTO_INLINE i16x16 iota_i16() { return i16x16{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}; }

/* mask lanes are all ones or all zeros: the result of a comparison */
template <typename M>
PYPTO_INLINE f32x8 select(M mask, f32x8 yes, f32x8 no)
{
#if defined(__AVX__)
    return __builtin_ia32_blendvps256(no, yes, as<f32x8>(mask));
#else
    const u32x8 bits = as<u32x8>(mask);
    return as<f32x8>((bits & as<u32x8>(yes)) | (~bits & as<u32x8>(no)));
#endif
}

template <typename M, typename V>
PYPTO_INLINE V select_bits(M mask, V yes, V no)
{
    const u64x4 bits = as<u64x4>(mask);
    return as<V>((bits & as<u64x4>(yes)) | (~bits & as<u64x4>(no)));
}

PYPTO_INLINE f32x8 magnitude(f32x8 value) { return as<f32x8>(as<u32x8>(value) & splat_u32(0x7fffffffu)); }
PYPTO_INLINE u32x8 sign_bit(f32x8 value) { return as<u32x8>(value) & splat_u32(0x80000000u); }
PYPTO_INLINE f32x8 with_sign(f32x8 value, u32x8 sign) { return as<f32x8>(as<u32x8>(value) | sign); }

/* a < b ? a : b, and a > b ? a : b: the second operand where the comparison is false (NaN, equal) */
PYPTO_INLINE f32x8 less_of(f32x8 a, f32x8 b)
{
#if defined(__AVX__)
    return __builtin_ia32_minps256(a, b);
#else
    return select(a < b, a, b);
#endif
}
PYPTO_INLINE f32x8 greater_of(f32x8 a, f32x8 b)
{
#if defined(__AVX__)
    return __builtin_ia32_maxps256(a, b);
#else
    return select(a > b, a, b);
#endif
}

/* NUM-MAX-1: NaN wins over numbers; of equal values (-0, +0) the second operand. */
PYPTO_INLINE f32x8 maximum(f32x8 a, f32x8 b) { return select(a != a, a, greater_of(a, b)); }
PYPTO_INLINE f32x8 minimum(f32x8 a, f32x8 b) { return select(a != a, a, less_of(a, b)); }

/* As these, but a number wins over NaN. */
PYPTO_INLINE f32x8 maximum_number(f32x8 a, f32x8 b) { return select(a != a, b, select(b != b, a, maximum(a, b))); }
PYPTO_INLINE f32x8 minimum_number(f32x8 a, f32x8 b) { return select(a != a, b, select(b != b, a, minimum(a, b))); }

/* Without the last `bits` bits of the fraction. */
PYPTO_INLINE f32x8 shortened(f32x8 v, uint32_t bits)
{
    const f32x8 cut = as<f32x8>(as<u32x8>(v) & (~uint32_t{0} << bits));
    return select(v == v, cut, v);
}

/* Zero of the same sign in place of subnormal numbers. */
PYPTO_INLINE f32x8 without_subnormals(f32x8 v)
{
    const u32x8 bits = as<u32x8>(v);
    return as<f32x8>(select_bits((bits & 0x7f800000u) == 0u, bits & 0x80000000u, bits));
}

/* Operands and results of arithmetic, reductions and conversions. */
template <typename V>
PYPTO_INLINE V normal(V v)
{
    if constexpr (assume::subnormal_flush && is_same<V, f32x8>) {
        return without_subnormals(v);
    }
    return v;
}

/* a * b + c, rounded once where the CPU can. For approximations only: instructions whose meaning
 * has two roundings write them out. */
PYPTO_INLINE f32x8 fma(f32x8 a, f32x8 b, f32x8 c)
{
#if defined(__FMA__)
    return __builtin_ia32_vfmaddps256(a, b, c);
#else
    return a * b + c;
#endif
}
PYPTO_INLINE f64x4 fma(f64x4 a, f64x4 b, f64x4 c)
{
#if defined(__FMA__)
    return __builtin_ia32_vfmaddpd256(a, b, c);
#else
    return a * b + c;
#endif
}

/* c0 + c1 x + c2 x^2 ..., coefficients as arguments */
PYPTO_INLINE f32x8 polynomial(f32x8, float c0) { return splat(c0); }
template <typename... C>
PYPTO_INLINE f32x8 polynomial(f32x8 x, float c0, C... more)
{
    return fma(polynomial(x, more...), x, splat(c0));
}

PYPTO_INLINE f32x8 square_root(f32x8 value)
{
#if defined(__AVX__)
    return __builtin_ia32_sqrtps256(value);
#else
    f32x8 result;
    for (int i = 0; i < 8; ++i) result[i] = __builtin_sqrtf(value[i]);
    return result;
#endif
}

/* Rounding to an integral float. */
PYPTO_INLINE f32x8 round_even(f32x8 value)
{
#if defined(__AVX__)
    return __builtin_ia32_roundps256(value, 8);
#else
    f32x8 result;
    for (int i = 0; i < 8; ++i) result[i] = __builtin_rintf(value[i]);
    return result;
#endif
}
PYPTO_INLINE f32x8 round_down(f32x8 value)
{
#if defined(__AVX__)
    return __builtin_ia32_roundps256(value, 9);
#else
    f32x8 result;
    for (int i = 0; i < 8; ++i) result[i] = __builtin_floorf(value[i]);
    return result;
#endif
}
PYPTO_INLINE f32x8 round_up(f32x8 value)
{
#if defined(__AVX__)
    return __builtin_ia32_roundps256(value, 10);
#else
    f32x8 result;
    for (int i = 0; i < 8; ++i) result[i] = __builtin_ceilf(value[i]);
    return result;
#endif
}
PYPTO_INLINE f32x8 truncate(f32x8 value)
{
#if defined(__AVX__)
    return __builtin_ia32_roundps256(value, 11);
#else
    f32x8 result;
    for (int i = 0; i < 8; ++i) result[i] = __builtin_truncf(value[i]);
    return result;
#endif
}
/* half away from zero */
PYPTO_INLINE f32x8 round_away(f32x8 value)
{
    const f32x8 whole = truncate(value);
    const f32x8 far = select(magnitude(value - whole) >= splat(0.5f), splat(1.0f), splat(0.0f));
    return with_sign(magnitude(whole) + far, sign_bit(value));
}

/* Halves of a vector of eight. */
PYPTO_INLINE f32x4 low_half(f32x8 v)
{
#if defined(__has_builtin) && __has_builtin(__builtin_shufflevector)
    return __builtin_shufflevector(v, v, 0, 1, 2, 3);
#else
    return f32x4{v[0], v[1], v[2], v[3]};
#endif
}
PYPTO_INLINE f32x4 high_half(f32x8 v)
{
#if defined(__has_builtin) && __has_builtin(__builtin_shufflevector)
    return __builtin_shufflevector(v, v, 4, 5, 6, 7);
#else
    return f32x4{v[4], v[5], v[6], v[7]};
#endif
}
PYPTO_INLINE f32x8 join(f32x4 low, f32x4 high)
{
#if defined(__has_builtin) && __has_builtin(__builtin_shufflevector)
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
#else
    return f32x8{low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]};
#endif
}

PYPTO_INLINE f64x4 to_double(f32x4 value) { return __builtin_convertvector(value, f64x4); }
PYPTO_INLINE f32x4 to_float(f64x4 value) { return __builtin_convertvector(value, f32x4); }
PYPTO_INLINE f32x8 to_float(i32x8 value) { return __builtin_convertvector(value, f32x8); }
/* truncates; the value must fit */
PYPTO_INLINE i32x8 to_i32(f32x8 value) { return __builtin_convertvector(value, i32x8); }

/* Eight IEEE binary16 to float; exact, signalling NaNs become quiet. */
PYPTO_INLINE f32x8 from_half(u16x8 bits)
{
#if defined(__F16C__)
    return __builtin_ia32_vcvtph2ps256(as<i16x8>(bits));
#else
    const u32x8 wide = __builtin_convertvector(bits, u32x8);
    const u32x8 sign = (wide & splat_u32(0x8000u)) << 16;
    const u32x8 rest = (wide & splat_u32(0x7fffu)) << 13;
    /* subnormal halves become exact after the scaling by 2^112, infinities need all exponent bits */
    f32x8 value = as<f32x8>(rest) * splat(0x1p112f);
    value = select(rest >= splat_u32(0x0f800000u), as<f32x8>(rest | splat_u32(0x7f800000u)), value);
    const f32x8 quiet = as<f32x8>(as<u32x8>(value) | splat_u32(0x400000u));
    value = select(value != value, quiet, value);
    return with_sign(value, sign);
#endif
}

PYPTO_INLINE u16x8 narrow_u16(u32x8 value) { return __builtin_convertvector(value, u16x8); }

/* float to IEEE binary16, half to even; overflow gives infinity (NUM-CAST-1). */
PYPTO_INLINE u16x8 to_half(f32x8 value)
{
    if constexpr (assume::half_overflow_saturate) {
        const f32x8 most = splat(65504.0f), inside = greater_of(-most, less_of(most, value));
        value = select((value == value) & (magnitude(value) != splat(__builtin_inff())), inside, value);
    }
#if defined(__F16C__)
    return as<u16x8>(__builtin_ia32_vcvtps2ph256(value, 0));
#else
    u16x8 result;
    for (int i = 0; i < 8; ++i) result[i] = float_to_half(value[i]);
    return result;
#endif
}

PYPTO_INLINE f32x8 from_bfloat16(u16x8 bits)
{
    return as<f32x8>(__builtin_convertvector(bits, u32x8) << 16);
}

PYPTO_INLINE u16x8 to_bfloat16(f32x8 value)
{
    const u32x8 bits = as<u32x8>(value);
    const u32x8 rounded = (bits + splat_u32(0x7fffu) + ((bits >> 16) & splat_u32(1u))) >> 16;
    return narrow_u16(as<u32x8>(select(value != value, as<f32x8>(splat_u32(0x7fc0u)), as<f32x8>(rounded))));
}

/* Registers for `lanes` elements of T while an instruction computes: 16-bit floats widen. */
template <typename T, int lanes>
struct Lanes;
template <>
struct Lanes<float, 8> {
    static PYPTO_INLINE f32x8 load(const void* p) { return simd::load<f32x8>(p); }
    static PYPTO_INLINE f32x8 pack(f32x8 v) { return v; }
};
template <>
struct Lanes<half, 8> {
    static PYPTO_INLINE f32x8 load(const void* p) { return from_half(simd::load<u16x8>(p)); }
    static PYPTO_INLINE u16x8 pack(f32x8 v) { return to_half(v); }
    static PYPTO_INLINE u16x8 pack(u16x8 bits) { return bits; }
};
template <>
struct Lanes<bfloat16_t, 8> {
    static PYPTO_INLINE f32x8 load(const void* p) { return from_bfloat16(simd::load<u16x8>(p)); }
    static PYPTO_INLINE u16x8 pack(f32x8 v) { return to_bfloat16(v); }
    static PYPTO_INLINE u16x8 pack(u16x8 bits) { return bits; }
};
/* Types whose lanes are computed on as they are stored. */
template <typename V>
struct PlainLanes {
    static PYPTO_INLINE V load(const void* p) { return simd::load<V>(p); }
    static PYPTO_INLINE V pack(V v) { return v; }
};
template <>
struct Lanes<int32_t, 8> : PlainLanes<i32x8> {};
template <>
struct Lanes<uint32_t, 8> : PlainLanes<u32x8> {};
template <>
struct Lanes<int16_t, 16> : PlainLanes<i16x16> {};
template <>
struct Lanes<uint16_t, 16> : PlainLanes<u16x16> {};

/* The first `count` < sizeof(V)/size elements of a packed vector, nothing beyond. */
template <int size, typename V>
PYPTO_INLINE void store_first(void* to, V value, uint32_t count)
{
#if defined(__AVX2__)
    if constexpr (size == 4 && sizeof(V) == 32) {
        const i32x8 mask = iota_i32() < splat_i32(static_cast<int32_t>(count));
        __builtin_ia32_maskstoreps256(reinterpret_cast<f32x8*>(to), mask, as<f32x8>(value));
        return;
    }
#endif
    char* target = static_cast<char*>(to);
    char source[sizeof(V)];
    __builtin_memcpy(source, &value, sizeof(V));
    uint32_t at = 0;
    const uint32_t bytes = count * size;
    if (sizeof(V) > 16 && (bytes & 16) != 0) __builtin_memcpy(target, source, 16), at = 16;
    if (sizeof(V) > 8 && (bytes & 8) != 0) __builtin_memcpy(target + at, source + at, 8), at += 8;
    if (sizeof(V) > 4 && (bytes & 4) != 0) __builtin_memcpy(target + at, source + at, 4), at += 4;
    if (size < 4 && (bytes & 2) != 0) __builtin_memcpy(target + at, source + at, 2), at += 2;
    if (size < 2 && (bytes & 1) != 0) target[at] = source[at];
}

/* All ones where bit i of `bits` is set. */
PYPTO_INLINE i32x8 mask_of_bits(uint32_t bits)
{
    const i32x8 place = {1, 2, 4, 8, 16, 32, 64, 128};
    return (splat_i32(static_cast<int32_t>(bits)) & place) == place;
}
PYPTO_INLINE i16x8 mask_of_bits_narrow(uint32_t bits)
{
    const i16x8 place = {1, 2, 4, 8, 16, 32, 64, 128};
    return ((i16x8{} + static_cast<int16_t>(bits)) & place) == place;
}

/* The elements whose bit is set; the others keep their value. */
template <int size, typename V>
PYPTO_INLINE void store_lanes(void* to, V value, uint32_t bits)
{
    if constexpr (size == 4 && sizeof(V) == 32) {
        const i32x8 mask = mask_of_bits(bits);
#if defined(__AVX2__)
        __builtin_ia32_maskstoreps256(static_cast<f32x8*>(to), mask, as<f32x8>(value));
#else
        store(to, select_bits(mask, value, load<V>(to)));
#endif
    } else if constexpr (size == 2 && sizeof(V) == 16) {
        const i16x8 mask = mask_of_bits_narrow(bits);
        store(to, (mask & as<i16x8>(value)) | (~mask & load<i16x8>(to)));
    } else {
        char source[sizeof(V)];
        __builtin_memcpy(source, &value, sizeof(V));
        char* const target = static_cast<char*>(to);
        for (; bits != 0; bits &= bits - 1) {
            const uint32_t at = static_cast<uint32_t>(__builtin_ctz(bits)) * size;
            __builtin_memcpy(target + at, source + at, size);
        }
    }
}

}  // namespace simd
}  // namespace pypto_twin

#endif
