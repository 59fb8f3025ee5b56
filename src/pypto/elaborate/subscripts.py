"""``value[...]``: elements of lists, tuples, dicts and strings, and parts of tensors."""

from __future__ import annotations

from typing import Any

import libcst as cst

from pypto.elaborate import values as v
from pypto.elaborate.captures import Unreadable, path_text
from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.dunders import call_special_method, has_special_method
from pypto.elaborate.iteration import parts_of
from pypto.elaborate.machine import Frame
from pypto.elaborate.numerics import plain_index
from pypto.elaborate.regions import part_at, tensor_key
from pypto.elaborate.scalars import part_of, python_call
from pypto.elaborate.values import Item, Known, Mapping, Sequence, is_tensor
from pypto.error import FeTypeError, FeValueError, Span

__all__ = ["element", "evaluate_subscript", "key_behind", "key_of"]


def evaluate_subscript(frame: Frame, node: cst.Subscript) -> Item:
    """The value of ``node``; a whole slice of a tensor is the tensor itself."""
    owner = frame.evaluate(node.value)
    return element(frame, node, owner, key_behind(frame, node, owner))


def key_behind(frame: Frame, node: cst.Subscript, owner: Item) -> Any:
    """What stands in the brackets behind ``owner``."""
    if is_tensor(owner):
        return tensor_key(frame, node)
    if has_special_method(owner, "__getitem__") or has_special_method(owner, "__setitem__"):
        return _any_key(frame, node)
    return key_of(frame, node)


def _any_key(frame: Frame, node: cst.Subscript) -> Item:
    """What stands in the brackets behind an object of a user's class."""
    parts: list[Item] = []
    for each in node.slice:
        part = each.slice
        if isinstance(part, cst.Index) and part.star != "*":
            parts.append(frame.evaluate(part.value))
        else:
            return Known(key_of(frame, node))
    single = len(node.slice) == 1 and not isinstance(node.slice[-1].comma, cst.Comma)
    return parts[0] if single else Sequence(parts, False)


def element(frame: Frame, node: cst.Subscript, owner: Item, key: Any) -> Item:
    """``owner[key]``, of which ``node`` is the text."""
    span = frame.span(node)
    if has_special_method(owner, "__getitem__"):
        found = call_special_method(frame, owner, "__getitem__", [key], span)
        assert found is not None
        return found
    if isinstance(owner, v.Tensor):
        return part_at(frame, owner, key, span, frame.name_for(node))
    if isinstance(owner, Sequence):
        if not isinstance(key, int | slice):
            refuse(FeTypeError, "a list is indexed by ints and slices", span, got=repr(key))
        if isinstance(key, int):
            _check_index(owner, key, span)
        found = python_call(owner.items.__getitem__, span, key)
        if isinstance(key, slice):
            return Sequence(found, owner.mutable, owner.shape)
        item: Item = found
        return item.settle(span) if isinstance(item, v.Deferred) else item
    if isinstance(owner, Mapping):
        python_call(hash, span, key)
        if key not in owner.items:
            refuse(FeValueError, f"KeyError: {key!r}", span)
        held = owner.items[key]
        return held.settle(span) if isinstance(held, v.Deferred) else held
    if isinstance(owner, Known):
        return _element(frame, owner, key, span)
    listed = isinstance(owner, v.View | v.Cursor | v.Set)
    refuse(
        FeTypeError, f"{v.describe(owner)} cannot be indexed", span,
        help="make a list of it first: list(...)" if listed else None,
    )  # fmt: skip


def _check_index(owner: Sequence, key: int, span: Span) -> None:
    """Refuse an index that ``owner`` does not have."""
    count = len(owner.items)
    if -count <= key < count:
        return
    kind = "list" if owner.mutable else "tuple"
    refuse(
        FeValueError,
        f"the shape has {count} {'axis' if count == 1 else 'axes'}: there is no axis {key}"
        if owner.shape
        else f"the {kind} has {count} {'item' if count == 1 else 'items'}: there is none at {key}",
        span,
        code="F00008",
        expected=f"an index of {-count} … {count - 1}" if count else None,
        got=str(int(key)),
        help="the annotation says how many axes a tensor has" if owner.shape else None,
    )


def _element(frame: Frame, owner: Known, key: Any, span: Span) -> Item:
    plain = type(key) in (int, str, bool) or key is None
    if not plain or isinstance(owner.value, type):
        value = frame.use(owner, span)
        if not isinstance(value, str | bytes | tuple | list | dict | range):
            refuse(FeTypeError, f"{v.describe(owner)} cannot be indexed", span)
        if isinstance(key, slice) and type(value) in (list, tuple):
            parts = python_call(parts_of(owner, value).__getitem__, span, key)
            return Sequence(parts, type(value) is list)
        return part_of(python_call(value.__getitem__, span, key), isinstance(key, slice))
    try:
        return frame.step(owner, ("item", key), span)
    except Unreadable as error:
        name = path_text(owner.origin) if owner.origin else v.describe(owner)
        cls = FeValueError if error.missing else FeTypeError
        help = None if error.missing else "pass the value as a parameter"
        expected = _keys(owner.value) if error.missing else None
        refuse(cls, f"cannot read {name}[{key!r}]: {error}", span, expected=expected, help=help)


def _keys(owner: object) -> str | None:
    """What may stand in the brackets behind ``owner``; None when that is too long to say."""
    if isinstance(owner, dict):
        text = ", ".join(repr(key) for key in owner if type(key) in (int, str, bool))
        return f"one of {text}" if 0 < len(text) <= 200 else None
    if isinstance(owner, list | tuple | str | bytes | range) and len(owner):
        return f"an index of {-len(owner)} … {len(owner) - 1}"
    return None


def key_of(frame: Frame, node: cst.Subscript) -> Any:
    """What stands in the brackets, at compile time."""
    parts: list[Any] = []
    starred = False
    for each in node.slice:
        part = each.slice
        if isinstance(part, cst.Index):
            index = plain_index(frame.known(part.value, "an index"))
            if part.star == "*":
                starred = True
                parts += python_call(list, frame.span(part.value), index)
            else:
                parts.append(index)
        else:
            assert isinstance(part, cst.Slice)
            bounds = (part.lower, part.upper, part.step)
            ends = [None if b is None else frame.known(b, "a slice") for b in bounds]
            parts.append(slice(*ends))
    last = node.slice[-1]
    single = len(node.slice) == 1 and not starred and not isinstance(last.comma, cst.Comma)
    return parts[0] if single else tuple(parts)
