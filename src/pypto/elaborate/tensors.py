"""Tensors in a kernel: attributes, operations on them, and writes to them."""

from __future__ import annotations

from dataclasses import replace

from pypto.elaborate import advice
from pypto.elaborate import values as v
from pypto.elaborate.builder import whole
from pypto.elaborate.diagnostics import Poisoned, refuse
from pypto.elaborate.machine import Frame
from pypto.elaborate.scalars import as_number, number
from pypto.elaborate.values import Item, Known, Method, Sequence, scalar
from pypto.error import (
    DtypeError,
    FeError,
    FeNotImplementedError,
    FeTypeError,
    FeValueError,
    Span,
)
from pypto.ir.dtype import DataType, stored_dtypes
from pypto.ir.expr import apply, const
from pypto.ir.tensor import Buffer, TensorType, Value, root
from pypto.language import elsewhere
from pypto.language.status import TileOpFormat
from pypto.ops import registry
from pypto.ops.casts import cast_text
from pypto.ops.lowering import as_single

__all__ = [
    "Argument",
    "check_format",
    "check_written",
    "load",
    "part_of_buffer",
    "tensor_attribute",
    "write",
]

Argument = tuple[Item, Span]

_PROPERTIES = ("shape", "dtype", "dim", "name")
_OWN_METHODS = (
    "move", "assemble", "permute", "reshape", "transpose", "unsqueeze", "view"
)  # fmt: skip


def tensor_attribute(frame: Frame, tensor: v.Tensor, name: str, span: Span) -> Item:
    """``tensor.name``: a property, or a method to be called."""
    if name == "shape":
        return Sequence([scalar(size) for size in tensor.type.shape], True, shape=True)
    if name == "dtype":
        return Known(tensor.type.dtype)
    if name == "dim":
        return Known(tensor.type.rank)
    if name == "name":
        return Known(tensor.name or "")
    if name in _OWN_METHODS or registry.method(name) is not None:
        return Method(tensor, name)
    text = tensor.name or "x"
    help = advice.for_attribute(name, text) or advice.renamed(name)
    if name in ("numel", "nelement"):
        sizes = " * ".join(f"{text}.shape[{axis}]" for axis in range(tensor.type.rank))
        help = f"write {sizes}"
    if name in elsewhere.METHODS:
        elsewhere.METHODS[name].refuse(frame.context.options.soc_version, span)
    if advice.is_missing(name):
        refuse(
            FeNotImplementedError, f"'{name}' of a tensor is not available in this version", span,
            help=help or advice.for_missing(name),
        )  # fmt: skip
    if help is None:
        near = advice.near_operation(name, (*_PROPERTIES, *_OWN_METHODS))
        known = ", ".join((*_PROPERTIES, *_OWN_METHODS))
        help = f"a tensor has {known} and the operations: {text}.exp(), {text}.sum(-1), ..."
        help = f"did you mean '{near}'?" if near else help
    refuse(FeError, f"a tensor has no attribute '{name}'", span, code="F00007", help=help)


def has_tensor_attribute(name: str) -> bool:
    """Whether :func:`tensor_attribute` has an answer for ``name``."""
    return name in (*_PROPERTIES, *_OWN_METHODS) or registry.method(name) is not None


def check_format(format: TileOpFormat, what: str, span: Span) -> None:
    """Refuse tensors that do not lie row by row."""
    if format is not TileOpFormat.TILEOP_ND:
        refuse(
            FeNotImplementedError,
            f"the format {format.name} of {what} is not available in this version",
            span,
            help="leave the format out: tensors lie row by row (TILEOP_ND)",
        )


def load(frame: Frame, item: v.Tensor, span: Span) -> Value:
    """The elements of ``item`` now."""
    if isinstance(item, Buffer):
        check_written(frame, item, span)
        return frame.context.builder.load(item, span)
    if isinstance(item, v.Part):
        check_written(frame, item, span)
        return frame.context.builder.load_part(item, span)
    _check_current(frame, item, span)
    return item


def _check_current(frame: Frame, item: Value, span: Span) -> None:
    """Refuse what ``+=`` has replaced under another name, and copies that are out of date."""
    frame.context.builder.copies.use(item, frame.context.builder.block, span)
    replaced = frame.context.replaced.get(item)
    if replaced is not None:
        target, sign = replaced.target, replaced.sign
        refuse(
            FeError,
            f"'{target} {sign}=' gives '{target}' a new tensor, and the old one is used later by "
            "another name; in torch that name would have the new values",
            replaced.span,
            code="F00007",
            notes=(*replaced.notes, f"the old tensor is used at {span.location}"),
            help=f"write {target} = {target} {sign} ..., which leaves the old tensor as it is",
        )


def part_of_buffer(frame: Frame, tensor: v.Tensor, span: Span) -> v.Part:
    """``tensor`` as memory: the result of an operation goes into a local tensor first."""
    if isinstance(tensor, v.Part):
        return tensor
    if isinstance(tensor, Buffer):
        return whole(tensor)
    return frame.context.builder.kept(load(frame, tensor, span), span)


def check_written(frame: Frame, tensor: Buffer | v.Part, span: Span) -> None:
    """Refuse to read a local tensor that holds nothing yet."""
    builder = frame.context.builder
    buffer = root(tensor.buffer if isinstance(tensor, v.Part) else tensor)
    if buffer.param is not None or buffer in builder.written:
        return
    name = next((name for name, item in frame.locals.items() if item is buffer), None)
    sizes = ", ".join(str(size) for size in buffer.type.shape)
    made = f"pypto.tensor([{sizes}], {buffer.type.dtype!r})"
    refuse(
        FeValueError,
        f"the local tensor '{name}' is read before it is written"
        if name
        else "a local tensor is read before it is written",
        span,
        help=f"write it first: {name}[:] = ..."
        if name
        else f"give it a name and write it first: t = {made}, then t[:] = ...",
    )


