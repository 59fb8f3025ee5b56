/* Checked twin: what was found, and where in the kernel. */
#ifndef PYPTO_TWIN_CHECK_REPORT_H
#define PYPTO_TWIN_CHECK_REPORT_H

#include <stdint.h>

#include <array>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace pypto_twin {
namespace check {

/* Call stacks, each once: the places of instructions. A place is given out as a number. */
class Sites {
public:
    static constexpr uint32_t kDepth = 6;
    using Stack = std::array<const void*, kDepth>;

    uint32_t of(const Stack& stack)
    {
        const auto found = numbers_.try_emplace(stack, static_cast<uint32_t>(stacks_.size()));
        if (found.second) {
            stacks_.push_back(stack);
        }
        return found.first->second;
    }
    const Stack& stack(uint32_t site) const { return stacks_[site]; }

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
    using Numbers = std::unordered_map<Stack, uint32_t, Hash>;

private:
    Numbers numbers_;
    std::vector<Stack> stacks_;
};

/* One broken rule. `rule` is its id; `other` is the second place that takes part, if any. */
struct Finding {
    const char* rule;
    std::string text;
    uint32_t site;
    uint32_t other;
    int64_t core;
};

constexpr uint32_t kNoSite = ~0u;

/* The findings of a launch, each pair of places once. */
class Report {
public:
    void add(const Finding& finding)
    {
        if (findings_.size() < kMost && seen_.insert({finding.rule, finding.site, finding.other}).second) {
            findings_.push_back(finding);
        }
    }
    const std::vector<Finding>& findings() const { return findings_; }

private:
    static constexpr size_t kMost = 64;

    std::set<std::tuple<std::string, uint32_t, uint32_t>> seen_;
    std::vector<Finding> findings_;
};

}  // namespace check
}  // namespace pypto_twin

#endif
