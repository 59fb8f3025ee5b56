"""Methods of tensors, of containers made in the kernel, and of plain Python values."""

from __future__ import annotations

from typing import NoReturn

from pypto.elaborate import values as v
from pypto.elaborate.captures import whole_text
from pypto.elaborate.containers import (
    container_method,
    has_container_method,
    refuse_shape_change,
)
from pypto.elaborate.diagnostics import Poisoned, refuse
from pypto.elaborate.iteration import part_at, read_outline
from pypto.elaborate.machine import Frame
from pypto.elaborate.movement import call_operation
from pypto.elaborate.purity import METHODS, MUTATORS
from pypto.elaborate.scalars import from_python, number, part_of, python_call
from pypto.elaborate.tensors import Argument, write
from pypto.elaborate.values import Item, Known, Mapping, Method, Sequence, Set, View
from pypto.elaborate.views import METHODS as METHODS_OF_VIEWS
from pypto.elaborate.views import call_view_method
from pypto.error import FeError, FeNotImplementedError, FeTypeError, Span
from pypto.ops import registry

__all__ = ["call_method", "has_method", "refuse_method", "refuse_shape_change"]

_VIEWS = frozenset({"items", "keys", "values"})


def has_method(item: Item, name: str) -> bool:
    """Whether ``name`` is a method of ``item`` that :func:`call_method` knows or refuses."""
    if isinstance(item, Sequence | Mapping | Set):
        return has_container_method(item, name)
    if not isinstance(item, Known):
        return False
    if name in MUTATORS and isinstance(item.value, list | dict | set):
        return True
    if name == "item" and type(item.value).__module__ == "numpy":
        return number(item) is not None
    return any(isinstance(item.value, kind) and name in names for kind, names in METHODS.items())


def refuse_method(item: Item, name: str, span: Span) -> None:
    """Refuse what is a method of ``item`` in Python and none in kernels; return for other names."""
    kind = _python_kind(item)
    if kind is None or not callable(getattr(kind, name, None)):
        return
    supported = f"methods supported: {', '.join(_supported(kind))}"
    refuse(
        FeNotImplementedError,
        f"the method '{name}' of {_named(kind)} is not supported in kernels",
        span,
        help=_INSTEAD.get(f"{kind.__name__}.{name}", supported),
    )


_INSTEAD = {
    "set.pop": "a set has no order; take an item of sorted(...), or keep a list",
    "dict.fromkeys": "fill a dict in a for statement: d[key] = value",
    "str.encode": "keep the bytes outside the kernel, as a global or a parameter",
}


def _supported(kind: type) -> list[str]:
    empty = from_python(kind())
    return sorted(name for name in dir(kind) if has_method(empty, name))


def _named(kind: type) -> str:
    """``lists``, ``strings``: objects of ``kind``, for messages."""
    return "strings" if kind is str else f"{kind.__name__}s"


def _python_kind(item: Item) -> type | None:
    """The built-in class whose methods ``item`` has in Python."""
    if isinstance(item, Sequence):
        return list if item.mutable else tuple
    if isinstance(item, Mapping | Set):
        return dict if isinstance(item, Mapping) else set
    kind = type(item.value) if isinstance(item, Known) else None
    return kind if kind in METHODS and kind is not range else None


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
    if isinstance(receiver, v.Tensor):
        return _tensor_method(frame, receiver, method.name, positional, keyword, span, name)
    if isinstance(receiver, Mapping | Set) or (isinstance(receiver, Sequence) and receiver.mutable):
        return container_method(frame, receiver, method.name, positional, keyword, span)
    if isinstance(receiver, Known) and method.name in MUTATORS:
        _refuse_mutation(receiver, method.name, span)
    what = f"the method {method.name}"
    outside = isinstance(receiver, Known) and isinstance(receiver.value, dict)
    if outside and method.name in (*_VIEWS, "get"):
        assert isinstance(receiver, Known)
        return _read_dict(frame, receiver, method.name, positional, keyword, span)
    value = frame.python(receiver, span, what)
    args = [frame.python(item, place, what) for item, place in positional]
    kwargs = {key: frame.python(item, place, what) for key, (item, place) in keyword.items()}
    result = python_call(getattr(value, method.name), span, *args, **kwargs)
    return part_of(result, True)


def _read_dict(
    frame: Frame,
    receiver: Known,
    name: str,
    positional: list[Argument],
    keyword: dict[str, Argument],
    span: Span,
) -> Item:
    """``keys``, ``values``, ``items`` and ``get`` of a dict made outside."""
    value = read_outline(frame, receiver, span)
    high = 2 if name == "get" else 0
    if keyword or not high // 2 <= len(positional) <= high:
        refuse(FeTypeError, f"{name} of a dict takes {'1 to 2' if high else 'no'} arguments", span)
    if name != "get":
        return View(
            Mapping({key: part_at(receiver, key, part) for key, part in value.items()}), name
        )
    key = frame.python(*positional[0], name)
    python_call(hash, span, key)
    if key in value:
        return part_at(receiver, key, value[key])
    return positional[1][0] if len(positional) == 2 else Known(None)


def _refuse_mutation(receiver: Known, name: str, span: Span) -> NoReturn:
    what = whole_text(receiver.origin) if receiver.origin else "an object made outside"
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
    tensor: v.Tensor,
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
    if method in METHODS_OF_VIEWS:
        return call_view_method(frame, tensor, method, positional, keyword, span, name)
    spec = registry.method(method)
    assert spec is not None
    before = [p.name for p in spec.params].index(spec.receiver) if spec.receiver else 0
    if spec.receiver and len(positional) < before:
        keyword = {**keyword, spec.receiver: (tensor, span)}
        return call_operation(frame, spec, tuple(positional), keyword, span, name)
    every = (*positional[:before], (tensor, span), *positional[before:])
    return call_operation(frame, spec, every, keyword, span, name)
