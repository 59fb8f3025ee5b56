/* CPU twin: rules of the device that nothing documents, and what this build takes them to be.
 *
 * Names and choices are those of `assumptions` in data/instructions.json; 0 is the first choice, which
 * is what torch does. A build for another one is compiled with -DPYPTO_ASSUME_<NAME>=<number>.
 */
#ifndef PYPTO_TWIN_ASSUME_H
#define PYPTO_TWIN_ASSUME_H

#ifndef PYPTO_ASSUME_INT_ADD
#define PYPTO_ASSUME_INT_ADD 0
#endif
#ifndef PYPTO_ASSUME_INT_MUL
#define PYPTO_ASSUME_INT_MUL 0
#endif
#ifndef PYPTO_ASSUME_MAX_NAN
#define PYPTO_ASSUME_MAX_NAN 0
#endif
#ifndef PYPTO_ASSUME_REDUCE_NAN
#define PYPTO_ASSUME_REDUCE_NAN 0
#endif
#ifndef PYPTO_ASSUME_RELU_NAN
#define PYPTO_ASSUME_RELU_NAN 0
#endif
#ifndef PYPTO_ASSUME_SUBNORMAL
#define PYPTO_ASSUME_SUBNORMAL 0
#endif
#ifndef PYPTO_ASSUME_MULTIPLY_ADD
#define PYPTO_ASSUME_MULTIPLY_ADD 0
#endif
#ifndef PYPTO_ASSUME_ELEMENTARY
#define PYPTO_ASSUME_ELEMENTARY 0
#endif
#ifndef PYPTO_ASSUME_RECIPROCAL
#define PYPTO_ASSUME_RECIPROCAL 0
#endif
#ifndef PYPTO_ASSUME_HALF_OVERFLOW
#define PYPTO_ASSUME_HALF_OVERFLOW 0
#endif
#ifndef PYPTO_ASSUME_CAST_NAN
#define PYPTO_ASSUME_CAST_NAN 0
#endif
#ifndef PYPTO_ASSUME_DOMAIN
#define PYPTO_ASSUME_DOMAIN 0
#endif

namespace pypto_twin {
namespace assume {

constexpr bool int_add_saturate = PYPTO_ASSUME_INT_ADD == 1;
constexpr bool int_mul_saturate = PYPTO_ASSUME_INT_MUL == 1;
constexpr bool max_nan_ignore = PYPTO_ASSUME_MAX_NAN == 1;
constexpr bool reduce_nan_ignore = PYPTO_ASSUME_REDUCE_NAN == 1;
constexpr bool relu_nan_zero = PYPTO_ASSUME_RELU_NAN == 1;
constexpr bool subnormal_flush = PYPTO_ASSUME_SUBNORMAL == 1;
constexpr bool multiply_add_once = PYPTO_ASSUME_MULTIPLY_ADD == 1;
constexpr bool elementary_coarse = PYPTO_ASSUME_ELEMENTARY == 1;
constexpr bool reciprocal_coarse = PYPTO_ASSUME_RECIPROCAL == 1;
constexpr bool half_overflow_saturate = PYPTO_ASSUME_HALF_OVERFLOW == 1;
constexpr bool cast_nan_largest = PYPTO_ASSUME_CAST_NAN == 1;
constexpr bool domain_any = PYPTO_ASSUME_DOMAIN == 1;

}  // namespace assume
}  // namespace pypto_twin

#endif
