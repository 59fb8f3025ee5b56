/* Checked twin: who has read and written each byte of a memory last. */
#ifndef PYPTO_TWIN_CHECK_SHADOW_H
#define PYPTO_TWIN_CHECK_SHADOW_H

#include <map>

#include "order.h"
#include "report.h"

namespace pypto_twin {
namespace check {

/* How an instruction uses bytes. Atomic updates of the same bytes need no order between them. */
enum class Use : uint8_t { read, write, atomic };

/* An instruction that has used the bytes of a range, in a step (Step) of its core's loop. */
struct Record {
    Event event;
    Site site;
    uint32_t step : 30;
    uint32_t use_bits : 2;

    Record(Event of, Site at, uint32_t in_step, Use how)
        : event(of), site(at), step(in_step), use_bits(static_cast<uint32_t>(how))
    {
    }
    Use use() const { return static_cast<Use>(use_bits); }
};

/* For each byte of a memory the accesses that still matter: the last write, and the last read and the
 * last atomic update of each pipe since. Bytes side by side with the same history are one range. */
class Shadow {
public:
    using Records = std::vector<Record>;

    /* Calls conflict(record, range_begin, range_end, records) for each earlier access to bytes of
     * [begin, end) that this one must follow, then takes note of it. */
    template <typename Conflict>
    void access(uint64_t begin, uint64_t end, const Record& now, const Conflict& conflict)
    {
        Ranges::iterator at = ranges_.lower_bound(begin);
        if (at == ranges_.end() || at->first != begin || at->second.end != end) {
            cut(begin);
            cut(end);
            at = ranges_.lower_bound(begin);
        }
        Ranges::iterator kept = ranges_.end(); /* the first one, for a write to use again */
        uint64_t covered = begin;              /* up to here there are ranges */
        while (at != ranges_.end() && at->first < end) {
            for (const Record& record : at->second.records) {
                const bool alike = record.use() == now.use() && now.use() != Use::write;
                if (!alike && !(record.event == now.event)) {
                    conflict(record, at->first, at->second.end, at->second.records);
                }
            }
            if (now.use() == Use::write) {
                if (at->first == begin) {
                    kept = at++;
                } else {
                    at = ranges_.erase(at);
                }
                continue;
            }
            if (covered < at->first) {
                ranges_.emplace_hint(at, covered, Range{at->first, {now}});
            }
            note(at->second.records, now);
            covered = at->second.end;
            ++at;
        }
        if (kept != ranges_.end()) {
            kept->second.end = end;
            kept->second.records.assign(1, now);
        } else if (now.use() == Use::write) {
            ranges_.emplace_hint(at, begin, Range{end, {now}});
        } else if (covered < end) {
            ranges_.emplace_hint(at, covered, Range{end, {now}});
        }
    }

    /* Calls visit(record, range_begin, range_end) for the last accesses to bytes of [begin, end). */
    template <typename Visit>
    void visit(uint64_t begin, uint64_t end, const Visit& visit) const
    {
        Ranges::const_iterator at = ranges_.upper_bound(begin);
        if (at != ranges_.begin() && std::prev(at)->second.end > begin) {
            --at;
        }
        for (; at != ranges_.end() && at->first < end; ++at) {
            for (const Record& record : at->second.records) {
                visit(record, at->first, at->second.end);
            }
        }
    }

private:
    struct Range {
        uint64_t end;
        Records records;
    };
    using Ranges = std::map<uint64_t, Range>;

    /* Makes a range begin at `where`, if one contains it. */
    Ranges::iterator cut(uint64_t where)
    {
        Ranges::iterator after = ranges_.upper_bound(where);
        if (after == ranges_.begin()) {
            return after;
        }
        Ranges::iterator at = std::prev(after);
        if (at->first == where || at->second.end <= where) {
            return after;
        }
        Range rest = at->second;
        at->second.end = where;
        return ranges_.emplace_hint(after, where, std::move(rest));
    }

    /* A read takes the place of the pipe's earlier one, an update likewise. */
    static void note(Records& records, const Record& now)
    {
        for (Record& record : records) {
            if (record.use() == now.use() && record.event.pipe == now.event.pipe) {
                record = now;
                return;
            }
        }
        records.push_back(now);
    }

    Ranges ranges_;
};

}  // namespace check
}  // namespace pypto_twin

#endif
