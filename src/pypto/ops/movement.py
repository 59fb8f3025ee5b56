"""Copies of elements: the front end makes them of loads and stores of boxes, bit for bit.

These operations compute nothing: a result is a local tensor whose boxes are stored one by one, and
passes put it where it is stored to in the end (``passes/place.py``).
"""

from __future__ import annotations

from pypto.error import DtypeError, FeNotImplementedError, FeValueError, ShapeError
from pypto.ir.dtype import DataType, stored_dtypes
from pypto.ir.expr import Expr, apply, as_int, const, product_of
from pypto.ir.tensor import TensorType, Value
from pypto.ops.shapes import MAX_RANK, axis, show
from pypto.ops.spec import OpCall, OpParam, OpSpec

__all__ = ["SPECS", "joined", "padding"]

_MOST = 128  # tensors that are joined at once
_FILLED = stored_dtypes - {DataType.DT_DOUBLE}


def joined(call: OpCall) -> tuple[TensorType, ...]:
    """The types of the tensors that are joined."""
    values = call.args["tensors"]
    assert isinstance(values, tuple)
    return tuple(value.type for value in values if isinstance(value, Value))


def _infer_concat(call: OpCall) -> TensorType:
    types = joined(call)
    if not 2 <= len(types) <= _MOST:
        call.fail(
            FeValueError, f"concat joins 2 to {_MOST} tensors", got=str(len(types)), arg="tensors"
        )
    first = types[0]
    dim = axis(call, "dim", first.rank)
    for type in types:
        _check_dtype(call, type, "tensors")
        if type.dtype != first.dtype:
            call.fail(
                DtypeError, "concat: the tensors have different dtypes", expected="one dtype",
                got=f"{first.dtype} and {type.dtype}", arg="tensors",
            )  # fmt: skip
        if type.rank != first.rank:
            call.fail(
                ShapeError, "concat: the tensors have different ranks", expected="one rank",
                got=f"{show(first.shape)} and {show(type.shape)}", arg="tensors",
            )  # fmt: skip
    shape = [*first.shape]
    for type in types[1:]:
        for at, size in enumerate(type.shape):
            if at == dim:
                shape[at] = apply("add", shape[at], size)
            else:
                _equal(call, shape[at], size, at)
    return TensorType(first.dtype, tuple(shape))


def _equal(call: OpCall, size: Expr, other: Expr, at: int) -> None:
    if size == other:
        return
    if as_int(size) is not None and as_int(other) is not None:
        call.fail(
            ShapeError, "concat: the tensors differ along another axis than 'dim'",
            expected="equal sizes", got=f"{size} and {other} for axis {at}", arg="tensors",
        )  # fmt: skip
    call.require(apply("eq", size, other), f"concat needs {size} == {other}")


def _check_dtype(call: OpCall, type: TensorType, name: str) -> None:
    if type.dtype not in call.spec.dtypes:
        call.fail(
            DtypeError, f"{call.spec.name} does not take {type.dtype} on this target",
            expected=f"one of {', '.join(str(d) for d in sorted(call.spec.dtypes))}",
            got=f"{type.dtype} for '{name}'", arg=name,
        )  # fmt: skip


def padding(call: OpCall) -> tuple[int, int]:
    """Rows below and columns to the right that ``pad`` adds."""
    given = call.args["pad"]
    sizes = given if isinstance(given, tuple) else (given,)
    if len(sizes) not in (2, 4) or any(isinstance(s, int) and s < 0 for s in sizes):
        call.fail(
            FeValueError, "pad takes 2 or 4 sizes of 0 or more", code="F00002",
            expected="[0, right] or [0, right, 0, bottom]", got=str(list(sizes)), arg="pad",
        )  # fmt: skip
    if any(sizes[::2]):
        call.fail(
            FeValueError, "pad adds elements to the right and below", code="F00002",
            expected="0 for left and top", got=str(list(sizes)),
            help="join the tensors instead: pypto.concat([...], dim)", arg="pad",
        )  # fmt: skip
    right, bottom = sizes[1], sizes[3] if len(sizes) == 4 else 0
    return bottom, right


