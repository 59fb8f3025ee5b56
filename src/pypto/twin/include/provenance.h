/* CPU twin: the position of a tensor; in the checked build also the memory that the tensor is of.
 *
 * Tensors, operands and hooks hand a Provenance on, so that each access is held against the tensor's
 * own memory, not against what happens to lie at the address. In other builds it is the position alone.
 */
#ifndef PYPTO_TWIN_PROVENANCE_H
#define PYPTO_TWIN_PROVENANCE_H

#include "types.h"

namespace pypto_twin {

#if defined(PYPTO_TWIN_CHECKED)
struct Provenance {
    Provenance() = default;
    explicit constexpr Provenance(AscendC::TPosition at, uint32_t of = 0, uint32_t tensor = 0)
        : position(at), allocation(of), round(tensor)
    {
    }
    constexpr operator AscendC::TPosition() const { return position; }

    AscendC::TPosition position = AscendC::TPosition::VECCALC;
    uint32_t allocation = 0; /* number in the core's table (check/allocations.h); 0: not known */
    uint32_t round = 0;      /* of a queue: 1 + which of its tensors; 0: of none */
};
#else
using Provenance = AscendC::TPosition;
#endif

}  // namespace pypto_twin

#endif
