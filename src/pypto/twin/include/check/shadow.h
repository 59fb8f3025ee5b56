/* Checked twin: who has read and written each byte of a memory last. */
#ifndef PYPTO_TWIN_CHECK_SHADOW_H
#define PYPTO_TWIN_CHECK_SHADOW_H

#include <map>

#include "order.h"

namespace pypto_twin {
namespace check {

/* Where in the kernel an instruction stands: an index into Sites. */
using Site = uint32_t;

/* An instruction that has read or written the bytes of a range. */
struct Record {
    Event event;
    Site site;
    bool write;
};

/* For each byte of a memory the accesses that still matter: the last write, and the last read of
 * each pipe since. Bytes side by side with the same history are one range. */
class Shadow {
public:
    /* Calls conflict(record) for each earlier access to a byte of [begin, end) that this one must
     * follow, then takes note of it. */
    template <typename Conflict>
    void access(uint64_t begin, uint64_t end, const Record& now, const Conflict& conflict)
    {
        Ranges::iterator at = cut(begin);
        cut(end);
        at = ranges_.lower_bound(begin);
        uint64_t covered = begin; /* up to here there are ranges */
        while (at != ranges_.end() && at->first < end) {
            for (const Record& record : at->second.records) {
                if ((record.write || now.write) && !(record.event == now.event)) {
                    conflict(record);
                }
            }
            if (now.write) {
                at = ranges_.erase(at);
                continue;
            }
            if (covered < at->first) {
                ranges_.emplace_hint(at, covered, Range{at->first, {now}});
            }
            note(at->second.records, now);
            covered = at->second.end;
            ++at;
        }
        if (now.write) {
            ranges_.emplace_hint(at, begin, Range{end, {now}});
        } else if (covered < end) {
            ranges_.emplace_hint(at, covered, Range{end, {now}});
        }
    }

private:
    struct Range {
        uint64_t end;
        std::vector<Record> records;
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

    /* A read takes the place of the pipe's earlier one. */
    static void note(std::vector<Record>& records, const Record& now)
    {
        for (Record& record : records) {
            if (!record.write && record.event.pipe == now.event.pipe) {
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
