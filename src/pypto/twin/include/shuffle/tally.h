/* Shuffled twin: signals between streams, and chance. */
#ifndef PYPTO_TWIN_SHUFFLE_TALLY_H
#define PYPTO_TWIN_SHUFFLE_TALLY_H

#include <stdint.h>

namespace pypto_twin {
namespace shuffle {

class Stream;

/* A signal that several streams give together: it is given for the n-th time when each of them has
 * said so n times. Streams wait for it in a list. */
class Tally {
public:
    static constexpr uint32_t kMost = 16; /* streams that give it */

    explicit Tally(uint32_t givers = 1) : givers_(givers) {}

    uint32_t given() const { return given_; }

    /* Giver `index` says so once more; whether the signal was given by that. */
    bool give(uint32_t index)
    {
        if (counts_[index]++ != given_) {
            return false;
        }
        for (uint32_t i = 0; i < givers_; ++i) {
            if (counts_[i] == given_) {
                return false;
            }
        }
        ++given_; /* all others were ahead by at least one, and `index` by one at most */
        return true;
    }
    void raise(uint32_t given) { given_ = given; }

    Stream* waiting = nullptr;

private:
    uint32_t counts_[kMost] = {};
    uint32_t givers_;
    uint32_t given_ = 0;
};

/* A sequence of numbers that a seed decides. */
class Chance {
public:
    explicit Chance(uint64_t seed) : state_(seed) {}

    uint64_t next()
    {
        state_ += 0x9E3779B97F4A7C15u;
        return mixed(state_);
    }
    uint32_t below(uint32_t limit) { return static_cast<uint32_t>((next() >> 32) * limit >> 32); }

    static uint64_t mixed(uint64_t value)
    {
        value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9u;
        value = (value ^ value >> 27) * 0x94D049BB133111EBu;
        return value ^ value >> 31;
    }

private:
    uint64_t state_;
};

/* How a seed chooses: what drives streams far apart differs from what mixes them well. */
struct Strategy {
    bool priorities;  /* the stream of highest priority goes on, until that changes */
    uint32_t change;  /* one in so many steps draws a new priority */
    uint32_t aside;   /* one in so many instructions of a pipe goes to its second stream; 0: none */

    static Strategy of(uint64_t seed)
    {
        static const Strategy all[] = {
            {false, 1, 2}, {true, 8, 2}, {true, 64, 4}, {false, 1, 8}, {true, 16, 8}, {true, 256, 2}, {true, 32, 0},
        };
        return all[Chance::mixed(seed ^ 0x5bf0) % (sizeof all / sizeof *all)];
    }
};

}  // namespace shuffle
}  // namespace pypto_twin

#endif
