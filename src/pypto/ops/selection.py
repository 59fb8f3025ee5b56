"""Choosing elements: where and clip."""

from __future__ import annotations

from pypto.error import DtypeError, FeTypeError
from pypto.ir.dtype import DataType
from pypto.ir.expr import Expr, apply, const
from pypto.ir.tensor import Compute, TensorType, Value
from pypto.ops.arithmetic import NUMBERS
from pypto.ops.lowering import BOOL, F16, F32, I8, U8, U16, U32, Lowering
from pypto.ops.shapes import broadcast, same_dtype, scalar_fits
from pypto.ops.spec import OpCall, OpParam, OpSpec

_CHOSEN = NUMBERS | {I8, U8, U16, U32, BOOL}


def _infer_where(call: OpCall) -> TensorType:
    condition = call.tensor("condition")
    if condition.dtype != BOOL:
        call.fail(
            DtypeError,
            "where: 'condition' must be DT_BOOL",
            expected="DT_BOOL",
            got=str(condition.dtype),
            help=f"write {call.text('condition')} != 0",
            arg="condition",
        )
    values = [(name, tensor) for name, tensor in call.tensors() if name != "condition"]
    for name, tensor in values:
        call.check_dtype(name)
        scalar_fits(call, tensor, "other" if name == "input" else "input")
    same_dtype(call, "input", "other")
    names = [name for name, _ in call.tensors()]
    return TensorType(values[0][1].dtype if values else F32, broadcast(call, *names))


def choose(
    build: Lowering, mask: Value, a: Value | Expr, b: Value | Expr, dtype: DataType
) -> Value:
    """``a`` where ``mask`` is set, else ``b``, of any dtype up to 32 bits: Select moves bits."""
    if dtype == BOOL:
        truths = [_truth(x) if isinstance(x, Expr) else build.cast(x, F16) for x in (a, b)]
        return build.cast(build.select(mask, *_same(build, mask, truths, F16)), dtype, "RINT")
    if dtype in (I8, U8):
        wide = [x if isinstance(x, Value) else build.number(x, dtype, 1) for x in (a, b)]
        return build.cast(build.select(mask, *(build.cast(x, F16) for x in wide)), dtype, "RINT")
    carrier = F32 if dtype.bytes == 4 else F16
    if dtype == carrier:
        return build.select(mask, *_same(build, mask, [a, b], dtype))
    shown = [
        build.view(x if isinstance(x, Value) else build.spread(x, dtype, mask), carrier)
        for x in (a, b)
    ]
    return build.view(build.select(mask, *shown), dtype)


def _truth(scalar: Expr) -> Expr:
    """1.0 for what Python takes for true, else 0.0."""
    return apply("select", apply("ne", scalar, const(0)), const(1.0), const(0.0))


def _same(
    build: Lowering, mask: Value, values: list[Value | Expr], dtype: DataType
) -> tuple[Value | Expr, Value | Expr]:
    """Two operands of a Select in ``dtype``, of which one at least is a tensor."""
    a, b = values
    if isinstance(a, Expr) and isinstance(b, Expr):
        a = build.spread(a, dtype, mask)
    return a, b


def _lower_where(build: Lowering, use: Compute) -> Value:
    condition, a, b = use.args
    assert isinstance(condition, Value)
    return choose(build, build.mask(condition), a, b, use.result.type.dtype)


def _infer_clip(call: OpCall) -> TensorType:
    dtype = call.check_dtype("input")
    tensors = dict(call.tensors())
    bounds = [n for n in ("min", "max") if call.args[n] is not None]
    if len({n in tensors for n in bounds}) > 1:
        call.fail(
            FeTypeError,
            "clip: 'min' and 'max' must be two tensors or two numbers",
            help="fill a tensor of one element with the number",
        )
    for name in bounds:
        if name in tensors:
            same_dtype(call, "input", name)
        else:
            scalar_fits(call, call.tensor("input"), name)
    return TensorType(dtype, broadcast(call, "input", *(n for n in bounds if n in tensors)))


def _lower_clip(build: Lowering, use: Compute) -> Value:
    result, *bounds = use.args
    assert isinstance(result, Value)
    absent = {name for name, value in use.attrs if value is None}
    names = [name for name in ("min", "max") if name not in absent]
    for name, bound in zip(names, bounds, strict=True):
        op = "max" if name == "min" else "min"
        if isinstance(bound, Expr):
            result = build.with_scalar(f"{op}s", result, bound)
        else:
            result = build.binary(op, result, bound)
    return result


SPECS: tuple[OpSpec, ...] = (
    OpSpec(
        "where", "selection",
        (OpParam("condition", "tensor"), OpParam("input", "operand"), OpParam("other", "operand")),
        _CHOSEN, _infer_where, _lower_where, "torch.where(condition, input, other)",
        "input where condition is True, else other; broadcasts. Two numbers give DT_FP32.",
        method=True, receiver="input",
    ),
    OpSpec(
        "clip", "selection",
        (
            OpParam("input", "tensor"),
            OpParam("min", "operand", None),
            OpParam("max", "operand", None),
        ),
        NUMBERS, _infer_clip, _lower_clip,
        "input if min is None and max is None else torch.clamp(input, min, max)",
        "Elements below min become min, then those above max become max; NaN stays NaN.",
    ),
)  # fmt: skip
