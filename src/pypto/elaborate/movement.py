"""Operations that move elements: their results are local tensors, stored box by box.

The operations are those of ``ops/movement.py`` and ``ops/indexing.py``, which have no lowering:
what they become is loops, loads, stores and other shapes of memory, which the passes know.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pypto.elaborate import values as v
from pypto.elaborate.arithmetic import operand
from pypto.elaborate.builder import whole
from pypto.elaborate.diagnostics import Poisoned, refuse
from pypto.elaborate.indexing import selected
from pypto.elaborate.iteration import items_of
from pypto.elaborate.machine import Frame
from pypto.elaborate.operations import apply_operation, converted
from pypto.elaborate.scalars import as_number
from pypto.elaborate.tensors import Argument, load, part_of_buffer, write
from pypto.elaborate.values import Item, Known, Part
from pypto.elaborate.views import narrowed_to
from pypto.error import FeTypeError, ShapeError, Span
from pypto.ir.expr import Expr, apply, as_int, const, product_of
from pypto.ir.tensor import Region, TensorType, Value
from pypto.ops.movement import padding
from pypto.ops.spec import OpCall, OpParam, OpSpec

__all__ = ["call_operation"]

_NUMBERS = {"-inf": float("-inf"), "inf": float("inf"), "nan": float("nan")}


def call_operation(
    frame: Frame,
    spec: OpSpec,
    positional: tuple[Argument, ...],
    keyword: Mapping[str, Argument],
    span: Span,
    name: str | None,
) -> Item:
    """A call of any operation of the registry."""
    if spec.lower is not None:
        return apply_operation(frame, spec, positional, keyword, span, name)
    arguments: dict[str, object] = {}
    items: dict[str, Item] = {}
    spans: dict[str, Span] = {}
    for param, given in zip(
        spec.params, spec.bind(positional, keyword, span).values(), strict=True
    ):
        if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], Span):
            items[param.name], spans[param.name] = given
            arguments[param.name] = _argument(frame, spec, param, given[0], given[1])
        else:
            arguments[param.name] = given
    call = OpCall(spec, arguments, span, spans)
    type = spec.infer(call)
    for condition, message in call.required:
        frame.context.builder.require(condition, message, span)
    return _MADE[spec.name](_Making(frame, call, items, type, span, name or spec.name))


def _argument(frame: Frame, spec: OpSpec, param: OpParam, item: Item, span: Span) -> object:
    what = f"{spec.name}: '{param.name}'"
    if isinstance(item, v.Poison):
        raise Poisoned
    if isinstance(item, Known) and item.value is None and param.default is None:
        return None
    if param.kind in ("tensors", "sizes"):
        wanted = "tensors" if param.kind == "tensors" else "ints"
        parts = None if v.is_tensor(item) else items_of(frame, item, span)
        if parts is None:
            refuse(FeTypeError, f"{what} is a list of {wanted}", span, got=v.describe(item),
                   help=spec.usage)  # fmt: skip
        read = _tensor if param.kind == "tensors" else _size
        return tuple(read(frame, part, what, span) for part in parts)
    if param.kind == "number":
        value = frame.python(item, span, what)
        value = _NUMBERS.get(value, value) if isinstance(value, str) else value
        if not isinstance(value, int | float):
            refuse(FeTypeError, f"{what} is a number", span, got=v.describe(item), help=spec.usage)
        return value
    if param.kind == "text":
        return frame.python(item, span, what)
    return converted(frame, spec, param, item, span)


def _tensor(frame: Frame, item: Item, what: str, span: Span) -> Value:
    if isinstance(item, v.Scalar) and item.element is not None:
        item = item.element
    if isinstance(item, v.Poison):
        raise Poisoned
    if not v.is_tensor(item):
        refuse(FeTypeError, f"{what} is a list of tensors", span, got=v.describe(item))
    return load(frame, item, span)


def _size(frame: Frame, item: Item, what: str, span: Span) -> Expr:
    expr = operand(frame, item, span)
    if expr is None or expr.kind == "float":
        refuse(FeTypeError, f"{what} is a list of ints", span, got=v.describe(item))
    return as_number(expr)


class _Making:
    """A result while its boxes are stored."""

    def __init__(
        self,
        frame: Frame,
        call: OpCall,
        items: Mapping[str, Item],
        type: TensorType,
        span: Span,
        name: str,
    ) -> None:
        self.frame, self.call, self.span, self.name = frame, call, span, name
        self.items = items
        self.builder = frame.context.builder
        self.type = type

    def value(self, name: str) -> Value:
        value = self.call.args[name]
        assert isinstance(value, Value)
        return value

    def part(self, name: str) -> Part:
        """The operand where it is: of a tensor in memory nothing is copied."""
        item = self.items[name]
        if isinstance(item, v.Scalar) and item.element is not None:
            item = item.element
        assert v.is_tensor(item)
        return part_of_buffer(self.frame, item, self.span)

    def local(self, shape: Sequence[Expr] | None = None) -> Part:
        """A local tensor of the result's type, or of another shape."""
        shape = self.type.shape if shape is None else tuple(shape)
        made = self.builder.local(self.name, TensorType(self.type.dtype, shape), self.span)
        part = whole(made)
        if made.type.shape == shape:
            return part
        region = Region(part.region.offsets, shape)
        return replace(part, region=region, type=TensorType(self.type.dtype, shape))

    def box(self, part: Part, offsets: Sequence[Expr], sizes: Sequence[Expr]) -> Part:
        type = TensorType(part.type.dtype, tuple(sizes))
        return replace(part, region=Region(tuple(offsets), tuple(sizes)), type=type)

    def store(self, part: Part, value: Value) -> None:
        """``value``, as far as it is valid, to the first elements of ``part``."""
        if value.type.valid is not None:
            region = replace(part.region, sizes=value.type.sizes)
            part = replace(part, region=region, type=value.type)
        self.builder.store_part(part, value, self.span)

    def shown(self, part: Part) -> Item:
        """A part that is all of its buffer is the buffer."""
        return part.buffer if part.region.covers(part.buffer) else part

    def narrowed(self, part: Part, valid: Sequence[Expr]) -> Item:
        if tuple(valid) == part.type.sizes:
            return self.shown(part)
        return narrowed_to(self.frame, part, list(valid))

    def again(self, part: Part, shape: Sequence[Expr]) -> Part:
        """All of the memory of ``part`` in another shape."""
        type = TensorType(part.type.dtype, tuple(shape))
        return whole(self.builder.local(self.name, type, self.span, base=part.buffer))

    def memory(self, name: str) -> Part:
        """The operand in one piece of memory, nothing behind or between its elements."""
        value = self.value(name)
        if value.type.valid is not None:
            refuse(
                ShapeError, f"{self.call.spec.name} takes a tensor that is valid throughout",
                self.span, got=str(value.type), help="fill the rest first: pypto.fillpad(t)",
            )  # fmt: skip
        return self.builder.kept(value, self.span)


