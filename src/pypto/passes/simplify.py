"""Remove what is not needed: forwarded stores, repeated loads and computations, dead values.

After this pass a region that is written and read back in one block is read from the value, local
tensors are gone unless a part of them is used or they carry values between blocks, and each region
is loaded once a block. Values are shared within a block only: what crosses to another one goes
through memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

from pypto.ir.dtype import DataType
from pypto.ir.expr import Const, Expr, const
from pypto.ir.sizes import Sizes
from pypto.ir.tensor import (
    Axes,
    Buffer,
    Compute,
    Dump,
    For,
    If,
    Kernel,
    Load,
    LoadScalar,
    Operand,
    Print,
    Region,
    Statement,
    Store,
    Value,
    along,
    root,
    walk,
)
from pypto.passes.dead import eliminate_dead, written_in

__all__ = ["simplify"]

# Primitives whose result is exactly representable wherever their operands are.
_EXACT = {"max", "min", "abs", "relu", "squeeze", "expand"}


def simplify(kernel: Kernel, same: Mapping[Buffer, Buffer], sizes: Sizes) -> Kernel:
    """``kernel`` without redundant statements. ``same`` maps each buffer to the one that stands
    for all buffers with its memory (the alias pattern of the call); ``sizes`` knows which sizes
    are equal in every call."""
    body = _Forward(same, sizes).block(kernel.body)
    kept = eliminate_dead(replace(kernel, body=body), same)
    accesses = (s for s in walk(kept.body) if isinstance(s, Load | Store | LoadScalar | Dump))
    used = {b for s in accesses for b in (s.buffer, root(s.buffer))}
    return replace(kept, locals=tuple(b for b in kernel.locals if b in used))


class _Numbering:
    """Values by what computes them, so that equal computations are one value."""

    def __init__(self, renamed: dict[Value, Value]) -> None:
        self.renamed = renamed
        self.known: dict[tuple[object, ...], Value] = {}
        self.narrowed: dict[Value, Value] = {}  # 16-bit value -> the FP32 value it was rounded from
        self.exact: dict[Value, set[DataType]] = {}  # FP32 values that fit a 16-bit type exactly
        self.bytes: dict[Value, Value] = {}  # DT_BOOL value -> the FP16 value it was cast from
        self.ones: dict[Value, Value] = {}  # 1.0 where a mask is set, else 0.0 -> the mask
        self.scalars: dict[Value, Expr] = {}  # what a filled tensor holds

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
        """A value that equals the statement's: casting up what was rounded without loss, the mask
        of what was made of a mask."""
        source = statement.args[0] if statement.args else None
        if not isinstance(source, Value):
            return None
        if statement.op == "compares" and statement.attr("mode") == "NE":
            return self.ones.get(source) if _is_zero(statement.args[1]) else None
        if statement.op != "cast":
            return None
        if source in self.bytes and statement.result.type.dtype == DataType.DT_FP16:
            return self.bytes[source]
        if source.type.dtype == DataType.DT_FP32:
            return None
        wide = self.narrowed.get(source)
        if wide is None or wide.type.dtype != statement.result.type.dtype:
            return None
        return wide if source.type.dtype in self.exact.get(wide, set()) else None

    def _note(self, statement: Compute) -> None:
        result, tensors = statement.result, [a for a in statement.args if isinstance(a, Value)]
        if statement.op == "fill":
            (self.scalars[result],) = (a for a in statement.args if isinstance(a, Expr))
        elif statement.op == "expand" and tensors[0] in self.scalars:
            self.scalars[result] = self.scalars[tensors[0]]
        elif statement.op == "selects" and _is_zero(statement.args[2]):
            mask, one = tensors
            if self.scalars.get(one) == const(1.0):
                self.ones[result] = mask
        elif statement.op == "cast" and result.type.dtype == DataType.DT_BOOL:
            self.bytes[result] = tensors[0]
        elif statement.op == "cast":
            (source,) = tensors
            if source.type.dtype == DataType.DT_FP32 and result.type.dtype.bytes == 2:
                self.narrowed[result] = source
            if result.type.dtype == DataType.DT_FP32 and source.type.dtype.is_float:
                self.exact[result] = {source.type.dtype}
        elif statement.op in _EXACT and tensors and len(tensors) == len(statement.args):
            fits = set.intersection(*(self.exact.get(t, set()) for t in tensors))
            if fits:
                self.exact[result] = fits


def _is_zero(operand: Operand) -> bool:
    return isinstance(operand, Const) and operand.value == 0


class _Forward:
    """Block by block: what a block computes or loads twice, and what it stores and loads again."""

    def __init__(self, same: Mapping[Buffer, Buffer], sizes: Sizes) -> None:
        self.same = same
        self.sizes = sizes
        self.renamed: dict[Value, Value] = {}

    def block(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        numbering = _Numbering(self.renamed)
        contents: dict[Buffer, dict[_Place, Value]] = {}  # what regions of a buffer hold now
        out: list[Statement] = []
        for statement in body:
            if isinstance(statement, Compute):
                kept = numbering.compute(statement)
                if kept is not None:
                    out.append(kept)
            elif isinstance(statement, Load):
                if not self._known(statement, contents):
                    out.append(statement)
            elif isinstance(statement, Store):
                stored = self.renamed.get(statement.value, statement.value)
                whole = self._whole(stored, statement)
                memory, place = self.same[statement.buffer], _place(statement)
                if whole and contents.get(memory, {}).get(place) is stored:
                    continue  # it is there already
                out.append(replace(statement, value=stored))
                contents[memory] = {place: stored} if whole else {}
            else:
                out.append(self._nested(statement))
                for memory in written_in((statement,), self.same):
                    contents.pop(memory, None)
        return tuple(out)

    def _known(self, load: Load, contents: dict[Buffer, dict[_Place, Value]]) -> bool:
        """Whether a value holds what ``load`` reads; remembers the loaded one otherwise."""
        held = contents.setdefault(self.same[load.buffer], {})
        value = held.get(_place(load))
        if value is not None and self.sizes.equal_types(value.type, load.result.type):
            self.renamed[load.result] = value
            return True
        held[_place(load)] = load.result
        return False

    def _whole(self, value: Value, store: Store) -> bool:
        """Whether ``value`` is just what the region holds: nothing was broadcast."""
        sizes = along(store.region.sizes, store.axes, value.type.rank)
        rank = len(store.axes) if store.axes is not None else len(store.region.sizes)
        return value.type.rank == rank and all(map(self.sizes.equal, value.type.sizes, sizes))

    def _nested(self, statement: LoadScalar | Print | Dump | For | If) -> Statement:
        if isinstance(statement, For):
            return replace(statement, body=self.block(statement.body))
        if isinstance(statement, If):
            then, other = self.block(statement.then), self.block(statement.other)
            return replace(statement, then=then, other=other)
        return statement


_Place: TypeAlias = tuple[Buffer, Region, Axes | None]


def _place(access: Load | Store) -> _Place:
    return access.buffer, access.region, access.axes
