/* Checked twin: what happens before what.
 *
 * Each pipe of each core is a thread of execution. The scalar unit issues instructions in program
 * order; a pipe starts them in that order but need not finish one before it starts the next. An
 * instruction is known to be complete only through a barrier of its own pipe, a flag, a queue or a
 * barrier of cores. All of these say that everything which a pipe was given before is complete, so
 * what a pipe knows of another one is a single number: how many of its instructions are complete.
 */
#ifndef PYPTO_TWIN_CHECK_ORDER_H
#define PYPTO_TWIN_CHECK_ORDER_H

#include <stdint.h>

#include <algorithm>
#include <vector>

#include "../types.h"

namespace pypto_twin {
namespace check {

constexpr uint32_t kPipes = 8; /* by pipe_t; PIPE_ALL's place stays empty */

/* One instruction: the `index`-th of a pipe. Pipes of all cores are numbered core * kPipes + pipe. */
struct Event {
    uint32_t pipe;
    uint32_t index;

    bool operator==(const Event& other) const { return pipe == other.pipe && index == other.index; }
};

/* For each pipe of each core, how many of its instructions are complete. */
class Clock {
public:
    Clock() = default;
    explicit Clock(uint32_t pipes) : complete_(pipes) {}

    bool knows(const Event& event) const { return complete_[event.pipe] > event.index; }
    void learn(uint32_t pipe, uint32_t issued) { complete_[pipe] = std::max(complete_[pipe], issued); }
    void join(const Clock& other)
    {
        for (size_t i = 0; i < complete_.size(); ++i) {
            complete_[i] = std::max(complete_[i], other.complete_[i]);
        }
    }

private:
    std::vector<uint32_t> complete_;
};

/* The pipes of one core: what each has been given, and what it knows when it starts the next. */
class Order {
public:
    Order(uint32_t core, uint32_t cores) : first_(core * kPipes)
    {
        for (Clock& clock : known_) {
            clock = Clock(cores * kPipes);
        }
    }

    /* The scalar unit issues an instruction on `pipe`. What the scalar unit has waited for is over
     * when it issues; what it has written itself may still be under way. */
    Event issue(pipe_t pipe)
    {
        if (pipe != PIPE_S && seen_[pipe] != scalar_version_) {
            known_[pipe].join(known_[PIPE_S]);
            seen_[pipe] = scalar_version_;
        }
        return Event{first_ + pipe, issued_[pipe]++};
    }

    /* Whether `earlier` is complete before the next instruction of `pipe` starts. */
    bool before(const Event& earlier, pipe_t pipe) const
    {
        return known_[pipe].knows(earlier) || (pipe == PIPE_S && earlier.pipe == first_ + PIPE_S);
    }

    /* What a flag set behind the instructions of `pipe` tells its waiter. */
    Clock published(pipe_t pipe) const
    {
        Clock clock = known_[pipe];
        clock.learn(first_ + pipe, issued_[pipe]);
        return clock;
    }

    void wait(pipe_t pipe, const Clock& clock)
    {
        known_[pipe].join(clock);
        scalar_version_ += pipe == PIPE_S;
    }

    /* All pipes and the scalar unit wait. */
    void wait_all(const Clock& clock)
    {
        for (uint32_t pipe = 0; pipe < kPipes; ++pipe) {
            wait(static_cast<pipe_t>(pipe), clock);
        }
    }

    void barrier(pipe_t pipe)
    {
        if (pipe == PIPE_ALL) {
            wait_all(everything());
        } else {
            known_[pipe].learn(first_ + pipe, issued_[pipe]);
        }
    }

    /* Everything this core was given so far. */
    Clock everything() const
    {
        Clock all = published(PIPE_S);
        for (uint32_t pipe = 0; pipe < kPipes; ++pipe) {
            all.join(published(static_cast<pipe_t>(pipe)));
        }
        return all;
    }

private:
    uint32_t first_;
    uint32_t issued_[kPipes] = {};
    uint64_t scalar_version_ = 1;
    uint64_t seen_[kPipes] = {};
    Clock known_[kPipes];
};

}  // namespace check
}  // namespace pypto_twin

#endif
