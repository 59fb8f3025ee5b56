"""Lambdas that stand outside of kernels: their text is found by the positions in their code."""

from __future__ import annotations

import ast
import functools
import types
from collections.abc import Sequence

import libcst as cst

from pypto._recursion import deep_recursion
from pypto.elaborate.mangling import mangle
from pypto.elaborate.parse import ParsedFunction
from pypto.elaborate.positions import Positions
from pypto.elaborate.source import KernelSource, token_digest
from pypto.error import Diagnostic, ParserError, SourceText

__all__ = ["parse_lambda"]

_OPEN = "(\n"  # inside parentheses every column is allowed


def parse_lambda(source: KernelSource, label: str) -> ParsedFunction:
    """The tree of a lambda; raises ParserError where its text cannot be told."""
    source.require_text()
    source.require_fresh()
    assert source.lines is not None
    function = source.function
    with deep_recursion():
        found = _find(tuple(source.lines), function.__code__)
        if found is None:
            message = (
                f"the text of a lambda in line {function.__code__.co_firstlineno} is not found"
            )
            help = "write one lambda on a line, or a function: def name(...):"
            raise ParserError([Diagnostic(ParserError, "F00005", message, help=help)])
        text, column, segment = found
        module = cst.parse_module(f"{_OPEN}{' ' * column}{segment}\n)\n")
        node = _lambda_in(module)
        positions = Positions(module)
        mangle(node, function.__code__)
    first = function.__code__.co_firstlineno
    last = first + segment.count("\n")
    shown = tuple(line.rstrip("\r\n") for line in text[first - 1 : last])
    place = SourceText(label, source.filename, first, shown)
    digest = token_digest(["(", *segment.splitlines(), ")"])
    return ParsedFunction(function, place, node, 1, positions, digest)


def _lambda_in(module: cst.Module) -> cst.Lambda:
    (line,) = module.body
    assert isinstance(line, cst.SimpleStatementLine)
    (statement,) = line.body
    assert isinstance(statement, cst.Expr) and isinstance(statement.value, cst.Lambda)
    return statement.value


def _find(lines: tuple[str, ...], code: types.CodeType) -> tuple[Sequence[str], int, str] | None:
    """The lines, the column of ``lambda``, and the text of the expression ``code`` comes from."""
    nodes = [node for node in _lambdas(lines) if node.lineno == code.co_firstlineno]
    if len(nodes) > 1:
        places = {place for place in code.co_positions() if None not in place}
        nodes = [node for node in nodes if _place(node.body) in places]
    if len(nodes) != 1:
        return None
    (node,) = nodes
    segment = ast.get_source_segment("".join(lines), node)
    if segment is None:
        return None
    before = lines[node.lineno - 1].encode()[: node.col_offset]
    return lines, len(before.decode()), segment


@functools.lru_cache(maxsize=8)
def _lambdas(lines: tuple[str, ...]) -> tuple[ast.Lambda, ...]:
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError:
        return ()  # a notebook's cell with its magic commands
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.Lambda))


def _place(node: ast.expr) -> tuple[int | None, ...]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
