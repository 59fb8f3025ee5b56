"""``target += value`` and the like: in place where Python and torch change the object itself.

Tensors that are memory are written, lists, dicts and sets made in the kernel are changed, whatever
names and items lead to them. Everything else gives the target a new value. The target is evaluated
once.
"""

from __future__ import annotations

from typing import Any, NoReturn

import libcst as cst

from pypto.elaborate import values as v
from pypto.elaborate.arithmetic import BINARY, binary
from pypto.elaborate.assignments import assign, store, store_attribute
from pypto.elaborate.attributes import attribute
from pypto.elaborate.captures import whole_text
from pypto.elaborate.containers import change_set
from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.dunders import operator_method
from pypto.elaborate.iteration import MAX_LENGTH, items_of
from pypto.elaborate.machine import Frame, Replaced, identifier
from pypto.elaborate.methods import refuse_shape_change
from pypto.elaborate.mutation import check_change
from pypto.elaborate.scalars import dict_of
from pypto.elaborate.subscripts import element, key_behind
from pypto.elaborate.tensors import write
from pypto.elaborate.values import Item, Known, Mapping, Sequence, is_tensor
from pypto.error import FeError, FeTypeError, FeValueError
from pypto.ir.tensor import Buffer, Value

__all__ = ["augmented_assignment"]

_AUGMENTED: dict[type, type] = {getattr(cst, f"{sign.__name__}Assign"): sign for sign in BINARY}

_CHANGED: dict[type, tuple[type, ...]] = {
    list: (cst.Add, cst.Multiply),
    dict: (cst.BitOr,),
    set: (cst.BitAnd, cst.BitOr, cst.BitXor, cst.Subtract),
}
"""What Python changes in place, and with which operators."""


def augmented_assignment(frame: Frame, node: cst.AugAssign) -> None:
    """``target += value``: the target once, the value, the operation, the assignment."""
    target = node.target
    if isinstance(target, cst.Attribute):
        owner = frame.evaluate(target.value)
        old = attribute(frame, owner, identifier(target.attr), frame.span(target))
        item = _result(frame, node, old)
        store_attribute(frame, target, owner, old if item is None else item)
        return
    if not isinstance(target, cst.Subscript):
        item = _result(frame, node, frame.evaluate(target))
        if item is not None:
            assign(frame, target, item, frame.span(node))
        return
    owner = frame.evaluate(target.value)
    key = key_behind(frame, target, owner)
    old = element(frame, target, owner, key)
    help = _advice(frame, node, old)
    if is_tensor(owner):
        store(frame, target, owner, key, _new(frame, node, old, frame.evaluate(node.value)))
        return
    item = _result(frame, node, old)
    # Python assigns what was changed in place, too, and refuses to where it is in a tuple.
    store(frame, target, owner, key, old if item is None else item, help)


def _advice(frame: Frame, node: cst.AugAssign, old: Item) -> str | None:
    """What to write where the object that an item holds can be changed, and the item cannot."""
    if not isinstance(old, Buffer | v.Part | Sequence | Mapping | v.Set):
        return None
    symbol = BINARY[_AUGMENTED[type(node.operator)]][0]
    return f"name the item first: item = {frame.span(node.target).text()}; item {symbol}= ..."


def _result(frame: Frame, node: cst.AugAssign, old: Item) -> Item | None:
    """The new value of the target; None when ``old`` was changed in place."""
    sign = _AUGMENTED[type(node.operator)]
    value = frame.evaluate(node.value)
    if isinstance(old, Sequence) and old.mutable and sign in (cst.Add, cst.Multiply):
        _change_list(frame, node, old, value)
        return None
    if isinstance(old, Mapping) and sign is cst.BitOr:
        _update(frame, node, old, value)
        return None
    if isinstance(old, v.Set) and change_set(frame, old, sign, value, frame.span(node)):
        return None
    if isinstance(old, Known):
        for kind, signs in _CHANGED.items():
            if isinstance(old.value, kind) and sign in signs:
                _refuse_change(frame, node, old, kind.__name__)
    found = operator_method(frame, BINARY[sign][0], old, value, frame.span(node), in_place=True)
    if found is not None:
        return found
    item = _new(frame, node, old, value)
    if isinstance(old, Buffer | v.Part):
        write(frame, old, item, frame.span(node), frame.span(node.target).text())
        return None
    return item


def _new(frame: Frame, node: cst.AugAssign, old: Item, value: Item) -> Item:
    """``old + value``; an ``old`` that is the result of an operation counts as replaced."""
    target, span = node.target, frame.span(node)
    sign = _AUGMENTED[type(node.operator)]
    frame.hint = (node, identifier(target)) if isinstance(target, cst.Name) else None
    item = binary(frame, sign, old, value, node)
    frame.hint = None
    if isinstance(old, Value):
        text, symbol = frame.span(target).text(), BINARY[sign][0]
        frame.context.replaced[old] = Replaced(text, symbol, span, frame.call_notes())
    return item


def _change_list(frame: Frame, node: cst.AugAssign, old: Sequence, value: Item) -> None:
    """``old += value`` or ``old *= value``, of a list made in the kernel."""
    span = frame.span(node)
    if old.shape:
        refuse_shape_change(span)
    check_change(frame, old, span, places_too=True)
    if isinstance(node.operator, cst.AddAssign):
        more = None if is_tensor(value) else items_of(frame, value, frame.span(node.value))
        if more is None:
            refuse(
                FeTypeError, "only a list or tuple can be added to a list", span,
                got=v.describe(value),
            )  # fmt: skip
        old.items.extend(more)
        return
    count: Any = frame.python(value, frame.span(node.value), "repeating a list")
    if not isinstance(count, int):
        refuse(FeTypeError, "a list is repeated by an int", span, got=v.describe(value))
    if count * len(old.items) > MAX_LENGTH:
        refuse(FeValueError, "the repeated list is too long for compile time", span)
    old.items *= count


def _update(frame: Frame, node: cst.AugAssign, old: Mapping, value: Item) -> None:
    """``old |= value``, of a dict made in the kernel."""
    more = dict_of(frame, value, frame.span(node.value))
    if more is None:
        refuse(
            FeTypeError, "only a dict can be merged into a dict", frame.span(node),
            got=v.describe(value),
        )  # fmt: skip
    check_change(frame, old, frame.span(node), places_too=True)
    old.items.update(more)


def _refuse_change(frame: Frame, node: cst.AugAssign, old: Known, kind: str) -> NoReturn:
    """Lists, dicts and sets from outside keep their items."""
    symbol = BINARY[_AUGMENTED[type(node.operator)]][0]
    what = f"a {kind} made outside"
    what = whole_text(old.origin) if old.origin else what
    text = frame.span(node.target).text()
    refuse(
        FeError, f"a kernel cannot change {what} in place", frame.span(node), code="F00007",
        help=f"write name = {text} {symbol} ..., which makes a new {kind}",
    )  # fmt: skip
