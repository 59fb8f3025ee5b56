/* Checked twin: which bytes an instruction's operands cover, and whether two operands meet. */
#ifndef PYPTO_TWIN_CHECK_OVERLAP_H
#define PYPTO_TWIN_CHECK_OVERLAP_H

#include <algorithm>
#include <utility>
#include <vector>

#include "../rules.h"

namespace pypto_twin {
namespace check {

/* Lanes of a repeat: of the widest operand that the form walks. */
inline uint32_t lanes_of(const Call& call)
{
    uint32_t nibbles = 1;
    for (uint32_t i = 0; i < call.tensor_count; ++i) {
        if (call.tensors[i].layout == Layout::lanes) {
            nibbles = std::max<uint32_t>(nibbles, call.tensors[i].nibbles);
        }
    }
    return std::min<uint32_t>(2 * kRepeatBytes / nibbles, 128);
}

/* What a call covers: repeats, the lanes of each up to the last active one, and those of the last. */
struct Extent {
    uint64_t repeats, lanes, last;
};

inline Extent extent_of(const Call& call)
{
    const uint64_t lanes = lanes_of(call), amount = call.amount < 0 ? 0 : static_cast<uint64_t>(call.amount);
    if (call.form == Form::count) {
        return Extent{1, amount, amount};
    }
    if (call.mask == Mask::registers && call.counter) {
        const uint64_t total = call.low & 0xffffffffu, repeats = (total + lanes - 1) / lanes;
        return Extent{repeats, lanes, repeats == 0 ? 0 : total - (repeats - 1) * lanes};
    }
    uint64_t active = lanes;
    if (call.mask == Mask::length) {
        active = std::min(call.low, lanes);
    } else if (call.mask != Mask::none) {
        const uint64_t high = lanes > 64 ? call.high : 0, low = lanes < 64 ? call.low & 0xffffffffu : call.low;
        active = high != 0  ? 128 - static_cast<uint64_t>(__builtin_clzll(high))
                 : low != 0 ? 64 - static_cast<uint64_t>(__builtin_clzll(low))
                            : 0;
    }
    return Extent{amount, active, active};
}

/* Runs of bytes, [first, second). */
using Runs = std::vector<std::pair<uint64_t, uint64_t>>;

/* The first and the last byte of an operand, without looking at each of its runs. */
inline std::pair<uint64_t, uint64_t> span_of(const Call& call, const Tensor& at)
{
    if (at.layout == Layout::rows) {
        return {at.address, at.rows == 0 ? at.address : at.address + (at.rows - 1) * at.pitch + at.bytes};
    }
    const Extent extent = extent_of(call);
    if (extent.repeats == 0 || extent.lanes == 0) {
        return {at.address, at.address};
    }
    const uint64_t bytes = extent.lanes * at.nibbles / 2;
    if (call.form == Form::count) {
        return {at.address, at.address + bytes};
    }
    const uint64_t blocks = (bytes + kBlockBytes - 1) / kBlockBytes;
    return {at.address, at.address + ((extent.repeats - 1) * static_cast<uint64_t>(at.repeat) +
                                      (blocks - 1) * static_cast<uint64_t>(at.block) + 1) * kBlockBytes};
}

/* Repeats that are worth a look: further ones are past the end of the memory, or where an earlier one is
 * (two of these, so that they are seen to meet). Registers hold counts of up to 32 bits. */
inline uint64_t distinct_repeats(const Tensor& at)
{
    return at.repeat <= 0 ? 2 : memory_bytes(memory_of(at.position)) / kBlockBytes / static_cast<uint64_t>(at.repeat) + 1;
}

inline Runs runs_of(const Call& call, const Tensor& at)
{
    Runs runs;
    if (at.layout == Layout::rows) {
        for (uint64_t row = 0; row < at.rows; ++row) {
            runs.emplace_back(at.address + row * at.pitch, at.address + row * at.pitch + at.bytes);
        }
        return runs;
    }
    const Extent extent = extent_of(call);
    if (call.form == Form::count) {
        runs.emplace_back(at.address, at.address + extent.lanes * at.nibbles / 2);
        return runs;
    }
    const uint64_t repeats = std::min(extent.repeats, distinct_repeats(at));
    for (uint64_t r = 0; r < repeats; ++r) {
        const uint64_t bytes = (r + 1 == extent.repeats ? extent.last : extent.lanes) * at.nibbles / 2;
        for (uint64_t done = 0; done < bytes; done += kBlockBytes) {
            const uint64_t start = at.address + (r * static_cast<uint64_t>(at.repeat) +
                                                 done / kBlockBytes * static_cast<uint64_t>(at.block)) * kBlockBytes;
            runs.emplace_back(start, start + std::min<uint64_t>(kBlockBytes, bytes - done));
        }
    }
    return runs;
}

/* Whether a run of `left` and one of `right` have a byte in common. */
inline bool runs_meet(Runs left, Runs right)
{
    std::sort(left.begin(), left.end());
    std::sort(right.begin(), right.end());
    for (size_t i = 0, k = 0; i < left.size() && k < right.size();) {
        if (left[i].second <= right[k].first) {
            ++i;
        } else if (right[k].second <= left[i].first) {
            ++k;
        } else {
            return left[i].first < left[i].second && right[k].first < right[k].second;
        }
    }
    return false;
}

/* Whether the two operands have a byte in common. */
inline bool meets(const Call& call, const Tensor& a, const Tensor& b)
{
    if (memory_of(a.position) != memory_of(b.position)) {
        return false;
    }
    const auto first = span_of(call, a), second = span_of(call, b);
    if (first.second <= second.first || second.second <= first.first) {
        return false;
    }
    return runs_meet(runs_of(call, a), runs_of(call, b));
}

/* Whether two repeats of the operand have a byte in common. */
inline bool repeats_meet(const Call& call, const Tensor& at)
{
    if (call.form != Form::repeat || at.layout == Layout::rows) {
        return false;
    }
    const Extent extent = extent_of(call);
    const uint64_t blocks = (extent.lanes * at.nibbles / 2 + kBlockBytes - 1) / kBlockBytes;
    if (extent.repeats <= 1 || static_cast<uint64_t>(at.repeat) >= (blocks - 1) * static_cast<uint64_t>(at.block) + 1) {
        return false;
    }
    Runs runs = runs_of(call, at);
    std::sort(runs.begin(), runs.end());
    for (size_t i = 1; i < runs.size(); ++i) {
        if (runs[i].first < runs[i - 1].second) {
            return true;
        }
    }
    return false;
}

}  // namespace check
}  // namespace pypto_twin

#endif
