/* CPU twin: Fixpipe, from L0C to global memory or L1, with Relu and quantisation on the way.
 *
 * CUBE-FIX-1  Relu comes first and keeps NaN and -0
 * CUBE-FIX-2  to half and bfloat16_t: half to even, overflow gives inf
 * CUBE-FIX-3  to 8 bits: value times scale in float, rounded half to even, plus the offset, saturated;
 *             NaN gives the offset
 * CUBE-FIX-4  of a scale the upper 19 bits count
 */
#ifndef PYPTO_TWIN_CUBE_FIXPIPE_H
#define PYPTO_TWIN_CUBE_FIXPIPE_H

#include "cube_load.h"

namespace pypto_twin {

enum class FixType : uint8_t { none, f32, f16, bf16, b8, i32 };

template <typename D, typename S>
constexpr FixType fix_type()
{
    if (is_same<D, int8_t> || is_same<D, uint8_t>) {
        return FixType::b8;
    }
    if (is_same<D, half>) {
        return FixType::f16;
    }
    if (is_same<S, float>) {
        return is_same<D, float> ? FixType::f32 : is_same<D, bfloat16_t> ? FixType::bf16 : FixType::none;
    }
    return is_same<D, int32_t> ? FixType::i32 : FixType::none;
}

/* A Fixpipe: `integers` says what L0C holds; `scales` has an address in the forms with V. */
struct Drain {
    Place dst, src, scales;
    FixType type;
    bool integers;
    bool rows; /* row-major, else NZ */
};

/* Of how many columns nSize is a multiple; 0: any number. */
template <const AscendC::FixpipeConfig& config>
constexpr int64_t nz_step(const AscendC::FixpipeParamsV220& params)
{
    return config.format == AscendC::CO2Layout::ROW_MAJOR ? 0 : params.isChannelSplit ? 8 : 16;
}

PYPTO_SHARED void drain(const Drain& what, const AscendC::FixpipeParamsV220& params);

}  // namespace pypto_twin

#define PYPTO_TWIN_FIX_TYPES(D, S)                                                              \
    static_assert((pypto_twin::is_same<S, float> || pypto_twin::is_same<S, int32_t>) &&         \
                      pypto_twin::fix_type<D, S>() != pypto_twin::FixType::none,                \
                  "Fixpipe: float to float, half, bfloat16_t, int8_t, uint8_t; int32_t to "     \
                  "int32_t, half, int8_t, uint8_t")

namespace AscendC {

template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR>
PYPTO_INLINE void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src,
                          const FixpipeParamsV220& params)
{
    using namespace pypto_twin;
    PYPTO_TWIN_FIX_TYPES(T, U);
    PYPTO_RULES(Fixpipe_L0C_GM, bytes(dst, 1).bytes(src, 64).fields(params).value(nz_step<config>(params)));
    drain(Drain{place_of(dst), place_of(src), Place{nullptr, Provenance{TPosition::A1}}, fix_type<T, U>(),
                is_same<U, int32_t>, config.format == CO2Layout::ROW_MAJOR},
          params);
}
template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR>
PYPTO_INLINE void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src,
                          const LocalTensor<uint64_t>& scales, const FixpipeParamsV220& params)
{
    using namespace pypto_twin;
    PYPTO_TWIN_FIX_TYPES(T, U);
    PYPTO_RULES(Fixpipe_L0C_GM_vector_quant, bytes(dst, 1).bytes(src, 64).bytes(scales, 8).fields(params)
                                                 .value(nz_step<config>(params)));
    drain(Drain{place_of(dst), place_of(src), place_of(scales), fix_type<T, U>(), is_same<U, int32_t>,
                config.format == CO2Layout::ROW_MAJOR},
          params);
}

/* To L1: NZ only, and never unchanged. */
template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR>
PYPTO_INLINE void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src,
                          const FixpipeParamsV220& params)
{
    using namespace pypto_twin;
    PYPTO_TWIN_FIX_TYPES(T, U);
    PYPTO_RULES(Fixpipe_L0C_L1, bytes(dst, 32).bytes(src, 64).fields(params).value(nz_step<config>(params)));
    static_assert(config.format == CO2Layout::NZ && !is_same<T, U>,
                  "Fixpipe to L1: with CFG_NZ, and to a narrower type");
    drain(Drain{place_of(dst), place_of(src), Place{nullptr, Provenance{TPosition::A1}}, fix_type<T, U>(),
                is_same<U, int32_t>, false},
          params);
}
template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR>
PYPTO_INLINE void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src,
                          const LocalTensor<uint64_t>& scales, const FixpipeParamsV220& params)
{
    using namespace pypto_twin;
    PYPTO_TWIN_FIX_TYPES(T, U);
    PYPTO_RULES(Fixpipe_L0C_L1, bytes(dst, 32).bytes(src, 64).fields(params).value(nz_step<config>(params)));
    static_assert(config.format == CO2Layout::NZ && !is_same<T, U>,
                  "Fixpipe to L1: with CFG_NZ, and to a narrower type");
    drain(Drain{place_of(dst), place_of(src), place_of(scales), fix_type<T, U>(), is_same<U, int32_t>,
                false},
          params);
}

}  // namespace AscendC

#endif
