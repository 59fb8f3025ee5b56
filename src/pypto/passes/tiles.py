"""The rules for the user's tiles: rank, alignment, on-chip budget.

A tile is a hint; it is refused only when an operation could not run under it at all: when its rank
is not the operation's, when its last axis neither fills 32-byte blocks nor covers the axis, or when
one tile of the operation's operands and scratch, single-buffered, exceeds on-chip memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from pypto.error import Diagnostic, TileError
from pypto.ir.expr import Expr, as_int
from pypto.ir.tensor import Compute, Operand, Value
from pypto.passes.decompose import Use
from pypto.target import Target

__all__ = ["check_tiles", "clipped"]

BLOCK = 32


def check_tiles(uses: Sequence[Use], target: Target) -> list[Diagnostic]:
    """Everything wrong with the tiles of ``uses``, in source order."""
    found: list[Diagnostic] = []
    reported: set[tuple[object, str]] = set()
    for use in uses:
        diagnostic = _check(use, target)
        if diagnostic is not None:
            # One call of set_vec_tile_shapes can break many operations in one way: say it once.
            key = (use.operation.tile_span, diagnostic.code)
            if key not in reported:
                reported.add(key)
                found.append(diagnostic)
    return found


def clipped(tile: Sequence[int], shape: Sequence[Expr]) -> tuple[int, ...]:
    """``tile`` cut to the sizes of ``shape`` that are known."""
    sizes = (as_int(s) for s in shape)
    return tuple(t if s is None else max(1, min(t, s)) for t, s in zip(tile, sizes, strict=True))


def iteration_shape(use: Compute) -> tuple[Expr, ...]:
    """The shape that an operation's tile cuts: its widest operand's or its result's."""
    shapes = [use.result.type.shape]
    shapes += [a.type.shape for a in use.args if isinstance(a, Value)]
    rank = max(len(s) for s in shapes)
    longest = [s for s in shapes if len(s) == rank]
    return next((s for s in longest[1:] if use.op in ("sum", "amax", "amin")), longest[0])


def _check(use: Use, target: Target) -> Diagnostic | None:
    operation = use.operation
    tile = operation.tile
    if tile is None:
        return None
    shape = iteration_shape(operation)
    if len(tile) != len(shape):
        return _wrong_rank(operation, tile, shape)
    tile = clipped(tile, shape)
    return _unaligned(operation, tile, shape) or _over_budget(use, tile, shape, target)


def _shown(values: Sequence[object]) -> str:
    return f"({', '.join(str(v) for v in values)})"


def _wrong_rank(use: Compute, tile: tuple[int, ...], shape: Sequence[Expr]) -> Diagnostic:
    return Diagnostic(
        TileError,
        "FC1000",
        f"the vector tile {_shown(tile)} has rank {len(tile)}, {use.op} works on rank {len(shape)}",
        use.span,
        expected=f"a size for each axis of {_shape(shape)}",
        got=f"{len(tile)} ({_where(use)})",
        help=f"call pypto.set_vec_tile_shapes with {_sizes(len(shape))} before this operation",
    )


def _shape(shape: Sequence[Expr]) -> str:
    return f"[{', '.join(str(s) for s in shape)}]"


def _sizes(count: int) -> str:
    return "1 size" if count == 1 else f"{count} sizes"


def _where(use: Compute) -> str:
    if use.tile_span is None:
        return "the tile of the option scope"
    return f"set at {use.tile_span.location}"


def _dtype_bytes(use: Compute) -> list[int]:
    tensors = [use.result] + [a for a in use.args if isinstance(a, Value)]
    return [t.type.dtype.bytes for t in tensors]


