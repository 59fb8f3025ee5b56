"""Frozen, slotted dataclasses that are made in a fraction of the time.

``dataclasses.dataclass`` compiles the text of six methods for each class, half a millisecond that
a new process pays before its first kernel runs. :func:`record` gives all classes the same methods
instead. They mean the same, and the functions of ``dataclasses`` (``replace``, ``fields``) take the
instances; making one costs a little more. So records are for classes that are loaded on the way to
a cached kernel, ``dataclass`` is for those that the compiler makes by the thousand.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

__all__ = ["record"]

if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:

    def record(*, frozen: bool, slots: bool, eq: bool = True) -> Callable[[type], type]:
        """A class decorator: ``dataclass`` with these arguments. ``frozen`` and ``slots`` are said
        for the reader and the type checker; there are no other records."""
        if not (frozen and slots):
            raise TypeError("records are frozen and have slots")
        return lambda cls: _made(cls, eq)


def _made(cls: type, eq: bool) -> type:
    own = set(cls.__dict__)  # what the class's body defines stays
    if "__post_init__" in own:
        raise TypeError(f"{cls.__name__}: records have no __post_init__")
    made: Any = _slotted(cls)
    fields = dataclasses.fields(made)
    names = tuple(field.name for field in fields)
    made.__record_names__ = names
    # Slots are written through their descriptors, past the __setattr__ that refuses.
    made.__record_stores__ = tuple(getattr(made, name).__set__ for name in names)
    made.__record_values__ = staticmethod(_reader(names))
    for name, method in (_METHODS | _COMPARISONS if eq else _METHODS).items():
        # A body that defines __eq__ has a __hash__ of None when it does not define that too.
        if name not in own or (name == "__hash__" and "__eq__" not in own):
            setattr(made, name, method)
    return made  # type: ignore[no-any-return]


def _slotted(cls: type) -> type:
    """``cls`` again, with a slot and the description of ``dataclasses`` for each field."""
    known: dict[str, Any] = {}
    for base in reversed(cls.__mro__[1:]):
        known |= getattr(base, "__dataclass_fields__", {})
    body = {k: v for k, v in cls.__dict__.items() if k not in ("__dict__", "__weakref__")}
    slots = []
    for name, kind in body.get("__annotations__", {}).items():
        default = body.pop(name, dataclasses.MISSING)
        if isinstance(default, dataclasses.Field) or "ClassVar" in str(kind):
            raise TypeError(f"{cls.__name__}.{name}: records have plain fields only")
        field: Any = dataclasses.field(default=default)
        field.name, field.type = name, kind
        field._field_type, field.kw_only = _PLAIN, False
        if name not in known:
            slots.append(name)
        known[name] = field
    body["__slots__"] = tuple(slots)
    body["__match_args__"] = tuple(known)
    made = type(cls)(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    described: Any = made
    described.__dataclass_fields__ = known
    described.__dataclass_params__ = _PARAMS
    return made


def _reader(names: tuple[str, ...]) -> Callable[[Any], tuple[object, ...]]:
    """The function that gives an instance's values as a tuple."""
    if len(names) > 1:
        return operator.attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _init(self: Any, /, *args: object, **kwargs: object) -> None:
    stores = self.__record_stores__
    if kwargs or len(args) != len(stores):
        args = _bound(type(self), args, kwargs)
    for store, value in zip(stores, args, strict=True):
        store(self, value)


def _bound(cls: Any, args: tuple[object, ...], kwargs: Mapping[str, object]) -> tuple[object, ...]:
    """A value for each field. Raises TypeError as a call of any function does."""
    names = cls.__record_names__
    call = f"{cls.__name__}.__init__()"
    if len(args) > len(names):
        raise TypeError(f"{call} takes {len(names)} arguments but {len(args)} were given")
    given = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name not in names:
            raise TypeError(f"{call} got an unexpected keyword argument {name!r}")
        if name in given:
            raise TypeError(f"{call} got multiple values for argument {name!r}")
        given[name] = value
    for field in dataclasses.fields(cls):
        if given.setdefault(field.name, field.default) is dataclasses.MISSING:
            raise TypeError(f"{call} missing a required argument: {field.name!r}")
    return tuple(given[name] for name in names)


def _repr(self: Any) -> str:
    values = zip(self.__record_names__, self.__record_values__(self), strict=True)
    return f"{type(self).__qualname__}({', '.join(f'{n}={v!r}' for n, v in values)})"


def _eq(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return self.__record_values__(self) == self.__record_values__(other)


def _hash(self: Any) -> int:
    return hash(self.__record_values__(self))


def _setattr(self: object, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _getstate(self: Any) -> tuple[object, ...]:
    values: tuple[object, ...] = self.__record_values__(self)
    return values


def _setstate(self: Any, state: tuple[object, ...]) -> None:
    for store, value in zip(self.__record_stores__, state, strict=True):
        store(self, value)


@dataclasses.dataclass(init=False, repr=False, eq=False)
class _Example:
    x: int


# What the functions of dataclasses look for in a class and its fields.
_PARAMS: Any = _Example.__dataclass_params__  # type: ignore[attr-defined]
_PLAIN: Any = dataclasses.fields(_Example)[0]._field_type  # type: ignore[attr-defined]

_METHODS: dict[str, Callable[..., Any]] = {
    "__init__": _init, "__repr__": _repr, "__setattr__": _setattr, "__delattr__": _delattr,
    "__getstate__": _getstate, "__setstate__": _setstate,
}  # fmt: skip
_COMPARISONS: dict[str, Callable[..., Any]] = {"__eq__": _eq, "__hash__": _hash}
