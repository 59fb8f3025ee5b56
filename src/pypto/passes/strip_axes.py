"""Which axis of each value and buffer a loop's statements go by, when they go by one."""

from __future__ import annotations

from collections.abc import Mapping

from pypto.ir.expr import Expr, as_int
from pypto.ir.sizes import Sizes
from pypto.ir.tensor import (
    Buffer,
    Compute,
    Dump,
    Load,
    LoadScalar,
    Print,
    Statement,
    Store,
    Value,
    walk,
)
from pypto.ops.lowering import IOTA, REDUCE, SCAN, axis_of

__all__ = ["Axes", "Mixed"]

STRIP = 2048  # elements of the widest value of a strip: enough for an instruction, few for a core
SHORTEST = 8  # indices of a strip
STRIPS = 8  # fewer are not worth sharing
LEAST = 512  # elements: an instruction for fewer is not worth its start
RUN = 64  # elements side by side in memory
# Axes of what these work on are counted from the first one; those of others from the last.
_FROM_FRONT = frozenset({"squeeze", "unsqueeze", *REDUCE})


class Mixed(Exception):
    """The statements do not go by one axis."""


class Axes:
    """Where the axis that is cut lies in each value and buffer of ``part``; None: not at all."""

    def __init__(
        self,
        part: tuple[Statement, ...],
        same: Mapping[Buffer, Buffer],
        sizes: Sizes,
        size: Expr,
        behind: int,
    ) -> None:
        self.part = part
        self.same = same
        self.sizes = sizes
        self.size = size
        self.behind = behind
        self.values: dict[Value, int | None] = {}
        self.buffers: dict[Buffer, int] = {}  # written ones, by memory
        self.made = {s.result: s for s in walk(part) if isinstance(s, Load | Compute)}
        self.written = {same[s.buffer] for s in walk(part) if isinstance(s, Store)}

    def find(self) -> None:
        for statement in walk(self.part):
            if isinstance(statement, Store):
                self._store(statement)
            elif isinstance(statement, LoadScalar) and self.same[statement.buffer] in self.written:
                raise Mixed
            elif isinstance(statement, Print | Dump):
                raise Mixed  # once, not for each strip
        for value in self.made:
            if value not in self.values:
                self._want(value, None)

    def length(self) -> int:
        """Indices of a strip."""
        widest, tile = 1, None
        for statement in self.made.values():
            axis = self.values[statement.result]
            if axis is None:
                continue
            others = [as_int(s) for n, s in enumerate(statement.result.type.shape) if n != axis]
            elements = 1
            for other in others:
                if not other:
                    raise Mixed  # rows of unknown length do not stay on chip; of none, nothing does
                elements *= other
            widest = max(widest, elements)
            if isinstance(statement, Compute) and statement.tile is not None:
                behind = len(statement.result.type.shape) - 1 - axis
                if behind < len(statement.tile):
                    tile = statement.tile[len(statement.tile) - 1 - behind]
        length = max(STRIP // widest, SHORTEST)
        length = 1 << (length.bit_length() - 1)
        if tile is not None and tile >= SHORTEST:
            length = tile
        known = as_int(self.size)
        if known == 0:
            raise Mixed  # there is nothing to cut
        if known is not None and known * widest <= STRIP:
            return known  # so little that one core is quicker than several with waits
        while known is not None and known < length * STRIPS and length > SHORTEST:
            length //= 2
        if known is not None and (known < length * STRIPS or length * widest < LEAST):
            raise Mixed
        if self.behind == 0 and length < RUN:
            raise Mixed
        return length

    def _store(self, store: Store) -> None:
        memory = self.same[store.buffer]
        axis = len(store.buffer.type.shape) - 1 - self.behind
        axis = self.buffers.setdefault(memory, axis)
        if axis < 0 or store.buffer.base is not None or memory is not store.buffer:
            raise Mixed
        if not self._whole(store, axis):
            raise Mixed
        rank = store.value.type.rank
        of_part = list(range(len(store.buffer.type.shape))) if store.axes is None else store.axes
        if axis not in of_part:
            raise Mixed
        position = list(of_part).index(axis) - (len(of_part) - rank)
        broadcasts = position < 0 or as_int(store.value.type.shape[position]) == 1
        self._want(store.value, None if broadcasts else position)

    def _whole(self, access: Load | Store, axis: int) -> bool:
        region, extent = access.region, access.buffer.type.shape[axis]
        return (
            as_int(region.offsets[axis]) == 0
            and self.sizes.equal(region.sizes[axis], extent)
            and self.sizes.equal(extent, self.size)
        )

    def _want(self, value: Value, axis: int | None) -> None:
        """``value`` is cut along ``axis``; so must be what it is made of."""
        work: list[tuple[Value, int | None]] = [(value, axis)]
        while work:
            value, axis = work.pop()
            if value in self.values:
                if self.values[value] != axis:
                    raise Mixed
                continue
            self.values[value] = axis
            statement = self.made.get(value)
            if statement is None:
                if axis is not None:
                    raise Mixed  # made before, and whole
            elif isinstance(statement, Load):
                self._load(statement, axis)
            else:
                work += self._operands(statement, axis)

    def _load(self, load: Load, axis: int | None) -> None:
        memory = self.same[load.buffer]
        if axis is None:
            if memory in self.written:
                raise Mixed
            return
        if load.axes is None:
            position: int | None = axis + len(load.buffer.type.shape) - load.result.type.rank
        else:
            position = load.axes[axis]
        if position is None or not self._whole(load, position):
            raise Mixed
        if memory in self.written:
            written = self.buffers.setdefault(memory, position)
            if written != position or memory is not load.buffer:
                raise Mixed

    def _operands(self, use: Compute, axis: int | None) -> list[tuple[Value, int | None]]:
        if use.op in IOTA and axis is not None:
            raise Mixed  # strips begin at other indices
        found: list[tuple[Value, int | None]] = []
        rank = use.result.type.rank
        if axis is not None and not self.sizes.equal(use.result.type.sizes[axis], self.size):
            raise Mixed
        for operand in use.args:
            if not isinstance(operand, Value):
                continue
            if axis is None:
                found.append((operand, None))
                continue
            if use.op in REDUCE | SCAN and axis == axis_of(use):
                raise Mixed
            if use.op == "squeeze" and axis >= axis_of(use):
                found.append((operand, axis + 1))
                continue
            if use.op == "unsqueeze" and axis >= axis_of(use):
                if axis == axis_of(use):
                    raise Mixed  # an axis of the result alone
                found.append((operand, axis - 1))
                continue
            own = axis if use.op in _FROM_FRONT else axis + operand.type.rank - rank
            cut = 0 <= own < operand.type.rank and as_int(operand.type.shape[own]) != 1
            found.append((operand, own if cut else None))
        return found
