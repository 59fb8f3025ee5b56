"""Division with a remainder: floor_div, ceil_div, remainder, fmod.

Floats: the remainder is exact, by long division in digits of 11 bits, for quotients up to 2**44.
Integers of 8 and 16 bits are divided in FP32, which is exact there; INT32 is estimated in FP32 and
corrected in INT32.
"""

from __future__ import annotations

import math

from pypto.error import FeTypeError, FeValueError
from pypto.ir.dtype import DataType
from pypto.ir.expr import Const, const
from pypto.ir.tensor import Compute, TensorType, Value
from pypto.language.enums import PrecisionType
from pypto.ops.arithmetic import FLOATS, Lower
from pypto.ops.lowering import F16, F32, I8, I16, I32, U8, Lowering
from pypto.ops.numerics import Mask, Real, of_float, where
from pypto.ops.shapes import broadcast, same_dtype, scalar_fits
from pypto.ops.spec import OpCall, OpParam, OpSpec

INTEGERS = frozenset({I8, U8, I16, I32})
_DIGITS = 4  # of 11 bits each


def _infer(call: OpCall) -> TensorType:
    if not call.tensors():
        call.fail(
            FeTypeError, f"{call.spec.name} needs at least one tensor", arg="input",
            help="numbers alone are calculated with Python's operators",
        )  # fmt: skip
    for name, tensor in call.tensors():
        call.check_dtype(name)
        scalar_fits(call, tensor, "other" if name == "input" else "input")
    same_dtype(call, "input", "other")
    dtype = call.tensors()[0][1].dtype
    divisor = call.scalar("other")
    none = isinstance(divisor, Const) and not divisor.value and call.spec.name != "gcd"
    if none and not dtype.is_float:
        call.fail(
            FeValueError, f"{call.spec.name}: an integer tensor is divided by zero",
            expected="a number that is not 0", got=str(divisor), arg="other",
        )  # fmt: skip
    names = [name for name, _ in call.tensors()]
    return TensorType(dtype, broadcast(call, *names))


def _operands(build: Lowering, use: Compute) -> tuple[Value, Value]:
    """Both as tensors; a number as one element, of a float's in FP32."""
    dtype = F32 if use.result.type.dtype.is_float else use.result.type.dtype
    rank = len(build.result_shape())
    a, b = (x if isinstance(x, Value) else build.number(x, dtype, rank) for x in use.args[:2])
    return a, b


# --- floats ---


def fmod(a: Real, b: Real) -> Real:
    """The remainder with the sign of ``a``.

    Each digit of the quotient is rounded to nearest, so the rest keeps within half a divisor. The
    divisor is split in two numbers of 12 bits, whose products with a digit are exact, as are the
    differences.
    """
    build = a.build
    size, divisor = a.magnitude(), b.magnitude()
    large = divisor >= 2.0**64  # scaled, so that a digit's multiple of it is finite
    rest = where(large, size * 2.0**-40, size)
    scaled = where(large, divisor * 2.0**-40, divisor)
    mask = build.emit("shl", build.emit("shr", scaled.bits(), const(12)), const(12))
    lead = Real(build, build.view(mask, F32))
    tail = scaled - lead
    for digit in reversed(range(_DIGITS)):
        unit = 2.0 ** (11 * digit)
        quotient = (rest / (scaled * unit)).integral("RINT")
        rest = rest - quotient * (lead * unit) - quotient * (tail * unit)
    rest = where(rest < 0.0, rest + scaled, rest)
    rest = where(large, rest * 2.0**40, rest)
    return where(size < divisor, size, rest.magnitude()).signed_as(a)


def _opposite(rest: Real, divisor: Real) -> Mask:
    """Where a remainder is not zero and its sign is not that of the divisor."""
    below = divisor < 0.0
    return (~below & (rest < 0.0)) | (below & (rest > 0.0))


def remainder(a: Real, b: Real) -> Real:
    """The remainder with the sign of ``b``."""
    rest = fmod(a, b)
    return where(_opposite(rest, b), rest + b, rest)


def floor_divide(a: Real, b: Real) -> Real:
    """As Python and torch: the quotient that goes with the remainder, integral."""
    rest = fmod(a, b)
    plain = a / b
    quotient = (a - rest) / b
    quotient = where(_opposite(rest, b), quotient - 1.0, quotient)
    whole = quotient.integral("FLOOR")
    whole = where(quotient - whole > 0.5, whole + 1.0, whole)
    zero = plain * 0.0  # of the quotient's sign; NaN where the quotient is none
    return where(b.equals(0.0), plain, where(quotient.equals(0.0), zero, whole))


# --- integers ---


def _divide_int32(build: Lowering, a: Value, b: Value) -> tuple[Value, Value]:
    """Quotient rounded down and remainder of INT32, in two estimates: the first one is off by up to
    2**9, its remainder therefore small, the second one by nothing but the direction of rounding."""
    divisor = of_float(build, b)

    def estimate(x: Value) -> Value:
        real = of_float(build, x) / divisor
        return build.emit("cast", real.value, dtype=I32, mode="RINT")

    first = estimate(a)
    rest = build.emit("sub", a, build.emit("mul", first, b))
    second = estimate(rest)
    rest = build.emit("sub", rest, build.emit("mul", second, b))
    quotient = build.emit("add", first, second)
    # One less where the remainder has the other sign: the product of both is negative.
    below = (of_float(build, rest) * divisor < 0.0).value
    quotient = _chosen(build, below, build.emit("adds", quotient, const(-1)), quotient)
    return quotient, _chosen(build, below, build.emit("add", rest, b), rest)


