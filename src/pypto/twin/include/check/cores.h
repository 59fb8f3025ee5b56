/* Checked twin: how the cores of a launch wait for one another. */
#ifndef PYPTO_TWIN_CHECK_CORES_H
#define PYPTO_TWIN_CHECK_CORES_H

#include "events.h"

namespace pypto_twin {
namespace check {

/* SyncAll and the cross-core flags go through the scheduler, which pure kernels run without. */
inline bool Core::kind_synchronises(const char* call)
{
    if (launch_.kind != PYPTO_VECTOR && launch_.kind != PYPTO_CUBE) {
        return true;
    }
    const bool vector = launch_.kind == PYPTO_VECTOR;
    found("kernel-kind", std::string(call) + " in a kernel of kind " + name_of_kind(launch_.kind) +
                             ", which hangs: kernels that synchronise are of kind " +
                             (vector ? "__mix__(0, 1)" : "__mix__(1, 0)"));
    return false;
}

/* SyncAll with flags in global memory, 32 bytes a core, 0 at first. It needs no scheduler.
 * `gm_bytes`: 0 where they are not stated. */
inline void Core::soft_sync(const void* gm, uint64_t gm_bytes, uint64_t ub_bytes)
{
    site_ = here();
    soft_sync_ = true;
    const Members members = members_of(launch_.kind);
    const uint64_t vectors = uint64_t{cores_} / members.size() * members.vectors;
    const uint64_t needed = vectors * 32, begin = reinterpret_cast<uint64_t>(gm);
    if ((gm_bytes != 0 && gm_bytes < needed) || ub_bytes < needed) {
        return found("sync-memory", "SyncAll: " + std::to_string(vectors) + " cores need " + std::to_string(needed) +
                                        " bytes of GM and of UB, 32 each; there are " +
                                        std::to_string(ub_bytes < needed ? ub_bytes : gm_bytes) + " of " +
                                        (ub_bytes < needed ? "UB" : "GM"));
    }
    if (!inside_global(true, begin, needed)) {
        return;
    }
    for (uint64_t byte = 0; byte < needed; ++byte) {
        if (static_cast<const uint8_t*>(gm)[byte] != 0) {
            return found("sync-memory", "SyncAll: the memory for its flags is not 0 at first", kNoSite,
                         place_of(Hardware::GM, begin, needed));
        }
    }
}

/* A barrier of cores begins with one of all pipes. False: the core cannot take part. */
inline bool Core::arrive(bool aiv_only)
{
    site_ = here();
    if (aiv_only && cube_) {
        found("core-kind", "SyncAll<true> on a cube core: it is for vector cores");
        return false;
    }
    unmet_waits(PIPE_ALL);
    if (!piped_) {
        found("needs-tpipe", "SyncAll: a kernel without a TPipe may not call it: it may ask the TPipe for events or memory");
    }
    const Members members = members_of(launch_.kind);
    const bool soft = soft_sync_;
    soft_sync_ = false;
    if (!soft && kind_synchronises("SyncAll") && !aiv_only && (members.cubes == 0 || members.vectors == 0)) {
        found("kernel-kind", std::string("SyncAll<false> in a kernel of kind ") + name_of_kind(launch_.kind) +
                                 ": it is for __mix__(1, 1) and __mix__(1, 2)");
    }
    running_ = false;
    auto& meetings = launch_.meetings[aiv_only ? 0 : 1];
    uint32_t& passed = barriers_[aiv_only ? 0 : 1];
    if (meetings.size() <= passed) {
        meetings.push_back(Launch::Meeting{Clock(cores_ * kPipes), {}});
    }
    meetings[passed].clock.join(order_.everything());
    meetings[passed].present.push_back(number_);
    waiting_ = Waiting{aiv_only ? Waiting::For::vectors : Waiting::For::all, 0, site_};
    return true;
}

inline void Core::leave(bool aiv_only)
{
    waiting_.what = Waiting::For::nothing;
    order_.wait_all(launch_.meetings[aiv_only ? 0 : 1][barriers_[aiv_only ? 0 : 1]++].clock);
}

/* Whether a flag that `other` sets in a mode is for this core, and the other way round. */
inline bool Core::takes_part(uint32_t mode, const Core& other) const { return takes_part(mode, other.number_); }

inline bool Core::takes_part(uint32_t mode, uint32_t other) const
{
    const Members members = members_of(launch_.kind);
    const uint32_t size = members.size();
    const bool cube = cube_, other_cube = other % size < members.cubes;
    const bool group = number_ / size == other / size;
    return mode == 0 ? cube == other_cube : mode == 1 ? group && !cube && !other_cube : group && cube != other_cube;
}

/* How often all cores that a mode combines have set a flag. */
inline uint32_t Core::complete(uint32_t mode, uint32_t flag, const Core& with) const
{
    uint32_t least = ~0u;
    for (uint32_t number = 0; number < launch_.cores.size(); ++number) {
        if (with.takes_part(mode, number)) {
            const auto& other = launch_.cores[number];
            least = std::min(least, other == nullptr ? 0 : other->sets_[mode][flag].count); /* not begun: 0 */
        }
    }
    return least == ~0u ? 0 : least;
}

inline uint32_t Core::available(uint32_t flag) const
{
    uint32_t sum = 0;
    for (uint32_t mode = 0; mode < kCrossModes; ++mode) {
        sum += complete(mode, flag, *this);
    }
    return sum;
}

inline bool Core::cross_set(uint32_t mode, pipe_t pipe, uint32_t flag)
{
    site_ = here();
    const std::string call = "CrossCoreSetFlag: flag " + std::to_string(flag);
    if (flag >= kCrossFlags) {
        found("cross-flag-id", call + ": flags are 0 to 15");
        return false;
    }
    if (flag >= 11 && flag <= 14) {
        found("cross-flag-id", call + " belongs to SyncAll, as 11 to 14 do");
    }
    const Members members = members_of(launch_.kind);
    if (kind_synchronises("CrossCoreSetFlag") && mode != 0 && (members.cubes == 0 || members.vectors == 0)) {
        found("kernel-kind", call + ", mode " + std::to_string(mode) + ", in a kernel of kind " +
                                 name_of_kind(launch_.kind) + ": the mode is for __mix__(1, 1) and __mix__(1, 2)");
    }
    if (mode == 1 && cube_) {
        found("core-kind", call + ", mode 1, on a cube core: the mode is for the vector cores of a group");
    }
    constexpr size_t kKept = 16; /* a receiver that is further behind has lost count anyway */
    Sets& sets = sets_[mode][flag];
    Clock clock = order_.published(pipe);
    if (!sets.clocks.empty()) {
        clock.join(sets.clocks.back());
    }
    sets.clocks.push_back(std::move(clock));
    if (sets.clocks.size() > kKept) {
        sets.clocks.pop_front();
    }
    ++sets.count;
    sets.last = site_;
    for (const auto& other : launch_.cores) {
        if (other != nullptr && takes_part(mode, *other) && other->available(flag) > other->consumed_[flag] + 15) {
            found("cross-flag-full", call + " is set 16 times before " + other->name() +
                                         " waits for it: the counter of a core ends at 15");
        }
    }
    return true;
}

/* False: the core cannot wait. */
inline bool Core::cross_wait(uint32_t flag)
{
    site_ = here();
    if (flag >= kCrossFlags) {
        found("cross-flag-id", "CrossCoreWaitFlag: flag " + std::to_string(flag) + ": flags are 0 to 15");
        return false;
    }
    kind_synchronises("CrossCoreWaitFlag");
    waiting_ = Waiting{Waiting::For::flag, flag, site_};
    return true;
}

/* The wait blocks the whole core. */
inline void Core::cross_waited(uint32_t flag)
{
    waiting_.what = Waiting::For::nothing;
    const uint32_t turn = consumed_[flag]++;
    for (uint32_t mode = 0; mode < kCrossModes; ++mode) {
        const uint32_t sets = complete(mode, flag, *this);
        for (const auto& other : launch_.cores) {
            if (sets == 0 || other == nullptr || !takes_part(mode, *other)) {
                continue;
            }
            const Sets& made = other->sets_[mode][flag];
            const size_t first = made.count - made.clocks.size(), last = std::min(turn, sets - 1);
            order_.wait_all(made.clocks[last > first ? last - first : 0]);
        }
    }
}

inline std::string listed(const std::vector<std::string>& names)
{
    std::string text;
    for (size_t i = 0; i < names.size(); ++i) {
        text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
    }
    return text;
}

/* The cores without which this one waits for ever. */
inline std::vector<std::string> Core::missing() const
{
    std::vector<std::string> names;
    const bool flag = waiting_.what == Waiting::For::flag;
    const uint32_t kind = waiting_.what == Waiting::For::vectors ? 0 : 1;
    for (const auto& other : launch_.cores) {
        bool away = false;
        if (flag) {
            for (uint32_t mode = 0; mode < kCrossModes; ++mode) {
                bool used = false; /* the mode, for this flag */
                for (const auto& setter : launch_.cores) {
                    used |= takes_part(mode, *setter) && setter->sets_[mode][waiting_.flag].count != 0;
                }
                away |= used && takes_part(mode, *other) &&
                        other->sets_[mode][waiting_.flag].count == complete(mode, waiting_.flag, *this);
            }
        } else {
            const std::vector<uint32_t>& present = launch_.meetings[kind][barriers_[kind]].present;
            away = (kind == 1 || !other->cube_) &&
                   std::find(present.begin(), present.end(), other->number_) == present.end();
        }
        if (away) {
            names.push_back(other->name());
        }
    }
    return names;
}

/* No core can go on, and this one waits. */
inline void Core::stuck()
{
    if (launch_.stopped) {
        return; /* that is why */
    }
    site_ = waiting_.site;
    const std::vector<std::string> absent = missing();
    if (waiting_.what != Waiting::For::flag) {
        const uint32_t number = barriers_[waiting_.what == Waiting::For::vectors ? 0 : 1] + 1;
        return found("sync-all", "waits for ever in SyncAll number " + std::to_string(number) + ", which " +
                                     listed(absent) + " never reach" + (absent.size() == 1 ? "es" : ""));
    }
    found("cross-flag-not-set", "CrossCoreWaitFlag: waits for ever: flag " + std::to_string(waiting_.flag) +
                                    " is not set by " + (absent.empty() ? "any core" : listed(absent)));
}

/* All cores have ended: sets of this one that nobody has waited for. */
inline void Core::finish_cross()
{
    for (uint32_t mode = 0; mode < kCrossModes; ++mode) {
        for (uint32_t flag = 0; flag < kCrossFlags; ++flag) {
            const Sets& sets = sets_[mode][flag];
            if (sets.count == 0) {
                continue;
            }
            site_ = sets.last;
            step_ = Step{};
            std::vector<std::string> names;
            bool partly = false;
            for (const auto& other : launch_.cores) {
                if (takes_part(mode, *other)) {
                    partly |= complete(mode, flag, *other) < sets.count;
                    if (other->available(flag) > other->consumed_[flag]) {
                        names.push_back(other->name());
                    }
                }
            }
            const std::string call = "CrossCoreSetFlag: flag " + std::to_string(flag);
            if (partly) {
                found("cross-flag-left-set", call + " is set more often here than by the other cores of mode " +
                                                 std::to_string(mode) + "; it would disturb the next kernel");
            } else if (!names.empty()) {
                found("cross-flag-left-set", call + ": " + listed(names) + " never wait" +
                                                 (names.size() == 1 ? "s" : "") +
                                                 " for it; it would disturb the next kernel");
            }
        }
    }
}

}  // namespace check
}  // namespace pypto_twin

#endif
