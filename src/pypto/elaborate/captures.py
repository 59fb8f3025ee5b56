"""Captured reads: what a kernel took from outside its parameters, so that a change is noticed.

A read is a path that starts at the kernel's function object, and the digest of the value that it
led to. Each step goes from one object to the next:

====================  ==============================================================
``("global", name)``  function -> its module's global, else the built-in of that name
``("cell", name)``    function -> content of its closure cell
``("default", name)`` function -> default value of its parameter
``("attr", name)``    object -> attribute stored in it (no property, no ``__getattr__``)
``("item", key)``     list, tuple, dict, str, range -> element
``("outline", None)`` list, tuple -> length; dict -> its keys
``("method", name)``  object or class -> function of that method, class method or property
``("base", number)``  class -> the class at this place of its method resolution order
====================  ==============================================================

``global h``, ``global K`` is the global ``K`` of the module of helper ``h``. Reads are plain data
(:meth:`CapturedRead.to_json`) and are evaluated again without parsing anything.
"""

from __future__ import annotations

import enum
import functools
import types
from typing import Any, TypeAlias

from pypto._record import Record
from pypto.elaborate.digests import LIMIT, Undigestible, digest

__all__ = [
    "ABSENT",
    "CapturedRead",
    "Path",
    "Step",
    "Unreadable",
    "builtins_of",
    "cell_of",
    "evaluate",
    "follow",
    "function_of",
    "lookup",
    "method_kind",
    "path_text",
    "static_attribute",
    "step_value",
    "whole_text",
]

Step: TypeAlias = tuple[str, Any]
Path: TypeAlias = tuple[Step, ...]

ABSENT = "absent"
"""Digest of a read that leads nowhere (any more)."""

_CONTAINERS: tuple[Any, ...] = (list, tuple, dict, str, bytes, range)


class Unreadable(Exception):
    """A step that cannot be taken; ``str`` says why. ``missing``: there is no such thing;
    ``help``: what to write instead, where that is special."""

    def __init__(self, message: str, *, missing: bool = False, help: str | None = None) -> None:
        self.missing = missing
        self.help = help
        super().__init__(message)


class CapturedRead(Record):
    """The value at ``path`` from the kernel's function had ``digest``."""

    path: Path
    digest: str

    def __str__(self) -> str:
        return path_text(self.path)

    def to_json(self) -> list[Any]:
        """Plain lists, strings and numbers: ``[[[kind, key], ...], digest]``."""
        return [[list(step) for step in self.path], self.digest]

    @classmethod
    def from_json(cls, data: Any) -> CapturedRead:
        """The read that :meth:`to_json` described; ValueError for anything else."""
        try:
            path, value = data
            steps = tuple((kind, key) for kind, key in path)
        except (TypeError, ValueError) as error:
            raise ValueError(f"no captured read: {data!r}") from error
        known = all(k in _STEPS and isinstance(key, str | int | bool | None) for k, key in steps)
        if not isinstance(value, str) or not steps or not known:
            raise ValueError(f"no captured read: {data!r}")
        return cls(steps, value)


def path_text(path: Path) -> str:
    """``cfg.N``, ``SIZES[0]``, ``h -> K``: the read as a person would write it."""
    out = ""
    for kind, key in path:
        if kind in ("attr", "method"):
            out += f".{key}"
        elif kind == "item":
            out += f"[{key!r}]"
        elif kind == "base":
            out += ".__mro__[" + str(key) + "]"
        else:
            out += f" -> {key}" if out else str(key)
    return out


def whole_text(path: Path) -> str:
    """``'L'``, or ``an item of 'L'``: alike for all items, so that an error is told once."""
    end = len(path)
    while path[end - 1][0] == "item":
        end -= 1
    return f"{'an item of ' if end < len(path) else ''}'{path_text(path[:end])}'"


def evaluate(read: CapturedRead, function: types.FunctionType) -> str:
    """Digest of what ``read`` leads to now; :data:`ABSENT` when it leads nowhere."""
    try:
        return digest(follow(read.path, function))
    except (Unreadable, Undigestible):
        return ABSENT


