/* Checked twin: an instruction on lists of blocks, TransDataTo5HD: whether its lists overlap. */
#ifndef PYPTO_TWIN_CHECK_BLOCK_LISTS_H
#define PYPTO_TWIN_CHECK_BLOCK_LISTS_H

#include "../transpose.h"
#include "rules.h"

namespace pypto_twin {
namespace check {

namespace {

/* Of repeats [from, to). */
Runs runs_of(const Blocks& blocks, uint32_t bytes, uint32_t from, uint32_t to)
{
    Runs runs;
    for (uint32_t repeat = from; repeat < to; ++repeat) {
        for (const uint8_t* const block : blocks.at) {
            const uint64_t start = reinterpret_cast<uint64_t>(block) + blocks.first + uint64_t{repeat} * blocks.pitch;
            runs.emplace_back(start, start + bytes);
        }
    }
    return runs;
}

/* Whether a repeat of the list has a byte in common with a later one: all are equally far apart. */
bool repeats_meet(const Blocks& blocks, uint32_t bytes, uint32_t repeats)
{
    const Runs first = runs_of(blocks, bytes, 0, 1);
    for (uint32_t repeat = 1; repeat < repeats; ++repeat) {
        if (runs_meet(first, runs_of(blocks, bytes, repeat, repeat + 1))) {
            return true;
        }
    }
    return false;
}

}  // namespace

/* A repeat reads all its blocks before it writes any: in place each list is the other. */
inline void Core::block_lists(const Blocks& dst, const Blocks& src, uint32_t bytes, uint32_t repeats)
{
    if (!runs_meet(runs_of(dst, bytes, 0, repeats), runs_of(src, bytes, 0, repeats))) {
        return;
    }
    const bool same = dst.first == src.first && std::equal(dst.at, dst.at + kTransposed, src.at);
    const bool one_stride = repeats <= 1 || dst.pitch == src.pitch;
    if (same && one_stride && !repeats_meet(dst, bytes, repeats)) {
        return;
    }
    broken("overlap", std::string("TransDataTo5HD: src ") +
                          (same && one_stride ? "is dst, and a repeat reads what an earlier one wrote"
                           : same             ? "starts where dst starts, with other strides"
                                  : "shares bytes with dst, and its blocks are not those of dst in the same order"),
           nullptr);
}

}  // namespace check
}  // namespace pypto_twin

#endif
