"""Tensors made of positions: triangles, one-hot rows, and numbers in steps."""

from __future__ import annotations

import math

from pypto.error import FeTypeError, FeValueError, ShapeError
from pypto.ir.expr import Const, Expr, apply, as_int, const
from pypto.ir.tensor import Compute, TensorType, Value
from pypto.ops.arithmetic import NUMBERS, Lower
from pypto.ops.lowering import BOOL, F32, I8, I16, I32, I64, U8, U16, U32, Lowering
from pypto.ops.selection import choose
from pypto.ops.shapes import MAX_RANK, show
from pypto.ops.spec import OpCall, OpParam, OpSpec

__all__ = ["SPECS"]

_EXACT = 1 << 24  # integers up to here are FP32 numbers
_FAR = 1 << 30  # no diagonal of a tensor lies further away


# --- triangles ---


def _infer_triangle(call: OpCall) -> TensorType:
    dtype, tensor = call.check_dtype("input"), call.tensor("input")
    if not 2 <= tensor.rank <= MAX_RANK:
        call.fail(
            ShapeError, f"{call.spec.name} takes 2 to {MAX_RANK} axes", code="FC0002",
            got=show(tensor.shape), arg="input",
        )  # fmt: skip
    diagonal = call.scalar("diagonal")
    if diagonal is None or diagonal.kind == "float":
        call.fail(
            FeTypeError, f"{call.spec.name}: 'diagonal' must be an int", got=str(diagonal),
            arg="diagonal",
        )  # fmt: skip
    return TensorType(dtype, tensor.shape)


def _lower_triangle(mode: str) -> Lower:
    """Elements whose column is ``mode`` their row plus the diagonal; 0 elsewhere."""

    def lower(build: Lowering, use: Compute) -> Value:
        a, diagonal = use.args
        assert isinstance(a, Value) and isinstance(diagonal, Expr)
        rank = a.type.rank
        sizes = [as_int(size) for size in a.type.shape[-2:]]
        short = all(size is not None and size <= _EXACT for size in sizes)
        dtype, far = (F32, _EXACT) if short else (I32, _FAR)
        rows, cols = (build.iota(a, rank - back, dtype) for back in (2, 1))
        near = apply("max", apply("min", diagonal, far), -far)
        mask = build.compare(mode, cols, build.with_scalar("adds", rows, near))
        zero = const(0.0 if a.type.dtype.is_float else 0)
        return choose(build, mask, a, zero, a.type.dtype)

    return lower


# --- one-hot rows ---


def _infer_one_hot(call: OpCall) -> TensorType:
    call.check_dtype("input")
    tensor, classes = call.tensor("input"), call.args["num_classes"]
    assert isinstance(classes, int)
    if classes <= 0:
        call.fail(
            FeValueError, "one_hot needs a class", code="F00003",
            expected="num_classes of 1 or more", got=str(classes), arg="num_classes",
        )  # fmt: skip
    if tensor.rank >= MAX_RANK:
        call.fail(
            ShapeError, f"one_hot takes at most rank {MAX_RANK - 1}", code="FC0002",
            got=show(tensor.shape), arg="input",
        )  # fmt: skip
    return TensorType(I64, (*tensor.shape, const(classes)))


def _lower_one_hot(build: Lowering, use: Compute) -> Value:
    (a,) = use.args
    assert isinstance(a, Value)
    classes = use.result.type.shape[-1]
    small = a.type.dtype in (I8, I16)
    if small:
        wide = build.cast(build.comparable(a), F32)
    else:
        wide = build.cast(a, I32)  # what does not fit is no class
    wide = build.unsqueeze(wide, a.type.rank)
    shape = (*(const(1),) * a.type.rank, classes)
    places = build.emit(
        "iota", dtype=F32 if small else I32, shape=shape, held=shape, axis=a.type.rank
    )
    return build.cast(build.ones(build.compare("EQ", places, wide), F32), I64, "RINT")


# --- numbers in steps ---


def _progression(start: object, end: object, step: object) -> tuple[Expr, Expr, Expr]:
    """First number, end and step: of one number that is the end, as in Python's ``range``."""
    if not isinstance(end, Expr):
        start, end = const(0), start
    assert isinstance(start, Expr) and isinstance(end, Expr) and isinstance(step, Expr)
    return start, end, step


