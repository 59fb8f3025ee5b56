"""Methods of tensors, of lists and dicts made in the kernel, and of plain Python values."""

from __future__ import annotations

from typing import NoReturn

from pypto.elaborate import values as v
from pypto.elaborate.captures import path_text
from pypto.elaborate.diagnostics import Poisoned, refuse
from pypto.elaborate.machine import Frame
from pypto.elaborate.purity import METHODS, MUTATORS
from pypto.elaborate.scalars import dict_of, from_python, items_of, python_call
from pypto.elaborate.tensors import Argument, apply_operation, write
from pypto.elaborate.values import Item, Known, Mapping, Method, Sequence
from pypto.error import FeError, FeTypeError, Span
from pypto.ir.tensor import Buffer, Value
from pypto.ops import registry

__all__ = ["call_method", "has_method", "refuse_shape_change"]

_LIST = frozenset(
    {"append", "extend", "insert", "pop", "reverse", "clear", "copy", "count", "index"}
)
_DICT = frozenset({"get", "items", "keys", "values", "copy", "pop", "update", "setdefault"})


def has_method(item: Item, name: str) -> bool:
    """Whether ``name`` is a method of ``item`` that :func:`call_method` knows or refuses."""
    if isinstance(item, Sequence):
        return name in (_LIST if item.mutable else METHODS[tuple])
    if isinstance(item, Mapping):
        return name in _DICT
    if not isinstance(item, Known):
        return False
    if name in MUTATORS and isinstance(item.value, list | dict | set):
        return True
    return any(isinstance(item.value, kind) and name in names for kind, names in METHODS.items())


def call_method(
    frame: Frame,
    method: Method,
    positional: list[Argument],
    keyword: dict[str, Argument],
    span: Span,
    name: str | None,
) -> Item:
    """``receiver.name(...)``; ``name`` is the Python name that the result gets."""
    receiver = method.receiver
    if isinstance(receiver, v.Poison):
        raise Poisoned
    if isinstance(receiver, Value | Buffer):
        return _tensor_method(frame, receiver, method.name, positional, keyword, span, name)
    if isinstance(receiver, Sequence) and receiver.mutable:
        return _list_method(frame, receiver, method.name, positional, keyword, span)
    if isinstance(receiver, Mapping):
        return _dict_method(frame, receiver, method.name, positional, keyword, span)
    if isinstance(receiver, Known) and method.name in MUTATORS:
        _refuse_mutation(receiver, method.name, span)
    what = f"the method {method.name}"
    value = frame.python(receiver, span, what)
    args = [frame.python(item, place, what) for item, place in positional]
    kwargs = {key: frame.python(item, place, what) for key, (item, place) in keyword.items()}
    result = python_call(getattr(value, method.name), span, *args, **kwargs)
    if type(result).__name__ in ("dict_items", "dict_keys", "dict_values"):
        result = list(result)
    return from_python(result)


def refuse_shape_change(span: Span) -> NoReturn:
    """The shape of a tensor is a list that is made anew each time: changing it changes nothing."""
    refuse(
        FeError,
        "the shape of a tensor cannot be changed",
        span,
        code="F00007",
        help="copy it first: shape = list(x.shape)",
    )


def _refuse_mutation(receiver: Known, name: str, span: Span) -> NoReturn:
    what = f"'{path_text(receiver.origin)}'" if receiver.origin else "an object made outside"
    help = "make a new list or dict in the kernel, or change the object outside"
    if isinstance(receiver.value, set):
        what = what if receiver.origin else "a set"
        help = "make a new set: name = name | {...}, or another operator"
    refuse(
        FeError,
        f"a kernel cannot change {what}: {name} would run once, while compiling",
        span,
        code="F00007",
        help=help,
    )


def _tensor_method(
    frame: Frame,
    tensor: Value | Buffer,
    method: str,
    positional: list[Argument],
    keyword: dict[str, Argument],
    span: Span,
    name: str | None,
) -> Item:
    if method == "move":
        given = [*positional, *keyword.values()]
        if len(given) != 1 or (keyword and "other" not in keyword):
            refuse(
                FeTypeError, f"move takes one tensor, got {len(given)} arguments", span,
                help="write out.move(tensor), which is out[:] = tensor",
            )  # fmt: skip
        item, place = given[0]
        target = tensor.name or "the tensor"
        write(frame, tensor, item, place, target, move=True)
        return Known(None)
    spec = registry.method(method)
    assert spec is not None
    return apply_operation(frame, spec, ((tensor, span), *positional), keyword, span, name)


def _no_keywords(name: str, keyword: dict[str, Argument]) -> None:
    for key, (_, place) in keyword.items():
        refuse(FeTypeError, f"{name} has no parameter '{key}'", place)


def _count(name: str, given: list[Argument], low: int, high: int, span: Span) -> None:
    if not low <= len(given) <= high:
        wanted = str(low) if low == high else f"{low} to {high}"
        refuse(FeTypeError, f"{name} takes {wanted} arguments, got {len(given)}", span)


def _list_method(
    frame: Frame,
    receiver: Sequence,
    name: str,
    positional: list[Argument],
    keyword: dict[str, Argument],
    span: Span,
) -> Item:
    _no_keywords(name, keyword)
    if receiver.shape and name in MUTATORS:
        refuse_shape_change(span)
    low, high = {"append": (1, 1), "extend": (1, 1), "insert": (2, 2), "pop": (0, 1)}.get(
        name, (0, 0) if name in ("reverse", "clear", "copy") else (1, 1)
    )
    _count(name, positional, low, high, span)
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
        plain = [frame.python(item, span, name) for item in items]
        wanted = frame.python(*positional[0], name)
        return Known(python_call(getattr(plain, name), span, wanted))
    return Known(None)


def _dict_method(
    frame: Frame,
    receiver: Mapping,
    name: str,
    positional: list[Argument],
    keyword: dict[str, Argument],
    span: Span,
) -> Item:
    _no_keywords(name, keyword)
    items = receiver.items
    if name in ("items", "keys", "values", "copy"):
        _count(name, positional, 0, 0, span)
        if name == "copy":
            return Mapping(dict(items))
        if name == "values":
            return Sequence(list(items.values()), True)
        if name == "keys":
            return Sequence([Known(key) for key in items], True)
        return Sequence([Sequence([Known(k), item], False) for k, item in items.items()], True)
    if name == "update":
        _count(name, positional, 1, 1, span)
        more = dict_of(frame, *positional[0])
        if more is None:
            refuse(FeTypeError, "update takes a dict", positional[0][1])
        items.update(more)
        return Known(None)
    _count(name, positional, 1, 2, span)
    key = frame.python(*positional[0], name)
    python_call(hash, span, key)
    default: Item = positional[1][0] if len(positional) == 2 else Known(None)
    if name == "setdefault":
        return items.setdefault(key, default)
    if key in items:
        return items[key] if name == "get" else items.pop(key)
    if name == "pop" and len(positional) == 1:
        refuse(FeTypeError, f"KeyError: {key!r}", span)
    return default
