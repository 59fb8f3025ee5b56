/* Checked twin: what each instruction and access of a core must keep. */
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

inline const char* name_of_kind(uint32_t kind)
{
    static const char* const names[] = {"__vector__",   "__cube__",     "__mix__(0, 1)",
                                        "__mix__(1, 0)", "__mix__(1, 1)", "__mix__(1, 2)"};
    return names[kind];
}

inline std::string bytes_of_to(uint64_t begin, uint64_t end, uint64_t of)
{
    return "bytes " + std::to_string(static_cast<int64_t>(begin)) + " to " +
           std::to_string(static_cast<int64_t>(end)) + " of " + std::to_string(of);
}

inline uint64_t offset_in(const PyptoCore& core, Hardware memory, const void* address)
{
    return reinterpret_cast<uint64_t>(address) - reinterpret_cast<uint64_t>(core.ub) - memory_offset(memory);
}

/* Cores are numbered group by group. */
inline uint32_t number_of(const PyptoCore& core, Members members)
{
    if (core.is_cube != 0) {
        return static_cast<uint32_t>(core.block_idx) * members.size();
    }
    const uint32_t at = static_cast<uint32_t>(core.block_idx);
    return at / members.vectors * members.size() + members.cubes + at % members.vectors;
}

/* On-chip memory of a cube core, as PyptoCore.ub has it. */
constexpr uint64_t kCubeBytes = 1u << 20;

inline Core::Core(Launch& launch, PyptoCore& core)
    : launch_(launch),
      core_(core),
      cores_(static_cast<uint32_t>(core.block_num) * members_of(launch.kind).size()),
      number_(number_of(core, members_of(launch.kind))),
      cube_(core.is_cube != 0),
      block_(core.block_idx),
      order_(number_, cores_),
      values_(core.is_cube != 0 ? kCubeBytes : memory_bytes(Hardware::UB))
{
}

inline std::string Core::name() const
{
    const Members members = members_of(launch_.kind);
    const char* const unit = members.cubes == 0 || members.vectors == 0 ? "core "
                             : cube_                      ? "AIC "
                                                                       : "AIV ";
    return unit + std::to_string(block_);
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
    return launch_.sites.of(stack);
}

inline void Core::found(const char* rule, std::string text, Site other, Place place)
{
    report_.add(Finding{rule, std::move(text), site_, other, step_, std::move(place)});
}

/* The core can do nothing sensible any more: it ends here, and the other ones go on. */
inline void Core::stop()
{
    launch_.stopped = true;
    core_.stop(&core_);
    __builtin_trap(); /* the stream is not resumed */
}

inline void Core::refuse(const char* rule, const char* what)
{
    site_ = here();
    found(rule, what);
    stop();
}

inline void Core::instruction(pipe_t pipe)
{
    site_ = here();
    const bool cube_only = pipe == PIPE_M || pipe == PIPE_MTE1 || pipe == PIPE_FIX;
    if (cube_ ? pipe == PIPE_V : cube_only) {
        if (!kind_told_) {
            found("core-kind", std::string("an instruction of pipe ") + name_of(pipe) + " on a " +
                                   (cube_ ? "cube" : "vector") + " core, which has no such pipe");
        }
        stop();
    }
    if (pipe != PIPE_S) {
        if (!started_ && !piped_) {
            started_ = true; /* said once */
            found("core-state", "an instruction before the core was initialised, by a TPipe or InitSocState");
        }
        running_ = true;
    }
    event_ = order_.issue(pipe);
    if (lent_.bytes != 0) {
        const Lent lent = lent_;
        lent_ = Lent{};
        if (pipe == PIPE_V) {
            access(true, lent.of, reinterpret_cast<const void*>(lent.address), lent.bytes, PIPE_V, 1, 0);
        }
    }
}

inline void Core::ordered(pipe_t earlier, pipe_t later) { order_.wait(later, order_.published(earlier)); }

inline void Core::finish()
{
    unmet_waits(PIPE_ALL);
    for (const auto& ids : flags_) {
        for (const Flag& flag : ids) {
            if (flag.set) {
                site_ = flag.site;
                found("flag-left-set", "SetFlag: nothing waits for this flag; it would disturb the next kernel");
            }
        }
    }
    left_full();
    units_left();
    if (!piped_ && running_) {
        found("core-state", "the kernel has no TPipe and does not end with PipeBarrier<PIPE_ALL>");
    }
    for (const auto& entry : lines_) {
        if (entry.second.dirty != 0) {
            site_ = entry.second.dirty_by;
            found("cache-left", "writes GM through the scalar data cache, and nothing cleans the line: the "
                                "bytes may never reach memory");
        }
    }
}

