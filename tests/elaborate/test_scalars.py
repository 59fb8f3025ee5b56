"""Scalars: run-time arguments where their use allows, Python's meaning always."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto.ir.expr import Apply, Const, Expr, Symbol, apply
from pypto.ir.signature import CallSignature, ConstantSignature, ScalarSignature, TensorSignature
from pypto.ir.tensor import Compute
from tests.elaborate.support import Workshop

HEAD = "def k(x: T([pypto.DYNAMIC, 8], FP32), o: T([8], FP32), n: int, f: float):\n"


def value_of(expr: Expr, values: dict[str, Any]) -> Any:
    """``expr`` with these values for its symbols."""
    if isinstance(expr, Symbol):
        return values[expr.name]
    if isinstance(expr, Const):
        return expr.value
    assert isinstance(expr, Apply)
    if expr.op == "select":
        chosen = expr.args[1] if value_of(expr.args[0], values) else expr.args[2]
        return value_of(chosen, values)
    result = value_of(expr.args[0], values) if len(expr.args) == 1 else None
    if result is not None:
        return _const(apply(expr.op, result))
    total = value_of(expr.args[0], values)
    for arg in expr.args[1:]:
        total = _const(apply(expr.op, total, value_of(arg, values)))
    return total


def _const(expr: Expr) -> Any:
    assert isinstance(expr, Const)
    return expr.value


def scalar_of(shop: Workshop, expression: str, **values: object) -> tuple[Expr, frozenset[str]]:
    """The scalar that ``x + (expression)`` adds, and the parameters that were specialised."""
    made = shop.run(HEAD + f"    o[:] = pypto.sum(x, -1) + ({expression})\n", **values)
    (use,) = (s for s in made.kernel.body if isinstance(s, Compute) and s.op == "add")
    operand = use.args[1]
    assert isinstance(operand, Expr)
    return operand, made.specialised


RUN_TIME = {
    "n": "n",
    "n + 1": "n + 1",
    "2 * n - n": "n",
    "n // 2 + n % 3": "(n//2) + (n%3)",
    "-n": "n*-1",
    "n / 4": "n/4",
    "abs(n)": "abs(n)",
    "min(n, 3) + max([n, 4])": "max(n, 4) + min(n, 3)",
    "float(n) + f": "float(n) + f",
    "int(f)": "int(f)",
    "n ** 2": "n**2",
    "f ** n": "f**n",
    "~n": "(n*-1) + -1",
    "n if n > 3 else 7": "(n if (n > 3) else 7)",
    "n if 0 < n < 5 else 1": "(n if ((0 < n) and (n < 5)) else 1)",
    "(n or 3)": "(n if n else 3)",
    "(n and 3)": "(3 if n else n)",
    "x.shape[0] * 2": "x.shape[0]*2",
    "pypto.ceildiv(n, 4)": "((n*-1)//4)*-1",
    "pypto.min(n, 2)": "min(n, 2)",
    "len(x)": "x.shape[0]",
    "n if n in (1, 2) else 0": "(n if ((n == 1) or (n == 2)) else 0)",
    "n if not n == 1 else 0": "(n if not(n == 1) else 0)",
}


@pytest.mark.parametrize("expression", sorted(RUN_TIME))
def test_stays_at_run_time(shop: Workshop, expression: str) -> None:
    expr, specialised = scalar_of(shop, expression)
    assert str(expr) == RUN_TIME[expression]
    assert not specialised


SPECIALISED = {
    "[1, 2, 3][n]": ({"n"}, 3),
    "len(range(n))": ({"n"}, 2),
    "n << 2": ({"n"}, 8),
    "n & 3": ({"n"}, 2),
    "2 ** n": ({"n"}, 4),
    "round(f)": ({"f"}, 1),
    "int(f'{n}{f:.0f}')": ({"n", "f"}, 21),
    "max(n, f)": ({"n", "f"}, 2),
    "(1 if n else 'a')": ({"n"}, 1),
    "n.bit_length()": ({"n"}, 2),
}


@pytest.mark.parametrize("expression", sorted(SPECIALISED))
def test_specialised_where_python_needs_the_value(shop: Workshop, expression: str) -> None:
    names, value = SPECIALISED[expression]
    expr, specialised = scalar_of(shop, expression, n=2, f=1.25)
    assert specialised == names
    assert isinstance(expr, Const) and expr.value == value


def test_a_specialised_parameter_is_a_constant(shop: Workshop) -> None:
    made = shop.run(HEAD + "    o[:] = pypto.sum(x, -1) * f + [1, 2, 3][n]\n", n=2, f=1.5)
    kinds = [(p.name, p.kind, p.value) for p in made.kernel.params[2:]]
    assert kinds == [("n", "constant", 2), ("f", "float", None)]


def test_an_index_by_a_dynamic_size_is_refused(shop: Workshop) -> None:
    text = HEAD + "    [1, 2][x.shape[0]]\n    o[:] = pypto.sum(x, -1)\n"
    assert shop.message(text) == (
        "ErrCode: F00005  an index needs a value that is known at compile time\n"
        "  expected  a Python value\n"
        "  got       x.shape[0], which depends on the dynamic size x.shape[0]\n"
        "  --> k.py:4:12\n"
        "  3 | def k(x: T([pypto.DYNAMIC, 8], FP32), o: T([8], FP32), n: int, f: float):\n"
        "  4 |     [1, 2][x.shape[0]]\n"
        "    |            ^^^^^^^^^^\n"
        "  help: annotate that axis with a number or pypto.STATIC"
    )


def test_no_value_to_specialise_with(shop: Workshop) -> None:
    error = shop.error(HEAD + "    pypto.set_vec_tile_shapes(n)\n    o[:] = pypto.sum(x, -1)\n")
    (diagnostic,) = error.diagnostics
    assert diagnostic.message == "a tile size needs the value of 'n' at compile time"


def test_division_by_zero(shop: Workshop) -> None:
    error = shop.error(HEAD + "    a = n // 0\n    b = 1 % 0\n    o[:] = pypto.sum(x, -1)\n")
    assert [d.message for d in error.diagnostics] == [
        "ZeroDivisionError: division by zero",
        "ZeroDivisionError: integer modulo by zero",
    ]


def test_constants_of_every_kind(shop: Workshop) -> None:
    tensor = TensorSignature(*_fp32(8))
    names = shop.module("""
        def k(x, o, flag, name, sizes, n=3):
            assert flag is True and name == "a" and sizes[1] == 2.5 and isinstance_free
            o[:] = x * sizes[0] + n
        isinstance_free = True
        """)
    signature = CallSignature(
        ("x", "o", "flag", "name", "sizes", "n"),
        (
            tensor, tensor, ConstantSignature(True), ConstantSignature("a"),
            ConstantSignature((4, 2.5)), ScalarSignature("int", False),
        ),
        (0, 1),
    )  # fmt: skip
    made = shop.elaborate(names["k"], signature)
    assert [s.args[1:] for s in made.kernel.body if isinstance(s, Compute)] == [
        (Const(4, "int"),),
        (Symbol("n", 5, None, "int"),),
    ]


def _fp32(*sizes: int) -> tuple[Any, tuple[int, ...], tuple[None, ...]]:
    from pypto.ir.dtype import DataType

    return DataType.DT_FP32, sizes, (None,) * len(sizes)


LEAVES = st.sampled_from(["n", "f", "x.shape[0]", "1", "2", "-3", "0.5", "True", "7"])


def _combine(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.tuples(children, children)
    signs = st.sampled_from(["+", "-", "*", "//", "%", "/", "<", "<=", "==", "!=", "and", "or"])
    return st.one_of(
        st.builds(lambda p, s: f"({p[0]} {s} {p[1]})", pairs, signs),
        st.builds(lambda a: f"(not {a})", children),
        st.builds(lambda a: f"(-{a})", children),
        st.builds(lambda a: f"abs({a})", children),
        st.builds(lambda p: f"min({p[0]}, {p[1]})", pairs),
        st.builds(lambda a, b, c: f"({a} if {b} else {c})", children, children, children),
        st.builds(lambda a, b, c: f"({a} < {b} <= {c})", children, children, children),
    )


@given(
    expression=st.recursive(LEAVES, _combine, max_leaves=8),
    n=st.integers(-5, 5),
    f=st.sampled_from([-1.5, 0.0, 0.25, 3.0]),
    size=st.integers(1, 6),
)
@settings(max_examples=80, deadline=None, derandomize=True)
def test_scalar_code_means_what_python_means(
    tmp_path_factory: pytest.TempPathFactory, expression: str, n: int, f: float, size: int
) -> None:
    from pypto.error import PyptoError

    class Shaped:
        shape = (size, 8)

    shop = Workshop(tmp_path_factory.mktemp("scalars"))
    try:
        wanted = eval(expression, {"n": n, "f": f, "x": Shaped})
    except ZeroDivisionError:
        return  # what the launcher must report; constants are refused when compiled
    try:
        expr, _ = scalar_of(shop, expression, n=n, f=f)
    except PyptoError as error:
        # Not every expression of sizes has a run-time form; a refusal must say so.
        assert all(
            "known at compile time" in d.message or "ZeroDivisionError" in d.message
            for d in error.diagnostics
        ), error
        return
    got = value_of(expr, {"n": n, "f": f, "x.shape[0]": size})
    assert got == wanted and (type(got) is float) == (type(wanted) is float)
