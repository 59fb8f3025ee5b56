"""Where the elements of a load or store lie in memory: an offset, and a stride for each axis."""

from __future__ import annotations

from dataclasses import dataclass

from pypto.ir.expr import Expr, apply, const, product_of
from pypto.ir.tensor import Buffer, Load, Shape, Store, along, start_of

__all__ = ["Access", "access_of", "offset_of", "row_strides", "store_sizes"]


@dataclass(frozen=True, slots=True)
class Access:
    """Elements of a buffer's memory: ``offset`` plus index times stride, summed over the axes of
    the value loaded or stored. ``width``: bytes of an element."""

    offset: Expr
    strides: Shape
    width: int


def row_strides(buffer: Buffer) -> Shape:
    """Elements from one index of an axis to the next: tensors lie row by row."""
    shape = buffer.type.shape
    return tuple(product_of(shape[axis + 1 :]) for axis in range(len(shape)))


def offset_of(buffer: Buffer, index: Shape) -> Expr:
    """Where the element of ``buffer`` at ``index`` lies in its memory."""
    offset = start_of(buffer)
    for start, stride in zip(index, row_strides(buffer), strict=True):
        offset = apply("add", offset, apply("mul", start, stride))
    return offset


def access_of(statement: Load | Store) -> Access:
    """How ``statement`` walks memory. A store has the axes of :func:`store_sizes`."""
    known = statement.access
    if isinstance(known, Access):
        return known
    made = _access(statement)
    object.__setattr__(statement, "access", made)  # it follows from the rest, which never changes
    return made


def _access(statement: Load | Store) -> Access:
    strides = row_strides(statement.buffer)
    offset = offset_of(statement.buffer, statement.region.offsets)
    axes = statement.axes
    if axes is not None:
        strides = tuple(const(0) if a is None else strides[a] for a in axes)
    return Access(offset, strides, statement.buffer.type.dtype.bytes)


def store_sizes(store: Store) -> Shape:
    """Sizes that a store runs over: those of its region, or along its axes."""
    rank = len(store.axes) if store.axes is not None else len(store.region.sizes)
    return along(store.region.sizes, store.axes, rank)
