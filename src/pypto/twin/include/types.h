/* CPU twin: scalar types, enumerations and the keywords of the language.
 *
 * Headers of the twin include nothing beyond stdint.h and stddef.h: parsing standard headers costs
 * more than compiling a kernel. Work is done by compiler builtins (g++ >= 11, clang >= 14).
 */
#ifndef PYPTO_TWIN_TYPES_H
#define PYPTO_TWIN_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "assume.h"
#include "float16.h"

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

/* A function that is compiled once, whatever its arguments. */
#if defined(__clang__)
#define PYPTO_OUTLINE __attribute__((noinline))
#else
#define PYPTO_OUTLINE __attribute__((noinline, noclone))
#endif

/* Three ways to compile the twin. By default its headers are all there is. With PYPTO_TWIN_LINKED
 * what is marked PYPTO_SHARED (bodies in shared_*.h) and what instances.h lists are only declared:
 * they come from an object file, the twin compiled with PYPTO_TWIN_SUPPORT and the same flags. */
#define PYPTO_HIDDEN __attribute__((visibility("hidden")))
#if defined(PYPTO_TWIN_SUPPORT) || defined(PYPTO_TWIN_LINKED)
#define PYPTO_SHARED PYPTO_HIDDEN
#else
#define PYPTO_SHARED static __attribute__((unused)) PYPTO_OUTLINE
#endif

#ifndef INFINITY
#define INFINITY (__builtin_inff())
#endif
#ifndef NAN
#define NAN (__builtin_nanf(""))
#endif

/* Two 4-bit integers share a byte: element 2i is the low half of byte i. */
struct int4b_t {
    uint8_t pair;
};

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

template <typename T, typename... Types>
inline constexpr bool one_of = (is_same<T, Types> || ...);

/* Refuses at compile time what the device has no instruction for. */
#define PYPTO_TWIN_TYPES(instruction, T, ...)                                                    \
    static_assert(pypto_twin::one_of<T, __VA_ARGS__>,                                            \
                  instruction ": the device has this instruction only for " #__VA_ARGS__)

/* What instructions that only move data take. */
#define PYPTO_TWIN_MOVABLE half, bfloat16_t, int16_t, uint16_t, float, int32_t, uint32_t
/* Types of copies between memories. */
#define PYPTO_TWIN_COPIED                                                                        \
    half, float, bfloat16_t, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t,     \
        uint64_t, double

}  // namespace pypto_twin

#endif
