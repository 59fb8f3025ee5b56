"""Exact digests of captured Python values: equal digests mean the same type and the same value.

``True``, ``1`` and ``1.0`` differ, and so do ``0.0`` and ``-0.0``. A value whose meaning cannot be
told from its content (an open file, a tensor, an object of a user's class that is no dataclass)
raises :class:`Undigestible`. No libcst here: a warm start evaluates captured reads with it.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import struct
import types
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["LIMIT", "Undigestible", "code_digest", "digest"]

LIMIT = 256
"""Items that a captured container may have, nested ones included."""


class Undigestible(Exception):
    """The value of type ``kind`` cannot be captured exactly."""

    def __init__(self, kind: str, reason: str) -> None:
        self.kind = kind
        self.reason = reason
        super().__init__(f"{kind}: {reason}")


def digest(value: object) -> str:
    """Hexadecimal SHA-256 of the type and content of ``value``; raises Undigestible."""
    writer = _Writer()
    writer.put(value)
    return writer.hash.hexdigest()


def code_digest(code: types.CodeType) -> str:
    """Digest of what ``code`` does; file, lines and comments do not count."""
    writer = _Writer(limit=None)
    writer.code(code)
    return writer.hash.hexdigest()


class _Writer:
    """Feeds an unambiguous encoding (each item: tag, length, bytes) into a hash."""

    def __init__(self, limit: int | None = LIMIT) -> None:
        self.hash = hashlib.sha256()
        self.left = limit
        self.open: set[int] = set()

    def item(self, tag: str, data: bytes | str = b"") -> None:
        raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
        self.hash.update(f"{tag}:{len(raw)}:".encode())
        self.hash.update(raw)

    def put(self, value: object) -> None:
        kind = type(value)
        plain = _PLAIN.get(kind)
        if plain is not None:
            self.item(kind.__name__, plain(value))
        elif kind in (tuple, list):
            self.sequence(kind.__name__, value, value)  # type: ignore[arg-type]
        elif kind is dict:
            pairs = [part for pair in value.items() for part in pair]  # type: ignore[attr-defined]
            self.sequence("dict", value, pairs)
        elif kind in (set, frozenset):
            parts = sorted(digest(part) for part in value)  # type: ignore[attr-defined]
            self.sequence(kind.__name__, value, parts)
        elif isinstance(value, enum.Enum):
            self.item("enum", f"{_name(kind)}.{value.name}")
            self.put(value._value_)
        elif isinstance(value, types.FunctionType):
            self.function(value)
        elif isinstance(value, types.ModuleType):
            self.item("module", value.__name__)
        elif isinstance(value, type):
            self.item("class", _name(value))
            self.fields(value)
        else:
            self.record(value)

    def sequence(self, tag: str, container: object, parts: Iterable[object]) -> None:
        found = list(parts)
        if self.left is not None:
            self.left -= len(found)
            if self.left < 0:
                reason = f"it has more than {LIMIT} items; pass it as an argument"
                raise Undigestible(type(container).__name__, reason)
        self.nested(container)
        self.item(tag, str(len(found)))
        for part in found:
            self.put(part)
        self.open.discard(id(container))

    def nested(self, container: object) -> None:
        if id(container) in self.open:
            raise Undigestible(type(container).__name__, "it contains itself")
        self.open.add(id(container))

    def fields(self, kind: type) -> None:
        """What a call of a dataclass or named tuple takes."""
        if dataclasses.is_dataclass(kind):
            for field in dataclasses.fields(kind):
                self.item("field", f"{field.name} {field.init} {field.kw_only}")
        elif issubclass(kind, tuple):
            self.item("fields", repr(getattr(kind, "_fields", ())))

    def record(self, value: object) -> None:
        kind = type(value)
        if kind.__module__.partition(".")[0] == "pypto" and self.own(value):
            return
        if dataclasses.is_dataclass(value):
            self.nested(value)
            self.item("dataclass", _name(kind))
            self.sequence(
                "fields",
                object(),
                [p for f in dataclasses.fields(value) for p in (f.name, getattr(value, f.name))],
            )
            self.open.discard(id(value))
        elif isinstance(value, tuple) and hasattr(kind, "_fields"):
            self.item("namedtuple", _name(kind))
            self.sequence("tuple", value, tuple(value))
        elif kind is types.SimpleNamespace:
            self.sequence("namespace", value, [p for pair in vars(value).items() for p in pair])
        elif kind.__module__ == "numpy" and hasattr(value, "dtype") and _is_numpy_scalar(value):
            self.item("numpy", f"{kind.__name__} {value.dtype.str}")
            self.item("data", value.tobytes())  # type: ignore[attr-defined]
        elif kind.__module__.startswith("numpy") and kind.__name__.endswith(("dtype", "DType")):
            self.item("numpy.dtype", f"{value.str} {value}")  # type: ignore[attr-defined]
        elif (kind.__module__, kind.__name__) == ("torch", "dtype"):
            self.item("torch.dtype", str(value))
        elif isinstance(value, types.BuiltinFunctionType):
            owner = value.__self__
            if owner is not None and not isinstance(owner, types.ModuleType):
                raise Undigestible("method", f"'{value.__name__}' is bound to an object")
            self.item("builtin", f"{value.__module__}.{value.__qualname__}")
        elif kind is range or kind is slice:
            self.item(kind.__name__, repr(value))
        else:
            raise Undigestible(_name(kind), "its value cannot be told from its content")

    def own(self, value: object) -> bool:
        """Operations, builtins, annotations and symbols of pypto: constants of this version."""
        kind = type(value)
        if dataclasses.is_dataclass(value) and kind.__name__ != "Builtin":
            return False
        name = getattr(value, "name", None)
        if isinstance(name, str) and kind.__name__ in ("Builtin", "Operation"):
            self.item("pypto", f"{kind.__name__} {name}")
            return True
        if kind.__name__ == "SymbolicScalar":
            self.item("pypto", f"SymbolicScalar {value!r}")
            return True
        inner = getattr(value, "function", None)
        if isinstance(inner, types.FunctionType):
            self.item("pypto", kind.__name__)
            self.function(inner)
            return True
        return False

    def function(self, value: types.FunctionType) -> None:
        # Defaults, globals and closure cells are reads of their own, made where they are used.
        self.item("function", f"{value.__module__}.{value.__qualname__}")
        self.code(value.__code__)

    def code(self, code: types.CodeType) -> None:
        self.item("code", code.co_code)
        signature = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        self.item("shape", repr((code.co_name, signature, code.co_flags, names)))
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self.code(constant)
            elif isinstance(constant, frozenset):
                self.item("frozenset", "".join(sorted(digest(c) for c in constant)))
            elif isinstance(constant, tuple):
                self.item("tuple", digest(constant) if len(constant) <= LIMIT else repr(constant))
            else:
                self.put(constant)


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _is_numpy_scalar(value: object) -> bool:
    import sys

    numpy: Any = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic)


def _float(value: Any) -> bytes:
    return struct.pack("<d", value)


_PLAIN: dict[type, Callable[[Any], bytes | str]] = {
    type(None): lambda value: b"",
    type(Ellipsis): lambda value: b"",
    bool: repr,
    int: hex,
    float: _float,
    complex: lambda value: _float(value.real) + _float(value.imag),
    str: lambda value: value,
    bytes: lambda value: value,
}
