"""Every Python construct is either supported or refused by name, with a rewrite."""

from __future__ import annotations

import inspect

import libcst as cst
import pytest

from pypto.elaborate.expressions import EXPRESSIONS
from pypto.elaborate.parse import parse
from pypto.elaborate.source import KernelSource
from pypto.elaborate.statements import STATEMENTS
from pypto.elaborate.syntax import LAYOUT, REFUSED, SUPPORTED, check
from pypto.error import UnsupportedSyntaxError
from tests.elaborate.support import Workshop, body


def _node_types() -> set[str]:
    """Concrete node types of libcst. ``BaseValueToken`` and the other bases hold no syntax."""
    found: set[str] = set()
    pending: list[type] = [cst.CSTNode]
    while pending:
        kind = pending.pop()
        pending += kind.__subclasses__()
        if kind.__module__.startswith("libcst._nodes") and not inspect.isabstract(kind):
            found.add(kind.__name__)
    return found - {"BaseValueToken"}


def test_every_node_type_is_in_exactly_one_table() -> None:
    tables = (set(SUPPORTED), set(REFUSED), set(LAYOUT) - {"BaseValueToken"})
    for index, table in enumerate(tables):
        for other in tables[index + 1 :]:
            assert not table & other
    assert set().union(*tables) == _node_types()


def test_every_supported_statement_and_expression_has_a_meaning() -> None:
    known = {kind.__name__ for kind in (*STATEMENTS, *EXPRESSIONS)}
    assert known <= SUPPORTED
    for kind in (cst.BaseSmallStatement, cst.BaseCompoundStatement, cst.BaseExpression):
        for name in SUPPORTED:
            node = getattr(cst, name, None)
            if node is not None and issubclass(node, kind) and not inspect.isabstract(node):
                assert name in known, name


SNIPPETS = {
    "Await": ["await x"],
    "ClassDef": ["class A: pass"],
    "Global": ["global N", "N = 3"],
    "Import": ["import math"],
    "ImportFrom": ["from math import pi"],
    "Match": ["match 1:", "    case 1: pass"],
    "Try": ["try:", "    pass", "except ValueError:", "    pass"],
    "TryStar": ["try:", "    pass", "except* ValueError:", "    pass"],
    "With": ["with x:", "    pass"],
    "Yield": ["yield x"],
}
INSIDE = {
    "Nonlocal": "stands in a nested function",
    "Asynchronous": "of an async function, for or with",
    "TypeAlias": "Python 3.12",
    "TemplatedString": "Python 3.14",
    "LazyImport": "Python 3.15",
    "LazyImportFrom": "Python 3.15",
    "StarredDictComp": "Python 3.15",
}


@pytest.mark.parametrize("name", sorted(SNIPPETS))
def test_refused_construct_is_named(shop: Workshop, name: str) -> None:
    lines = SNIPPETS[name]
    if name in ("Await", "Yield"):  # these make another kind of function of it
        text = ("async " if name == "Await" else "") + body(*lines, "o[:] = x")
        with pytest.raises(TypeError, match="function"):
            shop.run(text)
        return
    error = shop.error(body("o[:] = x", *lines))
    assert isinstance(error, UnsupportedSyntaxError)
    what, help = REFUSED[name]
    (diagnostic,) = error.diagnostics
    assert diagnostic.message == f"a kernel cannot use {what}"
    assert diagnostic.help == help
    assert diagnostic.span is not None and diagnostic.span.line == 3


def test_each_refused_statement_and_expression_has_a_snippet() -> None:
    parts = {
        name
        for name in REFUSED
        if not issubclass(
            getattr(cst, name),
            (cst.BaseSmallStatement, cst.BaseCompoundStatement, cst.BaseExpression),
        )
    }
    assert set(REFUSED) - parts == set(SNIPPETS) | (set(INSIDE) - {"Asynchronous"})


def test_an_untaken_branch_is_only_syntax_checked(shop: Workshop) -> None:
    fine = body("if False:", "    nobody.knows(this)", "o[:] = x")
    assert "store o[:]" in shop.ir(fine)
    error = shop.error(body("if False:", "    import math", "o[:] = x"))
    assert [d.message for d in error.diagnostics] == ["a kernel cannot use an import"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            ["@pypto.exp", "def f(t): return t"],
            "a kernel cannot use a decorator on a nested function",
        ),
        (["raise"], "a kernel cannot use a bare raise"),
        (["del x.y"], "a kernel can only delete names and items of lists and dicts"),
        (["return x"], "a kernel returns nothing"),
    ],
)
def test_refused_forms_of_supported_constructs(
    shop: Workshop, lines: list[str], message: str
) -> None:
    error = shop.error(body("o[:] = x", *lines))
    assert [d.message for d in error.diagnostics] == [message]
    assert isinstance(error, UnsupportedSyntaxError)


def test_star_parameters_are_refused(shop: Workshop) -> None:
    kernel = shop.module("def k(o, *parts, **named): o[:] = o + 1")["k"]
    found = check(parse(KernelSource.capture(kernel)))
    assert [d.message for d in found] == [
        "a kernel cannot take *parts",
        "a kernel cannot take **named",
    ]
