"""Merging the axes of a stage into its tile space: outer axes, rows, columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pypto.ir.expr import Expr, apply, const, product_of
from pypto.ir.sizes import Sizes
from pypto.ir.tile import Space
from pypto.passes.stage import Axis, Node, Stage

__all__ = ["Extent", "Layout", "merge_axes"]


@dataclass(frozen=True, slots=True)
class Extent:
    """Which axes of the tile space a value has; over the others it broadcasts."""

    outer: tuple[bool, ...]
    row: bool
    col: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """The tile space of a stage and where its values stand in it.

    ``has_rows`` is False when the space has no row axis at all (then ``space.rows`` is 1).
    ``unit``: the columns are an axis of size 1 of the space's own: neighbours along the innermost
    axis of the values do not lie side by side in memory, so that each stands in a row by itself.
    ``turned``: accesses that do not lie side by side along the columns do along the rows.
    """

    space: Space
    has_rows: bool
    groups: tuple[tuple[Axis, ...], ...]
    single: bool = False  # no axis longer than 1: every value is the one element
    unit: bool = False
    turned: bool = False

    def extent(self, node: Node) -> Extent:
        """Where ``node`` varies. Without a row axis a value counts as varying over the one row."""
        if self.single:
            return Extent((), True, True)
        present = [g[0] in node.present for g in self.groups]
        col = present.pop() or self.unit
        row = present.pop() if self.has_rows else True
        return Extent(tuple(present), row, col)

    def strides(self, strides: Mapping[Axis, Expr]) -> tuple[Expr | None, ...]:
        """Elements of memory per step along the outer axes, the rows and the columns; None where
        the access does not vary."""
        if self.single:
            return (None, None)
        found = [strides.get(group[-1]) for group in self.groups]
        if self.unit:
            found[-1] = const(1)
        return tuple(found if self.has_rows else [None, *found])


def merge_axes(stage: Stage, sizes: Sizes) -> Layout:
    """Merge neighbouring axes that every value has both of or neither, and that lie in memory as
    one. The reduced axis stays by itself. It is last, or it is the rows of the space, and what is
    inside it the columns: of several axes there the innermost one, the others are outer ones."""
    accesses = stage.accesses()
    strides = [stage.strides(*access) for access in accesses]
    groups: list[list[Axis]] = []
    across, turns = stage.across(), stage.turns()
    axes = stage.axes
    if across is not None and not turns:
        axes = [*(a for a in axes if a is not across), across]  # as all of them lie in memory
    for axis in axes:
        alone = axis is stage.reduced or (groups and groups[-1][-1] is stage.reduced)
        if groups and not alone and _one(stage, strides, groups[-1], axis, sizes):
            groups[-1].append(axis)
        else:
            groups.append([axis])
    if stage.columnwise:
        at = next(n for n, group in enumerate(groups) if group[-1] is stage.reduced)
        groups = [*groups[:at], *groups[at + 1 : -1], groups[at], groups[-1]]
    if not groups:
        return Layout(Space((), const(1), const(1)), False, (), single=True)
    if turns:
        (lines,) = (g for g in groups if across in g)
        groups = [*(g for g in groups[:-1] if g is not lines), lines, groups[-1]]
    unit = bool(stage.strided) and across is None
    if unit:
        groups.append([Axis(const(1))])
    lengths = [product_of(tuple(a.size for a in g)) for g in groups]
    has_rows = len(groups) > 1
    rows = lengths[-2] if has_rows else const(1)
    outer = tuple(lengths[:-2]) if has_rows else ()
    merged = tuple(tuple(g) for g in groups)
    return Layout(Space(outer, rows, lengths[-1]), has_rows, merged, unit=unit, turned=turns)


def _one(
    stage: Stage,
    strides: Sequence[Mapping[Axis, Expr]],
    group: Sequence[Axis],
    axis: Axis,
    sizes: Sizes,
) -> bool:
    """Whether ``group`` and ``axis`` behind it are one axis for all values and accesses."""
    last = group[-1]
    if not all((last in n.present) == (axis in n.present) for n in stage.nodes):
        return False
    return all(
        sizes.equal(found[last], apply("mul", axis.size, found[axis]))
        for found in strides
        if axis in found
    )
