"""Running the body of a function in its caller's place: helpers, nested functions, lambdas."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import libcst as cst

from pypto.elaborate import values as v
from pypto.elaborate.branches import unless
from pypto.elaborate.diagnostics import Poisoned, refuse
from pypto.elaborate.exits import VALUE, LeftSignal, ReturnSignal, left
from pypto.elaborate.machine import Frame
from pypto.elaborate.statements import execute
from pypto.elaborate.values import Item, Known
from pypto.error import FeError, PyptoError, Span

__all__ = ["MAX_DEPTH", "check_depth", "run"]

MAX_DEPTH = 100
"""How often one function may stand in its own chain of calls."""

_SHOWN = 6
_CALL = 5  # steps of a loop that take as long as a call


def check_depth(frame: Frame, identity: object, name: str, span: Span) -> None:
    """Refuse recursion that no compile-time value ends, and more calls than a kernel may have."""
    frame.count(span, _CALL)
    if identity in frame.context.endless:
        raise Poisoned  # reported where it went too deep
    if len(frame.context.active.get(identity, ())) < MAX_DEPTH:
        return
    chain, caller = [name], cast("Frame | None", frame)
    while caller is not None:
        chain.append(caller.name)
        caller = caller.caller
    frame.context.endless.add(identity)
    shown = [*reversed(chain[-_SHOWN:]), "...", name] if len(chain) > _SHOWN else chain[::-1]
    refuse(
        FeError,
        f"'{name}' calls itself more than {MAX_DEPTH} levels deep",
        span,
        code="F00007",
        notes=(f"calls: {' -> '.join(shown)}",),
        help="calls are put in place while compiling: end them by a value that is known then, "
        "or write a loop",
    )


def run(inner: Frame, body: cst.CSTNode) -> Item:
    """The value that the function of ``inner`` returns."""
    active = inner.context.active.setdefault(inner.identity, [])
    active.append(inner.origin)
    span = inner.call_span or inner.span(body)
    try:
        if isinstance(body, cst.BaseExpression):
            return _lambda(inner, body)
        execute(inner, body)
    except ReturnSignal as signal:
        if inner.lost_return or isinstance(signal.item, v.Poison):
            raise Poisoned from None
        return signal.item
    except LeftSignal:
        return _returned(inner, span)
    finally:
        active.pop()
    away = left(inner, span)
    if inner.failed:
        raise Poisoned  # the statement that was left out might have returned a value
    if away is None:
        return Known(None)
    unless(inner, away, span, lambda: _return_none(inner))
    return _returned(inner, span)


def _return_none(inner: Frame) -> None:
    """The end of the function, where no return statement was reached."""
    inner.locals[VALUE] = Known(None)


def _returned(inner: Frame, span: Span) -> Item:
    """The value that return statements under run-time conditions have left."""
    item = inner.locals[VALUE]
    if isinstance(item, v.Deferred):
        item = item.settle(span)
    if isinstance(item, v.Poison):
        raise Poisoned
    return item


def _lambda(inner: Frame, body: cst.BaseExpression) -> Item:
    """The value of a lambda's body; errors say which call it was, as those of statements do."""
    try:
        return inner.evaluate(body)
    except PyptoError as error:
        note = inner.call_notes()[0]
        raise type(error)(
            [
                replace(d, notes=(*d.notes, note) if len(d.notes) < _SHOWN else d.notes)
                for d in error.diagnostics
            ]
        ) from None
