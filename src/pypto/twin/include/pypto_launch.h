// What the CPU launch code of every kernel shares: Python's integer arithmetic on int64 with
// overflow noticed, step sizes that stay in the caches, and the choice of the number of blocks.
#ifndef PYPTO_LAUNCH_H
#define PYPTO_LAUNCH_H

#include "check.h"

namespace pypto_launch {

inline int64_t Add(int64_t a, int64_t b, int32_t& error)
{
    int64_t result = 0;
    if (__builtin_add_overflow(a, b, &result)) {
        error = PYPTO_OVERFLOW;
    }
    return result;
}

inline int64_t Sub(int64_t a, int64_t b, int32_t& error)
{
    int64_t result = 0;
    if (__builtin_sub_overflow(a, b, &result)) {
        error = PYPTO_OVERFLOW;
    }
    return result;
}

inline int64_t Mul(int64_t a, int64_t b, int32_t& error)
{
    int64_t result = 0;
    if (__builtin_mul_overflow(a, b, &result)) {
        error = PYPTO_OVERFLOW;
    }
    return result;
}

// Python's //: rounds towards minus infinity.
inline int64_t FloorDiv(int64_t a, int64_t b, int32_t& error)
{
    if (b == 0 || (a == INT64_MIN && b == -1)) {
        error = b == 0 ? PYPTO_DIVISION : PYPTO_OVERFLOW;
        return 0;
    }
    const int64_t quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

// Python's %: has the sign of the divisor.
inline int64_t FloorMod(int64_t a, int64_t b, int32_t& error)
{
    if (b == 0) {
        error = PYPTO_DIVISION;
        return 0;
    }
    if (b == -1) {
        return 0;
    }
    const int64_t remainder = a % b;
    return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

inline double FloorMod(double a, double b, int32_t& error)
{
    if (b == 0) {
        error = PYPTO_DIVISION;
        return 0;
    }
    double remainder = __builtin_fmod(a, b);
    if (remainder != 0 && (remainder < 0) != (b < 0)) {
        remainder += b;
    }
    return remainder != 0 ? remainder : __builtin_copysign(0.0, b);
}

inline double FloorDiv(double a, double b, int32_t& error)
{
    if (b == 0) {
        error = PYPTO_DIVISION;
        return 0;
    }
    // As CPython: from the remainder, so that the quotient is integral where it can be.
    const double remainder = __builtin_fmod(a, b);
    const double quotient = (a - remainder) / b - ((a < 0) != (b < 0) && remainder != 0 ? 1.0 : 0.0);
    if (quotient == 0) {
        return __builtin_copysign(0.0, a / b);
    }
    const double floor = __builtin_floor(quotient);
    return quotient - floor > 0.5 ? floor + 1 : floor;
}

inline double TrueDiv(double a, double b, int32_t& error)
{
    if (b == 0) {
        error = PYPTO_DIVISION;
        return 0;
    }
    return a / b;
}

inline double Pow(double a, double b, int32_t& error)
{
    if (a == 0 && b < 0 && b > -__builtin_inf()) {
        error = PYPTO_DIVISION;
        return 0;
    }
    return __builtin_pow(a, b);
}

// A negative exponent gives a float in Python; the front end keeps such powers out.
inline int64_t Pow(int64_t a, int64_t b, int32_t& error)
{
    int64_t result = 1;
    for (; b > 0; b >>= 1) {
        if ((b & 1) != 0) {
            result = Mul(result, a, error);
        }
        if (b > 1) {
            a = Mul(a, a, error);
        }
    }
    if (b < 0) {
        error = PYPTO_DIVISION;
    }
    return result;
}

inline int64_t Abs(int64_t a, int32_t& error) { return a < 0 ? Sub(0, a, error) : a; }
inline double Abs(double a, int32_t&) { return __builtin_fabs(a); }

template <typename T>
inline T Min(T a, T b)
{
    return b < a ? b : a;
}

template <typename T>
inline T Max(T a, T b)
{
    return b > a ? b : a;
}

inline int64_t ToInt(double a, int32_t& error)
{
    if (!(a > -9223372036854775809.0 && a < 9223372036854775808.0)) {
        error = PYPTO_OVERFLOW;
        return 0;
    }
    return static_cast<int64_t>(a);
}

inline int64_t ToInt(int64_t a, int32_t&) { return a; }

inline int64_t Up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// Bytes that a step's buffers may take together: they must stay in the first-level cache.
inline int64_t StepBudget(const PyptoRuntime* runtime)
{
    return static_cast<int64_t>(runtime->l1_bytes / 4 * 3);
}

// Steps of strips are copied and read once: they may take so many first-level caches.
constexpr int64_t kStripCaches = 8;

// Elements of a step over `total` elements that `parts` cores share: a multiple of `unit`, at most `most`.
// Where there are few steps they are of equal size, as every core takes whole ones.
inline uint32_t FlatStep(const PyptoRuntime* runtime, int64_t total, int64_t parts, int64_t unit, int64_t most, int64_t bytes)
{
    const int64_t largest = Min(Max(StepBudget(runtime) / bytes / unit * unit, unit), most);
    const int64_t share = (Max(total, INT64_C(1)) + parts - 1) / parts;
    const int64_t steps = (share + largest - 1) / largest;
    return static_cast<uint32_t>(Min(Up((share + steps - 1) / steps, unit), largest));
}

// Rows of a step when a row takes `pitch` elements of `bytes` and `row` bytes beside: a multiple of `granule`.
inline uint32_t RowsStep(const PyptoRuntime* runtime, int64_t pitch, int64_t most, int64_t rows, int64_t bytes, int64_t row, int64_t granule)
{
    const int64_t capacity = Min(rows, most / Max(pitch, INT64_C(1)));
    const int64_t fitting = StepBudget(runtime) / Max(pitch * bytes + row, INT64_C(1));
    int64_t step = Max(Min(fitting, capacity), INT64_C(1));
    if (step > 8) {
        step -= step % 8;
    }
    return static_cast<uint32_t>(Max(step - step % granule, granule));
}

// Rows and columns of a tile of a space that is transposed on chip: nearly square, multiples of 32, of at most `most`
// elements of `bytes`; longer rows in memory are worth a tile that is twice the first-level cache. Copies and
// instructions take 2016 of either at most.
inline void TileStep(const PyptoRuntime* runtime, int64_t rows, int64_t cols, int64_t most, int64_t bytes, uint32_t& tall, uint32_t& wide)
{
    constexpr int64_t unit = 32, longest = 2016;
    const int64_t units = Max(Min(static_cast<int64_t>(runtime->l1_bytes * 2) / bytes, most) / (unit * unit), INT64_C(1));
    const int64_t high = Min(Up(Max(rows, INT64_C(1)), unit), longest) / unit;
    const int64_t broad = Min(Up(Max(cols, INT64_C(1)), unit), longest) / unit;
    int64_t side = 1;
    while ((side + 1) * (side + 1) <= units) {
        ++side;
    }
    const int64_t down = Min(high, Max(side, units / broad));
    tall = static_cast<uint32_t>(down * unit);
    wide = static_cast<uint32_t>(Min(broad, units / down) * unit);
}

// Columns of a strip, a multiple of `unit`, at most `most`: where columns are enough each core has a strip, and
// strips are of equal size.
inline uint32_t StripWidth(const PyptoRuntime* runtime, int64_t cols, int64_t groups, int64_t unit, int64_t most)
{
    const int64_t fewest = 64;
    const int64_t parts = (runtime->workers + Max(groups, INT64_C(1)) - 1) / Max(groups, INT64_C(1));
    const int64_t share = Min(Max((Max(cols, INT64_C(1)) + parts - 1) / parts, fewest), most);
    const int64_t strips = (Max(cols, INT64_C(1)) + share - 1) / share;
    const int64_t width = (Max(cols, INT64_C(1)) + strips - 1) / strips;
    return static_cast<uint32_t>(Min(Up(width, unit), most));
}

// Rows of a step of strips. They do not depend on the number of cores, and so neither does the order of a sum.
inline uint32_t StripRows(const PyptoRuntime* runtime, int64_t cols, int64_t unit, int64_t widest, int64_t most, int64_t rows,
                          int64_t bytes, int64_t row)
{
    const int64_t width = Min(Up(Max(cols, INT64_C(1)), unit), widest);
    const int64_t fitting = kStripCaches * StepBudget(runtime) / Max(width * bytes + row, INT64_C(1));
    return static_cast<uint32_t>(Max(Min(fitting, Min(rows, most / width)), INT64_C(1)));
}

inline PyptoLaunch Planned(const PyptoRuntime* runtime, void (*stream)(PyptoCore*, const void*), const void* frame,
                           uint32_t kind, double work, double traffic)
{
    PyptoLaunch launch;
    launch.stream = stream;
    launch.frame = frame;
    launch.kind = kind;
    launch.blocks = runtime->blocks(work);
    launch.flags = traffic > static_cast<double>(runtime->llc_bytes) ? static_cast<uint32_t>(PYPTO_STREAM_STORES) : 0u;
    launch.stuck = nullptr;
    launch.fault = nullptr;
    return launch;
}

}  // namespace pypto_launch

#endif
