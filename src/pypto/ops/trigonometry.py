"""Circular and hyperbolic functions, their inverses, and hypot."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pypto.ir.dtype import DataType
from pypto.ir.tensor import TensorType
from pypto.ops.arithmetic import FLOATS
from pypto.ops.comparison import negative_sign
from pypto.ops.exponential import function, log1p, units
from pypto.ops.numerics import Formula, Mask, Real, formula, polynomial, where
from pypto.ops.shapes import broadcast, same_dtype
from pypto.ops.spec import OpCall, OpParam, OpSpec

# (f(x) / x - 1) / x**2 over x**2, from zero to where the name says
_SIN_HALF_PI = (-0.16666667, 0.008333331, -0.00019840895, 2.752661e-06, -2.3909037e-08)
_TAN_QUARTER_PI = (
    0.33333352, 0.13332605, 0.054066136, 0.021251831, 0.01091068, -1.2436199e-06, 0.0044192965,
)  # fmt: skip
_ASIN_HALF = (0.1666666, 0.075005174, 0.04451447, 0.031828687, 0.0143584935, 0.03763009)
_ATAN_ONE = (
    -0.33333302, 0.19998638, -0.14265245, 0.10957572, -0.08419446, 0.05823432, -0.031455468,
    0.011064315, -0.0018271847,
)  # fmt: skip
_SINH_ONE = (0.16666667, 0.0083333505, 0.00019836066, 2.8174397e-06)
# Pi in parts of 8 bits: products with numbers of 16 bits are exact.
_PI_PARTS = (
    3.140625, 0.000965118408203125, 2.5331974029541016e-06, 1.979060471057892e-09,
    5.126688136514179e-12,
)  # fmt: skip


def _odd(x: Real, coefficients: tuple[float, ...]) -> Real:
    """x + x**3 * polynomial(x**2)."""
    square = x * x
    return x + x * square * polynomial(square, coefficients)


def _less_pi(x: Real, multiple: Real, unit: float) -> Real:
    """x - multiple * unit * pi; ``unit`` is a power of two."""
    for part in _PI_PARTS:
        x = x - multiple * (part * unit)
    return x.larger(-1.6).smaller(1.6)  # where the parts are too few: still a sine


def _is_odd(whole: Real) -> Mask:
    half = whole * 0.5
    return half.differs(half.integral("FLOOR"))


def sin(x: Real) -> Real:
    turns = (x * (1.0 / math.pi)).integral("RINT")
    value = _odd(_less_pi(x, turns, 1.0), _SIN_HALF_PI)
    value = where(_is_odd(turns), -value, value)
    return where(x.equals(0.0), x, value)  # -0.0 stays


def cos(x: Real) -> Real:
    turns = (x * (1.0 / math.pi) - 0.5).integral("RINT")
    value = _odd(_less_pi(x, turns * 2.0 + 1.0, 0.5), _SIN_HALF_PI)
    return where(_is_odd(turns), value, -value)


def tan(x: Real) -> Real:
    turns = (x * (2.0 / math.pi)).integral("RINT")
    value = _odd(_less_pi(x, turns, 0.5), _TAN_QUARTER_PI)
    value = where(_is_odd(turns), -1.0 / value, value)
    return where(x.equals(0.0), x, value)


def _arc(x: Real) -> tuple[Mask, Real]:
    """For abs x <= 1: whether it is above 1/2, and asin of abs x or, above, of the root of
    (1 - abs x) / 2."""
    size = x.magnitude()
    far = size > 0.5
    root = ((1.0 - size) * 0.5).sqrt()
    return far, _odd(where(far, root, size), _ASIN_HALF)


def asin(x: Real) -> Real:
    far, near = _arc(x)
    return where(far, math.pi / 2 - near * 2.0, near).signed_as(x)


def acos(x: Real) -> Real:
    far, near = _arc(x)
    negative = x < 0.0
    inner = math.pi / 2 - where(negative, -near, near)
    outer = near * 2.0
    return where(far, where(negative, math.pi - outer, outer), inner)


def atan(x: Real) -> Real:
    size = x.magnitude()
    far = size > 1.0
    angle = _odd(where(far, 1.0 / size, size), _ATAN_ONE)
    return where(far, math.pi / 2 - angle, angle).signed_as(x)


def atan2(y: Real, x: Real) -> Real:
    up, along = y.magnitude(), x.magnitude()
    steep = up > along
    larger = where(steep, up, along)
    ratio = where(steep, along, up) / larger
    ratio = where(up.equals(along), 1.0, ratio)  # two infinities
    ratio = where(larger.equals(0.0), 0.0, ratio)
    angle = _odd(ratio, _ATAN_ONE)
    angle = where(steep, math.pi / 2 - angle, angle)
    backward = Mask(x.build, negative_sign(x.build, x.value))
    angle = where(backward, math.pi - angle, angle)
    # NaN of x alone is in the ratio; of y alone it may be hidden by the choice of the larger one.
    return where(y.equals(y), angle, y).signed_as(y)


def sinh(x: Real) -> Real:
    size = x.magnitude()
    root = (size * 0.5).exp()
    # The second factor of exp(x) / 2 comes last: it may be infinite before the result is.
    far = root * 0.5 * root - 0.5 / root / root
    return where(size < 1.0, _odd(size, _SINH_ONE), far).signed_as(x)


def cosh(x: Real) -> Real:
    root = (x.magnitude() * 0.5).exp()
    return root * 0.5 * root + 0.5 / root / root


def asinh(x: Real) -> Real:
    size = x.magnitude()
    square = size * size
    near = log1p(size + square / ((square + 1.0).sqrt() + 1.0))
    return where(size > 4096.0, size.ln() + math.log(2.0), near).signed_as(x)


def acosh(x: Real) -> Real:
    above = x - 1.0
    near = log1p(above + above.sqrt() * (above + 2.0).sqrt())
    return where(x > 4096.0, x.ln() + math.log(2.0), near)


def atanh(x: Real) -> Real:
    size = x.magnitude()
    return (log1p(size * 2.0 / (1.0 - size)) * 0.5).signed_as(x)


def hypot(x: Real, y: Real) -> Real:
    a, b = x.magnitude(), y.magnitude()
    larger, smaller = a.larger(b), a.smaller(b)
    ratio = smaller / larger
    length = larger * (ratio * ratio + 1.0).sqrt()
    length = where(larger.equals(0.0), 0.0, length)
    return where(a.equals(math.inf) | b.equals(math.inf), math.inf, length)


# --- specs ---


def _infer_two(call: OpCall) -> TensorType:
    first, second = (p.name for p in call.spec.params)
    dtype = call.check_dtype(first)
    call.check_dtype(second)
    same_dtype(call, first, second)
    return TensorType(dtype, broadcast(call, first, second))


def _circular(
    name: str, value: Formula, doc: str, tolerance: Mapping[DataType, tuple[float, float]]
) -> OpSpec:
    notes = ("To abs x <= 65504; beyond, the error grows until only the range is right.",)
    return function(name, value, doc, tolerance, group="trigonometric", notes=notes)


def _inverse(
    name: str, value: Formula, doc: str, tolerance: Mapping[DataType, tuple[float, float]]
) -> OpSpec:
    return function(name, value, doc, tolerance, group="trigonometric")


SPECS: tuple[OpSpec, ...] = (
    _circular("sin", sin, "Sine of radians.", units(3e-7)),
    _circular("cos", cos, "Cosine of radians.", units(3e-7)),
    _circular("tan", tan, "Tangent of radians.", units(5e-7)),
    _inverse("asin", asin, "The angle whose sine it is; NaN outside -1 ... 1.", units(4e-7)),
    _inverse("acos", acos, "The angle whose cosine it is; NaN outside -1 ... 1.", units(4e-7)),
    _inverse("atan", atan, "The angle whose tangent it is.", units(3e-7)),
    OpSpec(
        "atan2", "trigonometric", (OpParam("y", "tensor"), OpParam("x", "tensor")), FLOATS,
        _infer_two, formula(atan2), "torch.atan2(y, x)",
        "The angle of the point (x, y), from -pi to pi; broadcasts.", method=True,
        tolerance=units(4e-7),
    ),
    _inverse("sinh", sinh, "Hyperbolic sine.", units(4e-7)),
    _inverse("cosh", cosh, "Hyperbolic cosine.", units(4e-7)),
    _inverse("asinh", asinh, "Inverse hyperbolic sine.", units(5e-7)),
    _inverse("acosh", acosh, "Inverse hyperbolic cosine; of less than 1 NaN.", units(5e-7)),
    _inverse(
        "atanh", atanh, "Inverse hyperbolic tangent; NaN outside -1 ... 1.", units(5e-7)
    ),
    OpSpec(
        "hypot", "trigonometric", (OpParam("input", "tensor"), OpParam("other", "tensor")), FLOATS,
        _infer_two, formula(hypot), "torch.hypot(input, other)",
        "sqrt(input**2 + other**2) without overflow on the way; broadcasts.", method=True,
        tolerance=units(3e-7),
    ),
)  # fmt: skip
