/* CPU twin: the one place that learns of every access and instruction.
 *
 * Fast build: all of it compiles to nothing. Counting build (-DPYPTO_TWIN_COUNT): fills
 * PyptoCore.counters. Checked build (-DPYPTO_TWIN_CHECKED): tells the stream's checker. Shuffled build
 * (-DPYPTO_TWIN_SHUFFLED): asks whose turn it is. Every instruction of the twin calls, in this order,
 * on_instruction once, then on_read / on_write for the bytes it touches, before touching them.
 */
#ifndef PYPTO_TWIN_HOOKS_H
#define PYPTO_TWIN_HOOKS_H

#include "core.h"
#include "rules.h"

namespace pypto_twin {

/* Call sites may test this to skip work that only prepares a hook's arguments. */
constexpr bool kHooks = PYPTO_TWIN_HOOKS != 0;

#if PYPTO_TWIN_HOOKS
PYPTO_INLINE void count(PyptoCounter counter, uint64_t amount)
{
    state().core->counters[counter] += amount;
}
#endif

/* PYPTO_CHECK(call(arguments)): call(checker, arguments) in the checked build. */
#if defined(PYPTO_TWIN_CHECKED)
#define PYPTO_CHECK(call, ...) check::call(state().check, ##__VA_ARGS__)
#else
#define PYPTO_CHECK(call, ...) ((void)0)
#endif
/* The same with an answer, which is yes in other builds. */
#if defined(PYPTO_TWIN_CHECKED)
#define PYPTO_ASK(call, ...) check::call(state().check, ##__VA_ARGS__)
#else
#define PYPTO_ASK(call, ...) true
#endif

/* Naive build (-DPYPTO_TWIN_NAIVE): no short cut is taken, to compare the others with. Nothing is put
 * off, a dense run goes step by step, repeats are never joined, bytes move one by one. */
#if defined(PYPTO_TWIN_NAIVE)
constexpr bool kNaive = true;
#else
constexpr bool kNaive = false;
#endif

/* PYPTO_SHUFFLE(call(arguments)): call(stream, arguments) in the shuffled build. */
#if defined(PYPTO_TWIN_SHUFFLED)
constexpr bool kShuffled = true;
#define PYPTO_SHUFFLE(call, ...) shuffle::call(state().stream, ##__VA_ARGS__)
#else
constexpr bool kShuffled = false;
#define PYPTO_SHUFFLE(call, ...) ((void)0)
#endif

/* `rows` runs of `bytes` bytes, `pitch` bytes from start to start, are about to be read. */
PYPTO_INLINE void on_read(Provenance position, const void* address, uint64_t bytes, pipe_t pipe,
                          uint32_t rows = 1, uint64_t pitch = 0)
{
#if PYPTO_TWIN_HOOKS
    if (memory_of(position) == AscendC::Hardware::GM && pipe == PIPE_MTE2) {
        count(PYPTO_COUNT_GM_TO_UB, bytes * rows);
    }
#endif
    PYPTO_CHECK(access, false, position, address, bytes, pipe, rows, pitch);
    (void)position, (void)address, (void)bytes, (void)pipe, (void)rows, (void)pitch;
}

/* As on_read, for bytes about to be written. */
PYPTO_INLINE void on_write(Provenance position, void* address, uint64_t bytes, pipe_t pipe,
                           uint32_t rows = 1, uint64_t pitch = 0)
{
#if PYPTO_TWIN_HOOKS
    if (memory_of(position) == AscendC::Hardware::GM && pipe == PIPE_MTE3) {
        count(PYPTO_COUNT_UB_TO_GM, bytes * rows);
    }
#endif
    PYPTO_CHECK(access, true, position, address, bytes, pipe, rows, pitch);
    (void)position, (void)address, (void)bytes, (void)pipe, (void)rows, (void)pitch;
}

/* One instruction is issued on `pipe`; an instruction of count or repeat 0 is issued too. False: it is
 * not this stream's turn to carry it out (several streams may share a core, one for each pipe); then
 * the caller leaves memory alone and keeps only what the scalar unit knows: masks, modes. `everywhere`:
 * its result is a register that each stream of the pipe must have. */
PYPTO_INLINE bool on_instruction(pipe_t pipe, bool everywhere = false)
{
#if PYPTO_TWIN_HOOKS
    if (pipe == PIPE_V) {
        count(PYPTO_COUNT_VECTOR, 1);
    } else if (pipe == PIPE_MTE1 || pipe == PIPE_MTE2 || pipe == PIPE_MTE3 || pipe == PIPE_FIX) {
        count(PYPTO_COUNT_COPY, 1);
    }
#endif
    PYPTO_CHECK(instruction, pipe);
    (void)pipe, (void)everywhere;
#if defined(PYPTO_TWIN_SHUFFLED)
    return shuffle::turn(state().stream, pipe, everywhere);
#else
    return true;
#endif
}

/* The same of the scalar unit; on_read or on_write follow where it is true. */
PYPTO_INLINE bool on_scalar()
{
#if defined(PYPTO_TWIN_SHUFFLED)
    return shuffle::scalar_turn(state().stream);
#else
    return true;
#endif
}

/* `value` is what the scalar unit has read: it decides what all streams of a core do. */
template <typename T>
PYPTO_INLINE T scalar_value(T value)
{
    static_assert(sizeof(T) <= 8, "a scalar has 8 bytes at most");
    PYPTO_SHUFFLE(from_scalar, &value, static_cast<uint32_t>(sizeof(T)));
    return value;
}

/* `value` is what the last instruction of the vector pipe has left in a register for the scalar unit. */
template <typename T>
PYPTO_INLINE T vector_value(T value)
{
    static_assert(sizeof(T) <= 8, "a register has 8 bytes at most");
    PYPTO_SHUFFLE(from_vector, &value, static_cast<uint32_t>(sizeof(T)));
    return value;
}

/* The next instruction of `later` starts after all that `earlier` was given: the unit sees to it. */
PYPTO_INLINE void on_ordered(pipe_t earlier, pipe_t later)
{
    PYPTO_CHECK(ordered, earlier, later);
    PYPTO_SHUFFLE(ordered, earlier, later);
    (void)earlier, (void)later;
}

/* An Mmad with this unit flag is about to write `bytes` of L0C, or to add to them (`goes_on`). */
PYPTO_INLINE void on_unit_product(uint32_t flag, const void* address, uint64_t bytes, bool goes_on)
{
    (void)address, (void)bytes, (void)goes_on;
#if defined(PYPTO_TWIN_CHECKED)
    const bool paired = check::unit_product(state().check, flag, address, bytes, goes_on);
#else
    const bool paired = flag != 0;
#endif
    if (paired) {
        on_ordered(PIPE_FIX, PIPE_M);
    }
}
/* A Fixpipe is about to read `strips` of `bytes` of it, `pitch` bytes from start to start. */
PYPTO_INLINE void on_unit_drain(uint32_t flag, const void* address, uint64_t bytes, uint32_t strips, uint64_t pitch)
{
    (void)address, (void)bytes, (void)strips, (void)pitch;
#if defined(PYPTO_TWIN_CHECKED)
    const bool paired = check::unit_drain(state().check, flag, address, bytes, strips, pitch);
#else
    const bool paired = flag != 0;
#endif
    if (paired) {
        on_ordered(PIPE_M, PIPE_FIX);
    }
}

PYPTO_INLINE void on_barrier(pipe_t pipe)
{
#if PYPTO_TWIN_HOOKS
    count(PYPTO_COUNT_BARRIER, 1);
#endif
    PYPTO_CHECK(barrier, pipe);
    PYPTO_SHUFFLE(barrier, pipe);
    (void)pipe;
}

PYPTO_INLINE void on_set_flag(AscendC::HardEvent event, int32_t id)
{
    PYPTO_CHECK(set_flag, event, id);
    PYPTO_SHUFFLE(set_flag, event, id);
    (void)event, (void)id;
}

PYPTO_INLINE void on_wait_flag(AscendC::HardEvent event, int32_t id)
{
    PYPTO_CHECK(wait_flag, event, id);
    PYPTO_SHUFFLE(wait_flag, event, id);
    (void)event, (void)id;
}

/* FetchEventID and AllocEventID; ReleaseEventID. */
PYPTO_INLINE void on_event_id(AscendC::HardEvent event, int32_t id, bool allocate)
{
    PYPTO_CHECK(fetch_id, event, id, allocate);
    (void)event, (void)id, (void)allocate;
}
PYPTO_INLINE void on_release(AscendC::HardEvent event, int32_t id)
{
    PYPTO_CHECK(release_id, event, id);
    (void)event, (void)id;
}

/* The next barrier of cores is done by software, with this memory. */
PYPTO_INLINE void on_soft_sync(const void* gm, uint64_t gm_bytes, uint64_t ub_bytes)
{
    PYPTO_CHECK(soft_sync, gm, gm_bytes, ub_bytes);
    (void)gm, (void)gm_bytes, (void)ub_bytes;
}

/* Before and after a barrier of cores; whether this one takes part. */
PYPTO_INLINE bool on_sync_all(bool aiv_only)
{
#if PYPTO_TWIN_HOOKS
    count(PYPTO_COUNT_SYNC_ALL, 1);
#endif
    (void)aiv_only;
    return PYPTO_ASK(arrive, aiv_only);
}
PYPTO_INLINE void after_sync_all(bool aiv_only)
{
    PYPTO_CHECK(leave, aiv_only);
    (void)aiv_only;
}

/* Whether a cross-core flag can be set and waited for. */
PYPTO_INLINE bool on_cross_set(uint32_t mode, pipe_t pipe, uint32_t flag)
{
    (void)mode, (void)pipe, (void)flag;
    PYPTO_SHUFFLE(cross_set, mode, pipe, flag);
    return PYPTO_ASK(cross_set, mode, pipe, flag);
}
PYPTO_INLINE bool on_cross_wait(uint32_t flag)
{
    (void)flag;
    return PYPTO_ASK(cross_wait, flag);
}
PYPTO_INLINE void after_cross_wait(uint32_t flag)
{
    PYPTO_CHECK(cross_waited, flag);
    (void)flag;
}

/* A scalar access to global memory through the data cache, after on_read or on_write. */
PYPTO_INLINE void on_cached(bool write, const void* address, uint64_t bytes)
{
    PYPTO_CHECK(cached, write, address, bytes);
    (void)write, (void)address, (void)bytes;
}
/* One past it, in place of on_read and on_write. */
PYPTO_INLINE void on_uncached(bool read, bool write, const void* address, uint64_t bytes)
{
    PYPTO_CHECK(uncached, read, write, address, bytes);
    (void)read, (void)write, (void)address, (void)bytes;
}
/* DataCacheCleanAndInvalid of the line at `address`, or of all; `global`: as far as GM. */
PYPTO_INLINE void on_clean(const void* address, bool all, bool global)
{
    PYPTO_CHECK(clean, address, all, global);
    (void)address, (void)all, (void)global;
}

/* What copies to global memory do from now on. */
PYPTO_INLINE void on_atomic(bool atomic)
{
    PYPTO_CHECK(set_atomic, atomic);
    (void)atomic;
}

/* A TPipe has handed out memory up to byte `end` of `memory`. */
PYPTO_INLINE void on_allocate(AscendC::Hardware memory, uint32_t end)
{
#if PYPTO_TWIN_HOOKS
    if (memory == AscendC::Hardware::UB && state().core->counters[PYPTO_COUNT_UB_PEAK] < end) {
        state().core->counters[PYPTO_COUNT_UB_PEAK] = end;
    }
#endif
    (void)memory, (void)end;
}

/* A TPipe has made a queue of `number` buffers of `bytes`, or a TBuf (0). `target`: the other end of a
 * queue. Returns the checker's number of the first. */
PYPTO_INLINE uint32_t on_buffers(AscendC::TPosition position, const void* address, uint64_t bytes, uint32_t number,
                                 AscendC::TPosition target)
{
    for (uint32_t i = 0; i < number && kShuffled; ++i) {
        PYPTO_SHUFFLE(add_buffer, position, static_cast<const uint8_t*>(address) + i * bytes, bytes, target);
    }
    (void)position, (void)address, (void)bytes, (void)number, (void)target;
#if defined(PYPTO_TWIN_CHECKED)
    return check::add_buffers(state().check, position, address, bytes, number, target);
#else
    return 0;
#endif
}

/* A TPipe begins, or forgets all its buffers; it ends. */
PYPTO_INLINE void on_pipe(const void* pipe)
{
    PYPTO_CHECK(begin_pipe, pipe);
    (void)pipe;
}
PYPTO_INLINE void on_pipe_end(const void* pipe)
{
    PYPTO_CHECK(end_pipe, pipe);
    (void)pipe;
}

/* A tensor of `bytes` at an address that the kernel has chosen; 0: of any size. */
PYPTO_INLINE Provenance declared(AscendC::TPosition position, const void* address, uint64_t bytes)
{
    (void)address, (void)bytes;
#if defined(PYPTO_TWIN_CHECKED)
    return check::declare(state().check, position, address, bytes);
#else
    return position;
#endif
}
/* Such a tensor is said to have `bytes` now. */
PYPTO_INLINE void redeclare(Provenance& position, const void* address, uint64_t bytes)
{
    (void)position, (void)address, (void)bytes;
#if defined(PYPTO_TWIN_CHECKED)
    position = check::redeclare(state().check, position, address, bytes);
#endif
}

/* A queue hands a buffer on. */
PYPTO_INLINE void on_queue(check::QueueEvent what, Provenance position, const void* address)
{
    PYPTO_CHECK(queue_event, what, position, address);
    PYPTO_SHUFFLE(queue_event, what, address);
    (void)what, (void)position, (void)address;
}
PYPTO_INLINE void on_depth(uint32_t queued, uint32_t depth)
{
    PYPTO_CHECK(queue_depth, queued, depth);
    (void)queued, (void)depth;
}

/* A broken rule that cannot be computed around; `rule` is its id. */
[[noreturn]] PYPTO_INLINE void refuse(const char* rule, const char* what)
{
    PYPTO_CHECK(refuse, rule, what);
    (void)rule;
    fail(what);
}

}  // namespace pypto_twin

#endif