def _clone(make: _Making) -> Item:
    value = make.value("input")
    part = make.local()
    make.store(part, value)
    return make.narrowed(part, value.type.sizes)


def _concat(make: _Making) -> Item:
    """What is valid of each tensor stands right behind what is valid of the one before."""
    values = make.call.args["tensors"]
    assert isinstance(values, tuple)
    dim = make.call.args["dim"]
    assert isinstance(dim, int)
    dim %= make.type.rank
    part = make.local()
    start: Expr = const(0)
    valid = [*make.type.shape]
    for value in values:
        offsets: list[Expr] = [const(0)] * make.type.rank
        offsets[dim] = start
        make.store(make.box(part, offsets, value.type.shape), value)
        for axis, held in enumerate(value.type.sizes):
            if axis != dim and held != value.type.shape[axis]:
                valid[axis] = make.builder.smaller(valid[axis], held)
        start = apply("add", start, value.type.sizes[dim])
    valid[dim] = start
    return make.narrowed(part, valid)


def _surrounded(make: _Making, outer: Sequence[Expr]) -> Item:
    """What is valid of the operand in the corner, the number around it as far as ``outer``: boxes
    that share no element."""
    value = make.value("input")
    inner = value.type.sizes
    part = make.local()
    make.store(make.box(part, [const(0)] * len(outer), value.type.shape), value)
    for axis, (size, end) in enumerate(zip(inner, outer, strict=True)):
        if size == end:
            continue
        offsets: list[Expr] = [const(0)] * len(outer)
        offsets[axis] = size
        sizes = [*inner[:axis], apply("sub", end, size), *outer[axis + 1 :]]
        number = make.call.args["value"]
        write(make.frame, make.box(part, offsets, sizes), Known(number), make.span, make.name)
    return make.narrowed(part, outer)


def _pad(make: _Making) -> Item:
    outer = [*make.value("input").type.sizes]
    bottom, right = padding(make.call)
    outer[-1] = apply("add", outer[-1], right)
    if bottom:
        outer[-2] = apply("add", outer[-2], bottom)
    return _surrounded(make, outer)


def _fillpad(make: _Making) -> Item:
    return _surrounded(make, make.type.shape)


