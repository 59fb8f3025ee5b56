/* CPU twin: an elementwise instruction and its operands, whatever their types. */
#ifndef PYPTO_TWIN_INSTRUCTION_H
#define PYPTO_TWIN_INSTRUCTION_H

#include "provenance.h"

namespace pypto_twin {

/* One tensor operand with its strides in bytes. */
template <typename T>
struct Operand {
    T* address;
    uint32_t block;
    uint32_t repeat;
    Provenance position;
};

/* What the forms need to know of an elementwise instruction on given types: its loops, and sizes.
 * Everything else of a form is compiled once for all instructions. `f` points to the function object;
 * the first operand is the destination. `dense` and `fixed` take whole steps only.
 *
 * dense    d[i] = f(s[i]...)
 * strided  the same in the lanes of every repeat whose bit is set
 * fixed    d[i] = f(a[i], b) with one block b; nullptr for most instructions
 * fold     d[j] = f(a[r, j], d[j]) for all repeats r; with `fixed`
 */
constexpr uint32_t kOperands = 4;

/* How an instruction makes the bits of a result: each of all bits of its lane, or each of the bits in
 * its place, where one 0 (1) decides the result of `ands` (`ors`). For the checker. */
enum class Mixing : uint8_t { all, in_place, ands, ors };
struct Instruction {
    using Dense = void(const void* f, uint32_t count, const Operand<uint8_t>* operands);
    using Strided = void(const void* f, uint32_t repeats, uint64_t low, uint64_t high,
                         const Operand<uint8_t>* operands);
    Dense* dense;
    Strided* strided;
    Dense* fixed;
    Dense* fold;
    uint16_t repeat_lanes;
    uint8_t step_lanes;
    uint8_t operands;         /* their number */
    uint8_t sizes[kOperands]; /* bytes of an element of each */
    uint16_t f_bytes;         /* of the function object */
    Mixing mixing;
};

/* Bytes from the first to the last lane of an operand in `repeats` repeats of `mask` lanes. */
PYPTO_INLINE uint64_t reach(const Operand<uint8_t>& at, uint32_t size, uint64_t mask, uint32_t repeats)
{
    if (mask == 0 || repeats == 0) {
        return 0;
    }
    const uint64_t blocks = (mask * size + kBlockBytes - 1) / kBlockBytes;
    return uint64_t{repeats - 1} * at.repeat + (blocks - 1) * at.block + kBlockBytes;
}

}  // namespace pypto_twin

#endif
