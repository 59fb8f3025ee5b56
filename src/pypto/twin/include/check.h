/* CPU twin, checked build: what hooks.h reports to. The work is done in check/checker.h. */
#ifndef PYPTO_TWIN_CHECK_H
#define PYPTO_TWIN_CHECK_H

#include "../../runtime/pypto_abi.h"
#include "instruction.h"
#include "provenance.h"
#include "types.h"

namespace pypto_twin {

struct Blocks;

namespace check {

class Core;
enum class QueueEvent : uint8_t { alloc, enque, deque, free };

/* Why bytes hold no value that a kernel has put there. */
enum class Undefined : uint8_t { never, buffer, allocated, padding, reset, workspace, scratch };

/* Where an undefined value comes from: a number of the launch's table; 0: the value is defined. */
using Origin = uint16_t;
constexpr Origin kDefined = 0, kNever = 1;

/* What is known of the results that a stream's registers hold. */
struct Registers {
    Origin sum = kNever, extreme = kNever, compare = kNever;
    uint8_t compare_bits[16] = {}; /* 1: defined */
};

/* The calling stream's checker, made when the stream begins. */
PYPTO_HIDDEN Core* begin(PyptoCore* core);
PYPTO_HIDDEN void end(Core* core);

/* The core can do no more: it ends here. */
[[noreturn]] PYPTO_HIDDEN void refuse(Core* core, const char* rule, const char* what);

PYPTO_HIDDEN void instruction(Core* core, pipe_t pipe);
PYPTO_HIDDEN void access(Core* core, bool write, Provenance position, const void* address,
                         uint64_t bytes, pipe_t pipe, uint32_t rows, uint64_t pitch);
PYPTO_HIDDEN void ordered(Core* core, pipe_t earlier, pipe_t later);
/* Whether the unit flag of an Mmad, of a Fixpipe, orders it behind the other one. */
PYPTO_HIDDEN bool unit_product(Core* core, uint32_t flag, const void* address, uint64_t bytes, bool goes_on);
PYPTO_HIDDEN bool unit_drain(Core* core, uint32_t flag, const void* address, uint64_t bytes, uint32_t strips,
                             uint64_t pitch);
PYPTO_HIDDEN void set_atomic(Core* core, bool atomic);
PYPTO_HIDDEN void cached(Core* core, bool write, const void* address, uint64_t bytes);
PYPTO_HIDDEN void uncached(Core* core, bool read, bool write, const void* address, uint64_t bytes);
PYPTO_HIDDEN void clean(Core* core, const void* address, bool all, bool global);
PYPTO_HIDDEN void init_state(Core* core);
PYPTO_HIDDEN void barrier(Core* core, pipe_t pipe);
/* An offset of Gather or Gatherb, which is a multiple of `unit` bytes. */
PYPTO_HIDDEN void gather_offset(Core* core, uint64_t offset, uint32_t unit);
/* TransDataTo5HD takes `bytes` of each of these blocks, a repeat at a time. */
PYPTO_HIDDEN void block_lists(Core* core, const Blocks& dst, const Blocks& src, uint32_t bytes, uint32_t repeats);
PYPTO_HIDDEN void set_flag(Core* core, AscendC::HardEvent event, int32_t id);
PYPTO_HIDDEN void wait_flag(Core* core, AscendC::HardEvent event, int32_t id);
PYPTO_HIDDEN void fetch_id(Core* core, AscendC::HardEvent event, int32_t id, bool allocate);
PYPTO_HIDDEN void release_id(Core* core, AscendC::HardEvent event, int32_t id);
PYPTO_HIDDEN void soft_sync(Core* core, const void* gm, uint64_t gm_bytes, uint64_t ub_bytes);
PYPTO_HIDDEN bool arrive(Core* core, bool aiv_only);
PYPTO_HIDDEN void leave(Core* core, bool aiv_only);
PYPTO_HIDDEN bool cross_set(Core* core, uint32_t mode, pipe_t pipe, uint32_t flag);
PYPTO_HIDDEN bool cross_wait(Core* core, uint32_t flag);
PYPTO_HIDDEN void cross_waited(Core* core, uint32_t flag);
PYPTO_HIDDEN void begin_pipe(Core* core, const void* pipe);
PYPTO_HIDDEN void end_pipe(Core* core, const void* pipe);
PYPTO_HIDDEN uint32_t add_buffers(Core* core, AscendC::TPosition position, const void* address, uint64_t bytes,
                                  uint32_t number, AscendC::TPosition target);
/* Of a buffer: the tensor that it holds now. */
PYPTO_HIDDEN Provenance held_by(Core* core, Provenance buffer);
PYPTO_HIDDEN Provenance declare(Core* core, AscendC::TPosition position, const void* address, uint64_t bytes);
PYPTO_HIDDEN Provenance redeclare(Core* core, Provenance of, const void* address, uint64_t bytes);
PYPTO_HIDDEN void queue_event(Core* core, QueueEvent what, Provenance position, const void* address);
PYPTO_HIDDEN void queue_depth(Core* core, uint32_t queued, uint32_t depth);

/* Which bytes are defined; hooks.h says what these mean. Rows are `pitch` bytes from start to start. */
PYPTO_HIDDEN void define(Core* core, AscendC::TPosition position, const void* address, uint64_t bytes,
                         uint32_t rows, uint64_t pitch);
PYPTO_HIDDEN void undefine(Core* core, Undefined why, AscendC::TPosition position, const void* address,
                           uint64_t bytes, uint32_t rows, uint64_t pitch);
PYPTO_HIDDEN void move(Core* core, AscendC::TPosition dst, const void* to, uint64_t to_pitch,
                       AscendC::TPosition src, const void* from, uint64_t from_pitch, uint64_t bytes,
                       uint32_t rows, bool accumulates);
PYPTO_HIDDEN void lanes(Core* core, const Instruction& instruction, const Operand<uint8_t>* operands,
                        uint32_t repeats, uint32_t count);
PYPTO_HIDDEN void masked_lanes(Core* core, const Instruction& instruction,
                               const Operand<uint8_t>* operands, uint32_t repeats, uint64_t low,
                               uint64_t high);
PYPTO_HIDDEN Origin origin(Core* core, AscendC::TPosition position, const void* address, uint64_t bytes);
PYPTO_HIDDEN void assign(Core* core, AscendC::TPosition position, const void* address, uint64_t bytes,
                         Origin origin);
PYPTO_HIDDEN uint8_t defined_bits(Core* core, AscendC::TPosition position, const void* address);
PYPTO_HIDDEN void assign_bits(Core* core, AscendC::TPosition position, const void* address, uint8_t bits,
                              Origin origin);
PYPTO_HIDDEN bool use(Core* core, const char* rule, const char* what, AscendC::TPosition position,
                      const void* address, uint64_t bytes);
PYPTO_HIDDEN bool use_origin(Core* core, const char* rule, const char* what, Origin origin);

/* Global memory that a kernel is given: `bytes` at `*pointer`, which lies in the launch's frame;
 * `element`: bytes of an element. A workspace is memory that nobody has filled. */
struct Argument {
    const char* name;
    uint8_t** pointer;
    uint64_t bytes;
    uint32_t element = 1;
    bool workspace = false;
};

/* As runtime->launch, checked: PYPTO_OK, or PYPTO_UNLAWFUL with a report to be taken. The kernel
 * works on copies of its arguments that lie far from one another. Without arguments nothing is known
 * of global memory. */
PYPTO_HIDDEN int32_t launch(const PyptoRuntime* runtime, const PyptoLaunch* launch,
                            const Argument* arguments = nullptr, uint32_t count = 0);

}  // namespace check
}  // namespace pypto_twin

#endif
