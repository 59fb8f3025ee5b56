/* Checked twin: how definedness travels, and where undefined values must not arrive. */
#ifndef PYPTO_TWIN_CHECK_VALUES_H
#define PYPTO_TWIN_CHECK_VALUES_H

#include "bounds.h"

namespace pypto_twin {
namespace check {

/* Where bytes have their definedness. Arguments of the kernel and what lies outside any memory have
 * none: they count as defined. */
struct Core::Values {
    Defined* memory;
    uint64_t at;

    Origin origin(uint64_t bytes) const { return memory == nullptr ? kDefined : memory->origin(at, bytes); }
    bool whole(uint64_t bytes) const { return memory == nullptr || memory->whole(at, bytes); }
    void assign(uint64_t bytes, Origin origin) const
    {
        if (memory == nullptr) {
            return;
        }
        if (origin == kDefined) {
            memory->define(at, bytes);
        } else {
            memory->undefine(at, bytes, origin);
        }
    }
};

inline Region* Core::region_of(uint64_t address, uint64_t bytes)
{
    for (Region& region : launch_.regions) {
        if (address >= region.begin && address + bytes <= region.end) {
            return &region;
        }
    }
    return nullptr;
}

inline Core::Values Core::values_at(TPosition position, const void* address, uint64_t bytes)
{
    const uint64_t at = reinterpret_cast<uint64_t>(address);
    if (memory_of(position) == Hardware::GM) {
        Region* const region = region_of(at, bytes);
        return region == nullptr || region->values == nullptr ? Values{nullptr, 0}
                                                              : Values{region->values.get(), at - region->begin};
    }
    const uint64_t offset = at - reinterpret_cast<uint64_t>(core_.ub);
    return offset + bytes > values_.bytes() || offset + bytes < bytes ? Values{nullptr, 0}
                                                                      : Values{&values_, offset};
}

inline Origin Core::cause(Undefined why) { return launch_.origins.of(Cause{why, site_}); }

inline void Core::define(TPosition position, const void* address, uint64_t bytes, uint32_t rows, uint64_t pitch)
{
    for (uint32_t row = 0; row < rows; ++row) {
        assign(position, static_cast<const uint8_t*>(address) + row * pitch, bytes, kDefined);
    }
}

inline void Core::undefine(Undefined why, TPosition position, const void* address, uint64_t bytes,
                           uint32_t rows, uint64_t pitch)
{
    if (bytes == 0) {
        return;
    }
    const Origin origin = cause(why);
    for (uint32_t row = 0; row < rows; ++row) {
        assign(position, static_cast<const uint8_t*>(address) + row * pitch, bytes, origin);
    }
}

/* A function of the library, about to run, leaves what it likes in its temporary buffer. */
inline void Core::spoil(TPosition position, uint64_t address, uint64_t bytes)
{
    site_ = here();
    undefine(Undefined::scratch, position, reinterpret_cast<const void*>(address), bytes, 1, 0);
}

inline void Core::assign(TPosition position, const void* address, uint64_t bytes, Origin origin)
{
    const Values to = values_at(position, address, bytes);
    to.assign(bytes, origin);
    if (origin != kDefined && to.memory == nullptr && memory_of(position) == Hardware::GM) {
        found_undefined("undefined-store", "stores an undefined value to " + spelled(position, address), origin,
                        Place{});
    }
}

inline Origin Core::origin(TPosition position, const void* address, uint64_t bytes)
{
    return values_at(position, address, bytes).origin(bytes);
}

inline uint8_t Core::defined_bits(TPosition position, const void* address)
{
    const Values from = values_at(position, address, 1);
    return from.memory == nullptr ? 0xff : from.memory->bits(from.at);
}

inline void Core::assign_bits(TPosition position, const void* address, uint8_t bits, Origin origin)
{
    const Values to = values_at(position, address, 1);
    if (to.memory != nullptr) {
        to.memory->set_bits(to.at, bits, origin);
    }
}

inline void Core::clear_values() { values_.clear(cause(Undefined::reset)); }

/* "'y', element 3"; "byte 96 of UB" */
inline std::string Core::spelled(TPosition position, const void* address)
{
    const Hardware memory = memory_of(position);
    const uint64_t at = reinterpret_cast<uint64_t>(address);
    if (memory != Hardware::GM) {
        return "byte " + std::to_string(offset_of(memory, address)) + " of " + name_of(memory);
    }
    const Region* const region = region_of(at, 1);
    return region == nullptr ? "GM"
                             : "'" + region->name + "', element " +
                                   std::to_string((at - region->begin) / region->element);
}

inline uint64_t Core::offset_of(Hardware memory, const void* address) const
{
    const uint64_t at = reinterpret_cast<uint64_t>(address);
    return memory == Hardware::GM ? at : at - reinterpret_cast<uint64_t>(core_.ub) - memory_offset(memory);
}

inline const char* text_of(Undefined why)
{
    switch (why) {
        case Undefined::buffer: return "never written since InitBuffer";
        case Undefined::allocated: return "never written since AllocTensor";
        case Undefined::padding: return "the rest of a last block, which DataCopyPad leaves undefined";
        case Undefined::reset: return "never written since TPipe::Reset";
        case Undefined::workspace: return "workspace that was never written";
        case Undefined::scratch: return "left by a function in its temporary buffer";
        default: return "never written";
    }
}

inline void Core::found_undefined(const char* rule, std::string text, Origin origin, Place place)
{
    const Cause& cause = launch_.origins[origin];
    found(rule, std::move(text) + ": " + text_of(cause.why), cause.site, std::move(place));
}

/* An undefined value in these bytes is used. From then on they count as defined, so that each is
 * reported once. `what` is to be completed by " is undefined". */
inline bool Core::use(const char* rule, const char* what, TPosition position, const void* address, uint64_t bytes)
{
    const Values from = values_at(position, address, bytes);
    const Origin origin = from.origin(bytes);
    if (origin != kDefined) {
        used(rule, std::string(what) + " is undefined", position, address, bytes, from);
        from.assign(bytes, kDefined);
    }
    return origin == kDefined;
}

/* Tells where the first run of bytes is that are not defined. */
inline void Core::used(const char* rule, std::string text, TPosition position, const void* address,
                       uint64_t bytes, const Values& from)
{
    const uint64_t first = from.memory->first(from.at, bytes);
    uint64_t end = first + 1;
    while (end != from.at + bytes && from.memory->bits(end) != 0xff) {
        ++end;
    }
    const Hardware memory = memory_of(position);
    const uint8_t* const at = static_cast<const uint8_t*>(address) + (first - from.at);
    Place place = place_of(memory, offset_of(memory, at), end - first);
    if (place.text.empty()) {
        text += " (" + spelled(position, at) + ")";
    }
    found_undefined(rule, std::move(text), from.memory->origin(first, 1), std::move(place));
}

inline bool Core::use_origin(const char* rule, const char* what, Origin origin)
{
    if (origin != kDefined) {
        found_undefined(rule, std::string(what) + " is undefined", origin, Place{});
    }
    return origin == kDefined;
}

inline void Core::stored(TPosition dst, const uint8_t* to, TPosition src, const uint8_t* from, uint64_t bytes)
{
    const Values source = values_at(src, from, bytes);
    if (source.origin(bytes) != kDefined) {
        const uint64_t skipped = source.memory->first(source.at, bytes) - source.at;
        used("undefined-store", "stores an undefined value to " + spelled(dst, to + skipped), src, from, bytes,
             source);
        source.assign(bytes, kDefined);
    }
}

inline void Core::move(TPosition dst, const void* to, uint64_t to_pitch, TPosition src, const void* from,
                       uint64_t from_pitch, uint64_t bytes, uint32_t rows, bool accumulates)
{
    for (uint32_t row = 0; row < rows; ++row) {
        const uint8_t* const target = static_cast<const uint8_t*>(to) + row * to_pitch;
        const uint8_t* const source = static_cast<const uint8_t*>(from) + row * from_pitch;
        const Values d = values_at(dst, target, bytes);
        const Values s = values_at(src, source, bytes);
        if (d.memory == nullptr) {
            if (memory_of(dst) == Hardware::GM) {
                stored(dst, target, src, source, bytes);
            }
        } else if (s.memory == nullptr) {
            if (!accumulates) {
                d.memory->define(d.at, bytes);
            }
        } else if (accumulates) {
            d.memory->add(d.at, *s.memory, s.at, bytes);
        } else {
            d.memory->copy(d.at, *s.memory, s.at, bytes);
        }
    }
}

/* Repeats after which nothing changes: those of operands that stay, one for each lane that a value may
 * have to pass, else all. Strides are not negative, so no value goes in a circle. */
inline uint32_t changing_repeats(const Instruction& instruction, const Operand<uint8_t>* operands, uint32_t repeats)
{
    const auto stays = [](const Operand<uint8_t>& at) { return at.repeat == 0; };
    return std::all_of(operands, operands + instruction.operands, stays)
               ? std::min<uint32_t>(repeats, instruction.repeat_lanes)
               : repeats;
}

inline void Core::lanes(const Instruction& instruction, const Operand<uint8_t>* operands, uint32_t repeats,
                        uint32_t count)
{
    const uint32_t changing = changing_repeats(instruction, operands, repeats);
    for (uint32_t r = 0; r < changing; ++r) {
        run_of_lanes(instruction, operands, r, 0, count);
    }
}

inline void Core::masked_lanes(const Instruction& instruction, const Operand<uint8_t>* operands,
                               uint32_t repeats, uint64_t low, uint64_t high)
{
    const auto bit = [&](uint32_t lane) { return ((lane < 64 ? low >> lane : high >> (lane - 64)) & 1) != 0; };
    const uint32_t changing = changing_repeats(instruction, operands, repeats);
    for (uint32_t r = 0; r < changing; ++r) {
        for (uint32_t lane = 0; lane < instruction.repeat_lanes; ++lane) {
            const uint32_t first = lane;
            while (lane < instruction.repeat_lanes && bit(lane)) {
                ++lane;
            }
            if (lane != first) {
                run_of_lanes(instruction, operands, r, first, lane);
            }
        }
    }
}

/* Lanes [from, to) of one repeat, in pieces that are runs of bytes in every operand. */
inline void Core::run_of_lanes(const Instruction& instruction, const Operand<uint8_t>* operands,
                               uint32_t repeat, uint32_t from, uint32_t to)
{
    bool dense = true;
    uint32_t widest = 1;
    for (uint32_t k = 0; k < instruction.operands; ++k) {
        dense = dense && operands[k].block == kBlockBytes;
        widest = std::max<uint32_t>(widest, instruction.sizes[k]);
    }
    const uint32_t lanes = kBlockBytes / widest; /* of a block */
    const uint8_t* at[kOperands];
    for (uint32_t lane = from; lane < to;) {
        const uint32_t count = dense ? to - lane : std::min(to - lane, lanes - lane % lanes);
        for (uint32_t k = 0; k < instruction.operands; ++k) {
            const uint64_t offset = uint64_t{lane} * instruction.sizes[k];
            at[k] = operands[k].address + uint64_t{repeat} * operands[k].repeat +
                    offset / kBlockBytes * operands[k].block + offset % kBlockBytes;
        }
        piece_of_lanes(instruction, operands, at, count);
        lane += count;
    }
}

/* `count` lanes side by side: at once when all sources are defined, else a few at a time. */
inline void Core::piece_of_lanes(const Instruction& instruction, const Operand<uint8_t>* operands,
                                 const uint8_t* const* at, uint32_t count)
{
    bool whole = true;
    for (uint32_t k = 1; whole && k < instruction.operands; ++k) {
        const uint64_t bytes = uint64_t{count} * instruction.sizes[k];
        whole = values_at(operands[k].position, at[k], bytes).whole(bytes);
    }
    if (whole) {
        const uint64_t bytes = uint64_t{count} * instruction.sizes[0];
        values_at(operands[0].position, at[0], bytes).assign(bytes, kDefined);
        return;
    }
    if (count == 1) {
        return one_lane(instruction, operands, at);
    }
    constexpr uint32_t kFew = 16;
    const uint32_t step = count > kFew ? kFew : 1;
    const uint8_t* next[kOperands];
    for (uint32_t done = 0; done < count; done += step) {
        for (uint32_t k = 0; k < instruction.operands; ++k) {
            next[k] = at[k] + uint64_t{done} * instruction.sizes[k];
        }
        piece_of_lanes(instruction, operands, next, std::min(step, count - done));
    }
}

inline void Core::one_lane(const Instruction& instruction, const Operand<uint8_t>* operands,
                           const uint8_t* const* at)
{
    const uint32_t size = instruction.sizes[0];
    const Values d = values_at(operands[0].position, at[0], size);
    Origin origin = kDefined;
    for (uint32_t k = 1; k < instruction.operands && origin == kDefined; ++k) {
        origin = values_at(operands[k].position, at[k], instruction.sizes[k]).origin(instruction.sizes[k]);
    }
    if (instruction.mixing == Mixing::all || d.memory == nullptr) {
        return d.assign(size, origin);
    }
    for (uint32_t i = 0; i < size; ++i) { /* bits in their places */
        uint8_t bits = 0xff, decided = 0;
        for (uint32_t k = 1; k < instruction.operands; ++k) {
            const uint8_t known = defined_bits(operands[k].position, at[k] + i);
            const uint8_t value = instruction.mixing == Mixing::ands ? static_cast<uint8_t>(~at[k][i]) : at[k][i];
            bits &= known;
            decided |= instruction.mixing == Mixing::in_place ? uint8_t{0} : static_cast<uint8_t>(known & value);
        }
        d.memory->set_bits(d.at + i, bits | decided, origin);
    }
}

}  // namespace check
}  // namespace pypto_twin

#endif
