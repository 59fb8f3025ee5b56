/* CPU twin of the Ascend C device interface (dav-c220). Entry header: all that a kernel includes. */
#ifndef PYPTO_TWIN_KERNEL_OPERATOR_H
#define PYPTO_TWIN_KERNEL_OPERATOR_H

#include "core.h"
#include "hooks.h"
#include "tensor.h"
#include "types.h"

#if __has_include("pipe.h")
#include "pipe.h"
#endif
#if __has_include("sync.h")
#include "sync.h"
#endif
#if __has_include("move.h")
#include "move.h"
#endif
#if __has_include("scalar.h")
#include "scalar.h"
#endif
#include "cast.h"
#include "compare.h"
#include "fill.h"
#include "gather.h"
#include "reduce.h"
#include "reduce_count.h"
#include "select.h"
#include "vector.h"
#if __has_include("adv_math.h")
#include "adv_math.h"
#endif
#if __has_include("activation.h")
#include "activation.h"
#endif

#endif
