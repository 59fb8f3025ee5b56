"""What is known about the values of integer expressions inside loops: bounds, and proofs from them.

A proof walks the expression as a polynomial and replaces what varies by the bound that makes it
smallest: a loop's index by its first or last value, ``a // b`` by ``a`` over ``b``, ``min`` and
``max`` by their operands. Sizes of tensors are 0 or more. "Not proved" says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pypto.ir.expr import (
    Apply,
    Expr,
    Monomial,
    Polynomial,
    Symbol,
    Variable,
    apply,
    as_int,
    const,
    order_of,
    polynomial,
    product,
    variables_of,
)

__all__ = ["Ranges"]

_Terms = frozenset[tuple[Monomial, int]]
_EFFORT = 64
"""Replacements in one proof; each makes the expression simpler, few expressions need ten."""


@dataclass(frozen=True, slots=True)
class _Bounds:
    """``least <= variable <= greatest``; None: nothing is known. ``place``: how many variables
    were known before this one; those of inner loops come last."""

    least: Expr | None
    greatest: Expr | None
    place: int = 0


_NOTHING = _Bounds(None, None)


@dataclass(slots=True)
class _Effort:
    left: int = _EFFORT


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """The loops around a place, and what else is known of variables there. Immutable.

    ``proved``: bounds from below that were asked for before; ``steps``: those found on the way.
    Shared with ranges that know of more variables: nothing is asked of a variable before it is
    known.
    """

    bounds: Mapping[Variable, _Bounds] = field(default_factory=dict)
    facts: tuple[Expr, ...] = ()  # expressions that are 0 or more
    proved: dict[Expr, int | None] = field(default_factory=dict, repr=False)
    steps: dict[_Terms, int | None] = field(default_factory=dict, repr=False)
    assumed: dict[Expr, Ranges] = field(default_factory=dict, repr=False)  # see `assume`

    def enter(self, index: Variable, start: Expr, stop: Expr, step: Expr) -> Ranges:
        """Inside a loop: its index is between ``start`` and what comes before ``stop``."""
        by = as_int(step)
        bounds = _NOTHING
        if by is None:
            if self.nonnegative(step):
                bounds = _Bounds(start, apply("sub", stop, 1))
        elif by > 0:
            bounds = _Bounds(start, _last(start, stop, by))
        elif by < 0:
            bounds = _Bounds(_last(start, stop, by), start)
        return self.know(index, bounds.least, bounds.greatest)

    def know(self, variable: Variable, least: Expr | None, greatest: Expr | None) -> Ranges:
        """With ``least <= variable <= greatest``."""
        bounds = _Bounds(least, greatest, len(self.bounds))
        return Ranges({**self.bounds, variable: bounds}, self.facts, self.proved, self.steps)

    def assume(self, condition: Expr) -> Ranges:
        """Where ``condition`` holds."""
        found = self.assumed.get(condition)  # what it has proved counts again
        if found is None:
            new = tuple(fact for fact in _facts(condition) if fact not in self.facts)
            found = Ranges(self.bounds, (*self.facts, *new)) if new else self
            self.assumed[condition] = found
        return found

    def branch(self, condition: Expr) -> Ranges:
        """On the side of a branch where ``condition`` holds. What never does is not assumed: it
        would prove anything of a side that never runs, also what other sides contradict."""
        possible = [fact for fact in _facts(condition) if (self.upper(fact) or 0) >= 0]
        new = tuple(fact for fact in possible if fact not in self.facts)
        return Ranges(self.bounds, (*self.facts, *new)) if new else self

    def nonnegative(self, expr: Expr) -> bool:
        """Whether ``expr`` is proved to be 0 or more."""
        least = self.lower(expr)
        return least is not None and least >= 0

    def at_most(self, a: Expr, b: Expr) -> bool:
        """Whether ``a <= b`` is proved."""
        return a == b or self.nonnegative(apply("sub", b, a))

    def lower(self, expr: Expr) -> int | None:
        """A number that ``expr`` is never below; None: none is proved."""
        if expr.kind != "int":
            return None
        known = as_int(expr)  # also where the facts contradict each other: nothing runs there
        if known is not None:
            return known
        if expr not in self.proved:  # the same slices come again and again
            self.proved[expr] = self._lowest(polynomial(expr), None)
        return self.proved[expr]

    def _lowest(self, terms: Polynomial, effort: _Effort | None) -> int | None:
        """A bound from below, by what is known of variables or by one of the facts."""
        found = self._lower(terms, effort or _Effort())
        if found is not None and found >= 0:
            return found
        for fact in self.facts:  # terms = fact + rest
            rest = self._lower(_minus(terms, polynomial(fact)), effort or _Effort())
            if rest is not None and (found is None or rest > found):
                found = rest
        return found

    def upper(self, expr: Expr) -> int | None:
        """A number that ``expr`` never exceeds; None: none is proved."""
        if expr.kind != "int":
            return None
        found = self.lower(apply("neg", expr))
        return None if found is None else -found

    # --- the proof ---

    def _lower(self, terms: Polynomial, effort: _Effort) -> int | None:
        asked = frozenset(terms.items())
        if asked in self.steps:
            return self.steps[asked]
        if effort.left <= 0:
            return None
        effort.left -= 1
        found = self._replaced(terms, effort)
        if effort.left > 0:  # else it was given up
            self.steps[asked] = found
        return found

    def _replaced(self, terms: Polynomial, effort: _Effort) -> int | None:
        """A bound from below by the bounds of one of the things that vary."""
        atom = self._next(terms)
        if atom is None:
            return self._sum(terms, effort)
        factor, rest = _split(terms, atom)
        sign = self._sign(factor, effort)
        if sign == 0:
            return None
        if isinstance(atom, Variable):
            return self._variable(atom, factor, rest, sign, effort)
        return self._applied(atom, factor, rest, sign, effort)

    def _next(self, terms: Polynomial) -> Variable | Apply | None:
        """What to replace first: the index of the innermost loop that is in no operation, then
        operations on indices, then others: bounds of indices may hold the same operations. Of
        these first the ones whose operands must all do: which operand of another one is enough
        may differ between them."""
        atoms = {atom for monomial in terms for atom in monomial if monomial.count(atom) == 1}
        applied = [a for a in atoms if isinstance(a, Apply) and a.op in _REPLACED]
        usable = [a for a in applied if a.op not in ("floordiv", "mod") or _divisor(a)]
        inside = set().union(*map(variables_of, usable))
        bounded = [a for a in atoms if isinstance(a, Variable) and self._knows(a)]
        free = [variable for variable in bounded if variable not in inside]
        if free:
            return max(free, key=lambda v: self.bounds[v].place)
        return min(usable, key=lambda a: _rank(a, terms), default=None)

    def _knows(self, variable: Variable) -> bool:
        bounds = self.bounds.get(variable, _NOTHING)
        return bounds.least is not None or bounds.greatest is not None

    def _sum(self, terms: Polynomial, effort: _Effort) -> int | None:
        """Every product of what is 0 or more is 0 or more."""
        total = 0
        for monomial, coefficient in terms.items():
            if not monomial:
                total += coefficient
            elif coefficient < 0 or not all(self._counts(atom, effort) for atom in monomial):
                return None
        return total

    def _counts(self, atom: Expr, effort: _Effort) -> bool:
        """Whether ``atom``, a factor of a product, is 0 or more."""
        if isinstance(atom, Symbol):
            return atom.axis is not None
        least = self.bounds.get(atom, _NOTHING).least if isinstance(atom, Variable) else None
        return least is not None and self._positive(polynomial(least), effort)

    def _sign(self, factor: Polynomial, effort: _Effort) -> int:
        """1: 0 or more; -1: 0 or less; 0: not known."""
        if set(factor) == {()}:
            return 1 if factor[()] > 0 else -1
        for sign in (1, -1):
            least = self._lower({m: c * sign for m, c in factor.items()}, effort)
            if least is not None and least >= 0:
                return sign
        return 0

    def _variable(
        self, atom: Variable, factor: Polynomial, rest: Polynomial, sign: int, effort: _Effort
    ) -> int | None:
        bounds = self.bounds[atom]
        bound = bounds.least if sign > 0 else bounds.greatest
        if bound is None:
            return None
        return self._lower(_plus(rest, product(factor, polynomial(bound))), effort)

    def _applied(
        self, atom: Apply, factor: Polynomial, rest: Polynomial, sign: int, effort: _Effort
    ) -> int | None:
        """``rest + factor * atom``, whose factor has this sign, from below."""
        if atom.op in ("floordiv", "mod"):
            return self._divided(atom, factor, rest, sign, effort)
        if atom.op == "select":
            return self._selected(atom, factor, rest, effort)
        if atom.op == "abs":
            options = [atom.args[0], apply("neg", atom.args[0])]
        else:
            options = list(atom.args)
        found = [
            self._lower(_plus(rest, product(factor, polynomial(option))), effort)
            for option in options
        ]
        known = [one for one in found if one is not None]
        if _one_is_enough(atom, sign):
            return max(known, default=None)
        return min(known) if len(known) == len(found) else None

    def _selected(
        self, atom: Apply, factor: Polynomial, rest: Polynomial, effort: _Effort
    ) -> int | None:
        """Either operand, where its condition holds."""
        condition, then, other = atom.args
        found = []
        for known, option in ((condition, then), (apply("not", condition), other)):
            terms = _plus(rest, product(factor, polynomial(option)))
            found.append(self.assume(known)._lowest(terms, effort))
        known_both = [one for one in found if one is not None]
        return min(known_both) if len(known_both) == 2 else None

    def _divided(
        self, atom: Apply, factor: Polynomial, rest: Polynomial, sign: int, effort: _Effort
    ) -> int | None:
        dividend, by = polynomial(atom.args[0]), _divisor(atom)
        if atom.op == "mod":
            # Between 0 and the divisor, and not above what is 0 or more.
            limits: list[Polynomial] = [{}] if sign > 0 else [{(): by - 1}, dividend]
            found = [self._lower(_plus(rest, product(factor, limit)), effort) for limit in limits]
            if sign < 0 and not self._positive(dividend, effort):
                found.pop()
            return max((one for one in found if one is not None), default=None)
        scaled = {m: c * by for m, c in rest.items()}
        limit = dividend if sign < 0 else _plus(dividend, {(): 1 - by})
        least = self._lower(_plus(scaled, product(factor, limit)), effort)
        found = [None if least is None else -(-least // by)]
        if sign > 0 and self._positive(dividend, effort):
            found.append(self._lower(rest, effort))
        return max((one for one in found if one is not None), default=None)

    def _positive(self, terms: Polynomial, effort: _Effort) -> bool:
        least = self._lower(terms, effort)
        return least is not None and least >= 0


def _rank(atom: Apply, terms: Polynomial) -> tuple[object, ...]:
    sign = terms.get((atom,), 0)
    return not variables_of(atom), _one_is_enough(atom, sign), order_of(atom)


def _one_is_enough(atom: Apply, sign: int) -> bool:
    """Whether one operand bounds ``sign * atom`` from below: of a maximum, or minus a minimum."""
    return (atom.op in ("max", "abs") and sign > 0) or (atom.op == "min" and sign < 0)


_REPLACED = ("min", "max", "abs", "select", "floordiv", "mod")


def _divisor(atom: Apply) -> int:
    """The constant positive divisor of a division; 0: it has none."""
    return max(as_int(atom.args[1]) or 0, 0)


def _last(start: Expr, stop: Expr, step: int) -> Expr:
    """A bound of the last index of a loop that runs at all."""
    first, end = as_int(start), as_int(stop)
    if first is not None and end is not None:
        return const(range(first, end, step)[-1] if range(first, end, step) else first)
    if all(factor % step == 0 for factor in polynomial(apply("sub", stop, start)).values()):
        return apply("sub", stop, step)
    return apply("sub" if step > 0 else "add", stop, 1)


def _facts(condition: Expr) -> Iterator[Expr]:
    """Expressions that are 0 or more where ``condition`` holds."""
    if not isinstance(condition, Apply):
        return
    if condition.op == "and":
        for part in condition.args:
            yield from _facts(part)
    elif condition.op == "not" and isinstance(condition.args[0], Apply):
        opposite = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "ne": "eq"}
        inner = condition.args[0]
        if inner.op in opposite:
            yield from _facts(Apply(opposite[inner.op], inner.args, "bool"))
        elif inner.op == "or":
            for part in inner.args:
                yield from _facts(apply("not", part))
    elif condition.op in _DIFFERENCE and all(a.kind == "int" for a in condition.args):
        a, b = condition.args
        for sign, less in _DIFFERENCE[condition.op]:
            first, second = (a, b) if sign > 0 else (b, a)
            yield apply("sub", apply("sub", first, second), less)


# a op b says that sign * (a - b) - less is 0 or more.
_DIFFERENCE: dict[str, tuple[tuple[int, int], ...]] = {
    "ge": ((1, 0),),
    "gt": ((1, 1),),
    "le": ((-1, 0),),
    "lt": ((-1, 1),),
    "eq": ((1, 0), (-1, 0)),
}


# --- polynomials ---


def _split(terms: Polynomial, atom: Expr) -> tuple[Polynomial, Polynomial]:
    """``factor`` and ``rest`` of ``terms`` = ``factor * atom + rest``; higher powers stay."""
    factor: Polynomial = {}
    rest: Polynomial = {}
    for monomial, coefficient in terms.items():
        if monomial.count(atom) == 1:
            factor[_without(monomial, atom)] = coefficient
        else:
            rest[monomial] = coefficient
    return factor, rest


def _without(monomial: Monomial, atom: Expr) -> Monomial:
    at = monomial.index(atom)
    return monomial[:at] + monomial[at + 1 :]


def _plus(a: Polynomial, b: Polynomial) -> Polynomial:
    return _scaled_sum(a, b, 1)


def _minus(a: Polynomial, b: Polynomial) -> Polynomial:
    return _scaled_sum(a, b, -1)


def _scaled_sum(a: Polynomial, b: Polynomial, factor: int) -> Polynomial:
    total = dict(a)
    for monomial, coefficient in b.items():
        value = total.get(monomial, 0) + factor * coefficient
        if value:
            total[monomial] = value
        else:
            total.pop(monomial, None)
    return total
