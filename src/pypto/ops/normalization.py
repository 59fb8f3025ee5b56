"""Softmax and its kind: what divides by a reduction."""

from __future__ import annotations

from pypto.ir.tensor import Compute, TensorType, Value
from pypto.ops.arithmetic import FLOATS
from pypto.ops.lowering import BF16, F16, F32, Lowering
from pypto.ops.reduction import dims_of
from pypto.ops.shapes import axis, broadcast
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


SPECS: tuple[OpSpec, ...] = (
    OpSpec(
        "softmax", "nn", (OpParam("input", "tensor"), OpParam("dim", "dims")), FLOATS,
        _infer_softmax, _lower_softmax,
        "torch.softmax(input.float(), dim).to(input.dtype)",
        "exp(x - max) / sum(exp(x - max)) over an axis, computed in FP32.", method=True,
        # The rounding of x - max alone gives 5e-6 where the result is smallest.
        tolerance={F32: (6e-6, 1.2e-38), F16: (9.8e-4, 6e-8), BF16: (7.9e-3, 9.2e-41)},
    ),
)  # fmt: skip
