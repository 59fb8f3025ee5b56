"""Bounds of integer expressions inside loops: what is proved, and that it is true."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto.ir.evaluation import evaluate
from pypto.ir.expr import Const, Expr, Symbol, Variable, apply, const
from pypto.ir.ranges import Ranges

N = Symbol("n", 0, 0)  # a size
P = Symbol("p", 1, None)  # a scalar argument
I = Variable("i", 0)  # noqa: E741
J = Variable("j", 1)


class Written:
    """Expressions with Python's operators."""

    def __init__(self, expr: Expr | int) -> None:
        self.expr = expr if isinstance(expr, Expr) else const(expr)

    def _with(self, op: str, other: Written | int, swapped: bool = False) -> Written:
        pair = (self.expr, other.expr if isinstance(other, Written) else const(other))
        return Written(apply(op, *(reversed(pair) if swapped else pair)))

    def __add__(self, other: Written | int) -> Written:
        return self._with("add", other)

    def __sub__(self, other: Written | int) -> Written:
        return self._with("sub", other)

    def __rsub__(self, other: int) -> Written:
        return self._with("sub", other, True)

    def __mul__(self, other: Written | int) -> Written:
        return self._with("mul", other)

    def __floordiv__(self, other: Written | int) -> Written:
        return self._with("floordiv", other)

    def __mod__(self, other: Written | int) -> Written:
        return self._with("mod", other)

    def min(self, other: Written | int) -> Written:
        return self._with("min", other)

    def max(self, other: Written | int) -> Written:
        return self._with("max", other)

    def __neg__(self) -> Written:
        return Written(apply("neg", self.expr))


n, p, i, j = Written(N), Written(P), Written(I), Written(J)


def inside(*loops: tuple[Variable, Written | int, Written | int, int]) -> Ranges:
    known = Ranges()
    for index, start, stop, step in loops:
        first, end = (b.expr if isinstance(b, Written) else const(b) for b in (start, stop))
        known = known.enter(index, first, end, const(step))
    return known


