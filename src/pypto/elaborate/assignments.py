"""Assignments: names, tuples of names, whole tensors, items of lists and dicts."""

from __future__ import annotations

import types
from typing import Any

import libcst as cst

from pypto.elaborate import values as v
from pypto.elaborate.captures import method_kind
from pypto.elaborate.containers import refuse_outside, refuse_shape_change
from pypto.elaborate.diagnostics import Decide, Poisoned, refuse
from pypto.elaborate.dunders import call_special_method, has_special_method
from pypto.elaborate.iteration import items_of
from pypto.elaborate.machine import Frame, Rebinding, identifier
from pypto.elaborate.mutation import check_change
from pypto.elaborate.regions import TensorKey, place_at
from pypto.elaborate.scalars import python_call
from pypto.elaborate.subscripts import key_behind
from pypto.elaborate.tensors import write
from pypto.elaborate.values import Item, Known, Sequence, is_tensor
from pypto.error import (
    FeError,
    FeNotImplementedError,
    FeTypeError,
    FeValueError,
    Span,
)
from pypto.ir.tensor import Value

__all__ = ["annotated_assignment", "assign", "assignment", "bind", "store", "store_attribute"]


def assignment(frame: Frame, node: cst.Assign) -> None:
    """``a = b = value``: the value once, then each target from left to right."""
    name = _hint(frame, node.targets[0].target)
    frame.hint = (node.value, name) if name is not None else None
    item = frame.evaluate(node.value)
    frame.hint = None
    for target in node.targets:
        assign(frame, target.target, item, frame.span(node.value))


def _hint(frame: Frame, target: cst.CSTNode) -> str | None:
    return identifier(target) if isinstance(target, cst.Name) else None


def annotated_assignment(frame: Frame, node: cst.AnnAssign) -> None:
    """``name: annotation = value``."""
    # The annotation of a local name means nothing at run time, in Python as here.
    if node.value is None:
        return
    name = _hint(frame, node.target)
    frame.hint = (node.value, name) if name is not None else None
    item = frame.evaluate(node.value)
    frame.hint = None
    assign(frame, node.target, item, frame.span(node.value))


def assign(
    frame: Frame, target: cst.CSTNode, item: Item, source: Span, role: str = "value"
) -> None:
    """``target = item``; ``source`` is the place of the value, ``role`` what it is to the name."""
    if isinstance(target, cst.Name):
        bind(frame, identifier(target), item, frame.span(target), role)
    elif isinstance(target, cst.Tuple | cst.List):
        _unpack(frame, target, item, source, role)
    elif isinstance(target, cst.Subscript):
        owner = frame.evaluate(target.value)
        store(frame, target, owner, key_behind(frame, target, owner), item)
    elif isinstance(target, cst.Attribute):
        owner = frame.evaluate(target.value)
        store_attribute(frame, target, owner, item)
    else:
        raise Poisoned


def store_attribute(frame: Frame, target: cst.Attribute, owner: Item, item: Item) -> None:
    """``owner.name = item``, where ``target`` is the text of the left side."""
    if isinstance(owner, v.Instance):
        new = identifier(target.attr) not in owner.fields
        check_change(frame, owner, frame.span(target), new)
        _set_attribute(owner, identifier(target.attr), item, frame.span(target))
        return
    refuse(
        FeError,
        f"a kernel cannot set the attribute '{identifier(target.attr)}' of {v.describe(owner)}",
        frame.span(target),
        code="F00007",
        help="keep the value in a name of its own",
    )


def _set_attribute(owner: v.Instance, name: str, item: Item, span: Span) -> None:
    """``owner.name = item``, of an object that the kernel made."""
    kind: Any = owner.cls
    if owner.frozen:
        refuse(
            FeError, f"the dataclass '{kind.__name__}' is frozen", span, code="F00007",
            help="make a new object with the other value",
        )  # fmt: skip
    if method_kind(kind, None, name) == "property":
        refuse(
            FeError, f"'{name}' is a property of '{kind.__name__}': setting it runs code", span,
            code="F00007", help="set the attribute that holds the value",
        )  # fmt: skip
    slots = [vars(base).get("__slots__") for base in kind.__mro__[:-1]]
    if slots and None not in slots and not _is_slot(kind, name):
        refuse(FeError, f"'{kind.__name__}' has no slot '{name}'", span, code="F00007")
    owner.fields[name] = item


