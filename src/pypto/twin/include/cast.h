/* CPU twin: Cast between types.
 *
 * NUM-CAST-1  float to half or bfloat16: IEEE rounding in the mode asked for; overflow gives inf
 *             (TRUNC, ODD and the mode that rounds towards zero: the largest finite number); NaN is
 *             a quiet NaN.
 * NUM-CAST-2  to an integer: round in the mode asked for, then saturate; NaN gives 0.
 * NUM-CAST-3  integer to narrower integer: saturates.
 * NUM-CAST-4  CAST_NONE rounds half to even when precision is lost.
 * NUM-CAST-5  int32 to half: float(x) * SetDeqScale's scale, rounded to half.
 */
#ifndef PYPTO_TWIN_CAST_H
#define PYPTO_TWIN_CAST_H

#include "forms.h"

namespace pypto_twin {
namespace simd {

typedef int8_t i8x8 __attribute__((vector_size(8)));
typedef uint8_t u8x8 __attribute__((vector_size(8)));

/* Integers of up to 16 bits widen; pack expects values in range. */
template <typename Narrow>
struct WidenedLanes {
    static PYPTO_INLINE i32x8 load(const void* p)
    {
        return __builtin_convertvector(simd::load<Narrow>(p), i32x8);
    }
    static PYPTO_INLINE Narrow pack(i32x8 v) { return __builtin_convertvector(v, Narrow); }
};
template <>
struct Lanes<int8_t, 8> : WidenedLanes<i8x8> {};
template <>
struct Lanes<uint8_t, 8> : WidenedLanes<u8x8> {};
template <>
struct Lanes<int16_t, 8> : WidenedLanes<i16x8> {};
/* Beside 64-bit integers a step has four lanes. */
template <>
struct Lanes<int64_t, 4> : PlainLanes<i64x4> {};
template <>
struct Lanes<int32_t, 4> : PlainLanes<i32x4> {};
template <>
struct Lanes<float, 4> : PlainLanes<f32x4> {};

using AscendC::RoundMode;

/* To an integral float. */
PYPTO_INLINE f32x8 round_to_integral(f32x8 v, RoundMode mode)
{
    switch (mode) {
        case RoundMode::CAST_FLOOR: return round_down(v);
        case RoundMode::CAST_CEIL: return round_up(v);
        case RoundMode::CAST_ROUND: return round_away(v);
        case RoundMode::CAST_TRUNC: return truncate(v);
        default: return round_even(v);
    }
}

/* What rounding adds to `kept`, the magnitude without its last `shift` bits `rest`: all ones = 1.
 * V is a vector of unsigned integers or one of them; comparisons give masks on vectors. */
template <typename V>
PYPTO_INLINE auto rounds_up(V kept, V rest, V middle, V negative, RoundMode mode)
    -> decltype((rest != rest) & (rest != rest))
{
    switch (mode) {
        case RoundMode::CAST_FLOOR: return (rest != 0u) & (negative != 0u);
        case RoundMode::CAST_CEIL: return (rest != 0u) & (negative == 0u);
        case RoundMode::CAST_ROUND: return rest >= middle;
        case RoundMode::CAST_TRUNC: return rest != rest;
        case RoundMode::CAST_ODD: return (rest != 0u) & ((kept & 1u) == 0u);
        default: return (rest > middle) | ((rest == middle) & ((kept & 1u) != 0u));
    }
}

/* float to half in any mode, by integer arithmetic. */
PYPTO_INLINE u16x8 to_half(f32x8 v, RoundMode mode)
{
    if (mode == RoundMode::CAST_RINT || mode == RoundMode::CAST_NONE) return to_half(v);
    const u32x8 sign = sign_bit(v);
    const u32x8 bits = as<u32x8>(v) & 0x7fffffffu;
    const u32x8 exponent = bits >> 23;
    const auto normal = exponent >= 113u;
    const u32x8 implicit = as<u32x8>(exponent != 0u) & 0x800000u;
    const u32x8 fraction = (bits & 0x7fffffu) | implicit;
    const u32x8 deep = as<u32x8>(exponent < 95u); /* subnormal and shifted out entirely */
    const u32x8 distance = select_bits(deep, splat_u32(31u), 126u - exponent);
    const u32x8 shift = select_bits(normal, splat_u32(13u), distance);
    const u32x8 value = select_bits(normal, bits - (112u << 23), fraction);
    const u32x8 kept = value >> shift;
    const u32x8 rest = value - (kept << shift);
    const u32x8 middle = splat_u32(1u) << (shift - 1u);
    const u32x8 rounded = kept - as<u32x8>(rounds_up(kept, rest, middle, sign, mode));
    /* too large: infinity if the mode rounds away from zero here, else the largest number */
    const auto away = rounds_up(splat_u32(0x7bffu), splat_u32(3u), splat_u32(2u), sign, mode);
    const u32x8 most = mode == RoundMode::CAST_ODD ? splat_u32(0x7bffu)
                                                   : splat_u32(0x7bffu) - as<u32x8>(away);
    u32x8 result = select_bits((rounded > 0x7bffu) | (bits >= 0x47800000u), most, rounded);
    result = select_bits(bits == 0x7f800000u, splat_u32(0x7c00u), result);
    result = select_bits(bits > 0x7f800000u, splat_u32(0x7e00u), result);
    return narrow_u16(result | (sign >> 16));
}

PYPTO_INLINE u16x8 to_bfloat16(f32x8 v, RoundMode mode)
{
    if (mode == RoundMode::CAST_RINT) return to_bfloat16(v);
    const u32x8 bits = as<u32x8>(v);
    const u32x8 kept = bits >> 16, rest = bits & 0xffffu;
    const u32x8 up = as<u32x8>(rounds_up(kept, rest, splat_u32(0x8000u), sign_bit(v), mode));
    const u32x8 rounded = kept - up; /* runs over into the exponent and to infinity as it should */
    const auto finite = (bits & 0x7fffffffu) < 0x7f800000u;
    const u32x8 special = select_bits((bits & 0x7fffffffu) > 0x7f800000u, splat_u32(0x7fc0u), kept);
    return narrow_u16(select_bits(finite, rounded, special));
}

/* An integer to float in any mode. */
inline float to_float(int64_t value, RoundMode mode)
{
    const uint64_t size = value < 0 ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
    if (size >> 24 == 0) return static_cast<float>(value);
    const uint64_t shift = 40 - static_cast<uint64_t>(__builtin_clzll(size));
    const uint64_t kept = size >> shift, rest = size - (kept << shift);
    const uint64_t negative = value < 0 ? 1 : 0, middle = (uint64_t{1} << shift) >> 1;
    const uint64_t up = shift != 0 && rounds_up(kept, rest, middle, negative, mode) ? 1 : 0;
    const float result = static_cast<float>(kept + up) * static_cast<float>(uint64_t{1} << shift);
    return value < 0 ? -result : result;
}

/* NaN becomes 0 here, or what saturates. */
PYPTO_INLINE f32x8 zero_if_nan(f32x8 v)
{
    if constexpr (assume::cast_nan_largest) {
        return select(v == v, v, splat(__builtin_inff()));
    }
    return as<f32x8>(as<u32x8>(v) & as<u32x8>(v == v));
}

/* Rounds and saturates to [low, high], both exact in float. */
PYPTO_INLINE i32x8 to_small_integer(f32x8 v, RoundMode mode, float low, float high)
{
    const f32x8 whole = round_to_integral(zero_if_nan(v), mode);
    return to_i32(greater_of(splat(low), less_of(splat(high), whole)));
}
PYPTO_INLINE i32x8 to_int32(f32x8 v, RoundMode mode)
{
    const f32x8 whole = round_to_integral(zero_if_nan(v), mode);
    const i32x8 inside = to_i32(greater_of(splat(-0x1p31f), less_of(splat(2147483520.0f), whole)));
    return select_bits(whole >= splat(0x1p31f), splat_i32(0x7fffffff), inside);
}
PYPTO_INLINE i64x4 to_int64(f32x4 v, RoundMode mode)
{
    const f32x8 whole = round_to_integral(zero_if_nan(join(v, v)), mode);
    i64x4 result{};
    for (int i = 0; i < 4; ++i) {
        const float lane = whole[i];
        result[i] = lane >= 0x1p63f ? INT64_MAX : lane < -0x1p63f ? INT64_MIN : static_cast<int64_t>(lane);
    }
    return result;
}
PYPTO_INLINE i32x8 clamp_integer(i32x8 v, int32_t low, int32_t high)
{
    v = select_bits(v < splat_i32(low), splat_i32(low), v);
    return select_bits(v > splat_i32(high), splat_i32(high), v);
}

}  // namespace simd

/* Which modes a pair of types has, one bit each; 0: the pair has no instruction. */
template <typename D, typename S>
constexpr uint32_t cast_modes()
{
    constexpr uint32_t none = 1u << 0, odd = 1u << 6, rounding = 0x3eu; /* RINT .. TRUNC */
    if (is_same<S, half>) {
        if (is_same<D, float>) return none;
        if (one_of<D, int32_t, int16_t>) return rounding;
        if (one_of<D, int8_t, uint8_t, int4b_t>) return rounding | none;
    } else if (is_same<S, float>) {
        if (is_same<D, half>) return rounding | odd | none;
        if (one_of<D, bfloat16_t, int32_t, int16_t, int64_t, float>) return rounding;
    } else if (is_same<S, bfloat16_t>) {
        if (is_same<D, float>) return none;
        if (is_same<D, int32_t>) return rounding;
    } else if (is_same<S, int32_t>) {
        if (is_same<D, float>) return rounding | none;
        if (one_of<D, int16_t, int64_t>) return none;
        if (is_same<D, half>) return 0x7fu; /* the mode is ignored */
    } else if (is_same<S, int16_t>) {
        if (is_same<D, half>) return rounding | none;
        if (is_same<D, float>) return none;
    } else if (is_same<S, int64_t>) {
        if (is_same<D, int32_t>) return none;
        if (is_same<D, float>) return rounding;
    } else if (one_of<S, int8_t, uint8_t, int4b_t>) {
        if (is_same<D, half>) return none;
    }
    return 0;
}

namespace lane {

/* From lanes of S as loaded to lanes of D as Lanes<D>::pack takes them. */
template <typename D, typename S, AscendC::RoundMode mode>
struct CastLanes {
    template <typename V>
    PYPTO_INLINE auto operator()(V v) const
    {
        using namespace simd;
        if constexpr (is_same<V, f32x8>) {
            v = normal(v);
            if constexpr (is_same<D, half>) return to_half(v, mode);
            else if constexpr (is_same<D, bfloat16_t>) return to_bfloat16(v, mode);
            else if constexpr (is_same<D, int32_t>) return to_int32(v, mode);
            else if constexpr (is_same<D, int16_t>) return to_small_integer(v, mode, -32768.0f, 32767.0f);
            else if constexpr (is_same<D, int8_t>) return to_small_integer(v, mode, -128.0f, 127.0f);
            else if constexpr (is_same<D, uint8_t>) return to_small_integer(v, mode, 0.0f, 255.0f);
            else if constexpr (is_same<S, float>) return round_to_integral(v, mode);
            else return v;
        } else if constexpr (is_same<V, f32x4>) {
            return to_int64(low_half(normal(join(v, v))), mode);
        } else if constexpr (is_same<V, i32x4>) {
            return __builtin_convertvector(v, i64x4);
        } else if constexpr (is_same<V, i64x4>) {
            return from_int64(v);
        } else {
            return from_integer(v);
        }
    }

private:
    PYPTO_INLINE auto from_integer(simd::i32x8 v) const
    {
        using namespace simd;
        if constexpr (is_same<D, int16_t>) {
            return clamp_integer(v, -32768, 32767);
        } else if constexpr (is_same<D, half> && is_same<S, int32_t>) {
            return simd::to_half(simd::to_float(v) * splat(state().deq_scale));
        } else if constexpr (is_same<D, half>) {
            return simd::to_half(simd::to_float(v), mode);
        } else if constexpr (is_same<S, int32_t>) {
            if (mode == AscendC::RoundMode::CAST_NONE || mode == AscendC::RoundMode::CAST_RINT) {
                return simd::to_float(v);
            }
            f32x8 result{};
            for (int i = 0; i < 8; ++i) result[i] = simd::to_float(int64_t{v[i]}, mode);
            return result;
        } else {
            return simd::to_float(v);
        }
    }
    PYPTO_INLINE auto from_int64(simd::i64x4 v) const
    {
        using namespace simd;
        if constexpr (is_same<D, int32_t>) {
            i32x4 result{};
            for (int i = 0; i < 4; ++i) {
                const int64_t lane = v[i];
                const int64_t most = lane > INT32_MAX ? INT32_MAX : lane;
                result[i] = static_cast<int32_t>(most < INT32_MIN ? INT32_MIN : most);
            }
            return result;
        } else {
            f32x4 result{};
            for (int i = 0; i < 4; ++i) result[i] = simd::to_float(int64_t{v[i]}, mode);
            return result;
        }
    }
};

/* Calls run(CastLanes<D, S, mode>) with the mode as a constant. */
template <typename D, typename S, typename Run>
PYPTO_INLINE void with_mode(AscendC::RoundMode mode, const Run& run)
{
    using AscendC::RoundMode;
    constexpr uint32_t modes = cast_modes<D, S>();
    static_assert(modes != 0, "Cast: the device does not convert between these types");
    if constexpr ((modes & 0x3eu) == 0 || (is_same<S, int32_t> && is_same<D, half>)) {
        if (((modes >> static_cast<uint32_t>(mode)) & 1u) != 0) return run(CastLanes<D, S, RoundMode::CAST_NONE>{});
    } else {
        switch (mode) {
            case RoundMode::CAST_RINT: return run(CastLanes<D, S, RoundMode::CAST_RINT>{});
            case RoundMode::CAST_FLOOR: return run(CastLanes<D, S, RoundMode::CAST_FLOOR>{});
            case RoundMode::CAST_CEIL: return run(CastLanes<D, S, RoundMode::CAST_CEIL>{});
            case RoundMode::CAST_ROUND: return run(CastLanes<D, S, RoundMode::CAST_ROUND>{});
            case RoundMode::CAST_TRUNC: return run(CastLanes<D, S, RoundMode::CAST_TRUNC>{});
            case RoundMode::CAST_NONE: /* the same as RINT */
                if constexpr ((modes & 1u) != 0) return run(CastLanes<D, S, RoundMode::CAST_RINT>{});
                break;
            case RoundMode::CAST_ODD:
                if constexpr ((modes & 0x40u) != 0) return run(CastLanes<D, S, RoundMode::CAST_ODD>{});
                break;
        }
    }
    fail("Cast: this pair of types has no such round mode");
}

/* int4b_t: two elements a byte, an even count */
PYPTO_INLINE void cast_int4(int4b_t* dst, const half* src, AscendC::RoundMode mode, uint32_t count)
{
    for (uint32_t i = 0; i < count; i += 2) {
        uint8_t nibbles[2] = {};
        for (uint32_t k = 0; k < 2 && i + k < count; ++k) {
            const simd::f32x8 v = simd::splat(static_cast<float>(src[i + k]));
            nibbles[k] = static_cast<uint8_t>(simd::to_small_integer(v, mode, -8.0f, 7.0f)[0] & 15);
        }
        dst[i / 2].pair = static_cast<uint8_t>(nibbles[0] | (nibbles[1] << 4));
    }
}
PYPTO_INLINE void cast_int4(half* dst, const int4b_t* src, AscendC::RoundMode, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i) {
        const int32_t nibble = (src[i / 2].pair >> (i % 2 * 4)) & 15;
        dst[i] = half(nibble >= 8 ? nibble - 16 : nibble);
    }
}

}  // namespace lane

