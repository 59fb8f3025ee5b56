"""Frozen, slotted dataclasses whose class is made in a twentieth of the time.

``dataclasses.dataclass`` compiles the text of six methods for each class, half a millisecond that
a new process pays before its first kernel runs. Subclasses of :class:`Record` share the methods
instead. They mean the same, and the functions of ``dataclasses`` (``replace``, ``fields``) take
them; making an instance costs a little more. So records are for classes that are loaded on the way
to a cached kernel, ``dataclass`` is for those that the compiler makes by the thousand.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform

__all__ = ["Record"]


@dataclass_transform(frozen_default=True)
class _RecordType(type):
    """Makes a slot of each annotated name of a class's body."""

    def __new__(
        cls, name: str, bases: tuple[type, ...], body: dict[str, Any], *, eq: bool = True
    ) -> _RecordType:
        """``eq``: whether instances are equal by their values; else each equals itself alone.

        ``__slots__`` of a body are for what instances keep beside their values.
        """
        if "__post_init__" in body:
            raise TypeError(f"{name}: records have no __post_init__")
        defaults: dict[str, Any] = {}
        names: tuple[str, ...] = ()
        for base in reversed(bases):
            defaults |= getattr(base, "__record_defaults__", {})
            names += getattr(base, "__record_names__", ())
        own = body.get("__annotations__", {})
        for field, kind in own.items():
            if "ClassVar" in str(kind) or isinstance(body.get(field), dataclasses.Field):
                raise TypeError(f"{name}.{field}: records have plain fields only")
            if field in body:
                defaults[field] = body.pop(field)
        added = tuple(field for field in own if field not in names)
        names += added
        body["__slots__"] = (*added, *body.get("__slots__", ()))
        body["__match_args__"] = body["__record_names__"] = names
        body["__record_defaults__"] = defaults
        body["__record_values__"] = staticmethod(_reader(names))
        if not eq:
            body.setdefault("__eq__", object.__eq__)
            body.setdefault("__hash__", object.__hash__)
        elif "__eq__" in body:  # a body with an __eq__ alone would get a __hash__ of None
            body.setdefault("__hash__", _hash)
        return super().__new__(cls, name, bases, body)


def _reader(names: tuple[str, ...]) -> Callable[[Any], tuple[object, ...]]:
    """The function that gives an instance's values as a tuple."""
    if len(names) > 1:
        return operator.attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _hash(self: Any) -> int:
    return hash(self.__record_values__(self))


class _Fields:
    """The description of a record's fields that the functions of ``dataclasses`` look for."""

    def __get__(self, instance: object, owner: Any) -> dict[str, Any]:
        kinds: dict[str, Any] = {}
        for base in reversed(owner.__mro__):
            kinds |= inspect.get_annotations(base)
        described = {}
        for name in owner.__record_names__:
            default = owner.__record_defaults__.get(name, dataclasses.MISSING)
            field: Any = dataclasses.field(default=default)
            field.name, field.type = name, kinds[name]
            field._field_type, field.kw_only = _plain(), False
            described[name] = field
        return described


class Record(metaclass=_RecordType):
    """The base of all records: annotated names are the fields, as in a frozen dataclass."""

    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
    else:
        __dataclass_fields__ = _Fields()

        def __init__(self, /, *args: object, **kwargs: object) -> None:
            names = self.__record_names__
            if kwargs or len(args) != len(names):
                args = _bound(type(self), args, kwargs)
            # Past the __setattr__ that refuses.
            for name, value in zip(names, args, strict=True):
                _store(self, name, value)

        def __setattr__(self, name: str, value: object) -> None:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

        def __delattr__(self, name: str) -> None:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

        def __getstate__(self) -> tuple[object, ...]:
            return self.__record_values__(self)

        def __setstate__(self, state: tuple[object, ...]) -> None:
            for name, value in zip(self.__record_names__, state, strict=True):
                _store(self, name, value)

        def __eq__(self, other: object) -> bool:
            if other.__class__ is not self.__class__:
                return NotImplemented
            return self.__record_values__(self) == other.__record_values__(other)

        __hash__ = _hash

        def __repr__(self) -> str:
            values = zip(self.__record_names__, self.__record_values__(self), strict=True)
            return f"{type(self).__qualname__}({', '.join(f'{n}={v!r}' for n, v in values)})"


_store = object.__setattr__


def _bound(cls: Any, args: tuple[object, ...], kwargs: Mapping[str, object]) -> tuple[object, ...]:
    """A value for each field. Raises TypeError as a call of any function does."""
    names, defaults = cls.__record_names__, cls.__record_defaults__
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
    for name in names:
        if name not in given:
            if name not in defaults:
                raise TypeError(f"{call} missing a required argument: {name!r}")
            given[name] = defaults[name]
    return tuple(given[name] for name in names)


@functools.cache
def _plain() -> object:
    """What ``dataclasses`` marks a field with that is neither a ClassVar nor an InitVar."""

    @dataclasses.dataclass(init=False, repr=False, eq=False)
    class Example:
        """An example."""

        x: int

    return dataclasses.fields(Example)[0]._field_type  # type: ignore[attr-defined]
