"""Conditions on values of the running kernel, and what calls must meet so that they hold."""

from __future__ import annotations

from pypto.ir.expr import (
    Apply,
    Expr,
    Monomial,
    Polynomial,
    apply,
    as_int,
    const,
    from_polynomial,
    polynomial,
    variables_of,
)
from pypto.ir.ranges import Ranges

__all__ = ["implying", "negated", "simplest"]


def negated(condition: Expr) -> Expr:
    """Where ``condition`` does not hold."""
    if isinstance(condition, Apply) and condition.op == "not":
        return condition.args[0]
    return apply("not", condition)


def simplest(condition: Expr) -> Expr:
    """``a - i == b - i`` says ``a == b``."""
    if not (isinstance(condition, Apply) and condition.op == "eq"):
        return condition
    if any(argument.kind != "int" for argument in condition.args):
        return condition
    return apply("eq", *_sides(polynomial(apply("sub", *condition.args))))


def _sides(terms: Polynomial) -> tuple[Expr, Expr]:
    """What must be equal where the sum of ``terms`` is 0."""
    plus = from_polynomial({m: c for m, c in terms.items() if c > 0})
    return plus, from_polynomial({m: -c for m, c in terms.items() if c < 0})


def implying(ranges: Ranges, condition: Expr) -> list[Expr] | None:
    """Conditions known at launch that together imply ``condition``; None: none are found."""
    if condition == const(True):
        return []
    if isinstance(condition, Apply) and condition.op == "eq":
        return _equal(*condition.args)
    if not variables_of(condition):
        return [condition]
    if isinstance(condition, Apply) and condition.op == "and":
        parts = [implying(ranges, part) for part in condition.args]
        return _all(parts)
    return [] if _holds(ranges, condition) else None


def _all(parts: list[list[Expr] | None]) -> list[Expr] | None:
    found: list[Expr] = []
    for part in parts:
        if part is None:
            return None
        found += part
    return found


def _holds(ranges: Ranges, condition: Expr) -> bool:
    """Whether a comparison of integers is proved."""
    if not (isinstance(condition, Apply) and all(a.kind == "int" for a in condition.args)):
        return False
    a, b = condition.args[0], condition.args[-1]
    if condition.op in ("lt", "gt"):
        small, large = (a, b) if condition.op == "lt" else (b, a)
        return ranges.nonnegative(apply("sub", apply("sub", large, small), 1))
    if condition.op in ("le", "ge"):
        return ranges.at_most(a, b) if condition.op == "le" else ranges.at_most(b, a)
    return False


def _equal(a: Expr, b: Expr) -> list[Expr] | None:
    """What makes ``a`` and ``b`` equal: they differ only in parts that are known at launch.

    ``max(y - i, 0) == max(x - i, 0)`` follows from ``y == x``.
    """
    if a == b:
        return []
    if not (variables_of(a) or variables_of(b)):
        return [apply("eq", a, b)]
    if a.kind != "int" or b.kind != "int":
        return _equal_parts(a, b)
    terms = polynomial(apply("sub", a, b))
    moving = [m for m in terms if any(map(variables_of, m))]
    if len(moving) not in (0, 2) or sum(terms[m] for m in moving) != 0:
        return None
    plus, minus = _sides({m: c for m, c in terms.items() if m not in moving})
    rest = [] if plus == minus else [apply("eq", plus, minus)]
    if rest and all(as_int(side) is not None for side in (plus, minus)):
        return None
    if not moving:
        return rest
    factors = _different(*moving)
    return None if factors is None else _all([_equal_parts(*factors), rest])


def _different(a: Monomial, b: Monomial) -> tuple[Expr, Expr] | None:
    """The factors in which two products differ, where it is one each."""
    left, right = [*a], [*b]
    for factor in a:
        if factor in right:
            left.remove(factor)
            right.remove(factor)
    return (left[0], right[0]) if len(left) == len(right) == 1 else None


def _equal_parts(a: Expr, b: Expr) -> list[Expr] | None:
    if not (isinstance(a, Apply) and isinstance(b, Apply)):
        return None
    if a.op != b.op or len(a.args) != len(b.args):
        return None
    return _all([_equal(x, y) for x, y in zip(a.args, b.args, strict=True)])
