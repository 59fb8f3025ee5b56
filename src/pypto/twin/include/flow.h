/* CPU twin, checked build: which values are defined. In the other builds all of this is nothing.
 *
 * A byte of on-chip memory or of the workspace is undefined until something is written to it, and
 * again after AllocTensor and TPipe::Reset. Undefinedness travels with values; it is an error
 * only where such a value is used: where it is stored to an argument of the kernel, read by the scalar
 * unit, or says which bytes an instruction takes. So every instruction tells how its results come
 * from its sources, before it writes them:
 *
 *   copies        on_move
 *   elementwise   on_lanes (forms.h calls it for all of them)
 *   constants     on_define
 *   all else      a Flow for each result: from(...) for every source that takes part in it, then to(...)
 *   bits          a BitFlow for eight of them
 *   offsets       on_use, which reports them, and tells whether they may be used
 */
#ifndef PYPTO_TWIN_FLOW_H
#define PYPTO_TWIN_FLOW_H

#include "hooks.h"

namespace pypto_twin {

#if defined(PYPTO_TWIN_CHECKED)
constexpr bool kChecked = true;
#else
constexpr bool kChecked = false;
#endif

/* These bytes get values that depend on nothing. */
PYPTO_INLINE void on_define(AscendC::TPosition position, const void* address, uint64_t bytes,
                            uint32_t rows = 1, uint64_t pitch = 0)
{
    PYPTO_CHECK(define, position, address, bytes, rows, pitch);
    (void)position, (void)address, (void)bytes, (void)rows, (void)pitch;
}

/* These bytes hold nothing any more. */
PYPTO_INLINE void on_undefine(check::Undefined why, AscendC::TPosition position, const void* address,
                              uint64_t bytes, uint32_t rows = 1, uint64_t pitch = 0)
{
    PYPTO_CHECK(undefine, why, position, address, bytes, rows, pitch);
    (void)why, (void)position, (void)address, (void)bytes, (void)rows, (void)pitch;
}

/* `rows` runs of `bytes` bytes; `accumulates`: added to what is there. */
PYPTO_INLINE void on_move(AscendC::TPosition dst, const void* to, uint64_t to_pitch, AscendC::TPosition src,
                          const void* from, uint64_t from_pitch, uint64_t bytes, uint32_t rows = 1,
                          bool accumulates = false)
{
    PYPTO_CHECK(move, dst, to, to_pitch, src, from, from_pitch, bytes, rows, accumulates);
    (void)dst, (void)to, (void)to_pitch, (void)src, (void)from, (void)from_pitch, (void)bytes, (void)rows;
    (void)accumulates;
}

/* The first `count` lanes of every repeat of an elementwise instruction, or those whose bit is set. */
PYPTO_INLINE void on_lanes(const Instruction& instruction, const Operand<uint8_t>* operands,
                           uint32_t repeats, uint32_t count)
{
    PYPTO_CHECK(lanes, instruction, operands, repeats, count);
    (void)instruction, (void)operands, (void)repeats, (void)count;
}
PYPTO_INLINE void on_lanes(const Instruction& instruction, const Operand<uint8_t>* operands,
                           uint32_t repeats, uint64_t low, uint64_t high)
{
    PYPTO_CHECK(masked_lanes, instruction, operands, repeats, low, high);
    (void)instruction, (void)operands, (void)repeats, (void)low, (void)high;
}

/* `what` ("an offset of Gather") says which bytes are touched. False: it is undefined and reported;
 * the caller must not follow it. */
PYPTO_INLINE bool on_use(const char* rule, const char* what, AscendC::TPosition position,
                         const void* address, uint64_t bytes)
{
    (void)rule, (void)what, (void)position, (void)address, (void)bytes;
#if defined(PYPTO_TWIN_CHECKED)
    return check::use(state().check, rule, what, position, address, bytes);
#else
    return true;
#endif
}

/* A scalar read of a register that an instruction has left a result in. */
PYPTO_INLINE void on_use_register(const char* what, check::Origin origin)
{
    PYPTO_CHECK(use_origin, "undefined-scalar", what, origin);
    (void)what, (void)origin;
}

/* One result on its way: defined when everything that takes part in it is. */
class Flow {
public:
    PYPTO_INLINE void from(AscendC::TPosition position, const void* address, uint64_t bytes)
    {
#if defined(PYPTO_TWIN_CHECKED)
        if (origin_ == check::kDefined) {
            origin_ = check::origin(state().check, position, address, bytes);
        }
#endif
        (void)position, (void)address, (void)bytes;
    }
    /* Of a register. */
    PYPTO_INLINE void from(check::Origin origin)
    {
        origin_ = origin_ == check::kDefined ? origin : origin_;
    }

    /* May be called for several places that get the result. */
    PYPTO_INLINE void to(AscendC::TPosition position, const void* address, uint64_t bytes) const
    {
        PYPTO_CHECK(assign, position, address, bytes, origin_);
        (void)position, (void)address, (void)bytes;
    }
    PYPTO_INLINE check::Origin origin() const { return origin_; }

private:
    check::Origin origin_ = check::kDefined;
};

/* Eight results of one bit each. */
class BitFlow {
public:
    /* Something takes part in the result of lane `lane`. */
    PYPTO_INLINE void from(uint32_t lane, AscendC::TPosition position, const void* address, uint64_t bytes)
    {
        Flow flow;
        flow.from(position, address, bytes);
        if (flow.origin() != check::kDefined) {
            bits_ &= static_cast<uint8_t>(~(1u << lane));
            origin_ = flow.origin();
        }
    }
    PYPTO_INLINE void to(AscendC::TPosition position, const void* address) const
    {
        PYPTO_CHECK(assign_bits, position, address, bits_, origin_);
        (void)position, (void)address;
    }
    PYPTO_INLINE uint8_t bits() const { return bits_; }
    PYPTO_INLINE check::Origin origin() const { return origin_; }

private:
    uint8_t bits_ = 0xff; /* 1: defined */
    check::Origin origin_ = check::kDefined;
};

/* Which bits of a byte are defined. */
PYPTO_INLINE uint8_t defined_bits(AscendC::TPosition position, const void* address)
{
    (void)position, (void)address;
#if defined(PYPTO_TWIN_CHECKED)
    return check::defined_bits(state().check, position, address);
#else
    return 0xff;
#endif
}

}  // namespace pypto_twin

#endif
