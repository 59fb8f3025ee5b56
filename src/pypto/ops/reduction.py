"""Reductions over the last axis, and softmax."""

from __future__ import annotations

from pypto.error import FeNotImplementedError, FeValueError
from pypto.ir.expr import Expr, apply, as_int, const
from pypto.ir.tensor import Compute, TensorType, Value
from pypto.ops.arithmetic import FLOATS, NUMBERS, Lower
from pypto.ops.lowering import BF16, F16, F32, Lowering
from pypto.ops.shapes import axis, broadcast
from pypto.ops.spec import OpCall, OpParam, OpSpec


def _last_axis(call: OpCall) -> TensorType:
    tensor = call.tensor("input")
    broadcast(call, "input")  # the rank limit
    dim = axis(call, "dim", tensor.rank)
    if dim != tensor.rank - 1:
        call.fail(
            FeNotImplementedError,
            f"{call.spec.name} over an axis other than the last is not available yet",
            expected=f"dim = -1 or {tensor.rank - 1}",
            got=f"dim = {call.args['dim']}",
            help=f"pass a tensor that has axis {dim} last: t.movedim({dim}, -1).contiguous()",
            arg="dim",
        )
    return tensor


def _infer_reduce(call: OpCall) -> TensorType:
    dtype = call.check_dtype("input")
    tensor = _last_axis(call)
    size = tensor.shape[-1]
    if call.spec.name != "sum":
        if as_int(size) == 0:
            call.fail(
                FeValueError,
                f"{call.spec.name} over an empty axis has no value",
                expected="at least one element along the reduced axis",
                got="size 0",
                arg="input",
            )
        if as_int(size) is None:
            call.require(
                apply("gt", size, const(0)), f"{call.spec.name} over an empty axis has no value"
            )
    keep: tuple[Expr, ...] = (const(1),) if call.args["keepdim"] else ()
    return TensorType(dtype, (*tensor.shape[:-1], *keep) or (const(1),))


def _reduce(build: Lowering, primitive: str, value: Value) -> Value:
    """``value`` reduced over its last axis, which stays with size 1."""
    shape = (*value.type.shape[:-1], const(1))
    if as_int(value.type.shape[-1]) == 1:
        return value
    return build.emit(primitive, value, shape=shape)


def _lower_reduce(primitive: str) -> Lower:
    def lower(build: Lowering, use: Compute) -> Value:
        (a,) = use.args
        assert isinstance(a, Value)
        dtype = a.type.dtype
        wide = dtype == BF16 or (dtype == F16 and primitive == "reduce_sum")
        reduced = _reduce(build, primitive, build.widen(a) if wide else a)
        if primitive == "reduce_sum" and dtype.is_float and as_int(a.type.shape[-1]) == 1:
            # A sum starts from 0.0, which makes 0.0 of -0.0; no instruction has added it here.
            reduced = build.emit("adds", reduced, const(0.0))
        reduced = build.narrow(reduced, dtype) if wide else reduced
        if not use.attr("keepdim") and a.type.rank > 1:
            reduced = build.emit("squeeze", reduced, shape=reduced.type.shape[:-1])
        return reduced

    return lower


def _infer_softmax(call: OpCall) -> TensorType:
    dtype = call.check_dtype("input")
    return TensorType(dtype, _last_axis(call).shape)


def _lower_softmax(build: Lowering, use: Compute) -> Value:
    (a,) = use.args
    assert isinstance(a, Value)
    wide = build.widen(a)
    shifted = build.emit("sub", wide, _reduce(build, "reduce_max", wide))
    exp = build.emit("exp", shifted)
    quotient = build.emit("div", exp, _reduce(build, "reduce_sum", exp))
    return build.narrow(quotient, a.type.dtype)


_PARAMS = (OpParam("input", "tensor"), OpParam("dim", "dims"), OpParam("keepdim", "bool", False))

SPECS: tuple[OpSpec, ...] = (
    OpSpec(
        "sum", "reduction", _PARAMS, NUMBERS, _infer_reduce, _lower_reduce("reduce_sum"),
        "torch.sum(input, dim, keepdim, dtype=input.dtype)",
        "Sum over an axis; floats are summed in FP32, integers wrap.", method=True,
        # The order of summation: relative to the sum of the magnitudes.
        tolerance={F32: (1e-6, 0.0), F16: (9.8e-4, 6e-8), BF16: (7.9e-3, 9.2e-41)},
    ),
    OpSpec(
        "amax", "reduction", _PARAMS, NUMBERS, _infer_reduce, _lower_reduce("reduce_max"),
        "torch.amax(input, dim, keepdim)", "Maximum over an axis; NaN if any element is.",
        method=True,
    ),
    OpSpec(
        "amin", "reduction", _PARAMS, NUMBERS, _infer_reduce, _lower_reduce("reduce_min"),
        "torch.amin(input, dim, keepdim)", "Minimum over an axis; NaN if any element is.",
        method=True,
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
