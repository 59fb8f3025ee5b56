"""``with``: objects of users' classes that do something before and behind a block."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from pypto.elaborate import values as v
from pypto.elaborate.assignments import assign
from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.dunders import call_special_method, has_special_method
from pypto.elaborate.exits import ExitSignal, RaisedSignal
from pypto.elaborate.machine import Frame
from pypto.elaborate.values import Item, Known
from pypto.error import FeTypeError, Span

__all__ = ["with_statement"]


def with_statement(frame: Frame, node: cst.With, body: Callable[[], None], number: int = 0) -> None:
    """``with a as b, c: ...``; ``number``: of the item that is next, inside those before it."""
    if number == len(node.items):
        body()
        return
    part = node.items[number]
    span = frame.span(part.item)
    manager = frame.evaluate(part.item)
    _check(manager, span)
    entered = call_special_method(frame, manager, "__enter__", [], span)
    assert entered is not None
    if part.asname is not None:
        assign(frame, part.asname.name, entered, span)
    try:
        with_statement(frame, node, body, number + 1)
    except RaisedSignal:
        raise  # no call gets behind it
    except ExitSignal:
        _leave(frame, manager, span)
        raise
    _leave(frame, manager, span)  # however control has left at run time


def _leave(frame: Frame, manager: Item, span: Span) -> None:
    nothing: list[Item] = [Known(None)] * 3
    call_special_method(frame, manager, "__exit__", nothing, span)


def _check(manager: Item, span: Span) -> None:
    if has_special_method(manager, "__enter__") and has_special_method(manager, "__exit__"):
        return
    refuse(
        FeTypeError, "with needs an object whose class defines __enter__ and __exit__ in Python",
        span, got=v.describe(manager),
        help="set options by the decorator or by pypto.set_*_options(...)",
    )  # fmt: skip
