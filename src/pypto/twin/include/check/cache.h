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

inline void Core::not_clean(const char* what, uint32_t core, Site site, uint64_t begin, uint64_t bytes)
{
    found("cache-dirty", std::string(what) + " that the scalar unit of " + launch_.cores[core]->name() +
                             " has written into its data cache and not cleaned", site,
          place_of(Hardware::GM, begin, bytes));
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
                not_clean(what, core->number_, line.dirty_by, begin, end - begin);
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

/* Two cores, or a copy and a scalar unit, write a line. `order`: what nothing sees to. */
inline void Core::two_writers(uint64_t number, uint32_t core, Site site, const char* order)
{
    const std::string whose = core == number_ ? "a copy of this core" : launch_.cores[core]->name();
    found("cache-line", "writes GM in a 64-byte line that " + whose + " writes to, too, and nothing orders " + order +
                            ": one may be written over the other", site,
          place_of(Hardware::GM, number * kLine, kLine));
}

/* The scalar unit takes a line in: what of it need not be in memory yet? */
inline void Core::fetch(uint64_t number, Line& line)
{
    const auto rival = [&](uint32_t core, Site site) {
        if (line.rival_core == Line::kNone) {
            line.rival_core = core;
            line.rival = site;
        }
    };
    line.fetched = launch_.cleans;
    const auto spans = launch_.spans.find(number);
    if (spans != launch_.spans.end()) {
        for (const Span& span : spans->second) {
            if (span.core != number_ && !order_.before(span.cleaned, PIPE_S)) {
                rival(span.core, span.site);
                line.unsure |= span.bytes;
                line.rival_written = span.written;
            }
        }
    }
    launch_.global.visit(number * kLine, number * kLine + kLine, [&](const Record& record, uint64_t, uint64_t) {
        if (record.use() != Use::read && record.event.pipe % kPipes != PIPE_S && !order_.before(record.event, PIPE_S)) {
            rival(record.event.pipe / kPipes, record.site);
        }
    });
}

/* The first write to a line that was clean: the whole of it will be written. */
inline void Core::first_write(uint64_t number, const Line& line, uint64_t part)
{
    constexpr const char* order = "that before this core fetches the line";
    if (line.rival_core != Line::kNone) {
        return two_writers(number, line.rival_core, line.rival, order);
    }
    const auto spans = launch_.spans.find(number);
    if (spans != launch_.spans.end()) {
        for (const Span& span : spans->second) {
            if (span.core != number_ && span.serial > line.fetched) {
                return two_writers(number, span.core, span.site, order);
            }
        }
    }
    const Record* other = nullptr;
    launch_.global.visit(number * kLine, number * kLine + kLine, [&](const Record& record, uint64_t begin, uint64_t end) {
        const bool beside = (part_of_line(number, begin, end) & ~part) != 0;
        if (beside && record.use() != Use::read && record.event.pipe % kPipes != PIPE_S &&
            !order_.before(record.event, PIPE_S)) {
            other = &record;
        }
    });
    if (other != nullptr) {
        two_writers(number, other->event.pipe / kPipes, other->site, order);
    }
}

/* A copy uses bytes of lines that scalar units of other cores have written and cleaned. */
inline void Core::line_writers(Use use, uint64_t begin, uint64_t end, pipe_t pipe)
{
    const auto last = launch_.spans.lower_bound((end + kLine - 1) / kLine);
    for (auto at = launch_.spans.lower_bound(begin / kLine); at != last; ++at) {
        const uint64_t part = part_of_line(at->first, begin, end);
        for (const Span& span : at->second) {
            if (span.core == number_ || order_.before(span.cleaned, pipe)) {
                continue;
            }
            if ((span.bytes & part) == 0) {
                if (use != Use::read) {
                    two_writers(at->first, span.core, span.site, "its clean before this copy");
                }
            } else if (order_.before(span.written, pipe)) { /* else it is a race */
                not_clean(use == Use::read ? "reads GM" : "writes GM", span.core, span.site, begin, end - begin);
            }
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
        Line& line = held.first->second;
        if (held.second) {
            ++launch_.cached_lines;
            fetch(number, line);
        }
        const uint64_t part = part_of_line(number, begin, end);
        if (write) {
            if (line.dirty == 0) {
                first_write(number, line, part);
            }
            line.written = event_;
            line.unsure &= ~part;
            line.dirty |= part;
            line.stale &= ~part;
            line.dirty_by = site_;
        } else if ((line.stale & part) != 0) {
            const std::string whose = line.stale_core == number_ ? "this core" : launch_.cores[line.stale_core]->name();
            found("cache-stale", "reads GM from the scalar data cache, which may hold what was there before " + whose +
                                     " wrote it", line.stale_by, place_of(Hardware::GM, begin, bytes));
        } else if ((line.unsure & part) != 0 && order_.before(line.rival_written, PIPE_S)) {
            not_clean("reads GM", line.rival_core, line.rival, begin, bytes);
        }
    }
}

/* An access that goes past the cache, indivisible: cores hand over with it. */
inline void Core::uncached(bool read, bool write, const void* address, uint64_t bytes)
{
    instruction(PIPE_S);
    const uint64_t begin = reinterpret_cast<uint64_t>(address), end = begin + bytes;
    if (!inside(write, Provenance(TPosition::GM), begin, bytes, PIPE_S)) {
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
    if (line.dirty == 0) {
        return;
    }
    std::vector<Span>& spans = launch_.spans[number];
    const Span span{number_, line.dirty, line.dirty_by, line.written, event_, ++launch_.cleans};
    const auto same = std::find_if(spans.begin(), spans.end(), [&](const Span& other) {
        return other.core == number_ && other.bytes == line.dirty;
    });
    if (same != spans.end()) {
        *same = span;
    } else {
        spans.push_back(span);
    }
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
    instruction(PIPE_S);
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