/* Two elements a step, as int4b_t has them in a byte. */
PYPTO_INLINE void flow_pairs(AscendC::TPosition dst, const void* to, uint64_t to_bytes, AscendC::TPosition src,
                             const void* from, uint64_t from_bytes, uint32_t count)
{
    for (uint64_t pair = 0; kChecked && pair < (count + 1) / 2; ++pair) {
        Flow flow;
        flow.from(src, static_cast<const uint8_t*>(from) + pair * from_bytes, from_bytes);
        flow.to(dst, static_cast<const uint8_t*>(to) + pair * to_bytes, to_bytes);
    }
    (void)dst, (void)to, (void)to_bytes, (void)src, (void)from, (void)from_bytes, (void)count;
}

}  // namespace pypto_twin

namespace AscendC {

template <typename T, typename U>
PYPTO_INLINE void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src,
                       const RoundMode& roundMode, const pypto_twin::UnsignedCount count)
{
    using namespace pypto_twin;
    PYPTO_RULES(Cast, count(count).tensor(dst).tensor(src).value(static_cast<int64_t>(roundMode)));
    if constexpr (is_same<T, int4b_t> || is_same<U, int4b_t>) {
        static_assert(cast_modes<T, U>() != 0, "Cast: the device does not convert between these types");
        if (!on_instruction(PIPE_V)) {
            leave_count_form();
            return;
        }
        on_read(src.Position(), src.GetPhyAddr(), bytes_of<U>(count), PIPE_V);
        on_write(dst.Position(), dst.GetPhyAddr(), bytes_of<T>(count), PIPE_V);
        flow_pairs(dst.Position(), dst.GetPhyAddr(), bytes_of<T>(2), src.Position(), src.GetPhyAddr(),
                   bytes_of<U>(2), count);
        lane::cast_int4(dst.GetPhyAddr(), src.GetPhyAddr(), roundMode, count);
        leave_count_form();
    } else {
        lane::with_mode<T, U>(roundMode, [&](const auto& f) { count_form(f, count, dst, src); });
    }
}

