"""Functions that look at memory another way, and those that make filled tensors.

``view``, ``unsqueeze`` and ``permute`` are other axes of the same region; ``reshape`` is another
shape of the same memory, of a copy where the part does not lie in one piece.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Items
from dataclasses import replace

from pypto.elaborate import values as v
from pypto.elaborate.binding_builtins import bind_builtin
from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.iteration import items_of
from pypto.elaborate.machine import Frame
from pypto.elaborate.regions import Cut, cut_of
from pypto.elaborate.tensors import check_written, part_of_buffer, write
from pypto.elaborate.values import Item, Known, Part
from pypto.elaborate.view_arguments import (
    LISTED,
    axis_argument,
    check_count,
    numbers_argument,
    tensor_argument,
)
from pypto.error import (
    DtypeError,
    FeNotImplementedError,
    FeTypeError,
    FeValueError,
    ShapeError,
    Span,
)
from pypto.ir.dtype import DataType, stored_dtypes
from pypto.ir.expr import Expr, apply, as_int, const, product_of
from pypto.ir.tensor import Buffer, Region, TensorType, start_of
from pypto.language import builtin
from pypto.language.builtin import Builtin
from pypto.language.dtype_names import suggestion
from pypto.ops.shapes import equality

__all__ = ["METHODS", "SIGNATURES", "call_view", "call_view_method", "linear", "narrowed_to"]

Argument = tuple[Item, Span]
Given = dict[str, Argument]


def call_view(
    frame: Frame,
    function: Builtin,
    positional: list[Argument],
    keyword: Given,
    span: Span,
    name: str | None,
) -> Item:
    """A call of one of :data:`SIGNATURES`."""
    needed, optional, run = SIGNATURES[function]
    return run(
        frame, bind_builtin(function, positional, keyword, span, needed, optional), span, name
    )


# --- boxes ---

_VARIES = "what varies is the valid shape: view(..., valid_shape=[...])"


def _box(
    frame: Frame, tensor: v.Tensor, offsets: list[Expr], shape: list[Expr], span: Span
) -> Part:
    """The part of this shape at ``offsets``; its valid shape is what lies inside."""
    part = part_of_buffer(frame, tensor, span)
    ranges = frame.context.builder.ranges
    starts, sizes = [*part.region.offsets], [*part.region.sizes]
    valid = []
    for axis, (offset, size) in enumerate(zip(offsets, shape, strict=True)):
        cut = Cut(offset, apply("add", offset, size), span)
        start, _, present = cut_of(ranges, cut, part.type.sizes[axis])
        valid.append(present)
        held = part.axes[axis]
        if held is not None:
            starts[held] = apply("add", starts[held], start)
            sizes[held] = present
        elif as_int(start) != 0 or as_int(present) != 1:
            message = "an axis that was added to a part cannot be cut"
            refuse(FeNotImplementedError, message, span, help="cut before the axis is added")
    region = Region(tuple(starts), tuple(sizes))
    return replace(part, region=region, type=_typed(part, shape, valid))


def _typed(part: Part, shape: Items[Expr], valid: Items[Expr]) -> TensorType:
    same = tuple(shape) == tuple(valid)
    return TensorType(part.type.dtype, tuple(shape), None if same else tuple(valid))


def _view(frame: Frame, given: Given, span: Span, name: str | None) -> Item:
    tensor = tensor_argument(given["input"], "view")
    shape = given.get("shape", (None, span))[0]
    if "dtype" not in given and isinstance(shape, Known) and isinstance(shape.value, DataType):
        given = {**given, "dtype": given["shape"]}  # x.view(dtype), as torch has it
    if "dtype" in given:
        return _reinterpreted(frame, tensor, given, span, name)
    for key in ("shape", "offsets"):
        if key not in given:
            refuse(FeTypeError, f"view misses the argument '{key}'", span, help=builtin.view.usage)
    stated = numbers_argument(frame, given["shape"], "the shape of a view")
    offsets = numbers_argument(frame, given["offsets"], "offsets")
    check_count(stated, tensor.type.rank, "the shape of a view", given["shape"][1])
    check_count(offsets, tensor.type.rank, "offsets", given["offsets"][1])
    for size in stated:
        if (as_int(size) if as_int(size) is not None else -1) < 0:  # type: ignore[operator]
            refuse(
                FeTypeError, "the shape of a view is a list of ints", given["shape"][1],
                got=str(size), help=_VARIES if as_int(size) is None else LISTED,
            )  # fmt: skip
    part = replace(_box(frame, tensor, offsets, stated, span), name=name)
    return narrowed(frame, part, given["valid_shape"]) if "valid_shape" in given else part


def _reinterpreted(
    frame: Frame, tensor: v.Tensor, given: Given, span: Span, name: str | None
) -> Part:
    """The bytes of ``tensor`` as elements of another dtype; shape and offsets do not count."""
    dtype = _dtype(frame, given["dtype"], tensor)
    part = part_of_buffer(frame, tensor, span)
    have, want = part.type.dtype.bytes, dtype.bytes
    last = len(part.buffer.type.shape) - 1
    if have != want and (not part.axes or part.axes[-1] != last):
        refuse(
            ShapeError, "the last axis of this part does not lie side by side in memory", span,
            got=v.describe(tensor),
            help=f"a dtype of {have} bytes alone can show it; or copy it first: t.clone()",
        )  # fmt: skip

    def scaled(size: Expr) -> Expr:
        return apply("floordiv", apply("mul", size, have), want)

    def ends(sizes: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return sizes if have == want else (*sizes[:-1], scaled(sizes[-1]))

    if want > have:
        starts = part.buffer.type.shape[last], part.region.offsets[last], part.type.shape[-1]
        for size in (*starts, start_of(part.buffer)):
            left = apply("mod", size, want // have)
            message = f"an element of {dtype} is {want // have} of {part.type.dtype}"
            if as_int(left) not in (None, 0):
                refuse(
                    ShapeError, f"{message}: {size} cannot be divided by {want // have}", span,
                    expected="a last axis, and a start along it, that can be divided",
                    got=v.describe(tensor),
                )  # fmt: skip
            message = f"{message}: {left} == 0 is needed"
            frame.context.builder.require(apply("eq", left, 0), message, span)
    type = TensorType(dtype, ends(part.buffer.type.shape))
    made = frame.context.builder.local(name or part.buffer.name, type, span, base=part.buffer)
    region = Region(ends(part.region.offsets), ends(part.region.sizes))
    shape, valid = ends(part.type.shape), ends(part.type.sizes)
    seen = TensorType(dtype, shape, None if shape == valid else valid)
    return Part(made, region, part.axes, seen, name)


def _dtype(frame: Frame, argument: Argument, tensor: v.Tensor) -> DataType:
    dtype = frame.python(*argument, "the dtype of a view")
    if not isinstance(dtype, DataType):
        refuse(
            FeTypeError, "the dtype of a view is a pypto dtype", argument[1],
            expected="pypto.DT_FP32, pypto.DT_FP16, ...", got=v.describe(Known(dtype)),
            help=suggestion(dtype),
        )  # fmt: skip
    if dtype is DataType.DT_BOOL and tensor.type.dtype is not dtype:
        refuse(
            DtypeError, "the bytes of a tensor are no truth values", argument[1],
            got=v.describe(tensor), help="compare instead: t != 0",
        )  # fmt: skip
    for one in (dtype, tensor.type.dtype):
        if one not in stored_dtypes:
            refuse(
                DtypeError, f"a view does not take {one.absent}", argument[1],
                expected=f"one of {', '.join(str(d) for d in sorted(stored_dtypes))}",
            )  # fmt: skip
    return dtype


def narrowed(frame: Frame, tensor: v.Tensor, argument: Argument) -> Part:
    """``tensor`` with a valid shape that the program states."""
    span = argument[1]
    part = part_of_buffer(frame, tensor, span)
    stated = numbers_argument(frame, argument, "valid_shape")
    check_count(stated, len(part.axes), "valid_shape", span)
    return narrowed_to(frame, part, stated)


def narrowed_to(frame: Frame, part: Part, stated: list[Expr]) -> Part:
    """``part`` with a valid shape of at most ``stated``."""
    builder = frame.context.builder
    sizes, valid = [*part.region.sizes], []
    for axis, (size, inside) in enumerate(zip(stated, part.type.sizes, strict=True)):
        if not builder.ranges.nonnegative(size):
            size = apply("max", size, 0)
        valid.append(builder.smaller(inside, size))
        held = part.axes[axis]
        if held is not None:
            sizes[held] = valid[-1]
    region = Region(part.region.offsets, tuple(sizes))
    return replace(part, region=region, type=_typed(part, part.type.shape, valid))


def _assemble(frame: Frame, given: Given, span: Span, name: str | None) -> Item:
    """``assemble(tensor, offsets, out)`` and ``assemble([(tensor, offsets), ...], out)``."""
    first, place = given["input"]
    if "parallel" in given:
        frame.python(*given["parallel"], "parallel")
    if v.is_tensor(first) or isinstance(first, v.Scalar):
        if "out" not in given or "offsets" not in given:
            refuse(FeTypeError, "assemble takes a tensor, offsets and out", span,
                   help=builtin.assemble.usage)  # fmt: skip
        pairs = [(given["input"], given["offsets"])]
        out = given["out"]
    else:
        out = given["out"] if "out" in given else given.get("offsets", given["input"])
        pairs = [_pair(frame, item, place) for item in items_of(frame, first, place) or ()]
    target = tensor_argument(out, "assemble")
    for source, offsets in pairs:
        _place(frame, source, offsets, target, span)
    return Known(None)


def _pair(frame: Frame, item: Item, span: Span) -> tuple[Argument, Argument]:
    parts = None if v.is_tensor(item) else items_of(frame, item, span)
    if parts is None or len(parts) != 2:
        refuse(
            FeTypeError, "assemble takes pairs of a tensor and its offsets", span,
            got=v.describe(item), help=builtin.assemble.usage,
        )  # fmt: skip
    return (parts[0], span), (parts[1], span)


def _place(frame: Frame, source: Argument, offsets: Argument, target: v.Tensor, span: Span) -> None:
    tensor = tensor_argument(source, "assemble")
    starts = numbers_argument(frame, offsets, "offsets")
    check_count(starts, target.type.rank, "offsets", offsets[1])
    if tensor.type.rank != target.type.rank:
        refuse(
            ShapeError, "assemble puts a tensor into one of the same rank", source[1],
            expected=f"rank {target.type.rank}", got=v.describe(tensor),
        )  # fmt: skip
    if isinstance(target, Buffer | Part):
        part: Item = _box(frame, target, starts, [*tensor.type.shape], span)
    else:
        part = target
    write(frame, part, tensor, span, "out")


# --- other axes ---


def _unsqueeze(frame: Frame, given: Given, span: Span, name: str | None) -> Item:
    part = part_of_buffer(frame, tensor_argument(given["input"], "unsqueeze"), span)
    at = axis_argument(frame, given["dim"], len(part.axes) + 1, "unsqueeze: 'dim'")

    def wider(sizes: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return (*sizes[:at], const(1), *sizes[at:])

    axes = (*part.axes[:at], None, *part.axes[at:])
    type = _typed(part, wider(part.type.shape), wider(part.type.sizes))
    return Part(part.buffer, part.region, axes, type, name)


def _permuted(part: Part, order: list[int]) -> Item:
    """The axes of ``part`` in another order."""
    axes = tuple(part.axes[axis] for axis in order)
    shape = tuple(part.type.shape[axis] for axis in order)
    valid = tuple(part.type.sizes[axis] for axis in order)
    return Part(part.buffer, part.region, axes, _typed(part, shape, valid), part.name)


def _permute(frame: Frame, given: Given, span: Span, name: str | None) -> Item:
    part = part_of_buffer(frame, tensor_argument(given["input"], "permute"), span)
    order = [as_int(one) for one in numbers_argument(frame, given["perm"], "perm")]
    rank = len(part.axes)
    found = [axis % rank for axis in order if axis is not None and -rank <= axis < rank]
    if sorted(found) != [*range(rank)]:
        refuse(
            FeValueError, "perm names every axis once", given["perm"][1],
            expected=f"the axes 0 … {rank - 1} in some order", got=str(order),
            help="perm has the old axes in their new order: [1, 0, 2] swaps the first two",
        )  # fmt: skip
    return _permuted(replace(part, name=name), found)


def _transpose(frame: Frame, given: Given, span: Span, name: str | None) -> Item:
    part = part_of_buffer(frame, tensor_argument(given["input"], "transpose"), span)
    order = [*range(len(part.axes))]
    a, b = (
        axis_argument(frame, given[key], len(order), f"transpose: '{key}'")
        for key in ("dim0", "dim1")
    )
    order[a], order[b] = order[b], order[a]
    return _permuted(replace(part, name=name), order)


# --- another shape ---


def _reshape(frame: Frame, given: Given, span: Span, name: str | None) -> Item:
    tensor = tensor_argument(given["input"], "reshape")
    if "inplace" in given:
        frame.python(*given["inplace"], "inplace")
    shape = _new_shape(
        frame, tensor, numbers_argument(frame, given["shape"], "a shape"), given["shape"][1]
    )
    if tensor.type.valid is not None and "valid_shape" not in given:
        refuse(
            ShapeError, "reshape of a tensor that is valid in part needs a valid_shape", span,
            got=v.describe(tensor),
            help="write reshape(t, shape, valid_shape=[...]): the sizes of the part that is valid",
        )  # fmt: skip
    builder = frame.context.builder
    part = part_of_buffer(frame, tensor, span)
    offset = linear(part)
    if offset is None or not builder.block.loop.sees(offset) or part.type.valid is not None:
        check_written(frame, part, span)
        part = builder.kept(builder.load_part(part, span), span)
        offset = const(0)
    type = TensorType(part.type.dtype, tuple(shape))
    made = builder.local(name or part.buffer.name, type, span, base=part.buffer, offset=offset)
    return narrowed(frame, made, given["valid_shape"]) if "valid_shape" in given else made


def _new_shape(frame: Frame, tensor: v.Tensor, shape: list[Expr], span: Span) -> list[Expr]:
    """``shape`` with its -1 filled in; refuses another number of elements."""
    count = product_of(tensor.type.shape)
    open = [axis for axis, size in enumerate(shape) if as_int(size) == -1]
    if len(open) > 1 or not shape or any((as_int(size) or 0) < -1 for size in shape):
        refuse(
            FeValueError, "a shape has sizes of 0 or more, and one -1 at most", span,
            expected=f"sizes whose product is {count}", got=f"[{', '.join(map(str, shape))}]",
        )  # fmt: skip
    if open:
        rest = product_of([size for axis, size in enumerate(shape) if axis not in open])
        if as_int(rest) == 0:
            refuse(FeValueError, "the size that -1 stands for is not determined", span)
        shape[open[0]] = apply("floordiv", count, rest)
    made = product_of(shape)
    if made == count:
        return shape
    if as_int(made) is not None and as_int(count) is not None:
        refuse(
            ShapeError, "reshape keeps the number of elements", span,
            expected=f"{count} elements", got=f"{made}",
            help="write -1 for one size: it becomes what is left",
        )  # fmt: skip
    condition = apply("eq", made, count)
    frame.context.builder.require(condition, f"reshape needs {equality(made, count)}", span)
    return shape


def linear(part: Part) -> Expr | None:
    """The element that ``part`` starts at, where it lies in one piece; else None."""
    kept = [axis for axis in part.axes if axis is not None]
    sizes, shape = part.region.sizes, part.buffer.type.shape
    if kept != sorted(kept):
        return None
    whole = True
    offset: Expr = const(0)
    stride: Expr = const(1)
    for axis in reversed(range(len(shape))):
        if not whole and as_int(sizes[axis]) != 1:
            return None
        whole = whole and sizes[axis] == shape[axis]
        offset = apply("add", offset, apply("mul", part.region.offsets[axis], stride))
        stride = apply("mul", stride, shape[axis])
    return offset


Names = tuple[str, ...]
SIGNATURES: dict[Builtin, tuple[Names, Names, Callable[..., Item]]] = {
    builtin.assemble: (("input",), ("offsets", "out", "parallel"), _assemble),
    builtin.permute: (("input", "perm"), (), _permute),
    builtin.reshape: (("input", "shape"), ("valid_shape", "inplace"), _reshape),
    builtin.transpose: (("input", "dim0", "dim1"), (), _transpose),
    builtin.unsqueeze: (("input", "dim"), (), _unsqueeze),
    builtin.view: (("input",), ("shape", "offsets", "valid_shape", "dtype"), _view),
}
"""Names of the arguments, those that may be left out, and what a call means."""

METHODS: dict[str, Builtin] = {function.name: function for function in SIGNATURES}
"""Those are methods of tensors, too; of ``assemble`` the tensor is the target."""


def call_view_method(
    frame: Frame,
    tensor: v.Tensor,
    method: str,
    positional: list[Argument],
    keyword: Given,
    span: Span,
    name: str | None,
) -> Item:
    """``tensor.view(...)``, ``tensor.assemble(part, offsets)`` and the like."""
    function, own = METHODS[method], (tensor, span)
    if method != "assemble":
        return call_view(frame, function, [own, *positional], keyword, span, name)
    given = bind_builtin(function, positional, keyword, span, ("input", "offsets"))
    return _assemble(frame, {**given, "out": own}, span, name)
