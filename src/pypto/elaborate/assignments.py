"""Assignments: names, tuples of names, whole tensors, items of lists and dicts; and ``del``."""

from __future__ import annotations

import libcst as cst

from pypto.elaborate import values as v
from pypto.elaborate.arithmetic import BINARY, binary, items_of
from pypto.elaborate.captures import path_text
from pypto.elaborate.diagnostics import Poisoned, refuse
from pypto.elaborate.machine import Frame, Rebinding, Replaced, identifier
from pypto.elaborate.methods import refuse_shape_change
from pypto.elaborate.scalars import python_call
from pypto.elaborate.subscripts import is_whole
from pypto.elaborate.tensors import write
from pypto.elaborate.values import Item, Known, Sequence, is_tensor
from pypto.error import (
    FeError,
    FeNotImplementedError,
    FeTypeError,
    FeValueError,
    Span,
    UnsupportedSyntaxError,
)
from pypto.ir.tensor import Buffer, Value

__all__ = ["annotated_assignment", "assign", "assignment", "augmented_assignment", "delete"]


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


def assign(frame: Frame, target: cst.CSTNode, item: Item, source: Span) -> None:
    """``target = item``; ``source`` is the place of the value."""
    if isinstance(target, cst.Name):
        bind(frame, identifier(target), item, frame.span(target))
    elif isinstance(target, cst.Tuple | cst.List):
        _unpack(frame, target, item, source)
    elif isinstance(target, cst.Subscript):
        _store(frame, target, item)
    elif isinstance(target, cst.Attribute):
        owner = frame.evaluate(target.value)
        refuse(
            FeError,
            f"a kernel cannot set the attribute '{target.attr.value}' of {v.describe(owner)}",
            frame.span(target),
            code="F00007",
            help="keep the value in a name of its own",
        )
    else:
        raise Poisoned


def bind(frame: Frame, name: str, item: Item, span: Span) -> None:
    """Give ``name`` the value ``item`` in this function."""
    if name in frame.tensor_parameters:
        held = frame.locals.get(name)
        read = isinstance(held, Buffer) and held in frame.context.builder.read
        again = any(r.name == name for r in frame.context.rebindings)
        frame.context.rebindings.append(Rebinding(name, span, read or again))
    frame.locals[name] = item


def _unpack(frame: Frame, target: cst.Tuple | cst.List, item: Item, source: Span) -> None:
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
        assign(frame, element.value, part, source)


def _store(frame: Frame, target: cst.Subscript, item: Item) -> None:
    owner = frame.evaluate(target.value)
    span = frame.span(target)
    if is_tensor(owner):
        if is_whole(frame, target, owner):
            write(
                frame, owner, item, _whole_statement(frame, span), frame.span(target.value).text()
            )
            return
        refuse(
            FeNotImplementedError,
            "writing a part of a tensor is not available in this version",
            span,
            help=f"write the whole tensor: {frame.span(target.value).text()}[:] = ...",
        )
    if (isinstance(owner, Sequence) and owner.mutable) or isinstance(owner, v.Mapping):
        if isinstance(owner, Sequence) and owner.shape:
            refuse_shape_change(span)
        key = _single_key(frame, target)
        if isinstance(owner, v.Mapping):
            python_call(hash, span, key)
            owner.items[key] = item
            return
        if not isinstance(key, int) or not -len(owner.items) <= key < len(owner.items):
            refuse(FeValueError, f"index {key!r} is outside a list of {len(owner.items)}", span)
        owner.items[key] = item
        return
    if isinstance(owner, Known) and owner.origin is not None:
        refuse(
            FeError,
            f"a kernel cannot change '{path_text(owner.origin)}', which stands outside of it",
            span,
            code="F00007",
            help="make a new list or dict in the kernel, or change the object outside",
        )
    refuse(
        FeTypeError, f"items of {v.describe(owner)} cannot be assigned", span,
        expected="a tensor, or a list or dict made in the kernel",
    )  # fmt: skip


def _whole_statement(frame: Frame, span: Span) -> Span:
    """The statement being executed, when the write is in this function; else the target."""
    return frame.place if frame.caller is None and frame.place is not None else span


def _single_key(frame: Frame, target: cst.Subscript) -> object:
    if len(target.slice) == 1 and isinstance(target.slice[0].slice, cst.Index):
        return frame.known(target.slice[0].slice.value, "an index")
    refuse(FeTypeError, "one index is expected here", frame.span(target))


def augmented_assignment(frame: Frame, node: cst.AugAssign) -> None:
    """``target += value``: in place for tensors that are memory and for lists made here."""
    sign = _AUGMENTED[type(node.operator)]
    target = node.target
    old = frame.evaluate(target)
    value = frame.evaluate(node.value)
    span = frame.span(node)
    if isinstance(old, Sequence) and old.mutable and sign is cst.Add:
        if old.shape:
            refuse_shape_change(span)
        more = items_of(frame, value, frame.span(node.value))
        if more is None:
            refuse(FeTypeError, "only a list or tuple can be added to a list", span)
        old.items.extend(more)
        return
    if isinstance(old, Known) and isinstance(old.value, list | dict | set):
        what = f"'{path_text(old.origin)}'" if old.origin else "an object made outside"
        refuse(
            FeError, f"a kernel cannot change {what} in place", span, code="F00007",
            help="write name = name + [...], which makes a new list",
        )  # fmt: skip
    frame.hint = (node, identifier(target)) if isinstance(target, cst.Name) else None
    item = binary(frame, sign, old, value, node)
    frame.hint = None
    if isinstance(old, Buffer) and isinstance(target, cst.Name):
        # As in torch, an augmented assignment to a tensor writes into it.
        write(frame, old, item, span, identifier(target))
        return
    if isinstance(old, Value):
        text, symbol = frame.span(target).text(), BINARY[sign][0]
        frame.context.replaced[old] = Replaced(text, symbol, span, frame.call_notes())
    assign(frame, target, item, span)


_AUGMENTED: dict[type, type] = {getattr(cst, f"{sign.__name__}Assign"): sign for sign in BINARY}


def delete(frame: Frame, node: cst.Del) -> None:
    """``del name``."""
    targets = [node.target]
    if isinstance(node.target, cst.Tuple):
        targets = [element.value for element in node.target.elements]  # type: ignore[misc]
    for target in targets:
        if not isinstance(target, cst.Name):
            refuse(
                UnsupportedSyntaxError, "a kernel can only delete names", frame.span(target),
                help="leave the statement out: what is not used costs nothing",
            )  # fmt: skip
        frame.evaluate(target)
        frame.locals.pop(identifier(target), None)
