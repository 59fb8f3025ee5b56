"""Names in scope, their types and, where they have one, their constant values."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pypto.lint import nodes
from pypto.lint.nodes import Expr, Template, Type

if TYPE_CHECKING:
    from pypto.lint.places import Place

__all__ = [
    "SIZES",
    "Scope",
    "Variable",
    "arithmetic",
    "canonical",
    "converted",
    "fold",
    "literal_type",
]

Number = int | float

SIZES = {
    "bool": 1,
    "char": 1,
    "int8_t": 1,
    "uint8_t": 1,
    "int16_t": 2,
    "uint16_t": 2,
    "half": 2,
    "bfloat16_t": 2,
    "int32_t": 4,
    "uint32_t": 4,
    "float": 4,
    "int64_t": 8,
    "uint64_t": 8,
    "double": 8,
}
"""Bytes of the arithmetic types."""

_CANONICAL = {
    "int": "int32_t",
    "signed": "int32_t",
    "signed int": "int32_t",
    "unsigned": "uint32_t",
    "unsigned int": "uint32_t",
    "long": "int64_t",
    "long int": "int64_t",
    "long long": "int64_t",
    "unsigned long": "uint64_t",
    "unsigned long long": "uint64_t",
    "size_t": "uint64_t",
    "std::size_t": "uint64_t",
    "short": "int16_t",
    "unsigned short": "uint16_t",
    "char": "int8_t",
    "unsigned char": "uint8_t",
    "ptrdiff_t": "int64_t",
    "uintptr_t": "uint64_t",
    "long double": "double",
    "event_t": "int32_t",
    "TEventID": "int32_t",
}


@functools.lru_cache(maxsize=4096)
def canonical(name: str) -> str:
    """One name for each arithmetic type; other names without ``AscendC::``."""
    name = name.removeprefix("AscendC::").removeprefix("std::")
    return _CANONICAL.get(name, name)


@dataclass(slots=True, eq=False)
class Variable:
    """A name. ``kind``: global, field, parameter, local, template or function.

    ``type`` is None for a template's type parameter and for what is not known. ``value``: of a
    constant. ``init``: what it is made from, where it never changes. ``owner``: its class.
    """

    name: str
    kind: str
    type: Type | None
    at: int
    value: Number | None = None
    init: Expr | None = None
    owner: str = ""
    dims: int = 0
    below: Expr | None = None
    """The condition of the loop whose variable it is."""
    changes: bool = False
    """Whether something was assigned to it so far."""
    fixed: bool = False
    """Whether it is const or constexpr."""
    bound: Type | None = None
    """The type or the name of a constant that a template's parameter stands for in a call."""
    place: Place | None = None
    """Where a tensor lies that was taken from a buffer, or that a parameter stands for."""
    buffer: Variable | None = None
    """The queue that a tensor was taken from, or the buffer that a parameter stands for."""
    by_core: bool = False
    """Whether its value differs between cores."""


class Scope:
    """Names by block, innermost last."""

    def __init__(self, outer: dict[str, Variable]) -> None:
        self.blocks: list[dict[str, Variable]] = [outer]

    def find(self, name: str) -> Variable | None:
        for block in reversed(self.blocks):
            found = block.get(name)
            if found is not None:
                return found
        if "::" in name:
            return self.find(name.rpartition("::")[2])
        return None

    def add(self, variable: Variable) -> None:
        self.blocks[-1][variable.name] = variable


def literal_type(text: str) -> str:
    """The type of a number as C++ reads it."""
    low = text.lower()
    if low.startswith("0x"):
        suffix = low.lstrip("0123456789abcdefx'")
        small = "p" not in low
    else:
        suffix = low.lstrip("0123456789.'e+-")
        small = not ("." in low or "e" in low)
    if not small:
        return "float" if suffix.endswith("f") else "double"
    unsigned, long_ = "u" in suffix, "l" in suffix
    value = number(text)
    if isinstance(value, int):
        limit = 1 << (32 if unsigned or low.startswith("0x") else 31)
        long_ = long_ or value >= limit
        unsigned = unsigned or (low.startswith("0x") and value >= 1 << (63 if long_ else 31))
    return ("u" if unsigned else "") + ("int64_t" if long_ else "int32_t")


def number(text: str) -> Number | None:
    """The value of a literal; None for strings and characters."""
    if text in ("true", "false"):
        return int(text == "true")
    low = text.lower().replace("'", "")
    try:
        if low.startswith("0x"):
            return float.fromhex(low.rstrip("fl")) if "p" in low else int(low.rstrip("ul"), 16)
        if low.startswith("0b"):
            return int(low.rstrip("ul"), 2)
        if "." in low or "e" in low:
            return float(low.rstrip("fl"))
        low = low.rstrip("ul")
        return int(low, 8 if len(low) > 1 and low.startswith("0") else 10)
    except ValueError:
        return None


