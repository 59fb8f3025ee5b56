/* CPU twin: adv_api mathematics. The temporary buffers are taken and left alone.
 *
 * Accuracy of the functions with own code: elementary.h. The rest goes lane by lane to the C library.
 * NUM-SIGN-1   Sign: 0 for -0 and for NaN.
 * NUM-POW-2    Power on int32_t wraps; with a negative exponent it is 0, but for bases 1 and -1.
 * NUM-ROUND-1  Round: half to even; Floor, Ceil, Trunc, Round keep NaN, infinities and -0.
 * NUM-CLAMP-1  ClampMax, ClampMin: NaN in either operand gives NaN.
 * NUM-CUMSUM-1 CumSum adds in order, in float; half results round once each.
 */
#ifndef PYPTO_TWIN_ADV_MATH_H
#define PYPTO_TWIN_ADV_MATH_H

#include "forms.h"
#include "lanes.h"

namespace pypto_twin {
namespace lane {

#define PYPTO_TWIN_FUNCTION(name, expression)                                                    \
    struct name {                                                                                \
        PYPTO_INLINE f32x8 operator()(f32x8 x) const { return expression; }                      \
    };
/* A function of the C library, called for each lane. */
#define PYPTO_TWIN_LIBRARY(name, function)                                                       \
    struct name {                                                                                \
        __attribute__((noinline)) static void compute(float* lanes)                              \
        {                                                                                        \
            for (int i = 0; i < 8; ++i) lanes[i] = function(lanes[i]);                           \
        }                                                                                        \
        PYPTO_INLINE f32x8 operator()(f32x8 x) const                                             \
        {                                                                                        \
            float lanes[8];                                                                      \
            simd::store(lanes, x);                                                               \
            compute(lanes);                                                                      \
            return simd::load<f32x8>(lanes);                                                     \
        }                                                                                        \
    };

PYPTO_TWIN_FUNCTION(TanhLanes, simd::tanh(x))
PYPTO_TWIN_FUNCTION(SinLanes, simd::sin(x))
PYPTO_TWIN_FUNCTION(CosLanes, simd::cos(x))
PYPTO_TWIN_FUNCTION(ErfLanes, simd::erf(x))
PYPTO_TWIN_FUNCTION(Log2Lanes, simd::log2(x))
PYPTO_TWIN_FUNCTION(Log10Lanes, simd::log10(x))
PYPTO_TWIN_FUNCTION(FloorLanes, round_down(x))
PYPTO_TWIN_FUNCTION(CeilLanes, simd::round_up(x))
PYPTO_TWIN_FUNCTION(TruncLanes, truncate(x))
PYPTO_TWIN_FUNCTION(RoundLanes, round_even(x))
PYPTO_TWIN_FUNCTION(FracLanes, x - truncate(x))
PYPTO_TWIN_FUNCTION(SignLanes, select(x > f32x8{}, splat(1.0f), select(x < f32x8{}, splat(-1.0f), f32x8{})))
PYPTO_TWIN_LIBRARY(TanLanes, __builtin_tanf)
PYPTO_TWIN_LIBRARY(SinhLanes, __builtin_sinhf)
PYPTO_TWIN_LIBRARY(CoshLanes, __builtin_coshf)
PYPTO_TWIN_LIBRARY(AsinLanes, __builtin_asinf)
PYPTO_TWIN_LIBRARY(AcosLanes, __builtin_acosf)
PYPTO_TWIN_LIBRARY(AtanLanes, __builtin_atanf)
PYPTO_TWIN_LIBRARY(AsinhLanes, __builtin_asinhf)
PYPTO_TWIN_LIBRARY(AcoshLanes, __builtin_acoshf)
PYPTO_TWIN_LIBRARY(AtanhLanes, __builtin_atanhf)
PYPTO_TWIN_LIBRARY(ErfcLanes, __builtin_erfcf)
#undef PYPTO_TWIN_FUNCTION
#undef PYPTO_TWIN_LIBRARY

struct XorLanes {
    template <typename V>
    PYPTO_INLINE V operator()(V a, V b) const { return a ^ b; }
};
struct FmodLanes {
    PYPTO_INLINE f32x8 operator()(f32x8 a, f32x8 b) const
    {
        f32x8 result{};
        for (int i = 0; i < 8; ++i) result[i] = __builtin_fmodf(a[i], b[i]);
        return result;
    }
};

struct PowerLanes {
    PYPTO_INLINE f32x8 operator()(f32x8 base, f32x8 exponent) const { return simd::power(base, exponent); }
    PYPTO_INLINE i32x8 operator()(i32x8 base, i32x8 exponent) const
    {
        u32x8 square = as<u32x8>(base), result = splat_u32(1);
        u32x8 left = as<u32x8>(exponent & (exponent > i32x8{}));
        while (any(left != 0u)) {
            result = select_bits((left & 1u) != 0u, result * square, result);
            square = square * square;
            left = left >> 1;
        }
        const i32x8 odd = (exponent & 1) != 0;
        const i32x8 unit = select_bits((base == -1) & odd, splat_i32(-1),
                                       select_bits((base == 1) | (base == -1), splat_i32(1), i32x8{}));
        return select_bits(exponent < i32x8{}, unit, as<i32x8>(result));
    }
};
/* One operand is a scalar. */
template <typename V>
struct PowerBaseLanes {
    Element<V> base;
    PYPTO_INLINE V operator()(V exponent) const { return PowerLanes{}(fill<V>(base), exponent); }
};
template <typename V>
struct PowerExponentLanes {
    Element<V> exponent;
    PYPTO_INLINE V operator()(V base) const { return PowerLanes{}(base, fill<V>(exponent)); }
};

}  // namespace lane

template <>
inline constexpr Mixing mixing_of<lane::XorLanes> = Mixing::in_place;

}  // namespace pypto_twin

