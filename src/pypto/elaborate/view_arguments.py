"""Arguments of functions that look at memory another way: tensors, numbers of axes, axes."""

from __future__ import annotations

from collections.abc import Sequence as Items

from pypto.elaborate import values as v
from pypto.elaborate.arithmetic import operand
from pypto.elaborate.diagnostics import Poisoned, refuse
from pypto.elaborate.iteration import items_of
from pypto.elaborate.machine import Frame
from pypto.elaborate.scalars import as_number
from pypto.elaborate.values import Item, Known
from pypto.error import (
    FeTypeError,
    FeValueError,
    ShapeError,
    Span,
)
from pypto.ir.expr import Expr

__all__ = ["LISTED", "axis_argument", "check_count", "numbers_argument", "tensor_argument"]

Argument = tuple[Item, Span]


def tensor_argument(argument: Argument, function: str) -> v.Tensor:
    item, span = argument
    if isinstance(item, v.Scalar) and item.element is not None:
        return item.element
    if isinstance(item, v.Poison):
        raise Poisoned
    if not v.is_tensor(item):
        refuse(FeTypeError, f"{function} takes a tensor", span, got=v.describe(item))
    return item


LISTED = "write its ints in brackets, one for each axis: [8, 64]"


def numbers_argument(frame: Frame, argument: Argument, what: str) -> list[Expr]:
    """A list of ints, known or not."""
    item, span = argument
    parts = None if v.is_tensor(item) else items_of(frame, item, span)
    if parts is None:
        refuse(
            FeTypeError, f"{what} is a list of ints", span, got=v.describe(item), help=LISTED
        )  # fmt: skip
    numbers = []
    for part in parts:
        expr = operand(frame, part, span)
        if expr is None or expr.kind == "float":
            refuse(
                FeTypeError, f"{what} is a list of ints", span, got=v.describe(part), help=LISTED
            )  # fmt: skip
        numbers.append(as_number(expr))
    return numbers


def check_count(found: Items[object], rank: int, what: str, span: Span) -> None:
    if len(found) != rank:
        refuse(
            ShapeError, f"{what} has one number for each axis of the tensor", span,
            expected=f"{rank} numbers", got=str(len(found)), help=LISTED,
        )  # fmt: skip


def axis_argument(frame: Frame, argument: Argument, rank: int, what: str) -> int:
    item, span = argument
    axis = frame.python(item, span, what)
    if type(axis) is not int or not -rank <= axis < rank:
        refuse(
            FeValueError, f"{what} is out of range", span, code="F00008",
            expected=f"an int of {-rank} … {rank - 1}", got=v.describe(Known(axis)),
            help="axes count from 0, or from the last one: -1",
        )  # fmt: skip
    return axis % rank
