/* CPU twin: elementary functions on eight floats, our own polynomials.
 *
 * Coefficients are minimax fits (Lawson iteration in double) of the function named beside them,
 * weighted by the relative error of the result. NaN, infinities, -0 and subnormals are exact.
 *
 * NUM-EXP-1  exp: within 1 unit in the last place; overflow gives inf, underflow is gradual.
 * NUM-LN-1   ln, log2, log10: within 1.5e-7 relative; 0 gives -inf, negative numbers NaN.
 * NUM-TANH-1 tanh: within 2e-7 relative, also near 0.
 * NUM-SIG-1  sigmoid: 1 / (1 + exp(-x)) as written, so it is 0 below about -88.7.
 * NUM-POW-1  power: computed in double and rounded; special cases of IEEE 754 pow.
 * NUM-SIN-1  sin, cos: any argument; infinities give NaN.
 * NUM-ERF-1  erf: within 2e-7 relative.
 */
#ifndef PYPTO_TWIN_ELEMENTARY_H
#define PYPTO_TWIN_ELEMENTARY_H

#include "simd.h"

namespace pypto_twin {
namespace simd {

template <typename M>
PYPTO_INLINE bool any(M mask)
{
#if defined(__AVX__)
    return __builtin_ia32_movmskps256(as<f32x8>(mask)) != 0;
#else
    const u64x4 bits = as<u64x4>(mask);
    return (bits[0] | bits[1] | bits[2] | bits[3]) != 0;
#endif
}

PYPTO_INLINE f32x8 infinity() { return splat(__builtin_inff()); }
PYPTO_INLINE f32x8 not_a_number() { return splat(__builtin_nanf("")); }

/* x = n ln2 + r with |r| <= ln2 / 2; n, |n| < 256, in the exponent bits of an integer: n << 23 */
struct ExpParts {
    f32x8 r;
    i32x8 n;
};

PYPTO_INLINE ExpParts exp_reduce(f32x8 x)
{
    const f32x8 magic = splat(12582912.0f); /* 1.5 * 2^23: adding it rounds to an integer */
    const f32x8 shifted = fma(x, splat(1.44269504089f), magic);
    const f32x8 n = shifted - magic;
    f32x8 r = fma(n, splat(-0.693359375f), x); /* nine bits of ln2, so n times it is exact */
    r = fma(n, splat(2.12194440e-4f), r);
    return {r, as<i32x8>(shifted) << 23}; /* the bits of magic itself are shifted out */
}

/* exp(r) - 1 on |r| <= ln2 / 2, relative error of exp 3.1e-9 */
PYPTO_INLINE f32x8 expm1_core(f32x8 r)
{
    const f32x8 tail = polynomial(r, 0.4999999403953552f, 0.1666651964187622f, 0.041668400168418884f,
                                  0.008368851616978645f, 0.0013814318226650357f);
    return fma(r * r, tail, r);
}

/* Any x. */
PYPTO_INLINE f32x8 exp_full(f32x8 x)
{
    /* the clamps keep NaN: both return their second operand when unordered */
    const f32x8 y = greater_of(splat(-104.0f), less_of(splat(89.0f), x));
    const ExpParts parts = exp_reduce(y);
    const f32x8 p = expm1_core(parts.r) + splat(1.0f);
    /* 2^n in two factors, so that results may be subnormal or inf; products, so that NaN stays NaN */
    const i32x8 first = (parts.n >> 1) & splat_i32(-0x800000);
    const i32x8 one = splat_i32(127 << 23);
    return p * as<f32x8>(first + one) * as<f32x8>(parts.n - first + one);
}

PYPTO_INLINE f32x8 exp(f32x8 x)
{
    if (__builtin_expect(any(~as<i32x8>(magnitude(x) <= splat(87.0f))), 0)) return exp_full(x);
    const ExpParts parts = exp_reduce(x);
    const f32x8 p = expm1_core(parts.r) + splat(1.0f); /* the result is normal: add to the exponent */
    return as<f32x8>(as<i32x8>(p) + parts.n);
}

/* exp(x) - 1 for -29 <= x <= 0, relative accuracy also near 0 */
PYPTO_INLINE f32x8 expm1_negative(f32x8 x)
{
    const ExpParts parts = exp_reduce(x);
    const f32x8 scale = as<f32x8>(parts.n + splat_i32(127 << 23));
    return fma(scale, expm1_core(parts.r), scale - splat(1.0f));
}

PYPTO_INLINE f32x8 tanh(f32x8 x)
{
    const f32x8 t = expm1_negative(less_of(splat(10.0f), magnitude(x)) * splat(-2.0f));
    return with_sign(magnitude(t) / (splat(2.0f) + t), sign_bit(x));
}

PYPTO_INLINE f32x8 sigmoid(f32x8 x) { return splat(1.0f) / (splat(1.0f) + exp(-x)); }

/* x = 2^e (1 + f), sqrt(1/2) <= 1 + f < sqrt(2); log(1 + f) = f + g */
struct LogParts {
    f32x8 e, f, g;
};

/* x positive, normal and finite */
PYPTO_INLINE LogParts log_reduce(f32x8 x)
{
    const i32x8 bits = as<i32x8>(x);
    const i32x8 e = (bits - splat_i32(0x3f3504f3)) >> 23;
    const f32x8 f = as<f32x8>(bits - (e << 23)) - splat(1.0f);
    const f32x8 tail = polynomial(f, 0.3333333134651184f, -0.2500082552433014f, 0.20001235604286194f,
                                  -0.1662314385175705f, 0.14201372861862183f, -0.13162016868591309f,
                                  0.12765401601791382f, -0.07634320855140686f);
    return {to_float(e), f, f * f * fma(f, tail, splat(-0.5f))};
}

struct NaturalLog {
    static PYPTO_INLINE f32x8 combine(const LogParts& p)
    {
        const f32x8 low = fma(p.e, splat(-2.12194440e-4f), p.g);
        return fma(p.e, splat(0.693359375f), p.f + low);
    }
};
struct BinaryLog {
    static PYPTO_INLINE f32x8 combine(const LogParts& p)
    {
        const f32x8 low = fma(p.g, splat(1.44269504089f), p.f * splat(1.9259629911e-8f));
        return p.e + fma(p.f, splat(1.4426950216293335f), low);
    }
};
struct DecimalLog {
    static PYPTO_INLINE f32x8 combine(const LogParts& p)
    {
        f32x8 low = fma(p.g, splat(0.4342944819f), p.f * splat(-1.0133915e-8f));
        low = fma(p.e, splat(4.6050389811e-6f), low);
        low = fma(p.f, splat(0.43429449200630188f), low);
        return fma(p.e, splat(0.301025390625f), low);
    }
};

/* Any x. */
template <typename Base>
PYPTO_INLINE f32x8 logarithm_full(f32x8 x)
{
    const auto tiny = x < splat(0x1p-126f);
    LogParts parts = log_reduce(select(tiny, x * splat(0x1p23f), x));
    parts.e = parts.e - select(tiny, splat(23.0f), splat(0.0f));
    f32x8 result = Base::combine(parts);
    result = select(x - x == splat(0.0f), result, x + x); /* inf and NaN stay, NaN becomes quiet */
    result = select(x < splat(0.0f), not_a_number(), result);
    return select(x == splat(0.0f), -infinity(), result);
}

template <typename Base>
PYPTO_INLINE f32x8 logarithm(f32x8 x)
{
    const i32x8 usual = (x >= splat(0x1p-126f)) & (x < infinity());
    if (__builtin_expect(any(~usual), 0)) return logarithm_full<Base>(x);
    return Base::combine(log_reduce(x));
}

PYPTO_INLINE f32x8 ln(f32x8 x) { return logarithm<NaturalLog>(x); }
PYPTO_INLINE f32x8 log2(f32x8 x) { return logarithm<BinaryLog>(x); }
PYPTO_INLINE f32x8 log10(f32x8 x) { return logarithm<DecimalLog>(x); }

PYPTO_INLINE f32x8 erf(f32x8 x)
{
    const f32x8 a = less_of(splat(3.95f), magnitude(x)); /* 1 beyond */
    const f32x8 s = a * a;
    const f32x8 near = fma(a, polynomial(s, 0.12837916612625122f, -0.37612634897232056f,
                                         0.11283694207668304f, -0.02685927040874958f,
                                         0.005200634244829416f, -0.0008137437398545444f,
                                         8.345225069206208e-05f), a);
    const f32x8 q = polynomial(a, -0.0001692052319413051f, 1.1294883489608765f, 0.6334008574485779f,
                               0.10822038352489471f, -0.025080617517232895f, 0.004156255163252354f,
                               -0.00043139365152455866f, 2.0828627384616993e-05f);
    const f32x8 far = -expm1_negative(-q); /* q = -log(erfc(a)) */
    return with_sign(select(a < splat(0.92f), near, far), sign_bit(x));
}

/* f lane by lane: for functions where speed does not matter */
template <typename F>
PYPTO_INLINE f32x8 lanewise(F f, f32x8 x)
{
    f32x8 result;
    for (int i = 0; i < 8; ++i) result[i] = f(x[i]);
    return result;
}

/* x = n pi/2 + r, n modulo 4 as an integer; for |x| <= 2^20 */
struct CircleParts {
    f32x8 r;
    i32x8 quadrant;
};

PYPTO_INLINE CircleParts circle_reduce(f32x8 x)
{
    const f32x4 input[2] = {low_half(x), high_half(x)};
    f32x4 r[2];
    i32x4 quadrant[2];
    for (int part = 0; part < 2; ++part) {
        const f64x4 wide = to_double(input[part]);
        const f64x4 shifted = wide * 0.63661977236758134 + 6755399441055744.0;
        const f64x4 n = shifted - 6755399441055744.0;
        const f64x4 rest = wide - n * 1.5707963267341256; /* 33 bits of pi/2: exact for n < 2^20 */
        r[part] = to_float(rest - n * 6.077100506506192e-11);
        quadrant[part] = __builtin_convertvector(as<i64x4>(shifted) & 3, i32x4);
    }
    return {join(r[0], r[1]), as<i32x8>(join(as<f32x4>(quadrant[0]), as<f32x4>(quadrant[1])))};
}

/* sin(x + turns pi/2) */
PYPTO_INLINE f32x8 sine_reduced(f32x8 x, int32_t turns)
{
    const CircleParts p = circle_reduce(x);
    const i32x8 quadrant = p.quadrant + splat_i32(turns);
    const f32x8 s = p.r * p.r;
    const f32x8 sine = fma(p.r * s, polynomial(s, -0.1666666716337204f, 0.008333329111337662f,
                                               -0.00019839327433146536f, 2.71823728326126e-06f), p.r);
    const f32x8 cosine = fma(s * s, polynomial(s, 0.0416666679084301f, -0.0013888883404433727f,
                                               2.479951217537746e-05f, -2.720954626056482e-07f),
                             splat(1.0f) - s * splat(0.5f));
    const f32x8 value = select((quadrant & splat_i32(1)) == splat_i32(1), cosine, sine);
    return as<f32x8>(as<u32x8>(value) ^ (as<u32x8>(quadrant & splat_i32(2)) << 30));
}

PYPTO_INLINE f32x8 sin(f32x8 x)
{
    if (__builtin_expect(any(magnitude(x) > splat(0x1p20f)), 0)) {
        return lanewise([](float v) { return __builtin_sinf(v); }, x);
    }
    /* sin(-0) is -0: the reduction loses that sign */
    return select(x == splat(0.0f), x, sine_reduced(x, 0));
}

PYPTO_INLINE f32x8 cos(f32x8 x)
{
    if (__builtin_expect(any(magnitude(x) > splat(0x1p20f)), 0)) {
        return lanewise([](float v) { return __builtin_cosf(v); }, x);
    }
    return sine_reduced(x, 1);
}

PYPTO_INLINE f64x4 select_double(i64x4 mask, f64x4 yes, f64x4 no) { return select_bits(mask, yes, no); }

PYPTO_INLINE f64x4 polynomial(f64x4, double c0) { return f64x4{c0, c0, c0, c0}; }
template <typename... C>
PYPTO_INLINE f64x4 polynomial(f64x4 x, double c0, C... more)
{
    return fma(polynomial(x, more...), x, f64x4{c0, c0, c0, c0});
}

/* log2 of floats held in double, x >= 0 or NaN; relative error 1e-11 */
PYPTO_INLINE f64x4 log2_double(f64x4 x)
{
    const u64x4 bits = as<u64x4>(x) - 0x3fe6a09e667f3bcdull + (1024ull << 52);
    const u64x4 exponent = bits >> 52; /* 1024 + e, positive: x is a float */
    const f64x4 m = as<f64x4>(as<u64x4>(x) - ((exponent - 1024) << 52));
    const f64x4 e = as<f64x4>(exponent | 0x4330000000000000ull) - (4503599627370496.0 + 1024.0);
    const f64x4 s = (m - 1.0) / (m + 1.0);
    const f64x4 p = polynomial(s * s, 2.885390081790772, 0.9617966724330056, 0.5770837668651851,
                               0.4116613503398222, 0.34094812269644426);
    const f64x4 finite = fma(s, p, e);
    const f64x4 result = select_double(x - x == 0.0, finite, x);
    return select_double(x == 0.0, f64x4{} - __builtin_inf(), result);
}

/* 2^x; relative error 2e-9; beyond the range of float: 0 or huge */
PYPTO_INLINE f64x4 exp2_double(f64x4 x)
{
    const f64x4 top = f64x4{} + 400.0;
    f64x4 y = select_double(x > top, top, x);
    y = select_double(y < -top, -top, y);
    const f64x4 shifted = y + 6755399441055744.0;
    const f64x4 r = y - (shifted - 6755399441055744.0);
    const f64x4 p = polynomial(r, 1.0000000005586158, 0.693147205886858, 0.24022646867654698,
                               0.05550328450886949, 0.009618490412886191, 0.0013400063276345802,
                               0.00015345692062522886);
    const f64x4 result = as<f64x4>(as<u64x4>(p) + (as<u64x4>(shifted) << 52));
    return select_double(y == y, result, y);
}

PYPTO_INLINE f32x4 power_positive(f32x4 x, f32x4 y)
{
    return to_float(exp2_double(log2_double(to_double(x)) * to_double(y)));
}

PYPTO_INLINE f32x8 power(f32x8 x, f32x8 y)
{
    const f32x8 a = magnitude(x);
    f32x8 result = join(power_positive(low_half(a), low_half(y)), power_positive(high_half(a), high_half(y)));
    const f32x8 zero = splat(0.0f), one = splat(1.0f);
    const auto integral = truncate(y) == y;
    const f32x8 halved = y * splat(0.5f);
    const i32x8 odd = integral & (truncate(halved) != halved); /* large floats are even */
    result = as<f32x8>(as<u32x8>(result) ^ (as<u32x8>(odd) & sign_bit(x)));
    const i32x8 outside = (x < zero) & (a < infinity()) & ~integral & (y == y);
    result = select(outside, not_a_number(), result);
    const i32x8 unit = (x == one) | (y == zero) | ((a == one) & (magnitude(y) == infinity()));
    return select(unit, one, result);
}

}  // namespace simd
}  // namespace pypto_twin

#endif