namespace AscendC {

/* With and without temporary buffer, with and without count (all of src). */
#define PYPTO_TWIN_MATH(Name, Function)                                                          \
    template <typename T, bool isReuseSource = false>                                            \
    PYPTO_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                 \
                           const pypto_twin::UnsignedCount calCount)                             \
    {                                                                                            \
        PYPTO_TWIN_TYPES(#Name, T, half, float);                                                 \
        PYPTO_RULES(Name, count(calCount).tensor(dst).tensor(src));                              \
        pypto_twin::count_form(pypto_twin::lane::Function{}, calCount, dst, src);                \
    }                                                                                            \
    template <typename T, bool isReuseSource = false>                                            \
    PYPTO_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                 \
                           const LocalTensor<uint8_t>& tmp, const pypto_twin::UnsignedCount calCount) \
    {                                                                                            \
        PYPTO_TWIN_TYPES(#Name, T, half, float);                                                 \
        PYPTO_RULES(Name, count(calCount).tensor(dst).tensor(src).tmp(tmp));                     \
        pypto_twin::count_form(pypto_twin::lane::Function{}, calCount, dst, src);                \
    }                                                                                            \
    template <typename T, bool isReuseSource = false>                                            \
    PYPTO_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                 \
                           const LocalTensor<uint8_t>& tmp)                                      \
    {                                                                                            \
        Name<T, isReuseSource>(dst, src, tmp, src.GetSize());                                    \
    }                                                                                            \
    template <typename T, bool isReuseSource = false>                                            \
    PYPTO_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src)                 \
    {                                                                                            \
        Name<T, isReuseSource>(dst, src, src.GetSize());                                         \
    }

PYPTO_TWIN_MATH(Tanh, TanhLanes)
PYPTO_TWIN_MATH(Sinh, SinhLanes)
PYPTO_TWIN_MATH(Cosh, CoshLanes)
PYPTO_TWIN_MATH(Asin, AsinLanes)
PYPTO_TWIN_MATH(Acos, AcosLanes)
PYPTO_TWIN_MATH(Atan, AtanLanes)
PYPTO_TWIN_MATH(Asinh, AsinhLanes)
PYPTO_TWIN_MATH(Acosh, AcoshLanes)
PYPTO_TWIN_MATH(Atanh, AtanhLanes)
PYPTO_TWIN_MATH(Sin, SinLanes)
PYPTO_TWIN_MATH(Cos, CosLanes)
PYPTO_TWIN_MATH(Tan, TanLanes)
PYPTO_TWIN_MATH(Erf, ErfLanes)
PYPTO_TWIN_MATH(Erfc, ErfcLanes)
PYPTO_TWIN_MATH(Log, LnLanes)
PYPTO_TWIN_MATH(Log2, Log2Lanes)
PYPTO_TWIN_MATH(Log10, Log10Lanes)
PYPTO_TWIN_MATH(Floor, FloorLanes)
PYPTO_TWIN_MATH(Ceil, CeilLanes)
PYPTO_TWIN_MATH(Trunc, TruncLanes)
PYPTO_TWIN_MATH(Round, RoundLanes)
PYPTO_TWIN_MATH(Frac, FracLanes)
PYPTO_TWIN_MATH(Sign, SignLanes)
#undef PYPTO_TWIN_MATH

