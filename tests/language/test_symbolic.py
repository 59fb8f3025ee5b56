"""``SymbolicScalar``: Python's integers, known or not."""

from __future__ import annotations

import operator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pypto
from pypto import SymbolicScalar
from pypto.error import FeTypeError, FeValueError
from pypto.ir.expr import Symbol

INTS = st.integers(-1000, 1000)
n = SymbolicScalar("n")

_BINARY: dict[str, Any] = {
    name: getattr(operator, name) for name in "add sub mul floordiv mod lt le gt ge eq ne".split()
}


@pytest.mark.parametrize("name", _BINARY)
@given(a=INTS, b=INTS)
def test_known_values_compute_as_python_does(name: str, a: int, b: int) -> None:
    op = _BINARY[name]
    if b == 0 and name in ("floordiv", "mod"):
        with pytest.raises(FeValueError, match="division of a symbolic scalar by zero"):
            op(SymbolicScalar(a), b)
        return
    expected = int(op(a, b))
    for left, right in ((SymbolicScalar(a), b), (a, SymbolicScalar(b)), (SymbolicScalar(a),
                        SymbolicScalar(b))):  # fmt: skip
        found = op(left, right)
        assert isinstance(found, SymbolicScalar) and found.is_immediate()
        assert found.concrete() == expected and str(found) == str(expected)


@given(a=INTS, b=INTS, c=INTS)
def test_symbols_keep_a_normal_form(a: int, b: int, c: int) -> None:
    left = (n + a) * b - n * b + c
    assert int(left) == a * b + c


def test_true_division_is_floor_division() -> None:
    assert int(SymbolicScalar(-7) / 2) == int(SymbolicScalar(-7) // 2) == -4
    assert int(-7 / SymbolicScalar(2)) == -4
    assert int(SymbolicScalar(-7) % 4) == 1


def test_logic() -> None:
    zero, one = SymbolicScalar(0), SymbolicScalar(5)
    assert [int(v) for v in (zero & one, zero | one, ~zero, ~one, 1 & one, 0 | zero)] == [
        0, 1, 1, 0, 1, 0,
    ]  # fmt: skip
    assert bool(one) and not zero
    assert str(n < 4) == "n < 4" and (n < 4).is_expression()


def test_kinds() -> None:
    three, known = SymbolicScalar(3), SymbolicScalar("k", 3)
    assert three.is_immediate() and three.is_concrete() and not three.is_symbol()
    assert n.is_symbol() and not n.is_concrete() and not n.is_expression() and n.name == "n"
    assert known.is_symbol() and known.is_concrete() and not known.is_immediate()
    assert str(known) == "k" and int(known + 1) == 4
    assert (n + 1).is_expression() and (n + 1).name is None
    assert repr(n) == "SymbolicScalar('n')" and repr(n + 1) == "SymbolicScalar(n + 1)"
    assert repr(known) == "SymbolicScalar('k', 3)"
    assert SymbolicScalar().concrete() == 0
    assert SymbolicScalar(n).name == "n"
    assert isinstance(pypto.frontend.dynamic("n").expr, Symbol)
    assert pypto.symbolic_scalar is SymbolicScalar


def test_min_max_select_check() -> None:
    assert int(SymbolicScalar(3).min(5)) == 3 and int(SymbolicScalar(3).max(5)) == 5
    assert str(n.min(2)) == "min(n, 2)"
    assert int(pypto.min(3, 4)) == 3 and int(pypto.max(3, SymbolicScalar(4))) == 4
    assert int(SymbolicScalar.tenary(SymbolicScalar(0), 1, 2)) == 2
    assert str(SymbolicScalar.tenary(n > 1, 1, n)) == "(1 if (n > 1) else n)"
    status = pypto.SatStatus
    assert SymbolicScalar.check([SymbolicScalar(1) > 0]) is status.SAT
    assert SymbolicScalar.check([n > 0, SymbolicScalar(0)]) is status.UNSAT
    assert SymbolicScalar.check([n > 0]) is status.UNKNOWN
    assert int(pypto.ceildiv(SymbolicScalar(7), 2)) == 4 and pypto.ceildiv(-7, 2) == -3


def test_unknown_values() -> None:
    with pytest.raises(FeValueError) as caught:
        int(n + 1)
    assert str(caught.value) == (
        "ErrCode: F00002  the value of 'n + 1' is not known before the kernel is launched\n"
        "  help: a Python value is needed here; pass it as a plain int"
    )
    for use in (lambda: bool(n > 3), lambda: range(n), lambda: [1, 2][n]):
        with pytest.raises(FeValueError):
            use()
    with pytest.raises(TypeError):
        hash(n)


@pytest.mark.parametrize("value", [1.5, None, "two words", b"n", [1]])
def test_refused(value: Any) -> None:
    with pytest.raises((FeTypeError, FeValueError)):
        SymbolicScalar(value)
    if not isinstance(value, str):
        with pytest.raises(FeTypeError, match="combined with integers only"):
            _ = n + value


def test_a_value_needs_a_name() -> None:
    with pytest.raises(FeTypeError, match="a value can only be given to a name"):
        SymbolicScalar(3, 4)
    with pytest.raises(FeTypeError, match="given by its name"):
        pypto.frontend.dynamic(3)  # type: ignore[arg-type]
