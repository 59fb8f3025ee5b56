/* CPU twin: scalar types, enumerations and the keywords of the language.
 *
 * Headers of the twin include nothing beyond stdint.h and stddef.h: parsing standard headers costs
 * more than compiling a kernel. Work is done by compiler builtins (g++ >= 11, clang >= 14).
 */
#ifndef PYPTO_TWIN_TYPES_H
#define PYPTO_TWIN_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* Language keywords. Address spaces do not exist on a CPU; kinds are the wrapper's business. */
#define __aicore__
#define __global__
#define __vector__
#define __cube__
#define __mix__(cubes, vectors)
#define __schedmode__(mode)
#define __gm__
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __kfc_workspace__
#define GM_ADDR __gm__ uint8_t*

/* Older spelling of a kernel's kind: a statement without effect here. */
#define KERNEL_TASK_TYPE_DEFAULT(kind) ((void)(kind))
enum KernelMetaType {
    KERNEL_TYPE_AIV_ONLY,
    KERNEL_TYPE_AIC_ONLY,
    KERNEL_TYPE_MIX_AIV_1_0,
    KERNEL_TYPE_MIX_AIC_1_0,
    KERNEL_TYPE_MIX_AIC_1_1,
    KERNEL_TYPE_MIX_AIC_1_2
};

#define PYPTO_INLINE inline __attribute__((always_inline))
#define PYPTO_COLD __attribute__((noinline, cold))

#ifndef INFINITY
#define INFINITY (__builtin_inff())
#endif
#ifndef NAN
#define NAN (__builtin_nanf(""))
#endif

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
        __fp16 value;
        __builtin_memcpy(&value, &bits, 2);
        return static_cast<float>(value);
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
        const __fp16 narrow = static_cast<__fp16>(value);
        uint16_t bits = 0;
        __builtin_memcpy(&bits, &narrow, 2);
        return bits;
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

/* Two 4-bit integers share a byte: element 2i is the low half of byte i. */
struct int4b_t {
    uint8_t pair;
};

static_assert(sizeof(half) == 2 && sizeof(bfloat16_t) == 2, "layout of the 16-bit floats");

/* Hardware queues of one core. */
enum pipe_t {
    PIPE_S = 0,
    PIPE_V,
    PIPE_M,
    PIPE_MTE1,
    PIPE_MTE2,
    PIPE_MTE3,
    PIPE_ALL,
    PIPE_FIX
};

enum event_t {
    EVENT_ID0 = 0,
    EVENT_ID1,
    EVENT_ID2,
    EVENT_ID3,
    EVENT_ID4,
    EVENT_ID5,
    EVENT_ID6,
    EVENT_ID7
};

