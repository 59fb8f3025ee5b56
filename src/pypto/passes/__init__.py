"""From Tensor IR to Tile IR. The passes, in order: decompose, check tiles, simplify, fuse, plan."""

from __future__ import annotations

import math

from pypto.error import raise_diagnostics
from pypto.ir.tensor import Buffer, Compute, Kernel, Simple, Value
from pypto.ir.tile import Program
from pypto.passes.decompose import Use, decompose
from pypto.passes.fuse import fuse
from pypto.passes.plan import plan_stage
from pypto.passes.simplify import simplify
from pypto.passes.sizes import Sizes
from pypto.passes.stage import Stage
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
    sizes = Sizes(kernel.preconditions)
    stages = fuse(_straight(simplify(primitive, same, sizes)), sizes, same)
    barriers = _barriers(stages, same)
    tiled = _tiled(uses)
    units = [_unit(stage, tiled) for stage in stages]
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


def _straight(kernel: Kernel) -> list[Simple]:
    """The statements of a kernel without loops and branches."""
    body = [s for s in kernel.body if isinstance(s, Simple)]
    assert len(body) == len(kernel.body)
    return body


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


def _tiled(uses: tuple[Use, ...]) -> dict[Value, tuple[int, Compute]]:
    """Per value made for an operation with a tile: the operation, and where it stands."""
    return {
        primitive.result: (position, use.operation)
        for position, use in enumerate(uses)
        if use.operation.tile is not None
        for primitive in use.primitives
    }


def _unit(stage: Stage, tiled: dict[Value, tuple[int, Compute]]) -> int:
    """Elements of the tile that was set last for an operation of the stage; 1 without one."""
    made = [n.value for n in stage.nodes if isinstance(n.statement, Compute)]
    found = [tiled[value] for value in made if value in tiled]
    if not found:
        return 1
    _, operation = max(found, key=lambda f: f[0])
    assert operation.tile is not None
    return math.prod(clipped(operation.tile, iteration_shape(operation)))
