/* CPU twin: the forms of vector instructions (a count, a mask of lanes, a bit a lane) and the mask
 * registers that they set. A form is one function for all instructions of all types.
 */
#ifndef PYPTO_TWIN_FORMS_H
#define PYPTO_TWIN_FORMS_H

#include "walk.h"

namespace pypto_twin {

/* Mask registers after a count form: all lanes, normal mode. */
PYPTO_INLINE void leave_count_form()
{
    state().mask_low = state().mask_high = ~uint64_t{0};
    state().mask_counter = false;
}

PYPTO_INLINE void set_mask(uint64_t low, uint64_t high)
{
    state().mask_low = low;
    state().mask_high = high;
}

PYPTO_INLINE uint64_t low_bits(uint64_t count)
{
    return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}
PYPTO_INLINE uint64_t high_bits(uint64_t count) { return count > 64 ? low_bits(count - 64) : 0; }

PYPTO_INLINE void refuse_counter_mode()
{
    if (__builtin_expect(state().mask_counter, 0)) {
        fail("a repeat form with isSetMask = true in counter mode takes its mask bits as a total");
    }
}

/* Reports lanes [from, to) of every repeat, for all operands of an instruction. */
PYPTO_INLINE void report_lanes(const Instruction& instruction, const Operand<uint8_t>* operands,
                               uint32_t repeats, uint32_t from, uint32_t to)
{
    if constexpr (kHooks) {
        for (uint32_t k = 0; k < instruction.operands; ++k) {
            const Operand<uint8_t>& at = operands[k];
            const uint32_t lanes = instruction.step_lanes, size = instruction.sizes[k];
            const uint32_t steps = kBlockBytes / (lanes * size); /* in a block */
            const bool dense = at.block == kBlockBytes;
            for (uint32_t lane = from; lane < to;) {
                const uint32_t step = lane / lanes, within = lane % lanes;
                const uint32_t rest = dense ? to - lane : lanes - within;
                const uint32_t count = rest < to - lane ? rest : to - lane;
                const uint64_t bytes = uint64_t{count} * size;
                uint8_t* const start = at.address + uint64_t{step / steps} * at.block +
                                       (step % steps * lanes + within) * size;
                lane += count;
                if (k == 0) {
                    on_write(at.position, start, bytes, PIPE_V, repeats, at.repeat);
                } else {
                    on_read(at.position, start, bytes, PIPE_V, repeats, at.repeat);
                }
            }
        }
    }
    (void)instruction, (void)operands, (void)repeats, (void)from, (void)to;
}

/* The first `length` lanes. */
PYPTO_INLINE void report_all(const Instruction& instruction, const Operand<uint8_t>* operands,
                             uint32_t repeats, uint32_t length)
{
    report_lanes(instruction, operands, repeats, 0, length);
    on_lanes(instruction, operands, repeats, length);
}

/* The lanes whose bit is set, run by run. */
PYPTO_INLINE void report_bits(const Instruction& instruction, const Operand<uint8_t>* operands,
                              uint32_t repeats, uint64_t low, uint64_t high)
{
    if constexpr (kHooks) {
        const auto bit = [&](uint32_t lane) { return ((lane < 64 ? low >> lane : high >> (lane - 64)) & 1) != 0; };
        for (uint32_t lane = 0; lane < instruction.repeat_lanes; ++lane) {
            const uint32_t first = lane;
            while (lane < instruction.repeat_lanes && bit(lane)) {
                ++lane;
            }
            if (lane != first) {
                report_lanes(instruction, operands, repeats, first, lane);
            }
        }
    }
    on_lanes(instruction, operands, repeats, low, high);
    (void)instruction, (void)operands, (void)repeats, (void)low, (void)high;
}

/* `count` elements: dense operands, the last of which may be one block that stays. Reads whole steps
 * (not past the 32-byte block of the last element), writes exactly the elements. */
PYPTO_SHARED void run_dense(const Instruction& instruction, const void* f, uint32_t count,
                            const Operand<uint8_t>* operands);

/* Finds where the sources of a dense run are, then runs it: what is written may be what is read. */
PYPTO_SHARED void run_count(const Instruction& instruction, const void* f, uint32_t count,
                            Operand<uint8_t>* operands);

PYPTO_INLINE void run_strided(const Instruction& instruction, const void* f, uint32_t repeats,
                              uint64_t low, uint64_t high, const Operand<uint8_t>* operands)
{
    report_bits(instruction, operands, repeats, low, high);
    instruction.strided(f, repeats, low, high, operands);
}

/* A repeat form under the mask registers as they stand (isSetMask = false, or bit masks). */
PYPTO_SHARED void run_masked(const Instruction& instruction, const void* f, uint32_t repeats,
                             Operand<uint8_t>* operands);

/* A repeat form whose sources' loads may be outstanding. */
PYPTO_SHARED void resolve_length(const Instruction& instruction, uint64_t mask, uint32_t repeats,
                                 Operand<uint8_t>* operands);

/* d = f(s...) in the first `mask` lanes of every repeat. */
PYPTO_SHARED void run_length(const Instruction& instruction, const void* f, uint64_t mask,
                             uint32_t repeats, Operand<uint8_t>* operands);

/* Op(dst, src..., count) on `dst` and `src` of any types. */
template <typename F, typename D, typename... S>
PYPTO_INLINE void count_form(const F& f, uint32_t count, const AscendC::LocalTensor<D>& d,
                             const AscendC::LocalTensor<S>&... s)
{
    Operand<uint8_t> operands[] = {retyped<uint8_t>(outstanding(d, 1, 0)),
                                   retyped<uint8_t>(outstanding(s, 1, 0))...};
    run_count(instruction_of<F, D, S...>, &f, count, operands);
}

/* Op(dst, src..., mask, repeat, strides): the first `mask` lanes of every repeat. */
template <bool isSetMask, typename F, typename D, typename... S>
PYPTO_INLINE void length_form(const F& f, uint64_t mask, uint32_t repeats, const Operand<D>& d,
                              const Operand<S>&... s)
{
    Operand<uint8_t> operands[] = {retyped<uint8_t>(d), retyped<uint8_t>(s)...};
    if constexpr (isSetMask) {
        run_length(instruction_of<F, D, S...>, &f, mask, repeats, operands);
    } else {
        run_masked(instruction_of<F, D, S...>, &f, repeats, operands);
    }
}

/* Op(dst, src..., mask[], repeat, strides): one bit a lane. */
template <bool isSetMask, typename F, typename D, typename... S>
PYPTO_INLINE void bits_form(const F& f, const uint64_t mask[], uint32_t repeats, const Operand<D>& d,
                            const Operand<S>&... s)
{
    if constexpr (isSetMask) {
        refuse_counter_mode();
        set_mask(mask[0], widest(sizeof(D), sizeof(S)...) == 2 ? mask[1] : 0);
    }
    Operand<uint8_t> operands[] = {retyped<uint8_t>(d), retyped<uint8_t>(s)...};
    run_masked(instruction_of<F, D, S...>, &f, repeats, operands);
}

/* What a repeat form covers, for instructions that are not elementwise. */
struct Coverage {
    uint32_t repeats;
    uint64_t low, high;           /* lanes of every repeat */
    uint64_t last_low, last_high; /* lanes of the last one */