TILES = ((I, 0, n // 64, 1),)
PROVED = [
    (TILES, n - i * 64 - 64),
    (TILES, i),
    (((I, 0, n, 64),), n - i - 1),
    (((I, 0, 10, 1), (J, 0, i + 1, 1)), i - j),
    (((I, 0, 10, 1), (J, i, 10, 1)), j - i),
    (((I, 0, 10, 1), (J, i, 10, 1)), 9 - j),
    (((I, 9, -1, -1),), i),
    (((I, 9, -1, -1),), 9 - i),
    (((I, 0, 10, 4),), 8 - i),
    (((I, n - 1, -1, -1),), n - i - 1),
    (((I, 0, n, 1),), i * n),
    (((I, 0, n, 1), (J, 0, n, 1)), n * n - i * n - j - 1),
    (((I, 0, n // 4 * 4, 4),), n - i - 4),
    (((I, 0, n // 4 * 4, 4), (J, n // 4 * 4, n, 1)), j - i - 4),
    (((I, 0, n // 4 * 4, 4), (J, n // 4 * 4, n, 1)), j - i - 1 - (n - i).min(1).max(0)),
    (((I, n, n + p * 6, 3),), n + p * 6 - i - 3),
    (((I, n * 2, 0, -2),), i - 2),
    ((), n // 4),
    ((), n - n // 4 * 4),
    ((), n - n // 4),
    ((), n % 8),
    ((), p % 8),
    ((), 7 - p % 8),
    ((), n - n % 8),
    ((), -(-n // 8) * 8 - n),
    ((), n - (n - 8).min(n)),
    ((), (p - 3).max(0)),
    ((), n - p.min(n)),
    ((), 64 - n.min(64)),
]
OPEN = [
    ((((I, 0, -(-n // 64), 1)),), n - i * 64 - 64),
    ((), p),
    ((), n - 1),
    ((), p.min(3)),
    ((), n - p.max(3)),
    (((I, p, n, 1),), i),
    (((I, 0, n, 1),), n - i - 2),
    (((I, 0, n, 4),), n - i - 2),
    (((I, 1, n * 4, 4),), n * 4 - i - 4),
    ((), p // 4),
]


@pytest.mark.parametrize(("loops", "expr"), PROVED)
def test_proved(
    loops: tuple[tuple[Variable, Written | int, Written | int, int], ...], expr: Written
) -> None:
    assert inside(*loops).nonnegative(expr.expr)


@pytest.mark.parametrize(("loops", "expr"), OPEN)
def test_not_proved(
    loops: tuple[tuple[Variable, Written | int, Written | int, int], ...], expr: Written
) -> None:
    assert not inside(*loops).nonnegative(expr.expr)


def test_numbers() -> None:
    known = inside((I, 2, 20, 3))
    assert (known.lower(I), known.upper(I)) == (2, 17)
    assert known.upper(apply("mul", I, 2)) == 34
    assert known.lower(apply("sub", 5, I)) == -12
    assert known.upper(N) is None and known.lower(N) == 0
    assert known.upper(apply("min", N, 9)) == 9


def test_what_a_condition_says() -> None:
    known = Ranges().assume(apply("and", apply("gt", P, 0), apply("not", apply("gt", P, N))))
    assert known.nonnegative(apply("sub", P, 1))
    assert known.at_most(P, N)
    assert not known.at_most(N, P)
    assert Ranges().assume(apply("eq", P, N)).at_most(N, P)
    assert not Ranges().assume(apply("ne", P, N)).at_most(N, P)


def test_what_is_known_of_a_variable() -> None:
    known = Ranges().know(J, const(0), apply("sub", N, 1))
    assert known.nonnegative(J)
    assert known.at_most(apply("add", J, 1), N)


def test_nothing_is_proved_of_a_number_that_is_known() -> None:
    impossible = Ranges().assume(apply("lt", P, 3)).assume(apply("gt", P, 5))
    assert impossible.lower(const(-1)) == impossible.upper(const(-1)) == -1


def test_a_step_of_unknown_sign_says_nothing() -> None:
    assert Ranges().enter(I, const(0), N, P).lower(I) is None
    assert Ranges().enter(I, const(0), N, N).lower(I) == 0


_LEAVES = st.sampled_from([n, p, i, j, Written(2), Written(-3), Written(8)])
_EXPRESSIONS = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a - b, inner, inner),
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(lambda a, b: a.min(b), inner, inner),
        st.builds(lambda a, b: a.max(b), inner, inner),
        st.builds(lambda a, b: a // b, inner, st.sampled_from([1, 2, 5, -3])),
        st.builds(lambda a, b: a % b, inner, st.sampled_from([1, 2, 5, -3])),
    ),
    max_leaves=6,
)


def _filled(expr: Expr, values: dict[Variable, int]) -> Expr:
    """``expr`` with numbers for its variables."""
    if isinstance(expr, Variable):
        return const(values[expr])
    if isinstance(expr, Const | Symbol):
        return expr
    first, *rest = (_filled(a, values) for a in expr.args)  # type: ignore[attr-defined]
    if not rest:
        return apply(expr.op, first)  # type: ignore[attr-defined]
    for argument in rest:
        first = apply(expr.op, first, argument)  # type: ignore[attr-defined]
    return first


@settings(max_examples=300, deadline=None)
@given(
    expr=_EXPRESSIONS,
    first=st.sampled_from([0, 2, -1, n, p]),
    end=st.sampled_from([5, n, n // 2, p]),
    steps=st.tuples(st.sampled_from([1, 3, -2]), st.sampled_from([1, -1, 2])),
)
def test_bounds_are_true(
    expr: Written, first: Written | int, end: Written | int, steps: tuple[int, int]
) -> None:
    loops = ((I, first, end, steps[0]), (J, i, end, steps[1]))
    known = inside(*loops)
    least, greatest = known.lower(expr.expr), known.upper(expr.expr)
    for size, argument in itertools.product((0, 1, 4, 9), (-7, 0, 3)):

        def value(symbol: Symbol, size: int = size, argument: int = argument) -> int:
            return size if symbol == N else argument

        def number(bound: Written | int, values: dict[Variable, int]) -> int:
            made = bound.expr if isinstance(bound, Written) else const(bound)
            return int(evaluate(_filled(made, values), value))

        for a in range(number(first, {}), number(end, {}), steps[0]):
            for b in range(a, number(end, {}), steps[1]):
                found = evaluate(_filled(expr.expr, {I: a, J: b}), value)
                assert least is None or least <= found
                assert greatest is None or greatest >= found


def test_the_smaller_of_what_is_left_of_an_axis_and_of_less() -> None:
    """As in slices of an unrolled loop: which operand is enough depends on the other one."""
    part, later = Written(1).min(n), Written(1).min(n - 1).max(0)
    assert Ranges().at_most(later.expr, part.expr) and not Ranges().at_most(part.expr, later.expr)
