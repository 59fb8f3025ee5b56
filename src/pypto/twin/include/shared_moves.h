/* CPU twin: bodies of what is compiled once for all kernels: moving bytes, deferral, waiting. */
#ifndef PYPTO_TWIN_SHARED_MOVES_H
#define PYPTO_TWIN_SHARED_MOVES_H

#include "deferred.h"
#include "fill.h"
#include "move.h"
#include "shared_pending.h"
#include "sync.h"

namespace pypto_twin {

[[noreturn]] PYPTO_SHARED __attribute__((cold)) void fail(const char* what)
{
#if defined(PYPTO_TWIN_CHECKED)
    if (current != nullptr) {
        check::refuse(current->check, "refused", what);
    }
#elif defined(PYPTO_TWIN_SHUFFLED)
    if (current != nullptr) {
        shuffle::stop(state().stream, what);
    }
#endif
    dprintf(2, "pypto: Ascend C twin, block %lld: %s\n",
            static_cast<long long>(current != nullptr ? current->core->block_idx : -1), what);
    __builtin_abort();
}

PYPTO_SHARED void copy_short(uint8_t* dst, const uint8_t* src, uint64_t n)
{
    if (n >= 16) {
        copy_ends<Vector16>(dst, src, n);
    } else if (n >= 8) {
        copy_ends<uint64_t>(dst, src, n);
    } else if (n >= 4) {
        copy_ends<uint32_t>(dst, src, n);
    } else if (n >= 2) {
        copy_ends<uint16_t>(dst, src, n);
    } else if (n == 1) {
        *dst = *src;
    }
}

PYPTO_SHARED void copy_bytes(uint8_t* dst, const uint8_t* src, uint64_t n)
{
    copy_run<false>(dst, src, n, nullptr);
}

PYPTO_SHARED void copy_prefetching(uint8_t* dst, const uint8_t* src, uint64_t n, const Wanted& wanted)
{
    copy_run<true>(dst, src, n, &wanted);
}

PYPTO_SHARED void copy_rows(const Rows& rows)
{
    const Rows r = merged(rows);
    for (uint32_t row = 0; row < r.rows; ++row) {
        copy_bytes(r.dst + row * r.dst_pitch, r.src + row * r.src_pitch, r.bytes);
    }
}

PYPTO_SHARED void load_rows(State& s, const Rows& rows)
{
    const Rows r = merged(rows);
    if (r.rows * r.bytes >= kStreamBytes) {
        want_next(s.tracker, r.dst, r.src);
    }
    copy_rows(r);
}

/* Whether short rows, those of a tile, fill lines of the cache: none is read to be written in part. */
PYPTO_INLINE bool whole_lines(const Rows& r)
{
    return r.bytes % 128 == 0 && (reinterpret_cast<uintptr_t>(r.dst) | r.dst_pitch) % 64 == 0;
}

PYPTO_SHARED void store_rows(State& s, const Rows& rows)
{
    const Rows r = merged(rows);
    Wanted& wanted = s.tracker.wanted;
    if (kNaive || r.rows * r.bytes < kStreamBytes) {
        copy_rows(r);
    } else if (s.streaming && (r.bytes >= kStreamBytes || whole_lines(r))) {
        for (uint32_t row = 0; row < r.rows; ++row) {
            stream_bytes(r.dst + row * r.dst_pitch, r.src + row * r.src_pitch, r.bytes, wanted);
        }
    } else {
        const int64_t ahead = ahead_of(s.tracker, r.src, r.dst);
        if (ahead != 0) {
            wanted.at[wanted.count++] = r.dst + ahead;
        }
        for (uint32_t row = 0; row < r.rows; ++row) {
            copy_prefetching(r.dst + row * r.dst_pitch, r.src + row * r.src_pitch, r.bytes, wanted);
        }
    }
    wanted.count = 0;
}

PYPTO_SHARED void settle_all()
{
    State& s = state();
    run_pending();
    for (uint32_t i = 0; i < s.deferred_count; ++i) {
        copy_bytes(s.deferred[i].dst, s.deferred[i].src, s.deferred[i].bytes);
    }
    s.deferred_count = 0;
}

PYPTO_SHARED void overwrite(const uint8_t* dst, uint64_t bytes, bool whole)
{
    State& s = state();
    if (touches_pending(s, dst, bytes)) {
        run_pending();
    }
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

PYPTO_SHARED const uint8_t* find(const uint8_t* from, uint64_t bytes)
{
    State& s = state();
    const uint8_t* const end = from + (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
    if (s.pending_count != 0 &&
        overlap(result_of(s), result_bytes(s), from, static_cast<uint64_t>(end - from))) {
        run_pending();
    }
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

PYPTO_SHARED void settle_loads(const Rows& r)
{
    State& s = state();
    const uint64_t bytes = (r.rows - 1) * r.dst_pitch + r.bytes;
    for (uint32_t i = 0; i < s.deferred_count;) {
        if (overlap(s.deferred[i].src, s.deferred[i].bytes, r.dst, bytes)) {
            settle_one(s, i);
        } else {
            ++i;
        }
    }
}

PYPTO_SHARED void settle_global(const Rows& r)
{
    const uint64_t bytes = (r.rows - 1) * r.dst_pitch + r.bytes;
    if (touches_pending(state(), r.dst, bytes)) {
        run_pending();
    }
    settle_loads(r);
}

PYPTO_SHARED void forget_within(const uint8_t* begin, uint64_t bytes)
{
    State& s = state();
    if (s.pending_count != 0 && overlap(result_of(s), 1, begin, bytes)) {
        s.pending_count = 0;
    }
    for (uint32_t i = 0; i < s.deferred_count;) {
        if (s.deferred[i].dst >= begin && s.deferred[i].dst < begin + bytes) {
            forget(s, i);
        } else {
            ++i;
        }
    }
}

/* The work of a load. */
PYPTO_INLINE void bring(Provenance position, const Rows& r)
{
    if (r.rows == 0 || r.bytes == 0) {
        return;
    }
    on_read(global_of(r), r.src, r.bytes, PIPE_MTE2, r.rows, r.src_pitch);
    on_write(position, r.dst, r.bytes, PIPE_MTE2, r.rows, r.dst_pitch);
    on_move(position, r.dst, r.dst_pitch, AscendC::TPosition::GM, r.src, r.src_pitch, r.bytes, r.rows);
    if (defer(position, r)) {
        return;
    }
    load_rows(state(), r);
}

PYPTO_SHARED void load(Provenance position, const Rows& r)
{
    if (on_instruction(PIPE_MTE2)) {
        bring(position, r);
    }
}

PYPTO_SHARED void store(Provenance position, const Rows& rows)
{
    Rows r = in_registers(rows);
    if (!on_instruction(PIPE_MTE3)) {
        return;
    }
    if (r.rows == 0 || r.bytes == 0) {
        return;
    }
    if (waiting()) {
        if (store_pending(r)) {
            return;
        }
        settle_global(r);
        r.src = source(r.src, (r.rows - 1) * r.src_pitch + r.bytes);
    }
    on_read(position, r.src, r.bytes, PIPE_MTE3, r.rows, r.src_pitch);
    on_write(global_of(r), r.dst, r.bytes, PIPE_MTE3, r.rows, r.dst_pitch);
    State& s = state();
    on_move(AscendC::TPosition::GM, r.dst, r.dst_pitch, position, r.src, r.src_pitch, r.bytes, r.rows,
            s.accumulate != nullptr);
    if (__builtin_expect(s.accumulate != nullptr, 0)) {
        s.accumulate(r);
    } else {
        store_rows(s, r);
    }
}

PYPTO_SHARED void copy_local(Provenance dst, Provenance src, const Rows& r)
{
    const pipe_t pipe = local_copy_pipe(dst);
    if (!on_instruction(pipe)) {
        return;
    }
    if (r.rows == 0 || r.bytes == 0) {
        return;
    }
    on_read(src, r.src, r.bytes, pipe, r.rows, r.src_pitch);
    on_write(dst, r.dst, r.bytes, pipe, r.rows, r.dst_pitch);
    on_move(dst, r.dst, r.dst_pitch, src, r.src, r.src_pitch, r.bytes, r.rows);
    copy_rows(r);
}

PYPTO_SHARED void pad_rows(const Rows& r, const Padding& p)
{
    for (uint32_t row = 0; row < r.rows; ++row) {
        uint8_t* const data = r.dst + row * r.dst_pitch;
        fill_elements(data - p.left, p.value, p.size, p.left);
        fill_elements(data + r.bytes, p.value, p.size, p.right);
    }
}

PYPTO_SHARED void load_padded(Provenance position, const Rows& rows, uint32_t gap_blocks,
                              const Padding& padding, bool fill)
{
    Rows r = in_registers(rows);
    if (!on_instruction(PIPE_MTE2)) {
        return;
    }
    Padding p{alone(padding.value), alone(padding.size), alone(padding.left), alone(padding.right)};
    const uint64_t used = p.left + r.bytes + p.right;
    const uint64_t occupied = (used + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
    r.dst += p.left;
    r.dst_pitch = occupied + static_cast<uint64_t>(gap_blocks) * kBlockBytes;
    bring(position, r);
    /* Nothing asked: the device leaves junk, or the value of SetPadValue, in the last block. */
    if (!fill && used != occupied && state().pad_set) {
        p.value = state().pad_value;
        fill = true;
    }
    if (fill && r.bytes != 0) {
        settle();
        p.right = static_cast<uint32_t>(occupied - p.left - r.bytes);
        on_write(position, r.dst - p.left, p.left, PIPE_MTE2, r.rows, r.dst_pitch);
        on_write(position, r.dst + r.bytes, p.right, PIPE_MTE2, r.rows, r.dst_pitch);
        on_define(position, r.dst - p.left, p.left, r.rows, r.dst_pitch);
        on_define(position, r.dst + r.bytes, p.right, r.rows, r.dst_pitch);
        pad_rows(r, p);
    } else if (r.bytes != 0) {
        on_undefine(check::Undefined::padding, position, r.dst + r.bytes, occupied - used, r.rows, r.dst_pitch);
    }
}

PYPTO_SHARED void fill_global(Place dst, uint32_t size, uint64_t value, uint64_t count)
{
    if (!on_instruction(PIPE_MTE3) || count == 0) {
        return;
    }
    const uint64_t bytes = count * size;
    settle();
    on_write(dst.position, dst.address, bytes, PIPE_MTE3);
    on_define(dst.position, dst.address, bytes);
    fill_elements(dst.address, value, size, bytes);
}

PYPTO_SHARED void sync_all(bool aiv_only)
{
    settle();
    State* const own = current; /* other streams run on this thread meanwhile */
    own->core->sync_all(own->core, aiv_only ? 1 : 0);
    current = own;
}

PYPTO_SHARED void cross_wait(uint16_t flag)
{
    settle();
    State* const own = current;
    own->core->cross_wait(own->core, flag);
    current = own;
}

}  // namespace pypto_twin

#endif
