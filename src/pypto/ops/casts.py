"""Which casts there are, and how a message proposes one."""

from __future__ import annotations

from pypto.ir.dtype import DataType
from pypto.ops.lowering import BF16, F16, F32, I8, I16, I32, I64, U8

__all__ = ["CASTS", "cast_text", "cast_to_one_of", "wider"]

CASTS: dict[DataType, frozenset[DataType]] = {
    F32: frozenset({F16, F32, BF16, I64, I32, I16}),
    F16: frozenset({F32, F16, BF16, I32, I16, I8, U8}),
    BF16: frozenset({F32, F16, BF16, I32}),
    I32: frozenset({F32, I32, I64, I16, F16}),
    I16: frozenset({F32, I16, F16}),
    I64: frozenset({F32, I64, I32}),
    U8: frozenset({F16, U8}),
    I8: frozenset({F16, I8}),
}
"""The dtypes that ``cast`` makes of each dtype in one step."""

# What holds every value of a dtype (INT64: what holds the most), smallest first.
_HOLDS: dict[DataType, tuple[DataType, ...]] = {
    I8: (I16, F16, I32, F32),
    U8: (I16, F16, I32, F32),
    I16: (I32, F32),
    I32: (F32,),
    I64: (I32, F32),
    F16: (F32,),
    BF16: (F32,),
}

# Where a cast of two steps may stop, best first: what lies between loses as little as it can.
_STOPS_TO_FLOAT = (F32, I32, F16)
_STOPS_TO_INTEGER = (I32, F32, F16)


def wider(a: DataType, b: DataType) -> DataType:
    """The dtype that torch gives to a tensor of ``a`` and one of ``b`` together."""
    if a.is_float and b.is_float:
        return F32 if {a, b} == {F16, BF16} else max(a, b, key=lambda dtype: dtype.bytes)
    if a.is_float or b.is_float:
        return a if a.is_float else b
    return I16 if {a, b} == {I8, U8} else max(a, b, key=lambda dtype: dtype.bytes)


def cast_text(text: str, source: DataType, target: DataType) -> str | None:
    """What to write so that ``text``, of ``source``, becomes ``target``; None for no way."""
    if source == target:
        return text
    if target in CASTS.get(source, ()):
        return f"pypto.cast({text}, pypto.{target})"
    stops = _STOPS_TO_FLOAT if target.is_float else _STOPS_TO_INTEGER
    for stop in stops:
        if stop in CASTS.get(source, ()) and target in CASTS[stop]:
            return f"pypto.cast(pypto.cast({text}, pypto.{stop}), pypto.{target})"
    return None


def cast_to_one_of(text: str, source: DataType, targets: frozenset[DataType]) -> str | None:
    """What to write so that ``text`` becomes one of ``targets`` that holds its values."""
    ways = (cast_text(text, source, t) for t in _HOLDS.get(source, ()) if t in targets)
    return next((way for way in ways if way is not None), None)
