"""Softmax and its kind: what divides by a reduction."""

from __future__ import annotations

from pypto.error import FeTypeError, ShapeError
from pypto.ir.expr import Expr, apply, as_int
from pypto.ir.tensor import Compute, TensorType, Value
from pypto.ops.arithmetic import FLOATS
from pypto.ops.lowering import BF16, F16, F32, Lowering, as_single
from pypto.ops.reduction import dims_of
from pypto.ops.shapes import axis, broadcast, show
from pypto.ops.spec import OpCall, OpParam, OpSpec

__all__ = ["SPECS"]


def _infer_softmax(call: OpCall) -> TensorType:
    dtype = call.check_dtype("input")
    broadcast(call, "input")  # the rank limit
    tensor = call.tensor("input")
    axis(call, "dim", tensor.rank)
    return TensorType(dtype, tensor.shape)


def _lower_softmax(build: Lowering, use: Compute) -> Value:
    (a,) = use.args
    assert isinstance(a, Value)
    (at,) = dims_of(use)
    wide = build.widen(a)
    shifted = build.emit("sub", wide, build.reduce("reduce_max", wide, at))
    exp = build.emit("exp", shifted)
    quotient = build.emit("div", exp, build.reduce("reduce_sum", exp, at))
    return build.narrow(quotient, a.type.dtype)


def _infer_rms_norm(call: OpCall) -> TensorType:
    dtype = call.check_dtype("input")
    shape = call.tensor("input").shape
    if call.scalar("epsilon") is None:
        call.fail(
            FeTypeError, "rms_norm: 'epsilon' must be a number", expected="an int or a float",
            got="a tensor", arg="epsilon",
        )  # fmt: skip
    if call.args["gamma"] is not None:
        _check_gamma(call, shape)
    broadcast(call, "input", "gamma")  # the rank limit
    return TensorType(dtype, shape)


def _check_gamma(call: OpCall, shape: tuple[Expr, ...]) -> None:
    """One factor for each element of the last axis."""
    call.check_dtype("gamma")
    gamma = call.tensor("gamma").shape
    *outer, size = gamma
    differs = size != shape[-1] and None not in (as_int(size), as_int(shape[-1]))
    if len(gamma) > len(shape) or any(as_int(n) != 1 for n in outer) or differs:
        call.fail(
            ShapeError,
            "rms_norm: 'gamma' must have one element for each of the last axis of 'input'",
            expected=f"shape [{shape[-1]}]",
            got=f"shape {show(gamma)}",
            arg="gamma",
        )
    if size != shape[-1]:
        call.require(apply("eq", size, shape[-1]), f"rms_norm needs {size} == {shape[-1]}")


def _lower_rms_norm(build: Lowering, use: Compute) -> Value:
    a, *gamma, epsilon = use.args
    assert isinstance(a, Value) and isinstance(epsilon, Expr)
    x = build.widen(a)
    last = x.type.rank - 1
    squares = build.reduce("reduce_sum", build.emit("mul", x, x), last)
    count = build.fill(x.type.sizes[last], F32, x.type.rank)
    mean = build.emit("adds", build.emit("div", squares, count), as_single(epsilon))
    result = build.emit("div", x, build.emit("sqrt", mean))
    for factor in gamma:
        assert isinstance(factor, Value)
        result = build.emit("mul", result, build.widen(factor))
    return build.narrow(result, a.type.dtype)


SPECS: tuple[OpSpec, ...] = (
    OpSpec(
        "rms_norm", "nn",
        (
            OpParam("input", "tensor"), OpParam("gamma", "tensor", None),
            OpParam("epsilon", "operand", 1e-6),
        ),
        FLOATS, _infer_rms_norm, _lower_rms_norm,
        "(input.float() * torch.rsqrt(input.float().pow(2).mean(-1, keepdim=True) + epsilon)"
        " * (gamma.float() if gamma is not None else 1)).to(input.dtype)",
        "The last axis divided by its root mean square, times `gamma`; computed in FP32.",
        tolerance={F32: (2e-6, 1e-38), F16: (9.8e-4, 6e-8), BF16: (7.9e-3, 9.2e-41)},
    ),
    OpSpec(
        "softmax", "nn", (OpParam("input", "tensor"), OpParam("dim", "dims")), FLOATS,
        _infer_softmax, _lower_softmax,
        "torch.softmax(input.float(), dim).to(input.dtype)",
        "exp(x - max) / sum(exp(x - max)) over an axis, computed in FP32.", method=True,
        # The rounding of x - max alone gives 5e-6 where the result is smallest.
        tolerance={F32: (6e-6, 1.2e-38), F16: (9.8e-4, 6e-8), BF16: (7.9e-3, 9.2e-41)},
    ),
)  # fmt: skip
