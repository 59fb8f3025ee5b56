"""Which casts there are, and how a message proposes one."""

from __future__ import annotations

from pypto.ir.dtype import DataType
from pypto.ops.lowering import BF16, BOOL, F16, F32, I8, I16, I32, I64, U8

__all__ = ["CASTS", "cast_text", "cast_to_one_of", "wider"]

CASTS = frozenset({F32, F16, BF16, I64, I32, I16, I8, U8, BOOL})
"""The dtypes between which ``cast`` goes, each to each."""

# What holds every value of a dtype (INT64: what holds the most), smallest first.
_HOLDS: dict[DataType, tuple[DataType, ...]] = {
    I8: (I16, F16, I32, F32),
    U8: (I16, F16, I32, F32),
    I16: (I32, F32),
    I32: (F32,),
    I64: (I32, F32),
    F16: (F32,),
    BF16: (F32,),
    BOOL: (U8, I8, F16, I16, I32, F32),
}


def wider(a: DataType, b: DataType) -> DataType:
    """The dtype that torch gives to a tensor of ``a`` and one of ``b`` together."""
    if BOOL in (a, b):
        return b if a == BOOL else a
    if a.is_float and b.is_float:
        return F32 if {a, b} == {F16, BF16} else max(a, b, key=lambda dtype: dtype.bytes)
    if a.is_float or b.is_float:
        return a if a.is_float else b
    return I16 if {a, b} == {I8, U8} else max(a, b, key=lambda dtype: dtype.bytes)


def cast_text(text: str, source: DataType, target: DataType) -> str | None:
    """What to write so that ``text``, of ``source``, becomes ``target``; None for no way."""
    if source == target:
        return text
    return f"pypto.cast({text}, pypto.{target})" if {source, target} <= CASTS else None


def cast_to_one_of(text: str, source: DataType, targets: frozenset[DataType]) -> str | None:
    """What to write so that ``text`` becomes one of ``targets`` that holds its values."""
    ways = (cast_text(text, source, t) for t in _HOLDS.get(source, ()) if t in targets)
    return next((way for way in ways if way is not None), None)
