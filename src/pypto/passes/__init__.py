"""From Tensor IR to Tile IR. The passes, in order: decompose, check tiles, interchange,
hoist, simplify, place, localize, schedule (which fuses), plan."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pypto.error import Diagnostic, PassError, raise_diagnostics
from pypto.ir.bounds import upper_bound
from pypto.ir.expr import Expr, apply, const, product_of, variables_of
from pypto.ir.ranges import Ranges
from pypto.ir.sizes import Sizes
from pypto.ir.tensor import Buffer, Compute, Kernel, Precondition, Value, root
from pypto.ir.tile import Block, Copy, Kind, Program, TileNode, TileStage, walk_nodes
from pypto.passes.dead import written_in
from pypto.passes.decompose import Use, decompose
from pypto.passes.hoist import hoist
from pypto.passes.interchange import interchange
from pypto.passes.kept import NotKept, keep
from pypto.passes.localize import localize
from pypto.passes.place import place
from pypto.passes.plan import Terms
from pypto.passes.program import Planned, Planner
from pypto.passes.schedule import Schedule, schedule, stages_of
from pypto.passes.simplify import simplify
from pypto.passes.stage import Stage
from pypto.passes.tiles import check_tiles, clipped, iteration_shape
from pypto.target import Target

__all__ = ["lower"]

MAX_ROW_BYTES = 1 << 32


def lower(kernel: Kernel, alias: tuple[int, ...], target: Target) -> Program:
    """The Tile IR of ``kernel`` on ``target``.

    ``alias`` numbers the memory of the tensor parameters in order: equal numbers, same memory.
    """
    same = _memory(kernel, alias)
    primitive, uses = decompose(kernel)
    raise_diagnostics(check_tiles(uses, target))
    sizes = Sizes(p.condition for p in kernel.preconditions)
    simple = simplify(hoist(interchange(primitive, same, sizes), same), same, sizes)
    simple = place(simple, same, sizes)
    lowering = _Lowering(same, sizes, target, _tiled(uses))
    again: frozenset[Value] = frozenset()
    while True:
        local = localize(simple, same, again)
        program, kept = lowering.program(local.kernel)
        useless = {v for v, buffer in local.copies.items() if buffer not in kept}
        if useless <= again:
            break
        again |= useless  # a copy in global memory of what is there anyway
    tiles = [u.operation.tile for u in uses if u.operation.tile is not None]
    return replace(program, tile=tiles[-1] if tiles else None)


@dataclass(frozen=True, slots=True)
class _Lowering:
    """From primitives to a program."""

    same: dict[Buffer, Buffer]
    sizes: Sizes
    target: Target
    tiled: Mapping[Value, tuple[int, Compute]]

    def program(self, local: Kernel) -> tuple[Program, frozenset[Buffer]]:
        """The program of ``local``, the kernel in runs, and what it keeps on chip."""
        scheduled = schedule(local, self.sizes, self.same)
        stages = list(stages_of(scheduled.body))
        terms = Terms(self.target.ub_budget, 1, self.sizes, scheduled.ranges)
        units = {stage: _unit(stage, self.tiled) for stage in stages}
        written = frozenset(written_in(local.body, self.same))
        planned = _planned(scheduled, terms, units, written)
        kept = frozenset(m for loop in scheduled.shared_loops() for m in loop.keeping.slots)
        stored = dict.fromkeys(root(s.buffer) for stage in stages for s, _ in stage.stores)
        workspace = [m for m in stored if m.param is None and m not in kept]
        program = Program(
            local.name,
            local.params,
            planned.body,
            {buffer: _memory_of(buffer, scheduled.ranges) for buffer in workspace},
            (*local.preconditions, *_row_gaps(planned.body)),
            None,
            local.span,
            shared=planned.shared,
            private=scheduled.private,
        )
        return program, kept


def _planned(
    scheduled: Schedule, terms: Terms, units: Mapping[Stage, int], written: frozenset[Buffer]
) -> Planned:
    """The nodes of the program. What plans cannot use on chip goes through global memory."""
    able = scheduled.private
    while True:
        for loop in scheduled.shared_loops():
            loop.keeping = keep(loop, able, terms.budget)
        try:
            return Planner(terms, units, written).plan(scheduled.waited())
        except NotKept as refused:
            able -= refused.memories


def _memory(kernel: Kernel, alias: tuple[int, ...]) -> dict[Buffer, Buffer]:
    """Each buffer's representative: the first parameter with the same memory."""
    tensors = [p.buffer for p in kernel.params if p.buffer is not None]
    first: dict[int, Buffer] = {}
    same = {b: first.setdefault(c, b) for b, c in zip(tensors, alias, strict=True)}
    return same | {b: same.get(root(b), root(b)) for b in kernel.buffers if b not in same}


def _memory_of(buffer: Buffer, ranges: Ranges) -> Expr:
    """Elements of a local tensor in global memory, from what is known at launch."""
    sizes = [upper_bound(size, ranges) for size in buffer.type.shape]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        message = f"how large '{buffer.name}' may become is not known before the kernel runs"
        help = "cut it to a size that tensors, parameters and loops bound"
        raise PassError(
            [Diagnostic(PassError, PassError.default_code, message, buffer.span, help=help)]
        )
    return product_of(
        tuple(
            apply("max", size, 0) if variables_of(was) else size
            for was, size in zip(buffer.type.shape, known, strict=True)
        )
    )


def _row_gaps(nodes: tuple[TileNode, ...]) -> list[Precondition]:
    """A copy of several rows holds the bytes between them in 32 bits."""
    found: dict[Expr, Precondition] = {}
    plans = [p for n in walk_nodes(nodes) if isinstance(n, TileStage) for p in n.plans]
    apart = (p for p in plans if p.form in ("rows", "columns", "tiles"))
    for copy in (c for p in apart for b in p.blocks() for c in _copies(b)):
        stride = copy.strides[-1 if copy.kind is Kind.TURNED else -2]
        if copy.dense or stride is None or copy.kind not in (Kind.FULL, Kind.TURNED):
            continue
        condition = apply("lt", apply("mul", stride, copy.local.dtype.bytes), MAX_ROW_BYTES)
        name = root(copy.buffer).name
        message = f"rows of '{name}' that lie {stride} elements apart are too far from each other"
        if condition == const(False):
            help = "at most 4 GiB from one row to the next; reshape the tensor to shorter rows"
            raise PassError(
                [Diagnostic(PassError, PassError.default_code, message, copy.span, help=help)]
            )
        if condition != const(True):
            found.setdefault(condition, Precondition(condition, message, copy.span))
    return list(found.values())


def _copies(block: Block) -> tuple[Copy, ...]:
    return (*block.loads, *block.stores)


def _tiled(uses: tuple[Use, ...]) -> Mapping[Value, tuple[int, Compute]]:
    """Per value made for an operation with a tile: the operation, and where it stands."""
    return {
        primitive.result: (position, use.operation)
        for position, use in enumerate(uses)
        if use.operation.tile is not None
        for primitive in use.primitives
    }


def _unit(stage: Stage, tiled: Mapping[Value, tuple[int, Compute]]) -> int:
    """Elements of the tile that was set last for an operation of the stage; 1 without one."""
    made = [n.value for n in stage.nodes if isinstance(n.statement, Compute)]
    found = [tiled[value] for value in made if value in tiled]
    if not found:
        return 1
    _, operation = max(found, key=lambda f: f[0])
    assert operation.tile is not None
    return math.prod(clipped(operation.tile, iteration_shape(operation)))