def _check_value(call: OpCall, type: TensorType) -> None:
    if call.args["mode"] != "constant":
        call.fail(
            FeNotImplementedError, f"{call.spec.name} has the mode 'constant' alone",
            expected="'constant'", got=repr(call.args["mode"]), arg="mode",
        )  # fmt: skip
    value = call.args["value"]
    if isinstance(value, float) and not type.dtype.is_float:
        call.fail(
            FeValueError, f"{call.spec.name}: a float cannot be stored into {type.dtype}",
            code="F00002", expected="an int", got=repr(value), arg="value",
        )  # fmt: skip


def _infer_pad(call: OpCall) -> TensorType:
    dtype, tensor = call.check_dtype("input"), call.tensor("input")
    bottom, right = padding(call)
    _check_value(call, tensor)
    if len(call.args["pad"]) == 4 and tensor.rank < 2:  # type: ignore[arg-type]
        call.fail(
            ShapeError, "pad of four sizes takes a tensor of two axes or more",
            got=show(tensor.shape), arg="input",
        )  # fmt: skip
    shape = [*tensor.shape]
    shape[-1] = apply("add", shape[-1], right)
    if bottom:
        shape[-2] = apply("add", shape[-2], bottom)
    return TensorType(dtype, tuple(shape))


def _infer_fillpad(call: OpCall) -> TensorType:
    dtype, tensor = call.check_dtype("input"), call.tensor("input")
    _check_value(call, tensor)
    return TensorType(dtype, tensor.shape)


def _infer_same(call: OpCall) -> TensorType:
    dtype, tensor = call.check_dtype("input"), call.tensor("input")
    return TensorType(dtype, tensor.shape)


def _infer_expand(call: OpCall) -> TensorType:
    dtype, tensor = call.check_dtype("input"), call.tensor("input")
    shape = call.args["shape"]
    assert isinstance(shape, tuple)
    if len(shape) != tensor.rank:
        call.fail(
            ShapeError, "expand_clone keeps the number of axes", expected=f"{tensor.rank} sizes",
            got=show(shape), arg="shape",
        )  # fmt: skip
    return TensorType(dtype, shape)


def _even(call: OpCall, tensor: TensorType) -> None:
    left = apply("mod", tensor.shape[-1], 2)
    if as_int(left) == 1:
        call.fail(
            ShapeError, f"{call.spec.name} takes an even last axis", got=show(tensor.shape),
            arg="input",
        )  # fmt: skip
    if as_int(left) is None:
        call.require(apply("eq", left, 0), f"{call.spec.name} needs an even {tensor.shape[-1]}")


def _infer_weave(call: OpCall) -> TensorType:
    """Two tensors alike give two of their shape; one gives two of half its last axis."""
    dtype, tensor = call.check_dtype("input"), call.tensor("input")
    _even(call, tensor)
    if tensor.rank >= MAX_RANK:
        call.fail(ShapeError, f"{call.spec.name} takes at most rank {MAX_RANK - 1}", arg="input")
    if call.args["other"] is None:
        half = apply("floordiv", tensor.shape[-1], 2)
        return TensorType(dtype, (*tensor.shape[:-1], half))
    other = call.tensor("other")
    if other.dtype != dtype or other.rank != tensor.rank:
        call.fail(
            DtypeError if other.dtype != dtype else ShapeError,
            f"{call.spec.name} takes two tensors of one shape and dtype",
            expected=str(tensor), got=str(other), arg="other",
        )  # fmt: skip
    for at, (size, there) in enumerate(zip(tensor.shape, other.shape, strict=True)):
        if size != there and as_int(size) is not None and as_int(there) is not None:
            call.fail(
                ShapeError, f"{call.spec.name} takes two tensors of one shape",
                expected=f"{size} for axis {at}", got=str(there), arg="other",
            )  # fmt: skip
        if size != there:
            call.require(apply("eq", size, there), f"{call.spec.name} needs {size} == {there}")
    return TensorType(dtype, tensor.shape)


