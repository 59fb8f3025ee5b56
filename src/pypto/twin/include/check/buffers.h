/* Checked twin: buffers of a TPipe and the protocol of queues. */
#ifndef PYPTO_TWIN_CHECK_BUFFERS_H
#define PYPTO_TWIN_CHECK_BUFFERS_H

#include "core_checks.h"

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

inline void Core::reset_buffers()
{
    for (auto& buffers : buffers_) {
        buffers.clear();
    }
}

inline void Core::add_buffer(TPosition position, const void* address, uint64_t bytes, bool queue,
                             TPosition target)
{
    site_ = here();
    const Hardware memory = memory_of(position);
    const uint64_t begin = offset_in(core_, memory, address);
    const Ends pipes = pipes_of(position, target);
    const Clock nothing(cores_ * kPipes);
    buffers_[static_cast<uint32_t>(memory)][begin] =
        Buffer{begin, begin + bytes, site_, queue ? Buffer::State::idle : Buffer::State::unbound,
               pipes.source, pipes.target, nothing, nothing};
}

inline Buffer* Core::buffer_of(Hardware memory, uint64_t offset)
{
    auto& buffers = buffers_[static_cast<uint32_t>(memory)];
    auto after = buffers.upper_bound(offset);
    if (after == buffers.begin()) {
        return nullptr;
    }
    Buffer& buffer = std::prev(after)->second;
    return offset < buffer.end ? &buffer : nullptr;
}

inline void Core::queue_event(QueueEvent what, TPosition position, const void* address)
{
    site_ = here();
    const Hardware memory = memory_of(position);
    Buffer* const buffer = buffer_of(memory, offset_in(core_, memory, address));
    if (buffer == nullptr) {
        return found("queue-tensor", "the tensor is of no buffer of a queue");
    }
    using State = Buffer::State;
    const State before = buffer->state;
    switch (what) {
        case QueueEvent::alloc:
            order_.wait(buffer->producer, buffer->backward);
            buffer->state = State::filling;
            break;
        case QueueEvent::enque:
            if (before != State::filling && before != State::draining) {
                found("queue-enque", "EnQue: the tensor was not allocated, or is enqueued already", buffer->site);
            }
            buffer->forward = order_.published(buffer->producer);
            buffer->state = State::queued;
            break;
        case QueueEvent::deque:
            order_.wait(buffer->consumer, buffer->forward);
            buffer->state = State::draining;
            break;
        case QueueEvent::free:
            if (before != State::filling && before != State::draining) {
                found("queue-free", before == State::queued ? "FreeTensor: the tensor is still enqueued"
                                                            : "FreeTensor: the tensor is not allocated",
                      buffer->site);
            }
            buffer->backward = order_.published(buffer->consumer);
            buffer->state = State::idle;
            break;
    }
}

}  // namespace check
}  // namespace pypto_twin

#endif
