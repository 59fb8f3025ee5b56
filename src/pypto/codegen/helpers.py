"""Which helper function an instruction of the plan needs in the generated text."""

from __future__ import annotations

from pypto.codegen.values import neutral
from pypto.codegen.views import HelperView
from pypto.ir.dtype import DataType
from pypto.ir.tile import Instr

__all__ = ["FILL_HALVES", "SPREAD_HALVES", "helper_for"]

_SIGNS = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/"}
_OPS = {"Sum": "Add", "Prod": "Mul"}  # what a reduction does with two elements
_MACROS = {
    "with_col", "with_row", "with_one", "spread_col", "spread_row", "spread_one",
    "reduce", "accumulate", "accumulate_rows", "finish", "low_half", "flip_sign", "keep", "gcd",
    "turn", "scan", "scan_down", "pair", "fill_halves", "spread_halves",
}  # fmt: skip


def helper_for(instr: Instr) -> HelperView | None:
    """The helper that prints ``instr``; None when it is one plain call."""
    if instr.form not in _MACROS:
        return None
    dtype = (instr.srcs[0] if instr.srcs else instr.dst).dtype
    op = instr.attrs[0] if instr.attrs and instr.form != "gcd" else ""
    form = instr.form
    if form in ("fill_halves", "spread_halves"):
        return FILL_HALVES if form == "fill_halves" else SPREAD_HALVES
    if form == "turn":
        return _turn(dtype)
    if form in ("reduce", "accumulate", "finish", "scan") and len(instr.attrs) > 1:
        form = f"{form}_{instr.attrs[1]}"
    return HelperView(
        macro=form,
        name=instr.name,
        op=_OPS.get(op, op),
        sign=_SIGNS.get(op, op.lower()),
        type=dtype.cpp,
        lanes=256 // dtype.bytes,
        block=32 // dtype.bytes,
        swap=len(instr.attrs) > 1 and instr.attrs[1] == "right",
        neutral=_neutral(op, dtype),
        # int16 has no accumulating form: a repeat must not read what the one before wrote.
        accumulates=dtype != DataType.DT_INT16,
        integer=not dtype.is_float,
    )


def _turn(dtype: DataType) -> HelperView:
    """A transpose: by blocks, of 8 bytes by offsets."""
    cpp = {DataType.DT_BF16: "half"}.get(dtype, dtype.cpp)
    cpp = "uint32_t" if dtype.bytes == 8 else cpp
    return HelperView(
        macro={1: "turn_bytes", 2: "turn", 4: "turn", 8: "turn_pairs"}[dtype.bytes], name="Turn",
        op="", sign="", type=cpp, lanes=256 // dtype.bytes, block=32 // dtype.bytes, swap=False,
        neutral="", accumulates=False, integer=not dtype.is_float,
    )  # fmt: skip


def _of_halves(macro: str, name: str) -> HelperView:
    """What works on the halves of elements of 8 bytes."""
    return HelperView(
        macro=macro, name=name, op="", sign="", type="int32_t", lanes=64, block=8, swap=False,
        neutral="", accumulates=False, integer=True,
    )  # fmt: skip


FILL_HALVES = _of_halves("fill_halves", "FillHalves")
SPREAD_HALVES = _of_halves("spread_halves", "SpreadHalves")


def _neutral(op: str, dtype: DataType) -> str:
    return neutral(op, dtype) if op in ("Sum", "Prod", "Max", "Min") else ""
