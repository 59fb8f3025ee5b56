"""Every Python construct is either supported or refused by name, with a rewrite."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import libcst as cst
import pytest

from pypto.elaborate import expressions, statements
from pypto.elaborate.checking import check
from pypto.elaborate.document import language_page
from pypto.elaborate.parse import ParsedFunction, parse
from pypto.elaborate.positions import Positions
from pypto.elaborate.source import KernelSource
from pypto.elaborate.syntax import (
    EXPRESSIONS,
    FORMS,
    LAYOUT,
    NOT_SUPPORTED,
    OPERATORS,
    REFUSED,
    STATEMENTS,
    SUPPORTED,
    Construct,
)
from pypto.error import SourceText, UnsupportedSyntaxError
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
    rows = (*STATEMENTS, *EXPRESSIONS, *OPERATORS, *NOT_SUPPORTED)
    assert sum(len(row.nodes.split()) for row in rows) == len(SUPPORTED) + len(REFUSED)


def test_every_supported_statement_and_expression_has_a_meaning() -> None:
    known = {kind.__name__ for kind in (*statements.STATEMENTS, *expressions.EXPRESSIONS)}
    assert known <= SUPPORTED
    for kind in (cst.BaseSmallStatement, cst.BaseCompoundStatement, cst.BaseExpression):
        for name in SUPPORTED:
            node = getattr(cst, name, None)
            if node is not None and issubclass(node, kind) and not inspect.isabstract(node):
                assert name in known, name


def _tree(text: str) -> ParsedFunction:
    """The kernel ``k`` of ``text``, which this version of Python may not compile."""
    module = cst.parse_module(text)
    (node,) = module.body
    assert isinstance(node, cst.FunctionDef)
    positions = Positions(module)
    source = SourceText("k", "k.py", 1, tuple(text.splitlines()))
    return ParsedFunction(lambda: None, source, node, 0, positions, "")


MANAGER = """
class Manager:
    def __enter__(self): return self
    def __exit__(self, *error): pass
W = Manager()
"""


def _kernel(example: str) -> str:
    lines = "".join(f"    {line}\n" for line in example.split("\n"))
    return f"def k(x: T([8], FP32), o: T([8], FP32), n: int):\n{lines}    o[:] = x\n"


def _types_in(node: cst.CSTNode) -> set[str]:
    return {type(node).__name__}.union(*map(_types_in, node.children))


def _name(row: Construct) -> str:
    return row.nodes.split()[0]


@pytest.mark.parametrize("row", (*STATEMENTS, *EXPRESSIONS, *OPERATORS), ids=_name)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_supported_construct_has_a_working_example(shop: Workshop, row: Construct) -> None:
    text = _kernel(row.example)
    assert set(row.nodes.split()) <= _types_in(_tree(text).node)
    if row.missing:
        (diagnostic,) = shop.error(text, n=2).diagnostics
        assert diagnostic.message == row.message
        return
    assert "store o[" in shop.ir(MANAGER + text, n=2)


@pytest.mark.parametrize("row", (*NOT_SUPPORTED, *FORMS.values()), ids=_name)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_refused_construct_is_named(shop: Workshop, row: Construct) -> None:
    text = _kernel(row.example)
    try:
        tree = _tree(text)
    except cst.ParserSyntaxError:
        assert row.since > (3, 14), "newer than libcst"
        return
    assert set(row.nodes.split()) <= _types_in(tree.node)
    found = check(tree)
    assert (row.message, row.help) in [(d.message, d.help) for d in found]
    try:
        compile(text, "k.py", "exec")
    except SyntaxError:
        assert row.since > sys.version_info[:2] or _name(row) == "ImportStar"
        return
    error = shop.error(text, n=2)
    assert isinstance(error, UnsupportedSyntaxError)
    assert {d.message for d in error.diagnostics} == {d.message for d in found}
    assert len(found) == 1 + (_name(row) == "Await")
    for diagnostic in error.diagnostics:
        assert diagnostic.span is not None and diagnostic.span.line > 1 and diagnostic.help


def test_the_page_is_up_to_date() -> None:
    page = Path(__file__).parents[2] / "docs" / "language.md"
    assert page.read_text() == language_page(), (
        "write it anew: python -m pypto.elaborate.document > docs/language.md"
    )


def test_an_untaken_branch_is_only_syntax_checked(shop: Workshop) -> None:
    fine = body("if False:", "    nobody.knows(this)", "o[:] = x")
    assert "store o[:]" in shop.ir(fine)
    error = shop.error(body("if False:", "    import math", "o[:] = x"))
    assert [d.message for d in error.diagnostics] == ["a kernel cannot use an import"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
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
