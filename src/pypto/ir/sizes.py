"""Which sizes are equal: known from conditions that every call meets."""

from __future__ import annotations

from collections.abc import Iterable

from pypto.ir.expr import Apply, Const, Expr, Symbol, apply, as_int, symbols_of
from pypto.ir.tensor import TensorType

__all__ = ["Sizes", "substitute"]


class Sizes:
    """Sizes modulo the equalities that every call is checked for before anything runs."""

    def __init__(self, conditions: Iterable[Expr]) -> None:
        self._known: dict[Expr, Expr] = {}
        self._used: set[Symbol] = set()  # by the values of ``_known``
        for condition in conditions:
            if isinstance(condition, Apply) and condition.op == "eq":
                self._unify(*condition.args)

    def _unify(self, a: Expr, b: Expr) -> None:
        a, b = self.canonical(a), self.canonical(b)
        if a == b:
            return
        # Constants win, then the parameter that comes first.
        if as_int(a) is None and (as_int(b) is not None or _rank(b) < _rank(a)):
            a, b = b, a
        if isinstance(b, Symbol):
            self._known[b] = a
            self._used |= symbols_of(a)
            if b in self._used:
                self._known = {k: self.canonical(v) for k, v in self._known.items()}
        elif isinstance(b, Apply) and not _contains(a, b):
            self._known[b] = a

    def canonical(self, expr: Expr) -> Expr:
        """The representative of all expressions known to equal ``expr``."""
        return expr if isinstance(expr, Const) else substitute(expr, self._known)

    def equal(self, a: Expr, b: Expr) -> bool:
        return self.canonical(a) == self.canonical(b)

    def equal_types(self, a: TensorType, b: TensorType) -> bool:
        """Whether values of both types are interchangeable."""
        if a == b:
            return True
        return (
            a.dtype == b.dtype
            and len(a.shape) == len(b.shape)
            and all(map(self.equal, a.shape, b.shape))
        )


def _contains(expr: Expr, part: Expr) -> bool:
    if expr == part:
        return True
    return isinstance(expr, Apply) and any(_contains(each, part) for each in expr.args)


def _rank(expr: Expr) -> tuple[int, int]:
    if isinstance(expr, Symbol):
        return (expr.param, -1 if expr.axis is None else expr.axis)
    return (1 << 30, 0)


def substitute(expr: Expr, known: dict[Expr, Expr]) -> Expr:
    """``expr`` with every symbol in ``known`` replaced, simplified again."""
    if expr in known:
        return known[expr]
    if isinstance(expr, Apply):
        args = [substitute(a, known) for a in expr.args]
        result = args[0]
        if expr.op in ("add", "mul") and len(args) > 2:
            for arg in args[1:]:
                result = apply(expr.op, result, arg)
            return result
        return apply(expr.op, *args)
    return expr
