"""``del``: of names, and of items of lists and dicts made in the kernel."""

from __future__ import annotations

import operator

import libcst as cst

from pypto.elaborate import values as v
from pypto.elaborate.containers import refuse_outside, refuse_shape_change
from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.machine import Frame, identifier
from pypto.elaborate.mutation import check_change
from pypto.elaborate.scalars import python_call
from pypto.elaborate.subscripts import key_of
from pypto.elaborate.values import Known, Mapping, Sequence
from pypto.error import FeTypeError, UnsupportedSyntaxError

__all__ = ["delete"]


def delete(frame: Frame, node: cst.Del) -> None:
    """``del name``, ``del items[key]``, and several of these."""
    _delete(frame, node.target)


def _delete(frame: Frame, target: cst.CSTNode) -> None:
    if isinstance(target, cst.Tuple | cst.List):
        for element in target.elements:
            _delete(frame, element.value)
    elif isinstance(target, cst.Name):
        frame.evaluate(target)
        frame.locals.pop(identifier(target), None)
    elif isinstance(target, cst.Subscript):
        _delete_item(frame, target)
    else:
        refuse(
            UnsupportedSyntaxError,
            "a kernel can only delete names and items of lists and dicts",
            frame.span(target),
            help="keep the value in a name of its own: del name",
        )


def _delete_item(frame: Frame, target: cst.Subscript) -> None:
    owner = frame.evaluate(target.value)
    span = frame.span(target)
    if isinstance(owner, Mapping) or (isinstance(owner, Sequence) and owner.mutable):
        if isinstance(owner, Sequence) and owner.shape:
            refuse_shape_change(span)
        check_change(frame, owner, span, places_too=True)
        python_call(operator.delitem, span, owner.items, key_of(frame, target))
        return
    if isinstance(owner, Known) and owner.origin is not None:
        refuse_outside(owner.origin, span)
    refuse(
        FeTypeError, f"items of {v.describe(owner)} cannot be deleted", span,
        expected="a list or dict made in the kernel",
    )  # fmt: skip
