/* CPU twin: the stream (AIV or AIC core) that this thread runs, and its registers. */
#ifndef PYPTO_TWIN_CORE_H
#define PYPTO_TWIN_CORE_H

#include "../../runtime/pypto_abi.h"
#include "check.h"
#include "instruction.h"
#include "shuffle.h"
#include "types.h"

/* With hooks compiled in, instructions report what they do (hooks.h). */
#if defined(PYPTO_TWIN_COUNT) || defined(PYPTO_TWIN_CHECKED)
#define PYPTO_TWIN_HOOKS 1
#else
#define PYPTO_TWIN_HOOKS 0
#endif

#include "printed.h"

namespace pypto_twin {

struct Rows; /* of a copy: bytes.h */

/* One copy of a kernel's step, known by its on-chip address; where it was in global memory. */
struct Track {
    const uint8_t* local;
    const uint8_t* global;
};

constexpr uint32_t kWanted = 4;

/* Global memory that the next step will touch, as far as the last steps tell. */
struct Wanted {
    const uint8_t* at[kWanted];
    uint32_t count;
};

/* A load that has not moved yet (deferred.h): `bytes` of global memory at `src`, for `dst`. */
struct Deferred {
    uint8_t* dst;
    const uint8_t* src;
    uint64_t bytes;
};

/* An instruction that has not run yet (deferred.h); its sources are where they are to be read. */
struct Pending {
    const Instruction* instruction;
    Operand<uint8_t> operands[kOperands];
    uint64_t function[2]; /* the function object */
    uint64_t bytes;       /* of the destination */
    uint32_t mask;        /* lanes of a repeat; 0: one dense run */
    uint32_t count;       /* repeats; elements of a dense run */
};

constexpr uint32_t kDeferred = 8;
constexpr uint32_t kPending = 8;
constexpr uint32_t kTracks = 4;

/* Guesses only: wrong ones cost time, never results. */
struct Tracker {
    Wanted wanted;  /* noted by loads, asked for by the store that follows */
    Track tracks[kTracks];
    uint32_t oldest;  /* replaced next */
};

/* Registers of one stream. It lives on the stream's stack; making it binds this thread to `core`. */
struct State {
    explicit PYPTO_INLINE State(PyptoCore* core);
    State(const State&) = delete;
#if defined(PYPTO_TWIN_CHECKED)
    ~State() { check::end(check); }

    check::Core* check;
    check::Registers registers;
    uint8_t atomic_type; /* SetAtomic*: 1 + check::type_of, 0 for none */
    bool deq_set;        /* SetDeqScale was called */
#elif defined(PYPTO_TWIN_SHUFFLED)
    shuffle::Stream* stream;
#endif

    PyptoCore* core;
    const Printed* printed; /* where the launch keeps what it prints; nullptr: nowhere */
    Text* text;             /* what this core has printed there */
    uint64_t mask_low;      /* lanes 0..63; in counter mode the total number of elements */
    uint64_t mask_high;     /* lanes 64..127 */
    uint64_t compare_mask[2]; /* result of the register form of Compare */
    void (*accumulate)(const Rows&); /* SetAtomic*: what copies to GM do; nullptr: store */
    uint64_t pad_value;     /* SetPadValue: bits of the value, right aligned */
    float deq_scale;        /* SetDeqScale */
    float reduce_sum;       /* last repeat sum */
    float reduce_value;     /* last repeat maximum or minimum */
    uint32_t reduce_index;  /* its lane */
    uint32_t merged[4];     /* records that the last MrgSort has taken of each list */
    int16_t deq_offset;
    bool deq_signed;
    bool mask_counter;      /* counter mode */
    bool pad_set;           /* SetPadValue was called */
    bool streaming;         /* PYPTO_STREAM_STORES of the launch */
    bool hf32;              /* SetHF32Mode */
    bool hf32_to_zero;      /* SetHF32TransMode */
    Tracker tracker;
    uint32_t deferred_count;
    uint32_t pending_count;
    Deferred deferred[kDeferred];
    Pending pending[kPending]; /* their results lie side by side, in this order */
};

/* The stream of this thread, in each kernel binary. A pointer, because the fast kind of thread-local
 * memory that loaded libraries share is scarce. */
#if defined(PYPTO_TWIN_SUPPORT)
PYPTO_HIDDEN __thread State* current;
#elif defined(PYPTO_TWIN_LINKED)
extern PYPTO_HIDDEN __thread State* current;
#else
static __thread State* current;
#endif

PYPTO_INLINE State& state() { return *current; }

PYPTO_INLINE State::State(PyptoCore* of)
{
    __builtin_memset(static_cast<void*>(this), 0, offsetof(State, deferred));
    core = of;
    mask_low = mask_high = ~uint64_t{0};
    deq_scale = 1.0f;
    streaming = (of->flags & PYPTO_STREAM_STORES) != 0;
    current = this;
#if defined(PYPTO_TWIN_CHECKED)
    registers = check::Registers();
    check = check::begin(of);
#elif defined(PYPTO_TWIN_SHUFFLED)
    stream = shuffle::begin();
#endif
}

/* A broken rule that cannot be computed around: says which and ends the process. */
[[noreturn]] PYPTO_SHARED __attribute__((cold)) void fail(const char* what);

PYPTO_INLINE uint8_t* memory_base(AscendC::TPosition position)
{
    return state().core->ub + memory_offset(memory_of(position));
}

/* SetDeqScale was called. */
PYPTO_INLINE void on_deq_scale()
{
#if defined(PYPTO_TWIN_CHECKED)
    state().deq_set = true;
#endif
}

}  // namespace pypto_twin

