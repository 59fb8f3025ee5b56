/* CPU twin: what kernels use most, compiled once for all of them (types.h: PYPTO_TWIN_LINKED).
 *
 * A list only: with it or without it a kernel means the same. An instruction that is not listed is
 * compiled with each kernel that uses it.
 */
#ifndef PYPTO_TWIN_INSTANCES_H
#define PYPTO_TWIN_INSTANCES_H

#include "adv_math.h"
#include "cast.h"
#include "fill.h"
#include "reduce.h"
#include "select.h"
#include "vector.h"

#if defined(PYPTO_TWIN_SUPPORT) || defined(PYPTO_TWIN_LINKED)

#if defined(PYPTO_TWIN_SUPPORT)
#define PYPTO_INSTANCE template
#else
#define PYPTO_INSTANCE extern template
#endif

namespace pypto_twin {

#define PYPTO_UNARY(F, T) PYPTO_INSTANCE struct Loops<lane::F, T, T>;
#define PYPTO_BINARY(F, T) PYPTO_INSTANCE struct Loops<lane::F, T, T, T>;
#define PYPTO_FIXED(F) PYPTO_INSTANCE struct FixedLoops<lane::F, float>;
#define PYPTO_SCALAR(F, T) PYPTO_INSTANCE struct Loops<lane::F<lane::Register<T>>, T, T>;
#define PYPTO_CAST(D, S, mode) \
    PYPTO_INSTANCE struct Loops<lane::CastLanes<D, S, AscendC::RoundMode::mode>, D, S>;

PYPTO_FIXED(AddLanes)
PYPTO_FIXED(SubLanes)
PYPTO_FIXED(MulLanes)
PYPTO_FIXED(DivLanes)
PYPTO_FIXED(MaxLanes)
PYPTO_FIXED(MinLanes)
PYPTO_BINARY(AddLanes, float)
PYPTO_BINARY(SubLanes, float)
PYPTO_BINARY(MulLanes, float)
PYPTO_BINARY(DivLanes, float)
PYPTO_BINARY(MaxLanes, float)
PYPTO_BINARY(MinLanes, float)
PYPTO_SCALAR(AddsLanes, float)
PYPTO_SCALAR(MulsLanes, float)
PYPTO_SCALAR(MaxsLanes, float)
PYPTO_SCALAR(MinsLanes, float)
PYPTO_UNARY(ReluLanes, float)
PYPTO_UNARY(AbsLanes, float)
PYPTO_UNARY(ExpLanes, float)
PYPTO_UNARY(LnLanes, float)
PYPTO_UNARY(SqrtLanes, float)
PYPTO_UNARY(RsqrtLanes, float)
PYPTO_UNARY(ReciprocalLanes, float)
PYPTO_UNARY(TanhLanes, float)
PYPTO_BINARY(AddLanes, int32_t)
PYPTO_BINARY(MulLanes, int32_t)
PYPTO_SCALAR(AddsLanes, int32_t)
PYPTO_SCALAR(MulsLanes, int32_t)
PYPTO_CAST(float, half, CAST_NONE)
PYPTO_CAST(half, float, CAST_RINT)
PYPTO_CAST(float, bfloat16_t, CAST_NONE)
PYPTO_CAST(bfloat16_t, float, CAST_RINT)
PYPTO_INSTANCE struct Loops<lane::ConstantLanes<simd::u32x8, uint32_t>, uint32_t>;

PYPTO_INSTANCE struct Loops<lane::ConstantLanes<simd::u16x16, uint16_t>, uint16_t>;
PYPTO_INSTANCE struct Loops<lane::AndLanes, uint16_t, uint16_t, uint16_t>;
PYPTO_INSTANCE struct Loops<lane::OrLanes, uint16_t, uint16_t, uint16_t>;
PYPTO_INSTANCE struct Loops<lane::NotLanes, uint16_t, uint16_t>;
PYPTO_CAST(float, float, CAST_RINT)
PYPTO_CAST(uint8_t, half, CAST_RINT)
PYPTO_CAST(half, uint8_t, CAST_NONE)

#define PYPTO_CHOICES(T)                                                                               \
    PYPTO_INSTANCE void compare_walk<T, TensorSide<T>>(uint8_t*, Provenance, const Operand<T>&,        \
                                                       TensorSide<T>, AscendC::CMPMODE, uint32_t,      \
                                                       uint32_t);                                      \
    PYPTO_INSTANCE void compare_walk<T, ScalarSide<T>>(uint8_t*, Provenance, const Operand<T>&,        \
                                                       ScalarSide<T>, AscendC::CMPMODE, uint32_t,      \
                                                       uint32_t);                                      \
    PYPTO_INSTANCE void compare_dense<T, TensorSide<T>>(uint8_t*, const T*, TensorSide<T>,             \
                                                        AscendC::CMPMODE, uint32_t);                   \
    PYPTO_INSTANCE void compare_dense<T, ScalarSide<T>>(uint8_t*, const T*, ScalarSide<T>,             \
                                                        AscendC::CMPMODE, uint32_t);                   \
    PYPTO_INSTANCE void select_dense<T, RawTensor<T>>(T*, const uint8_t*, const T*, RawTensor<T>,    \
                                                      uint32_t);                                       \
    PYPTO_INSTANCE void select_dense<T, RawScalar<T>>(T*, const uint8_t*, const T*, RawScalar<T>,    \
                                                      uint32_t);
PYPTO_CHOICES(float)
PYPTO_CHOICES(half)
#undef PYPTO_CHOICES

PYPTO_INSTANCE void broadcast<uint32_t>(const Operand<uint32_t>&, const AscendC::LocalTensor<uint32_t>&,
                                        uint32_t);

#define PYPTO_REDUCTION(Op)                                                                        \
    PYPTO_INSTANCE void reduce::whole<reduce::Op<float>, float>(                                   \
        const AscendC::LocalTensor<float>&, const Operand<float>&, int32_t, const Coverage&,       \
        AscendC::ReduceOrder);
PYPTO_REDUCTION(Sum)
PYPTO_REDUCTION(Max)
PYPTO_REDUCTION(Min)

#undef PYPTO_REDUCTION
#undef PYPTO_UNARY
#undef PYPTO_BINARY
#undef PYPTO_SCALAR
#undef PYPTO_FIXED
#undef PYPTO_CAST

}  // namespace pypto_twin

#undef PYPTO_INSTANCE

#endif
#endif
