/* CPU twin of the Ascend C device interface (dav-c220). Entry header: all that a kernel includes. */
#ifndef PYPTO_TWIN_KERNEL_OPERATOR_H
#define PYPTO_TWIN_KERNEL_OPERATOR_H

/* First, as it includes standard headers. */
#if defined(PYPTO_TWIN_CHECKED) && defined(PYPTO_TWIN_SUPPORT)
#include "check/checker.h"
#elif defined(PYPTO_TWIN_SHUFFLED) && defined(PYPTO_TWIN_SUPPORT)
#include "shuffle/launch.h"
#endif

#include "activation.h"
#include "adv_math.h"
#include "cast.h"
#include "compare.h"
#include "copy.h"
#include "core.h"
#include "cube_fixpipe.h"
#include "cube_load.h"
#include "cube_mmad.h"
#include "fill.h"
#include "fused_cast.h"
#include "gather.h"
#include "hooks.h"
#include "instances.h"
#include "move.h"
#include "pipe.h"
#include "reduce.h"
#include "reduce_count.h"
#include "scalar.h"
#include "select.h"
#include "sort.h"
#include "sync.h"
#include "tensor.h"
#include "transpose.h"
#include "types.h"
#include "vector.h"

#if !defined(PYPTO_TWIN_LINKED)
#include "shared_cube_load.h"
#include "shared_cube_math.h"
#include "shared_forms.h"
#include "shared_moves.h"
#include "shared_sort.h"
#endif

#endif
