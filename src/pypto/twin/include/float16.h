/* CPU twin: half (IEEE binary16) and bfloat16_t, and the type traits that they need. */
#ifndef PYPTO_TWIN_FLOAT16_H
#define PYPTO_TWIN_FLOAT16_H

#include <stdint.h>

namespace pypto_twin {

template <typename A, typename B>
inline constexpr bool is_same = false;
template <typename A>
inline constexpr bool is_same<A, A> = true;

template <bool condition, typename T = void>
struct enable_if {};
template <typename T>
struct enable_if<true, T> {
    using type = T;
};
template <bool condition, typename T = void>
using enable_if_t = typename enable_if<condition, T>::type;

/* bool, integers and built-in floats */
template <typename T>
inline constexpr bool is_arithmetic =
    is_same<T, bool> || is_same<T, char> || is_same<T, signed char> || is_same<T, unsigned char> ||
    is_same<T, short> || is_same<T, unsigned short> || is_same<T, int> || is_same<T, unsigned> ||
    is_same<T, long> || is_same<T, unsigned long> || is_same<T, long long> ||
    is_same<T, unsigned long long> || is_same<T, float> || is_same<T, double>;

/* IEEE binary16 bits to float; exact. Signalling NaNs become quiet. Bit arithmetic only. */
constexpr float half_to_float_soft(uint16_t bits)
{
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
    const uint32_t exponent = (bits >> 10) & 0x1fu;
    const uint32_t fraction = bits & 0x3ffu;
    uint32_t result = sign;
    if (exponent == 31) {
        result |= 0x7f800000u | (fraction << 13) | (fraction != 0 ? 0x400000u : 0u);
    } else if (exponent != 0) {
        result |= ((exponent + 112) << 23) | (fraction << 13);
    } else if (fraction != 0) {
        const uint32_t lead = static_cast<uint32_t>(__builtin_clz(fraction)) - 21;  /* 1..10 */
        result |= ((113 - lead) << 23) | ((fraction << (13 + lead)) & 0x7fffffu);
    }
    return __builtin_bit_cast(float, result);
}

/* float to IEEE binary16 bits, half to even; overflow gives infinity, NaNs become quiet. */
constexpr uint16_t float_to_half_soft(float value)
{
    const uint32_t bits = __builtin_bit_cast(uint32_t, value);
    const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
        return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
    }
    if (magnitude >= 0x477ff000u) {  /* at least halfway from 65504 to 65536 */
        return static_cast<uint16_t>(sign | 0x7c00u);
    }
    if (magnitude >= 0x38800000u) {  /* normal: 2^-14 and more */
        const uint32_t rebased = magnitude - 0x38000000u;
        return static_cast<uint16_t>(sign | ((rebased + 0xfffu + ((rebased >> 13) & 1u)) >> 13));
    }
    if (magnitude < 0x33000000u) {  /* below half of the least subnormal */
        return sign;
    }
    const uint32_t shift = 126 - (magnitude >> 23);  /* 14..24 */
    const uint32_t fraction = (magnitude & 0x7fffffu) | 0x800000u;
    const uint32_t kept = fraction >> shift;
    const uint32_t rest = fraction & ((1u << shift) - 1u);
    const uint32_t middle = 1u << (shift - 1);
    const bool up = rest > middle || (rest == middle && (kept & 1u) != 0);
    return static_cast<uint16_t>(sign | (kept + (up ? 1u : 0u)));
}

/* double to float, inexact results forced odd: a second rounding to fewer bits is then exact. */
constexpr float double_to_float_odd(double value)
{
    const float nearest = static_cast<float>(value);
    const double back = static_cast<double>(nearest);
    if (back == value || value != value) {
        return nearest;
    }
    uint32_t bits = __builtin_bit_cast(uint32_t, nearest);
    const bool larger = value < 0 ? back < value : back > value;
    bits -= larger ? 1u : 0u;  /* towards zero */
    return __builtin_bit_cast(float, bits | 1u);
}

constexpr float half_to_float(uint16_t bits)
{
#if defined(__clang__) || (defined(__aarch64__) && defined(__GNUC__))
#if defined(__F16C__) || defined(__aarch64__)
    if (!__builtin_is_constant_evaluated()) {
        return static_cast<float>(__builtin_bit_cast(__fp16, bits));
    }
#endif
#elif defined(__F16C__)
    if (!__builtin_is_constant_evaluated()) {
        typedef short v8hi __attribute__((vector_size(16)));
        return __builtin_ia32_vcvtph2ps(v8hi{static_cast<short>(bits)})[0];
    }
#endif
    return half_to_float_soft(bits);
}