    PYPTO_INLINE uint64_t word(uint32_t repeat, bool upper) const
    {
        const bool last = repeat + 1 == repeats;
        return upper ? (last ? last_high : high) : (last ? last_low : low);
    }
    /* The bits of `lanes` (a divisor of 64) lanes from lane `first` on. */
    template <uint32_t lanes>
    PYPTO_INLINE uint32_t bits(uint32_t repeat, uint32_t first) const
    {
        constexpr uint64_t all = (uint64_t{1} << lanes) - 1;
        return static_cast<uint32_t>((word(repeat, first >= 64) >> (first % 64)) & all);
    }
    PYPTO_INLINE bool active(uint32_t repeat, uint32_t lane) const
    {
        return ((word(repeat, lane >= 64) >> (lane % 64)) & 1) != 0;
    }
};

/* As report, for the lanes that are covered: of `lanes` side by side, from the first to the last. */
template <uint32_t lanes, bool writes, typename T>
PYPTO_INLINE void report_covered(const Operand<T>& at, const Coverage& covered)
{
    if constexpr (kHooks) {
        const auto tell = [&](uint32_t repeat, uint32_t first, uint32_t repeats) {
            const uint32_t bits = covered.bits<lanes>(repeat, first);
            if (bits != 0 && repeats != 0) {
                const uint32_t from = static_cast<uint32_t>(__builtin_ctz(bits));
                const uint32_t to = 32 - static_cast<uint32_t>(__builtin_clz(bits));
                T* const start = address_of<lanes>(at, repeat, first / lanes) + from;
                const uint64_t bytes = (to - from) * sizeof(T);
                if constexpr (writes) {
                    on_write(at.position, start, bytes, PIPE_V, repeats, at.repeat);
                } else {
                    on_read(at.position, start, bytes, PIPE_V, repeats, at.repeat);
                }
            }
        };
        for (uint32_t first = 0; first < kRepeatBytes / sizeof(T) && covered.repeats != 0; first += lanes) {
            tell(0, first, covered.repeats - 1);
            tell(covered.repeats - 1, first, 1);
        }
    }
    (void)at, (void)covered;
}

/* `count` elements, `lanes` a repeat. */
PYPTO_INLINE Coverage cover_count(uint32_t count, uint32_t lanes)
{
    const uint32_t repeats = count / lanes + (count % lanes != 0); /* the count may have all 32 bits */
    const uint64_t last = count - uint64_t{repeats == 0 ? 0 : repeats - 1} * lanes;
    return {repeats, low_bits(lanes), high_bits(lanes), low_bits(last), high_bits(last)};
}

/* The mask registers as they stand. */
PYPTO_INLINE Coverage cover_registers(uint32_t repeats, uint32_t lanes)
{
    if (state().mask_counter) return cover_count(static_cast<uint32_t>(state().mask_low), lanes);
    const uint64_t low = state().mask_low & low_bits(lanes), high = state().mask_high & high_bits(lanes);
    return {repeats, low, high, low, high};
}

/* The active lanes of a repeat take part in a result. */
template <typename T>
PYPTO_INLINE void take_lanes(Flow& flow, const Operand<T>& at, uint32_t repeat, const Coverage& covered,
                             uint32_t from = 0, uint32_t to = kRepeatBytes / sizeof(T))
{
    if constexpr (kChecked) {
        for (uint32_t lane = from; lane < to; ++lane) {
            const bool step = lane % 8 == 0 && lane + 8 <= to && covered.bits<8>(repeat, lane) == 0xff;
            if (step || covered.active(repeat, lane)) {
                flow.from(at.position, address_of<8>(at, repeat, lane / 8) + lane % 8, (step ? 8 : 1) * sizeof(T));
            }
            lane += step ? 7 : 0;
        }
    }
    (void)flow, (void)at, (void)repeat, (void)covered, (void)from, (void)to;
}

/* A repeat form's mask argument, set into the registers first where the form says so. */
template <bool isSetMask>
PYPTO_INLINE Coverage cover(uint64_t mask, uint32_t repeats, uint32_t lanes)
{
    if constexpr (isSetMask) {
        refuse_counter_mode();
        set_mask(low_bits(mask), high_bits(mask));
    }
    return cover_registers(repeats, lanes);
}
template <bool isSetMask>
PYPTO_INLINE Coverage cover(const uint64_t mask[], uint32_t repeats, uint32_t lanes)
{
    if constexpr (isSetMask) {
        refuse_counter_mode();
        set_mask(mask[0], lanes > 64 ? mask[1] : 0);
    }
    return cover_registers(repeats, lanes);
}

}  // namespace pypto_twin

#endif
