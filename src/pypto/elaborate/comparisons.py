"""Comparisons of known values, run-time scalars, tensors and objects, with Python's meaning."""

from __future__ import annotations

import dataclasses
import enum
import operator
from collections.abc import Callable
from typing import Any

import libcst as cst

from pypto.elaborate import values as v
from pypto.elaborate.arithmetic import (
    check_plain,
    is_list,
    operand,
    parts_of_list,
    tensor_operator,
    truth,
    unary,
)
from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.dunders import call_special_method, operator_method
from pypto.elaborate.iteration import iterate
from pypto.elaborate.machine import Frame
from pypto.elaborate.numerics import is_dtype
from pypto.elaborate.scalars import as_number, python_call
from pypto.elaborate.values import Item, Known, Mapping, Scalar, Sequence, is_tensor, scalar
from pypto.error import FeError, FeTypeError, Span
from pypto.ir.expr import Expr, apply

__all__ = ["compare"]

_COMPARE: dict[type, tuple[str, str, Callable[[Any, Any], bool]]] = {
    cst.LessThan: ("<", "lt", operator.lt),
    cst.LessThanEqual: ("<=", "le", operator.le),
    cst.GreaterThan: (">", "gt", operator.gt),
    cst.GreaterThanEqual: (">=", "ge", operator.ge),
    cst.Equal: ("==", "eq", operator.eq),
    cst.NotEqual: ("!=", "ne", operator.ne),
}


def compare(frame: Frame, sign: cst.BaseCompOp, a: Item, b: Item, node: cst.CSTNode) -> Item:
    """One link of a comparison; ``node`` is the place of an error."""
    span = frame.span(node)
    if isinstance(sign, cst.Is | cst.IsNot):
        return Known(_same(frame, a, b, span) is isinstance(sign, cst.Is))
    if isinstance(sign, cst.In | cst.NotIn):
        found = _contains(frame, b, a, node)
        if isinstance(sign, cst.In):
            return found
        return unary(frame, cst.Not, found, node)
    symbol, op, function = _COMPARE[type(sign)]
    by_method = operator_method(frame, symbol, a, b, span)
    if by_method is not None:
        return by_method
    if is_tensor(a) or is_tensor(b):
        return tensor_operator(frame, symbol, (a, b), node)
    left, right = operand(frame, a, span), operand(frame, b, span)
    if left is not None and right is not None and (isinstance(a, Scalar) or isinstance(b, Scalar)):
        return scalar(apply(op, as_number(left), as_number(right)))
    if isinstance(a, v.Instance) and isinstance(b, v.Instance) and symbol in ("==", "!="):
        a, b = _comparable(a, b, span)
    if isinstance(a, Sequence) or isinstance(b, Sequence):
        equal = _sequences_equal(frame, a, b, node)
        if equal is not None and symbol in ("==", "!="):
            return equal if symbol == "==" else unary(frame, cst.Not, equal, node)
    x, y = frame.python(a, span, "a comparison"), frame.python(b, span, "a comparison")
    described = all(isinstance(value, type) or is_dtype(value) for value in (x, y))
    if symbol not in ("==", "!=") or not described:
        check_plain(frame, f"the comparison {symbol}", span, (x, a), (y, b))
    return Known(python_call(function, span, x, y))


def _same(frame: Frame, a: Item, b: Item, span: Span) -> bool:
    if isinstance(a, Known) and isinstance(b, Known):
        x, y = frame.use(a, span), frame.use(b, span)
        identical = (type(None), bool, type(Ellipsis))
        if type(x) in identical or type(y) in identical:
            return x is y
        if isinstance(x, enum.Enum | type) or isinstance(y, enum.Enum | type):
            return x is y
        if is_dtype(x) or is_dtype(y):
            return x is y
    elif any(isinstance(item, Known) and item.value is None for item in (a, b)):
        return False
    elif (is_tensor(a) and is_tensor(b)) or isinstance(a, _MADE) or isinstance(b, _MADE):
        return a is b
    refuse(
        FeError,
        "'is' compares identities, which numbers and strings do not reliably have",
        span,
        help="write ==, or compare with None, True, False or an enum member",
    )


_MADE = (Mapping, v.Set, v.Instance, v.Closure)  # one object each, whatever names lead to it


def _comparable(a: v.Instance, b: v.Instance, span: Span) -> tuple[Item, Item]:
    """What the ``==`` of two objects compares."""
    equal = next(vars(base)["__eq__"] for base in a.cls.__mro__ if "__eq__" in vars(base))
    if equal is object.__eq__:
        return Known(a is b), Known(True)
    parameters = vars(a.cls).get("__dataclass_params__")
    if parameters is None or not parameters.eq or a.cls is not b.cls:
        refuse(
            FeTypeError, f"the == of the class {a.cls.__name__} runs its code", span,
            help="compare the attributes",
        )  # fmt: skip
    names = [f.name for f in dataclasses.fields(a.cls) if f.compare and f.name in a.fields]
    left = Sequence([a.fields[name] for name in names], False)
    return left, Sequence([b.fields[name] for name in names if name in b.fields], False)


def _contains(frame: Frame, container: Item, item: Item, node: cst.CSTNode) -> Item:
    span = frame.span(node)
    found = call_special_method(frame, container, "__contains__", [item], span)
    if found is not None:
        return found if isinstance(found, Scalar) else Known(truth(frame, found, span))
    if isinstance(container, Known) and isinstance(container.value, str):
        text = frame.python(item, span, "the operator in")
        return Known(python_call(operator.contains, span, frame.use(container, span), text))
    parts = iterate(frame, container, span)
    if parts is None:
        refuse(
            FeTypeError, "'in' needs a list, tuple, range, dict, set or string", span,
            got=v.describe(container),
        )  # fmt: skip
    conditions: list[Expr] = []
    for part in parts:
        equal = compare(frame, cst.Equal(), item, part, node)
        if isinstance(equal, Known) and equal.value:
            return Known(True)
        if isinstance(equal, Scalar):
            if isinstance(container, v.Cursor):  # where it stops is where it goes on later
                frame.need(equal, span, "'in' of an iterator")
            conditions.append(equal.expr)
    return _combine("or", conditions, False)


def _combine(op: str, conditions: list[Expr], empty: bool) -> Item:
    if not conditions:
        return Known(empty)
    result = conditions[0]
    for condition in conditions[1:]:
        result = apply(op, result, condition)
    return scalar(result)


def _sequences_equal(frame: Frame, a: Item, b: Item, node: cst.CSTNode) -> Item | None:
    left, right = (
        parts_of_list(frame, a, frame.span(node)),
        parts_of_list(frame, b, frame.span(node)),
    )
    if left is None or right is None:
        return Known(False)
    shape = any(isinstance(item, Sequence) and item.shape for item in (a, b))
    if len(left) != len(right) or (is_list(a) != is_list(b) and not shape):
        return Known(False)
    conditions: list[Expr] = []
    for x, y in zip(left, right, strict=True):
        equal = compare(frame, cst.Equal(), x, y, node)
        if isinstance(equal, Known):
            if not equal.value:
                return Known(False)
        elif isinstance(equal, Scalar):
            conditions.append(equal.expr)
    return _combine("and", conditions, True)
