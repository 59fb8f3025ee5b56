/* CPU twin, shuffled build: what hooks.h asks. The work is done in shuffle/launch.h.
 *
 * Every pipe of every core is a few streams of its own. Each runs the whole program of the core, but
 * carries out only instructions of its pipe, and stops where its pipe would have to wait. Which of
 * them goes on is drawn from a seed, so a launch is one of the orders that the device may take.
 */
#ifndef PYPTO_TWIN_SHUFFLE_H
#define PYPTO_TWIN_SHUFFLE_H

#include "check.h"

namespace pypto_twin {
namespace shuffle {

class Stream;

/* The stream that begins on this thread. */
PYPTO_HIDDEN Stream* begin();

/* Whether this stream carries out the instruction of `pipe` that it has come to; other streams may
 * have run when it returns. `everywhere`: its result is a register, which each stream of the pipe has. */
PYPTO_HIDDEN bool turn(Stream* stream, pipe_t pipe, bool everywhere);
/* The same of an instruction of the scalar unit. */
PYPTO_HIDDEN bool scalar_turn(Stream* stream);

/* `value` as the scalar unit has read it, or as the last instruction of the vector pipe has left it. */
PYPTO_HIDDEN void from_scalar(Stream* stream, void* value, uint32_t bytes);
PYPTO_HIDDEN void from_vector(Stream* stream, void* value, uint32_t bytes);

PYPTO_HIDDEN void ordered(Stream* stream, pipe_t earlier, pipe_t later);
PYPTO_HIDDEN void barrier(Stream* stream, pipe_t pipe);
PYPTO_HIDDEN void set_flag(Stream* stream, AscendC::HardEvent event, int32_t id);
PYPTO_HIDDEN void wait_flag(Stream* stream, AscendC::HardEvent event, int32_t id);
PYPTO_HIDDEN void sync_all(Stream* stream, bool aiv_only);
PYPTO_HIDDEN void cross_set(Stream* stream, uint32_t mode, pipe_t pipe, uint32_t flag);
PYPTO_HIDDEN void cross_wait(Stream* stream, uint32_t flag);
PYPTO_HIDDEN void add_buffer(Stream* stream, AscendC::TPosition position, const void* address, uint64_t bytes,
                             AscendC::TPosition target);
PYPTO_HIDDEN void queue_event(Stream* stream, check::QueueEvent what, const void* address);

/* Ends the launch: a rule is broken that cannot be computed around. */
[[noreturn]] PYPTO_HIDDEN void stop(Stream* stream, const char* what);

/* As runtime->launch, in the order of a seed (PYPTO_TWIN_SEED): PYPTO_OK, or PYPTO_UNLAWFUL with a
 * report to be taken when the order led to a deadlock. With `any_blocks` the number of blocks, too, is
 * drawn from the seed. */
PYPTO_HIDDEN int32_t launch(const PyptoLaunch* launch,
                            const check::Argument* arguments = nullptr, uint32_t count = 0,
                            bool any_blocks = false);

}  // namespace shuffle
}  // namespace pypto_twin

#endif
