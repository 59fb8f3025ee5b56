"""Expressions keep what was asked of them; equality, order and copies are those of the values."""

from __future__ import annotations

import copy
import pickle

import pytest

from pypto.ir.expr import (
    Expr,
    Symbol,
    Variable,
    apply,
    const,
    forget_applied,
    order_of,
    polynomial,
    product,
    variables_of,
)

N, M = Symbol("n", 0, 0), Symbol("m", 1, 0)
I = Variable("i", 0)  # noqa: E741


def made() -> Expr:
    return apply("min", apply("mul", apply("add", N, 3), M), apply("floordiv", I, 4))


def test_equal_by_structure_with_and_without_what_is_kept() -> None:
    a = made()
    assert made() is a
    forget_applied()
    b = made()
    hash(a), order_of(a), variables_of(a), polynomial(a)
    assert a is not b and a == b and hash(a) == hash(b)
    assert order_of(a) == order_of(b) == ("Apply", repr(a))
    for other in (copy.copy(a), copy.deepcopy(a), pickle.loads(pickle.dumps(a))):
        assert other == a and hash(other) == hash(a) and variables_of(other) == {I}
    assert a != apply("max", *a.args) and I != Variable("i", 1)  # type: ignore[attr-defined]


def test_constants_are_equal_as_they_are_written() -> None:
    assert const(1) != const(True) and const(1) != const(1.0) and const(0.0) != const(-0.0)
    assert const(float("nan")) == const(float("nan")) and len({const(2), const(2)}) == 1


@pytest.mark.parametrize("factor", [0, 1, -3])
def test_products_with_a_number(factor: int) -> None:
    terms = polynomial(apply("add", apply("mul", N, M), 7))
    expected = {m: c * factor for m, c in terms.items() if factor}
    number = polynomial(const(factor))
    assert product(terms, number) == product(number, terms) == expected
    assert terms == {(M, N): 1, (): 7} or terms == {(N, M): 1, (): 7}
