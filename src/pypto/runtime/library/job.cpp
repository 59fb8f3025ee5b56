#include "job.h"

#include <chrono>
#include <vector>

#include "guard.h"
#include "memory.h"

namespace pypto_runtime_library {

namespace {

constexpr uint32_t kSpin = 4000;        /* pauses before a waiting thread sleeps: some 50 us */
constexpr uint32_t kPatience = 4;       /* idle rounds before a thread takes more than its share */
constexpr auto kSleep = std::chrono::milliseconds(1);

uint32_t aivs_per_group(uint32_t kind)
{
    switch (kind) {
        case PYPTO_CUBE:
        case PYPTO_MIX_1_0: return 0;
        case PYPTO_MIX_1_2: return 2;
        default: return 1;
    }
}

uint32_t aics_per_group(uint32_t kind) { return kind == PYPTO_VECTOR || kind == PYPTO_MIX_0_1 ? 0 : 1; }

void refuse_sync(PyptoCore*, int32_t)
{
    fail("SyncAll in a kernel whose kind has no synchronisation between blocks");
}
void refuse_set(PyptoCore*, int32_t, int32_t)
{
    fail("CrossCoreSetFlag in a kernel whose kind has no synchronisation between blocks");
}
void refuse_wait(PyptoCore*, int32_t)
{
    fail("CrossCoreWaitFlag in a kernel whose kind has no synchronisation between blocks");
}

/* The index-th core of a launch: an AIC of its group first, then its AIVs. */
void describe_core(const PyptoLaunch& launch, uint32_t index, PyptoCore* core, uint32_t* group)
{
    const uint32_t aivs = aivs_per_group(launch.kind), aics = aics_per_group(launch.kind);
    const uint32_t member = index % (aivs + aics);
    *group = index / (aivs + aics);
    const bool cube = member < aics;
    const uint32_t sub = cube ? 0 : member - aics;
    *core = PyptoCore{};
    core->is_cube = cube ? 1 : 0;
    core->block_num = launch.blocks;
    core->sub_block_idx = sub;
    core->sub_block_num = cube || aivs == 0 ? 1 : aivs;
    core->block_idx = static_cast<int64_t>(*group) * core->sub_block_num + sub;
    core->flags = launch.flags;
}

void end_of_stream(const PyptoCore& core)
{
    if ((core.flags & PYPTO_STREAM_STORES) != 0) {
        store_fence();
    }
    merge_counters(core);
}

}  // namespace

uint32_t Job::stream_count(const PyptoLaunch& launch)
{
    return launch.blocks * (aivs_per_group(launch.kind) + aics_per_group(launch.kind));
}

bool Job::may_synchronise(const PyptoLaunch& launch)
{
    return launch.stuck != nullptr || (launch.kind != PYPTO_VECTOR && launch.kind != PYPTO_CUBE);
}

void Job::run_plain(const PyptoLaunch& launch, uint32_t index)
{
    PyptoCore core;
    uint32_t group = 0;
    describe_core(launch, index, &core, &group);
    core.ub = core.is_cube != 0 ? on_chip().cube(0) : on_chip().ub(0);
    core.sync_all = refuse_sync;
    core.cross_set = refuse_set;
    core.cross_wait = refuse_wait;
    launch.stream(&core, launch.frame);
    end_of_stream(core);
}

void Job::open(const PyptoLaunch& launch, uint32_t participants, Guard* guard)
{
    launch_ = launch;
    guard_ = guard;
    total_ = stream_count(launch);
    share_ = (total_ + participants - 1) / participants;
    if (may_synchronise(launch)) {
        if (capacity_ < total_) {
            streams_.reset(new Stream[total_]);
            capacity_ = total_;
        }
        uint32_t aivs = 0;
        for (uint32_t i = 0; i < total_; ++i) {
            Stream& stream = streams_[i];
            describe_core(launch, i, &stream.core, &stream.group);
            stream.job = this;
            stream.index = i;
            stream.wait = Stream::Wait::nothing;
            stream.stopped = false;
            stream.fault = PyptoFault{};
            stream.work = stream.ticks = stream.idle = 0;
            stream.core.owner = &stream;
            stream.core.sync_all = &Job::sync_all;
            stream.core.cross_set = &Job::cross_set;
            stream.core.cross_wait = &Job::cross_wait;
            stream.core.stop = &Job::stop;
            aivs += stream.core.is_cube != 0 ? 0 : 1;
            for (uint32_t flag = 0; flag < kFlags; ++flag) {
                stream.consumed[flag] = 0;
                for (auto& mode : stream.sets) {
                    mode[flag].store(0, std::memory_order_relaxed);
                }
            }
        }
        aiv_barrier_.members = aivs;
        all_barrier_.members = total_;
        for (Barrier* b : {&aiv_barrier_, &all_barrier_}) {
            b->arrived.store(0, std::memory_order_relaxed);
            b->finished.store(0, std::memory_order_relaxed);
        }
    }
    unfinished_.store(total_, std::memory_order_relaxed);
    const uint64_t epoch = (claim_.load(std::memory_order_relaxed) >> 32) + 1;
    claim_.store((epoch & 0xffffffffu) << 32 | total_);
}

/* A claimed stream pins the launch: it cannot end, nor its fields change, before that stream does.
 * The epoch keeps a thread that comes late from taking streams of the next launch by mistake. */
bool Job::claim(uint32_t epoch, uint32_t* index)
{
    uint64_t seen = claim_.load();
    for (;;) {
        const uint32_t left = static_cast<uint32_t>(seen);
        if (static_cast<uint32_t>(seen >> 32) != epoch || left == 0) {
            return false;
        }
        if (claim_.compare_exchange_weak(seen, seen - 1)) {
            *index = total_ - left;
            return true;
        }
    }
}

void Job::participate()
{
    const uint32_t epoch = static_cast<uint32_t>(claim_.load() >> 32);
    uint32_t index = 0;
    while (claim(epoch, &index)) {
        if (may_synchronise(launch_)) {
            run_fibers(epoch, index);
            return;
        }
        run_plain(launch_, index);
        end_stream();
    }
}

void Job::start(Stream& stream, size_t slot)
{
    stream.core.ub = stream.core.is_cube != 0 ? on_chip().cube(slot) : on_chip().ub(slot);
    uint8_t* const top = on_chip().stack(slot);
    stream.stack_top = top;
    stream.fiber.prepare(top, &Job::body, &stream);
}

void Job::body(void* argument)
{
    Stream* const stream = static_cast<Stream*>(argument);
    const PyptoLaunch& launch = stream->job->launch_;
    launch.stream(&stream->core, launch.frame);
}

/* Runs the stream until it waits or ends, be it by a fault. */
void Job::resume(Stream& stream)
{
    stream.wait = Stream::Wait::nothing;
    if (guard_ == nullptr) {
        stream.fiber.resume();
        return;
    }
    guard_->enter(stream);
    stream.fiber.resume();
    guard_->leave();
    if (stream.fault.kind != 0) {
        stream.stopped = true;
        launch_.fault(&stream.core, &stream.fault);
    }
}

/* Runs the ready ones of this thread's streams in turn and takes new ones when none is ready. */
void Job::run_fibers(uint32_t epoch, uint32_t first)
{
    std::vector<Stream*> mine;
    size_t slots = 0; /* streams started here so far; each keeps its memory to the end */
    uint32_t rounds = 0;
    start(streams_[first], slots++);
    mine.push_back(&streams_[first]);
    for (;;) {
        const uint32_t seen = events_.load();
        bool progress = false;
        for (size_t i = 0; i < mine.size();) {
            Stream& stream = *mine[i];
            if (ready(stream)) {
                progress = true;
                resume(stream);
                if (stream.core.expired != 0) { /* the others would only take as long */
                    for (Stream* const one : mine) {
                        finish(*one);
                    }
                    return;
                }
                if (stream.fiber.done() || stream.stopped) {
                    mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(i));
                    finish(stream);
                    continue;
                }
            }
            ++i;
        }
        if (progress) {
            rounds = 0;
            continue;
        }
        uint32_t index = 0;
        const bool wants_more = mine.empty() || slots < share_ || rounds >= kPatience;
        if (wants_more && claim(epoch, &index)) {
            start(streams_[index], slots++);
            mine.push_back(&streams_[index]);
        } else if (mine.empty()) {
            return;
        } else if (launch_.stuck != nullptr) { /* no other thread could wake them */
            for (Stream* const stream : mine) {
                launch_.stuck(&stream->core);
                finish(*stream);
            }
            return;
        } else {
            idle(seen, rounds++);
        }
    }
}

