"""Remove what is not needed: forwarded stores, repeated loads and computations, dead values.

After this pass a buffer that is written whole and read back is read from the value, local tensors
are gone unless a region of them is used, and each region is loaded once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pypto.ir.dtype import DataType
from pypto.ir.tensor import Buffer, Compute, Kernel, Load, Operand, Region, Statement, Store, Value
from pypto.passes.sizes import Sizes

__all__ = ["simplify"]

# Primitives whose result is exactly representable wherever their operands are.
_EXACT = {"max", "min", "abs", "relu", "squeeze", "expand"}


def simplify(kernel: Kernel, same: Mapping[Buffer, Buffer], sizes: Sizes) -> Kernel:
    """``kernel`` without redundant statements. ``same`` maps each buffer to the one that stands
    for all buffers with its memory (the alias pattern of the call); ``sizes`` knows which sizes
    are equal in every call."""
    body = _eliminate_dead(_forward(kernel.body, same, sizes), same)
    used = {b for s in body if not isinstance(s, Compute) for b in [s.buffer]}
    return replace(kernel, body=tuple(body), locals=tuple(b for b in kernel.locals if b in used))


class _Numbering:
    """Values by what computes them, so that equal computations are one value."""

    def __init__(self) -> None:
        self.renamed: dict[Value, Value] = {}
        self.known: dict[tuple[object, ...], Value] = {}
        self.narrowed: dict[Value, Value] = {}  # 16-bit value -> the FP32 value it was rounded from
        self.exact: dict[Value, set[DataType]] = {}  # FP32 values that fit a 16-bit type exactly

    def current(self, operand: Operand) -> Operand:
        return self.renamed.get(operand, operand) if isinstance(operand, Value) else operand

    def compute(self, statement: Compute) -> Compute | None:
        """The statement with current operands; None when its value is known already."""
        args = tuple(self.current(a) for a in statement.args)
        statement = replace(statement, args=args)
        result = self._shortcut(statement)
        if result is None:
            key = (statement.op, args, statement.attrs, statement.result.type)
            result = self.known.setdefault(key, statement.result)
        if result is not statement.result:
            self.renamed[statement.result] = result
            return None
        self._note(statement)
        return statement

    def _shortcut(self, statement: Compute) -> Value | None:
        """A value that equals the statement's: casting up what was rounded without loss."""
        source = statement.args[0]
        if statement.op != "cast" or not isinstance(source, Value):
            return None
        if source.type.dtype == DataType.DT_FP32:
            return None
        wide = self.narrowed.get(source)
        if wide is None or wide.type.dtype != statement.result.type.dtype:
            return None
        return wide if source.type.dtype in self.exact.get(wide, set()) else None

    def _note(self, statement: Compute) -> None:
        result, tensors = statement.result, [a for a in statement.args if isinstance(a, Value)]
        if statement.op == "cast":
            (source,) = tensors
            if source.type.dtype == DataType.DT_FP32 and result.type.dtype.bytes == 2:
                self.narrowed[result] = source
            if result.type.dtype == DataType.DT_FP32 and source.type.dtype.is_float:
                self.exact[result] = {source.type.dtype}
        elif statement.op in _EXACT and tensors and len(tensors) == len(statement.args):
            fits = set.intersection(*(self.exact.get(t, set()) for t in tensors))
            if fits:
                self.exact[result] = fits


def _forward(
    body: tuple[Statement, ...], same: Mapping[Buffer, Buffer], sizes: Sizes
) -> list[Statement]:
    numbering = _Numbering()
    contents: dict[Buffer, dict[Region, Value]] = {}  # what regions of a buffer hold now
    out: list[Statement] = []
    for statement in body:
        if isinstance(statement, Compute):
            kept = numbering.compute(statement)
            if kept is not None:
                out.append(kept)
        elif isinstance(statement, Load):
            held = contents.setdefault(same[statement.buffer], {})
            value = held.get(statement.region)
            if value is not None and sizes.equal_types(value.type, statement.result.type):
                numbering.renamed[statement.result] = value
            else:
                held[statement.region] = statement.result
                out.append(statement)
        else:
            stored = numbering.renamed.get(statement.value, statement.value)
            out.append(replace(statement, value=stored))
            held = contents[same[statement.buffer]] = {}
            if sizes.equal_types(stored.type, statement.buffer.type):
                held[statement.region] = stored
    return out


def _eliminate_dead(body: list[Statement], same: Mapping[Buffer, Buffer]) -> list[Statement]:
    live: set[Value] = set()
    loaded: set[Buffer] = set()  # memory that a kept later statement loads
    overwritten: set[Buffer] = set()  # memory written whole later, not read in between
    kept: list[Statement] = []
    for statement in reversed(body):
        if isinstance(statement, Store):
            memory = same[statement.buffer]
            if memory in overwritten or (statement.buffer.param is None and memory not in loaded):
                continue
            if statement.region.covers(statement.buffer):
                overwritten.add(memory)
            live.add(statement.value)
        elif statement.result not in live:
            continue
        elif isinstance(statement, Load):
            overwritten.discard(same[statement.buffer])
            loaded.add(same[statement.buffer])
        else:
            live.update(a for a in statement.args if isinstance(a, Value))
        kept.append(statement)
    return kept[::-1]
