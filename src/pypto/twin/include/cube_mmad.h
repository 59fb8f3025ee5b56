/* CPU twin: Mmad, the matrix product of the cube unit.
 *
 * L0C holds NZ with strips of 16 columns of 4-byte values, up(m, 16) rows each.
 *
 * CUBE-MMAD-1  sums are float (int32_t wraps), products are added in the order of k, each rounded once
 * CUBE-MMAD-2  HF32: inputs are rounded to 10 bits of fraction; NEAREST_ZERO: ties go towards zero
 * CUBE-MMAD-3  rows beyond m and columns beyond n of L0C keep their values
 */
#ifndef PYPTO_TWIN_CUBE_MMAD_H
#define PYPTO_TWIN_CUBE_MMAD_H

#include "cube_load.h"

namespace pypto_twin {

enum class CubeType : uint8_t { none, f16, bf16, f32, i8, i4 };

/* Type of the factors of C, A, B; none where the cube unit has no such product. */
template <typename C, typename A, typename B>
constexpr CubeType cube_type()
{
    if (!is_same<A, B>) {
        return CubeType::none;
    }
    if (is_same<C, float>) {
        return is_same<A, half>         ? CubeType::f16
               : is_same<A, bfloat16_t> ? CubeType::bf16
               : is_same<A, float>      ? CubeType::f32
                                        : CubeType::none;
    }
    return !is_same<C, int32_t>    ? CubeType::none
           : is_same<A, int8_t>    ? CubeType::i8
           : is_same<A, int4b_t>   ? CubeType::i4
                                   : CubeType::none;
}

/* `bias`: where the sums start, with cmatrixInitVal off; no address: they go on. */
PYPTO_SHARED void multiply(CubeType type, Place c, Place a, Place b, Place bias,
                           const AscendC::MmadParams& params);

}  // namespace pypto_twin

namespace AscendC {

template <typename T, typename U, typename S>
PYPTO_INLINE void Mmad(const LocalTensor<T>& c, const LocalTensor<U>& a, const LocalTensor<S>& b,
                       const MmadParams& params)
{
    using namespace pypto_twin;
    constexpr CubeType type = cube_type<T, U, S>();
    static_assert(type != CubeType::none,
                  "Mmad: float = half * half, bfloat16_t * bfloat16_t, float * float; "
                  "int32_t = int8_t * int8_t, int4b_t * int4b_t");
    PYPTO_RULES(Mmad, bytes(c, 1024).bytes(a, 512).bytes(b, 512).fields(params));
    const Place table{params.cmatrixSource ? memory_base(TPosition::C2) : nullptr, Provenance{TPosition::C2}};
    multiply(type, place_of(c), place_of(a), place_of(b), table, params);
}

/* Starts at the bias, one value a column, where cmatrixInitVal is off. */
template <typename T, typename U, typename S, typename V>
PYPTO_INLINE void Mmad(const LocalTensor<T>& c, const LocalTensor<U>& a, const LocalTensor<S>& b,
                       const LocalTensor<V>& bias, const MmadParams& params)
{
    using namespace pypto_twin;
    constexpr CubeType type = cube_type<T, U, S>();
    static_assert(type != CubeType::none && is_same<T, V>,
                  "Mmad: float = half * half, bfloat16_t * bfloat16_t, float * float; "
                  "int32_t = int8_t * int8_t, int4b_t * int4b_t; the bias is of the result's type");
    PYPTO_RULES(Mmad_bias, bytes(c, 1024).bytes(a, 512).bytes(b, 512).bytes(bias, 64).fields(params));
    multiply(type, place_of(c), place_of(a), place_of(b), place_of(bias), params);
}

PYPTO_INLINE void SetHF32Mode(HF32Mode mode) { pypto_twin::state().hf32 = mode == HF32Mode::ENABLE; }
PYPTO_INLINE void SetHF32TransMode(HF32TransMode mode)
{
    pypto_twin::state().hf32_to_zero = mode == HF32TransMode::NEAREST_ZERO;
}

}  // namespace AscendC

#endif