constexpr uint16_t float_to_half(float value)
{
#if defined(__clang__) || (defined(__aarch64__) && defined(__GNUC__))
#if defined(__F16C__) || defined(__aarch64__)
    if (!__builtin_is_constant_evaluated()) {
        return __builtin_bit_cast(uint16_t, static_cast<__fp16>(value));
    }
#endif
#elif defined(__F16C__)
    if (!__builtin_is_constant_evaluated()) {
        typedef float v4sf __attribute__((vector_size(16)));
        return static_cast<uint16_t>(__builtin_ia32_vcvtps2ph(v4sf{value}, 0)[0]);
    }
#endif
    return float_to_half_soft(value);
}

constexpr float bfloat16_to_float(uint16_t bits)
{
    return __builtin_bit_cast(float, static_cast<uint32_t>(bits) << 16);
}

/* half to even; every NaN becomes 0x7fc0, as in torch */
constexpr uint16_t float_to_bfloat16(float value)
{
    const uint32_t bits = __builtin_bit_cast(uint32_t, value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return 0x7fc0u;
    }
    return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace pypto_twin

/* IEEE binary16. half op half gives half (computed in float, rounded once: exact for + - * /);
 * half op float gives float. */
struct half {
    uint16_t bits;

    half() = default;
    template <typename T, typename = pypto_twin::enable_if_t<pypto_twin::is_arithmetic<T>>>
    constexpr half(T value) : bits(0)
    {
        if constexpr (pypto_twin::is_same<T, double>) {
            bits = pypto_twin::float_to_half(pypto_twin::double_to_float_odd(value));
        } else {
            /* integers beyond 2^24 round here, but they are infinite in half anyway */
            bits = pypto_twin::float_to_half(static_cast<float>(value));
        }
    }
    constexpr operator float() const { return pypto_twin::half_to_float(bits); }
    static constexpr half from_bits(uint16_t raw)
    {
        half result(0.0f);
        result.bits = raw;
        return result;
    }
    constexpr half operator-() const { return from_bits(static_cast<uint16_t>(bits ^ 0x8000u)); }
    constexpr half& operator+=(half other) { return *this = half(float(*this) + float(other)); }
    constexpr half& operator-=(half other) { return *this = half(float(*this) - float(other)); }
    constexpr half& operator*=(half other) { return *this = half(float(*this) * float(other)); }
    constexpr half& operator/=(half other) { return *this = half(float(*this) / float(other)); }
};

/* Templates, so that only two operands of exactly this type take them. */
#define PYPTO_HALF_OPERATOR(op)                                                                  \
    template <typename H, typename = pypto_twin::enable_if_t<pypto_twin::is_same<H, half>>>      \
    constexpr half operator op(H a, H b)                                                         \
    {                                                                                            \
        return half(float(a) op float(b));                                                       \
    }
PYPTO_HALF_OPERATOR(+)
PYPTO_HALF_OPERATOR(-)
PYPTO_HALF_OPERATOR(*)
PYPTO_HALF_OPERATOR(/)
#undef PYPTO_HALF_OPERATOR

/* bfloat16. The scalar unit has no arithmetic on it: convert explicitly. */
struct bfloat16_t {
    uint16_t bits;

    bfloat16_t() = default;
    template <typename T, typename = pypto_twin::enable_if_t<pypto_twin::is_arithmetic<T>>>
    constexpr bfloat16_t(T value) : bits(0)
    {
        if constexpr (pypto_twin::is_same<T, float>) {
            bits = pypto_twin::float_to_bfloat16(value);
        } else { /* double holds every integer up to 2^53; beyond that odd rounding starts there */
            bits = pypto_twin::float_to_bfloat16(
                pypto_twin::double_to_float_odd(static_cast<double>(value)));
        }
    }
    explicit constexpr operator float() const { return pypto_twin::bfloat16_to_float(bits); }
    static constexpr bfloat16_t from_bits(uint16_t raw)
    {
        bfloat16_t result(0.0f);
        result.bits = raw;
        return result;
    }
};

static_assert(sizeof(half) == 2 && sizeof(bfloat16_t) == 2, "layout of the 16-bit floats");

#endif