def write(
    frame: Frame, buffer: Item, item: Item, span: Span, target: str, *, move: bool = False
) -> None:
    """``buffer[:] = item``; ``target`` is the text of the written expression. With ``move``, as
    ``buffer.move(item)``: a tensor only."""
    if not isinstance(buffer, Buffer | v.Part):
        if isinstance(buffer, Value):
            refuse(
                FeTypeError,
                f"'{target}' is the result of an operation and cannot be written into",
                span,
                help=_copied_first(target),
            )
        if isinstance(buffer, v.Poison):
            raise Poisoned
        refuse(
            FeTypeError, f"'{target}' is no tensor", span,
            expected="a tensor parameter or local tensor", got=v.describe(buffer),
        )  # fmt: skip
    if isinstance(item, v.Poison):
        raise Poisoned
    if isinstance(buffer, v.Part) and not buffer.axes:
        one = TensorType(buffer.type.dtype, (const(1),))
        buffer = replace(buffer, axes=(None,), type=one)
    filled = None if move else _filled(frame, buffer, item, span)
    if filled is not None:
        item = filled
    if isinstance(item, v.Scalar) and item.element is not None and move:
        item = item.element
    if not isinstance(item, v.Tensor):
        refuse(
            FeTypeError,
            f"only a tensor can be moved into '{target}'"
            if move
            else f"only a tensor or a number can be stored into '{target}'",
            span,
            expected=f"a tensor that fits {buffer.type}",
            got=v.describe(item),
            help=_storing(item, target, move),
        )
    part = part_of_buffer(frame, buffer, span)
    value = load(frame, item, span)
    frame.context.builder.store_part(part, _lifted(frame, part, value, span), span)


def _copied_first(target: str) -> str:
    """How to write into what is no memory."""
    if target.isidentifier():
        return f"make it a tensor of its own first: {target} = {target} * 1"
    return "write into a tensor parameter or a local tensor: pypto.tensor(shape, dtype)"


def _number_of(dtype: DataType) -> str | None:
    """How to fill a tensor of ``dtype`` with a number, where no instruction does that."""
    wide = DataType.DT_FP16 if dtype is DataType.DT_BOOL else DataType.DT_INT32
    way = cast_text(f"pypto.full(shape, number, pypto.{wide})", wide, dtype)
    return None if way is None else f"cast a tensor that holds the number: {way}"


def _lifted(frame: Frame, part: v.Part, value: Value, span: Span) -> Value:
    """``value`` with an axis of size 1 for each axis of ``part`` that it lacks.

    Where the part's axes are the buffer's last ones a store repeats the value along the others.
    """
    missing = len(part.axes) - value.type.rank
    if missing <= 0 or part.axes == (*range(part.buffer.type.rank),):
        return value
    held = frame.context.builder.kept(value, span)
    ones = (const(1),) * missing
    type = TensorType(
        value.type.dtype,
        (*ones, *value.type.shape),
        None if value.type.valid is None else (*ones, *value.type.valid),
    )
    lifted = v.Part(held.buffer, held.region, (*(None,) * missing, *held.axes), type, value.name)
    return frame.context.builder.load_part(lifted, span)


def _storing(item: Item, target: str, move: bool) -> str | None:
    """How to store what is no tensor; None when there is no way."""
    if isinstance(item, Known) and isinstance(item.value, registry.Operation):
        return f"call it: {item.value.spec.usage}"
    if isinstance(item, Method):
        return f"call it: {item.name}(...)"
    if move and number(item) is not None:
        return f"write {target}[:] = ..., which takes numbers, too"
    if isinstance(item, Sequence):
        return "pass the numbers as a tensor, a parameter of the kernel"
    return None


def _filled(frame: Frame, buffer: Buffer | v.Part, item: Item, span: Span) -> Value | None:
    """A tensor of ones sizes that holds the scalar ``item``; None when it is no scalar."""
    scalar_value = number(item)
    if scalar_value is None:
        return None
    dtype = buffer.type.dtype
    if dtype not in _FILLED:
        refuse(
            DtypeError, f"a scalar cannot be stored into a tensor of {dtype.absent}", span,
            expected=f"one of {', '.join(str(d) for d in sorted(_FILLED))}", got=str(dtype),
            help=_number_of(dtype),
        )  # fmt: skip
    scalar_value = as_number(scalar_value)
    if scalar_value.kind == "float" and not dtype.is_float:
        refuse(
            FeTypeError, f"a float scalar cannot be stored into a {dtype} tensor", span,
            expected="an int", got=v.describe(item), help="use an int",
        )  # fmt: skip
    if dtype.is_float:
        scalar_value = as_single(scalar_value)
    elif dtype is DataType.DT_BOOL:
        scalar_value = apply("select", apply("ne", scalar_value, 0), 1, 0)
    shape = tuple(const(1) for _ in buffer.type.shape)
    return frame.context.builder.compute(
        "fill", (scalar_value,), (), TensorType(dtype, shape), span, buffer.name
    )


# No instruction and no number of a kernel has the bits of a double.
_FILLED = stored_dtypes - {DataType.DT_DOUBLE}
