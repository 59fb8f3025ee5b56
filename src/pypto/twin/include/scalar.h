/* CPU twin: the scalar unit: conversions, bit operations, uncached access, debug output. */
#ifndef PYPTO_TWIN_SCALAR_H
#define PYPTO_TWIN_SCALAR_H

#include "tensor.h"

extern "C" {
/* Bound by name: the C library's own declarations may be visible too. */
int pypto_twin_clock(int clock, int64_t* seconds_and_nanoseconds) __asm__("clock_gettime");
}

namespace pypto_twin {

/* Half to even without <cmath>: exact for every |x| < 2^51, larger values are integral already. */
constexpr double round_even(double x)
{
    const double magic = 6755399441055744.0; /* 1.5 * 2^52 */
    return (x < 0 ? -x : x) < 2251799813685248.0 ? (x + magic) - magic : x;
}

constexpr double round_to(double x, AscendC::RoundMode mode)
{
    const double nearest = round_even(x);
    const double floor = nearest > x ? nearest - 1 : nearest;
    const double ceil = nearest < x ? nearest + 1 : nearest;
    switch (mode) {
        case AscendC::RoundMode::CAST_FLOOR: return floor;
        case AscendC::RoundMode::CAST_CEIL: return ceil;
        case AscendC::RoundMode::CAST_TRUNC: return x < 0 ? ceil : floor;
        case AscendC::RoundMode::CAST_ROUND:
            return x < 0 ? (ceil - x >= 0.5 ? floor : ceil) : (x - floor >= 0.5 ? ceil : floor);
        default: return nearest;
    }
}

/* Saturates; NaN gives 0. */
constexpr int32_t saturate_int32(double x)
{
    return x != x            ? 0
           : x >= 2147483647.0  ? 2147483647
           : x <= -2147483648.0 ? -2147483647 - 1
                                : static_cast<int32_t>(x);
}

/* float to half, an inexact result forced odd. */
constexpr uint16_t float_to_half_odd(float value)
{
    uint16_t bits = float_to_half(value);
    const float back = half_to_float(bits);
    if (back == value || value != value) {
        return bits;
    }
    const bool larger = value < 0 ? back < value : back > value;
    bits = static_cast<uint16_t>(bits - (larger ? 1 : 0)); /* infinity steps back to 65504 */
    return static_cast<uint16_t>(bits | 1u);
}

template <typename A>
PYPTO_INLINE auto printable(A value)
{
    if constexpr (is_same<A, half> || is_same<A, bfloat16_t>) {
        return static_cast<double>(static_cast<float>(value));
    } else {
        return value;
    }
}

}  // namespace pypto_twin