template <typename T, typename U, bool isSetMask = true>
PYPTO_INLINE void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src,
                       const RoundMode& roundMode, const uint64_t mask[], const pypto_twin::Field8 repeatTime,
                       const UnaryRepeatParams& p)
{
    using namespace pypto_twin;
    static_assert(!is_same<T, int4b_t> && !is_same<U, int4b_t>, "Cast: int4b_t only in the count form");
    PYPTO_RULES(Cast, repeats(repeatTime).lanes<isSetMask>(mask, widest(sizeof(T), sizeof(U)))
                          .tensor(dst, p.dstBlkStride, p.dstRepStride)
                          .tensor(src, p.srcBlkStride, p.srcRepStride).fields(p)
                          .value(static_cast<int64_t>(roundMode)));
    lane::with_mode<T, U>(roundMode, [&](const auto& f) {
        bits_form<isSetMask>(f, mask, repeatTime, operand(dst, p.dstBlkStride, p.dstRepStride),
                             operand(src, p.srcBlkStride, p.srcRepStride));
    });
}

template <typename T, typename U, bool isSetMask = true>
PYPTO_INLINE void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src,
                       const RoundMode& roundMode, uint64_t mask, const pypto_twin::Field8 repeatTime,
                       const UnaryRepeatParams& p)
{
    using namespace pypto_twin;
    static_assert(!is_same<T, int4b_t> && !is_same<U, int4b_t>, "Cast: int4b_t only in the count form");
    PYPTO_RULES(Cast, repeats(repeatTime).lanes<isSetMask>(mask)
                          .tensor(dst, p.dstBlkStride, p.dstRepStride)
                          .tensor(src, p.srcBlkStride, p.srcRepStride).fields(p)
                          .value(static_cast<int64_t>(roundMode)));
    lane::with_mode<T, U>(roundMode, [&](const auto& f) {
        length_form<isSetMask>(f, mask, repeatTime, operand(dst, p.dstBlkStride, p.dstRepStride),
                               operand(src, p.srcBlkStride, p.srcRepStride));
    });
}

}  // namespace AscendC

#endif
