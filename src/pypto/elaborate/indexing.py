"""Slices that a tensor of indices names: loops over the indices, with a copy in each iteration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from pypto.elaborate.blocks import OpenFor
from pypto.elaborate.machine import REGION, Frame
from pypto.elaborate.values import Part
from pypto.error import Span
from pypto.ir.expr import Expr, Variable, apply, const
from pypto.ir.tensor import Axes, Region, TensorType

__all__ = ["selected"]


def selected(
    frame: Frame, source: Part, dim: int, index: Part, target: Part, span: Span
) -> tuple[Expr, ...]:
    """Copy the slices of ``source`` along ``dim`` that ``index`` names to ``target``, where the
    axes of ``index`` stand in place of that one. How much of ``target`` holds elements then."""
    builder = frame.context.builder
    with ExitStack() as loops:
        at = [loops.enter_context(_loop(frame, size, span)) for size in index.type.sizes]
        offsets = [*index.region.offsets]
        for axis, number in zip(index.axes, at, strict=True):
            if axis is not None:  # else it has one element
                offsets[axis] = apply("add", offsets[axis], number)
        limit = source.type.sizes[dim]
        chosen = builder.element(index.buffer, tuple(offsets), span, None, limit)
        value = builder.load_part(_slice(source, dim, [chosen]), span)
        part = _slice(target, dim, at)
        region = part.region
        sizes = [*region.sizes]
        for axis, size in zip(part.axes, value.type.sizes, strict=True):
            if axis is not None:
                sizes[axis] = size
        part = replace(part, region=replace(region, sizes=tuple(sizes)), type=value.type)
        builder.store_part(part, value, span)
    held = source.type.sizes
    return (*held[:dim], *index.type.sizes, *held[dim + 1 :])


@contextmanager
def _loop(frame: Frame, count: Expr, span: Span) -> Iterator[Variable]:
    """A loop over 0 ... ``count``, whose iterations are independent; its body is made inside."""
    frame.count(span, REGION)
    builder = frame.context.builder
    inner = builder.nested(builder.ranges, apply("gt", count, 0), loop=True)
    number = builder.variable("place", "int", inner, "the place of an index", span)
    zero, one = const(0), const(1)
    inner.ranges = builder.ranges.enter(number, zero, count, one)
    draft = OpenFor(builder.block, number, zero, count, one, inner, span, True, None)
    draft.opened = builder.copies.time
    frame.context.loops += 1
    with builder.inside(inner):
        yield number
    builder.append(draft)


def _slice(part: Part, dim: int, at: Sequence[Expr]) -> Part:
    """``part`` at these places of the axes from ``dim`` on, without those axes."""
    offsets, sizes = [*part.region.offsets], [*part.region.sizes]
    for axis, place in zip(part.axes[dim:], at, strict=False):
        if axis is not None:
            offsets[axis] = apply("add", offsets[axis], place)
            sizes[axis] = const(1)
    behind = dim + len(at)
    axes: Axes = (*part.axes[:dim], *part.axes[behind:]) or (None,)
    type = part.type
    shape = (*type.shape[:dim], *type.shape[behind:]) or (const(1),)
    held = (*type.sizes[:dim], *type.sizes[behind:]) or (const(1),)
    return Part(
        part.buffer,
        Region(tuple(offsets), tuple(sizes)),
        axes,
        TensorType(type.dtype, shape, None if held == shape else held),
        part.name,
    )
