"""Parts of tensors: ``x[i * T : (i + 1) * T, ...]`` read and written, with torch's meaning.

A part is a view: it is read where it is used, and may be written and cut again. A slice of constant
length has that shape however much of it lies inside the tensor; its valid shape says how much does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import NoReturn, TypeAlias

import libcst as cst

from pypto.elaborate import values as v
from pypto.elaborate.arithmetic import operand
from pypto.elaborate.diagnostics import Poisoned, refuse
from pypto.elaborate.iteration import items_of
from pypto.elaborate.machine import Frame
from pypto.elaborate.scalars import as_number
from pypto.elaborate.tensors import check_written, part_of_buffer
from pypto.elaborate.values import Item, Known, Part, Scalar
from pypto.error import FeNotImplementedError, FeTypeError, FeValueError, ShapeError, Span
from pypto.ir.expr import Apply, Expr, apply, as_int, const
from pypto.ir.ranges import Ranges
from pypto.ir.tensor import Region, TensorType

__all__ = ["Cut", "Index", "TensorKey", "cut_of", "part_at", "place_at", "tensor_key"]


@dataclass(frozen=True, slots=True)
class Index:
    """One position along an axis, which the part does not have."""

    at: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Cut:
    """``start:stop``; None where it is left out."""

    start: Expr | None
    stop: Expr | None
    span: Span


TensorKey: TypeAlias = tuple[Index | Cut | EllipsisType, ...]


# --- what stands in the brackets ---


def tensor_key(frame: Frame, node: cst.Subscript) -> TensorKey:
    """What stands in the brackets behind a tensor."""
    parts: list[Index | Cut | EllipsisType] = []
    for each in node.slice:
        part = each.slice
        if isinstance(part, cst.Slice):
            parts.append(_cut(frame, part))
            continue
        assert isinstance(part, cst.Index)
        span = frame.span(part.value)
        item = frame.evaluate(part.value)
        found = _unpacked(frame, item, span, part.star == "*")
        parts += [_index(frame, one, span) for one in found]
    return tuple(parts)


def _unpacked(frame: Frame, item: Item, span: Span, starred: bool) -> Sequence[Item]:
    """The items of a tuple of indices; ``item`` itself when it is one index."""
    listed = isinstance(item, v.Sequence) and not item.mutable
    listed = listed or (isinstance(item, Known) and isinstance(item.value, tuple))
    parts = items_of(frame, item, span) if listed or starred else None
    return [item] if parts is None else parts


def _cut(frame: Frame, part: cst.Slice) -> Cut:
    place = part.lower or part.upper or part.step
    bounds = [
        None if bound is None else _bound(frame, frame.evaluate(bound), frame.span(bound))
        for bound in (part.lower, part.upper)
    ]
    if part.step is not None:
        _check_step(frame.known(part.step, "the step of a slice"), frame.span(part.step))
    span = frame.span(part) if place is None else frame.span(place)
    return Cut(bounds[0], bounds[1], span)


def _check_step(step: object, span: Span) -> None:
    if step is not None and (isinstance(step, bool) or step != 1):
        refuse(
            FeNotImplementedError, "a slice of a tensor takes every element", span,
            expected="no step, or 1", got=repr(step),
            help="cut the tensor in steps of 1, or lay the elements out outside the kernel",
        )  # fmt: skip


def _bound(frame: Frame, item: Item, span: Span) -> Expr | None:
    if isinstance(item, Known) and item.value is None:
        return None
    return _number(frame, item, span, "a bound of a slice")


_INDICES = "an index is an int, a slice, or an element such as t[0]"


def _number(frame: Frame, item: Item, span: Span, what: str) -> Expr:
    if isinstance(item, v.Poison):
        raise Poisoned
    expr = operand(frame, item, span)
    if expr is None or expr.kind == "float":
        refuse(FeTypeError, f"{what} must be an int", span, got=v.describe(item), help=_INDICES)
    return as_number(expr)


def _index(frame: Frame, item: Item, span: Span) -> Index | Cut | EllipsisType:
    if isinstance(item, Known):
        value = item.value
        if isinstance(value, EllipsisType):
            return value
        if isinstance(value, slice):
            _check_step(value.step, span)
            start, stop = (_bound(frame, Known(end), span) for end in (value.start, value.stop))
            return Cut(start, stop, span)
        if value is None or isinstance(value, bool):
            _refuse_index(item, span, "write unsqueeze(...) for a new axis of size 1")
    if v.is_tensor(item):
        _refuse_index(item, span, _INDICES)
    return Index(_number(frame, item, span, "an index"), span)


def _refuse_index(item: Item, span: Span, help: str) -> NoReturn:
    refuse(
        FeNotImplementedError, "a tensor cannot be indexed by this in this version", span,
        expected="ints, slices and ...", got=v.describe(item), help=help,
    )  # fmt: skip


# --- the part ---


def part_at(
    frame: Frame, tensor: v.Tensor, key: TensorKey, span: Span, name: str | None = None
) -> v.Tensor | Scalar:
    """``tensor[key]``: the tensor itself, a part of it, or one element."""
    part = place_at(frame, tensor, key, span, name)
    if isinstance(part, Part) and not part.axes:
        return _element(frame, part, span, name)
    return part


def place_at(
    frame: Frame, tensor: v.Tensor, key: TensorKey, span: Span, name: str | None = None
) -> v.Tensor:
    """``tensor[key]`` as a place to write to; an element is a part without axes."""
    axes = _per_axis(tensor, key, span)
    if all(isinstance(one, Cut) and one.start is one.stop is None for one in axes):
        return tensor
    part = part_of_buffer(frame, tensor, span)
    ranges = frame.context.builder.ranges
    offsets, sizes = [*part.region.offsets], [*part.region.sizes]
    shape: list[Expr] = []
    valid: list[Expr] = []
    kept: list[int | None] = []
    for axis, one in enumerate(axes):
        held = part.axes[axis]
        stated, inside = part.type.shape[axis], part.type.sizes[axis]
        if isinstance(one, Index):
            start = _position(ranges, one, stated, inside, axis)
            present: Expr = const(1)
        else:
            start, length, present = _length(ranges, one, stated, inside)
            kept.append(held)
            shape.append(length)
            valid.append(present)
        if held is not None:
            offsets[held] = apply("add", offsets[held], start)
            sizes[held] = present
        elif as_int(start) != 0 or as_int(present) != 1:
            refuse(
                FeNotImplementedError, "an axis that was added to a part cannot be cut",
                one.span, help="cut the tensor before the axis is added",
            )  # fmt: skip
    region = Region(tuple(offsets), tuple(sizes))
    type = TensorType(part.type.dtype, tuple(shape), None if shape == valid else tuple(valid))
    return Part(part.buffer, region, tuple(kept), type, name or part.name)


def _per_axis(tensor: v.Tensor, key: TensorKey, span: Span) -> list[Index | Cut]:
    """One entry for each axis of ``tensor``: ``...`` and what is left out are whole axes."""
    rank = tensor.type.rank
    given = [one for one in key if not isinstance(one, EllipsisType)]
    ellipses = len(key) - len(given)
    if len(given) > rank or ellipses > 1:
        refuse(
            ShapeError,
            "too many indices",
            span,
            expected=f"at most {rank} for {v.describe(tensor)}, and one ...",
            got=f"{len(given)}" + (f" and {ellipses} ..." if ellipses > 1 else ""),
            help="[:] is the whole tensor, whatever its rank",
        )
    at = next((i for i, one in enumerate(key) if isinstance(one, EllipsisType)), len(given))
    whole = [Cut(None, None, span)] * (rank - len(given))
    return [*given[:at], *whole, *given[at:]]


def _position(ranges: Ranges, index: Index, stated: Expr, inside: Expr, axis: int) -> Expr:
    at, size = as_int(index.at), as_int(stated)
    if at is not None and size is not None and not -size <= at < size:
        refuse(
            FeValueError, f"the index {at} is outside axis {axis}", index.span, code="F00008",
            expected=f"an index of {-size} … {size - 1}" if size else "no index: the axis is empty",
            got=str(at),
        )  # fmt: skip
    return _counted(ranges, index.at, inside, clip=False)


def _counted(ranges: Ranges, at: Expr, size: Expr, *, clip: bool) -> Expr:
    """``at``, from the end of an axis of ``size`` when it is negative; not below 0."""
    if ranges.nonnegative(at):
        return at
    shifted = apply("add", at, size)
    if clip and not ranges.nonnegative(shifted):
        shifted = apply("max", shifted, 0)
    upper = ranges.upper(at)
    if upper is not None and upper < 0:
        return shifted
    return apply("select", apply("lt", at, 0), shifted, at)


def _length(ranges: Ranges, cut: Cut, stated: Expr, inside: Expr) -> tuple[Expr, Expr, Expr]:
    """Start, stated size and valid size of a slice of an axis of these sizes."""
    start, length, present = cut_of(ranges, cut, inside)
    if inside == stated:
        return start, length, present
    # What is stated does not depend on how much of the axis is there.
    _, length, _ = cut_of(ranges, cut, stated)
    return start, length, present


def cut_of(ranges: Ranges, cut: Cut, size: Expr) -> tuple[Expr, Expr, Expr]:
    """Start, shape and valid size of a slice of an axis of ``size`` elements."""
    first = const(0) if cut.start is None else cut.start
    start = _counted(ranges, first, size, clip=True)
    stop = size if cut.stop is None else _counted(ranges, cut.stop, size, clip=True)
    if as_int(start) is not None and as_int(stop) is not None and as_int(size) is not None:
        known = range(as_int(size) or 0)[as_int(start) : as_int(stop)]
        return const(min(known.start, as_int(size) or 0)), const(len(known)), const(len(known))
    last = -(as_int(first) or 0)
    if cut.stop is None and last > 0:  # the last ones, as many as there are
        return start, const(last), apply("min", size, last)
    end = stop if ranges.at_most(stop, size) else apply("min", stop, size)
    present = apply("sub", end, start)
    asked = _stated(first, cut.stop)
    if asked is not None and _same_sign(ranges, first, cut.stop):
        length = max(asked, 0)
        if length == 0:
            return start, const(0), const(0)
        if ranges.nonnegative(start) and start == first:
            # end - start of min(stop, size) - start: the same, said in a simpler way.
            rest = apply("sub", size, start)
            exact = as_int(apply("sub", cut.stop or size, first)) is not None
            if exact:
                present = const(length)
                if not ranges.at_most(present, rest):
                    present = apply("min", present, rest)
        return start, const(length), _not_negative(ranges, present)
    present = _not_negative(ranges, present)
    return start, present, present


def _stated(start: Expr, stop: Expr | None) -> int | None:
    """T of slices such as ``i : i + T``, ``i : min(i + T, n)`` and ``i : i + min(T, n - i)``."""
    if stop is None:
        return None
    length = apply("sub", stop, start)
    choices = [length, *(apply("sub", one, start) for one in _operands(stop)), *_operands(length)]
    return next((size for one in choices if (size := as_int(one)) is not None), None)


def _operands(expr: Expr) -> list[Expr]:
    """What ``expr`` is the smallest of."""
    if not (isinstance(expr, Apply) and expr.op == "min"):
        return []
    return [one for argument in expr.args for one in (argument, *_operands(argument))]


def _same_sign(ranges: Ranges, start: Expr, stop: Expr | None) -> bool:
    """Whether ``stop - start`` is the length, whatever their signs.

    It is not for ``x[-3:2]``: both are known there, and only one counts from the end.
    """
    if stop is None:
        return False
    first, end = as_int(start), as_int(stop)
    return first is None or end is None or (first < 0) == (end < 0)


def _not_negative(ranges: Ranges, size: Expr) -> Expr:
    return size if ranges.nonnegative(size) else apply("max", size, 0)


def _element(frame: Frame, part: Part, span: Span, name: str | None) -> Scalar:
    """One element as a scalar; where an operation takes tensors only, as a tensor of size 1."""
    check_written(frame, part.buffer, span)
    variable = frame.context.builder.element(part.buffer, part.region.offsets, span, name)
    one = TensorType(part.buffer.type.dtype, (const(1),))
    return Scalar(variable, Part(part.buffer, part.region, (None,), one, name))
