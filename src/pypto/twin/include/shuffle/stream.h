/* Shuffled twin: what a stream does where its program says so. */
#ifndef PYPTO_TWIN_SHUFFLE_STREAM_H
#define PYPTO_TWIN_SHUFFLE_STREAM_H

#include "launch_state.h"

namespace pypto_twin {
namespace shuffle {

inline const char* name_of(pipe_t pipe)
{
    switch (pipe) {
        case PIPE_S: return "S";
        case PIPE_V: return "V";
        case PIPE_M: return "M";
        case PIPE_MTE1: return "MTE1";
        case PIPE_MTE2: return "MTE2";
        case PIPE_MTE3: return "MTE3";
        case PIPE_FIX: return "FIX";
        default: return "ALL";
    }
}

/* The pipe that signals and the one that waits. */
inline Ends ends_of(HardEvent event)
{
    switch (event) {
#define PYPTO_ENDS(a, b) \
    case HardEvent::a##_##b: return Ends{PIPE_##a, PIPE_##b};
        PYPTO_ENDS(MTE2, MTE1) PYPTO_ENDS(MTE1, MTE2) PYPTO_ENDS(MTE1, M) PYPTO_ENDS(M, MTE1)
        PYPTO_ENDS(MTE2, V) PYPTO_ENDS(V, MTE2) PYPTO_ENDS(MTE3, V) PYPTO_ENDS(V, MTE3) PYPTO_ENDS(M, V)
        PYPTO_ENDS(V, M) PYPTO_ENDS(V, V) PYPTO_ENDS(MTE3, MTE1) PYPTO_ENDS(MTE1, MTE3) PYPTO_ENDS(MTE1, V)
        PYPTO_ENDS(MTE2, M) PYPTO_ENDS(M, MTE2) PYPTO_ENDS(V, MTE1) PYPTO_ENDS(M, FIX) PYPTO_ENDS(FIX, M)
        PYPTO_ENDS(MTE3, MTE2) PYPTO_ENDS(MTE2, MTE3) PYPTO_ENDS(S, V) PYPTO_ENDS(V, S) PYPTO_ENDS(S, MTE2)
        PYPTO_ENDS(MTE2, S) PYPTO_ENDS(S, MTE3) PYPTO_ENDS(MTE3, S) PYPTO_ENDS(MTE2, FIX)
        PYPTO_ENDS(FIX, MTE2) PYPTO_ENDS(FIX, S) PYPTO_ENDS(M, S) PYPTO_ENDS(FIX, MTE3)
        PYPTO_ENDS(MTE1, FIX) PYPTO_ENDS(FIX, MTE1) PYPTO_ENDS(FIX, FIX)
#undef PYPTO_ENDS
        default: return Ends{PIPE_ALL, PIPE_ALL};
    }
}

/* The pipes on both sides of a queue. */
inline Ends ends_of(TPosition position, TPosition target)
{
    switch (position) {
        case TPosition::VECIN:
            return Ends{PIPE_MTE2, target == TPosition::VECOUT ? PIPE_MTE3 : PIPE_V};
        case TPosition::VECOUT: return Ends{PIPE_V, PIPE_MTE3};
        case TPosition::A1:
        case TPosition::B1: return Ends{PIPE_MTE2, PIPE_MTE1};
        case TPosition::A2:
        case TPosition::B2: return Ends{PIPE_MTE1, PIPE_M};
        case TPosition::CO1: return Ends{PIPE_M, PIPE_FIX};
        default: return Ends{PIPE_ALL, PIPE_ALL};
    }
}

/* Others may run here. */
inline void Stream::pause()
{
    if (!core_.launch.goes_on(this)) {
        State* const own = current; /* other streams run on this thread meanwhile */
        fiber_.yield();
        current = own;
    }
}

inline void Stream::give(Tally& tally, uint32_t giver)
{
    if (tally.give(giver)) {
        core_.launch.wake(tally);
    }
}

inline void Stream::wait(Tally& tally, uint32_t times, const Cause& cause)
{
    if (tally.given() >= times) {
        return;
    }
    cause_ = cause;
    note_place();
    core_.launch.block(this, tally, times);
    pause();
}

/* Return addresses of the functions that led here, innermost first. */
inline void Stream::note_place()
{
    const void* const* frame = static_cast<const void* const*>(__builtin_frame_address(0));
    for (const void*& address : place_) {
        address = frame != nullptr ? frame[1] : nullptr;
        const void* const* const next = frame != nullptr ? static_cast<const void* const*>(frame[0]) : nullptr;
        frame = next > frame && next - frame < 8192 ? next : nullptr;
    }
}

inline bool Stream::turn(pipe_t pipe, bool everywhere)
{
    if (core_.lanes[pipe] == 0) {
        stop("an instruction of a pipe that this core does not have");
    }
    if (pipe == PIPE_V || pipe == pipe_) {
        uint32_t& number = pipe == pipe_ ? issued_ : vector_instructions_;
        const uint32_t lane = core_.launch.lane_of(core_, pipe, number++);
        if (pipe == PIPE_V) {
            last_vector_lane_ = lane;
        }
        if (pipe == pipe_ && (everywhere || lane == lane_)) {
            pause();
            return true;
        }
    }
    return false;
}

inline bool Stream::scalar_turn()
{
    if (pipe_ != PIPE_S) {
        return false;
    }
    pause();
    return true;
}

/* What the scalar unit has read reaches all streams of its core, and none is ahead of it: it would
 * not have been given its instructions yet. */
inline void Stream::from_scalar(void* value, uint32_t bytes)
{
    uint64_t bits = 0;
    if (pipe_ == PIPE_S) {
        __builtin_memcpy(&bits, value, bytes);
        core_.scalar_values.push_back(bits);
        give(core_.scalar, 0);
    } else {
        wait(core_.scalar, scalars_ + 1, Cause{"a scalar read"});
        bits = core_.scalar_values[scalars_];
        __builtin_memcpy(value, &bits, bytes);
    }
    ++scalars_;
}

inline void Stream::from_vector(void* value, uint32_t bytes)
{
    uint64_t bits = 0;
    if (pipe_ == PIPE_V && lane_ == last_vector_lane_) {
        __builtin_memcpy(&bits, value, bytes);
        core_.vector_values.push_back(bits);
        give(core_.vector, 0);
    } else {
        wait(core_.vector, vectors_ + 1, Cause{"a register of the vector pipe"});
        bits = core_.vector_values[vectors_];
        __builtin_memcpy(value, &bits, bytes);
    }
    ++vectors_;
}

inline void Stream::ordered(pipe_t earlier, pipe_t later)
{
    Tally& order = core_.orders[earlier][later];
    if (pipe_ == earlier) {
        give(order, lane_);
    }
    if (pipe_ == later) {
        wait(order, ++orders_[earlier][later], Cause{"an order that the unit keeps"});
    }
}

inline void Stream::barrier(pipe_t pipe)
{
    if (pipe == PIPE_ALL) {
        give(core_.all, index_);
        wait(core_.all, ++alls_, Cause{"PipeBarrier<PIPE_ALL>"});
    } else if (pipe == pipe_) {
        give(core_.barriers[pipe], lane_);
        wait(core_.barriers[pipe], ++barriers_, Cause{"PipeBarrier"});
    }
}

inline void Stream::set_flag(HardEvent event, int32_t id)
{
    if (id < 0 || id >= static_cast<int32_t>(kIds)) {
        stop("SetFlag: event ids are 0 to 7");
    }
    if (ends_of(event).source == pipe_) {
        give(core_.flags[static_cast<uint32_t>(event)][id], lane_);
    }
}

inline void Stream::wait_flag(HardEvent event, int32_t id)
{
    if (id < 0 || id >= static_cast<int32_t>(kIds)) {
        stop("WaitFlag: event ids are 0 to 7");
    }
    const pipe_t target = ends_of(event).target;
    if (target == pipe_) {
        const uint32_t e = static_cast<uint32_t>(event);
        wait(core_.flags[e][id], ++flag_waits_[e][id], Cause{"WaitFlag", event, id});
    }
    if (target == PIPE_S) { /* what comes after it is issued after it */
        uint64_t nothing = 0;
        from_scalar(&nothing, 0);
    }
}

/* Begins with a barrier of all pipes. */
inline void Stream::sync_all(bool aiv_only)
{
    if (aiv_only && core_.core.is_cube != 0) {
        stop("SyncAll<true> on a cube core");
    }
    Launch& launch = core_.launch;
    if (core_.arrived.give(index_)) {
        launch.arrive(aiv_only);
    }
    wait(launch.together(aiv_only), ++syncs_[aiv_only], Cause{"SyncAll"});
}

inline void Stream::cross_set(uint32_t mode, pipe_t pipe, uint32_t flag)
{
    if (mode >= kModes || flag >= kCrossFlags) {
        stop("CrossCoreSetFlag: modes are 0 to 2, flags 0 to 15");
    }
    if (pipe == pipe_) {
        Tally& sets = core_.cross_sets.try_emplace((mode * kCrossFlags + flag) * kPipes + pipe, core_.lanes[pipe])
                          .first->second;
        if (sets.give(lane_)) {
            ++core_.sets[mode][flag];
            core_.launch.raise(flag);
        }
    }
}

inline void Stream::cross_wait(uint32_t flag)
{
    if (flag >= kCrossFlags) {
        stop("CrossCoreWaitFlag: flags are 0 to 15");
    }
    wait(core_.cross[flag], ++cross_waits_[flag],
         Cause{"CrossCoreWaitFlag", HardEvent::MAX, static_cast<int32_t>(flag)});
}

inline void Stream::add_buffer(TPosition position, const void* address, uint64_t bytes, TPosition target)
{
    if (uses_.size() == core_.buffers.size()) { /* the first stream to come here */
        const Ends ends = ends_of(position, target);
        core_.buffers.push_back(std::make_unique<Buffer>(
            Buffer{ends.source, ends.target, Tally(core_.lanes[ends.source]), Tally(core_.lanes[ends.target])}));
    }
    const uint64_t begin = reinterpret_cast<uint64_t>(address);
    uses_.push_back(Use{begin, begin + bytes, 0, 0});
}

inline void Stream::queue_event(check::QueueEvent what, const void* address)
{
    const uint64_t at = reinterpret_cast<uint64_t>(address);
    size_t number = uses_.size();
    while (number != 0 && !(at >= uses_[number - 1].begin && at < uses_[number - 1].end)) {
        --number;
    }
    if (number-- == 0) {
        stop("a tensor is of no buffer of a queue");
    }
    Buffer& buffer = *core_.buffers[number];
    Use& use = uses_[number];
    switch (what) {
        case check::QueueEvent::alloc: /* nothing was there to be freed at first */
            if (pipe_ == buffer.producer) {
                wait(buffer.freed, use.allocated, Cause{"AllocTensor"});
            }
            ++use.allocated;
            break;
        case check::QueueEvent::enque:
            if (pipe_ == buffer.producer) {
                give(buffer.filled, lane_);
            }
            break;
        case check::QueueEvent::deque:
            ++use.dequeued;
            if (pipe_ == buffer.consumer) {
                wait(buffer.filled, use.dequeued, Cause{"DeQue"});
            }
            break;
        case check::QueueEvent::free:
            if (pipe_ == buffer.consumer) {
                give(buffer.freed, lane_);
            }
            break;
    }
}

[[noreturn]] inline void Stream::stop(const char* what)
{
    note_place();
    core_.launch.stop(*this, what);
    fiber_.yield();
    __builtin_abort(); /* nobody resumes it */
}

}  // namespace shuffle
}  // namespace pypto_twin

#endif
