"""The rules for the user's tiles: rank, alignment, on-chip budget.

A tile is a hint; it is refused only when an operation could not run under it at all: when its rank
is not the operation's, when its last axis neither fills 32-byte blocks nor covers the axis, or when
one tile of the operation's operands and scratch, single-buffered, exceeds on-chip memory. Operands
are the tensors that it reads, each once, and its result: copies in and out do not share memory.
Scratch is what its primitives make on the way, where most of it is alive. What the plan adds for
instructions (folds of reductions, memory of library functions) does not count: that grows and
shrinks with the step that the plan chooses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

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
    reported: set[tuple[object, object]] = set()
    for use in uses:
        describe = _fault(use, target)
        # One call of set_vec_tile_shapes can break many operations in one way: say it once.
        key = (use.operation.tile_span, describe)
        if describe is not None and key not in reported:
            reported.add(key)
            alike = (use.operation.tile_span, use.operation.tile)
            group = [u for u in uses if (u.operation.tile_span, u.operation.tile) == alike]
            found.append(describe(use, group, target))
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
    return next((s for s in longest[1:] if _reduces(use)), longest[0])


def _reduces(use: Compute) -> bool:
    """Whether the result of an operation has a size of 1, or no axis, where its operand has one."""
    return any(name == "keepdim" for name, _ in use.attrs)


def _dropped(use: Compute) -> frozenset[int]:
    """The axes of the operand that the result of an operation lacks."""
    if not _reduces(use) or use.attr("keepdim"):
        return frozenset()
    (operand,) = (a for a in use.args if isinstance(a, Value))
    rank = operand.type.rank
    given = use.attr("dim")
    if given is None or given == ():
        return frozenset(range(rank))
    dims = given if isinstance(given, tuple) else (given,)
    return frozenset(d % rank for d in dims if isinstance(d, int))


_Describe: TypeAlias = Callable[[Use, Sequence[Use], Target], Diagnostic]


def _fault(use: Use, target: Target) -> _Describe | None:
    """What is wrong with the tile of ``use``: the function that says it."""
    tile, shape = use.operation.tile, iteration_shape(use.operation)
    if tile is None:
        return None
    if len(tile) != len(shape):
        return _wrong_rank
    tile = clipped(tile, shape)
    if not _aligned(use.operation, tile, shape):
        return _unaligned
    return None if _fits(use, tile, target) else _over_budget


def _tile(use: Compute) -> tuple[int, ...]:
    """The tile of an operation that has one, cut to its sizes."""
    assert use.tile is not None
    return clipped(use.tile, iteration_shape(use))


def _shown(values: Sequence[object]) -> str:
    return f"({', '.join(str(v) for v in values)})"


def _wrong_rank(wrong: Use, group: Sequence[Use], target: Target) -> Diagnostic:
    use, shape = wrong.operation, iteration_shape(wrong.operation)
    tile = use.tile or ()
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


def _aligned(use: Compute, tile: tuple[int, ...], shape: Sequence[Expr]) -> bool:
    last, size = tile[-1], as_int(shape[-1])
    return last * _widest(use) % BLOCK == 0 or (size is not None and last >= size)


def _widest(use: Compute) -> int:
    """Bytes of an element of the widest dtype: its block holds the fewest elements."""
    tensors = [use.result] + [a for a in use.args if isinstance(a, Value)]
    return max(t.type.dtype.bytes for t in tensors)


def _unaligned(wrong: Use, group: Sequence[Use], target: Target) -> Diagnostic:
    use, shape = wrong.operation, iteration_shape(wrong.operation)
    tile, widest = _tile(use), _widest(use)
    last = tile[-1]
    unit = BLOCK // widest
    proposed = -(-last // unit) * unit
    legal = (*tile[:-1], proposed)
    return Diagnostic(
        TileError,
        "FC1001",
        f"the last size of the vector tile is not a multiple of {BLOCK} bytes for {use.op}",
        use.span,
        expected=f"a multiple of {unit} elements of {widest} bytes, or the whole axis, {shape[-1]}",
        got=f"{last} element{'s' * (last > 1)}, {last * widest} bytes ({_where(use)})",
        help=f"use pypto.set_vec_tile_shapes{_shown(legal)}",
    )


def _fits(use: Use, tile: tuple[int, ...], target: Target) -> bool:
    shape = iteration_shape(use.operation)
    if len(shape) != len(tile):
        return True  # refused for its rank
    return sum(b for _, _, b in _buffers(use, clipped(tile, shape), shape)) <= target.ub_budget


def _over_budget(use: Use, group: Sequence[Use], target: Target) -> Diagnostic:
    tile = _tile(use.operation)
    rows = _buffers(use, tile, iteration_shape(use.operation))
    total = sum(size for _, _, size in rows)
    # One call of set_vec_tile_shapes: what is proposed for it fits all operations under it.
    legal = tile
    while not all(_fits(u, legal, target) for u in group):
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
    if not use.primitives:
        return []  # nothing is computed, as for a cast to the tensor's own dtype
    operation = use.operation
    operands = [a for a in operation.args if isinstance(a, Value)]
    cut = _Cut(tile, shape, _dropped(operation))
    rows = [_buffer(_operand_name(a, n), a, cut) for n, a in enumerate(dict.fromkeys(operands))]
    outer = set(operands)
    result = use.primitives[-1].result
    rows.append(_buffer("result", result, cut))
    return rows + _peak(use.primitives, outer | {result}, cut)


@dataclass(frozen=True, slots=True)
class _Cut:
    """A tile of the axes of ``shape``; those of ``dropped`` are not in the result."""

    tile: tuple[int, ...]
    shape: Sequence[Expr]
    dropped: frozenset[int]

    def of(self, value: Value) -> tuple[int, ...]:
        """The part of ``value`` that one tile needs: 1 where it broadcasts or is reduced."""
        own, tile = value.type.shape, self.tile
        rest = tuple(t for n, t in enumerate(tile) if n not in self.dropped)
        lacks = len(own) < len(self.shape) and len(own) == len(rest)
        cut = rest if lacks else tile[len(tile) - len(own) :] if len(own) <= len(tile) else tile
        return tuple(1 if as_int(s) == 1 else t for s, t in zip(own, cut, strict=True)) or (1,)


def _operand_name(operand: Value, position: int) -> str:
    return operand.name or f"operand {position}"


def _buffer(name: str, value: Value, cut: _Cut) -> tuple[str, str, int]:
    sizes = cut.of(value)
    elements = 1
    for size in sizes[:-1]:
        elements *= size
    row = -(-sizes[-1] * value.type.dtype.bytes // BLOCK) * BLOCK
    return name, f"{value.type.dtype.short}{list(sizes)}", elements * row


def _peak(
    primitives: Sequence[Compute], outer: set[Value], cut: _Cut
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
        rows = [_buffer("scratch", v, cut) for v in live]
        if sum(r[2] for r in rows) > sum(r[2] for r in best):
            best = rows
        live = [v for v in live if last.get(v, -1) > position]
    return best
