"""Tensors that loops and branches hand on by copying parts of buffers.

In torch such a name is a view: a write into the buffer changes what it has. The copy would not
follow, so using it then is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

from pypto.elaborate.blocks import Block
from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.values import Item, Part
from pypto.error import FeError, Span
from pypto.ir.tensor import Buffer, Value, root

__all__ = ["Copies"]

Memory = object
"""A buffer, or the number of those parameters that are the same memory."""


@dataclass(frozen=True, slots=True, eq=False)
class _Use:
    time: int
    block: Block
    span: Span


@dataclass(slots=True, eq=False)
class Copies:
    """What was copied from where and when, and when buffers were written; times count writes."""

    memory: Callable[[Buffer], Memory]
    made: dict[Value, Block]
    time: int = 0
    writes: dict[Memory, list[tuple[int, Block, Span]]] = field(default_factory=dict)
    sources: dict[Value, dict[Memory, tuple[int, str]]] = field(default_factory=dict)
    uses: dict[Value, list[_Use]] = field(default_factory=dict)

    def note(self, value: Value, item: Item | None, since: int) -> None:
        """``value`` holds a copy of ``item`` as it was at the time ``since``."""
        if isinstance(item, Buffer | Part):
            buffer = root(item.buffer if isinstance(item, Part) else item)
            found = {self.memory(buffer): (since, buffer.name)}
        else:
            found = self.sources.get(item, {}) if isinstance(item, Value) else {}
        own = self.sources.setdefault(value, {})
        for memory, source in found.items():
            own[memory] = min(source, own.get(memory, source))
            for use in self.uses.get(value, ()):
                write = self._written(memory, own[memory][0], use.time, value, use.block)
                if write is not None:
                    _refuse(value, own[memory][1], use.span, write)

    def _written(
        self, memory: Memory, since: int, until: int, value: Value, block: Block
    ) -> Span | None:
        """The first write between these times that a use of ``value`` in ``block`` can follow."""
        for time, write, span in self.writes.get(memory, ()):
            if since < time <= until and not self._exclusive(write, block, value):
                return span
        return None

    def _exclusive(self, write: Block, use: Block, value: Value) -> bool:
        """Whether the two stand on different sides of a branch, of which one runs in the life of
        ``value``: an iteration of a loop around may take the other side than the one before."""
        side = next((one for one in write.chain() if _faces(one, use)), None)
        return side is not None and self.made[value].within(side.loop)

    def use(self, value: Value, block: Block, span: Span) -> None:
        """``value`` is used: refused when it should have changed."""
        if value not in self.sources:
            return
        self.uses.setdefault(value, []).append(_Use(self.time, block, span))
        for memory, (since, name) in self.sources[value].items():
            write = self._written(memory, since, self.time, value, block)
            if write is not None:
                _refuse(value, name, span, write)

    def write(self, buffer: Buffer, block: Block, span: Span) -> None:
        """``buffer`` is written at ``span``: in a loop, also before what stands in front of it."""
        self.time += 1
        memory = self.memory(buffer)
        self.writes.setdefault(memory, []).append((self.time, block, span))
        loops = [one for one in block.chain() if one.loop is one and one.outer is not None]
        if not loops:
            return
        for value, uses in self.uses.items():
            if memory in self.sources[value]:
                self._check_again(value, uses, loops, buffer.name, span)

    def _check_again(
        self, value: Value, uses: list[_Use], loops: list[Block], buffer: str, write: Span
    ) -> None:
        """The next iteration uses ``value`` again, after this write."""
        around = [loop for loop in loops if not self.made[value].within(loop)]
        for use in uses:
            if any(use.block.within(loop) for loop in around):
                _refuse(value, buffer, use.span, write)


def _faces(side: Block, block: Block) -> bool:
    """Whether ``block`` stands on the other side of the branch that ``side`` is a side of."""
    return side.opposite is not None and block.within(side.opposite)


def _refuse(value: Value, buffer: str, span: Span, write: Span) -> NoReturn:
    name = f"'{value.name}'" if value.name else "this tensor"
    refuse(
        FeError,
        f"{name} may be a part of '{buffer}', which was written since; in torch it would have the "
        "new elements",
        span,
        code="F00007",
        notes=(f"'{buffer}' is written at {write.location}",),
        help="use it before the write, or make it the result of an operation, which is a new "
        "tensor: t = part * 1",
    )
