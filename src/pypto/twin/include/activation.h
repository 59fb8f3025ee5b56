/* CPU twin: adv_api activations.
 *
 * NUM-SIG-1   Sigmoid: 1 / (1 + exp(-x)).
 * NUM-SILU-1  Silu, Swish: x / (1 + exp(-beta x)).
 * NUM-GELU-1  Gelu, GeGLU: the tanh form, 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
 * NUM-GELU-2  FasterGelu: x / (1 + exp(-1.702 x)).
 */
#ifndef PYPTO_TWIN_ACTIVATION_H
#define PYPTO_TWIN_ACTIVATION_H

#include "forms.h"
#include "lanes.h"

namespace pypto_twin {
namespace simd {

PYPTO_INLINE f32x8 gelu(f32x8 x)
{
    const f32x8 inner = splat(0.79788456080286536f) * (x + splat(0.044715f) * (x * x * x));
    return splat(0.5f) * x * (splat(1.0f) + tanh(inner));
}
PYPTO_INLINE f32x8 swish(f32x8 x, f32x8 beta) { return x / (splat(1.0f) + exp(-(beta * x))); }

}  // namespace simd

namespace lane {

struct SigmoidLanes {
    PYPTO_INLINE f32x8 operator()(f32x8 x) const { return sigmoid(x); }
};
struct GeluLanes {
    PYPTO_INLINE f32x8 operator()(f32x8 x) const { return gelu(x); }
};
struct SwishLanes {
    float beta;
    PYPTO_INLINE f32x8 operator()(f32x8 x) const { return swish(x, splat(beta)); }
};
/* Gated forms: the first operand times an activation of the second. */
struct GeGluLanes {
    PYPTO_INLINE f32x8 operator()(f32x8 a, f32x8 b) const { return a * gelu(b); }
};
struct SwiGluLanes {
    float beta;
    PYPTO_INLINE f32x8 operator()(f32x8 a, f32x8 b) const { return a * swish(b, splat(beta)); }
};
struct ReGluLanes {
    PYPTO_INLINE f32x8 operator()(f32x8 a, f32x8 b) const { return a * rectify(b); }
};

}  // namespace lane
}  // namespace pypto_twin

namespace AscendC {

template <typename T, bool isReuseSource = false>
PYPTO_INLINE void Sigmoid(const LocalTensor<T>& dst, const LocalTensor<T>& src, const pypto_twin::UnsignedCount calCount)
{
    PYPTO_TWIN_TYPES("Sigmoid", T, half, float);
    PYPTO_RULES(Sigmoid, count(calCount).tensor(dst).tensor(src));
    pypto_twin::count_form(pypto_twin::lane::SigmoidLanes{}, calCount, dst, src);
}
template <typename T, bool isReuseSource = false>
PYPTO_INLINE void Sigmoid(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                          const LocalTensor<uint8_t>& tmp, const pypto_twin::UnsignedCount calCount)
{
    PYPTO_TWIN_TYPES("Sigmoid", T, half, float);
    PYPTO_RULES(Sigmoid, count(calCount).tensor(dst).tensor(src).tmp(tmp));
    pypto_twin::count_form(pypto_twin::lane::SigmoidLanes{}, calCount, dst, src);
}
template <typename T, bool isReuseSource = false>
PYPTO_INLINE void Sigmoid(const LocalTensor<T>& dst, const LocalTensor<T>& src)
{
    Sigmoid<T, isReuseSource>(dst, src, src.GetSize());
}

template <typename T, bool highPrecision = false, bool highPerformance = false>
PYPTO_INLINE void Gelu(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                       const LocalTensor<uint8_t>& tmp, const pypto_twin::UnsignedCount dataSize)
{
    PYPTO_TWIN_TYPES("Gelu", T, half, float);
    PYPTO_RULES(Gelu, count(dataSize).tensor(dst).tensor(src).tmp(tmp));
    pypto_twin::count_form(pypto_twin::lane::GeluLanes{}, dataSize, dst, src);
}
template <typename T, bool highPrecision = false, bool highPerformance = false>
PYPTO_INLINE void FasterGelu(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                             const LocalTensor<uint8_t>& tmp, const pypto_twin::UnsignedCount dataSize)
{
    PYPTO_TWIN_TYPES("FasterGelu", T, half, float);
    PYPTO_RULES(FasterGelu, count(dataSize).tensor(dst).tensor(src).tmp(tmp));
    pypto_twin::count_form(pypto_twin::lane::SwishLanes{1.702f}, dataSize, dst, src);
}

template <typename T, bool isReuseSource = false>
PYPTO_INLINE void Swish(const LocalTensor<T>& dst, const LocalTensor<T>& src, pypto_twin::UnsignedCount dataSize,
                        const T scalarValue)
{
    using namespace pypto_twin;
    PYPTO_TWIN_TYPES("Swish", T, half, float);
    PYPTO_RULES(Swish, count(dataSize).tensor(dst).tensor(src));
    count_form(lane::SwishLanes{lane::scalar_of(scalarValue)}, dataSize, dst, src);
}
template <typename T, bool isReuseSource = false>
PYPTO_INLINE void Silu(const LocalTensor<T>& dst, const LocalTensor<T>& src, pypto_twin::UnsignedCount dataSize)
{
    PYPTO_TWIN_TYPES("Silu", T, half, float);
    PYPTO_RULES(Silu, count(dataSize).tensor(dst).tensor(src));
    pypto_twin::count_form(pypto_twin::lane::SwishLanes{1.0f}, dataSize, dst, src);
}

template <typename T, bool isReuseSource = false>
PYPTO_INLINE void GeGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                        const LocalTensor<uint8_t>& tmp, const pypto_twin::UnsignedCount calCount)
{
    PYPTO_TWIN_TYPES("GeGLU", T, half, float);
    PYPTO_RULES(GeGLU, count(calCount).tensor(dst).tensor(src0).tensor(src1).tmp(tmp));
    pypto_twin::count_form(pypto_twin::lane::GeGluLanes{}, calCount, dst, src0, src1);
}
template <typename T, bool isReuseSource = false>
PYPTO_INLINE void SwiGLU(LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                         const float& scalarValue, const LocalTensor<uint8_t>& tmp, const pypto_twin::UnsignedCount calCount)
{
    PYPTO_TWIN_TYPES("SwiGLU", T, half, float);
    PYPTO_RULES(SwiGLU, count(calCount).tensor(dst).tensor(src0).tensor(src1).tmp(tmp));
    pypto_twin::count_form(pypto_twin::lane::SwiGluLanes{scalarValue}, calCount,
                           dst, src0, src1);
}
template <typename T, bool isReuseSource = false>
PYPTO_INLINE void ReGlu(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                        const LocalTensor<uint8_t>& tmp, const pypto_twin::UnsignedCount calCount)
{
    PYPTO_TWIN_TYPES("ReGlu", T, half, float, bfloat16_t);
    PYPTO_RULES(ReGlu, count(calCount).tensor(dst).tensor(src0).tensor(src1).tmp(tmp));
    pypto_twin::count_form(pypto_twin::lane::ReGluLanes{}, calCount, dst, src0, src1);
}

}  // namespace AscendC

#endif