#define ASCEND_IS_AIV (pypto_twin::state().core->is_cube == 0)
#define ASCEND_IS_AIC (pypto_twin::state().core->is_cube != 0)

namespace AscendC {

PYPTO_INLINE int64_t GetBlockIdx() { return pypto_twin::state().core->block_idx; }
PYPTO_INLINE int64_t GetBlockNum() { return pypto_twin::state().core->block_num; }
PYPTO_INLINE int64_t GetSubBlockIdx() { return pypto_twin::state().core->sub_block_idx; }
PYPTO_INLINE int64_t GetSubBlockNum() { return pypto_twin::state().core->sub_block_num; }
PYPTO_INLINE int64_t GetTaskRatio() { return pypto_twin::state().core->sub_block_num; }
PYPTO_INLINE int64_t GetTaskRation() { return GetTaskRatio(); }
PYPTO_INLINE void InitSocState()
{
#if defined(PYPTO_TWIN_CHECKED)
    pypto_twin::check::init_state(pypto_twin::state().check);
#endif
}

/* Passed as mask where isSetMask is false. */
constexpr uint64_t MASK_PLACEHOLDER = 0;

PYPTO_INLINE void SetMaskCount() { pypto_twin::state().mask_counter = true; }
PYPTO_INLINE void SetMaskNorm() { pypto_twin::state().mask_counter = false; }

PYPTO_INLINE void ResetMask()
{
    pypto_twin::state().mask_low = pypto_twin::state().mask_high = ~uint64_t{0};
}

/* Normal mode: one bit a lane. Counter mode: low = number of elements. */
template <typename T, MaskMode mode = MaskMode::NORMAL>
PYPTO_INLINE void SetVectorMask(uint64_t high, uint64_t low)
{
    pypto_twin::state().mask_high = high;
    pypto_twin::state().mask_low = low;
}

/* Normal mode: the first `length` lanes. Counter mode: number of elements. */
template <typename T, MaskMode mode = MaskMode::NORMAL>
PYPTO_INLINE void SetVectorMask(int32_t length)
{
    if constexpr (mode == MaskMode::COUNTER) {
        SetVectorMask<T, mode>(0, static_cast<uint64_t>(length));
    } else {
        const uint64_t ones = ~uint64_t{0};
        const uint32_t lanes = static_cast<uint32_t>(length);
        const uint64_t low = lanes >= 64 ? ones : (uint64_t{1} << lanes) - 1;
        const uint64_t high =
            lanes >= 128 ? ones : (lanes > 64 ? (uint64_t{1} << (lanes - 64)) - 1 : 0);
        SetVectorMask<T, mode>(high, low);
    }
}

PYPTO_INLINE void SetDeqScale(half scale)
{
    pypto_twin::state().deq_scale = static_cast<float>(scale);
    pypto_twin::on_deq_scale();
}

PYPTO_INLINE void SetDeqScale(float scale, int16_t offset, bool signMode)
{
    pypto_twin::state().deq_scale = scale;
    pypto_twin::state().deq_offset = offset;
    pypto_twin::state().deq_signed = signMode;
    pypto_twin::on_deq_scale();
}

}  // namespace AscendC

namespace pypto_twin {

struct BlockIndex { /* equal on the AIVs of one group */
    PYPTO_INLINE operator int64_t() const
    {
        const PyptoCore* core = state().core;
        return core->is_cube != 0 ? core->block_idx : core->block_idx / core->sub_block_num;
    }
};
struct BlockCount {
    PYPTO_INLINE operator int64_t() const { return state().core->block_num; }
};
struct SubBlockIndex {
    PYPTO_INLINE operator int64_t() const { return state().core->sub_block_idx; }
};

}  // namespace pypto_twin

/* Built-in variables of the language. */
static constexpr pypto_twin::BlockIndex block_idx{};
static constexpr pypto_twin::BlockCount block_num{};
static constexpr pypto_twin::SubBlockIndex sub_block_idx{};

#endif
