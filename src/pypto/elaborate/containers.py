"""Methods of the lists, dicts and sets that a kernel makes, and of captured dicts."""

from __future__ import annotations

import operator
from typing import Any, NoReturn

import libcst as cst

from pypto.elaborate.captures import Path, path_text
from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.iteration import items_of
from pypto.elaborate.machine import Frame
from pypto.elaborate.mutation import check_change
from pypto.elaborate.ordering import order_of
from pypto.elaborate.purity import METHODS, MUTATORS
from pypto.elaborate.scalars import from_python, python_call
from pypto.elaborate.tensors import Argument
from pypto.elaborate.values import Item, Known, Mapping, Sequence, Set, View
from pypto.error import FeError, FeTypeError, FeValueError, Span

__all__ = ["change_set", "container_method", "has_container_method", "refuse_shape_change"]

_LIST = {
    "append": (1, 1), "clear": (0, 0), "copy": (0, 0), "count": (1, 1), "extend": (1, 1),
    "index": (1, 1), "insert": (2, 2), "pop": (0, 1), "remove": (1, 1), "reverse": (0, 0),
    "sort": (0, 0),
}  # fmt: skip
"""Methods of lists, and how many arguments each takes."""

_DICT = {
    "clear": (0, 0), "copy": (0, 0), "get": (1, 2), "items": (0, 0), "keys": (0, 0), "pop": (1, 2),
    "popitem": (0, 0), "setdefault": (1, 2), "update": (0, 1), "values": (0, 0),
}  # fmt: skip

_SET = METHODS[set] | {
    "add", "clear", "difference_update", "discard", "intersection_update", "remove",
    "symmetric_difference_update", "update",
}  # fmt: skip


def has_container_method(item: Sequence | Mapping | Set, name: str) -> bool:
    """Whether :func:`container_method` knows ``name``."""
    if isinstance(item, Sequence):
        return name in (_LIST if item.mutable else METHODS[tuple])
    return name in (_DICT if isinstance(item, Mapping) else _SET)


def container_method(
    frame: Frame,
    receiver: Sequence | Mapping | Set,
    name: str,
    positional: list[Argument],
    keyword: dict[str, Argument],
    span: Span,
) -> Item:
    """``receiver.name(...)`` of a list, dict or set."""
    if not keyword or (isinstance(receiver, Mapping) and name == "update"):
        pass
    elif not isinstance(receiver, Sequence) or name != "sort":
        key, (_, place) = next(iter(keyword.items()))
        refuse(FeTypeError, f"{name} has no parameter '{key}'", place)
    if name in MUTATORS:
        check_change(frame, receiver, span, places_too=True)
    if isinstance(receiver, Set):
        return _set_method(frame, receiver, name, positional, span)
    low, high = (_LIST if isinstance(receiver, Sequence) else _DICT)[name]
    if not low <= len(positional) <= high:
        wanted = str(low) if low == high else f"{low} to {high}"
        refuse(FeTypeError, f"{name} takes {wanted} arguments, got {len(positional)}", span)
    if isinstance(receiver, Mapping):
        return _dict_method(frame, receiver, name, positional, keyword, span)
    if receiver.shape and name in MUTATORS:
        refuse_shape_change(span)
    if name == "sort":
        return _sort(frame, receiver, keyword, span)
    return _list_method(frame, receiver, name, positional, span)


def refuse_outside(path: Path, span: Span) -> NoReturn:
    """Objects made outside of the kernel are read only: changing them would happen once."""
    refuse(
        FeError,
        f"a kernel cannot change '{path_text(path)}', which stands outside of it",
        span,
        code="F00007",
        help="make a new list or dict in the kernel, or change the object outside",
    )


def refuse_shape_change(span: Span) -> NoReturn:
    """The shape of a tensor is a list that is made anew each time: changing it changes nothing."""
    refuse(
        FeError,
        "the shape of a tensor cannot be changed",
        span,
        code="F00007",
        help="copy it first: shape = list(x.shape)",
    )


# --- lists ---


