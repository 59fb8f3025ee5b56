"""``assert`` and ``raise``: the author of a kernel refuses calls.

What is known at compile time is an error then; what is known when the kernel is launched becomes a
precondition of the calls that get there. What only the running kernel knows cannot be refused.
"""

from __future__ import annotations

from typing import NoReturn

import libcst as cst

from pypto.elaborate import values as v
from pypto.elaborate.arithmetic import truth
from pypto.elaborate.branches import as_condition
from pypto.elaborate.diagnostics import Poisoned, refuse
from pypto.elaborate.exits import RaisedSignal
from pypto.elaborate.machine import Frame
from pypto.elaborate.values import Known, Scalar
from pypto.error import FeError, FeNotImplementedError, FeTypeError, FeValueError, Span
from pypto.ir.expr import Expr, variables_of

__all__ = ["assert_statement", "raise_statement"]

_RAISED: tuple[tuple[type[BaseException], type[FeError]], ...] = (
    (NotImplementedError, FeNotImplementedError),
    (TypeError, FeTypeError),
    (ValueError, FeValueError),
)


def assert_statement(frame: Frame, node: cst.Assert) -> None:
    test = frame.evaluate(node.test)
    span = frame.span(node.test)
    text = span.text()
    given = frame.known(node.msg, "the message of an assertion") if node.msg is not None else None
    if isinstance(test, Scalar):
        message = str(given) if node.msg is not None else f"assert {text}"
        condition = as_condition(test.expr)
        if not frame.context.builder.promise(condition, message, span):
            _refuse_device(frame, "an assertion", condition, span)
    elif not truth(frame, test, span):
        detail = f": {given}" if node.msg is not None else ""
        message = f"the assertion '{text}' does not hold{detail}"
        _stop(frame, FeValueError, message, span, None, "an assertion")


def raise_statement(frame: Frame, node: cst.Raise) -> None:
    if node.exc is None:
        raise Poisoned
    raised, words = node.exc, ""
    if isinstance(raised, cst.Call):
        parts = [str(frame.known(arg.value, "the message of an error")) for arg in raised.args]
        words = ", ".join(parts)
        raised = raised.func
    item = frame.evaluate(raised)
    span = frame.span(node)
    kind = item.value if isinstance(item, Known) else None
    if not isinstance(kind, type) or not issubclass(kind, BaseException):
        refuse(FeTypeError, "only an exception class can be raised", span, got=v.describe(item))
    cls = next((ours for theirs, ours in _RAISED if issubclass(kind, theirs)), FeError)
    code = "F00007" if cls is FeError else None
    message = f"{kind.__name__}: {words}" if words else kind.__name__
    _stop(frame, cls, message, span, code, "a raise")


def _stop(
    frame: Frame, cls: type[FeError], message: str, span: Span, code: str | None, what: str
) -> NoReturn:
    """No call gets past here: an error now, or a precondition of those that would."""
    builder = frame.context.builder
    path = [*builder.block.path()]
    if not path:
        refuse(cls, message, span, code=code)
    if not builder.refuse_here(message, span):
        _refuse_device(frame, what, next(filter(variables_of, path)), span)
    raise RaisedSignal


def _refuse_device(frame: Frame, what: str, condition: Expr, span: Span) -> NoReturn:
    """Whether the kernel gets here, or whether the condition holds, only the device knows."""
    builder = frame.context.builder
    unknown = next((one for one in builder.block.path() if variables_of(one)), condition)
    variable = min(variables_of(unknown), key=lambda one: one.id)
    origin, place = builder.origins[variable]
    refuse(
        FeNotImplementedError,
        f"{what} on values that only the running kernel knows is not available",
        span,
        expected="a condition on sizes and scalar arguments, and no other conditions around it",
        got=str(unknown),
        notes=(f"'{variable}' is {origin} at {place.location}",),
        help="check the values before the call, or write what went wrong into an output",
    )
