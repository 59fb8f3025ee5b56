/* Shuffled twin: one launch: which stream goes on, and what came of it. */
#ifndef PYPTO_TWIN_SHUFFLE_LAUNCH_STATE_H
#define PYPTO_TWIN_SHUFFLE_LAUNCH_STATE_H

#include "core.h"

namespace pypto_twin {
namespace shuffle {

/* Cores of a group. */
struct Group {
    uint32_t cubes, vectors;
};
inline Group group_of(uint32_t kind)
{
    switch (kind) {
        case PYPTO_CUBE:
        case PYPTO_MIX_1_0: return Group{1, 0};
        case PYPTO_MIX_1_1: return Group{1, 1};
        case PYPTO_MIX_1_2: return Group{1, 2};
        default: return Group{0, 1};
    }
}

class Launch {
public:
    Launch(const PyptoLaunch& launch, uint64_t seed);
    Launch(const Launch&) = delete;

    /* Runs all streams to their end, or as far as they come. */
    void run();
    /* What went wrong, a finding a line, as pypto_check_report tells it. */
    std::string report() const;
    Stream* running() const { return running_; }

    /* Whether `stream` itself is the next to run. */
    bool goes_on(const Stream* stream)
    {
        next_ = chosen();
        return next_ == stream;
    }
    void wake(Tally& tally);
    void block(Stream* stream, Tally& tally, uint32_t times);
    void stop(const Stream& stream, const char* what);

    /* The lane of a pipe that the instruction `number` goes to. */
    uint32_t lane_of(const Core& core, pipe_t pipe, uint32_t number) const
    {
        if (core.lanes[pipe] < 2 || strategy_.aside == 0) {
            return 0;
        }
        const uint64_t place = (uint64_t{core.number} * kPipes + pipe) << 32 | number;
        return Chance::mixed(place ^ Chance::mixed(seed_)) % strategy_.aside == 0;
    }

    /* A core has come to SyncAll. */
    void arrive(bool aiv_only);
    Tally& together(bool aiv_only) { return together_[aiv_only]; }

    /* A core has set `flag`: how often it has been raised for each. */
    void raise(uint32_t flag);

private:
    void add_core(uint32_t number, const PyptoCore& core);
    Stream* chosen();
    void remove(const Stream* stream);
    void find(const Stream& stream, const char* rule, const std::string& text);
    void report_deadlock();
    uint32_t raised(const Core& core, uint32_t flag) const;
    static void body(void* stream);

    const PyptoLaunch& launch_;
    const Group group_;
    const uint64_t seed_;
    const Strategy strategy_;
    Chance chance_;
    std::vector<std::unique_ptr<Core>> cores_;
    std::vector<std::unique_ptr<Stream>> streams_;
    std::vector<Stream*> runnable_;
    Stream* running_ = nullptr;
    Stream* next_ = nullptr;
    Tally together_[2];
    uint32_t arrived_[2] = {};
    bool stopped_ = false;
    /* What was found: rule, message and places; the cores that it was found on. */
    std::vector<std::pair<std::array<std::string, 3>, std::string>> found_;
};

}  // namespace shuffle
}  // namespace pypto_twin

#endif
