/* Shuffled twin: the streams of a core, what orders them, and the launch that they belong to. */
#ifndef PYPTO_TWIN_SHUFFLE_CORE_H
#define PYPTO_TWIN_SHUFFLE_CORE_H

#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../../../runtime/library/fiber.h"
#include "../core.h"
#include "tally.h"

namespace pypto_twin {
namespace shuffle {

using AscendC::HardEvent;
using AscendC::TPosition;

constexpr uint32_t kPipes = 8;
constexpr uint32_t kEvents = static_cast<uint32_t>(HardEvent::MAX);
constexpr uint32_t kIds = 8;
constexpr uint32_t kModes = 3;
constexpr uint32_t kCrossFlags = 16;
constexpr uint32_t kDepth = 6; /* of a place */

struct Ends {
    pipe_t source, target;
};

/* A buffer of a queue: its producer waits until the consumer has freed it, and the other way. */
struct Buffer {
    pipe_t producer, consumer;
    Tally filled, freed;
};

/* Where on the way through its program a stream stands with one buffer. */
struct Use {
    uint64_t begin, end; /* addresses */
    uint32_t dequeued, allocated;
};

class Launch;

/* What a stream waits for, as a message says it: the call, its event and its id. */
struct Cause {
    const char* call = "";
    HardEvent event = HardEvent::MAX;
    int32_t id = -1;
};

/* One core: everything by which its streams wait for one another. */
struct Core {
    Core(Launch& of, uint32_t number, const PyptoCore& as);

    Launch& launch;
    PyptoCore core;
    uint32_t number;
    uint32_t lanes[kPipes]; /* streams of each pipe */
    uint32_t streams = 0;

    Tally barriers[kPipes];
    Tally orders[kPipes][kPipes]; /* that a unit keeps by itself: earlier, later */
    Tally all;     /* PipeBarrier<PIPE_ALL> */
    Tally arrived; /* at SyncAll */
    Tally scalar;  /* values that the scalar unit has read, and waits of its that are over */
    Tally vector;  /* values that the vector pipe has left in registers */
    std::vector<uint64_t> scalar_values, vector_values;
    Tally flags[kEvents][kIds];
    std::vector<std::unique_ptr<Buffer>> buffers; /* in the order in which they were made */
    std::map<uint32_t, Tally> cross_sets; /* by mode, flag and pipe */
    uint32_t sets[kModes][kCrossFlags] = {};
    Tally cross[kCrossFlags]; /* how often each flag has been raised for this core */
};

/* One lane of a pipe. Two instructions of a pipe that no barrier divides may go to two lanes, and so
 * swap. */
class Stream {
public:
    Stream(Core& core, pipe_t pipe, uint32_t lane, uint32_t index)
        : core_(core), pipe_(pipe), lane_(lane), index_(index)
    {
    }
    Stream(const Stream&) = delete;

    bool turn(pipe_t pipe, bool everywhere);
    bool scalar_turn();
    void from_scalar(void* value, uint32_t bytes);
    void from_vector(void* value, uint32_t bytes);
    void ordered(pipe_t earlier, pipe_t later);
    void barrier(pipe_t pipe);
    void set_flag(HardEvent event, int32_t id);
    void wait_flag(HardEvent event, int32_t id);
    void sync_all(bool aiv_only);
    void cross_set(uint32_t mode, pipe_t pipe, uint32_t flag);
    void cross_wait(uint32_t flag);
    void add_buffer(TPosition position, const void* address, uint64_t bytes, TPosition target);
    void queue_event(check::QueueEvent what, const void* address);
    [[noreturn]] void stop(const char* what);

private:
    friend class Launch;

    void pause();
    void give(Tally& tally, uint32_t giver);
    void wait(Tally& tally, uint32_t times, const Cause& cause);
    void note_place();

    Core& core_;
    const pipe_t pipe_;
    const uint32_t lane_;
    const uint32_t index_; /* among the streams of its core */
    uint32_t issued_ = 0;  /* instructions of its pipe that it has come to */
    uint32_t vector_instructions_ = 0, last_vector_lane_ = 0; /* where that is another pipe */
    uint32_t barriers_ = 0, alls_ = 0, syncs_[2] = {}, scalars_ = 0, vectors_ = 0;
    uint32_t orders_[kPipes][kPipes] = {};
    uint16_t flag_waits_[kEvents][kIds] = {};
    uint32_t cross_waits_[kCrossFlags] = {};
    std::vector<Use> uses_; /* of the core's buffers, in their order */

    pypto_runtime_library::Fiber fiber_;
    uint64_t priority_ = 0;
    Tally* awaited_ = nullptr;
    uint32_t times_ = 0;
    Stream* next_waiting_ = nullptr;
    Cause cause_;
    const void* place_[kDepth] = {};
};

}  // namespace shuffle
}  // namespace pypto_twin

#endif