def _infer_arange(call: OpCall) -> TensorType:
    given = [call.args[name] for name in ("start", "end", "step")]
    if any(isinstance(one, Value) for one in given):
        call.fail(FeTypeError, "arange takes numbers, no tensors", help=call.spec.usage)
    start, end, step = _progression(*given)
    if any(one.kind == "float" for one in (start, end, step)):
        return TensorType(F32, (_floats(call, start, end, step),))
    by = as_int(step)
    if not by:
        message = "arange: 'step' must be known" if by is None else "arange: 'step' is 0"
        call.fail(FeValueError, message, expected="an int other than 0", got=str(step), arg="step")
    length = apply("sub", end, start) if by > 0 else apply("sub", start, end)
    count = apply("floordiv", apply("add", length, abs(by) - 1), abs(by))
    for number in (start, end):
        known = as_int(number)
        if known is not None and not -(2**31) <= known < 2**31:
            call.fail(FeValueError, "arange gives integers of 32 bits", got=str(known))
    known = as_int(count)
    if known is None:
        call.require(apply("ge", length, 0), f"arange needs {length} >= 0")
        count = apply("max", count, 0)
    elif known <= 0:
        _nothing(call, start, end, step)
    return TensorType(I32, (count,))


def _floats(call: OpCall, *numbers: Expr) -> Expr:
    if not all(isinstance(one, Const) for one in numbers):
        call.fail(
            FeTypeError, "arange of floats needs numbers that are known when compiling",
            help="multiply arange of an int by the step, cast to DT_FP32",
        )  # fmt: skip
    start, end, step = (float(one.value) for one in numbers if isinstance(one, Const))
    if abs(step) <= 1e-8 or not math.isfinite(step):
        call.fail(
            FeValueError, "arange: 'step' is 0, or nearly", expected="a step beyond 1e-8",
            got=str(step), arg="step",
        )  # fmt: skip
    count = math.ceil((end - start) / step) if math.isfinite(end - start) else 0
    if count <= 0:
        _nothing(call, *numbers)
    return const(count)


def _nothing(call: OpCall, start: Expr, end: Expr, step: Expr) -> None:
    call.fail(
        FeValueError, "arange has no number in this range",
        expected="an end that the step leads to", got=f"{start} to {end} by {step}",
    )  # fmt: skip


def _lower_arange(build: Lowering, use: Compute) -> Value:
    absent = dict(use.attrs)
    given = iter(use.args)
    values = [None if n in absent else next(given) for n in ("start", "end", "step")]
    start, _, step = _progression(*values)
    (count,) = use.result.type.shape
    dtype = use.result.type.dtype
    places = build.emit("iota", dtype=dtype, shape=(count,), held=(count,), axis=0)
    for op, number, neutral in (("muls", step, 1), ("adds", start, 0)):
        if not (isinstance(number, Const) and number.value == neutral):
            places = build.with_scalar(op, places, number)
    return places


_CHOSEN = NUMBERS | {I8, U8, U16, U32, BOOL}
_TRIANGLE = (OpParam("input", "tensor"), OpParam("diagonal", "operand", 0))

SPECS: tuple[OpSpec, ...] = (
    OpSpec(
        "arange", "creation",
        (OpParam("start", "operand"), OpParam("end", "operand", None),
         OpParam("step", "operand", 1)),
        frozenset({F32, I32}), _infer_arange, _lower_arange,
        "torch.arange(start, end, step)",
        "Numbers in steps, as Python's range has them: DT_INT32, or DT_FP32 if one is a float.",
        notes=("One number is the end.", "The sizes of floats are known when compiling."),
        # i * step and the sum round once each.
        tolerance={F32: (1.2e-7, 0.0)},
    ),
    OpSpec(
        "one_hot", "creation", (OpParam("input", "tensor"), OpParam("num_classes", "int")),
        frozenset({I8, I16, I32, I64}), _infer_one_hot, _lower_one_hot,
        "torch.nn.functional.one_hot(input.long(), num_classes)",
        "A further axis with 1 at the place that an element names, else 0, in DT_INT64.",
        method=True, notes=("An element that names no place gives zeros.",),
        places=lambda call, name: tuple(range(call.tensor(name).rank)),
    ),
    OpSpec(
        "tril", "creation", _TRIANGLE, _CHOSEN, _infer_triangle, _lower_triangle("LE"),
        "torch.tril(input, diagonal)",
        "The elements on a diagonal and below, 0 above; of the last two axes.", method=True,
    ),
    OpSpec(
        "triu", "creation", _TRIANGLE, _CHOSEN, _infer_triangle, _lower_triangle("GE"),
        "torch.triu(input, diagonal)",
        "The elements on a diagonal and above, 0 below; of the last two axes.", method=True,
    ),
)  # fmt: skip
