"""Where the nodes of a libcst tree stand in its text.

The same places as those of ``libcst.metadata.PositionProvider``, in a third of the time: a tree is
printed once, and what is noted for each node is how far the text had come; lines and columns are
counted for those nodes alone that are asked for.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import libcst as cst

__all__ = ["Place", "Positions"]

Place: TypeAlias = tuple[int, int, int, int]  # line, column, end line, end column

_LINE_END = re.compile(r"\r\n?|\n")


class Positions:
    """The places of all nodes of ``module``. Lines are counted from 1, columns from 0."""

    def __init__(self, module: cst.Module) -> None:
        printing = _Printing(module.default_indent, module.default_newline)
        module._codegen(printing)  # type: ignore[arg-type]  # what it calls is all there
        self._ranges = printing.ranges
        self._module = module  # whose nodes are told apart by their ids, which others must not get
        self._lines = printing.lines
        self._found: dict[cst.CSTNode, Place] = {}

    def __getitem__(self, node: cst.CSTNode) -> Place:
        found = self._found.get(node)
        if found is None:
            start, end = self._ranges[id(node)]
            found = self._found[node] = (*self._at(start), *self._at(end))
        return found

    def _at(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1]


@dataclass(slots=True)
class _Printing:
    """What libcst prints a tree to; keeps how far the text is, and no text."""

    default_indent: str
    default_newline: str
    at: int = 0
    lines: list[int] = field(default_factory=lambda: [0])  # where they start
    ranges: dict[int, tuple[int, int]] = field(default_factory=dict)  # by a node's id
    starts: list[int] = field(default_factory=list)  # of the nodes that are being printed
    indents: list[str] = field(default_factory=list)
    tokens: tuple[str, ...] = ("",)  # libcst asks whether there are any

    def increase_indent(self, value: str) -> None:
        self.indents.append(value)

    def decrease_indent(self) -> None:
        self.indents.pop()

    def add_indent_tokens(self) -> None:
        for indent in self.indents:
            self.at += len(indent)

    def add_token(self, value: str) -> None:
        if "\n" in value or "\r" in value:
            self.lines += (self.at + end.end() for end in _LINE_END.finditer(value))
        self.at += len(value)

    def pop_trailing_newline(self) -> None:
        """At the end of the text: no node ends behind it."""

    def before_codegen(self, node: cst.CSTNode) -> None:
        self.starts.append(self.at)

    def after_codegen(self, node: cst.CSTNode) -> None:
        start = self.starts.pop()
        # One that is there has said where it is without its white space.
        self.ranges.setdefault(id(node), (start, self.at))

    def record_syntactic_position(
        self,
        node: cst.CSTNode,
        *,
        start_node: cst.CSTNode | None = None,
        end_node: cst.CSTNode | None = None,
    ) -> _Syntactic:
        return _Syntactic(self, node, start_node, end_node, self.at)


@dataclass(slots=True)
class _Syntactic:
    """While the part of ``node`` is printed that is no white space around it."""

    printing: _Printing
    node: cst.CSTNode
    start_node: cst.CSTNode | None
    end_node: cst.CSTNode | None
    start: int

    def __enter__(self) -> None:
        """Nothing is left to do: the start is known."""

    def __exit__(self, *_: Any) -> None:
        ranges = self.printing.ranges
        start = self.start if self.start_node is None else ranges[id(self.start_node)][0]
        end = self.printing.at if self.end_node is None else ranges[id(self.end_node)][1]
        ranges[id(self.node)] = (start, end)
