/* Checked twin: what was found, and where in the kernel. */
#ifndef PYPTO_TWIN_CHECK_REPORT_H
#define PYPTO_TWIN_CHECK_REPORT_H

#include <stdint.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace pypto_twin {
namespace check {

/* Where in the kernel an instruction stands: an index into Sites. */
using Site = uint32_t;
constexpr Site kNoSite = ~0u;

/* Call stacks, each once: the places of instructions. A place is given out as a number. */
class Sites {
public:
    static constexpr uint32_t kDepth = 6;
    using Stack = std::array<const void*, kDepth>;

    Site of(const Stack& stack)
    {
        const auto found = numbers_.try_emplace(stack, static_cast<Site>(stacks_.size()));
        if (found.second) {
            stacks_.push_back(stack);
        }
        return found.first->second;
    }
    const Stack& stack(Site site) const { return stacks_[site]; }

private:
    struct Hash {
        size_t operator()(const Stack& stack) const
        {
            size_t hash = 0;
            for (const void* const address : stack) {
                hash = (hash ^ reinterpret_cast<size_t>(address)) * 0x9E3779B97F4A7C15u;
            }
            return hash ^ hash >> 32;
        }
    };

    std::unordered_map<Stack, Site, Hash> numbers_;
    std::vector<Stack> stacks_;
};

/* A step of a core's loop: the `index`-th tensor that the queue of `queue` (where InitBuffer made it)
 * has given out. */
struct Step {
    static constexpr uint32_t kNone = (1u << 30) - 1;

    uint32_t index = kNone;
    Site queue = kNoSite;
};

/* The memory that a finding is about. `buffer`: of the InitBuffer, for a buffer of a TPipe. */
struct Place {
    Site buffer = kNoSite;
    std::string text;
};

/* One broken rule. `rule` is its id; `other` is the second place that takes part, if any. */
struct Finding {
    const char* rule;
    std::string text;
    Site site = kNoSite;
    Site other = kNoSite;
    Step step;
    Place place;

    using Key = std::tuple<std::string, Site, Site, Site>;
    Key key() const { return Key{rule, site, other, place.buffer}; }
};

/* Findings of one rule at the same places of the kernel: the first, and how often. */
struct Group {
    Finding first;
    std::set<uint32_t> steps; /* of one core */
    std::vector<uint32_t> cores;
    uint64_t tiles = 0;
};

/* The findings of a core, or of all cores, in the order in which they were made. */
class Report {
public:
    /* False when the same was found before. */
    bool add(Finding finding)
    {
        const auto known = numbers_.find(finding.key());
        if (known != numbers_.end()) {
            groups_[known->second].steps.insert(finding.step.index);
            return false;
        }
        if (groups_.size() < kMost) {
            numbers_.emplace(finding.key(), groups_.size());
            const uint32_t step = finding.step.index;
            groups_.push_back(Group{std::move(finding), {step}, {}, 0});
        }
        return true;
    }

    /* Takes the findings of `core` in; to be called core by core. */
    void merge(uint32_t core, const Report& found)
    {
        for (const Group& group : found.groups_) {
            const auto known = numbers_.try_emplace(group.first.key(), groups_.size());
            if (known.second) {
                groups_.push_back(Group{group.first, {}, {}, 0});
            }
            Group& whole = groups_[known.first->second];
            whole.cores.push_back(core);
            whole.tiles += group.steps.size() - group.steps.count(Step::kNone);
        }
    }

    bool empty() const { return groups_.empty(); }
    const std::vector<Group>& groups() const { return groups_; }

private:
    static constexpr size_t kMost = 64; /* of a core */

    std::map<Finding::Key, size_t> numbers_;
    std::vector<Group> groups_;
};

}  // namespace check
}  // namespace pypto_twin

#endif
