"""Exponentials, logarithms and roots."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pypto.ir.dtype import DataType
from pypto.ir.expr import const
from pypto.ir.tensor import TensorType
from pypto.language.enums import PrecisionType
from pypto.ops.arithmetic import FLOATS
from pypto.ops.lowering import BF16, F16, F32, I8, I16, I32, U8
from pypto.ops.numerics import Formula, Real, formula, polynomial, power_of_two, where
from pypto.ops.shapes import broadcast
from pypto.ops.spec import OpCall, OpParam, OpSpec

# (exp(x) - 1 - x) / x**2 for abs x <= 0.41
_EXPM1 = (0.5, 0.16666667, 0.041666057, 0.0083332164, 0.001396185, 0.00019942857)
# (atanh(s) / s - 1) / s**2 over s**2 <= 0.036
_ATANH = (0.3333333, 0.20000313, 0.14259726, 0.11953021)
_LOG10_2 = 0.30102999566398120
_LOG10_2_HIGH = 0.30102539  # 13 bits: its product with an exponent is exact
_ROOT_HALF = 0x3F3504F3  # the bits of sqrt(0.5)


def exp2(x: Real) -> Real:
    """2**whole * exp(rest * ln 2), the power of two in two factors: it may be a subnormal."""
    whole = x.larger(-160.0).smaller(160.0).integral("RINT")
    rest = x.larger(-160.0).smaller(160.0) - whole
    build = x.build
    exponent = build.emit("cast", whole.value, dtype=I32, mode="RINT")
    half = build.emit("shr", exponent, const(1))
    other = build.emit("sub", exponent, half)
    fraction = (rest * math.log(2.0)).exp()
    return fraction * power_of_two(build, half) * power_of_two(build, other)


def expm1(x: Real) -> Real:
    square = x * x
    near = where(square.equals(0.0), x, x + square * polynomial(x, _EXPM1))
    return where(x.magnitude() < 0.4, near, x.exp() - 1.0)


def log1p(x: Real) -> Real:
    """Near zero 2 atanh(x / (2 + x))."""
    ratio = x / (x + 2.0)
    square = ratio * ratio
    near = ratio * 2.0
    near = near + near * square * polynomial(square, _ATANH)
    # Zeros keep their sign, and what is so small is its own result.
    near = where(x.magnitude() < 1e-8, x, near)
    inner = (x > -0.3) & (x < 0.45)
    return where(inner, near, (x + 1.0).ln())


def _split(x: Real) -> tuple[Real, Real]:
    """``x`` > 0 as mantissa * 2**exponent, the mantissa between the roots of 1/2 and 2."""
    build = x.build
    tiny = x < 2.0**-126
    scaled = where(tiny, x * 2.0**24, x)
    bits = scaled.bits()
    exponent = build.emit("shr", build.emit("adds", bits, const(-_ROOT_HALF)), const(23))
    shift = build.emit("shl", exponent, const(23))
    mantissa = Real(build, build.view(build.emit("sub", bits, shift), F32))
    number = Real(build, build.cast(exponent, F32, "RINT"))
    return mantissa, where(tiny, number - 24.0, number)


def _ordinary(x: Real, value: Real) -> Real:
    """``value`` where ``x`` is positive and finite; elsewhere what Ln says."""
    return where((x > 0.0) & (x < math.inf), value, x.ln())


def log2(x: Real) -> Real:
    mantissa, exponent = _split(x)
    return _ordinary(x, exponent + mantissa.ln() * (1.0 / math.log(2.0)))


def log10(x: Real) -> Real:
    mantissa, exponent = _split(x)
    low = exponent * (_LOG10_2 - _LOG10_2_HIGH) + mantissa.ln() * (1.0 / math.log(10.0))
    return _ordinary(x, exponent * _LOG10_2_HIGH + low)


def cbrt(x: Real) -> Real:
    """exp(ln(x) / 3) and one step of Newton's method."""
    size = x.magnitude()
    root = (size.ln() * (1.0 / 3.0)).exp()
    better = root - (root - size / (root * root)) * (1.0 / 3.0)
    plain = (size.equals(0.0)) | (size.equals(math.inf))
    return where(plain, size, better).signed_as(x)


# --- specs ---


def infer_float(call: OpCall) -> TensorType:
    """The dtype of a float; FP32 of an integer."""
    dtype = call.check_dtype("input")
    return TensorType(dtype if dtype.is_float else F32, broadcast(call, "input"))


def units(fp32: float, absolute: float = 1.5e-45) -> Mapping[DataType, tuple[float, float]]:
    """Tolerances: ``fp32`` for FP32, one unit in the last place for what is rounded from it."""
    return {
        F32: (fp32, absolute),
        F16: (9.8e-4, 6e-8),
        BF16: (7.9e-3, max(absolute, 9.2e-41)),
    }


def function(
    name: str,
    value: Formula,
    doc: str,
    tolerance: Mapping[DataType, tuple[float, float]],
    *,
    group: str = "exponential",
    dtypes: frozenset[DataType] = FLOATS,
    torch: str | None = None,
    precision: bool = False,
    notes: tuple[str, ...] = (),
) -> OpSpec:
    """A function of one tensor."""
    params = [OpParam("input", "tensor")]
    if precision:
        params.append(OpParam("precision_type", "enum", PrecisionType.INTRINSIC, PrecisionType))
    return OpSpec(
        name, group, tuple(params), dtypes, infer_float, formula(value),
        torch or f"torch.{name}(input)", doc, method=True, tolerance=tolerance, notes=notes,
    )  # fmt: skip


_WITH_INTEGERS = FLOATS | {I16, I32}

SPECS: tuple[OpSpec, ...] = (
    function(
        "exp2", exp2, "2 to the power of each element; integers give FP32.", units(3e-7),
        dtypes=_WITH_INTEGERS | {I8, U8},
        notes=("INT32 is rounded to FP32 first: exact for all powers that FP32 holds.",),
    ),
    function(
        "expm1", expm1, "exp(x) - 1, also near zero; integers give FP32.", units(4e-7),
        dtypes=_WITH_INTEGERS,
    ),
    function("log1p", log1p, "log(1 + x), also near zero; of less than -1 NaN.", units(4e-7)),
    function(
        "log2", log2, "Logarithm to the base 2; exact for powers of 2.", units(3e-7),
        precision=True,
    ),
    function("log10", log10, "Logarithm to the base 10.", units(3e-7), precision=True),
    function(
        "cbrt", cbrt, "Cube root, with the sign of x.", units(3e-7),
        torch="torch.copysign(torch.pow(torch.abs(input), 1 / 3), input)",
    ),
)  # fmt: skip
