/* Checked twin: the rules that one core's instructions must keep. */
#ifndef PYPTO_TWIN_CHECK_CORE_CHECKS_H
#define PYPTO_TWIN_CHECK_CORE_CHECKS_H

#include "core.h"

namespace pypto_twin {
namespace check {

inline const char* name_of(pipe_t pipe)
{
    static const char* const names[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "ALL", "FIX"};
    return names[pipe];
}

inline const char* name_of(Hardware memory)
{
    static const char* const names[] = {"GM", "UB", "L1", "L0A", "L0B", "L0C", "BT", "FB"};
    return names[static_cast<uint32_t>(memory)];
}

/* The pipes of an event, in the order of HardEvent. */
struct Ends {
    pipe_t source, target;
};
inline Ends ends_of(HardEvent event)
{
#define PYPTO_ENDS(a, b) Ends{PIPE_##a, PIPE_##b}
    static const Ends ends[] = {
        PYPTO_ENDS(MTE2, MTE1), PYPTO_ENDS(MTE1, MTE2), PYPTO_ENDS(MTE1, M), PYPTO_ENDS(M, MTE1),
        PYPTO_ENDS(MTE2, V), PYPTO_ENDS(V, MTE2), PYPTO_ENDS(MTE3, V), PYPTO_ENDS(V, MTE3),
        PYPTO_ENDS(M, V), PYPTO_ENDS(V, M), PYPTO_ENDS(V, V), PYPTO_ENDS(MTE3, MTE1),
        PYPTO_ENDS(MTE1, MTE3), PYPTO_ENDS(MTE1, V), PYPTO_ENDS(MTE2, M), PYPTO_ENDS(M, MTE2),
        PYPTO_ENDS(V, MTE1), PYPTO_ENDS(M, FIX), PYPTO_ENDS(FIX, M), PYPTO_ENDS(MTE3, MTE2),
        PYPTO_ENDS(MTE2, MTE3), PYPTO_ENDS(S, V), PYPTO_ENDS(V, S), PYPTO_ENDS(S, MTE2),
        PYPTO_ENDS(MTE2, S), PYPTO_ENDS(S, MTE3), PYPTO_ENDS(MTE3, S), PYPTO_ENDS(MTE2, FIX),
        PYPTO_ENDS(FIX, MTE2), PYPTO_ENDS(FIX, S), PYPTO_ENDS(M, S), PYPTO_ENDS(FIX, MTE3),
        PYPTO_ENDS(MTE1, FIX), PYPTO_ENDS(FIX, MTE1), PYPTO_ENDS(FIX, FIX),
    };
#undef PYPTO_ENDS
    static_assert(sizeof ends / sizeof *ends == static_cast<size_t>(HardEvent::MAX), "an event");
    return ends[static_cast<uint32_t>(event)];
}

/* Cores are numbered group by group. */
inline uint32_t number_of(const PyptoCore& core, Group group)
{
    if (core.is_cube != 0) {
        return static_cast<uint32_t>(core.block_idx) * group.size();
    }
    const uint32_t at = static_cast<uint32_t>(core.block_idx);
    return at / group.vectors * group.size() + group.cubes + at % group.vectors;
}

inline Core::Core(Launch& launch, const PyptoCore& core)
    : launch_(launch),
      core_(core),
      cores_(static_cast<uint32_t>(core.block_num) * group_of(launch.kind).size()),
      order_(number_of(core, group_of(launch.kind)), cores_)
{
}

/* Return addresses of the functions that led here, innermost first. */
inline Site Core::here()
{
    Sites::Stack stack{};
    const void* const* frame = static_cast<const void* const*>(__builtin_frame_address(0));
    for (uint32_t depth = 0; depth < Sites::kDepth && frame != nullptr; ++depth) {
        stack[depth] = frame[1];
        const void* const* const next = static_cast<const void* const*>(frame[0]);
        if (next <= frame || reinterpret_cast<uintptr_t>(next) - reinterpret_cast<uintptr_t>(frame) > 65536) {
            break;
        }
        frame = next;
    }
    const auto known = sites_.find(stack);
    if (known != sites_.end()) {
        return known->second;
    }
    const std::lock_guard<std::mutex> lock(launch_.mutex);
    return sites_[stack] = launch_.sites.of(stack);
}

inline void Core::found(const char* rule, std::string text, Site other)
{
    const std::lock_guard<std::mutex> lock(launch_.mutex);
    launch_.report.add(Finding{rule, std::move(text), site_, other, core_.block_idx});
}

inline void Core::instruction(pipe_t pipe)
{
    site_ = here();
    event_ = order_.issue(pipe);
}

inline void Core::ordered(pipe_t earlier, pipe_t later) { order_.wait(later, order_.published(earlier)); }

inline void Core::barrier(pipe_t pipe) { order_.barrier(pipe); }

inline void Core::set_flag(HardEvent event, int32_t id)
{
    site_ = here();
    if (id < 0 || id > 7) {
        return found("flag-id", "SetFlag: event ids are 0 to 7");
    }
    Flag& flag = flags_[static_cast<uint32_t>(event)][id];
    if (flag.set) {
        found("flag-set-twice", "SetFlag: this flag is set already and nothing has waited for it", flag.site);
    }
    flag = Flag{true, site_, order_.published(ends_of(event).source)};
}

inline void Core::wait_flag(HardEvent event, int32_t id)
{
    site_ = here();
    if (id < 0 || id > 7) {
        return found("flag-id", "WaitFlag: event ids are 0 to 7");
    }
    Flag& flag = flags_[static_cast<uint32_t>(event)][id];
    if (!flag.set) {
        return found("flag-not-set", "WaitFlag: nothing has set this flag; the core would wait for ever");
    }
    flag.set = false;
    order_.wait(ends_of(event).target, flag.clock);
}

/* A barrier of all cores begins with one of all pipes. */
inline void Core::arrive()
{
    site_ = here();
    const std::lock_guard<std::mutex> lock(launch_.mutex);
    if (launch_.arrived.size() <= barriers_) {
        launch_.arrived.emplace_back(cores_ * kPipes);
    }
    launch_.arrived[barriers_].join(order_.everything());
}

inline void Core::leave()
{
    const std::lock_guard<std::mutex> lock(launch_.mutex);
    order_.wait_all(launch_.arrived[barriers_++]);
}

inline void Core::finish()
{
    for (const auto& ids : flags_) {
        for (const Flag& flag : ids) {
            if (flag.set) {
                site_ = flag.site;
                found("flag-left-set", "SetFlag: nothing waits for this flag; it would disturb the next kernel");
            }
        }
    }
    for (const auto& buffers : buffers_) {
        for (const auto& entry : buffers) {
            if (entry.second.state == Buffer::State::queued) {
                site_ = entry.second.site;
                found("queue-left-full", "a tensor was enqueued and never dequeued");
            }
        }
    }
}

inline void Core::access(bool write, TPosition position, const void* address, uint64_t bytes, pipe_t pipe,
                         uint32_t rows, uint64_t pitch)
{
    if (pipe == PIPE_S) {
        instruction(PIPE_S); /* scalar accesses are instructions of their own */
    }
    if (bytes == 0) {
        return;
    }
    const Hardware memory = memory_of(position);
    const uint64_t base = memory == Hardware::GM
                              ? 0
                              : reinterpret_cast<uint64_t>(core_.ub) + memory_offset(memory);
    const uint64_t start = reinterpret_cast<uint64_t>(address) - base;
    if (rows > 1 && pitch == bytes) {
        return touch(write, memory, start, bytes * rows, pipe);
    }
    for (uint32_t row = 0; row < rows; ++row) {
        touch(write, memory, start + row * pitch, bytes, pipe);
    }
}

inline void Core::touch(bool write, Hardware memory, uint64_t address, uint64_t bytes, pipe_t pipe)
{
    if (!inside(write, memory, address, bytes)) {
        return;
    }
    const auto conflict = [&](const Record& earlier) {
        if (!order_.before(earlier.event, pipe)) {
            const pipe_t other = static_cast<pipe_t>(earlier.event.pipe % kPipes);
            const bool same_core = earlier.event.pipe / kPipes == event_.pipe / kPipes;
            std::string text = std::string(write ? "writes " : "reads ") + name_of(memory) + " on pipe " +
                               name_of(pipe) + " what " + (same_core ? "" : "another core's ") + "pipe " +
                               name_of(other) + (earlier.write ? " writes" : " reads") +
                               ", and nothing orders the two";
            found("race", std::move(text), earlier.site);
        }
    };
    const Record now{event_, site_, write};
    if (memory == Hardware::GM) {
        const std::lock_guard<std::mutex> lock(launch_.global_mutex);
        launch_.global.access(address, address + bytes, now, conflict);
    } else {
        local_[static_cast<uint32_t>(memory)].access(address, address + bytes, now, conflict);
    }
}

/* Bytes of a memory that kernels may use: the library has the rest of UB and L1. */
inline uint64_t usable_bytes(Hardware memory)
{
    return memory == Hardware::UB ? 188160 : memory == Hardware::L1 ? 524032 : memory_bytes(memory);
}

inline bool Core::inside(bool write, Hardware memory, uint64_t address, uint64_t bytes)
{
    const char* const verb = write ? "writes " : "reads ";
    if (memory == Hardware::GM) {
        for (const Region& region : launch_.regions) {
            if (address >= region.begin && address + bytes <= region.end) {
                return true;
            }
        }
        if (launch_.regions.empty()) {
            return true;
        }
        found("gm-bounds", std::string(verb) + std::to_string(bytes) + " bytes of GM that belong to no argument");
        return false;
    }
    if (address + bytes > usable_bytes(memory) || address + bytes < address) {
        found("bounds", std::string(verb) + "bytes " + std::to_string(static_cast<int64_t>(address)) + " to " +
                            std::to_string(static_cast<int64_t>(address + bytes)) + " of " + name_of(memory) +
                            ", of which kernels may use " + std::to_string(usable_bytes(memory)));
        return false;
    }
    Buffer* const buffer = buffer_of(memory, address);
    if (buffer == nullptr) {
        if (!buffers_[static_cast<uint32_t>(memory)].empty()) {
            found("no-buffer", std::string(verb) + "bytes of " + name_of(memory) + " that no buffer has");
        }
        return true;
    }
    if (address + bytes > buffer->end) {
        found("buffer-bounds", std::string(verb) + std::to_string(address + bytes - buffer->end) +
                                   " bytes past the end of a buffer", buffer->site);
    }
    if (buffer->state == Buffer::State::idle) {
        found("queue-idle", std::string(verb) + "a buffer of a queue that is not allocated", buffer->site);
    } else if (buffer->state == Buffer::State::queued) {
        found("queue-queued", std::string(verb) + "a tensor between EnQue and DeQue", buffer->site);
    }
    return true;
}

}  // namespace check
}  // namespace pypto_twin

#endif
