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

inline uint64_t offset_in(const PyptoCore& core, Hardware memory, const void* address)
{
    return reinterpret_cast<uint64_t>(address) - reinterpret_cast<uint64_t>(core.ub) - memory_offset(memory);
}

/* A TPipe begins, or begins anew: its event ids are free again. */
inline void Core::reset_buffers()
{
    left_full();
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
inline void Core::add_buffers(TPosition position, const void* address, uint64_t bytes, uint32_t number,
                              TPosition target)
{
    site_ = here();
    const Hardware memory = memory_of(position);
    const Ends pipes = pipes_of(position, target);
    const Clock nothing(cores_ * kPipes);
    const uint32_t queue = static_cast<uint32_t>(rounds_.size());
    rounds_.push_back(0);
    for (uint32_t i = 0; i < std::max(number, 1u); ++i) {
        const uint64_t begin = offset_in(core_, memory, address) + i * bytes;
        const auto state = number != 0 ? Buffer::State::idle : Buffer::State::unbound;
        buffers_[static_cast<uint32_t>(memory)][begin] =
            Buffer{begin, begin + bytes, site_, state, position, queue, i, number, 0,
                   pipes.source, pipes.target, nothing, nothing};
    }
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

inline void Core::queue_event(QueueEvent what, TPosition position, const void* address)
{
    site_ = here();
    const Hardware memory = memory_of(position);
    Buffer* const buffer = buffer_of(memory, offset_in(core_, memory, address));
    if (buffer == nullptr || buffer->state == Buffer::State::unbound) {
        return found("queue-tensor", "the tensor is of no buffer of a queue");
    }
    using State = Buffer::State;
    const State before = buffer->state;
    const bool held = before == State::filling || before == State::draining;
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