def _infer_pack(call: OpCall) -> TensorType:
    dtype, tensor = call.check_dtype("input"), call.tensor("input")
    count = product_of((const(dtype.bytes), *tensor.shape))
    return TensorType(DataType.DT_UINT8, (count,))


def _infer_unpack(call: OpCall) -> TensorType:
    call.check_dtype("input")
    tensor, dtype = call.tensor("input"), call.args["dtype"]
    assert isinstance(dtype, DataType)
    if dtype not in stored_dtypes or dtype is DataType.DT_BOOL:
        call.fail(DtypeError, f"unpack does not give {dtype} on this target", arg="dtype")
    if tensor.rank != 1:
        call.fail(
            ShapeError, "unpack takes a tensor of one axis", got=show(tensor.shape), arg="input"
        )
    return TensorType(dtype, (apply("floordiv", tensor.shape[0], dtype.bytes),))


_INPUT = OpParam("input", "tensor")
_FILL = (OpParam("mode", "text", "constant"), OpParam("value", "number", 0))
_BYTES = stored_dtypes - {DataType.DT_BOOL, DataType.DT_DOUBLE}
_WEAVE = (_INPUT, OpParam("other", "tensor"))

SPECS: tuple[OpSpec, ...] = (
    OpSpec(
        "clone", "movement", (_INPUT,), stored_dtypes, _infer_same, None,
        "input.clone()", "A copy, which may be written.", method=True,
    ),
    OpSpec(
        "concat", "movement", (OpParam("tensors", "tensors"), OpParam("dim", "dims", 0)),
        stored_dtypes, _infer_concat, None,
        "torch.cat(tensors, dim)", "Tensors one behind the other along an axis: 2 to 128.",
    ),
    OpSpec(
        "pad", "movement", (_INPUT, OpParam("pad", "dims"), *_FILL), _FILLED, _infer_pad, None,
        "torch.nn.functional.pad(input, pad, mode, value)",
        "A number to the right of the last axis and, of four sizes, below the one before.",
        method=True,
    ),
    OpSpec(
        "fillpad", "movement", (_INPUT, *_FILL), _FILLED, _infer_fillpad, None,
        "torch.where(valid, input, value)",
        "A number where the tensor is not valid; the result is valid throughout.", method=True,
        notes=("`valid` is true inside the valid shape of `input`.",),
    ),
    OpSpec(
        "expand_clone", "movement",
        (_INPUT, OpParam("shape", "sizes"), OpParam("valid_shape", "sizes", None)),
        stored_dtypes, _infer_expand, None,
        "input.expand(shape).clone()", "Axes of size 1 repeated.", method=True,
    ),
    OpSpec(
        "interleave", "movement", _WEAVE, stored_dtypes, _infer_weave, None,
        "torch.stack((input, other), -1).flatten(-2).chunk(2, -1)",
        "The elements of two tensors in turn, along an even last axis: two tensors of that shape.",
    ),
    OpSpec(
        "deinterleave", "movement", (_INPUT, OpParam("other", "tensor", None)), stored_dtypes,
        _infer_weave, None,
        "[torch.cat((input, other), -1)[..., i::2] for i in (0, 1)]",
        "Every second element along an even last axis, from the first and from the second one on; "
        "of one tensor: two of half its last axis.",
    ),
    OpSpec(
        "pack", "movement", (_INPUT,), _BYTES | {DataType.DT_DOUBLE}, _infer_pack, None,
        "input.flatten().view(torch.uint8)", "The bytes of a tensor, as one axis of DT_UINT8.",
    ),
    OpSpec(
        "unpack", "movement", (_INPUT, OpParam("dtype", "dtype")),
        frozenset({DataType.DT_UINT8}), _infer_unpack, None,
        "input.view(dtype)", "Bytes along one axis as elements of a dtype.",
    ),
)  # fmt: skip
