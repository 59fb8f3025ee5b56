/* CPU twin: bodies of what is compiled once for all kernels: the instruction before a store. */
#ifndef PYPTO_TWIN_SHARED_PENDING_H
#define PYPTO_TWIN_SHARED_PENDING_H

#include "deferred.h"
#include "walk.h"

namespace pypto_twin {

/* Elements that a pending instruction computes at a time on its way to global memory. */
constexpr uint32_t kChunk = 512;

PYPTO_INLINE bool overlap(const uint8_t* a, uint64_t a_bytes, const uint8_t* b, uint64_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

/* Bytes from one repeat, or element of a dense run, of operand k to the next. */
PYPTO_INLINE uint32_t stride(const Pending& p, uint32_t k)
{
    const Operand<uint8_t>& at = p.operands[k];
    return p.mask != 0 ? at.repeat : at.block == 0 ? 0 : p.instruction->sizes[k];
}

/* Bytes of operand k from its first to its last block. */
PYPTO_INLINE uint64_t extent(const Pending& p, uint32_t k)
{
    const uint32_t size = p.instruction->sizes[k];
    return p.mask != 0 ? reach(p.operands[k], size, p.mask, p.count)
           : p.operands[k].block == 0
               ? kBlockBytes
               : (uint64_t{p.count} * size + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
}

/* Whether the instruction reads or writes any of these bytes. */
PYPTO_INLINE bool touches(const Pending& p, const uint8_t* begin, uint64_t bytes)
{
    for (uint32_t k = 0; k < p.instruction->operands; ++k) {
        if (overlap(p.operands[k].address, extent(p, k), begin, bytes)) {
            return true;
        }
    }
    return false;
}

/* Whether it could not write to `to` without losing what it has yet to read. */
PYPTO_INLINE bool endangers(const Pending& p, const uint8_t* to)
{
    const Operand<uint8_t>& d = p.operands[0];
    for (uint32_t k = 1; k < p.instruction->operands; ++k) {
        const Operand<uint8_t>& s = p.operands[k];
        const bool in_step = s.address == to && s.block == d.block && s.repeat == d.repeat &&
                             p.instruction->sizes[k] == p.instruction->sizes[0];
        if (!in_step && overlap(s.address, extent(p, k), to, p.bytes)) {
            return true;
        }
    }
    return false;
}

PYPTO_INLINE void run_at(const Pending& p, uint32_t count, const Operand<uint8_t>* operands)
{
    if (p.mask == 0) {
        run_dense(*p.instruction, p.function, count, operands);
    } else {
        p.instruction->strided(p.function, count, low_bits(p.mask), high_bits(p.mask), operands);
    }
}

PYPTO_SHARED bool postpone(const Instruction& instruction, const void* f, uint32_t mask, uint32_t count,
                           const Operand<uint8_t>* operands)
{
    const Operand<uint8_t>& d = operands[0];
    const uint64_t unit = uint64_t{mask != 0 ? mask : 1} * instruction.sizes[0];
    const uint64_t bytes = unit * count;
    if (!kDefers || d.position != AscendC::TPosition::VECOUT || bytes < kDeferBytes ||
        bytes % kBlockBytes != 0 || instruction.f_bytes > sizeof(Pending::function)) {
        return false;
    }
    if (mask != 0 && (d.block != kBlockBytes || d.repeat != unit || unit % 64 != 0)) {
        return false; /* its results are not one run, or not cut at cache lines */
    }
    run_pending();
    Pending& p = state.pending;
    p.instruction = &instruction;
    for (uint32_t k = 0; k < instruction.operands; ++k) {
        p.operands[k] = operands[k];
    }
    __builtin_memcpy(p.function, f, instruction.f_bytes);
    p.bytes = bytes;
    p.mask = mask;
    p.count = count;
    if (endangers(p, d.address)) {
        p.instruction = nullptr;
        return false;
    }
    return true;
}

PYPTO_SHARED void run_pending()
{
    Pending& p = state.pending;
    if (p.instruction != nullptr) {
        run_at(p, p.count, p.operands);
        p.instruction = nullptr;
    }
}

/* Computes chunk by chunk, to `to` or past the caches; asks for the next step's lines meanwhile. */
PYPTO_INLINE void compute_to(const Pending& p, uint8_t* to, bool streaming, const Wanted& wanted)
{
    alignas(64) uint8_t line[kChunk * 8];
    Operand<uint8_t> at[kOperands];
    for (uint32_t k = 0; k < p.instruction->operands; ++k) {
        at[k] = p.operands[k];
    }
    Wanted next = wanted;
    const uint32_t whole = p.mask == 0 ? kChunk : kChunk / p.mask;
    const uint64_t unit = p.bytes / p.count;
    for (uint32_t left = p.count; left != 0;) {
        const uint32_t count = left < whole ? left : whole;
        const uint64_t bytes = count * unit;
        at[0].address = streaming ? line : to;
        if (!streaming) {
            for (uint64_t i = 0; i < bytes; i += 128) {
                prefetch(next, i);
            }
        }
        run_at(p, count, at);
        if (streaming) {
            stream_bytes(to, line, bytes, next);
        }
        for (uint32_t k = 1; k < p.instruction->operands; ++k) {
            at[k].address += uint64_t{count} * stride(p, k);
        }
        for (uint32_t k = 0; k < next.count; ++k) {
            next.at[k] += bytes;
        }
        to += bytes;
        left -= count;
    }
}

PYPTO_SHARED bool store_pending(const Rows& rows)
{
    State& s = state;
    const Pending& p = s.pending;
    const Rows r = merged(rows);
    if (p.instruction == nullptr || r.rows != 1 || r.src != p.operands[0].address ||
        r.bytes != p.bytes || s.accumulate != nullptr || s.deferred_count == kDeferred) {
        return false;
    }
    const bool streaming = s.streaming && r.bytes >= kStreamBytes;
    if (endangers(p, r.dst) || (streaming && reinterpret_cast<uintptr_t>(r.dst) % 64 != 0)) {
        return false;
    }
    settle_loads(r);
    if (s.deferred_count == kDeferred) {
        return false;
    }
    Wanted& wanted = s.tracker.wanted;
    if (!streaming && r.bytes >= kStreamBytes) {
        const int64_t ahead = ahead_of(s.tracker, r.src, r.dst);
        if (ahead != 0) {
            wanted.at[wanted.count++] = r.dst + ahead;
        }
    }
    compute_to(p, r.dst, streaming, wanted);
    wanted.count = 0;
    s.deferred[s.deferred_count++] = Deferred{p.operands[0].address, r.dst, r.bytes};
    s.pending.instruction = nullptr;
    return true;
}

}  // namespace pypto_twin

#endif
