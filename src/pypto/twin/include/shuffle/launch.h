/* Shuffled twin: part of the object file that kernels of this build are linked with. */
#ifndef PYPTO_TWIN_SHUFFLE_LAUNCH_H
#define PYPTO_TWIN_SHUFFLE_LAUNCH_H

#include <cstdlib>
#include <mutex>

#include "../../../runtime/library/fiber.cpp"
#include "run.h"

namespace pypto_runtime_library {

[[noreturn]] void fail(const char* what) { pypto_twin::fail(what); }

}  // namespace pypto_runtime_library

namespace pypto_twin {
namespace shuffle {

Stream* begin() { return active->running(); }
bool turn(Stream* stream, pipe_t pipe, bool everywhere) { return stream->turn(pipe, everywhere); }
bool scalar_turn(Stream* stream) { return stream->scalar_turn(); }
void from_scalar(Stream* stream, void* value, uint32_t bytes) { stream->from_scalar(value, bytes); }
void from_vector(Stream* stream, void* value, uint32_t bytes) { stream->from_vector(value, bytes); }
void ordered(Stream* stream, pipe_t earlier, pipe_t later) { stream->ordered(earlier, later); }
void barrier(Stream* stream, pipe_t pipe) { stream->barrier(pipe); }
void set_flag(Stream* stream, HardEvent event, int32_t id) { stream->set_flag(event, id); }
void wait_flag(Stream* stream, HardEvent event, int32_t id) { stream->wait_flag(event, id); }
void cross_set(Stream* stream, uint32_t mode, pipe_t pipe, uint32_t flag)
{
    stream->cross_set(mode, pipe, flag);
}
void add_buffer(Stream* stream, TPosition position, const void* address, uint64_t bytes, TPosition target)
{
    stream->add_buffer(position, address, bytes, target);
}
void queue_event(Stream* stream, check::QueueEvent what, const void* address)
{
    stream->queue_event(what, address);
}
void stop(Stream* stream, const char* what) { stream->stop(what); }

namespace {

constexpr uint64_t kNone = ~uint64_t{0};

/* The orders that the next launch of this thread tries, and what it must compute in each. */
struct Trials {
    uint64_t first, count;
    const void* const* expected; /* of each argument, nullptr: not compared; nullptr: none is */
};
thread_local Trials trials{0, 0, nullptr};
thread_local uint64_t found = kNone; /* the first seed that computed something else, or nothing */

std::mutex last_mutex;
std::string last_report; /* of the launches since it was taken */

uint64_t seed_of_environment()
{
    static const uint64_t seed = [] {
        const char* const text = getenv("PYPTO_TWIN_SEED");
        return text != nullptr ? strtoull(text, nullptr, 10) : 0;
    }();
    return seed;
}

/* What the arguments held before the launch. */
class Originals {
public:
    Originals(const check::Argument* arguments, uint32_t count) : arguments_(arguments)
    {
        for (uint32_t i = 0; i < count; ++i) {
            const bool given = strcmp(arguments[i].name, "workspace") != 0;
            bytes_.emplace_back(given ? *arguments[i].pointer : nullptr,
                                given ? *arguments[i].pointer + arguments[i].bytes : nullptr);
        }
    }

    void restore() const
    {
        for (size_t i = 0; i < bytes_.size(); ++i) {
            const check::Argument& argument = arguments_[i];
            if (argument.bytes == 0) {
                continue; /* an empty tensor may have no memory */
            }
            if (bytes_[i].empty()) {
                memset(*argument.pointer, kJunk, argument.bytes);
            } else {
                memcpy(*argument.pointer, bytes_[i].data(), argument.bytes);
            }
        }
    }

    bool match(const void* const* expected) const
    {
        for (size_t i = 0; i < bytes_.size(); ++i) {
            if (expected[i] != nullptr && arguments_[i].bytes != 0 &&
                memcmp(*arguments_[i].pointer, expected[i], arguments_[i].bytes) != 0) {
                return false;
            }
        }
        return true;
    }

private:
    const check::Argument* arguments_;
    std::vector<std::vector<uint8_t>> bytes_;
};

}  // namespace

int32_t launch(const PyptoLaunch* asked, const check::Argument* arguments, uint32_t count,
               bool any_blocks)
{
    Trials tried{seed_of_environment(), 1, nullptr};
    if (trials.count != 0) {
        tried = trials;
        trials.count = 0;
    }
    const Originals originals(arguments, count);
    found = kNone;
    for (uint64_t seed = tried.first; seed - tried.first < tried.count && found == kNone; ++seed) {
        originals.restore();
        PyptoLaunch request = *asked;
        if (any_blocks) {
            request.blocks = 1 + static_cast<uint32_t>(Chance::mixed(seed + 1) % 4);
        }
        Launch one(request, seed);
        one.run();
        if (!one.report().empty() || (tried.expected != nullptr && !originals.match(tried.expected))) {
            found = seed;
            const std::lock_guard<std::mutex> lock(last_mutex);
            last_report += one.report();
            return one.report().empty() ? PYPTO_OK : PYPTO_UNLAWFUL;
        }
    }
    return PYPTO_OK;
}

}  // namespace shuffle
}  // namespace pypto_twin

/* The next launch of this thread tries `count` orders, from seed `first` on, until one of them leaves
 * its arguments other than `expected`. */
extern "C" __attribute__((visibility("default"))) void pypto_shuffle_trials(uint64_t first, uint64_t count,
                                                                            const void* const* expected)
{
    pypto_twin::shuffle::trials = {first, count, expected};
}

/* The seed of that order; all bits set: there was none. */
extern "C" __attribute__((visibility("default"))) uint64_t pypto_shuffle_found(void)
{
    return pypto_twin::shuffle::found;
}

/* Takes what went wrong since the last call: a text that the next call overwrites. */
extern "C" __attribute__((visibility("default"))) const char* pypto_check_report(void)
{
    static thread_local std::string taken;
    const std::lock_guard<std::mutex> lock(pypto_twin::shuffle::last_mutex);
    taken.swap(pypto_twin::shuffle::last_report);
    pypto_twin::shuffle::last_report.clear();
    return taken.c_str();
}

#endif
