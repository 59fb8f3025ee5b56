/* Checked twin: buffers of a TPipe and the protocol of queues. */
#ifndef PYPTO_TWIN_CHECK_BUFFERS_H
#define PYPTO_TWIN_CHECK_BUFFERS_H

#include "events.h"

namespace pypto_twin {
namespace check {

/* Who fills a queue's buffers and who empties them. */
inline Ends pipes_of(TPosition source, TPosition target)
{
    switch (source) {
        case TPosition::VECIN: return Ends{PIPE_MTE2, target == TPosition::VECOUT ? PIPE_MTE3 : PIPE_V};
        case TPosition::VECOUT: return Ends{PIPE_V, PIPE_MTE3};
        case TPosition::A1:
        case TPosition::B1: return Ends{PIPE_MTE2, PIPE_MTE1};
        case TPosition::A2:
        case TPosition::B2: return Ends{PIPE_MTE1, PIPE_M};
        case TPosition::CO1: return Ends{PIPE_M, PIPE_FIX};
        default: return Ends{PIPE_V, PIPE_V};
    }
}

/* A kernel has one TPipe at a time, or tensors at addresses of its own choice. */
inline void Core::begin_pipe(const void* pipe)
{
    site_ = here();
    if (pipe_ != nullptr && pipe_ != pipe) {
        found("pipe-twice", "a second TPipe while there is one: both hand out the same memory and event ids");
    }
    pipe_ = pipe;
    if (!piped_ && static_style_ != kNoSite) {
        found("pipe-static", "a TPipe beside a tensor at an address that the kernel has chosen: the TPipe does not "
                             "know that the memory is in use", static_style_);
    }
    reset_buffers();
}

inline void Core::end_pipe(const void* pipe)
{
    if (pipe_ == pipe) {
        pipe_ = nullptr;
    }
}

/* Its buffers and its event ids are free again. */
inline void Core::reset_buffers()
{
    left_full();
    for (Allocation& allocation : allocations_) {
        allocation.buffer = nullptr;
    }
    for (uint32_t memory = 0; memory < static_cast<uint32_t>(Hardware::MAX); ++memory) {
        buffers_[memory].clear();
        last_buffers_[memory] = nullptr;
    }
    for (Ids& ids : ids_) {
        ids = Ids{};
    }
    rounds_.clear();
    step_ = Step{};
    piped_ = true;
}

/* A queue of `number` buffers, or a TBuf (0). */
inline uint32_t Core::add_buffers(TPosition position, const void* address, uint64_t bytes, uint32_t number,
                                  TPosition target)
{
    site_ = here();
    const Hardware memory = memory_of(position);
    const Ends pipes = pipes_of(position, target);
    const Clock nothing(cores_ * kPipes);
    const uint32_t queue = static_cast<uint32_t>(rounds_.size());
    rounds_.push_back(0);
    const uint32_t first = static_cast<uint32_t>(allocations_.size());
    for (uint32_t i = 0; i < std::max(number, 1u); ++i) {
        const uint64_t begin = offset_in(core_, memory, address) + i * bytes;
        const auto state = number != 0 ? Buffer::State::idle : Buffer::State::unbound;
        Buffer& buffer = buffers_[static_cast<uint32_t>(memory)][begin];
        buffer = Buffer{begin, begin + bytes, site_, state, position, queue, i, number, 0,
                        pipes.source, pipes.target, nothing, nothing};
        allocations_.push_back(Allocation{begin, begin + bytes, site_, memory, false, &buffer});
    }
    return first;
}

inline Provenance Core::held_by(const Provenance& of) const
{
    const Buffer* const buffer = allocations_[of.allocation].buffer;
    return Provenance(of, of.allocation, buffer == nullptr ? 0 : buffer->round + 1);
}

/* A tensor at an address that the kernel has chosen; `bytes`: 0 where it does not say how many. */
inline Provenance Core::declare(TPosition position, const void* address, uint64_t bytes)
{
    const Hardware memory = memory_of(position);
    if (memory != Hardware::GM && static_style_ == kNoSite) {
        site_ = static_style_ = here();
        if (piped_) {
            found("pipe-static", "a tensor at an address that the kernel has chosen, in a kernel with a TPipe, which "
                                 "does not know that the memory is in use");
        }
    }
    if (bytes == 0) {
        return Provenance(position);
    }
    const uint64_t begin = memory == Hardware::GM ? reinterpret_cast<uint64_t>(address)
                                                  : offset_in(core_, memory, address);
    uint32_t& number = declared_[std::make_tuple(memory, begin, begin + bytes)];
    if (number == 0) {
        number = static_cast<uint32_t>(allocations_.size());
        allocations_.push_back(Allocation{begin, begin + bytes, here(), memory, true, nullptr});
    }
    return Provenance(position, number);
}

/* Nobody else knows how long such a tensor is: one that is said to be longer now, is. */
inline Provenance Core::redeclare(const Provenance& of, const void* address, uint64_t bytes)
{
    const Allocation& own = allocations_[of.allocation];
    const Hardware memory = memory_of(of);
    if (!own.declared || memory == Hardware::GM || offset_in(core_, memory, address) + bytes <= own.end) {
        return of;
    }
    const uint8_t* const start = core_.ub + memory_offset(memory) + own.begin;
    return declare(of, start, static_cast<uint64_t>(static_cast<const uint8_t*>(address) - start) + bytes);
}

/* The buffer of a tensor, or what lies at its address when it does not say. */
inline Buffer* Core::buffer_of(const Provenance& of, uint64_t offset)
{
    return of.allocation != 0 ? allocations_[of.allocation].buffer : buffer_of(memory_of(of), offset);
}

inline Buffer* Core::buffer_of(Hardware memory, uint64_t offset)
{
    Buffer*& last = last_buffers_[static_cast<uint32_t>(memory)];
    if (last != nullptr && offset >= last->begin && offset < last->end) {
        return last;
    }
    auto& buffers = buffers_[static_cast<uint32_t>(memory)];
    auto after = buffers.upper_bound(offset);
    if (after == buffers.begin()) {
        return nullptr;
    }
    Buffer& buffer = std::prev(after)->second;
    if (offset >= buffer.end) {
        return nullptr;
    }
    last = &buffer;
    return last;
}

/* Each position has eight events to hand buffers on with. */
inline void Core::queue_bound(const char* what, const Buffer& buffer)
{
    uint32_t allocated = 0;
    for (const auto& entry : buffers_[static_cast<uint32_t>(memory_of(buffer.position))]) {
        const Buffer& other = entry.second;
        allocated += other.position == buffer.position && other.state != Buffer::State::idle &&
                     other.state != Buffer::State::unbound;
    }
    if (allocated > 8) {
        found("queue-events", std::string(what) + ": more than 8 tensors of queues at one position are allocated at once",
              kNoSite, Place{buffer.site, ""});
    }
}

inline void Core::queue_event(QueueEvent what, const Provenance& of, const void* address)
{
    site_ = here();
    const Allocation& own = allocations_[of.allocation];
    if (of.allocation != 0 && !own.declared && own.buffer == nullptr) {
        return found("buffer-freed", "a call of a queue whose buffers its TPipe has freed", kNoSite, Place{own.site, ""});
    }
    const uint64_t offset = offset_in(core_, memory_of(of), address);
    Buffer* const buffer = buffer_of(of, offset);
    if (buffer == nullptr || buffer->state == Buffer::State::unbound) {
        return found("queue-tensor", "the tensor is of no buffer of a queue");
    }
    if (offset < buffer->begin || offset >= std::max(buffer->end, buffer->begin + 1)) {
        found("queue-tensor", std::string(what == QueueEvent::enque ? "EnQue" : "FreeTensor") +
                                  ": the tensor begins outside of its buffer", kNoSite, Place{buffer->site, ""});
    }
    using State = Buffer::State;
    const State before = buffer->state;
    const bool held = before == State::filling || before == State::draining;
    const bool stale = held && of.round != 0 && of.round != buffer->round + 1;
    const Place place{buffer->site, ""};
    switch (what) {
        case QueueEvent::alloc:
            order_.wait(buffer->producer, buffer->backward);
            buffer->state = State::filling;
            buffer->round = rounds_[buffer->queue]++;
            step_ = Step{buffer->round, buffer->site};
            queue_bound("AllocTensor", *buffer);
            break;
        case QueueEvent::enque:
            if (!held) {
                found("queue-enque", before == State::queued ? "EnQue: the tensor is enqueued already"
                                                             : "EnQue: the tensor is not allocated",
                      kNoSite, place);
            } else if (stale) {
                found("queue-enque", "EnQue: the tensor was freed, and its buffer holds another one now", kNoSite, place);
            }
            buffer->forward = order_.published(buffer->producer);
            buffer->state = State::queued;
            break;
        case QueueEvent::deque:
            order_.wait(buffer->consumer, buffer->forward);
            buffer->state = State::draining;
            step_ = Step{buffer->round, buffer->site};
            break;
        case QueueEvent::free:
            if (!held) {
                found("queue-free", before == State::queued ? "FreeTensor: the tensor is still enqueued"
                                                            : "FreeTensor: the tensor is not allocated",
                      kNoSite, place);
            } else if (stale) {
                found("queue-free", "FreeTensor: the tensor was freed, and its buffer holds another one now", kNoSite,
                      place);
            }
            buffer->backward = order_.published(buffer->consumer);
            buffer->state = State::idle;
            break;
    }
}

/* A queue that holds `queued` tensors is given one more. */
inline void Core::queue_depth(uint32_t queued, uint32_t depth)
{
    if (queued >= std::max(depth, 1u)) {
        site_ = here();
        found("queue-depth", "EnQue: the queue is full: its depth is " + std::to_string(std::max(depth, 1u)));
    }
}

inline void Core::left_full()
{
    for (const auto& buffers : buffers_) {
        for (const auto& entry : buffers) {
            if (entry.second.state == Buffer::State::queued) {
                site_ = entry.second.site;
                found("queue-left-full", "a tensor was enqueued and never dequeued", kNoSite, Place{site_, ""});
            }
        }
    }
}

}  // namespace check
}  // namespace pypto_twin

#endif
