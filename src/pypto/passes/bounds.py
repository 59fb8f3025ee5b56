"""What a size that depends on loops never exceeds, from what is known at the launch."""

from __future__ import annotations

from collections.abc import Mapping

from pypto.ir.expr import (
    Apply,
    Const,
    Expr,
    Monomial,
    Variable,
    apply,
    as_int,
    from_polynomial,
    polynomial,
    variables_of,
)
from pypto.ir.sizes import substitute
from pypto.ir.tensor import For

__all__ = ["Loops", "upper_bound"]

Loops = Mapping[Variable, For]


def upper_bound(expr: Expr, loops: Loops) -> Expr | None:
    """An expression without variables that ``expr`` never exceeds; None where none is found.
    ``loops``: by their indices."""
    return _bound(expr, loops, upper=True)


def _bound(expr: Expr, loops: Loops, *, upper: bool) -> Expr | None:
    """From above, or from below."""
    if not variables_of(expr):
        return expr
    if isinstance(expr, Variable):
        return _of_index(expr, loops, upper=upper)
    if not isinstance(expr, Apply) or expr.type != "int":
        return None
    if expr.op in ("add", "mul"):
        return _of_sum(expr, loops, upper=upper)
    if expr.op in ("min", "max"):
        return _of_choice(expr.op, expr.args, loops, upper=upper)
    if expr.op == "select":
        return _of_choice("max" if upper else "min", expr.args[1:], loops, upper=upper)
    divisor = as_int(expr.args[1]) if len(expr.args) > 1 else None
    if divisor is None or divisor <= 0:
        return None
    if expr.op == "mod":
        return Const(divisor - 1 if upper else 0, "int")
    if expr.op == "floordiv":
        inner = _bound(expr.args[0], loops, upper=upper)
        return None if inner is None else apply("floordiv", inner, divisor)
    return None


def _of_index(index: Variable, loops: Loops, *, upper: bool) -> Expr | None:
    loop = loops.get(index)
    step = None if loop is None else as_int(loop.step)
    if loop is None or step is None:
        return None
    # A loop that does not run has no index; then the bound is of no consequence.
    if (step > 0) is upper:
        end = apply("sub" if step > 0 else "add", loop.stop, 1)
        return _bound(end, loops, upper=upper)
    return _bound(loop.start, loops, upper=upper)


def _of_choice(op: str, args: tuple[Expr, ...], loops: Loops, *, upper: bool) -> Expr | None:
    found = [_bound(arg, loops, upper=upper) for arg in args]
    known = [one for one in found if one is not None]
    # The smaller of two is below either of them.
    enough = (op == "min") is upper
    if not known or (len(known) < len(found) and not enough):
        return None
    result = known[0]
    for one in known[1:]:
        result = apply(op, result, one)
    return result


def _of_sum(expr: Apply, loops: Loops, *, upper: bool) -> Expr | None:
    """Variables are replaced one after the other, by the bound that their factor asks for."""
    terms = polynomial(expr)
    atoms = {atom for monomial in terms for atom in monomial if variables_of(atom)}
    for atom in sorted(atoms, key=repr):
        factor = _factor(terms, atom)
        if factor is None:
            return None
        inner = _bound(atom, loops, upper=upper is (factor > 0))
        if inner is None:
            return None
        terms = polynomial(substitute(from_polynomial(terms), {atom: inner}))
    return from_polynomial(terms)


def _factor(terms: dict[Monomial, int], atom: Expr) -> int | None:
    """The sign of what multiplies ``atom``: its coefficients, beside sizes, are of one sign."""
    signs = set()
    for monomial, coefficient in terms.items():
        if atom not in monomial:
            continue
        if monomial.count(atom) > 1 or any(variables_of(a) for a in monomial if a != atom):
            return None
        if not all(getattr(a, "axis", None) is not None for a in monomial if a != atom):
            return None
        signs.add(1 if coefficient > 0 else -1)
    return signs.pop() if len(signs) == 1 else None
