/* CPU twin: loads that have not moved, and the last instruction before a store, not run yet.
 *
 * The device copies a tile to on-chip memory because it cannot compute elsewhere; a CPU can. A load
 * of one dense run is therefore only noted: instructions that read it read global memory, and the
 * bytes move ("settle") when something needs them in place: a partial overwrite, an instruction
 * that does not know of deferral, a store to the same global memory, a barrier. A run that is
 * overwritten or freed never moves. In the same way an elementwise instruction that fills a buffer
 * of an output queue is only noted, as are those that go on where it ends; when the next thing that
 * touches their operands is the store of what they compute, they write to global memory themselves,
 * and the buffer becomes a load from there. A kernel without races cannot tell. Fast build only: with hooks compiled in, and in the
 * shuffled build, everything happens at once.
 */
#ifndef PYPTO_TWIN_DEFERRED_H
#define PYPTO_TWIN_DEFERRED_H

#include "stream.h"

namespace pypto_twin {

constexpr bool kDefers = !kHooks && !kShuffled && !kNaive;
/* Shorter runs are cheaper moved than remembered. */
constexpr uint64_t kDeferBytes = 2048;

/* Whether anything is noted. */
PYPTO_INLINE bool waiting()
{
    return kDefers && (state().deferred_count | state().pending_count) != 0;
}

/* Does all that is noted. */
PYPTO_SHARED void settle_all();

/* Before an access that does not know of deferral. */
PYPTO_INLINE void settle()
{
    if (__builtin_expect(waiting(), 0)) {
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
PYPTO_SHARED void overwrite(const uint8_t* dst, uint64_t bytes, bool whole);

PYPTO_INLINE void written(const void* dst, uint64_t bytes, bool whole)
{
    if (waiting()) {
        overwrite(static_cast<const uint8_t*>(dst), bytes, whole);
    }
}

/* Where the bytes of an on-chip range, to the end of its last block, are to be read. */
PYPTO_SHARED const uint8_t* find(const uint8_t* from, uint64_t bytes);

template <typename T>
PYPTO_INLINE T* source(T* from, uint64_t bytes)
{
    if (!waiting()) {
        return from;
    }
    return reinterpret_cast<T*>(
        const_cast<uint8_t*>(find(reinterpret_cast<const uint8_t*>(from), bytes)));
}

/* Global memory is about to be written: what was to be read from there is read first. */
PYPTO_SHARED void settle_global(const Rows& r);
PYPTO_SHARED void settle_loads(const Rows& r);

/* Notes the instruction (mask 0: `count` elements, else `count` repeats); false when it must run now.
 * Its operands are resolved. */
PYPTO_SHARED bool postpone(const Instruction& instruction, const void* f, uint32_t mask, uint32_t count,
                           const Operand<uint8_t>* operands);

/* Runs the pending instructions where their destination is. */
PYPTO_SHARED void run_pending();

/* Runs them on the global side of a store, when that is a store of what they compute. */
PYPTO_SHARED bool store_pending(const Rows& rows);

/* A queue has taken back [begin, begin + bytes): its contents are dead. */
PYPTO_SHARED void forget_within(const uint8_t* begin, uint64_t bytes);

PYPTO_INLINE void release(const uint8_t* begin, uint64_t bytes)
{
    if (waiting()) {
        forget_within(begin, bytes);
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
    State& s = state();
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