def follow(path: Path, function: types.FunctionType) -> object:
    """The object at ``path``; raises Unreadable."""
    value: object = function
    for step in path:
        value = step_value(value, step)
    return value


def step_value(value: object, step: Step) -> object:
    """The object one ``step`` away from ``value``; raises Unreadable."""
    kind, key = step
    return _STEPS[kind](value, key)


def function_of(value: object) -> types.FunctionType:
    if type(value).__module__.startswith("pypto."):
        value = getattr(value, "function", value)  # pypto.frontend.function keeps it there
    if not isinstance(value, types.FunctionType):
        raise Unreadable(f"a {type(value).__name__} is no Python function", missing=True)
    return value


def _global(value: object, name: str) -> object:
    function = function_of(value)
    try:
        return function.__globals__[name]
    except KeyError:
        pass
    try:
        return builtins_of(function)[name]
    except KeyError:
        raise Unreadable(f"name '{name}' is not defined", missing=True) from None


def builtins_of(function: types.FunctionType) -> dict[str, Any]:
    untyped: Any = function  # not all type stubs know the attribute
    found: dict[str, Any] = untyped.__builtins__
    return found


def _cell(value: object, name: str) -> object:
    try:
        return cell_of(function_of(value), name).cell_contents
    except ValueError:
        raise Unreadable(f"'{name}' has no value yet", missing=True) from None


def cell_of(function: types.FunctionType, name: str) -> types.CellType:
    names = function.__code__.co_freevars
    if name not in names or function.__closure__ is None:
        raise Unreadable(f"name '{name}' is not defined", missing=True)
    return function.__closure__[names.index(name)]


def _default(value: object, name: str) -> object:
    function = function_of(value)
    code = function.__code__
    if function.__kwdefaults__ and name in function.__kwdefaults__:
        return function.__kwdefaults__[name]
    defaults = function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount][code.co_argcount - len(defaults) :]
    if name not in names:
        raise Unreadable(f"parameter '{name}' has no default", missing=True)
    return defaults[names.index(name)]


def static_attribute(value: object, name: str) -> object:
    """Attribute ``name`` of ``value`` if it is stored data; code that would run is refused."""
    if isinstance(value, types.ModuleType):
        return _module_attribute(value, name)
    if name == "__class__":
        return type(value)
    if isinstance(value, type):
        return _class_attribute(value, name)
    kind = type(value)
    if isinstance(value, enum.Enum) and name in ("name", "value"):
        return value.name if name == "name" else value._value_
    if not isinstance(kind.__getattribute__, types.WrapperDescriptorType):
        raise Unreadable(f"'{kind.__name__}' computes its attributes in __getattribute__")
    found = lookup(kind, name)
    if isinstance(found, property):
        raise Unreadable(f"'{name}' is a property of '{kind.__name__}': it runs code when read")
    if isinstance(found, types.MemberDescriptorType) or type(found).__name__ == "_tuplegetter":
        try:
            return found.__get__(value, kind)  # type: ignore[attr-defined]
        except AttributeError:
            raise Unreadable(
                f"'{name}' of the '{kind.__name__}' is not set", missing=True
            ) from None
    stored = getattr(value, "__dict__", None)
    if type(stored) is dict and name in stored:
        return stored[name]
    if found is not _NONE:
        if isinstance(found, staticmethod):
            return found.__func__
        if hasattr(type(found), "__get__"):
            raise Unreadable(f"'{name}' of '{kind.__name__}' is no stored value: it runs code")
        return found
    if lookup(kind, "__getattr__") is not _NONE:
        raise Unreadable(f"'{kind.__name__}' computes '{name}' in __getattr__")
    raise Unreadable(f"'{kind.__name__}' object has no attribute '{name}'", missing=True)


