/* CPU twin: loads that have not moved yet.
 *
 * The device copies a tile to on-chip memory because it cannot compute elsewhere; a CPU can. A load
 * of one dense run is therefore only noted: instructions that read it read global memory, and the
 * bytes move ("settle") when something needs them in place: a partial overwrite, an instruction
 * that does not know of deferral, a store to the same global memory, a barrier. A run that is
 * overwritten or freed never moves. A kernel without races cannot tell. Fast build only: with
 * hooks compiled in, every load moves at once.
 */
#ifndef PYPTO_TWIN_DEFERRED_H
#define PYPTO_TWIN_DEFERRED_H

#include "stream.h"

namespace pypto_twin {

constexpr bool kDefers = !kHooks;
/* Shorter runs are cheaper moved than remembered. */
constexpr uint64_t kDeferBytes = 512;

/* Moves all that is noted. */
PYPTO_COLD inline void settle_all()
{
    State& s = state;
    for (uint32_t i = 0; i < s.deferred_count; ++i) {
        copy_bytes(s.deferred[i].dst, s.deferred[i].src, s.deferred[i].bytes);
    }
    s.deferred_count = 0;
}

/* Before an access that does not know of deferral. */
PYPTO_INLINE void settle()
{
    if (kDefers && __builtin_expect(state.deferred_count != 0, 0)) {
        settle_all();
    }
}

PYPTO_INLINE void forget(State& s, uint32_t index)
{
    s.deferred[index] = s.deferred[--s.deferred_count];
}

PYPTO_INLINE void settle_one(State& s, uint32_t index)
{
    copy_bytes(s.deferred[index].dst, s.deferred[index].src, s.deferred[index].bytes);
    forget(s, index);
}

/* [dst, dst + bytes) of on-chip memory is about to be written, every byte of it with `whole`. */
inline __attribute__((noinline)) void overwrite(const uint8_t* dst, uint64_t bytes, bool whole)
{
    State& s = state;
    for (uint32_t i = 0; i < s.deferred_count;) {
        Deferred& d = s.deferred[i];
        const uint8_t* const end = dst + bytes;
        if (d.dst >= end || d.dst + d.bytes <= dst) {
            ++i;
        } else if (!whole || d.dst < dst) {
            settle_one(s, i);
        } else if (d.dst + d.bytes <= end) {
            forget(s, i);
        } else { /* the front is gone; a block that is written in part moves, the rest is to come */
            const uint64_t gone = static_cast<uint64_t>(end - d.dst);
            const uint64_t kept = gone / kBlockBytes * kBlockBytes;
            const uint64_t next = (gone + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
            copy_bytes(d.dst + kept, d.src + kept, next - kept);
            d.dst += next;
            d.src += next;
            d.bytes -= next;
            if (d.bytes == 0) {
                forget(s, i);
            } else {
                ++i;
            }
        }
    }
}

PYPTO_INLINE void written(const void* dst, uint64_t bytes, bool whole)
{
    if (kDefers && state.deferred_count != 0) {
        overwrite(static_cast<const uint8_t*>(dst), bytes, whole);
    }
}

/* Where the bytes of an on-chip range, to the end of its last block, are to be read. */
inline __attribute__((noinline)) const uint8_t* find(const uint8_t* from, uint64_t bytes)
{
    State& s = state;
    const uint8_t* const end = from + (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
    for (uint32_t i = 0; i < s.deferred_count;) {
        const Deferred& d = s.deferred[i];
        if (d.dst <= from && end <= d.dst + d.bytes) {
            return d.src + (from - d.dst);
        }
        if (d.dst < end && from < d.dst + d.bytes) {
            settle_one(s, i);
        } else {
            ++i;
        }
    }
    return from;
}

template <typename T>
PYPTO_INLINE T* source(T* from, uint64_t bytes)
{
    if (!kDefers || state.deferred_count == 0) {
        return from;
    }
    return reinterpret_cast<T*>(
        const_cast<uint8_t*>(find(reinterpret_cast<const uint8_t*>(from), bytes)));
}

/* Global memory is about to be written: what was to be loaded from there moves first. */
PYPTO_COLD inline void settle_global(const Rows& r)
{
    State& s = state;
    const uint8_t* const end = r.dst + (r.rows - 1) * r.dst_pitch + r.bytes;
    for (uint32_t i = 0; i < s.deferred_count;) {
        if (s.deferred[i].src < end && r.dst < s.deferred[i].src + s.deferred[i].bytes) {
            settle_one(s, i);
        } else {
            ++i;
        }
    }
}

/* A queue has taken back [begin, begin + bytes): its contents are dead. */
PYPTO_INLINE void release(const uint8_t* begin, uint64_t bytes)
{
    if (!kDefers) {
        return;
    }
    State& s = state;
    for (uint32_t i = 0; i < s.deferred_count;) {
        if (s.deferred[i].dst >= begin && s.deferred[i].dst < begin + bytes) {
            forget(s, i);
        } else {
            ++i;
        }
    }
}

/* Notes the load of `r`; false when it must move now. */
PYPTO_INLINE bool defer(AscendC::TPosition position, const Rows& rows)
{
    if (!kDefers || memory_of(position) != AscendC::Hardware::UB) {
        return false;
    }
    const Rows r = merged(rows);
    written(r.dst, (r.rows - 1) * r.dst_pitch + r.bytes, r.rows == 1);
    State& s = state;
    /* from a block's start to a block's end, so that whole registers can be read */
    const bool blocks = (reinterpret_cast<uintptr_t>(r.dst) | r.bytes) % kBlockBytes == 0;
    if (r.rows != 1 || r.bytes < kDeferBytes || !blocks || s.deferred_count == kDeferred) {
        return false;
    }
    s.deferred[s.deferred_count++] = Deferred{r.dst, r.src, r.bytes};
    if (r.bytes >= kStreamBytes) {
        want_next(s.tracker, r.dst, r.src);
    }
    return true;
}

}  // namespace pypto_twin

#endif