def _chosen(build: Lowering, mask: Value, a: Value, b: Value) -> Value:
    """INT32 ``a`` where ``mask`` is set, else ``b``."""
    return build.view(build.select(mask, build.view(a, F32), build.view(b, F32)), I32)


def _divide_small(build: Lowering, a: Value, b: Value) -> tuple[Real, Real]:
    """Quotient rounded down and remainder of 8- and 16-bit integers, exact in FP32."""
    x, y = of_float(build, a), of_float(build, b)
    quotient = (x / y).integral("FLOOR")
    return quotient, x - quotient * y


def _to_int(build: Lowering, real: Real, dtype: DataType) -> Value:
    """An integral number that ``dtype`` holds, or that wraps to it from 17 bits."""
    if dtype == I16:
        wide = build.emit("cast", real.value, dtype=I32, mode="RINT")
        return build.cast(build.wrap(wide, 16), I16)
    if dtype == I8:  # 128, of -128 // -1
        real = where(real > 127.0, real - 256.0, real)
    return build.cast(build.narrow(real.value, F16), dtype, "RINT")


def _lower_pair(part: int) -> Lower:
    """Part 0 is the quotient rounded down, part 1 the remainder that goes with it."""

    def lower(build: Lowering, use: Compute) -> Value:
        a, b = _operands(build, use)
        dtype = use.result.type.dtype
        if dtype == I32:
            return _divide_int32(build, a, b)[part]
        if not dtype.is_float:
            return _to_int(build, _divide_small(build, a, b)[part], dtype)
        function = (floor_divide, remainder)[part]
        return build.narrow(function(of_float(build, a), of_float(build, b)).value, dtype)

    return lower


def _lower_ceil_div(build: Lowering, use: Compute) -> Value:
    a, b = _operands(build, use)
    quotient, rest = _divide_int32(build, a, b)
    inexact = build.compare("NE", rest, const(0))
    return _chosen(build, inexact, build.emit("adds", quotient, const(1)), quotient)


def _lower_fmod(build: Lowering, use: Compute) -> Value:
    a, b = _operands(build, use)
    result = fmod(of_float(build, a), of_float(build, b))
    return build.narrow(result.value, use.result.type.dtype)


def _infer_fmod(call: OpCall) -> TensorType:
    divisor = call.scalar("other")
    if isinstance(divisor, Const) and not math.isfinite(divisor.value):
        call.fail(
            FeValueError, "fmod: the divisor must be finite", expected="a finite number",
            got=str(divisor), arg="other",
        )  # fmt: skip
    return _infer(call)


def _lower_gcd(build: Lowering, use: Compute) -> Value:
    """Euclid's algorithm in INT32, in as many steps as numbers of that width may take."""
    a, b = _operands(build, use)
    dtype = use.result.type.dtype
    wide = [_int32(build, x) for x in (a, b)]
    result = build.emit("gcd", *wide, steps=GCD_STEPS[dtype.bytes], shape=build.result_shape())
    if dtype == I32:
        return result
    if dtype == I16:
        return build.cast(build.wrap(result, 16), I16)
    return _to_int(build, of_float(build, result), dtype)


# With quotients rounded to nearest a rest is at most half of its divisor, twice in a row less than
# 0.18 of it. INT32 quotients beyond 2**22 are estimates, whose rests take two steps more.
GCD_STEPS = {1: 8, 2: 14, 4: 30}


def _int32(build: Lowering, a: Value) -> Value:
    if a.type.dtype == I32:
        return a
    return build.emit("cast", build.comparable(a), dtype=I32, mode="RINT")


_ZERO = "Integers divided by zero give no particular number."
_EXACT = "Floats: exact for quotients up to 2**44."
_PRECISION = OpParam("precision_type", "enum", PrecisionType.HIGH_PRECISION, PrecisionType)
_EITHER = (OpParam("input", "operand"), OpParam("other", "operand"))
_TENSOR = (OpParam("input", "tensor"), OpParam("other", "operand"))

SPECS: tuple[OpSpec, ...] = (
    OpSpec(
        "floor_div", "division", _EITHER, FLOATS | INTEGERS, _infer, _lower_pair(0),
        "torch.floor_divide(input, other)",
        "The quotient rounded down, in the operands' dtype; broadcasts.", method=True,
        operator="//", notes=(_ZERO, _EXACT),
    ),
    OpSpec(
        "ceil_div", "division", _TENSOR, frozenset({I32}), _infer, _lower_ceil_div,
        "-torch.floor_divide(-input, other)", "The quotient rounded up; broadcasts.", method=True,
        notes=(_ZERO,),
    ),
    OpSpec(
        "remainder", "division", (*_EITHER, _PRECISION), FLOATS | INTEGERS, _infer, _lower_pair(1),
        "torch.remainder(input, other)",
        "What is left of the quotient rounded down, with the sign of other; broadcasts.",
        method=True, operator="%", notes=(_ZERO, _EXACT),
    ),
    OpSpec(
        "fmod", "division", (*_TENSOR, _PRECISION), FLOATS, _infer_fmod, _lower_fmod,
        "torch.fmod(input, other)",
        "What is left of the quotient rounded to zero, with the sign of input; broadcasts.",
        method=True, notes=(_EXACT,),
    ),
    OpSpec(
        "gcd", "division", _TENSOR, INTEGERS, _infer, _lower_gcd, "torch.gcd(input, other)",
        "The largest number that divides both, not negative; broadcasts.", method=True,
        notes=("Of the smallest number of a dtype and 0 it is that number: it wraps.",),
    ),
)  # fmt: skip