namespace AscendC {

constexpr float Cast(bfloat16_t value) { return static_cast<float>(value); }
constexpr bfloat16_t Cast(float value) { return bfloat16_t(value); }
constexpr float ToFloat(bfloat16_t value) { return static_cast<float>(value); }
constexpr bfloat16_t ToBfloat16(float value) { return bfloat16_t(value); }

/* float to int32_t or half by a rounding mode; out-of-range integers saturate. */
template <typename T, typename U, RoundMode mode>
constexpr U Cast(T value)
{
    static_assert(pypto_twin::is_same<T, float>, "scalar Cast: from float only");
    static_assert(pypto_twin::is_same<U, int32_t> || pypto_twin::is_same<U, half>,
                  "scalar Cast: to int32_t or half only");
    if constexpr (pypto_twin::is_same<U, half>) {
        return half::from_bits(mode == RoundMode::CAST_ODD ? pypto_twin::float_to_half_odd(value)
                                                           : pypto_twin::float_to_half(value));
    } else {
        return pypto_twin::saturate_int32(pypto_twin::round_to(static_cast<double>(value), mode));
    }
}
template <typename T, typename U, RoundMode mode>
constexpr U ScalarCast(T value)
{
    return Cast<T, U, mode>(value);
}

/* Bits of `value` that equal `bit`. */
template <int bit>
constexpr int64_t GetBitCount(uint64_t value)
{
    return __builtin_popcountll(bit != 0 ? value : ~value);
}
template <int bit>
constexpr int64_t ScalarGetCountOfValue(uint64_t value)
{
    return GetBitCount<bit>(value);
}

constexpr int64_t CountLeadingZero(uint64_t value)
{
    return value == 0 ? 64 : __builtin_clzll(value);
}
constexpr int64_t ScalarCountLeadingZero(uint64_t value) { return CountLeadingZero(value); }

/* Index of the lowest bit that equals `bit`, -1 without one. */
template <int bit>
constexpr int64_t GetSFFValue(uint64_t value)
{
    const uint64_t wanted = bit != 0 ? value : ~value;
    return wanted == 0 ? -1 : __builtin_ctzll(wanted);
}
template <int bit>
constexpr int64_t ScalarGetSFFValue(uint64_t value)
{
    return GetSFFValue<bit>(value);
}

/* Integers in global memory, past the scalar data cache: flags between cores. */
template <typename T>
PYPTO_INLINE T ReadGmByPassDCache(__gm__ T* address)
{
    static_assert(pypto_twin::is_arithmetic<T> && !pypto_twin::is_same<T, float> &&
                      !pypto_twin::is_same<T, double>,
                  "ReadGmByPassDCache: integers only");
    T value{};
    if (pypto_twin::on_scalar()) {
        pypto_twin::on_uncached(true, false, address, sizeof(T));
        value = __atomic_load_n(address, __ATOMIC_ACQUIRE);
    }
    return pypto_twin::scalar_value(value);
}
template <typename T>
PYPTO_INLINE void WriteGmByPassDCache(__gm__ T* address, T value)
{
    static_assert(pypto_twin::is_arithmetic<T> && !pypto_twin::is_same<T, float> &&
                      !pypto_twin::is_same<T, double>,
                  "WriteGmByPassDCache: integers only");
    if (pypto_twin::on_scalar()) {
        pypto_twin::on_uncached(false, true, address, sizeof(T));
        __atomic_store_n(address, value, __ATOMIC_RELEASE);
    }
}

/* Results that the last repeat reduction left in registers. */
template <typename T>
PYPTO_INLINE T GetReduceRepeatSumSpr()
{
    using namespace pypto_twin;
    PYPTO_CHECK(use_origin, "undefined-scalar", "the sum that the scalar unit reads", state().registers.sum);
    return static_cast<T>(vector_value(state().reduce_sum));
}
template <typename T>
PYPTO_INLINE void GetReduceRepeatMaxMinSpr(T& value)
{
    using namespace pypto_twin;
    PYPTO_CHECK(use_origin, "undefined-scalar", "the extreme value that the scalar unit reads",
                state().registers.extreme);
    value = static_cast<T>(vector_value(state().reduce_value));
}
/* The index comes as raw bits in the width of T. */
template <typename T>
PYPTO_INLINE void GetReduceRepeatMaxMinSpr(T& value, T& index)
{
    GetReduceRepeatMaxMinSpr(value);
    const uint32_t lane = pypto_twin::vector_value(pypto_twin::state().reduce_index);
    __builtin_memcpy(&index, &lane, sizeof(T));
}

/* Ticks of 20 ns (50 MHz). */
inline int64_t GetSystemCycle()
{
    int64_t now[2] = {0, 0};
    (void)pypto_twin_clock(1 /* CLOCK_MONOTONIC */, now);
    return pypto_twin::scalar_value(now[0] * 50000000 + now[1] / 20);
}

template <typename... Arguments>
inline void printf(const char* format, Arguments... arguments)
{
#if !defined(ASCENDC_DUMP) || ASCENDC_DUMP != 0
    if (pypto_twin::on_scalar()) {
        pypto_twin::State& state = *pypto_twin::current;
        if (state.printed != nullptr && state.text == nullptr) {
            state.text = pypto_twin::new_text(*state.printed, GetBlockIdx());
        }
        if (state.text != nullptr) {
            pypto_twin::print_into(*state.text, format, pypto_twin::printable(arguments)...);
        } else {
            (void)dprintf(1, format, pypto_twin::printable(arguments)...);
        }
    }
#else
    (void)format, ((void)arguments, ...);
#endif
}

/* At most `count` leading elements, eight a line. */
template <typename Tensor>
inline void DumpTensor(const Tensor& tensor, uint32_t desc, uint32_t count)
{
    using T = typename Tensor::PrimType;
    AscendC::printf("DumpTensor desc=%u count=%u\n", desc, count);
    for (uint32_t i = 0; i < count; ++i) {
        const char* const end = i % 8 == 7 || i + 1 == count ? "\n" : " ";
        T value{};
        if constexpr (pypto_twin::is_same<Tensor, GlobalTensor<T>>) {
            value = tensor.GetValue(i);
        } else {
            value = tensor.GetPhyAddr()[i];
        }
        if constexpr (pypto_twin::is_same<T, float> || pypto_twin::is_same<T, double> ||
                      pypto_twin::is_same<T, half> || pypto_twin::is_same<T, bfloat16_t>) {
            AscendC::printf("%g%s", static_cast<double>(static_cast<float>(value)), end);
        } else {
            AscendC::printf("%lld%s", static_cast<long long>(value), end);
        }
    }
}
template <typename Tensor>
inline void DumpTensor(const Tensor& tensor, uint32_t desc, uint32_t count, const ShapeInfo&)
{
    DumpTensor(tensor, desc, count);
}

namespace Std {
template <typename T>
constexpr T min(T a, T b)
{
    return b < a ? b : a;
}
template <typename T>
constexpr T max(T a, T b)
{
    return a < b ? b : a;
}
}  // namespace Std

}  // namespace AscendC

#if !defined(ASCENDC_DUMP) || ASCENDC_DUMP != 0
#define ascendc_assert(condition, ...)                                                      \
    ((condition) ? (void)0 : pypto_twin::fail("ascendc_assert(" #condition ") does not hold"))
#else
#define ascendc_assert(condition, ...) ((void)0)
#endif

#endif
