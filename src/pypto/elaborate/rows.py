"""Captured reads in the form that the launcher compares: places, and the objects that are there."""

from __future__ import annotations

import enum
import types
from typing import TypeAlias

from pypto.elaborate.captures import (
    CapturedRead,
    Step,
    builtins_of,
    cell_of,
    function_of,
    lookup,
    step_value,
)

__all__ = ["Row", "launcher_rows"]

Row: TypeAlias = tuple[object, object] | tuple[object, object, object]


def launcher_rows(
    reads: tuple[CapturedRead, ...], function: types.FunctionType
) -> tuple[Row, ...] | None:
    """The places that ``reads`` pass through, in the form the launcher compares by pointer.

    Rows are ``(container, key, expected)``: a dict and its key, a cell and None, a list and an
    index, an object and an attribute's name, or a mutable container and Ellipsis (compared by
    value); ``(dict, key)``: nothing is there. None when some read cannot be put so: such a
    kernel's reads are compared by :func:`evaluate`. Raises Unreadable when a read leads nowhere.
    """
    rows: dict[tuple[int, object], Row] = {}
    for read in reads:
        value: object = function
        for step in read.path:
            found = step_value(value, step)
            if step[0] == "method" and _is_class_method(value, step[1]):
                return None  # each look makes a new object of it
            if step[0] == "outline" and type(value) is not tuple:
                return None
            for row in _step_rows(value, step, found):
                rows[id(row[0]), repr(row[1])] = row
            value = found
        ending = _value_rows(value)
        if ending is None:
            return None
        for row in ending:
            rows[id(row[0]), repr(row[1])] = row
    return tuple(rows.values())


def _step_rows(value: object, step: Step, found: object) -> tuple[Row, ...]:
    """The places that one step reads; empty when the step cannot change."""
    kind, key = step
    if kind == "global":
        function = function_of(value)
        scope = function.__globals__
        if key in scope:
            return ((scope, key, found),)
        return (scope, key), (builtins_of(function), key, found)
    if kind == "cell":
        return ((cell_of(function_of(value), key), None, found),)
    if kind == "default":
        function = function_of(value)
        named = function.__kwdefaults__
        if named and key in named:
            return (function, "__kwdefaults__", named), (named, key, found)
        return ((function, "__defaults__", function.__defaults__),)
    if kind == "method":
        return _method_rows(value, key)
    if kind == "outline":
        return ()  # of a tuple
    if kind == "base":
        return ((value, "__mro__", value.__mro__),)  # type: ignore[attr-defined]
    if kind == "attr":
        stored = getattr(value, "__dict__", None)
        if isinstance(value, enum.Enum | enum.EnumMeta | tuple):
            return ()
        if type(stored) is dict and key in stored:
            return ((stored, key, found),)
        return ((value, key, found),)
    if isinstance(value, tuple | str | range | bytes):
        return ()
    if type(value) is list and (type(key) is not int or key < 0):
        return ((value, Ellipsis, value),)
    return ((value, key, found),)


def _method_rows(value: object, name: str) -> tuple[Row, ...]:
    """The class has the method, and the object nothing that hides it."""
    if isinstance(value, type):
        return ((value, name, getattr(value, name)),)
    row: Row = (type(value), name, getattr(type(value), name))
    stored = getattr(value, "__dict__", None)
    return (row, (stored, name)) if type(stored) is dict else (row,)


def _is_class_method(value: object, name: str) -> bool:
    kind = value if isinstance(value, type) else type(value)
    return isinstance(lookup(kind, name), classmethod)


_IMMUTABLE = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), range)


def _value_rows(value: object) -> tuple[Row, ...] | None:
    """What must stay as it is besides the pointer to ``value``; None when that cannot be said."""
    if _immutable(value):
        return ()
    if isinstance(value, types.FunctionType):
        return ((value, "__code__", value.__code__),)  # reloading in place replaces it
    if type(value) in (list, dict):
        parts = value if type(value) is list else value.values()  # type: ignore[attr-defined]
        if all(_immutable(part) for part in parts):
            return ((value, Ellipsis, value),)
    if type(value).__module__.startswith("pypto."):
        inner = getattr(value, "function", None)
        if isinstance(inner, types.FunctionType):
            return ((inner, "__code__", inner.__code__),)
    return None


def _immutable(value: object) -> bool:
    kind = type(value)
    if kind in _IMMUTABLE or isinstance(value, enum.Enum | types.ModuleType | type):
        return True
    if isinstance(value, types.BuiltinFunctionType):
        return True
    if kind is tuple or kind is frozenset:
        return all(_immutable(part) for part in value)  # type: ignore[attr-defined]
    module = kind.__module__.partition(".")[0]
    if module == "pypto":
        return not hasattr(value, "function")
    return module in ("numpy", "torch") and not hasattr(value, "__setitem__")
