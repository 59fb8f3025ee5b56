/* CPU twin: moving bytes. Plain and streaming (non-temporal) runs and rows of runs. */
#ifndef PYPTO_TWIN_BYTES_H
#define PYPTO_TWIN_BYTES_H

#include "flow.h"
#include "hooks.h"

namespace pypto_twin {

/* Units of copying. Moved by fixed-size memcpy, which is one instruction and knows neither types
 * nor alignment: attributes of a vector type would be lost where it is a template argument. */
typedef uint64_t Vector32 __attribute__((vector_size(32)));
typedef uint64_t Vector16 __attribute__((vector_size(16)));

template <typename Unit>
PYPTO_INLINE void copy_unit(uint8_t* dst, const uint8_t* src)
{
    Unit unit;
    __builtin_memcpy(&unit, src, sizeof(Unit));
    __builtin_memcpy(dst, &unit, sizeof(Unit));
}

/* Two units that overlap in the middle: n in [sizeof(Unit), 2 * sizeof(Unit)]. */
template <typename Unit>
PYPTO_INLINE void copy_ends(uint8_t* dst, const uint8_t* src, uint64_t n)
{
    Unit first, last;
    __builtin_memcpy(&first, src, sizeof(Unit));
    __builtin_memcpy(&last, src + n - sizeof(Unit), sizeof(Unit));
    __builtin_memcpy(dst, &first, sizeof(Unit));
    __builtin_memcpy(dst + n - sizeof(Unit), &last, sizeof(Unit));
}

PYPTO_SHARED void copy_short(uint8_t* dst, const uint8_t* src, uint64_t n);

/* Asks for 128 bytes at `offset` of everything wanted; the addresses need not be mapped. */
PYPTO_INLINE void prefetch(const Wanted& wanted, uint64_t offset)
{
    for (uint32_t k = 0; k < wanted.count; ++k) {
        __builtin_prefetch(wanted.at[k] + offset, 0, 2);
        __builtin_prefetch(wanted.at[k] + offset + 64, 0, 2);
    }
}

/* n bytes between ranges that do not overlap. Reads and writes exactly these bytes; `prefetching`
 * asks for as many bytes of everything in `wanted`. */
template <bool prefetching>
PYPTO_INLINE void copy_run(uint8_t* dst, const uint8_t* src, uint64_t n, const Wanted* wanted)
{
    if constexpr (kNaive) {
        for (uint64_t i = 0; i < n; ++i) {
            dst[i] = src[i];
        }
        return;
    }
    if (n < 32) {
        copy_short(dst, src, n);
        return;
    }
    uint64_t i = 0;
    for (; i + 128 <= n; i += 128) {
        if constexpr (prefetching) {
            prefetch(*wanted, i);
        }
        copy_unit<Vector32>(dst + i, src + i);
        copy_unit<Vector32>(dst + i + 32, src + i + 32);
        copy_unit<Vector32>(dst + i + 64, src + i + 64);
        copy_unit<Vector32>(dst + i + 96, src + i + 96);
    }
    for (; i + 32 <= n; i += 32) {
        copy_unit<Vector32>(dst + i, src + i);
    }
    if (i < n) {
        copy_unit<Vector32>(dst + n - 32, src + n - 32);
    }
}

PYPTO_SHARED void copy_bytes(uint8_t* dst, const uint8_t* src, uint64_t n);

PYPTO_SHARED void copy_prefetching(uint8_t* dst, const uint8_t* src, uint64_t n, const Wanted& wanted);

/* One 32-byte store past the caches; `dst` is 32-byte aligned. */
PYPTO_INLINE void stream_unit(uint8_t* dst, const uint8_t* src)
{
#if defined(__clang__)
    Vector32 value;
    __builtin_memcpy(&value, src, 32);
    __builtin_nontemporal_store(value, reinterpret_cast<Vector32*>(dst));
#elif defined(__AVX__)
    typedef float V8 __attribute__((vector_size(32)));
    V8 value;
    __builtin_memcpy(&value, src, 32);
    __builtin_ia32_movntps256(reinterpret_cast<float*>(dst), value);
#elif defined(__SSE__)
    typedef float V4 __attribute__((vector_size(16)));
    V4 value[2];
    __builtin_memcpy(value, src, 32);
    __builtin_ia32_movntps(reinterpret_cast<float*>(dst), value[0]);
    __builtin_ia32_movntps(reinterpret_cast<float*>(dst + 16), value[1]);
#else
    copy_unit<Vector32>(dst, src);
#endif
}

/* As copy_bytes, past the caches; n >= 64, dst of any alignment. The runtime library fences. */
PYPTO_INLINE void stream_bytes(uint8_t* dst, const uint8_t* src, uint64_t n, const Wanted& wanted)
{
    /* whole 64-byte lines in the middle; the ends go through the caches */
    const uint64_t head = (64 - (reinterpret_cast<uintptr_t>(dst) & 63)) & 63;
    if (head != 0) {
        copy_bytes(dst, src, head);
    }
    uint64_t i = head;
    for (; i + 128 <= n; i += 128) {
        prefetch(wanted, i);
        stream_unit(dst + i, src + i);
        stream_unit(dst + i + 32, src + i + 32);
        stream_unit(dst + i + 64, src + i + 64);
        stream_unit(dst + i + 96, src + i + 96);
    }
    if (i < n) {
        copy_bytes(dst + i, src + i, n - i);
    }
}

/* Fills n bytes with the low `size` (1, 2, 4, 8) bytes of `value`; n a multiple of size. */
PYPTO_INLINE void fill_elements(uint8_t* dst, uint64_t value, uint32_t size, uint64_t n)
{
    for (uint64_t i = 0; i < n; i += size) {
        __builtin_memcpy(dst + i, &value, size);
    }
}

/* `rows` runs of `bytes` bytes; pitches in bytes, start to start. */
struct Rows {
    uint8_t* dst;
    const uint8_t* src;
    uint64_t bytes;
    uint64_t dst_pitch;
    uint64_t src_pitch;
    uint32_t rows;
#if defined(PYPTO_TWIN_CHECKED)
    Provenance global{AscendC::TPosition::GM}; /* of the end in global memory */
#endif
};

/* The rows, one end of which is in the global tensor. */
template <typename T>
PYPTO_INLINE Rows rows_of(const AscendC::GlobalTensor<T>& tensor, Rows rows)
{
#if defined(PYPTO_TWIN_CHECKED)
    rows.global = tensor.Position();
#endif
    (void)tensor;
    return rows;
}
PYPTO_INLINE Provenance global_of(const Rows& rows)
{
#if defined(PYPTO_TWIN_CHECKED)
    return rows.global;
#else
    (void)rows;
    return AscendC::TPosition::GM;
#endif
}

/* In a register of its own: one vector load of fields that were just stored apart waits until the
 * stores have reached the cache. */
template <typename T>
PYPTO_INLINE T alone(T value)
{
    asm("" : "+r"(value));
    return value;
}

PYPTO_INLINE Rows in_registers(const Rows& r)
{
    Rows rows{alone(r.dst),       alone(r.src),       alone(r.bytes),
              alone(r.dst_pitch), alone(r.src_pitch), alone(r.rows)};
#if defined(PYPTO_TWIN_CHECKED)
    rows.global = r.global;
#endif
    return rows;
}

/* Dense on both sides: one long run. */
PYPTO_INLINE Rows merged(const Rows& rows)
{
    Rows r = in_registers(rows);
    if (r.dst_pitch == r.bytes && r.src_pitch == r.bytes) {
        r.bytes *= r.rows;
        r.rows = 1;
    }
    return r;
}

PYPTO_SHARED void copy_rows(const Rows& rows);

}  // namespace pypto_twin

#endif
