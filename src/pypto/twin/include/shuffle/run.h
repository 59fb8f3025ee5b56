/* Shuffled twin: carries a launch out. */
#ifndef PYPTO_TWIN_SHUFFLE_RUN_H
#define PYPTO_TWIN_SHUFFLE_RUN_H

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "../../../runtime/library/memory.h"
#include "stream.h"

namespace pypto_twin {
namespace shuffle {

namespace {

/* The launch that this thread carries out. */
thread_local Launch* active = nullptr;

constexpr uint8_t kJunk = 0xff; /* what memory holds before a kernel has written it: NaN, -1 */

/* Memory of a thread's streams, kept from launch to launch. */
class Pages {
public:
    explicit Pages(size_t bytes) : bytes_(bytes) {}

    uint8_t* of(size_t number)
    {
        while (number >= pages_.size()) {
            void* const made = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (made == MAP_FAILED) {
                pypto_runtime_library::fail("no memory for the streams of a shuffled launch");
            }
            pages_.push_back(static_cast<uint8_t*>(made));
        }
        return pages_[number];
    }

private:
    const size_t bytes_;
    std::vector<uint8_t*> pages_; /* never given back: a thread that launches will launch again */
};

constexpr size_t kUbUsed = 196608;
constexpr size_t kCubeUsed = 1048576;

thread_local Pages stacks(pypto_runtime_library::kStackBytes), vector_memory(kUbUsed), cube_memory(kCubeUsed);

void core_sync_all(PyptoCore*, int32_t aiv_only) { active->running()->sync_all(aiv_only != 0); }
void core_cross_wait(PyptoCore*, int32_t flag) { active->running()->cross_wait(static_cast<uint32_t>(flag)); }
void core_cross_set(PyptoCore*, int32_t, int32_t) {} /* hooks.h: that needs the pipe */

}  // namespace

inline Core::Core(Launch& of, uint32_t number_of_core, const PyptoCore& as)
    : launch(of), core(as), number(number_of_core)
{
    static const bool vector[kPipes] = {true, true, false, false, true, true, false, false};
    for (uint32_t pipe = 0; pipe < kPipes; ++pipe) {
        const bool exists = pipe != PIPE_ALL && (core.is_cube != 0 ? pipe != PIPE_V : vector[pipe]);
        lanes[pipe] = !exists ? 0 : pipe == PIPE_S ? 1 : 2;
        streams += lanes[pipe];
        barriers[pipe] = Tally(lanes[pipe]);
        for (Tally& order : orders[pipe]) {
            order = Tally(lanes[pipe]);
        }
    }
    all = arrived = Tally(streams);
    for (uint32_t event = 0; event < kEvents; ++event) {
        for (Tally& flag : flags[event]) {
            flag = Tally(lanes[ends_of(static_cast<HardEvent>(event)).source]);
        }
    }
}

inline Launch::Launch(const PyptoLaunch& launch, uint64_t seed)
    : launch_(launch), group_(group_of(launch.kind)), seed_(seed), strategy_(Strategy::of(seed)), chance_(seed)
{
    PyptoCore core{};
    core.block_num = launch.blocks;
    core.sub_block_num = group_.vectors != 0 ? group_.vectors : 1;
    core.flags = launch.flags;
    core.sync_all = core_sync_all;
    core.cross_set = core_cross_set;
    core.cross_wait = core_cross_wait;
    uint32_t number = 0;
    for (uint32_t block = 0; block < launch.blocks; ++block) {
        for (uint32_t i = 0; i < group_.cubes + group_.vectors; ++i) {
            core.is_cube = i < group_.cubes;
            core.sub_block_idx = core.is_cube != 0 ? 0 : i - group_.cubes;
            core.block_idx = core.is_cube != 0 ? block : block * group_.vectors + core.sub_block_idx;
            add_core(number++, core);
        }
    }
}

inline void Launch::add_core(uint32_t number, const PyptoCore& as)
{
    cores_.push_back(std::make_unique<Core>(*this, number, as));
    Core& core = *cores_.back();
    const bool cube = core.core.is_cube != 0;
    core.core.ub = cube ? cube_memory.of(number) : vector_memory.of(number);
    memset(core.core.ub, kJunk, cube ? kCubeUsed : kUbUsed);
    uint32_t index = 0;
    for (uint32_t pipe = 0; pipe < kPipes; ++pipe) {
        for (uint32_t lane = 0; lane < core.lanes[pipe]; ++lane) {
            uint8_t* const stack = stacks.of(streams_.size());
            streams_.push_back(std::make_unique<Stream>(core, static_cast<pipe_t>(pipe), lane, index++));
            Stream& stream = *streams_.back();
            stream.priority_ = chance_.next();
            stream.fiber_.prepare(stack + pypto_runtime_library::kStackBytes, &Launch::body, &stream);
            runnable_.push_back(&stream);
        }
    }
}

inline void Launch::body(void* argument)
{
    Stream& stream = *static_cast<Stream*>(argument);
    const PyptoLaunch& launch = stream.core_.launch.launch_;
    launch.stream(&stream.core_.core, launch.frame);
}

inline Stream* Launch::chosen()
{
    if (runnable_.empty() || stopped_) {
        return nullptr;
    }
    if (!strategy_.priorities) {
        return runnable_[chance_.below(static_cast<uint32_t>(runnable_.size()))];
    }
    if (running_ != nullptr && chance_.below(strategy_.change) == 0) {
        running_->priority_ = chance_.next();
    }
    return *std::max_element(runnable_.begin(), runnable_.end(),
                             [](const Stream* a, const Stream* b) { return a->priority_ < b->priority_; });
}

inline void Launch::run()
{
    Launch* const outer = active;
    State* const own = current;
    active = this;
    next_ = chosen();
    while (next_ != nullptr && !stopped_) {
        running_ = next_;
        running_->fiber_.resume();
        if (running_->fiber_.done()) {
            remove(running_);
            next_ = chosen();
        }
    }
    active = outer;
    current = own;
    if (!stopped_) {
        report_deadlock();
    }
}

inline void Launch::remove(const Stream* stream)
{
    const auto at = std::find(runnable_.begin(), runnable_.end(), stream);
    *at = runnable_.back();
    runnable_.pop_back();
}

inline void Launch::block(Stream* stream, Tally& tally, uint32_t times)
{
    remove(stream);
    stream->awaited_ = &tally;
    stream->times_ = times;
    stream->next_waiting_ = tally.waiting;
    tally.waiting = stream;
}

inline void Launch::wake(Tally& tally)
{
    Stream** link = &tally.waiting;
    while (*link != nullptr) {
        Stream* const stream = *link;
        if (stream->times_ > tally.given()) {
            link = &stream->next_waiting_;
            continue;
        }
        *link = stream->next_waiting_;
        stream->awaited_ = nullptr;
        runnable_.push_back(stream);
    }
}

inline void Launch::arrive(bool aiv_only)
{
    uint32_t members = 0;
    for (const auto& core : cores_) {
        members += !aiv_only || core->core.is_cube == 0;
    }
    if (++arrived_[aiv_only] == members) {
        arrived_[aiv_only] = 0;
        Tally& tally = together_[aiv_only];
        tally.raise(tally.given() + 1);
        wake(tally);
    }
}

inline void Launch::raise(uint32_t flag)
{
    for (const auto& core : cores_) {
        core->cross[flag].raise(raised(*core, flag));
        wake(core->cross[flag]);
    }
}

/* For each mode the sets that all cores which it combines have made. */
inline uint32_t Launch::raised(const Core& core, uint32_t flag) const
{
    const uint32_t size = group_.cubes + group_.vectors;
    const bool cube = core.core.is_cube != 0;
    uint32_t total = 0;
    for (uint32_t mode = 0; mode < kModes; ++mode) {
        uint32_t least = ~0u;
        for (const auto& other : cores_) {
            const bool other_cube = other->core.is_cube != 0;
            const bool near = other->number / size == core.number / size;
            const bool counts = mode == 0   ? other_cube == cube
                                : mode == 1 ? near && !cube && !other_cube
                                            : near && other_cube != cube;
            least = counts ? std::min(least, other->sets[mode][flag]) : least;
        }
        total += least == ~0u ? 0 : least;
    }
    return total;
}

inline void Launch::find(const Stream& stream, const char* rule, const std::string& text)
{
    const PyptoCore& core = stream.core_.core;
    const char* const unit = group_.cubes == 0 || group_.vectors == 0 ? "core " : core.is_cube != 0 ? "AIC " : "AIV ";
    const std::string name = unit + std::to_string(core.block_idx);
    std::string places;
    for (const void* const address : stream.place_) {
        char buffer[24];
        snprintf(buffer, sizeof buffer, "%s%p", places.empty() ? "" : " ", address);
        places += address != nullptr ? buffer : "";
    }
    const std::array<std::string, 3> what{rule, text, places};
    for (auto& [known, cores] : found_) {
        if (known == what) { /* two lanes of a pipe wait at one place, or several cores */
            cores += ("," + cores + ",").find("," + name + ",") == std::string::npos ? "," + name : "";
            return;
        }
    }
    found_.emplace_back(what, name);
}

/* A row as the checked build's: rule, cores, message, memory, tiles, tile, then the places, and three
 * places that are not known. */
inline std::string Launch::report() const
{
    std::string text;
    for (const auto& [what, cores] : found_) {
        text += what[0] + "\t" + cores + "\t" + what[1] + "\t\t0\t\t" + what[2] + "\t\t\t\n";
    }
    return text;
}

inline void Launch::stop(const Stream& stream, const char* what)
{
    stopped_ = true;
    find(stream, "stopped", std::string(what) + ", in the order of seed " + std::to_string(seed_));
}

inline void Launch::report_deadlock()
{
    for (const auto& stream : streams_) {
        if (stream->awaited_ == nullptr) {
            continue;
        }
        const Cause& cause = stream->cause_;
        std::string call = cause.call;
        if (cause.event != HardEvent::MAX) {
            const Ends ends = ends_of(cause.event);
            call += std::string("<") + name_of(ends.source) + "_" + name_of(ends.target) + ">";
        }
        if (cause.id >= 0) {
            call += "(" + std::to_string(cause.id) + ")";
        }
        find(*stream, "deadlock", std::string("pipe ") + name_of(stream->pipe_) + " waits for ever in " + call +
                                      ", in the order of seed " + std::to_string(seed_));
    }
}

}  // namespace shuffle
}  // namespace pypto_twin

#endif
