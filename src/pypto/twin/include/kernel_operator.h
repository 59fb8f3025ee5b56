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
#if __has_include("vector.h")
#include "vector.h"
#endif
#if __has_include("cast.h")
#include "cast.h"
#endif
#if __has_include("fill.h")
#include "fill.h"
#endif
#if __has_include("reduce.h")
#include "reduce.h"
#endif
#if __has_include("compare.h")
#include "compare.h"
#endif
#if __has_include("gather.h")
#include "gather.h"
#endif
#if __has_include("math.h") && __has_include("simd.h")
#include "math.h"
#endif

#endif
