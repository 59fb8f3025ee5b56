"""Refused constructs of a function, found before anything is evaluated."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from pypto.elaborate.names import normal
from pypto.elaborate.parse import ParsedFunction, children
from pypto.elaborate.syntax import FORMS, LAYOUT, REFUSED
from pypto.error import Diagnostic, ParserError, UnsupportedSyntaxError

__all__ = ["check"]


def check(function: ParsedFunction, *, helper: bool = False) -> list[Diagnostic]:
    """Every refused construct in the body of ``function``, a kernel or a helper.

    A refused construct is reported once, without what stands inside it.
    """
    found = [] if helper else list(_head(function))
    stack: list[cst.CSTNode] = [function.node.body]
    while stack:
        node = stack.pop()
        name = type(node).__name__
        refused = REFUSED.get(name)
        if refused is not None:
            found.append(_unsupported(refused.message, function, node, refused.help))
            continue
        if type(node) is cst.Raise and node.exc is None:
            found.append(_unsupported(FORMS["raise"].message, function, node, FORMS["raise"].help))
        stack += [child for child in children(node) if type(child).__name__ not in LAYOUT]
    return found


def _unsupported(
    message: str, function: ParsedFunction, node: cst.CSTNode, help: str
) -> Diagnostic:
    span = function.span(node)
    return Diagnostic(UnsupportedSyntaxError, "F00005", message, span, help=help)


def _head(function: ParsedFunction) -> Iterator[Diagnostic]:
    """Parameters that no call could fill one by one."""
    parameters = function.node.params
    for param, sign in ((parameters.star_arg, "*"), (parameters.star_kwarg, "**")):
        if isinstance(param, cst.Param):
            help = "list the parameters one by one, or pass a tuple or dict of constants"
            message = f"a kernel cannot take {sign}{normal(param.name.value)}"
            yield _unsupported(message, function, param.name, help)
    if isinstance(function.node, cst.FunctionDef) and function.node.asynchronous is not None:
        yield Diagnostic(
            ParserError, "F00005", "an async function is no kernel", function.head,
            help="write def, not async def",
        )  # fmt: skip