inline void Core::access(bool write, const Provenance& of, const void* address, uint64_t bytes, pipe_t pipe,
                         uint32_t rows, uint64_t pitch)
{
    if (pipe == PIPE_S) {
        instruction(PIPE_S); /* scalar accesses are instructions of their own */
        scalar(write, of, address, bytes);
    }
    if (bytes == 0) {
        return;
    }
    const Hardware memory = memory_of(of);
    if (pipe == PIPE_S && memory != Hardware::GM && memory != Hardware::UB) {
        found("operand-memory", std::string(write ? "SetValue" : "GetValue") + ": the scalar unit does not reach " +
                                    name_of(memory) + ", only UB and GM");
    }
    const uint64_t base = memory == Hardware::GM
                              ? 0
                              : reinterpret_cast<uint64_t>(core_.ub) + memory_offset(memory);
    const uint64_t start = reinterpret_cast<uint64_t>(address) - base;
    if (rows > 1 && pitch == bytes) {
        return touch(write, of, start, bytes * rows, pipe);
    }
    const uint32_t places = pitch == 0 ? std::min<uint32_t>(rows, 1) : rows;
    for (uint32_t row = 0; row < places; ++row) {
        touch(write, of, start + row * pitch, bytes, pipe);
    }
}

inline void Core::scalar(bool write, TPosition position, const void* address, uint64_t bytes)
{
    if (write) {
        assign(position, address, bytes, kDefined);
    } else {
        use("undefined-scalar", "what the scalar unit reads", position, address, bytes);
    }
}

inline void Core::touch(bool write, const Provenance& of, uint64_t address, uint64_t bytes, pipe_t pipe)
{
    const Hardware memory = memory_of(of);
    if (!inside(write, of, address, bytes, pipe)) {
        return;
    }
    if (memory == Hardware::GM) {
        return touch_global(!write ? Use::read : atomic_ && pipe != PIPE_S ? Use::atomic : Use::write, address,
                            bytes, pipe);
    }
    const Record now{event_, site_, step_.index, write ? Use::write : Use::read};
    const auto check = [&](const Record& earlier, uint64_t begin, uint64_t end, const Shadow::Records&) {
        if (!order_.before(earlier.event, pipe)) {
            conflict(now, earlier, memory, place_of(memory, begin, end - begin));
        }
    };
    local_[static_cast<uint32_t>(memory)].access(address, address + bytes, now, check);
}

inline void Core::touch_global(Use use, uint64_t address, uint64_t bytes, pipe_t pipe)
{
    const uint64_t end = address + bytes;
    if (!launch_.spans.empty() && pipe != PIPE_S) {
        line_writers(use, address, end, pipe);
    }
    if (launch_.cached_lines != 0 && pipe != PIPE_S) {
        dirty_lines(use == Use::read ? "reads GM" : "writes GM", address, end, true, use != Use::read);
        if (use != Use::read) {
            outdate(address, end, true);
        }
    }
    const Record now{event_, site_, step_.index, use};
    const auto check = [&](const Record& earlier, uint64_t begin, uint64_t until, const Shadow::Records& all) {
        if (order_.before(earlier.event, pipe)) {
            return;
        }
        bool updates = false; /* this core has read the bytes that it writes */
        for (const Record& record : all) {
            updates |= record.use() == Use::read && record.event.pipe / kPipes == number_;
        }
        const Place place = place_of(Hardware::GM, begin, until - begin);
        if (earlier.event.pipe / kPipes == number_) {
            conflict(now, earlier, Hardware::GM, place);
        } else {
            rivals(now, earlier, place, begin == address && until == end, updates);
        }
    };
    launch_.global.access(address, end, now, check);
}

inline const char* verb_of(Use use)
{
    return use == Use::read ? "reads" : use == Use::write ? "writes" : "adds to";
}

/* Two instructions of this core. */
inline void Core::conflict(const Record& now, const Record& earlier, Hardware memory, Place place)
{
    const auto pipe = [](const Record& record) { return static_cast<pipe_t>(record.event.pipe % kPipes); };
    found("race", std::string(verb_of(now.use())) + " " + name_of(memory) + " on pipe " + name_of(pipe(now)) +
                      " what pipe " + name_of(pipe(earlier)) + " " + verb_of(earlier.use()) +
                      ", and nothing orders the two", earlier.site, std::move(place));
}

/* An instruction of this core and one of another. `same_bytes`: they touch the same ones; `updates`:
 * this core has read them before. */
inline void Core::rivals(const Record& now, const Record& earlier, Place place, bool same_bytes, bool updates)
{
    const std::string whose = launch_.cores[earlier.event.pipe / kPipes]->name();
    const bool both_write = now.use() == Use::write && earlier.use() == Use::write;
    const bool steps = now.step != Step::kNone && earlier.step != Step::kNone;
    if (both_write && updates) {
        found("race-update", "reads, changes and writes GM that " + whose + " writes too: one of the changes is lost",
              earlier.site, std::move(place));
    } else if (both_write && same_bytes && steps && earlier.site == now.site) {
        found("race-tile", "the same tile is executed by two cores: tile " + std::to_string(earlier.step) + " of " +
                               whose + " and tile " + std::to_string(now.step) + " of " + name() +
                               " write the same bytes of GM", earlier.site, std::move(place));
    } else {
        found("race", std::string(verb_of(now.use())) + " GM that " + whose + " " + verb_of(earlier.use()) +
                          ", and nothing orders the two", earlier.site, std::move(place));
    }
}

}  // namespace check
}  // namespace pypto_twin

#endif
