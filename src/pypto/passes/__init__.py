"""From Tensor IR to Tile IR. The passes, in order: decompose, check tiles, simplify, fuse, plan."""

from __future__ import annotations

from pypto.error import raise_diagnostics
from pypto.ir.tensor import Buffer, Compute, Kernel
from pypto.ir.tile import Program
from pypto.passes.decompose import Use, decompose
from pypto.passes.fuse import Stage, fuse
from pypto.passes.plan import plan_stage
from pypto.passes.simplify import simplify
from pypto.passes.sizes import Sizes
from pypto.passes.tiles import check_tiles, clipped, iteration_shape
from pypto.target import Target

__all__ = ["lower"]


def lower(kernel: Kernel, alias: tuple[int, ...], target: Target) -> Program:
    """The Tile IR of ``kernel`` on ``target``.

    ``alias`` numbers the memory of the tensor parameters in order: equal numbers, same memory.
    """
    same = _memory(kernel, alias)
    primitive, uses = decompose(kernel)
    raise_diagnostics(check_tiles(uses, target))
    stages = fuse(simplify(primitive, same), Sizes(kernel.preconditions), same)
    barriers = _barriers(stages, same)
    units = [_unit(stage, uses) for stage in stages]
    planned = [
        plan_stage(stage, target, unit, sync)
        for stage, unit, sync in zip(stages, units, barriers, strict=True)
    ]
    workspace: dict[Buffer, None] = {
        s.buffer: None for stage in stages for s, _ in stage.stores if s.buffer.param is None
    }
    tiles = [u.operation.tile for u in uses if u.operation.tile is not None]
    return Program(
        kernel.name,
        kernel.params,
        tuple(planned),
        tuple(workspace),
        kernel.preconditions,
        tiles[-1] if tiles else None,
        kernel.span,
    )


def _memory(kernel: Kernel, alias: tuple[int, ...]) -> dict[Buffer, Buffer]:
    """Each buffer's representative: the first parameter with the same memory."""
    tensors = [p.buffer for p in kernel.params if p.buffer is not None]
    first: dict[int, Buffer] = {}
    same = {b: first.setdefault(c, b) for b, c in zip(tensors, alias, strict=True)}
    return same | {b: b for b in kernel.locals}


def _barriers(stages: list[Stage], same: dict[Buffer, Buffer]) -> list[bool]:
    """Per stage: whether it touches memory that a stage since the last barrier wrote or, when it
    writes it itself, read."""
    result: list[bool] = []
    read: set[Buffer] = set()
    written: set[Buffer] = set()
    for stage in stages:
        reads = {same.get(load.buffer, load.buffer) for load in stage.loads()}
        writes = {same.get(s.buffer, s.buffer) for s, _ in stage.stores}
        sync = bool(reads & written or writes & written or writes & read)
        if sync:
            read, written = set(), set()
        read |= reads
        written |= writes
        result.append(sync)
    return result


def _unit(stage: Stage, uses: tuple[Use, ...]) -> int:
    """Elements of the tile that was set last for an operation of the stage; 1 without one."""
    made = {n.statement.result for n in stage.nodes if isinstance(n.statement, Compute)}
    unit = 1
    for use in uses:
        tile = use.operation.tile
        if tile is not None and any(p.result in made for p in use.primitives):
            unit = 1
            for size in clipped(tile, iteration_shape(use.operation)):
                unit *= size
    return unit
