/* CPU twin: bodies of what is compiled once for all kernels: the instruction before a store. */
#ifndef PYPTO_TWIN_SHARED_PENDING_H
#define PYPTO_TWIN_SHARED_PENDING_H

#include "deferred.h"
#include "forms.h"

namespace pypto_twin {

/* Elements that a pending instruction computes at a time on its way to global memory. */
constexpr uint32_t kChunk = 512;
constexpr uint64_t kLine = 64; /* bytes of a cache line */

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

/* Where the results of all are to be, and their bytes. */
PYPTO_INLINE const uint8_t* result_of(const State& s) { return s.pending[0].operands[0].address; }
PYPTO_INLINE uint64_t result_bytes(const State& s)
{
    const Pending& last = s.pending[s.pending_count - 1];
    return static_cast<uint64_t>(last.operands[0].address - result_of(s)) + last.bytes;
}

/* Whether an instruction that is pending reads or writes any of these bytes. */
PYPTO_INLINE bool touches_pending(const State& s, const uint8_t* begin, uint64_t bytes)
{
    for (uint32_t n = 0; n < s.pending_count; ++n) {
        const Pending& p = s.pending[n];
        for (uint32_t k = 0; k < p.instruction->operands; ++k) {
            if (overlap(p.operands[k].address, extent(p, k), begin, bytes)) {
                return true;
            }
        }
    }
    return false;
}

/* Whether it could not write to `to` without losing what it, or a later one, has yet to read. `own`:
 * where its own result would be there; `bytes` of all results. */
PYPTO_INLINE bool endangers(const Pending& p, const uint8_t* to, uint64_t bytes, const uint8_t* own)
{
    const Operand<uint8_t>& d = p.operands[0];
    for (uint32_t k = 1; k < p.instruction->operands; ++k) {
        const Operand<uint8_t>& s = p.operands[k];
        const bool in_step = s.address == own && s.block == d.block && s.repeat == d.repeat &&
                             p.instruction->sizes[k] == p.instruction->sizes[0];
        if (!in_step && overlap(s.address, extent(p, k), to, bytes)) {
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

PYPTO_SHARED void run_pending()
{
    State& s = state();
    for (uint32_t n = 0; n < s.pending_count; ++n) {
        run_at(s.pending[n], s.pending[n].count, s.pending[n].operands);
    }
    s.pending_count = 0;
}

PYPTO_SHARED bool postpone(const Instruction& instruction, const void* f, uint32_t mask, uint32_t count,
                           const Operand<uint8_t>* operands)
{
    const Operand<uint8_t>& d = operands[0];
    const uint64_t unit = uint64_t{mask != 0 ? mask : 1} * instruction.sizes[0];
    const uint64_t bytes = unit * count;
    if (!kDefers || d.position != AscendC::TPosition::VECOUT || bytes < kDeferBytes ||
        bytes % kLine != 0 || instruction.f_bytes > sizeof(Pending::function)) {
        return false;
    }
    if (mask != 0 && (d.block != kBlockBytes || d.repeat != unit || unit % kLine != 0)) {
        return false; /* its results are not one run, or not cut at cache lines */
    }
    State& s = state();
    if (s.pending_count == kPending ||
        (s.pending_count != 0 && result_of(s) + result_bytes(s) != d.address)) {
        run_pending();
    }
    Pending& p = s.pending[s.pending_count];
    p.instruction = &instruction;
    for (uint32_t k = 0; k < instruction.operands; ++k) {
        p.operands[k] = operands[k];
    }
    __builtin_memcpy(p.function, f, instruction.f_bytes);
    p.bytes = bytes;
    p.mask = mask;
    p.count = count;
    if (endangers(p, d.address, bytes, d.address)) {
        return false;
    }
    ++s.pending_count;
    return true;
}

/* Computes to `to`, `ahead`: the same bytes of the next step's operands are asked for. */
PYPTO_INLINE void stream_result(const Pending& p, uint8_t* to, Wanted& ahead)
{
    alignas(64) uint8_t chunk[kChunk * 8];
    Operand<uint8_t> at[kOperands];
    for (uint32_t k = 0; k < p.instruction->operands; ++k) {
        at[k] = p.operands[k];
    }
    at[0].address = chunk;
    const uint32_t whole = p.mask == 0 ? kChunk : kChunk / p.mask;
    const uint64_t unit = p.bytes / p.count;
    for (uint32_t left = p.count; left != 0;) {
        const uint32_t count = left < whole ? left : whole;
        const uint64_t bytes = count * unit;
        run_at(p, count, at);
        stream_bytes(to, chunk, bytes, ahead);
        for (uint32_t k = 1; k < p.instruction->operands; ++k) {
            at[k].address += uint64_t{count} * stride(p, k);
        }
        for (uint32_t k = 0; k < ahead.count; ++k) {
            ahead.at[k] += bytes;
        }
        to += bytes;
        left -= count;
    }
}

PYPTO_SHARED bool store_pending(const Rows& rows)
{
    State& s = state();
    const Rows r = merged(rows);
    if (s.pending_count == 0 || r.rows != 1 || r.src != result_of(s) || r.bytes != result_bytes(s) ||
        s.accumulate != nullptr) {
        return false;
    }
    const bool streaming = s.streaming && r.bytes >= kStreamBytes;
    if (streaming && reinterpret_cast<uintptr_t>(r.dst) % kLine != 0) {
        return false;
    }
    for (uint32_t n = 0; n < s.pending_count; ++n) {
        const Pending& p = s.pending[n];
        if (endangers(p, r.dst, r.bytes, r.dst + (p.operands[0].address - r.src))) {
            return false;
        }
    }
    settle_loads(r);
    if (s.deferred_count == kDeferred) {
        return false;
    }
    for (uint32_t n = 0; n < s.pending_count; ++n) {
        Pending& p = s.pending[n];
        uint8_t* const to = r.dst + (p.operands[0].address - r.src);
        if (streaming) {
            stream_result(p, to, s.tracker.wanted);
        } else {
            p.operands[0].address = to;
            run_at(p, p.count, p.operands);
        }
    }
    s.tracker.wanted.count = 0;
    s.pending_count = 0;
    s.deferred[s.deferred_count++] = Deferred{const_cast<uint8_t*>(r.src), r.dst, r.bytes};
    return true;
}

}  // namespace pypto_twin

#endif