def _unaligned(use: Compute, tile: tuple[int, ...], shape: Sequence[Expr]) -> Diagnostic | None:
    # The widest dtype decides: its block holds the fewest elements.
    widest = max(_dtype_bytes(use))
    last, size = tile[-1], as_int(shape[-1])
    if last * widest % BLOCK == 0 or (size is not None and last >= size):
        return None
    unit = BLOCK // widest
    proposed = -(-last // unit) * unit
    legal = (*tile[:-1], proposed)
    return Diagnostic(
        TileError,
        "FC1001",
        f"the last size of the vector tile is not a multiple of {BLOCK} bytes for {use.op}",
        use.span,
        expected=f"a multiple of {unit} elements of {widest} bytes, or the whole axis, {shape[-1]}",
        got=f"{last} elements, {last * widest} bytes ({_where(use)})",
        help=f"use pypto.set_vec_tile_shapes{_shown(legal)}",
    )


def _over_budget(
    use: Use, tile: tuple[int, ...], shape: Sequence[Expr], target: Target
) -> Diagnostic | None:
    rows = _buffers(use, tile, shape)
    total = sum(size for _, _, size in rows)
    if total <= target.ub_budget:
        return None
    legal = tile
    while sum(size for _, _, size in _buffers(use, legal, shape)) > target.ub_budget:
        smaller = _halved(legal)
        if smaller == legal:
            break
        legal = smaller
    width = max(len(name) for name, _, _ in rows)
    table = [f"{name:<{width}}  {what:<24} {size:>9} bytes" for name, what, size in rows]
    table.append(f"{'total':<{width}}  {'':<24} {total:>9} bytes, budget {target.ub_budget}")
    operation = use.operation
    return Diagnostic(
        TileError,
        "FC1000",
        f"one tile {_shown(tile)} of {operation.op} does not fit on-chip memory",
        operation.span,
        expected=f"at most {target.ub_budget} bytes ({target.name}, unified buffer)",
        got=f"{total} bytes ({_where(operation)})",
        notes=("\n".join(table),),
        help=f"use pypto.set_vec_tile_shapes{_shown(legal)}",
    )


def _halved(tile: tuple[int, ...]) -> tuple[int, ...]:
    """The tile with its first size above 1 halved; the last axis keeps whole 32-byte blocks."""
    for axis, size in enumerate(tile[:-1]):
        if size > 1:
            return (*tile[:axis], size // 2, *tile[axis + 1 :])
    last = tile[-1]
    return (*tile[:-1], max(BLOCK, last // 2 // BLOCK * BLOCK)) if last > BLOCK else tile


def _buffers(use: Use, tile: tuple[int, ...], shape: Sequence[Expr]) -> list[tuple[str, str, int]]:
    """(name, dtype and shape, bytes) of the operands, result and scratch of one tile."""
    operation = use.operation
    operands = [a for a in operation.args if isinstance(a, Value)]
    rows = [
        _buffer(_operand_name(a, n), a, tile, shape) for n, a in enumerate(dict.fromkeys(operands))
    ]
    outer = set(operands)
    made = [p.result for p in use.primitives]
    result = made[-1] if made else operation.result
    rows.append(_buffer("result", result, tile, shape))
    peak = _peak([p for p in use.primitives], outer | {result}, tile, shape)
    rows += peak
    return rows


def _operand_name(operand: Value, position: int) -> str:
    return operand.name or f"operand {position}"


def _buffer(
    name: str, value: Value, tile: tuple[int, ...], shape: Sequence[Expr]
) -> tuple[str, str, int]:
    sizes = _local_tile(value, tile, shape)
    elements = 1
    for size in sizes[:-1]:
        elements *= size
    row = -(-sizes[-1] * value.type.dtype.bytes // BLOCK) * BLOCK
    return name, f"{value.type.dtype.short}{list(sizes)}", elements * row


def _local_tile(value: Value, tile: tuple[int, ...], shape: Sequence[Expr]) -> tuple[int, ...]:
    """The part of a value that one tile needs: 1 where the value broadcasts or is reduced."""
    own = value.type.shape
    cut = tile[len(tile) - len(own) :] if len(own) <= len(tile) else tile
    if len(own) < len(shape) and own == tuple(shape[: len(own)]):
        cut = tile[: len(own)]  # a reduction that dropped its axis
    return tuple(1 if as_int(s) == 1 else t for s, t in zip(own, cut, strict=True)) or (1,)


def _peak(
    primitives: list[Compute], outer: set[Value], tile: tuple[int, ...], shape: Sequence[Expr]
) -> list[tuple[str, str, int]]:
    """The scratch values that are live together where their bytes are largest."""
    last: dict[Operand, int] = {}
    for position, primitive in enumerate(primitives):
        for argument in primitive.args:
            last[argument] = position
    best: list[tuple[str, str, int]] = []
    live: list[Value] = []
    for position, primitive in enumerate(primitives):
        if primitive.result not in outer:
            live.append(primitive.result)
        rows = [_buffer("scratch", v, tile, shape) for v in live]
        if sum(r[2] for r in rows) > sum(r[2] for r in best):
            best = rows
        live = [v for v in live if last.get(v, -1) > position]
    return best
