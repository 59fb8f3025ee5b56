"""What an integer never exceeds, as an expression of what is known when the kernel is launched.

Proofs (``ranges.py``) end in numbers; memory and step sizes want expressions, such as ``n`` for
``n - i``. A bound may be larger than it need be, and none may be found.
"""

from __future__ import annotations

from pypto.ir.expr import Apply, Expr, Variable, apply, as_int, const, polynomial, variables_of
from pypto.ir.ranges import Ranges

__all__ = ["upper_bound"]


def upper_bound(expr: Expr, ranges: Ranges) -> Expr | None:
    """An expression without variables that ``expr`` never exceeds; None where none is found."""
    return _Bound(ranges).of(expr, upper=True)


class _Bound:
    """Bounds from above (``upper``) and from below."""

    def __init__(self, ranges: Ranges) -> None:
        self.ranges = ranges
        self.limits = ranges.bounds

    def of(self, expr: Expr, *, upper: bool) -> Expr | None:
        if not variables_of(expr):
            return expr
        if isinstance(expr, Variable):
            return self._variable(expr, upper=upper)
        if not isinstance(expr, Apply) or expr.type != "int":
            return None
        if expr.op in ("add", "mul"):
            return self._sum(expr, upper=upper)
        if expr.op in ("min", "max"):
            return self._choice(expr.op, expr.args, upper=upper)
        if expr.op == "select":
            return self._choice("max" if upper else "min", expr.args[1:], upper=upper)
        divisor = as_int(expr.args[1]) if len(expr.args) > 1 else None
        if divisor is None or divisor <= 0:
            return None
        if expr.op == "mod":
            return const(divisor - 1 if upper else 0)
        inner = self.of(expr.args[0], upper=upper) if expr.op == "floordiv" else None
        return None if inner is None else apply("floordiv", inner, divisor)

    def _variable(self, variable: Variable, *, upper: bool) -> Expr | None:
        known = self.limits.get(variable)
        limit = None if known is None else known.greatest if upper else known.least
        return None if limit is None else self.of(limit, upper=upper)

    def _choice(self, op: str, args: tuple[Expr, ...], *, upper: bool) -> Expr | None:
        found = [self.of(arg, upper=upper) for arg in args]
        known = [one for one in found if one is not None]
        # The smaller of two is below either of them.
        enough = (op == "min") is upper
        if not known or (len(known) < len(found) and not enough):
            return None
        result = known[0]
        for one in known[1:]:
            result = apply(op, result, one)
        return result

    def _sum(self, expr: Expr, *, upper: bool) -> Expr | None:
        total: Expr = const(0)
        for factors, coefficient in polynomial(expr).items():
            product = self._product(factors, upper=upper is (coefficient > 0))
            if product is None:
                return None
            total = apply("add", total, apply("mul", product, coefficient))
        return total

    def _product(self, factors: tuple[Expr, ...], *, upper: bool) -> Expr | None:
        """Factors of 0 or more, each at its bound; one alone may be of any sign."""
        nonnegative = all(map(self.ranges.nonnegative, factors))
        if len(factors) > 1 and not nonnegative:
            return None
        result: Expr = const(1)
        for factor in factors:
            limit = self.of(factor, upper=upper)
            if limit is None:
                # From below, a product of sizes is 0 at least.
                return const(0) if not upper and nonnegative else None
            result = apply("mul", result, limit)
        return result
