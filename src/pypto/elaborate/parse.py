"""From captured text to a libcst tree whose every node knows its exact place."""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import libcst as cst

from pypto._recursion import deep_recursion
from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.mangling import mangle
from pypto.elaborate.positions import Positions
from pypto.elaborate.source import KernelSource
from pypto.error import Diagnostic, ParserError, SourceText, Span

__all__ = ["ParsedFunction", "children", "parse"]

_WRAPPER = "if True:\n"


@dataclass(frozen=True, slots=True, eq=False)
class ParsedFunction:
    """A function, its tree, and positions of the tree's nodes relative to the line of ``def``."""

    function: types.FunctionType
    text: SourceText
    node: cst.FunctionDef | cst.Lambda
    shift: int
    positions: Positions
    digest: str

    def span(self, node: cst.CSTNode) -> Span:
        """Where ``node`` stands."""
        line, column, end_line, end_column = self.positions[node]
        return Span(self.text, line - self.shift, column, end_line - self.shift, end_column)

    def between(self, first: cst.CSTNode, last: cst.CSTNode) -> Span:
        """From the start of ``first`` to the end of ``last``."""
        a, b = self.span(first), self.span(last)
        return Span(self.text, a.line, a.column, b.end_line, b.end_column)

    @property
    def head(self) -> Span:
        """``def name``; a lambda as a whole."""
        if isinstance(self.node, cst.Lambda):
            return self.span(self.node)
        name = self.span(self.node.name)
        start = self.span(self.node)
        return Span(self.text, start.line, start.column, name.end_line, name.end_column)


def children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes directly below ``node``, in order; white space and punctuation left out.

    libcst's own ``children`` rebuilds the node to find them, which takes longer than parsing.
    """
    for name in _fields(type(node)):
        value = getattr(node, name)
        if _is_node(value.__class__):
            yield value
        elif isinstance(value, list | tuple):
            yield from (item for item in value if _is_node(item.__class__))


_LAYOUT_FIELDS = frozenset(
    {
        "lpar", "rpar", "lbracket", "rbracket", "lbrace", "rbrace", "leading_lines",
        "leading_whitespace", "lines_after_decorators", "trailing_whitespace", "header", "footer",
        "comma", "trailing_comma", "semicolon", "colon", "first_colon", "second_colon", "dot",
        "equal", "separator",
    }
)  # fmt: skip


@functools.cache
def _is_node(kind: Any) -> bool:
    """``isinstance`` of libcst's abstract classes takes longer than all else here."""
    return issubclass(kind, cst.CSTNode)


@functools.cache
def _fields(kind: Any) -> tuple[str, ...]:
    names = [field.name for field in dataclasses.fields(kind)]
    return tuple(n for n in names if n not in _LAYOUT_FIELDS and not n.startswith("whitespace"))


def parse(source: KernelSource, label: str | None = None) -> ParsedFunction:
    """Parse the text of ``source``; raises ParserError when it cannot be read."""
    text, digest = source.text_and_digest(label)
    first = text.lines[0]
    # An indented function is read inside an `if`, so that its columns stay what they are.
    shift = 1 if first.lstrip("\f")[:1] in (" ", "\t") else 0
    code = (_WRAPPER if shift else "") + "\n".join(text.lines) + "\n"
    with deep_recursion():
        try:
            module = cst.parse_module(code)
        except cst.ParserSyntaxError as error:
            line = max(1, error.raw_line - shift)
            column = max(0, error.raw_column - 1)
            refuse(
                ParserError,
                f"the text of '{text.label}' cannot be parsed",
                Span(text, line, column, line, column + 1),
                help="this version of libcst may not know this syntax",
            )
        node = _definition(module)
        if node is None:
            raise ParserError(
                [Diagnostic(ParserError, "F00005", f"no function found in '{text.label}'")]
            )
        positions = Positions(module)
        mangle(node, source.function.__code__)
    return ParsedFunction(source.function, text, node, shift, positions, digest)


def _definition(module: cst.Module) -> cst.FunctionDef | None:
    body: Sequence[cst.BaseStatement] | Sequence[cst.BaseSmallStatement] = module.body
    if len(body) == 1 and isinstance(body[0], cst.If):
        inner = body[0].body
        body = inner.body if isinstance(inner, cst.IndentedBlock) else ()
    for statement in body:
        if isinstance(statement, cst.FunctionDef):
            return statement
    return None
