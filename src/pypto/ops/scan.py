"""Running sums and products."""

from __future__ import annotations

from pypto.ir.expr import as_int, const
from pypto.ir.tensor import Compute, TensorType, Value
from pypto.ops.arithmetic import FLOATS
from pypto.ops.lowering import BF16, F16, F32, I16, I32, I64, Lowering
from pypto.ops.reduction import dims_of
from pypto.ops.shapes import axis, broadcast
from pypto.ops.spec import OpCall, OpParam, OpSpec

__all__ = ["SPECS"]

SIGN = const(-(1 << 31))


def _infer(call: OpCall) -> TensorType:
    dtype = call.check_dtype("input")
    broadcast(call, "input")  # the rank limit
    tensor = call.tensor("input")
    axis(call, "dim", tensor.rank)
    return TensorType(dtype if dtype.is_float else I64, tensor.shape)


def _lower_sum(build: Lowering, use: Compute) -> Value:
    (a,) = use.args
    assert isinstance(a, Value)
    (at,) = dims_of(use)
    dtype = a.type.dtype
    if not dtype.is_float:
        return _wide(build, a, at)
    x = build.widen(a)
    if as_int(x.type.shape[at]) == 1:
        total = build.emit("adds", x, const(0.0))  # a sum starts from 0.0
    else:
        total = build.emit("scan_sum", x, axis=at)
    return build.narrow(total, dtype)


def _wide(build: Lowering, a: Value, at: int) -> Value:
    """The sums of integers in INT64: their low words are sums that wrap; a wrapped one has passed
    a word on, which is where it is less than what it has added, both without their signs."""
    if as_int(a.type.shape[at]) == 1:
        return build.cast(_as_int32(build, a), I64)
    x = _as_int32(build, a)
    low = build.emit("scan_sum", x, axis=at)
    passed = build.compare("LT", build.emit("adds", low, SIGN), build.emit("adds", x, SIGN))
    one = build.view(build.spread(const(1), I32, passed), F32)
    carry = build.view(build.emit("selects", passed, one, const(0.0), dtype=F32), I32)
    sign = build.emit("shr", x, const(31))
    high = build.emit("scan_sum", build.emit("add", sign, carry), axis=at)
    return build.emit("pair", low, high, dtype=I64)


def _as_int32(build: Lowering, a: Value) -> Value:
    """INT16 by way of FP32, which holds it."""
    return build.cast(build.cast(a, F32), I32, "RINT") if a.type.dtype == I16 else a


def _lower_prod(build: Lowering, use: Compute) -> Value:
    (a,) = use.args
    assert isinstance(a, Value)
    (at,) = dims_of(use)
    x = build.widen(a)
    if as_int(x.type.shape[at]) != 1:
        x = build.emit("scan_prod", x, axis=at)
    return build.narrow(x, a.type.dtype)


_PARAMS = (OpParam("input", "tensor"), OpParam("dim", "dims"))

SPECS: tuple[OpSpec, ...] = (
    OpSpec(
        "cumsum", "reduction", _PARAMS, FLOATS | {I16, I32}, _infer, _lower_sum,
        "torch.cumsum(input, dim)",
        "Running sum along an axis; floats are summed in FP32, of integers the result is DT_INT64.",
        method=True,
        # The order of summation: relative to the sum of the magnitudes so far.
        tolerance={F32: (1e-6, 0.0), F16: (9.8e-4, 6e-8), BF16: (7.9e-3, 9.2e-41)},
    ),
    OpSpec(
        "cumprod", "reduction", _PARAMS, FLOATS, _infer, _lower_prod,
        "torch.cumprod(input, dim)",
        "Running product along an axis; floats are multiplied in FP32.", method=True,
        notes=(
            "Every product is rounded: after n elements the relative error is at most n * 6e-8. "
            "Where some elements are tiny and some huge, a part of them may overflow or vanish.",
        ),
        tolerance={F32: (2e-5, 1e-40), F16: (1e-3, 6e-8), BF16: (7.9e-3, 9.2e-41)},
    ),
)  # fmt: skip