def method_kind(kind: type, stored: object, name: str) -> str | None:
    """What ``name`` is in objects of ``kind``: "method", "static", "class" or "property".

    None for what is stored in the object (``stored`` is its dict), for code without Python source
    and for classes that compute their attributes.
    """
    if not isinstance(kind.__getattribute__, types.WrapperDescriptorType):
        return None
    found = lookup(kind, name)
    if type(found) is property:
        return "property" if isinstance(found.fget, types.FunctionType) else None
    if type(stored) is dict and name in stored:
        return None
    return _METHOD_KINDS.get(type(found))


_METHOD_KINDS: dict[type, str] = {
    types.FunctionType: "method",
    staticmethod: "static",
    classmethod: "class",
    functools.cached_property: "property",
}


def _method(value: object, name: str) -> object:
    """The Python function of a method or property of ``value``, or of its class."""
    kind = value if isinstance(value, type) else type(value)
    stored = None if isinstance(value, type) else getattr(value, "__dict__", None)
    what = method_kind(kind, stored, name)
    found: Any = lookup(kind, name)
    if what is None:
        raise Unreadable(f"'{kind.__name__}' has no method '{name}' in Python", missing=True)
    if what == "property":
        found = found.fget if isinstance(found, property) else found.func
    elif what != "method":
        found = found.__func__
    if not isinstance(found, types.FunctionType):
        raise Unreadable(f"'{name}' of '{kind.__name__}' is no Python function", missing=True)
    return found


class _None:
    """No such attribute."""


_NONE = _None()


def lookup(kind: type, name: str) -> object:
    for base in kind.__mro__:
        if name in vars(base):
            found: object = vars(base)[name]
            return found
    return _NONE


def _module_attribute(module: types.ModuleType, name: str) -> object:
    stored = vars(module)
    if name in stored:
        return stored[name]
    if "__getattr__" in stored:
        raise Unreadable(f"module '{module.__name__}' computes '{name}' in __getattr__")
    raise Unreadable(f"module '{module.__name__}' has no attribute '{name}'", missing=True)


def _class_attribute(kind: type, name: str) -> object:
    if isinstance(kind, enum.EnumMeta) and name in kind.__members__:
        return kind.__members__[name]
    found = lookup(kind, name)
    if found is _NONE:
        raise Unreadable(f"class '{kind.__name__}' has no attribute '{name}'", missing=True)
    if isinstance(found, staticmethod):
        return found.__func__
    if hasattr(type(found), "__get__") and not isinstance(found, types.FunctionType):
        raise Unreadable(f"'{name}' of class '{kind.__name__}' is no stored value: it runs code")
    return found


def _item(value: object, key: Any) -> object:
    kind: Any = type(value)
    plain = any(
        isinstance(value, base) and kind.__getitem__ is base.__getitem__ for base in _CONTAINERS
    )
    if not plain or lookup(kind, "__missing__") is not _NONE:
        raise Unreadable(f"indexing a '{kind.__name__}' runs code")
    if len(value) > LIMIT:  # type: ignore[arg-type]
        raise Unreadable(f"it has more than {LIMIT} items; pass it as an argument")
    try:
        found: object = value[key]  # type: ignore[index]
    except KeyError:
        raise Unreadable(f"there is no key {key!r}", missing=True) from None
    except (IndexError, TypeError) as error:
        raise Unreadable(str(error), missing=True) from None
    return found


def _outline(value: object, key: None) -> object:
    """How long a list or tuple is, or the keys of a dict."""
    if type(value) is dict:
        return tuple(value)
    if type(value) in (list, tuple):
        return len(value)  # type: ignore[arg-type]
    raise Unreadable(f"a '{type(value).__name__}' has no length that is read")


def _base(value: object, number: int) -> object:
    order = value.__mro__ if isinstance(value, type) else ()
    if not 0 <= number < len(order):
        raise Unreadable("there is no such base class", missing=True)
    return order[number]


_STEPS: dict[str, Any] = {
    "base": _base,
    "global": _global,
    "cell": _cell,
    "default": _default,
    "attr": static_attribute,
    "item": _item,
    "method": _method,
    "outline": _outline,
}
