/* A launch in progress: its streams, who has taken which, and how they wait for one another. */
#ifndef PYPTO_RUNTIME_JOB_H
#define PYPTO_RUNTIME_JOB_H

#include <condition_variable>
#include <memory>
#include <mutex>

#include "common.h"
#include "fiber.h"

namespace pypto_runtime_library {

class Guard;
class Job;

constexpr uint32_t kFlags = 16; /* cross-core flags of a core */
constexpr uint32_t kModes = 3;  /* CrossCoreSetFlag modes */

/* A core of a launch that may synchronise. Runs as a fiber of the thread that started it. */
struct Stream {
    enum class Wait : uint8_t { nothing, barrier, flag };

    PyptoCore core;
    Job* job;
    Fiber fiber;
    uint32_t index;
    uint32_t group;
    Wait wait;
    bool wait_aiv_only;
    bool stopped; /* ended by PyptoCore.stop, or by a fault */
    const uint8_t* stack_top;
    PyptoFault fault;       /* kind 0: none */
    uint64_t work;          /* instructions at the last tick of its time (guard.h) */
    uint32_t ticks, idle;   /* of its time: all, and since it last did any work */
    uint32_t wait_generation;
    uint32_t wait_flag;
    uint32_t consumed[kFlags];              /* waits done */
    std::atomic<uint32_t> sets[kModes][kFlags]; /* CrossCoreSetFlag calls of this core */
};

/* All `members` streams arrive before any goes on. */
struct Barrier {
    uint32_t members;
    std::atomic<uint32_t> arrived;
    std::atomic<uint32_t> finished; /* members that have ended */
    std::atomic<uint32_t> generation;
};

class Job {
public:
    /* Number of streams that `launch` consists of. */
    static uint32_t stream_count(const PyptoLaunch& launch);
    /* Whether its kind allows streams to wait for one another. */
    static bool may_synchronise(const PyptoLaunch& launch);
    /* Runs one stream of a kind that cannot wait, from start to end, on the calling thread. */
    static void run_plain(const PyptoLaunch& launch, uint32_t index);

    /* Makes the streams of `launch` available to participants; `participants` share them. */
    void open(const PyptoLaunch& launch, uint32_t participants, Guard* guard = nullptr);
    bool has_unclaimed() const { return static_cast<uint32_t>(claim_.load()) != 0; }
    /* Takes streams and runs them to their end until none is left to take. */
    void participate();
    /* Returns when every stream has ended. */
    void wait_all();

private:
    bool claim(uint32_t epoch, uint32_t* index);
    void run_fibers(uint32_t epoch, uint32_t first);
    void start(Stream& stream, size_t slot);
    void resume(Stream& stream);
    void finish(Stream& stream);
    void end_stream();
    bool ready(const Stream& stream) const;
    uint32_t available(const Stream& stream, uint32_t flag) const;
    Barrier& barrier(bool aiv_only) { return aiv_only ? aiv_barrier_ : all_barrier_; }
    void notify();
    void idle(uint32_t seen, uint32_t rounds);

    static void body(void* stream);
    static void sync_all(PyptoCore* core, int32_t aiv_only);
    static void cross_set(PyptoCore* core, int32_t mode, int32_t flag);
    static void cross_wait(PyptoCore* core, int32_t flag);
    static void stop(PyptoCore* core);

    PyptoLaunch launch_{};
    Guard* guard_ = nullptr; /* of a launch with `stuck` */
    uint32_t total_ = 0;
    uint32_t share_ = 0; /* streams that a participant takes while it still has waiting ones */
    std::atomic<uint64_t> claim_{0}; /* epoch of the launch << 32 | streams nobody has taken */
    std::atomic<uint32_t> unfinished_{0};
    std::unique_ptr<Stream[]> streams_; /* only of launches that may synchronise */
    uint32_t capacity_ = 0;
    Barrier aiv_barrier_{}, all_barrier_{};

    std::atomic<uint32_t> events_{0}; /* changes whenever a waiting stream may have become ready */
    std::atomic<uint32_t> sleepers_{0};
    std::mutex mutex_;
    std::condition_variable changed_;
};

}  // namespace pypto_runtime_library

#endif
