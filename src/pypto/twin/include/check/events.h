/* Checked twin: flags between the pipes of a core, and who owns their ids. */
#ifndef PYPTO_TWIN_CHECK_EVENTS_H
#define PYPTO_TWIN_CHECK_EVENTS_H

#include "core_checks.h"

namespace pypto_twin {
namespace check {

/* The pipes of an event, in the order of HardEvent. */
struct Ends {
    pipe_t source, target;
};
inline Ends ends_of(HardEvent event)
{
#define PYPTO_ENDS(a, b) Ends{PIPE_##a, PIPE_##b}
    static const Ends ends[] = {
        PYPTO_ENDS(MTE2, MTE1), PYPTO_ENDS(MTE1, MTE2), PYPTO_ENDS(MTE1, M), PYPTO_ENDS(M, MTE1),
        PYPTO_ENDS(MTE2, V), PYPTO_ENDS(V, MTE2), PYPTO_ENDS(MTE3, V), PYPTO_ENDS(V, MTE3),
        PYPTO_ENDS(M, V), PYPTO_ENDS(V, M), PYPTO_ENDS(V, V), PYPTO_ENDS(MTE3, MTE1),
        PYPTO_ENDS(MTE1, MTE3), PYPTO_ENDS(MTE1, V), PYPTO_ENDS(MTE2, M), PYPTO_ENDS(M, MTE2),
        PYPTO_ENDS(V, MTE1), PYPTO_ENDS(M, FIX), PYPTO_ENDS(FIX, M), PYPTO_ENDS(MTE3, MTE2),
        PYPTO_ENDS(MTE2, MTE3), PYPTO_ENDS(S, V), PYPTO_ENDS(V, S), PYPTO_ENDS(S, MTE2),
        PYPTO_ENDS(MTE2, S), PYPTO_ENDS(S, MTE3), PYPTO_ENDS(MTE3, S), PYPTO_ENDS(MTE2, FIX),
        PYPTO_ENDS(FIX, MTE2), PYPTO_ENDS(FIX, S), PYPTO_ENDS(M, S), PYPTO_ENDS(FIX, MTE3),
        PYPTO_ENDS(MTE1, FIX), PYPTO_ENDS(FIX, MTE1), PYPTO_ENDS(FIX, FIX),
    };
#undef PYPTO_ENDS
    static_assert(sizeof ends / sizeof *ends == static_cast<size_t>(HardEvent::MAX), "an event");
    return ends[static_cast<uint32_t>(event)];
}

inline std::string name_of(HardEvent event)
{
    const Ends ends = ends_of(event);
    return std::string(name_of(ends.source)) + "_" + name_of(ends.target);
}

/* Whether a vector (cube) core has both pipes of an event. */
inline bool has_event(HardEvent event, bool cube)
{
    const auto has = [cube](pipe_t pipe) {
        const bool shared = pipe == PIPE_S || pipe == PIPE_MTE2 || pipe == PIPE_MTE3;
        return shared || (cube ? pipe != PIPE_V : pipe == PIPE_V);
    };
    const Ends ends = ends_of(event);
    return has(ends.source) && has(ends.target);
}

inline void Core::barrier(pipe_t pipe)
{
    if (pipe == PIPE_ALL) {
        unmet_waits(PIPE_ALL);
    }
    order_.barrier(pipe);
    running_ = running_ && pipe != PIPE_ALL;
}

/* With a TPipe, which keeps them for its queues too, ids come from it. Without, 6 and 7 are the
 * library's. */
inline bool Core::flag_known(const char* call, HardEvent event, int32_t id)
{
    site_ = here();
    const std::string flag = std::string(call) + ": event " + name_of(event) + ", id " + std::to_string(id);
    if (id < 0 || id > 7) {
        found("flag-id", flag + ": ids are 0 to 7");
        return false;
    }
    if (!has_event(event, cube_)) {
        found("core-kind", flag + ": a " + (cube_ ? "cube" : "vector") + " core has no such event");
        return false;
    }
    const Ids& ids = ids_[static_cast<uint32_t>(event)];
    if (piped_ && ((ids.fetched | ids.allocated) >> id & 1) == 0) {
        found("flag-owner", flag + ": the id belongs to the TPipe, which may use it for a queue");
    } else if (!piped_ && id > 5) {
        found("flag-owner", flag + ": without a TPipe a kernel has ids 0 to 5");
    }
    return true;
}

/* Waits of `pipe`, or of all, whose flag nothing has set: where the scalar unit waits for the pipe
 * itself, nothing will. */
inline void Core::unmet_waits(pipe_t pipe)
{
    for (uint32_t event = 0; event < static_cast<uint32_t>(HardEvent::MAX); ++event) {
        for (Flag& flag : flags_[event]) {
            if (flag.awaited && (pipe == PIPE_ALL || pipe == ends_of(static_cast<HardEvent>(event)).target)) {
                flag.awaited = false;
                const Site now = site_;
                site_ = flag.site;
                found("flag-not-set", "WaitFlag: nothing has set this flag; the core would wait for ever");
                site_ = now;
            }
        }
    }
}

inline void Core::set_flag(HardEvent event, int32_t id)
{
    if (!flag_known("SetFlag", event, id)) {
        return;
    }
    Flag& flag = flags_[static_cast<uint32_t>(event)][id];
    if (flag.set) {
        found("flag-set-twice", "SetFlag: this flag is set already and nothing has waited for it", flag.site);
    }
    if (flag.awaited) {
        const Site now = site_;
        site_ = flag.site;
        found("flag-wait-first", std::string("WaitFlag: stands before the SetFlag that it waits for; when the queue of "
                                             "pipe ") + name_of(ends_of(event).target) +
                                     " is full before that one is issued, the core waits for ever", now);
        site_ = now;
        flag.awaited = false;
        order_.wait(ends_of(event).target, order_.published(ends_of(event).source));
        return;
    }
    flag = Flag{true, false, site_, order_.published(ends_of(event).source)};
}

/* A wait blocks its own pipe only: the scalar unit goes on and may still issue the set, unless it is
 * the one that waits. */
inline void Core::wait_flag(HardEvent event, int32_t id)
{
    if (!flag_known("WaitFlag", event, id)) {
        return;
    }
    const Ends ends = ends_of(event);
    if (ends.target == PIPE_S) {
        unmet_waits(ends.source);
    }
    Flag& flag = flags_[static_cast<uint32_t>(event)][id];
    if (!flag.set && (ends.target == PIPE_S || flag.awaited)) {
        return found("flag-not-set", "WaitFlag: nothing has set this flag; the core would wait for ever");
    }
    if (!flag.set) {
        flag.awaited = true;
        flag.site = site_;
        return;
    }
    flag.set = false;
    order_.wait(ends.target, flag.clock);
}

/* A fetched id is the kernel's until the TPipe gives it to somebody for good. */
inline void Core::fetch_id(HardEvent event, int32_t id, bool allocate)
{
    Ids& ids = ids_[static_cast<uint32_t>(event)];
    const uint8_t bit = static_cast<uint8_t>(1u << id);
    ids.fetched |= allocate ? 0 : bit;
    ids.allocated |= allocate ? bit : 0;
}

inline void Core::release_id(HardEvent event, int32_t id)
{
    site_ = here();
    Ids& ids = ids_[static_cast<uint32_t>(event)];
    const std::string what = "ReleaseEventID: event " + name_of(event) + ", id " + std::to_string(id);
    if (id < 0 || id > 7 || (ids.allocated >> id & 1) == 0) {
        return found("flag-owner", what + ": the id is not allocated");
    }
    const Flag& flag = flags_[static_cast<uint32_t>(event)][id];
    if (flag.set) {
        found("flag-owner", what + ": the flag is still set", flag.site);
    }
    ids.allocated &= static_cast<uint8_t>(~(1u << id));
    ids.fetched &= static_cast<uint8_t>(~(1u << id));
}

}  // namespace check
}  // namespace pypto_twin

#endif
