"""From a schedule to a program: stages planned, on-chip memory shared, vector waits between them.

Top-level stages each have on-chip memory to themselves. The stages of one loop or branch share an
allocation made before it, as large as the largest of each of its areas; when that does not fit, all
of them are planned again for less.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pypto.ir.expr import Expr, product_of
from pypto.ir.tensor import Buffer, Dump, For, Print, root
from pypto.ir.tile import (
    Area,
    Barrier,
    LoopRange,
    Plan,
    PrintTensor,
    PrintText,
    ReadScalar,
    Shared,
    TileBranch,
    TileLoop,
    TileNode,
    TileStage,
    Wait,
    walk_nodes,
)
from pypto.passes.access import offset_of
from pypto.passes.memory import NOTHING, Keeping
from pypto.passes.plan import Terms, launch_bound, plan_stage
from pypto.passes.schedule import Branch, Item, Loop, Part, Read, Shown
from pypto.passes.stage import Stage

__all__ = ["Planned", "Planner"]

_LESS = 0.9  # of the budget, each time that the stages together do not fit


@dataclass(frozen=True, slots=True)
class Planned:
    """The nodes of a program, and the memory that stages of a loop or branch share."""

    body: tuple[TileNode, ...]
    shared: tuple[Shared, ...]


@dataclass(slots=True)
class Planner:
    """Plans the stages of one kernel. ``units``: elements of the user's tile, by stage."""

    terms: Terms
    units: Mapping[Stage, int]
    written: frozenset[Buffer]  # memory that the kernel writes
    shared: list[Shared] = field(default_factory=list)
    trips: tuple[Expr, ...] = ()  # of the loops around, roughly
    keeping: Keeping = NOTHING  # what the loop around keeps on chip

    def plan(self, items: list[Item]) -> Planned:
        """The items of a kernel as nodes of its program."""
        out: list[TileNode] = []
        for item in items:
            if isinstance(item, Loop | Branch):
                out.append(self._together(item))
            else:
                out.append(self._node(item, None, self.terms.budget))
        return Planned(tuple(out), tuple(self.shared))

    def _together(self, item: Loop | Branch) -> TileNode:
        """A loop or branch whose stages share memory."""
        budget = self.terms.budget
        while True:
            node = self._node(item, len(self.shared), budget)
            shared = _shared(node)
            if shared is None:
                return node
            if shared.total_bytes <= self.terms.budget:
                self.shared.append(shared)
                return _Vector().node(node)
            budget = int(budget * _LESS)

    def _node(self, item: Item, shared: int | None, budget: int) -> TileNode:
        if isinstance(item, Wait):
            return item
        if isinstance(item, Print):
            return PrintText(item.parts, item.span)
        if isinstance(item, Shown):
            return self._shown(item.dump, item.touch.memory in self.written)
        if isinstance(item, Part):
            terms = replace(
                self.terms, unit=self.units[item.stage], budget=budget, keeping=self.keeping
            )
            made = plan_stage(item.stage, terms)
            elements = product_of((*self.trips, made.elements))
            return replace(made, alone=item.alone, shared=shared, elements=elements)
        if isinstance(item, Read):
            return self._read(item)
        if isinstance(item, Branch):
            then, other = (
                tuple(self._node(one, shared, budget) for one in side)
                for side in (item.then, item.other)
            )
            branch = item.branch
            return TileBranch(branch.condition, then, other, branch.merges, branch.span)
        around, outside, ranges = self.trips, self.keeping, tuple(map(_range, item.loops))
        self.trips = (*around, *(launch_bound(r.trips, self.terms) for r in ranges))
        if item.over_cores:
            self.keeping = item.keeping
        body = tuple(self._node(one, shared, budget) for one in item.body)
        self.trips, self.keeping = around, outside
        first = item.loops[0]
        return TileLoop(
            ranges, body, item.over_cores, first.span, first.carried, first.until, first.strip
        )

    def _read(self, item: Read) -> ReadScalar:
        load = item.load
        offset = offset_of(load.buffer, load.index)
        memory = root(load.buffer)
        written = item.touch.memory in self.written
        dtype = load.buffer.type.dtype
        return ReadScalar(load.result, memory, dtype, offset, written, load.span, load.limit)

    def _shown(self, dump: Dump, written: bool) -> PrintTensor:
        offset = offset_of(dump.buffer, dump.region.offsets)
        count = product_of(dump.region.sizes)
        memory, dtype = root(dump.buffer), dump.buffer.type.dtype
        return PrintTensor(memory, dtype, offset, count, written, dump.span)


def _range(loop: For) -> LoopRange:
    return LoopRange(loop.index, loop.start, loop.stop, loop.step)


def _plans(node: TileNode) -> list[Plan]:
    """The plans of all stages in ``node``."""
    return [p for n in walk_nodes((node,)) if isinstance(n, TileStage) for p in n.plans]


def _shared(node: TileNode) -> Shared | None:
    """One allocation for all stages of ``node``; None when there are none."""
    areas: dict[Area, int] = {}
    depth = 1
    plans = _plans(node)
    for plan in plans:
        depth = max(depth, plan.depth)
        for area, size in plan.areas.items():
            areas[area] = max(areas.get(area, 0), size)
    if not plans:
        return None
    return Shared({area: areas[area] for area in Area if area in areas}, depth)


_LASTING = frozenset({Area.CALC, Area.KEPT})  # memory that no queue hands from step to step


def _waits(plan: Plan) -> bool:
    """Whether ``plan`` waits itself before its first instruction that uses such memory."""
    for item in (item for block in plan.blocks() for item in block.body):
        if isinstance(item, Barrier):
            return True
        if any(x.slot is not None and x.slot.area in _LASTING for x in (*item.reads, *item.writes)):
            return False
    return False


@dataclass(slots=True)
class _Vector:
    """Waits between stages whose vector instructions use the same memory, scratch or kept."""

    used: bool = False  # by instructions since the last wait

    def node(self, node: TileNode) -> TileNode:
        """``node`` with waits inside; its own first stage follows nothing."""
        return self._nodes((node,))[0]

    def _nodes(self, nodes: tuple[TileNode, ...]) -> tuple[TileNode, ...]:
        out: list[TileNode] = []
        for node in nodes:
            if isinstance(node, Wait):
                self.used = False
            elif isinstance(node, TileStage):
                scratch = any(plan.areas.keys() & _LASTING for plan in node.plans)
                if scratch and self.used and not all(map(_waits, node.plans)):
                    out.append(Wait.VECTOR)
                self.used |= scratch
            elif isinstance(node, TileLoop):
                entered = self.used
                body = self._nodes(node.body)
                if self.used and not entered:
                    # What an iteration has used is in use at the start of the next one.
                    body = self._nodes(node.body)
                self.used |= entered
                node = replace(node, body=body)
            elif isinstance(node, TileBranch):
                before = self.used
                then = self._nodes(node.then)
                after, self.used = self.used, before
                other = self._nodes(node.other)
                self.used |= after
                node = replace(node, then=then, other=other)
            out.append(node)
        return tuple(out)