/* A stream that ends while others wait in a barrier that needs it would leave them there forever. */
void Job::finish(Stream& stream)
{
    const bool aiv = stream.core.is_cube == 0;
    for (const bool aiv_only : {true, false}) {
        Barrier& b = barrier(aiv_only);
        if (aiv || !aiv_only) {
            b.finished.fetch_add(1);
            if (b.arrived.load() != 0 && launch_.stuck == nullptr) {
                fail("a core has ended while others wait for it in SyncAll");
            }
        }
    }
    end_of_stream(stream.core);
    end_stream();
}

void Job::end_stream()
{
    /* A late sleeper is woken through the lock: this object outlives the launch. */
    if (unfinished_.fetch_sub(1) == 1) {
        notify();
    }
}

void Job::notify()
{
    events_.fetch_add(1);
    if (sleepers_.load() != 0) {
        { std::lock_guard<std::mutex> lock(mutex_); }
        changed_.notify_all();
    }
}

void Job::idle(uint32_t seen, uint32_t rounds)
{
    if (rounds == 0) {
        for (uint32_t i = 0; i < kSpin; ++i) {
            if (events_.load() != seen) {
                return;
            }
            pause();
        }
    }
    std::unique_lock<std::mutex> lock(mutex_);
    sleepers_.fetch_add(1);
    changed_.wait_for(lock, kSleep, [&] { return events_.load() != seen; });
    sleepers_.fetch_sub(1);
}