def _list_method(
    frame: Frame, receiver: Sequence, name: str, positional: list[Argument], span: Span
) -> Item:
    items = receiver.items
    if name == "append":
        items.append(positional[0][0])
    elif name == "extend":
        more = items_of(frame, *positional[0])
        if more is None:
            refuse(FeTypeError, "extend takes a list or tuple", positional[0][1])
        items.extend(more)
    elif name == "insert":
        at = frame.python(*positional[0], "insert")
        python_call(items.insert, span, at, positional[1][0])
    elif name == "pop":
        at = frame.python(*positional[0], "pop") if positional else -1
        found: Item = python_call(items.pop, span, at)
        return found
    elif name == "reverse":
        items.reverse()
    elif name == "clear":
        items.clear()
    elif name == "copy":
        return Sequence(list(items), True)
    else:
        return _search(frame, items, name, positional[0], span)
    return Known(None)


def _search(frame: Frame, items: list[Item], name: str, wanted: Argument, span: Span) -> Item:
    """``count``, ``index`` and ``remove``, which compare."""
    plain = [frame.python(item, span, name) for item in items]
    value = frame.python(*wanted, name)
    if name != "remove":
        return Known(python_call(getattr(plain, name), span, value))
    if value not in plain:
        refuse(FeValueError, f"ValueError: {value!r} is not in the list", span)
    del items[plain.index(value)]
    return Known(None)


def _sort(frame: Frame, receiver: Sequence, keyword: dict[str, Argument], span: Span) -> Item:
    keys, reverse = order_of(frame, receiver.items, keyword, "sort", span)
    indices = range(len(receiver.items))
    order = python_call(sorted, span, indices, key=keys.__getitem__, reverse=reverse)
    receiver.items[:] = [receiver.items[at] for at in order]
    return Known(None)


# --- dicts ---


def _dict_method(
    frame: Frame,
    receiver: Mapping,
    name: str,
    positional: list[Argument],
    keyword: dict[str, Argument],
    span: Span,
) -> Item:
    items = receiver.items
    if name in ("items", "keys", "values"):
        return View(receiver, name)
    if name == "copy":
        return Mapping(dict(items))
    if name == "clear":
        items.clear()
        return Known(None)
    if name == "popitem":
        key, item = python_call(items.popitem, span)
        return Sequence([Known(key), item], False)
    if name == "update":
        for argument in positional:
            items.update(_pairs(frame, *argument))
        items.update({key: item for key, (item, _) in keyword.items()})
        return Known(None)
    key = frame.python(*positional[0], name)
    python_call(hash, span, key)
    default: Item = positional[1][0] if len(positional) == 2 else Known(None)
    if name == "setdefault":
        return items.setdefault(key, default)
    if key in items:
        return items[key] if name == "get" else items.pop(key)
    if name == "pop" and len(positional) == 1:
        refuse(FeValueError, f"KeyError: {key!r}", span)
    return default


def _pairs(frame: Frame, other: Item, place: Span) -> dict[object, Item]:
    """What ``update`` adds: the items of a dict, or pairs."""
    if isinstance(other, Mapping):
        return other.items
    if isinstance(other, Known) and isinstance(other.value, dict):
        plain = frame.use(other, place)
        return {key: Known(part) for key, part in plain.items()}
    found: dict[object, Item] = {}
    pairs = items_of(frame, other, place)
    for pair in [other] if pairs is None else pairs:
        parts = items_of(frame, pair, place)
        if parts is None or len(parts) != 2:
            refuse(FeTypeError, "update takes a dict, or pairs of a key and a value", place)
        key = frame.python(parts[0], place, "a key of a dict")
        python_call(hash, place, key)
        found[key] = parts[1]
    return found


# --- sets ---


_CHANGES: dict[type, Any] = {
    cst.BitAnd: operator.iand, cst.BitOr: operator.ior, cst.BitXor: operator.ixor,
    cst.Subtract: operator.isub,
}  # fmt: skip


def change_set(frame: Frame, receiver: Set, sign: type, value: Item, span: Span) -> bool:
    """``receiver |= value`` and its like; False for operators that change no set."""
    if sign not in _CHANGES:
        return False
    check_change(frame, receiver, span)
    python_call(_CHANGES[sign], span, receiver.items, frame.python(value, span, "a set"))
    return True


def _set_method(
    frame: Frame, receiver: Set, name: str, positional: list[Argument], span: Span
) -> Item:
    args: list[Any] = [frame.python(item, place, name) for item, place in positional]
    return from_python(python_call(getattr(receiver.items, name), span, *args))
