"""Formulas in FP32, written as formulas: what the functions of real numbers are made of.

Every operator is one instruction. Nothing is assumed of the device beyond correctly rounded + - * /
and sqrt: products and sums are not fused, and Exp and Ln are used where an error of a few units in
their last place stays one in the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pypto.ir.expr import const
from pypto.ir.tensor import Compute, Value
from pypto.ops.arithmetic import Lower
from pypto.ops.lowering import BF16, F32, I8, I32, U8, Lowering

__all__ = ["Formula", "Mask", "Real", "formula", "of_float", "polynomial", "power_of_two", "where"]


class Mask:
    """Where something holds."""

    __slots__ = ("build", "value")

    def __init__(self, build: Lowering, value: Value) -> None:
        self.build = build
        self.value = value

    def __and__(self, other: Mask) -> Mask:
        return Mask(self.build, self.build.both(self.value, other.value))

    def __or__(self, other: Mask) -> Mask:
        return Mask(self.build, self.build.either(self.value, other.value))

    def __invert__(self) -> Mask:
        return Mask(self.build, self.build.inverse(self.value))


class Real:
    """An FP32 value; the operators are instructions."""

    __slots__ = ("build", "value")

    def __init__(self, build: Lowering, value: Value) -> None:
        self.build = build
        self.value = value

    def _made(self, op: str, *others: Real | float) -> Real:
        given = [o.value if isinstance(o, Real) else const(float(o)) for o in others]
        return Real(self.build, self.build.emit(op, self.value, *given))

    def __add__(self, other: Real | float) -> Real:
        return self._made("add" if isinstance(other, Real) else "adds", other)

    def __sub__(self, other: Real | float) -> Real:
        return self._made("sub", other) if isinstance(other, Real) else self._made("adds", -other)

    def __mul__(self, other: Real | float) -> Real:
        return self._made("mul" if isinstance(other, Real) else "muls", other)

    def __truediv__(self, other: Real) -> Real:
        return self._made("div", other)

    def __neg__(self) -> Real:
        return self * -1.0

    def __rsub__(self, other: float) -> Real:
        return -self + other

    __radd__ = __add__
    __rmul__ = __mul__

    def __rtruediv__(self, other: float) -> Real:
        number = self.build.fill(const(float(other)), F32, self.value.type.rank)
        return Real(self.build, self.build.emit("div", number, self.value))

    def exp(self) -> Real:
        return self._made("exp")

    def ln(self) -> Real:
        return self._made("ln")

    def sqrt(self) -> Real:
        return self._made("sqrt")

    def magnitude(self) -> Real:
        return self._made("abs")

    def larger(self, other: Real | float) -> Real:
        """NaN where one is."""
        return self._made("max" if isinstance(other, Real) else "maxs", other)

    def smaller(self, other: Real | float) -> Real:
        """NaN where one is."""
        return self._made("min" if isinstance(other, Real) else "mins", other)

    def integral(self, mode: str) -> Real:
        """Rounded to an integral number: RINT FLOOR CEIL ROUND TRUNC."""
        build = self.build
        return Real(build, build.emit("cast", self.value, dtype=F32, mode=mode))

    def truncated(self) -> Real:
        """The nearest number of 8 significant bits."""
        build = self.build
        return Real(build, build.cast(build.narrow(self.value, BF16), F32))

    def bits(self) -> Value:
        return self.build.view(self.value, I32)

    def signed_as(self, other: Real) -> Real:
        """The magnitude of this, which is not negative, with the sign of ``other``."""
        build = self.build
        sign = build.emit("shl", build.emit("shr", other.bits(), const(31)), const(31))
        return Real(build, build.view(build.emit("add", self.bits(), sign), F32))

    def _compared(self, mode: str, other: Real | float) -> Mask:
        operand = other.value if isinstance(other, Real) else const(float(other))
        return Mask(self.build, self.build.compare(mode, self.value, operand))

    def __lt__(self, other: Real | float) -> Mask:
        return self._compared("LT", other)

    def __le__(self, other: Real | float) -> Mask:
        return self._compared("LE", other)

    def __gt__(self, other: Real | float) -> Mask:
        return self._compared("GT", other)

    def __ge__(self, other: Real | float) -> Mask:
        return self._compared("GE", other)

    def equals(self, other: Real | float) -> Mask:
        return self._compared("EQ", other)

    def differs(self, other: Real | float) -> Mask:
        return self._compared("NE", other)


def where(mask: Mask, a: Real | float, b: Real | float) -> Real:
    """``a`` where ``mask`` is set, else ``b``."""
    build = mask.build
    given = [x.value if isinstance(x, Real) else const(float(x)) for x in (a, b)]
    return Real(build, build.select(mask.value, *given))


def polynomial(x: Real, coefficients: Sequence[float]) -> Real:
    """The sum of ``coefficients[k] * x**k`` by Horner's rule."""
    *rest, last = coefficients
    result = x * last + rest.pop()
    while rest:
        result = result * x + rest.pop()
    return result


def power_of_two(build: Lowering, exponent: Value) -> Real:
    """2 to an INT32 ``exponent`` of -126 ... 127."""
    biased = build.emit("adds", exponent, const(127))
    return Real(build, build.view(build.emit("shl", biased, const(23)), F32))


Formula = Callable[..., Real]


def of_float(build: Lowering, value: Value) -> Real:
    """A number of any dtype up to 32 bits as FP32: exact but for INT32, which is rounded."""
    if value.type.dtype in (I8, U8):
        return Real(build, build.cast(build.comparable(value), F32))
    return Real(build, build.cast(value, F32, "RINT" if value.type.dtype == I32 else "NONE"))


def formula(function: Formula) -> Lower:
    """An operation that is ``function`` of its tensors in FP32, rounded once to its dtype."""

    def lower(build: Lowering, use: Compute) -> Value:
        reals = [of_float(build, a) for a in use.args if isinstance(a, Value)]
        return build.narrow(function(*reals).value, use.result.type.dtype)

    return lower
