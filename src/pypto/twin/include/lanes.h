/* CPU twin: what elementwise instructions compute in each lane.
 *
 * Rules where the device is not documented (as torch does):
 * NUM-INT-1  integer Add, Sub, Mul, Adds, Muls wrap around.
 * NUM-MAX-1  Max, Min, Maxs, Mins: NaN wins; of -0 and +0 the second source (Maxs, Mins: the tensor).
 * NUM-RELU-1 Relu family: NaN stays NaN, -0 stays -0.
 * NUM-DIV-1  Div, Reciprocal, Sqrt are rounded correctly; Rsqrt is 1 / Sqrt, rounded twice.
 * NUM-FMA-1  multiply-add instructions round the product and the sum.
 * NUM-HALF-1 half operands compute in float; the result is rounded to half once, overflow gives inf.
 * NUM-ABS-1  Abs clears the sign bit, also of NaN.
 * NUM-SHIFT-1 a shift by all bits of the type gives 0 (arithmetic right shift: the sign).
 */
#ifndef PYPTO_TWIN_LANES_H
#define PYPTO_TWIN_LANES_H

#include "elementary.h"

namespace pypto_twin {
namespace lane {

using namespace simd;

/* Vectors whose arithmetic wraps: signed lanes are computed as unsigned. */
PYPTO_INLINE f32x8 wrapping(f32x8 v) { return v; }
PYPTO_INLINE u32x8 wrapping(i32x8 v) { return as<u32x8>(v); }
PYPTO_INLINE u16x16 wrapping(i16x16 v) { return as<u16x16>(v); }
PYPTO_INLINE u32x8 wrapping(u32x8 v) { return v; }
PYPTO_INLINE u16x16 wrapping(u16x16 v) { return v; }

template <typename V>
PYPTO_INLINE V larger(V a, V b)
{
    if constexpr (is_same<V, f32x8>) {
        return assume::max_nan_ignore ? maximum_number(a, b) : maximum(a, b);
    } else {
        return select_bits(a > b, a, b);
    }
}
template <typename V>
PYPTO_INLINE V smaller(V a, V b)
{
    if constexpr (is_same<V, f32x8>) {
        return assume::max_nan_ignore ? minimum_number(a, b) : minimum(a, b);
    } else {
        return select_bits(a < b, a, b);
    }
}
/* max(v, 0) that keeps NaN and -0 */
template <typename V>
PYPTO_INLINE V rectify(V v)
{
    if constexpr (is_same<V, f32x8>) {
        return assume::relu_nan_zero ? select(v == v, greater_of(splat(0.0f), v), V{})
                                     : greater_of(splat(0.0f), v);
    } else {
        return v & (v > V{});
    }
}

/* The largest integer that has the sign of v, in each lane. */
template <typename V>
PYPTO_INLINE V extreme_like(V v)
{
    const auto most = wrapping(V{} - 1) >> 1; /* all ones but the sign */
    return as<V>(wrapping(v >> (sizeof(v[0]) * 8 - 1)) ^ most);
}
template <typename V>
PYPTO_INLINE V sum(V a, V b)
{
    const V wrapped = as<V>(wrapping(a) + wrapping(b));
    if constexpr (assume::int_add_saturate && !is_same<V, f32x8>) {
        return select_bits(((a ^ wrapped) & (b ^ wrapped)) < V{}, extreme_like(a), wrapped);
    }
    return wrapped;
}
template <typename V>
PYPTO_INLINE V difference(V a, V b)
{
    const V wrapped = as<V>(wrapping(a) - wrapping(b));
    if constexpr (assume::int_add_saturate && !is_same<V, f32x8>) {
        return select_bits(((a ^ b) & (a ^ wrapped)) < V{}, extreme_like(a), wrapped);
    }
    return wrapped;
}
template <typename V>
PYPTO_INLINE V product(V a, V b)
{
    V result = as<V>(wrapping(a) * wrapping(b));
    if constexpr (assume::int_mul_saturate && !is_same<V, f32x8>) {
        const V limit = extreme_like(a ^ b);
        for (uint32_t i = 0; i < sizeof(V) / sizeof(a[0]); ++i) {
            const int64_t exact = int64_t{a[i]} * b[i];
            result[i] = exact == result[i] ? result[i] : limit[i];
        }
    }
    return result;
}
/* a * b + c */
PYPTO_INLINE f32x8 product_sum(f32x8 a, f32x8 b, f32x8 c)
{
    if constexpr (assume::multiply_add_once) {
        f32x8 result{};
        for (int i = 0; i < 8; ++i) result[i] = __builtin_fmaf(a[i], b[i], c[i]);
        return result;
    }
    return a * b + c;
}
PYPTO_INLINE f32x8 elementary(f32x8 v) { return assume::elementary_coarse ? shortened(v, 4) : v; }
PYPTO_INLINE f32x8 approximate(f32x8 v) { return assume::reciprocal_coarse ? shortened(v, 10) : v; }

/* Function objects of one to three vectors. `ops` is the expression in a, b, c. */
#define PYPTO_LANE_1(name, expression)                                                           \
    struct name {                                                                                \
        template <typename V>                                                                    \
        PYPTO_INLINE V operator()(V a) const                                                     \
        {                                                                                        \
            a = normal(a);                                                                       \
            return normal(expression);                                                           \
        }                                                                                        \
    };
#define PYPTO_LANE_2(name, expression)                                                           \
    struct name {                                                                                \
        template <typename V>                                                                    \
        PYPTO_INLINE V operator()(V a, V b) const                                                \
        {                                                                                        \
            a = normal(a);                                                                       \
            b = normal(b);                                                                       \
            return normal(expression);                                                           \
        }                                                                                        \
    };
#define PYPTO_LANE_3(name, expression)                                                           \
    struct name {                                                                                \
        template <typename V>                                                                    \
        PYPTO_INLINE V operator()(V a, V b, V c) const                                           \
        {                                                                                        \
            a = normal(a);                                                                       \
            b = normal(b);                                                                       \
            c = normal(c);                                                                       \
            return normal(expression);                                                           \
        }                                                                                        \
    };

PYPTO_LANE_2(AddLanes, sum(a, b))
PYPTO_LANE_2(SubLanes, difference(a, b))
PYPTO_LANE_2(MulLanes, product(a, b))
PYPTO_LANE_2(DivLanes, elementary(a / b))
PYPTO_LANE_2(MaxLanes, larger(a, b))
PYPTO_LANE_2(MinLanes, smaller(a, b))
PYPTO_LANE_2(AndLanes, a & b)
PYPTO_LANE_2(OrLanes, a | b)
PYPTO_LANE_2(AddReluLanes, rectify(sum(a, b)))
PYPTO_LANE_2(SubReluLanes, rectify(difference(a, b)))

PYPTO_LANE_1(NotLanes, ~a)
PYPTO_LANE_1(ReluLanes, rectify(a))
PYPTO_LANE_1(AbsLanes, magnitude(a))
PYPTO_LANE_1(ExpLanes, elementary(simd::exp(a)))
PYPTO_LANE_1(LnLanes, elementary(ln(a)))
PYPTO_LANE_1(SqrtLanes, elementary(square_root(a)))
PYPTO_LANE_1(RsqrtLanes, approximate(splat(1.0f) / square_root(a)))
PYPTO_LANE_1(ReciprocalLanes, approximate(splat(1.0f) / a))

/* dst (the first operand) is also a source */
PYPTO_LANE_3(MulAddDstLanes, product_sum(b, c, a))
PYPTO_LANE_3(FusedMulAddLanes, product_sum(b, a, c))
PYPTO_LANE_3(MulAddReluLanes, rectify(product_sum(b, a, c)))

/* The vector that lanes of T are computed in, and the type of one of its lanes. */
template <typename T>
struct RegisterOf;
template <>
struct RegisterOf<float> {
    using type = f32x8;
};
template <>
struct RegisterOf<half> {
    using type = f32x8;
};
template <>
struct RegisterOf<int32_t> {
    using type = i32x8;
};
template <>
struct RegisterOf<uint32_t> {
    using type = u32x8;
};
template <>
struct RegisterOf<int16_t> {
    using type = i16x16;
};
template <>
struct RegisterOf<uint16_t> {
    using type = u16x16;
};
template <typename T>
using Register = typename RegisterOf<T>::type;

PYPTO_INLINE float element_of(f32x8) { return 0; }
PYPTO_INLINE int32_t element_of(i32x8) { return 0; }
PYPTO_INLINE uint32_t element_of(u32x8) { return 0; }
PYPTO_INLINE int16_t element_of(i16x16) { return 0; }
PYPTO_INLINE uint16_t element_of(u16x16) { return 0; }
template <typename V>
using Element = decltype(element_of(V{}));

/* One value in every lane. */
template <typename V>
PYPTO_INLINE V fill(Element<V> value)
{
    if constexpr (is_same<V, f32x8>) {
        return splat(value);
    } else {
        return V{} + value;
    }
}

/* A scalar operand as lanes compute with it. */
template <typename T>
PYPTO_INLINE Element<Register<T>> scalar_of(T value)
{
    return static_cast<Element<Register<T>>>(value);
}

/* Function objects with a scalar operand s. */
#define PYPTO_LANE_SCALAR(name, expression)                                                      \
    template <typename V>                                                                        \
    struct name {                                                                                \
        Element<V> scalar;                                                                       \
        PYPTO_INLINE V operator()(V a) const                                                     \
        {                                                                                        \
            const V s = normal(fill<V>(scalar));                                                         \
            a = normal(a);                                                                       \
            return normal(expression);                                                           \
        }                                                                                        \
    };

PYPTO_LANE_SCALAR(AddsLanes, sum(a, s))
PYPTO_LANE_SCALAR(MulsLanes, product(a, s))
PYPTO_LANE_SCALAR(MaxsLanes, larger(s, a))
PYPTO_LANE_SCALAR(MinsLanes, smaller(s, a))
PYPTO_LANE_SCALAR(LeakyReluLanes, select(a < V{}, a * s, a))

struct AxpyLanes {
    float scalar;
    PYPTO_INLINE f32x8 operator()(f32x8 d, f32x8 a) const { return normal(product_sum(a, splat(scalar), d)); }
};

/* Shifts go in two halves: amounts reach the number of bits, which one C shift may not. */
struct ShiftLeftLanes {
    uint32_t amount;
    template <typename V>
    PYPTO_INLINE V operator()(V a) const
    {
        using Unsigned = Element<decltype(wrapping(V{}))>;
        const Unsigned first = static_cast<Unsigned>(amount / 2);
        const Unsigned second = static_cast<Unsigned>(amount - amount / 2);
        return as<V>(wrapping(a) << first << second);
    }
};

struct ShiftRightLanes {
    uint32_t amount;
    bool rounds;
    template <typename V>
    PYPTO_INLINE V operator()(V a) const
    {
        const uint32_t last = amount != 0 ? 1 : 0;
        const uint32_t first = (amount - last) / 2, second = amount - last - first;
        using E = Element<V>;
        const V before = a >> static_cast<E>(first) >> static_cast<E>(second);
        const V shifted = before >> static_cast<E>(last);
        if (!rounds || amount == 0) return shifted;
        return as<V>(wrapping(shifted) + wrapping(before & static_cast<E>(1)));
    }
};

#undef PYPTO_LANE_1
#undef PYPTO_LANE_2
#undef PYPTO_LANE_3
#undef PYPTO_LANE_SCALAR

}  // namespace lane
}  // namespace pypto_twin

#endif
