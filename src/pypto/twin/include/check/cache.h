/* Checked twin: the data cache of a scalar unit, which is not coherent with global memory.
 *
 * 64-byte lines. A read or a write of the scalar unit fetches the line; a write stays in the line until
 * DataCacheCleanAndInvalid, which also lets the next read fetch it again. The cache of the device is
 * small and may do both earlier: what is found here may happen.
 */
#ifndef PYPTO_TWIN_CHECK_CACHE_H
#define PYPTO_TWIN_CHECK_CACHE_H

#include "events.h"

namespace pypto_twin {
namespace check {

constexpr uint64_t kLine = 64;

/* The bytes of line `number` that lie in [begin, end), a bit each. */
inline uint64_t part_of_line(uint64_t number, uint64_t begin, uint64_t end)
{
    const uint64_t start = number * kLine;
    const uint64_t first = begin > start ? begin - start : 0, last = std::min(end - start, kLine);
    return (~uint64_t{0} >> (kLine - (last - first))) << first;
}

/* Reports bytes of [begin, end) that a scalar unit has written to its cache alone; with `whole_lines`
 * their neighbours too: the line will be written over them. `own`: also those of this core. */
inline void Core::dirty_lines(const char* what, uint64_t begin, uint64_t end, bool own, bool whole_lines)
{
    for (const auto& core : launch_.cores) {
        if (core == nullptr || (core.get() == this && !own)) {
            continue;
        }
        for (auto at = core->lines_.lower_bound(begin / kLine); at != core->lines_.end() && at->first * kLine < end; ++at) {
            const Line& line = at->second;
            if ((line.dirty & part_of_line(at->first, begin, end)) != 0) {
                found("cache-dirty", std::string(what) + " that the scalar unit of " + core->name() +
                                         " has written into its data cache and not cleaned",
                      line.dirty_by, place_of(Hardware::GM, begin, end - begin));
            } else if (whole_lines && line.dirty != 0) {
                found("cache-line", std::string(what) + " in a 64-byte line that the scalar unit of " + core->name() +
                                        " has written to and not cleaned: the line may be written over it",
                      line.dirty_by, place_of(Hardware::GM, begin, end - begin));
            }
        }
    }
}

/* Memory has changed: copies of it in the caches are old. */
inline void Core::outdate(uint64_t begin, uint64_t end, bool own)
{
    for (const auto& core : launch_.cores) {
        if (core == nullptr || (core.get() == this && !own)) {
            continue;
        }
        for (auto at = core->lines_.lower_bound(begin / kLine); at != core->lines_.end() && at->first * kLine < end; ++at) {
            Line& line = at->second;
            line.stale |= part_of_line(at->first, begin, end) & ~line.dirty;
            line.stale_by = site_;
            line.stale_core = number_;
        }
    }
}

/* GetValue or SetValue of global memory. */
inline void Core::cached(bool write, const void* address, uint64_t bytes)
{
    const uint64_t begin = reinterpret_cast<uint64_t>(address), end = begin + bytes;
    if (launch_.cached_lines != 0) {
        dirty_lines(write ? "writes GM" : "reads GM", begin, end, false, write);
    }
    for (uint64_t number = begin / kLine; number * kLine < end; ++number) {
        const auto held = lines_.try_emplace(number);
        launch_.cached_lines += held.second;
        Line& line = held.first->second;
        const uint64_t part = part_of_line(number, begin, end);
        if (write) {
            line.dirty |= part;
            line.stale &= ~part;
            line.dirty_by = site_;
        } else if ((line.stale & part) != 0) {
            const std::string whose = line.stale_core == number_ ? "this core" : launch_.cores[line.stale_core]->name();
            found("cache-stale", "reads GM from the scalar data cache, which may hold what was there before " + whose +
                                     " wrote it", line.stale_by, place_of(Hardware::GM, begin, bytes));
        }
    }
}

/* An access that goes past the cache, indivisible: cores hand over with it. */
inline void Core::uncached(bool read, bool write, const void* address, uint64_t bytes)
{
    instruction(PIPE_S);
    const uint64_t begin = reinterpret_cast<uint64_t>(address), end = begin + bytes;
    if (!inside(write, Hardware::GM, begin, bytes)) {
        return;
    }
    if (read) {
        scalar(false, TPosition::GM, address, bytes);
    }
    if (write) {
        scalar(true, TPosition::GM, address, bytes);
    }
    if (launch_.cached_lines != 0) {
        dirty_lines(write ? "writes GM" : "reads GM", begin, end, true, write);
        if (write) {
            outdate(begin, end, true);
        }
    }
    const auto known = launch_.uncached.try_emplace(begin, cores_ * kPipes);
    if (read) {
        order_.wait(PIPE_S, known.first->second);
    }
    if (write) {
        known.first->second.join(order_.published(PIPE_S));
    }
}

inline void Core::write_back(uint64_t number, const Line& line)
{
    for (uint64_t byte = 0; byte < kLine; ++byte) {
        if ((line.dirty >> byte & 1) != 0) {
            outdate(number * kLine + byte, number * kLine + byte + 1, false);
        }
    }
}

/* DataCacheCleanAndInvalid: of the line of an address, or of all. `global`: it reaches GM. */
inline void Core::clean(const void* address, bool all, bool global)
{
    if (!global) {
        return;
    }
    site_ = here();
    const uint64_t number = reinterpret_cast<uint64_t>(address) / kLine;
    for (auto at = all ? lines_.begin() : lines_.lower_bound(number); at != lines_.end() && (all || at->first == number);) {
        write_back(at->first, at->second);
        at = lines_.erase(at);
        --launch_.cached_lines;
    }
}

}  // namespace check
}  // namespace pypto_twin

#endif