void Job::wait_all()
{
    for (uint32_t i = 0; i < kSpin && unfinished_.load() != 0; ++i) {
        pause();
    }
    if (unfinished_.load() != 0) {
        std::unique_lock<std::mutex> lock(mutex_);
        sleepers_.fetch_add(1);
        changed_.wait(lock, [&] { return unfinished_.load() == 0; });
        sleepers_.fetch_sub(1);
    }
}

bool Job::ready(const Stream& stream) const
{
    switch (stream.wait) {
        case Stream::Wait::barrier: {
            const Barrier& b = stream.wait_aiv_only ? aiv_barrier_ : all_barrier_;
            return b.generation.load() != stream.wait_generation;
        }
        case Stream::Wait::flag:
            return available(stream, stream.wait_flag) > stream.consumed[stream.wait_flag];
        default: return true;
    }
}

/* Times that `flag` has been raised for this core: for each mode, the sets that all of the cores
 * it combines have made. */
uint32_t Job::available(const Stream& stream, uint32_t flag) const
{
    const uint32_t members = aivs_per_group(launch_.kind) + aics_per_group(launch_.kind);
    const bool cube = stream.core.is_cube != 0;
    uint32_t least[kModes] = {~0u, ~0u, ~0u};
    for (uint32_t i = 0; i < total_; ++i) {
        const Stream& other = streams_[i];
        const bool other_cube = other.core.is_cube != 0;
        const bool group = i / members == stream.group;
        const bool takes_part[kModes] = {other_cube == cube, group && !cube && !other_cube,
                                         group && other_cube != cube};
        for (uint32_t mode = 0; mode < kModes; ++mode) {
            if (takes_part[mode]) {
                const uint32_t sets = other.sets[mode][flag].load();
                least[mode] = sets < least[mode] ? sets : least[mode];
            }
        }
    }
    uint32_t sum = 0;
    for (const uint32_t sets : least) {
        sum += sets == ~0u ? 0 : sets;
    }
    return sum;
}

void Job::sync_all(PyptoCore* core, int32_t aiv_only)
{
    Stream& stream = *static_cast<Stream*>(core->owner);
    Job& job = *stream.job;
    if (aiv_only != 0 && core->is_cube != 0) {
        fail("SyncAll<true> on a cube core");
    }
    Barrier& b = job.barrier(aiv_only != 0);
    if ((core->flags & PYPTO_STREAM_STORES) != 0) {
        store_fence();
    }
    const uint32_t generation = b.generation.load();
    if (b.arrived.fetch_add(1) + 1 == b.members) {
        b.arrived.store(0);
        b.generation.fetch_add(1);
        job.notify();
        return;
    }
    if (b.finished.load() != 0 && job.launch_.stuck == nullptr) {
        fail("SyncAll waits for a core that has ended");
    }
    stream.wait = Stream::Wait::barrier;
    stream.wait_aiv_only = aiv_only != 0;
    stream.wait_generation = generation;
    stream.fiber.yield();
}

void Job::cross_set(PyptoCore* core, int32_t mode, int32_t flag)
{
    Stream& stream = *static_cast<Stream*>(core->owner);
    if (mode < 0 || mode >= static_cast<int32_t>(kModes) || flag < 0 ||
        flag >= static_cast<int32_t>(kFlags)) {
        fail("CrossCoreSetFlag: modes are 0..2, flags 0..15");
    }
    if ((core->flags & PYPTO_STREAM_STORES) != 0) {
        store_fence();
    }
    stream.sets[mode][flag].fetch_add(1);
    stream.job->notify();
}

void Job::cross_wait(PyptoCore* core, int32_t flag)
{
    Stream& stream = *static_cast<Stream*>(core->owner);
    if (flag < 0 || flag >= static_cast<int32_t>(kFlags)) {
        fail("CrossCoreWaitFlag: flags are 0..15");
    }
    const uint32_t number = static_cast<uint32_t>(flag);
    if (stream.job->available(stream, number) <= stream.consumed[number]) {
        stream.wait = Stream::Wait::flag;
        stream.wait_flag = number;
        stream.fiber.yield();
    }
    ++stream.consumed[number];
}

void Job::stop(PyptoCore* core)
{
    Stream& stream = *static_cast<Stream*>(core->owner);
    stream.stopped = true;
    stream.fiber.yield();
    fail("a stopped stream was resumed");
}

}  // namespace pypto_runtime_library