def _expand_clone(make: _Making) -> Item:
    part, value = make.local(), make.value("input")
    make.builder.store_part(part, value, make.span)
    stated = make.call.args["valid_shape"]
    sizes = [
        held if as_int(size) != 1 else wanted
        for size, held, wanted in zip(
            value.type.shape, value.type.sizes, make.type.shape, strict=True
        )
    ]
    if isinstance(stated, tuple):
        if len(stated) != len(sizes):
            refuse(
                ShapeError, "valid_shape has one number for each axis of the tensor", make.span,
                expected=f"{len(sizes)} numbers", got=str(len(stated)),
            )  # fmt: skip
        sizes = [make.builder.smaller(a, b) for a, b in zip(sizes, stated, strict=True)]
    return make.narrowed(part, sizes)


def _turned(part: Part, name: str) -> Part:
    """The last two axes of ``part`` in the other order."""

    def swapped(sizes: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return (*sizes[:-2], sizes[-1], sizes[-2])

    axes = (*part.axes[:-2], part.axes[-1], part.axes[-2])
    type = TensorType(part.type.dtype, swapped(part.type.shape))
    return replace(part, axes=axes, type=type, name=name)


def _side(part: Part, number: int) -> Part:
    """``part[..., number, :]``"""
    at, offsets, sizes = part.axes[-2], [*part.region.offsets], [*part.region.sizes]
    assert at is not None
    offsets[at], sizes[at] = apply("add", offsets[at], number), const(1)
    shape = (*part.type.shape[:-2], part.type.shape[-1])
    return Part(
        part.buffer, Region(tuple(offsets), tuple(sizes)), (*part.axes[:-2], part.axes[-1]),
        TensorType(part.type.dtype, shape), part.name,
    )  # fmt: skip


def _copied(make: _Making, source: Part, shape: Sequence[Expr]) -> Part:
    made = make.local(shape)
    make.store(made, make.builder.load_part(source, make.span))
    return made


def _interleave(make: _Making) -> Item:
    """Both as rows of pairs, which are transposed."""
    *outer, size = make.type.shape
    pair = make.local([*outer, const(2), size])
    for number, name in enumerate(("input", "other")):
        make.builder.store_part(_side(pair, number), make.value(name), make.span)
    woven = _copied(make, _turned(pair, make.name), [*outer, size, const(2)])
    return _halves(make, woven, outer, size)


def _halves(make: _Making, woven: Part, outer: Sequence[Expr], size: Expr) -> Item:
    both = make.again(woven, [*outer, const(2), size])
    return v.Sequence([_side(both, 0), _side(both, 1)], False)


def _deinterleave(make: _Making) -> Item:
    """Pairs of neighbours, transposed: two rows."""
    *outer, size = make.value("input").type.shape
    if make.call.args["other"] is None:
        source = make.memory("input")
    else:
        joined = make.local([*outer, const(2), size])
        for number, name in enumerate(("input", "other")):
            make.builder.store_part(_side(joined, number), make.value(name), make.span)
        source, size = joined, apply("mul", size, 2)
    half = apply("floordiv", size, 2)
    pairs = make.again(source, [*outer, half, const(2)])
    rows = _copied(make, _turned(pairs, make.name), [*outer, const(2), half])
    return v.Sequence([_side(rows, 0), _side(rows, 1)], False)


def _bytes(make: _Making, source: Part) -> Item:
    """What lies in memory as elements of the result's dtype, along one axis."""
    count = product_of(source.type.shape)
    flat = make.again(source, [count])
    view = make.builder.local(make.name, make.type, make.span, base=flat.buffer)
    return make.builder.load_part(replace(whole(view), name=make.name), make.span)


def _pack(make: _Making) -> Item:
    return _bytes(make, make.memory("input"))


def _unpack(make: _Making) -> Item:
    source = make.memory("input")
    left = apply("mod", source.type.shape[0], make.type.dtype.bytes)
    message = f"unpack: {source.type.shape[0]} bytes are no whole number of {make.type.dtype}"
    if as_int(left) not in (None, 0):
        refuse(ShapeError, message, make.span)
    make.builder.require(apply("eq", left, 0), f"{message}: {left} == 0 is needed", make.span)
    return _bytes(make, source)


def _index_select(make: _Making) -> Item:
    dim = make.call.args["dim"]
    assert isinstance(dim, int)
    source, index, target = make.part("input"), make.part("index"), make.local()
    dim %= source.type.rank
    return make.narrowed(target, selected(make.frame, source, dim, index, target, make.span))


_MADE: dict[str, Callable[[_Making], Item]] = {
    "clone": _clone, "concat": _concat, "pad": _pad, "fillpad": _fillpad,
    "expand_clone": _expand_clone, "interleave": _interleave, "deinterleave": _deinterleave,
    "pack": _pack, "unpack": _unpack, "index_select": _index_select,
}  # fmt: skip
