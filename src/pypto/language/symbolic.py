"""Integers that may be unknown until a kernel is launched."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import NoReturn

from pypto.error import Diagnostic, FeTypeError, FeValueError
from pypto.ir.expr import Apply, Expr, Symbol, apply, as_int, const, symbols_of
from pypto.language.status import SatStatus

__all__ = ["FREE_SYMBOL", "SymbolicScalar", "dynamic"]

FREE_SYMBOL = -1
"""``param`` of a symbol that belongs to no kernel's signature."""


class SymbolicScalar:
    """A 64-bit integer: a number, a name, or an expression over names.

    ``SymbolicScalar(3)``, ``SymbolicScalar("n")``, ``SymbolicScalar("n", 3)`` (a name whose value
    is known), a copy of another one, an :class:`~pypto.ir.expr.Expr`, or nothing (zero).

    ``/`` and ``//`` both divide as Python's ``//`` does (toward minus infinity) and ``%`` has the
    sign of the divisor. Comparisons give a scalar that is 0 or 1; ``&``, ``|`` and ``~`` are
    logical. ``int()`` and ``bool()`` need a known value. Overloaded ``==`` means no hash.
    """

    __slots__ = ("_expr", "_name")

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, value: int | str | SymbolicScalar | Expr = 0, known: int | None = None
    ) -> None:
        self._name: str | None = None
        if isinstance(value, str):
            if not value.isidentifier():
                _refuse_value(f"'{value}' is no name for a symbolic scalar", "an identifier")
            self._name = value
            if known is None:
                self._expr: Expr = Symbol(value, FREE_SYMBOL, None)
            else:
                self._expr = const(_plain_int(known))
            return
        if known is not None:
            _refuse_type("a value can only be given to a name", "SymbolicScalar(name, int)", value)
        if isinstance(value, SymbolicScalar):
            self._expr, self._name = value._expr, value._name
        elif isinstance(value, Expr):
            if value.kind == "float":
                _refuse_type("a symbolic scalar is an integer", "int", value)
            self._expr = _number(value)
        else:
            self._expr = const(_plain_int(value))

    # --- what it is ---

    @property
    def expr(self) -> Expr:
        """The value as an expression of the Tensor IR."""
        return self._expr

    @property
    def name(self) -> str | None:
        """The name, when the scalar is one name."""
        if self._name is not None:
            return self._name
        return self._expr.name if isinstance(self._expr, Symbol) else None

    def is_concrete(self) -> bool:
        """True when the value is known."""
        return as_int(self._expr) is not None

    def concrete(self) -> int:
        """The value; FeValueError when it is not known yet."""
        value = as_int(self._expr)
        if value is None:
            raise FeValueError(
                [
                    Diagnostic(
                        FeValueError,
                        "F00002",
                        f"the value of '{self._expr}' is not known before the kernel is launched",
                        help="a Python value is needed here; pass it as a plain int",
                    )
                ]
            )
        return value

    def is_symbol(self) -> bool:
        """True for one name."""
        return self.name is not None

    def is_expression(self) -> bool:
        """True for a combination of names and numbers."""
        return isinstance(self._expr, Apply)

    def is_immediate(self) -> bool:
        """True for a number without a name."""
        return self._name is None and self.is_concrete()

    def simplify(self) -> SymbolicScalar:
        """The same value; expressions are kept in normal form all the time."""
        return SymbolicScalar(self)

    def as_variable(self) -> None:
        """Accepted as the contract has it; every expression is a value already."""

    @staticmethod
    def tenary(
        condition: SymbolicScalar | int, then: SymbolicScalar | int, other: SymbolicScalar | int
    ) -> SymbolicScalar:
        """``then if condition else other`` (the contract spells it so)."""
        return SymbolicScalar(apply("select", *map(_operand, (condition, then, other))))

    @staticmethod
    def check(conditions: Iterable[SymbolicScalar | int]) -> SatStatus:
        """Whether all conditions can hold: known false, all known true, or unknown."""
        values = [as_int(_operand(c)) for c in conditions]
        if 0 in values:
            return SatStatus.UNSAT
        return SatStatus.UNKNOWN if None in values else SatStatus.SAT

    def min(self, other: SymbolicScalar | int) -> SymbolicScalar:
        return self._with("min", other)

    def max(self, other: SymbolicScalar | int) -> SymbolicScalar:
        return self._with("max", other)

    def __int__(self) -> int:
        return self.concrete()

    def __index__(self) -> int:
        return self.concrete()

    def __bool__(self) -> bool:
        return self.concrete() != 0

    def __str__(self) -> str:
        return self._name or str(self._expr)

    def __repr__(self) -> str:
        if self._name is not None and self.is_concrete():
            return f"SymbolicScalar({self._name!r}, {self._expr})"
        return f"SymbolicScalar({repr(self.name) if self.is_symbol() else self._expr})"

    # --- arithmetic ---

    def _with(self, op: str, other: object, *, reflected: bool = False) -> SymbolicScalar:
        left, right = self._expr, _operand(other)
        if reflected:
            left, right = right, left
        if op in ("floordiv", "mod") and as_int(right) == 0:
            _refuse_value("division of a symbolic scalar by zero", "a divisor other than 0")
        return SymbolicScalar(apply(op, left, right))

    def __add__(self, other: SymbolicScalar | int) -> SymbolicScalar:
        return self._with("add", other)

    def __radd__(self, other: int) -> SymbolicScalar:
        return self._with("add", other, reflected=True)

    def __sub__(self, other: SymbolicScalar | int) -> SymbolicScalar:
        return self._with("sub", other)

    def __rsub__(self, other: int) -> SymbolicScalar:
        return self._with("sub", other, reflected=True)

    def __mul__(self, other: SymbolicScalar | int) -> SymbolicScalar:
        return self._with("mul", other)

    def __rmul__(self, other: int) -> SymbolicScalar:
        return self._with("mul", other, reflected=True)

    def __floordiv__(self, other: SymbolicScalar | int) -> SymbolicScalar:
        return self._with("floordiv", other)

    def __rfloordiv__(self, other: int) -> SymbolicScalar:
        return self._with("floordiv", other, reflected=True)

    def __truediv__(self, other: SymbolicScalar | int) -> SymbolicScalar:
        return self._with("floordiv", other)

    def __rtruediv__(self, other: int) -> SymbolicScalar:
        return self._with("floordiv", other, reflected=True)

    def __mod__(self, other: SymbolicScalar | int) -> SymbolicScalar:
        return self._with("mod", other)

    def __rmod__(self, other: int) -> SymbolicScalar:
        return self._with("mod", other, reflected=True)

    def __neg__(self) -> SymbolicScalar:
        return SymbolicScalar(apply("neg", self._expr))

    def __pos__(self) -> SymbolicScalar:
        return SymbolicScalar(self)

    # --- comparisons and logic ---

    def __eq__(self, other: object) -> SymbolicScalar:  # type: ignore[override]
        return self._with("eq", other)

    def __ne__(self, other: object) -> SymbolicScalar:  # type: ignore[override]
        return self._with("ne", other)

    def __lt__(self, other: SymbolicScalar | int) -> SymbolicScalar:
        return self._with("lt", other)

    def __le__(self, other: SymbolicScalar | int) -> SymbolicScalar:
        return self._with("le", other)

    def __gt__(self, other: SymbolicScalar | int) -> SymbolicScalar:
        return self._with("gt", other)

    def __ge__(self, other: SymbolicScalar | int) -> SymbolicScalar:
        return self._with("ge", other)

    def __and__(self, other: SymbolicScalar | int) -> SymbolicScalar:
        return self._with("and", other)

    def __rand__(self, other: int) -> SymbolicScalar:
        return self._with("and", other, reflected=True)

    def __or__(self, other: SymbolicScalar | int) -> SymbolicScalar:
        return self._with("or", other)

    def __ror__(self, other: int) -> SymbolicScalar:
        return self._with("or", other, reflected=True)

    def __invert__(self) -> SymbolicScalar:
        return SymbolicScalar(apply("not", self._expr))