def _is_slot(kind: Any, name: str) -> bool:
    return isinstance(getattr(kind, name, None), types.MemberDescriptorType)


def bind(frame: Frame, name: str, item: Item, span: Span, role: str = "value") -> None:
    """Give ``name`` the value ``item`` in this function."""
    if name in frame.tensor_parameters:
        read = frame.tensor_parameters[name] in frame.context.builder.read
        again = any(r.name == name for r in frame.context.rebindings)
        frame.context.rebindings.append(Rebinding(name, span, read or again, role))
    frame.locals[name] = item
    frame.bound[name] = span


def _unpack(
    frame: Frame, target: cst.Tuple | cst.List, item: Item, source: Span, role: str
) -> None:
    """Each part to its target; a starred one gets a list of those that the others leave."""
    elements = target.elements
    stars = [i for i, e in enumerate(elements) if isinstance(e, cst.StarredElement)]
    wanted, least = len(elements) - len(stars), "at least " if stars else ""
    names = "1 name" if wanted == 1 else f"{wanted} names"
    stand = "stands" if wanted == 1 else "stand"
    parts = None if is_tensor(item) else items_of(frame, item, source)
    if parts is None:
        refuse(
            FeTypeError, f"this value cannot be unpacked into {least}{names}", source,
            expected=f"a tuple or list of {least}{wanted}", got=v.describe(item),
            help="a kernel cannot take the rows of a tensor apart" if is_tensor(item) else None,
        )  # fmt: skip
    if len(parts) < wanted or (len(parts) > wanted and not stars):
        refuse(
            FeValueError,
            f"this value has {len(parts)} items, and {least}{names} {stand} on the left",
            source,
            expected=f"{least}{wanted} items",
            got=v.describe(item),
        )
    if stars:
        (star,) = stars  # Python has refused a second one
        behind = star + len(parts) - wanted
        parts[star:behind] = [Sequence(parts[star:behind], True)]
    for element, part in zip(elements, parts, strict=True):
        assign(frame, element.value, part, source, role)


def store(
    frame: Frame, target: cst.Subscript, owner: Item, key: Any, item: Item, help: str | None = None
) -> None:
    """``owner[key] = item``, where ``target`` is the text of ``owner[key]``."""
    span = frame.span(target)
    if has_special_method(owner, "__setitem__"):
        call_special_method(frame, owner, "__setitem__", [key, item], span)
    elif is_tensor(owner):
        _store_tensor(frame, target, owner, key, item)
    elif isinstance(owner, v.Mapping):
        python_call(hash, span, key)
        check_change(frame, owner, span, key not in owner.items)
        owner.items[key] = item
    elif isinstance(owner, Sequence) and owner.mutable:
        if owner.shape:
            refuse_shape_change(span)
        if isinstance(key, slice):
            refuse(
                FeNotImplementedError, "a slice of a list cannot be assigned", span,
                help="assign the items one by one, or make a new list",
            )  # fmt: skip
        if not isinstance(key, int) or not -len(owner.items) <= key < len(owner.items):
            refuse(FeValueError, f"index {key!r} is outside a list of {len(owner.items)}", span)
        check_change(frame, owner, span)
        owner.items[key] = item
    elif isinstance(owner, Known) and owner.origin is not None:
        refuse_outside(owner.origin, span)
    else:
        refuse(
            FeTypeError, f"items of {v.describe(owner)} cannot be assigned", span,
            expected="a tensor, or a list or dict made in the kernel", help=help,
        )  # fmt: skip


def _make_memory(frame: Frame, value: Value) -> None:
    """Read the kernel again, with results of this operation in local tensors from the start: all
    names and parts of ``value`` see what is written into it, in all iterations."""
    decision = frame.context.written(value)
    if decision is not None and decision not in frame.context.decided:
        raise Decide({decision: "local"})


def _store_tensor(
    frame: Frame, target: cst.Subscript, owner: v.Tensor, key: TensorKey, item: Item
) -> None:
    """``owner[key] = item``."""
    span, text = frame.span(target), frame.span(target.value).text()
    if isinstance(owner, Value) and isinstance(
        target.value, cst.Name | cst.Attribute | cst.Subscript
    ):
        _make_memory(frame, owner)
    part: Item = owner if isinstance(owner, Value) else place_at(frame, owner, key, span)
    # The place is the statement being executed, when the write is in this function.
    own = frame.caller is None and frame.place is not None
    write(frame, part, item, frame.place if own and frame.place else span, text)