namespace AscendC {

using TEventID = int8_t;

/* Logical positions of a tensor; several share one physical memory. */
enum class TPosition : uint8_t {
    GM,
    A1,
    A2,
    B1,
    B2,
    C1,
    C2,
    CO1,
    CO2,
    VECIN,
    VECOUT,
    VECCALC,
    LCM = VECCALC,
    SPM,
    TSCM,
    C2PIPE2GM,
    MAX
};
using QuePosition = TPosition;

enum class Hardware : uint8_t { GM, UB, L1, L0A, L0B, L0C, BIAS, FIXBUF, MAX };

/* A_B: pipe B waits for pipe A. */
enum class HardEvent : uint8_t {
    MTE2_MTE1,
    MTE1_MTE2,
    MTE1_M,
    M_MTE1,
    MTE2_V,
    V_MTE2,
    MTE3_V,
    V_MTE3,
    M_V,
    V_M,
    V_V,
    MTE3_MTE1,
    MTE1_MTE3,
    MTE1_V,
    MTE2_M,
    M_MTE2,
    V_MTE1,
    M_FIX,
    FIX_M,
    MTE3_MTE2,
    MTE2_MTE3,
    S_V,
    V_S,
    S_MTE2,
    MTE2_S,
    S_MTE3,
    MTE3_S,
    MTE2_FIX,
    FIX_MTE2,
    FIX_S,
    M_S,
    FIX_MTE3,
    MTE1_FIX,
    FIX_MTE1,
    FIX_FIX,
    MAX
};

enum class MaskMode : uint8_t { NORMAL = 0, COUNTER };
enum class MemDsbT : uint8_t { ALL = 0, DDR, UB, SEQ };
enum class CacheLine : uint64_t { SINGLE_CACHE_LINE = 0, ENTIRE_DATA_CACHE };
enum class DcciDst : uint64_t { CACHELINE_ALL = 0, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };
enum class CacheMode : uint8_t { CACHE_MODE_DISABLE = 0, CACHE_MODE_NORMAL = 1 };
enum class CacheRwMode : uint8_t { READ = 1, WRITE = 2, RW = 3 };

enum class RoundMode : uint8_t {
    CAST_NONE = 0,
    CAST_RINT,
    CAST_FLOOR,
    CAST_CEIL,
    CAST_ROUND,
    CAST_TRUNC,
    CAST_ODD
};

constexpr int32_t GetDataBlockSizeInBytes() { return 32; }
constexpr int32_t CeilDivision(int32_t a, int32_t b) { return b == 0 ? 0 : (a + b - 1) / b; }

/* Shape annotation of a tensor; carried, never interpreted. */
constexpr int32_t K_MAX_SHAPE_DIM = 8;
enum class DataFormat : uint8_t { ND = 0, NZ, NCHW, NC1HWC0, NHWC };
struct ShapeInfo {
    uint8_t shapeDim = 0;
    uint32_t shape[K_MAX_SHAPE_DIM] = {};
    uint8_t originalShapeDim = 0;
    uint32_t originalShape[K_MAX_SHAPE_DIM] = {};
    DataFormat dataFormat = DataFormat::ND;
};

}  // namespace AscendC

namespace pypto_twin {

constexpr uint32_t kBlockBytes = 32;
constexpr uint32_t kRepeatBytes = 256;

/* Bytes that `count` elements occupy from an element boundary. */
template <typename T>
constexpr uint64_t bytes_of(uint64_t count)
{
    return is_same<T, int4b_t> ? count / 2 : count * sizeof(T);
}

template <typename T>
constexpr uint64_t elements_of(uint64_t bytes)
{
    return is_same<T, int4b_t> ? bytes * 2 : bytes / sizeof(T);
}

constexpr uint32_t round_up(uint32_t value, uint32_t unit) { return (value + unit - 1) / unit * unit; }

/* Physical memory behind a position. */
constexpr AscendC::Hardware memory_of(AscendC::TPosition position)
{
    using AscendC::Hardware;
    using AscendC::TPosition;
    switch (position) {
        case TPosition::VECIN:
        case TPosition::VECOUT:
        case TPosition::VECCALC: return Hardware::UB;
        case TPosition::A1:
        case TPosition::B1:
        case TPosition::C1:
        case TPosition::TSCM: return Hardware::L1;
        case TPosition::A2: return Hardware::L0A;
        case TPosition::B2: return Hardware::L0B;
        case TPosition::CO1: return Hardware::L0C;
        case TPosition::C2: return Hardware::BIAS;
        case TPosition::C2PIPE2GM: return Hardware::FIXBUF;
        default: return Hardware::GM;
    }
}

/* Size in bytes of an on-chip memory of one core. */
constexpr uint32_t memory_bytes(AscendC::Hardware memory)
{
    using AscendC::Hardware;
    switch (memory) {
        case Hardware::UB: return 196608;
        case Hardware::L1: return 524288;
        case Hardware::L0A: return 65536;
        case Hardware::L0B: return 65536;
        case Hardware::L0C: return 131072;
        case Hardware::BIAS: return 1024;
        case Hardware::FIXBUF: return 2048;
        default: return 0;
    }
}

/* Where it starts inside PyptoCore.ub: an AIV has the UB alone, an AIC the others in a row. */
constexpr uint32_t memory_offset(AscendC::Hardware memory)
{
    using AscendC::Hardware;
    switch (memory) {
        case Hardware::L0A: return 524288;
        case Hardware::L0B: return 589824;
        case Hardware::L0C: return 655360;
        case Hardware::BIAS: return 786432;
        case Hardware::FIXBUF: return 787456;
        default: return 0;
    }
}

}  // namespace pypto_twin

#endif
