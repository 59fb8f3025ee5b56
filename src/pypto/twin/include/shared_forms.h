/* CPU twin: bodies of what is compiled once for all kernels: the forms of elementwise instructions. */
#ifndef PYPTO_TWIN_SHARED_FORMS_H
#define PYPTO_TWIN_SHARED_FORMS_H

#include "walk.h"

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

PYPTO_SHARED void run_count(const Instruction& instruction, const void* f, uint32_t count,
                            Operand<uint8_t>* operands)
{
    on_instruction(PIPE_V);
    report_all(instruction, operands, 1, count);
    if (kDefers && state.deferred_count != 0) {
        for (uint32_t k = 1; k < instruction.operands; ++k) {
            operands[k].address = source(operands[k].address, uint64_t{count} * instruction.sizes[k]);
        }
        written(operands[0].address, uint64_t{count} * instruction.sizes[0], true);
    }
    instruction.dense(f, count, operands);
    leave_count_form();
}

PYPTO_SHARED void run_masked(const Instruction& instruction, const void* f, uint32_t repeats,
                             Operand<uint8_t>* operands)
{
    settle();
    on_instruction(PIPE_V);
    if (!state.mask_counter) {
        run_strided(instruction, f, repeats, state.mask_low, state.mask_high, operands);
        return;
    }
    /* counter mode: the total number of elements; the repeat count does not matter */
    const uint32_t total = static_cast<uint32_t>(state.mask_low), lanes = instruction.repeat_lanes;
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
    for (uint32_t k = 1; k < instruction.operands; ++k) {
        Operand<uint8_t>& s = operands[k];
        s.address = source(s.address, reach(s, instruction.sizes[k], mask, repeats));
    }
    const Operand<uint8_t>& d = operands[0];
    const uint64_t row = mask * instruction.sizes[0];
    const bool whole = row % kBlockBytes == 0 && (d.block == kBlockBytes || row == kBlockBytes) &&
                       (repeats == 1 || d.repeat == row);
    written(d.address, reach(d, instruction.sizes[0], mask, repeats), whole);
}

PYPTO_SHARED void run_length(const Instruction& instruction, const void* f, uint64_t mask,
                             uint32_t repeats, Operand<uint8_t>* operands)
{
    on_instruction(PIPE_V);
    refuse_counter_mode();
    set_mask(low_bits(mask), high_bits(mask));
    if (kDefers && state.deferred_count != 0) {
        resolve_length(instruction, mask, repeats, operands);
    }
    const uint32_t lanes = instruction.repeat_lanes;
    bool dense = mask >= lanes;
    for (uint32_t k = 0; k < instruction.operands && dense; ++k) {
        dense = operands[k].block == kBlockBytes && operands[k].repeat == lanes * instruction.sizes[k];
    }
    if (!dense) {
        run_strided(instruction, f, repeats, low_bits(mask), high_bits(mask), operands);
    } else { /* dense repeats are one long run */
        report_all(instruction, operands, repeats, lanes);
        instruction.dense(f, repeats * lanes, operands);
    }
}

}  // namespace pypto_twin

#endif