/* The Taylor form: the twin computes exp exactly at any level. */
template <typename T, uint8_t taylorExpandLevel, bool isReuseSource = false>
PYPTO_INLINE void Exp(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                      const LocalTensor<uint8_t>& tmp, const pypto_twin::UnsignedCount calCount)
{
    PYPTO_TWIN_TYPES("Exp", T, half, float);
    PYPTO_RULES(Exp_adv, count(calCount).tensor(dst).tensor(src).tmp(tmp));
    pypto_twin::count_form(pypto_twin::lane::ExpLanes{}, calCount, dst, src);
}

#define PYPTO_TWIN_MATH_2(Name, api, Function, ...)                                              \
    template <typename T, bool isReuseSource = false>                                            \
    PYPTO_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0,                \
                           const LocalTensor<T>& src1, const pypto_twin::UnsignedCount calCount) \
    {                                                                                            \
        PYPTO_TWIN_TYPES(#Name, T, __VA_ARGS__);                                                 \
        PYPTO_RULES(api, count(calCount).tensor(dst).tensor(src0).tensor(src1));                 \
        pypto_twin::count_form(pypto_twin::lane::Function{}, calCount, dst, src0, src1);         \
    }                                                                                            \
    template <typename T, bool isReuseSource = false>                                            \
    PYPTO_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0,                \
                           const LocalTensor<T>& src1, const LocalTensor<uint8_t>& tmp,          \
                           const pypto_twin::UnsignedCount calCount)                             \
    {                                                                                            \
        PYPTO_TWIN_TYPES(#Name, T, __VA_ARGS__);                                                 \
        PYPTO_RULES(api, count(calCount).tensor(dst).tensor(src0).tensor(src1).tmp(tmp));        \
        pypto_twin::count_form(pypto_twin::lane::Function{}, calCount, dst, src0, src1);         \
    }
PYPTO_TWIN_MATH_2(Fmod, Fmod, FmodLanes, half, float)
PYPTO_TWIN_MATH_2(Xor, Xor, XorLanes, int16_t, uint16_t)
PYPTO_TWIN_MATH_2(Power, Power_tensor_tensor, PowerLanes, half, float, int32_t)
#undef PYPTO_TWIN_MATH_2

template <typename T, bool isReuseSource = false>
PYPTO_INLINE void Power(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const T& src1,
                        const LocalTensor<uint8_t>& tmp, const pypto_twin::UnsignedCount calCount)
{
    using namespace pypto_twin;
    PYPTO_TWIN_TYPES("Power", T, half, float, int32_t);
    PYPTO_RULES(Power_tensor_scalar, count(calCount).tensor(dst).tensor(src0).tmp(tmp));
    count_form(lane::PowerExponentLanes<lane::Register<T>>{lane::scalar_of(src1)}, calCount, dst, src0);
}
template <typename T, bool isReuseSource = false>
PYPTO_INLINE void Power(const LocalTensor<T>& dst, const T& src0, const LocalTensor<T>& src1,
                        const LocalTensor<uint8_t>& tmp, const pypto_twin::UnsignedCount calCount)
{
    using namespace pypto_twin;
    PYPTO_TWIN_TYPES("Power", T, half, float, int32_t);
    PYPTO_RULES(Power_scalar_tensor, count(calCount).tensor(dst).tensor(src1).tmp(tmp));
    count_form(lane::PowerBaseLanes<lane::Register<T>>{lane::scalar_of(src0)}, calCount, dst, src1);
}

/* ClampMax = min(x, scalar), ClampMin = max(x, scalar) */
template <typename T, bool isReuseSource = false>
PYPTO_INLINE void ClampMax(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                           const LocalTensor<uint8_t>& tmp, const T scalar, const pypto_twin::UnsignedCount calCount)
{
    using namespace pypto_twin;
    PYPTO_TWIN_TYPES("ClampMax", T, half, float);
    PYPTO_RULES(ClampMax, count(calCount).tensor(dst).tensor(src).tmp(tmp));
    count_form(lane::MinsLanes<simd::f32x8>{lane::scalar_of(scalar)}, calCount, dst, src);
}
template <typename T, bool isReuseSource = false>
PYPTO_INLINE void ClampMin(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                           const LocalTensor<uint8_t>& tmp, const T scalar, const pypto_twin::UnsignedCount calCount)
{
    using namespace pypto_twin;
    PYPTO_TWIN_TYPES("ClampMin", T, half, float);
    PYPTO_RULES(ClampMin, count(calCount).tensor(dst).tensor(src).tmp(tmp));
    count_form(lane::MaxsLanes<simd::f32x8>{lane::scalar_of(scalar)}, calCount, dst, src);
}

enum class CumSumAlgorithm : uint8_t {
    CUMSUM_ALGORITHM_INVALID = 0,
    CUMSUM_ALGORITHM_LINEBYLINE,
    CUMSUM_ALGORITHM_CLEARPADDING
};
struct CumSumConfig {
    bool isLastAxis = true;
    bool isReuseSource = false;
    bool outputLastRow = false;
    CumSumAlgorithm algorithm = CumSumAlgorithm::CUMSUM_ALGORITHM_LINEBYLINE;
};
struct CumSumInfo {
    uint32_t outter = 0;
    uint32_t inner = 0;
};
constexpr CumSumConfig defaultCumSumConfig = {};

/* Sums along the last axis (each row) or the first one (each column); lastRow is dst's last row. */
template <typename T, const CumSumConfig& config = defaultCumSumConfig>
PYPTO_INLINE void CumSum(LocalTensor<T>& dst, LocalTensor<T>& lastRow, const LocalTensor<T>& src,
                         LocalTensor<uint8_t>& tmp, const CumSumInfo& info)
{
    using namespace pypto_twin;
    PYPTO_TWIN_TYPES("CumSum", T, half, float);
    PYPTO_RULES(CumSum, bytes(dst, uint64_t{info.outter} * info.inner * sizeof(T))
                            .bytes(lastRow, config.outputLastRow ? uint64_t{info.inner} * sizeof(T) : 0)
                            .bytes(src, uint64_t{info.outter} * info.inner * sizeof(T)).tmp(tmp)
                            .shape(info.outter, info.inner, config.isLastAxis));
    if (!on_instruction(PIPE_V)) {
        leave_count_form();
        return;
    }
    const uint64_t bytes = uint64_t{info.outter} * info.inner * sizeof(T);
    on_read(src.Position(), src.GetPhyAddr(), bytes, PIPE_V);
    on_write(dst.Position(), dst.GetPhyAddr(), bytes, PIPE_V);
    const uint64_t lines = config.isLastAxis ? info.outter : info.inner;
    const uint64_t length = config.isLastAxis ? info.inner : info.outter;
    const uint64_t line = config.isLastAxis ? info.inner : 1, step = config.isLastAxis ? 1 : info.inner;
    for (uint64_t i = 0; i < lines; ++i) {
        float sum = 0.0f;
        Flow flow;
        for (uint64_t k = 0; k < length; ++k) {
            if constexpr (kChecked) {
                flow.from(src.Position(), src.GetPhyAddr() + i * line + k * step, sizeof(T));
                flow.to(dst.Position(), dst.GetPhyAddr() + i * line + k * step, sizeof(T));
            }
            const float next = static_cast<float>(src.GetPhyAddr()[i * line + k * step]);
            sum = simd::normal(simd::splat(sum + simd::normal(simd::splat(next))[0]))[0];
            dst.GetPhyAddr()[i * line + k * step] = T(sum);
        }
    }
    if (config.outputLastRow && info.outter != 0) {
        on_write(lastRow.Position(), lastRow.GetPhyAddr(), uint64_t{info.inner} * sizeof(T), PIPE_V);
        const T* const last = dst.GetPhyAddr() + uint64_t{info.outter - 1} * info.inner;
        on_move(lastRow.Position(), lastRow.GetPhyAddr(), 0, dst.Position(), last, 0,
                uint64_t{info.inner} * sizeof(T));
        __builtin_memcpy(lastRow.GetPhyAddr(), last, uint64_t{info.inner} * sizeof(T));
    }
    leave_count_form();
}

}  // namespace AscendC

#endif
