/* Checked twin: whether an access stays within its memory, and within the buffer of its tensor. */
#ifndef PYPTO_TWIN_CHECK_BOUNDS_H
#define PYPTO_TWIN_CHECK_BOUNDS_H

#include "core_checks.h"

namespace pypto_twin {
namespace check {

/* Bytes of a memory that kernels may use: the library has the rest of UB and L1. */
inline uint64_t usable_bytes(Hardware memory)
{
    return memory == Hardware::UB ? 188160 : memory == Hardware::L1 ? 524032 : memory_bytes(memory);
}

/* On both sides of each argument: bytes that belong to nobody. */
constexpr uint64_t kBand = 65536;

inline bool Core::inside_global(bool write, uint64_t address, uint64_t bytes)
{
    const Region* nearest = nullptr;
    uint64_t least = ~uint64_t{0};
    for (const Region& region : launch_.regions) {
        if (address >= region.begin && address + bytes <= region.end) {
            return true;
        }
        const uint64_t before = address < region.begin ? region.begin - address : 0;
        const uint64_t after = address + bytes > region.end ? address + bytes - region.end : 0;
        if (std::max(before, after) < least) {
            least = std::max(before, after);
            nearest = &region;
        }
    }
    if (nearest == nullptr) {
        return true;
    }
    const std::string verb = write ? "writes " : "reads ";
    if (least > kBand / 2) {
        found("gm-bounds", verb + std::to_string(bytes) + " bytes of GM, far from all arguments");
        stop();
    }
    const uint64_t begin = nearest->begin;
    found("gm-bounds", verb + "GM outside of " + nearest->name, kNoSite,
          Place{kNoSite, nearest->name + ": " + bytes_of_to(address - begin, address + bytes - begin,
                                                            nearest->end - begin)});
    return false;
}

/* On-chip memory that there is, and that kernels may use. */
inline bool Core::inside_memory(const std::string& verb, Hardware memory, uint64_t address, uint64_t bytes)
{
    if ((memory == Hardware::UB) == (cube_)) {
        found("core-kind", verb + name_of(memory) + " on a " + (cube_ ? "cube" : "vector") +
                               " core, which has none");
        stop();
    }
    if (address + bytes <= usable_bytes(memory) && address + bytes >= address) {
        return true;
    }
    found("bounds", verb + "bytes " + std::to_string(static_cast<int64_t>(address)) + " to " +
                        std::to_string(static_cast<int64_t>(address + bytes)) + " of " + name_of(memory) +
                        ", of which kernels may use " + std::to_string(usable_bytes(memory)));
    if (address + bytes > memory_bytes(memory) || address + bytes < address) {
        stop(); /* there is no such memory here either */
    }
    return false;
}

inline bool Core::inside(bool write, const Provenance& of, uint64_t address, uint64_t bytes, pipe_t pipe)
{
    const Hardware memory = memory_of(of);
    if (memory == Hardware::GM ? !inside_global(write, address, bytes)
                               : !inside_memory(write ? "writes " : "reads ", memory, address, bytes)) {
        return false;
    }
    if (of.allocation != 0) {
        inside_own(write, of, address, bytes, pipe);
    } else if (memory != Hardware::GM) {
        inside_any(write, memory, address, bytes);
    }
    return true;
}

/* Whether the access stays within the memory that its tensor is of. */
inline void Core::inside_own(bool write, const Provenance& of, uint64_t address, uint64_t bytes, pipe_t pipe)
{
    const char* const verb = write ? "writes " : "reads ";
    const Allocation& own = allocations_[of.allocation];
    if (!own.declared && own.buffer == nullptr) {
        return found("buffer-freed", std::string(verb) + "a buffer that its TPipe has freed", kNoSite,
                     Place{own.site, ""});
    }
    /* Memory goes by blocks: but for the scalar unit the rest of a last block belongs to the tensor. */
    const bool whole = own.declared && own.memory != Hardware::GM && pipe != PIPE_S;
    const uint64_t end = whole ? own.begin + (own.end - own.begin + kBlockBytes - 1) / kBlockBytes * kBlockBytes
                               : own.end;
    if (address < own.begin || address + bytes > end) {
        outside_own(verb, own, end, address, bytes);
    }
    if (own.buffer != nullptr) {
        in_turn(verb, *own.buffer, of.round, address, bytes);
    }
}

inline void Core::outside_own(const char* verb, const Allocation& own, uint64_t end, uint64_t address, uint64_t bytes)
{
    if (own.memory == Hardware::GM) {
        return found("gm-bounds", std::string(verb) + "GM outside of the " + std::to_string(own.end - own.begin) +
                                      " bytes that SetGlobalBuffer was given", own.site,
                     place_of(Hardware::GM, address, bytes));
    }
    const bool before = address < own.begin;
    const uint64_t past = before ? own.begin - address : address + bytes - end;
    std::string text = std::string(verb) + std::to_string(past) + " bytes " +
                       (before ? "before the start" : "past the end") + " of a " +
                       (own.declared ? "tensor" : "buffer");
    Place place{own.declared ? kNoSite : own.site,
                bytes_of_to(address - own.begin, address + bytes - own.begin, own.end - own.begin)};
    Site other = own.declared ? own.site : kNoSite;
    if (own.buffer != nullptr) {
        place.text += spelled(*own.buffer);
        const Buffer* const met = buffer_of(own.memory, before ? address : std::max(address, end));
        if (met != nullptr && met != own.buffer) {
            text += ", in another one";
            other = met->site;
        }
    }
    found("buffer-bounds", std::move(text), other, std::move(place));
}

/* A tensor of which only the address is known is held against the buffer that lies there. */
inline void Core::inside_any(bool write, Hardware memory, uint64_t address, uint64_t bytes)
{
    const char* const verb = write ? "writes " : "reads ";
    Buffer* const buffer = buffer_of(memory, address);
    if (buffer == nullptr) {
        if (!buffers_[static_cast<uint32_t>(memory)].empty()) {
            found("no-buffer", std::string(verb) + bytes_of_to(address, address + bytes, usable_bytes(memory)) +
                                   " of " + name_of(memory) + ", which no buffer has");
        }
        return;
    }
    if (address + bytes > buffer->end) {
        found("buffer-bounds", std::string(verb) + std::to_string(address + bytes - buffer->end) +
                                   " bytes past the end of a buffer", kNoSite,
              place_of(memory, address, bytes));
    }
    in_turn(verb, *buffer, 0, address, bytes);
}

/* Whether the buffer's queue has given it out, as this tensor of the queue (0: not known). */
inline void Core::in_turn(const char* verb, const Buffer& buffer, uint32_t round, uint64_t address, uint64_t bytes)
{
    const auto told = [&](const char* rule, const char* what) {
        const Hardware memory = memory_of(buffer.position);
        const bool within = address >= buffer.begin && address < buffer.end;
        found(rule, std::string(verb) + what, kNoSite,
              within ? place_of(memory, address, bytes) : Place{buffer.site, ""});
    };
    if (buffer.state == Buffer::State::idle) {
        told("queue-idle", "a buffer of a queue that is not allocated");
    } else if (buffer.state == Buffer::State::queued) {
        told("queue-queued", "a tensor between EnQue and DeQue");
    } else if (round != 0 && round != buffer.round + 1) {
        told("queue-idle", "through a tensor that was freed: AllocTensor has given its buffer out again");
    }
}

inline std::string Core::spelled(const Buffer& buffer)
{
    return buffer.number > 1 ? ", buffer " + std::to_string(buffer.index) + " of " + std::to_string(buffer.number) : "";
}

inline Place Core::place_of(Hardware memory, uint64_t address, uint64_t bytes)
{
    if (memory == Hardware::GM) {
        for (const Region& region : launch_.regions) {
            if (address >= region.begin && address + bytes <= region.end) {
                const uint64_t from = address - region.begin;
                return Place{kNoSite, region.name + ": " + bytes_of_to(from, from + bytes, region.end - region.begin)};
            }
        }
        return Place{};
    }
    const Buffer* const buffer = buffer_of(memory, address);
    if (buffer == nullptr) {
        return Place{};
    }
    const uint64_t from = address - buffer->begin;
    std::string text = bytes_of_to(from, from + bytes, buffer->end - buffer->begin);
    return Place{buffer->site, std::move(text) + spelled(*buffer)};
}

}  // namespace check
}  // namespace pypto_twin

#endif
