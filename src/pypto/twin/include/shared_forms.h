/* CPU twin: bodies of what is compiled once for all kernels: the forms of elementwise instructions. */
#ifndef PYPTO_TWIN_SHARED_FORMS_H
#define PYPTO_TWIN_SHARED_FORMS_H

#include "forms.h"
#include "shared_pending.h"

namespace pypto_twin {

PYPTO_SHARED uint32_t step_bits(uint32_t bits[], uint32_t most, uint32_t lanes, uint64_t low,
                                uint64_t high)
{
    uint32_t steps = 0;
#pragma GCC unroll 1
    for (uint32_t step = 0; step < most; ++step) {
        const uint32_t first = step * lanes;
        bits[step] = static_cast<uint32_t>((first < 64 ? low : high) >> (first % 64)) & ((1u << lanes) - 1);
        if (bits[step] != 0) steps = step + 1;
    }
    return steps;
}

/* At most one step of a dense run, from element `first` on: what lies behind its `count` elements stays. */
PYPTO_INLINE void run_step(const Instruction& instruction, Instruction::Dense* loop, const void* f, uint32_t first,
                           uint32_t count, const Operand<uint8_t>* operands)
{
    alignas(32) uint8_t last[64];
    Operand<uint8_t> at[kOperands];
    at[0] = operands[0];
    at[0].address = last;
    for (uint32_t k = 1; k < instruction.operands; ++k) {
        at[k] = operands[k];
        at[k].address += operands[k].block == 0 ? 0 : uint64_t{first} * instruction.sizes[k];
    }
    loop(f, instruction.step_lanes, at);
    copy_bytes(operands[0].address + uint64_t{first} * instruction.sizes[0], last,
               uint64_t{count} * instruction.sizes[0]);
}

PYPTO_SHARED void run_dense(const Instruction& instruction, const void* f, uint32_t count,
                            const Operand<uint8_t>* operands)
{
    const bool fixed = operands[instruction.operands - 1].block == 0;
    Instruction::Dense* const loop = fixed ? instruction.fixed : instruction.dense;
    if constexpr (kNaive) {
        for (uint32_t i = 0; i < count; i += instruction.step_lanes) {
            const uint32_t left = count - i;
            run_step(instruction, loop, f, i, left < instruction.step_lanes ? left : instruction.step_lanes, operands);
        }
        return;
    }
    const uint32_t rest = count % instruction.step_lanes, whole = count - rest;
    loop(f, whole, operands);
    if (rest != 0) {
        run_step(instruction, loop, f, whole, rest, operands);
    }
}

/* Sources are read where they are; a source that meets the destination other than element by element
 * sees what is written, so it has to be where it is written. */
PYPTO_INLINE void resolve(const Instruction& instruction, Operand<uint8_t>* operands,
                          const uint64_t* bytes, bool whole)
{
    const Operand<uint8_t>& d = operands[0];
    for (uint32_t k = 1; k < instruction.operands; ++k) {
        Operand<uint8_t>& s = operands[k];
        const bool in_step = s.address == d.address && s.block == d.block && s.repeat == d.repeat &&
                             instruction.sizes[k] == instruction.sizes[0] && whole;
        if (!in_step && overlap(s.address, bytes[k], d.address, bytes[0])) {
            overwrite(d.address, bytes[0], false);
        }
    }
    for (uint32_t k = 1; k < instruction.operands; ++k) {
        operands[k].address = source(operands[k].address, bytes[k]);
    }
    written(d.address, bytes[0], whole);
}

PYPTO_SHARED void run_count(const Instruction& instruction, const void* f, uint32_t count,
                            Operand<uint8_t>* operands)
{
    if (!on_instruction(PIPE_V)) {
        leave_count_form();
        return;
    }
    report_all(instruction, operands, 1, count);
    if (waiting()) {
        uint64_t bytes[kOperands] = {};
        for (uint32_t k = 0; k < instruction.operands; ++k) {
            bytes[k] = uint64_t{count} * instruction.sizes[k];
        }
        resolve(instruction, operands, bytes, true);
    }
    if (!postpone(instruction, f, 0, count, operands)) {
        run_dense(instruction, f, count, operands);
    }
    leave_count_form();
}

PYPTO_SHARED void run_masked(const Instruction& instruction, const void* f, uint32_t repeats,
                             Operand<uint8_t>* operands)
{
    settle();
    if (!on_instruction(PIPE_V)) {
        return;
    }
    if (!state().mask_counter) {
        run_strided(instruction, f, repeats, state().mask_low, state().mask_high, operands);
        return;
    }
    /* counter mode: the total number of elements; the repeat count does not matter */
    const uint32_t total = static_cast<uint32_t>(state().mask_low), lanes = instruction.repeat_lanes;
    run_strided(instruction, f, total / lanes, ~uint64_t{0}, ~uint64_t{0}, operands);
    if (total % lanes != 0) {
        for (uint32_t k = 0; k < instruction.operands; ++k) {
            operands[k].address += uint64_t{total / lanes} * operands[k].repeat;
        }
        run_strided(instruction, f, 1, low_bits(total % lanes), high_bits(total % lanes), operands);
    }
}

PYPTO_SHARED void resolve_length(const Instruction& instruction, uint64_t mask, uint32_t repeats,
                                 Operand<uint8_t>* operands)
{
    uint64_t bytes[kOperands] = {};
    for (uint32_t k = 0; k < instruction.operands; ++k) {
        bytes[k] = reach(operands[k], instruction.sizes[k], mask, repeats);
    }
    const Operand<uint8_t>& d = operands[0];
    const uint64_t row = mask * instruction.sizes[0];
    const bool whole = row % kBlockBytes == 0 && (d.block == kBlockBytes || row == kBlockBytes) &&
                       (repeats == 1 || d.repeat == row);
    resolve(instruction, operands, bytes, whole);
}

/* Whether full repeats of these operands are one dense run, the last operand perhaps one block. */
PYPTO_INLINE bool runs_on(const Instruction& instruction, const Operand<uint8_t>* operands)
{
    if (kNaive) {
        return false;
    }
    for (uint32_t k = 0; k < instruction.operands; ++k) {
        const Operand<uint8_t>& at = operands[k];
        const bool stays = at.block == 0 && at.repeat == 0 && instruction.fixed != nullptr && k == 2;
        const bool dense = at.block == kBlockBytes &&
                           at.repeat == uint32_t{instruction.repeat_lanes} * instruction.sizes[k];
        if (!stays && !dense) {
            return false;
        }
    }
    return true;
}

/* Whether every repeat is folded into the destination: d = f(a, d), all on one repeat of d. */
PYPTO_INLINE bool folds(const Instruction& instruction, const Operand<uint8_t>* operands)
{
    const Operand<uint8_t>&d = operands[0], &a = operands[1], &b = operands[2];
    return !kNaive && instruction.fold != nullptr && d.repeat == 0 && b.repeat == 0 && b.address == d.address &&
           d.block == kBlockBytes && a.block == kBlockBytes && b.block == kBlockBytes &&
           (a.address + kRepeatBytes <= d.address || d.address + kRepeatBytes <= a.address);
}

PYPTO_SHARED void run_length(const Instruction& instruction, const void* f, uint64_t mask,
                             uint32_t repeats, Operand<uint8_t>* operands)
{
    refuse_counter_mode();
    set_mask(low_bits(mask), high_bits(mask));
    if (!on_instruction(PIPE_V)) {
        return;
    }
    if (waiting()) {
        resolve_length(instruction, mask, repeats, operands);
    }
    const uint32_t lanes = instruction.repeat_lanes;
    const bool full = mask >= lanes;
    if (full && folds(instruction, operands)) {
        report_all(instruction, operands, repeats, lanes);
        instruction.fold(f, repeats, operands);
        return;
    }
    const bool dense = full && runs_on(instruction, operands);
    if (postpone(instruction, f, dense ? 0 : static_cast<uint32_t>(mask),
                 dense ? repeats * lanes : repeats, operands)) {
        return;
    }
    if (!dense) {
        run_strided(instruction, f, repeats, low_bits(mask), high_bits(mask), operands);
    } else { /* dense repeats are one long run */
        report_all(instruction, operands, repeats, lanes);
        run_dense(instruction, f, repeats * lanes, operands);
    }
}

}  // namespace pypto_twin

#endif
