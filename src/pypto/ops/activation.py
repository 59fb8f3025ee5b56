"""Activations of neural networks that are elementwise, and exp of a difference."""

from __future__ import annotations

import math

from pypto.error import FeTypeError, FeValueError, ShapeError
from pypto.ir.expr import Const, Expr, apply, as_int, const
from pypto.ir.tensor import Compute, TensorType, Value
from pypto.ops.arithmetic import FLOATS
from pypto.ops.exponential import units
from pypto.ops.lowering import F32, Lowering, as_single
from pypto.ops.numerics import Real, formula, of_float, where
from pypto.ops.shapes import broadcast, same_dtype
from pypto.ops.spec import OpCall, OpParam, OpSpec


def _infer_lrelu(call: OpCall) -> TensorType:
    slope = call.scalar("negative_slope")
    if isinstance(slope, Const) and not 0 <= slope.value < math.inf:
        call.fail(
            FeValueError, "lrelu: 'negative_slope' must be finite and not negative",
            expected=">= 0", got=str(slope), arg="negative_slope",
        )  # fmt: skip
    if slope is None:
        call.fail(FeTypeError, "lrelu: 'negative_slope' must be a number", arg="negative_slope")
    return TensorType(call.check_dtype("input"), broadcast(call, "input"))


def _lower_lrelu(build: Lowering, use: Compute) -> Value:
    a, slope = use.args
    assert isinstance(a, Value) and isinstance(slope, Expr)
    x = of_float(build, a)
    scaled = Real(build, build.emit("muls", x.value, as_single(slope)))
    return build.narrow(where(x > 0.0, x, scaled).value, a.type.dtype)


def _infer_prelu(call: OpCall) -> TensorType:
    dtype = call.check_dtype("input")
    call.check_dtype("weight")
    same_dtype(call, "input", "weight")
    shape, weight = broadcast(call, "input"), call.tensor("weight").shape
    channels = shape[1] if len(shape) > 1 else const(1)
    if len(weight) != 1 or (
        weight[0] != channels and None not in (as_int(weight[0]), as_int(channels))
    ):
        call.fail(
            ShapeError,
            "prelu: 'weight' must have one element for each channel, axis 1 of 'input'",
            expected=f"shape [{channels}]",
            got=f"shape [{', '.join(str(s) for s in weight)}]",
            arg="weight",
        )
    if weight[0] != channels:
        call.require(apply("eq", weight[0], channels), f"prelu needs {weight[0]} == {channels}")
    return TensorType(dtype, shape)


def _prelu_places(call: OpCall, name: str) -> tuple[int | None, ...]:
    rank = call.tensor("input").rank
    if name == "input":
        return tuple(range(rank))
    return (1,) if rank > 1 else (None,)


def _lower_prelu(build: Lowering, use: Compute) -> Value:
    a, weight = use.args
    assert isinstance(a, Value) and isinstance(weight, Value)
    inner = max(a.type.rank - 2, 0)
    for _ in range(inner):
        weight = build.unsqueeze(weight, weight.type.rank)
    x = of_float(build, a)
    scaled = x * of_float(build, weight)
    return build.narrow(where(x >= 0.0, x, scaled).value, a.type.dtype)


def _infer_difference(call: OpCall) -> TensorType:
    dtype = call.check_dtype("input")
    call.check_dtype("other")
    same_dtype(call, "input", "other")
    return TensorType(dtype, broadcast(call, "input", "other"))


SPECS: tuple[OpSpec, ...] = (
    OpSpec(
        "lrelu", "nn",
        (OpParam("input", "tensor"), OpParam("negative_slope", "operand", 0.01)), FLOATS,
        _infer_lrelu, _lower_lrelu, "torch.nn.functional.leaky_relu(input, negative_slope)",
        "x where it is positive, else negative_slope * x.", method=True,
        tolerance={F32: (1.2e-7, 1.5e-45), **{k: v for k, v in units(0.0).items() if k != F32}},
    ),
    OpSpec(
        "prelu", "nn", (OpParam("input", "tensor"), OpParam("weight", "tensor")), FLOATS,
        _infer_prelu, _lower_prelu,
        "torch.where(input >= 0, input, "
        "weight.view([1, -1] + [1] * (input.dim() - 2) if input.dim() > 1 else [-1]) * input)",
        "x where it is not negative, else the weight of its channel times x.", method=True,
        notes=("Channels are axis 1; a tensor of one axis has one.",),
        places=_prelu_places,
    ),
    OpSpec(
        "expand_exp_dif", "exponential",
        (OpParam("input", "tensor"), OpParam("other", "tensor")), FLOATS, _infer_difference,
        formula(lambda x, y: (x - y).exp()), "torch.exp(input - other)",
        "exp(input - other), computed in FP32; broadcasts.",
        # The difference is rounded: 6e-8 of up to 104.
        tolerance=units(7e-6, 1e-41),
    ),
)  # fmt: skip
