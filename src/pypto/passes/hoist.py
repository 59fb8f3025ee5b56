"""Loads that a loop repeats without need stand before it.

Only out of a loop inside another one, and only out of one that accumulates in tensors from around
it: iterations that are independent are shared by the cores, which a load in front would prevent.
What stands before a loop runs even when the loop does not, so its region must lie inside its buffer
in any case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pypto.ir.expr import apply, variables_of
from pypto.ir.ranges import Ranges
from pypto.ir.tensor import (
    Buffer,
    For,
    If,
    Kernel,
    Load,
    Statement,
    Store,
    root,
    start_of,
    walk,
)
from pypto.passes.dead import written_in
from pypto.passes.touches import Scope, defined_in

__all__ = ["accumulates", "hoist"]


def hoist(kernel: Kernel, same: Mapping[Buffer, Buffer]) -> Kernel:
    """``kernel`` with invariant loads before the loops that repeat them."""
    if not any(isinstance(s, For) and any(isinstance(t, For) for t in s.body) for s in kernel.body):
        return kernel
    ranges = Scope.of(kernel.body, [p.condition for p in kernel.preconditions]).ranges
    return replace(kernel, body=_Hoist(same, ranges).block(kernel.body, inside=False))


@dataclass(slots=True)
class _Hoist:
    same: Mapping[Buffer, Buffer]
    ranges: Ranges

    def block(self, body: tuple[Statement, ...], *, inside: bool) -> tuple[Statement, ...]:
        """``body``; ``inside``: of a loop."""
        out: list[Statement] = []
        for statement in body:
            if isinstance(statement, For):
                statement = replace(statement, body=self.block(statement.body, inside=True))
                if inside and accumulates(statement):
                    loads = dict.fromkeys(self._invariant(statement))
                    out += loads
                    rest = tuple(s for s in statement.body if s not in loads)
                    statement = replace(statement, body=rest)
            elif isinstance(statement, If):
                then = self.block(statement.then, inside=inside)
                other = self.block(statement.other, inside=inside)
                statement = replace(statement, then=then, other=other)
            out.append(statement)
        return tuple(out)

    def _invariant(self, loop: For) -> list[Load]:
        """The loads of ``loop`` that give the same in each iteration."""
        written = written_in(loop.body, self.same)
        varies = defined_in(loop.body) | {loop.index, *(c.inner for c in loop.scalars)}
        found: list[Load] = []
        for statement in loop.body:
            if not isinstance(statement, Load) or self.same[statement.buffer] in written:
                continue
            buffer, region = statement.buffer, statement.region
            scalars = (start_of(buffer), *buffer.type.shape, *region.offsets, *region.sizes)
            if buffer in loop.locals or any(variables_of(e) & varies for e in scalars):
                continue
            if self._inside(statement):
                found.append(statement)
        return found

    def _inside(self, load: Load) -> bool:
        """Whether what is loaded is there however the loops run."""
        spans = zip(load.region.offsets, load.region.sizes, load.buffer.type.shape, strict=True)
        return all(
            self.ranges.nonnegative(offset)
            and self.ranges.nonnegative(size)
            and self.ranges.at_most(apply("add", offset, size), extent)
            for offset, size, extent in spans
        )


def accumulates(loop: For) -> bool:
    """Whether ``loop`` writes local tensors that are there before and behind it."""
    own = {b for s in (loop, *walk(loop.body)) if isinstance(s, For) for b in s.locals}
    stores = (root(s.buffer) for s in walk(loop.body) if isinstance(s, Store))
    return any(memory.param is None and memory not in own for memory in stores)
