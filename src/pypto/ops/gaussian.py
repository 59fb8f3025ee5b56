"""The error function and its complement."""

from __future__ import annotations

from pypto.ops.exponential import function, units
from pypto.ops.numerics import Real, polynomial, where
from pypto.ops.spec import OpSpec

# erf(x) / x over x**2 for abs x <= 1
_ERF = (
    1.1283791, -0.37612626, 0.112836003, -0.026854444, 0.0051895352, -0.0008020841, 7.889119e-05,
)  # fmt: skip
# erfc(x) * exp(x**2) / t over t = 2 / (2 + x) for 0.49 <= x <= 10.2
_ERFC = (
    0.28209618, 0.2820473, 0.24754964, 0.17001115, 0.119493, -0.14147554, 0.302501, -0.6843391,
    0.68701386, -0.32729825, 0.062405568,
)  # fmt: skip


def _tail(size: Real) -> Real:
    """erfc of ``size`` >= 0.5."""
    size = size.smaller(10.2)
    t = 2.0 / (size + 2.0)
    # exp(-x * x), the square in two parts: that of the leading bits is exact.
    lead = size.truncated()
    power = (-(lead * lead)).exp() * ((lead - size) * (lead + size)).exp()
    return power * t * polynomial(t, _ERFC)


def erf(x: Real) -> Real:
    near = x * polynomial(x * x, _ERF)
    size = x.magnitude()
    far = (1.0 - _tail(size.larger(0.5))).signed_as(x)
    return where(size < 1.0, near, far)


def erfc(x: Real) -> Real:
    near = 1.0 - x * polynomial(x * x, _ERF)
    size = x.magnitude()
    tail = _tail(size.larger(0.5))
    far = where(x < 0.0, 2.0 - tail, tail)
    return where(size < 0.5, near, far)


SPECS: tuple[OpSpec, ...] = (
    function("erf", erf, "Error function.", units(3e-7), group="gaussian"),
    function(
        "erfc", erfc, "1 - erf(x), without cancellation.", units(5e-7, 1.2e-38), group="gaussian"
    ),
)
