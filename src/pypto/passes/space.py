"""Merging the axes of a stage into its tile space: outer axes, rows, columns."""

from __future__ import annotations

from dataclasses import dataclass

from pypto.ir.expr import Expr, apply, const
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
    """

    space: Space
    has_rows: bool
    groups: tuple[tuple[Axis, ...], ...]
    single: bool = False  # no axis longer than 1: every value is the one element

    def extent(self, node: Node) -> Extent:
        """Where ``node`` varies. Without a row axis a value counts as varying over the one row."""
        if self.single:
            return Extent((), True, True)
        present = [g[0] in node.present for g in self.groups]
        col = present.pop()
        row = present.pop() if self.has_rows else True
        return Extent(tuple(present), row, col)


def merge_axes(stage: Stage) -> Layout:
    """Merge neighbouring axes that every value has both of or neither.

    Tensors are dense, so such a pair is one axis. The reduced axis stays by itself and is last.
    """
    groups: list[list[Axis]] = []
    for axis in stage.axes:
        if groups and axis is not stage.reduced and _alike(stage, groups[-1][0], axis):
            groups[-1].append(axis)
        else:
            groups.append([axis])
    if not groups:
        return Layout(Space((), const(1), const(1)), False, (), single=True)
    sizes = [_product([a.size for a in g]) for g in groups]
    has_rows = len(groups) > 1
    rows = sizes[-2] if has_rows else const(1)
    outer = tuple(sizes[:-2]) if has_rows else ()
    return Layout(Space(outer, rows, sizes[-1]), has_rows, tuple(tuple(g) for g in groups))


def _alike(stage: Stage, a: Axis, b: Axis) -> bool:
    return all((a in n.present) == (b in n.present) for n in stage.nodes)


def _product(sizes: list[Expr]) -> Expr:
    result: Expr = const(1)
    for size in sizes:
        result = apply("mul", result, size)
    return result
