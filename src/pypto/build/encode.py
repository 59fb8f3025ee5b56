"""A canonical encoding of typed values to bytes, the only thing that cache keys are made of.

Equal bytes mean the same type and the same value: ``True``, ``1`` and ``1.0`` differ, as do
``0.0`` and ``-0.0``. Each value is a tag, a length and a payload, so that no two values share
bytes. Nothing of a process enters: no ``hash()``, no address, no pickle, no path of a code object.
"""

from __future__ import annotations

import dataclasses
import enum
import struct
import types
from collections.abc import Iterable

from pypto.error import FeTypeError, FeValueError

__all__ = ["encode"]

_MAX_DEPTH = 100

# What a code object computes, without where it stands: no file name, no line table.
_CODE_FIELDS = (
    "co_name",
    "co_qualname",
    "co_argcount",
    "co_posonlyargcount",
    "co_kwonlyargcount",
    "co_flags",
    "co_code",
    "co_consts",
    "co_names",
    "co_varnames",
    "co_freevars",
    "co_cellvars",
    "co_exceptiontable",
)


def encode(value: object) -> bytes:
    """The canonical bytes of ``value``.

    Takes None, Ellipsis, bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset,
    enum members, code objects and dataclass instances, all nested; a subclass of one of the plain
    types is refused, as it may behave otherwise. Raises FeTypeError for any other type and
    FeValueError for values nested too deeply (or holding themselves).
    """
    return _encode(value, 0)


def _encode(value: object, depth: int) -> bytes:
    if depth > _MAX_DEPTH:
        raise FeValueError(f"A value nested more than {_MAX_DEPTH} levels deep cannot be in a key.")
    plain = _plain(value)
    if plain is not None:
        return plain
    kind = type(value)
    if isinstance(value, enum.Enum):
        return _frame(b"E", _name(kind) + _encode(value.name, depth) + _encode_member(value, depth))
    if kind is tuple or kind is list:
        assert isinstance(value, tuple | list)
        return _sequence(b"t" if kind is tuple else b"l", value, depth)
    if kind is set or kind is frozenset:
        assert isinstance(value, set | frozenset)
        members = sorted(_encode(member, depth + 1) for member in value)
        return _frame(b"s" if kind is set else b"z", b"".join(members))
    if kind is dict:
        assert isinstance(value, dict)
        items = sorted((_encode(k, depth + 1), _encode(v, depth + 1)) for k, v in value.items())
        return _frame(b"d", b"".join(k + v for k, v in items))
    if isinstance(value, types.CodeType):
        return _sequence(b"C", [getattr(value, field) for field in _CODE_FIELDS], depth)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
        return _frame(b"D", _name(kind) + _sequence(b"t", fields, depth))
    raise FeTypeError(
        f"A value of type {kind.__module__}.{kind.__qualname__} cannot be part of a cache key."
    )


def _plain(value: object) -> bytes | None:
    kind = type(value)
    if value is None:
        return b"N"
    if value is Ellipsis:
        return b"."
    if kind is bool:
        return b"T" if value else b"F"
    if kind is int:
        assert isinstance(value, int)
        return _frame(b"i", value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))
    if kind is float:
        return b"f" + struct.pack(">d", value)
    if kind is complex:
        assert isinstance(value, complex)
        return b"c" + struct.pack(">dd", value.real, value.imag)
    if kind is str:
        assert isinstance(value, str)
        return _frame(b"u", value.encode("utf-8", "surrogatepass"))
    if kind is bytes:
        assert isinstance(value, bytes)
        return _frame(b"b", value)
    return None


def _encode_member(value: enum.Enum, depth: int) -> bytes:
    # The member's own value as the plain type it was written as; other values are named only.
    written = value.value
    if type(written) in (int, str, float, bool, tuple, bytes):
        return _encode(written, depth + 1)
    return b"N"


def _sequence(tag: bytes, values: Iterable[object], depth: int) -> bytes:
    return _frame(tag, b"".join(_encode(value, depth + 1) for value in values))


def _name(kind: type) -> bytes:
    return _frame(b"u", f"{kind.__module__}.{kind.__qualname__}".encode("utf-8", "surrogatepass"))


def _frame(tag: bytes, payload: bytes) -> bytes:
    return tag + len(payload).to_bytes(8, "big") + payload
