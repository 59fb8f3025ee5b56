"""Lists, tuples, dicts and objects that a kernel made, as places that hold items.

Loops carry and branches merge them place by place: two are of one structure when they have the same
class and the same places.
"""

from __future__ import annotations

from collections.abc import Mapping as AnyMapping
from typing import TypeAlias, TypeGuard

from pypto.elaborate import values as v
from pypto.elaborate.values import Deferred, Instance, Item, Mapping, Sequence

__all__ = [
    "Structure", "differ", "fill", "is_mutable", "is_structure", "like", "place", "places",
    "resolved", "words",
]  # fmt: skip

Structure: TypeAlias = Sequence | Mapping | Instance

Places: TypeAlias = dict[object, Item]

_SHOWN = 8  # keys of a dict, attributes of an object in a message


def is_structure(item: Item | None) -> TypeGuard[Structure]:
    return isinstance(item, Structure)


def is_mutable(item: Structure) -> bool:
    """Whether what it holds can change, which all of its names would see."""
    if isinstance(item, Sequence):
        return item.mutable and not item.shape
    return not (isinstance(item, Instance) and item.frozen)


def resolved(item: Item | None) -> Item | None:
    """``item``, what it has turned out to be, or the structure that it will be where it is read."""
    while isinstance(item, Deferred):
        inner = item.found if item.found is not None else item.inner
        if inner is None:
            return item
        item = inner
    return item


def places(item: Structure) -> Places:
    """What stands in each place of ``item`` now."""
    if isinstance(item, Sequence):
        return dict(enumerate(item.items))
    if isinstance(item, Mapping):
        return dict(item.items)
    return dict(item.fields.items())


def fill(item: Structure, contents: AnyMapping[object, Item]) -> None:
    """Let ``item`` hold ``contents`` and no more."""
    if isinstance(item, Sequence):
        item.items[:] = contents.values()
    elif isinstance(item, Mapping):
        item.items.clear()
        item.items.update(contents)
    else:
        item.fields.clear()
        item.fields.update({str(name): one for name, one in contents.items()})


def like(item: Structure, contents: AnyMapping[object, Item]) -> Structure:
    """A new structure as ``item`` is, that holds ``contents``."""
    if isinstance(item, Sequence):
        return Sequence([*contents.values()], item.mutable, item.shape, item.kind)
    if isinstance(item, Mapping):
        return Mapping(dict(contents))
    return Instance(item.kind, {str(name): one for name, one in contents.items()})


def place(label: str, item: Structure, key: object) -> str:
    """What the text calls a place of ``item``, which it calls ``label``."""
    if isinstance(item, Instance):
        return f"{label}.{key}"
    if isinstance(item, Sequence) and item.kind is not None and isinstance(key, int):
        return f"{label}.{item.kind.value._fields[key]}"  # type: ignore[attr-defined]
    return f"{label}[{key!r}]"


def differ(a: Structure, b: Structure) -> bool:
    """Whether the two have other classes, or other places."""
    if type(a) is not type(b):
        return True
    if isinstance(a, Sequence) and isinstance(b, Sequence):
        kinds = [None if one.kind is None else one.kind.value for one in (a, b)]
        same_kind = kinds[0] is kinds[1] and a.mutable == b.mutable
        return not same_kind or len(a.items) != len(b.items)
    if isinstance(a, Instance) and isinstance(b, Instance) and a.cls is not b.cls:
        return True
    # Dicts remember the order of their keys, which loops over them follow.
    return [*places(a)] != [*places(b)] if isinstance(a, Mapping) else {*places(a)} != {*places(b)}


def words(item: Structure) -> str:
    """What ``item`` is, told apart from what :func:`differ` tells it apart from."""
    if isinstance(item, Mapping):
        return f"a dict of {_listed(map(repr, item.items), len(item.items))}"
    if isinstance(item, Instance):
        held = _listed(item.fields, len(item.fields))
        return f"an object of the class {item.cls.__module__}.{item.cls.__qualname__} with {held}"
    return v.describe(item)


def _listed(texts: object, count: int) -> str:
    shown = [text for text, _ in zip(texts, range(_SHOWN), strict=False)]  # type: ignore[call-overload]
    return ", ".join(shown) + ", ..." * (count > _SHOWN) if count else "nothing"