_RANK = ("int32_t", "uint32_t", "int64_t", "uint64_t", "half", "bfloat16_t", "float", "double")


def arithmetic(left: str, right: str) -> str | None:
    """The type that ``left op right`` has; None where one of them is no arithmetic type."""
    if left not in SIZES or right not in SIZES:
        return None
    a = left if left in _RANK else "int32_t"
    b = right if right in _RANK else "int32_t"
    return a if _RANK.index(a) >= _RANK.index(b) else b


def fold(value: Template, scope: Scope) -> Number | None:
    """The value of a constant expression; None for anything else."""
    kind = type(value)
    if kind is nodes.Literal:
        return number(value.text)  # type: ignore[union-attr]
    if kind is nodes.Name or kind is Type:
        found = scope.find(value.name)  # type: ignore[union-attr]
        return None if found is None else found.value
    reader = _FOLDS.get(kind)
    return None if reader is None else reader(value, scope)


def _unary(value: nodes.Unary, scope: Scope) -> Number | None:
    inner = fold(value.operand, scope)
    if inner is None:
        return None
    if value.op == "-":
        return -inner
    if value.op == "+":
        return inner
    if value.op == "!":
        return int(not inner)
    return ~inner if value.op == "~" and isinstance(inner, int) else None


def _binary(value: nodes.Binary, scope: Scope) -> Number | None:
    left = fold(value.left, scope)
    if left is None:
        return None
    right = fold(value.right, scope)
    return None if right is None else _operate(value.op, left, right)


def _operate(op: str, a: Number, b: Number) -> Number | None:
    plain = _PLAIN.get(op)
    if plain is not None:
        return plain(a, b)
    if op == "/":
        if b == 0:
            return None
        if isinstance(a, int) and isinstance(b, int):
            return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return a / b
    if not (isinstance(a, int) and isinstance(b, int)):
        return None
    if op == "%":
        return None if b == 0 else abs(a) % abs(b) * (-1 if a < 0 else 1)
    if op in ("<<", ">>"):
        if not 0 <= b < 64:
            return None
        return a << b if op == "<<" else a >> b
    return {"&": a & b, "|": a | b, "^": a ^ b}.get(op)


_PLAIN: dict[str, Callable[[Number, Number], Number]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "<": lambda a, b: int(a < b),
    ">": lambda a, b: int(a > b),
    "<=": lambda a, b: int(a <= b),
    ">=": lambda a, b: int(a >= b),
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "&&": lambda a, b: int(bool(a and b)),
    "||": lambda a, b: int(bool(a or b)),
}


def _ternary(value: nodes.Ternary, scope: Scope) -> Number | None:
    condition = fold(value.condition, scope)
    if condition is None:
        return None
    return fold(value.left if condition else value.right, scope)


def _cast(value: nodes.Cast, scope: Scope) -> Number | None:
    inner = fold(value.operand, scope)
    if inner is None or value.type.pointers:
        return None
    to = scope.find(value.type.name)
    kind = value.type if to is None or to.bound is None else to.bound
    return converted(inner, canonical(kind.name))


def converted(inner: Number, name: str) -> Number | None:
    """``inner`` as a value of the arithmetic type ``name``; None where it is none."""
    if name not in SIZES:
        return None
    if name in ("half", "bfloat16_t", "float", "double"):
        return float(inner)
    if name == "bool":
        return int(bool(inner))
    bits = 8 * SIZES[name]
    wrapped = int(inner) & ((1 << bits) - 1)
    return wrapped - (1 << bits) if name[0] == "i" and wrapped >> (bits - 1) else wrapped


def _size_of(value: nodes.SizeOf, scope: Scope) -> Number | None:
    of = value.of
    if isinstance(of, nodes.Name):
        of = Type(of.name)
    if not isinstance(of, Type):
        return None
    if of.pointers:
        return 8
    found = scope.find(of.name)
    if found is not None and found.kind == "template" and found.bound is not None:
        of = found.bound
    return SIZES.get(canonical(of.name))


_FOLDS: dict[type, Callable[[Any, Scope], Number | None]] = {
    nodes.Unary: _unary,
    nodes.Binary: _binary,
    nodes.Ternary: _ternary,
    nodes.Cast: _cast,
    nodes.SizeOf: _size_of,
}
