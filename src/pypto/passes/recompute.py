"""Which values stages compute again, and when memory is the cheaper way to have them.

A stage computes for itself what it needs of the values before it, and so may a later one: a few
instructions on chip cost less than a store and a load. A kernel with many stages would compute a
long chain in each of them, though: time, on the device and in the compiler, that grows with the
square of the kernel's length.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pypto.ir.expr import as_int
from pypto.ir.tensor import Compute, Value
from pypto.passes.stage import Node, Stage

__all__ = ["Computed"]

_MOST = 16
"""A store may compute so many values again: about what a store and a load of one tile take."""
_LEAST = 4
"""A value that takes no more than this to compute is computed again all the same."""


@dataclass(slots=True)
class Computed:
    """The last stage that has computed each value."""

    last: dict[Value, Stage] = field(default_factory=dict)

    def add(self, stage: Stage, start: int) -> None:
        """The nodes of ``stage`` from number ``start`` on are there to stay."""
        for node in stage.nodes[start:]:
            if isinstance(node.statement, Compute):
                known = self.last.get(node.value)
                if known is None or known.order < stage.order:
                    self.last[node.value] = stage

    def again(self, stage: Stage, start: int, goal: Node) -> list[Value]:
        """The values that ``stage`` should load: computed before it, much work, and needed by what
        is new in its nodes from number ``start`` on, or stored as ``goal``. None of them if it
        computes little again. Operands come before their users."""
        work: dict[Node, int] = {}
        for node in stage.nodes[start:]:
            if self._before(node, stage):
                operands = (o for o in node.operands if isinstance(o, Node))
                work[node] = min(1 + sum(work.get(o, 0) for o in operands), _LEAST + 1)
        if len(work) <= _MOST:
            return []
        needed = {goal}
        for node in stage.nodes[start:]:
            if node not in work:
                needed.update(o for o in node.operands if isinstance(o, Node))
        found = (n for n, steps in work.items() if steps > _LEAST and n in needed and _dense(n))
        return list(dict.fromkeys(node.value for node in found))

    def _before(self, node: Node, stage: Stage) -> bool:
        """Whether a stage before ``stage`` has computed the value of ``node``."""
        known = self.last.get(node.value)
        if known is None or not isinstance(node.statement, Compute):
            return False
        return known.order < stage.order


def _dense(node: Node) -> bool:
    """Whether the space runs over each axis of the value that has, or may have, several elements:
    its elements lie side by side in memory then as they do in the space."""
    sizes = zip(node.axes, node.value.type.shape, strict=True)
    return all(axis is not None or as_int(size) == 1 for axis, size in sizes)
