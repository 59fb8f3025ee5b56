/* Checked twin: the unit flag, which hands tiles of L0C from Mmad to Fixpipe and back.
 *
 * Mmad keeps the flags of its tile with unitFlag 2, in all steps over K but the last, and turns them
 * with 3, in the last; Fixpipe with 3 waits for that and turns them back. It orders the two only where
 * both have it.
 */
#ifndef PYPTO_TWIN_CHECK_UNIT_FLAG_H
#define PYPTO_TWIN_CHECK_UNIT_FLAG_H

#include "core_checks.h"

namespace pypto_twin {
namespace check {

constexpr const char* kBothOrNeither = "; both have it or neither: 2 in all steps over K but the last, 3 in the last "
                                       "and in Fixpipe";

/* Fractals of L0C from byte `begin` to `end`. */
template <typename Visit>
inline void Core::each_unit(uint64_t begin, uint64_t end, const Visit& visit)
{
    for (uint64_t unit = begin / kUnitBytes; unit * kUnitBytes < end && unit < kUnits; ++unit) {
        visit(units_[unit]);
    }
}

/* An Mmad is about to write these bytes; `goes_on`: it adds to them. True where the flag says that the
 * Fixpipe before it is done with them. */
inline bool Core::unit_product(uint32_t flag, const void* address, uint64_t bytes, bool goes_on)
{
    const uint64_t begin = offset_in(core_, Hardware::L0C, address);
    const char* wrong = nullptr;
    Site other = kNoSite;
    bool after = flag != 0 && bytes != 0;
    site_ = here();
    each_unit(begin, begin + bytes, [&](Unit& unit) {
        const char* found = nullptr;
        if (unit.state == Unit::State::full) {
            found = "writes a tile that an Mmad with unitFlag 3 has completed and no Fixpipe with unitFlag 3 has taken";
        } else if (unit.state == Unit::State::filling && (flag == 0 || !goes_on)) {
            found = "leaves a tile that an Mmad with unitFlag 2 has begun and none with 3 has completed";
        } else if (unit.state == Unit::State::plain && flag != 0 && goes_on) {
            found = "has unitFlag, and the Mmad that it adds to has none";
        }
        if (found != nullptr && wrong == nullptr) {
            wrong = found;
            other = unit.site;
        }
        after = after && unit.state == Unit::State::taken;
        unit = Unit{flag == 0 ? Unit::State::plain : flag == 3 ? Unit::State::full : Unit::State::filling, site_};
    });
    if (wrong != nullptr) {
        found("unit-flag", std::string("Mmad: ") + wrong + kBothOrNeither, other);
    }
    return after && wrong == nullptr;
}

/* A Fixpipe is about to read `strips` of `bytes`. True where the flag says that they are complete. */
inline bool Core::unit_drain(uint32_t flag, const void* address, uint64_t bytes, uint32_t strips, uint64_t pitch)
{
    const uint64_t start = offset_in(core_, Hardware::L0C, address);
    const char* wrong = nullptr;
    Site other = kNoSite;
    site_ = here();
    for (uint32_t strip = 0; strip < strips && bytes != 0; ++strip) {
        const uint64_t begin = start + strip * pitch;
        each_unit(begin, begin + bytes, [&](Unit& unit) {
            const char* found = nullptr;
            const bool plain = unit.state == Unit::State::plain || unit.state == Unit::State::taken;
            if (flag == 0 && !plain) {
                found = "has no unitFlag, and the Mmad that wrote the tile has it";
            } else if (flag != 0 && plain) {
                found = "waits for ever: it has unitFlag, and no Mmad with it has written the tile since";
            } else if (flag != 0 && unit.state == Unit::State::filling) {
                found = "waits for ever: the last Mmad of the tile has unitFlag 2";
            }
            if (found != nullptr && wrong == nullptr) {
                wrong = found;
                other = unit.site;
            }
        });
    }
    for (uint32_t strip = 0; strip < strips && flag != 2; ++strip) { /* a strip may end inside of a fractal */
        const uint64_t begin = start + strip * pitch;
        each_unit(begin, begin + bytes, [&](Unit& unit) {
            unit.state = flag == 0 ? Unit::State::plain : Unit::State::taken;
        });
    }
    if (wrong != nullptr) {
        found("unit-flag", std::string("Fixpipe: ") + wrong + kBothOrNeither, other);
    }
    return flag != 0 && wrong == nullptr;
}

/* The kernel ends. */
inline void Core::units_left()
{
    for (const Unit& unit : units_) {
        if (unit.state == Unit::State::full || unit.state == Unit::State::filling) {
            site_ = unit.site;
            found("unit-flag", "Mmad: no Fixpipe with unitFlag 3 takes what it has written with unitFlag; the flag "
                               "would disturb the next kernel");
        }
    }
}

}  // namespace check
}  // namespace pypto_twin

#endif