def dynamic(name: str) -> SymbolicScalar:
    """A named dynamic axis: axes of equal name have equal sizes at each call."""
    if not isinstance(name, str):
        _refuse_type("a dynamic axis is given by its name", "str", name)
    return SymbolicScalar(name)


def names_of(scalar: SymbolicScalar) -> frozenset[str]:
    """The names a scalar depends on."""
    return frozenset(s.name for s in symbols_of(scalar.expr))


def _plain_int(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, enum.Enum):
        return int(value)
    _refuse_type("a symbolic scalar is an integer or a name", "int or str", value)


def _number(expr: Expr) -> Expr:
    """``expr``, a known truth value as 0 or 1."""
    value = as_int(expr)
    return expr if value is None else const(value)


def _operand(value: object) -> Expr:
    if isinstance(value, SymbolicScalar):
        return value.expr
    if isinstance(value, Expr) and value.kind != "float":
        return value
    if isinstance(value, int) and not isinstance(value, enum.Enum):
        return const(int(value))
    _refuse_type("symbolic scalars are combined with integers only", "int or SymbolicScalar", value)


def _refuse_type(message: str, expected: str, got: object) -> NoReturn:
    found = f"{got!r} ({type(got).__name__})"
    raise FeTypeError([Diagnostic(FeTypeError, "F00001", message, None, expected, found)])


def _refuse_value(message: str, expected: str) -> NoReturn:
    raise FeValueError([Diagnostic(FeValueError, "F00002", message, None, expected)])
