"""How control leaves a loop or function: at compile time by a signal, at run time by flags.

A ``break``, ``continue`` or ``return`` under a run-time condition sets a flag among the frame's
names, which branches merge as they merge other names. What follows runs only where none is set.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pypto.elaborate import values as v
from pypto.elaborate.machine import Frame
from pypto.elaborate.scalars import number
from pypto.elaborate.values import Deferred, Item, Known
from pypto.error import Span
from pypto.ir.expr import Const, Expr, apply, const

__all__ = [
    "BREAK", "CONTINUE", "RETURN", "VALUE", "BreakSignal", "ContinueSignal", "ExitSignal",
    "LeftSignal", "RaisedSignal", "ReturnSignal", "flag", "left", "loop_flags", "record",
]  # fmt: skip

BREAK, CONTINUE, RETURN, VALUE = "<break>", "<continue>", "<return>", "<value>"
"""Names of the flags, and of the value that is returned; no names of Python."""


class ExitSignal(Exception):
    """The statements that follow in the block are not reached."""


class BreakSignal(ExitSignal):
    pass


class ContinueSignal(ExitSignal):
    pass


class ReturnSignal(ExitSignal):
    """A return statement was reached; ``item`` is its value."""

    def __init__(self, item: Item) -> None:
        self.item = item
        super().__init__()


class LeftSignal(ExitSignal):
    """Control has left on every way here; the flags say how."""


class RaisedSignal(ExitSignal):
    """A raise statement was reached: a precondition says that no call gets here."""


@contextmanager
def loop_flags(frame: Frame) -> Iterator[None]:
    """In a loop, whose ``break`` and ``continue`` are not those of a loop around it."""
    outer = {name: frame.locals.pop(name) for name in (BREAK, CONTINUE) if name in frame.locals}
    try:
        yield
    finally:
        for name in (BREAK, CONTINUE):
            frame.locals.pop(name, None)
        frame.locals.update(outer)


def record(frame: Frame, signal: ExitSignal) -> None:
    """Note among the names of ``frame`` how control has left."""
    if isinstance(signal, BreakSignal):
        frame.locals[BREAK] = Known(True)
    elif isinstance(signal, ContinueSignal):
        frame.locals[CONTINUE] = Known(True)
    elif isinstance(signal, ReturnSignal):
        frame.locals[RETURN] = Known(True)
        frame.locals[VALUE] = signal.item


def flag(frame: Frame, name: str, span: Span) -> Expr:
    """Whether control has left in this way, a truth value."""
    item = frame.locals.get(name)
    if isinstance(item, Deferred):
        item = frame.locals[name] = item.settle(span)
    found = None if item is None or item is v.POISON else number(item)
    return const(False) if found is None else found


def left(frame: Frame, span: Span, *names: str) -> Expr | None:
    """Whether control has left in one of these ways; None when it certainly has not."""
    found: Expr | None = None
    for name in names or (BREAK, CONTINUE, RETURN):
        if name in frame.locals:
            one = flag(frame, name, span)
            if isinstance(one, Const) and not one.value:
                continue
            found = one if found is None else apply("or", found, one)
    return found
