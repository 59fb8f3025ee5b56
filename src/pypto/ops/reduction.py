"""Reductions over axes: sums, products, extremes."""

from __future__ import annotations

from collections.abc import Sequence

from pypto.error import FeValueError
from pypto.ir.expr import apply, as_int, const
from pypto.ir.tensor import Compute, TensorType, Value
from pypto.ops.arithmetic import NUMBERS, Lower
from pypto.ops.lowering import BF16, F16, F32, Lowering
from pypto.ops.shapes import axes, axis, broadcast
from pypto.ops.spec import OpCall, OpParam, OpSpec

__all__ = ["PARAMS", "SPECS", "dims_of", "dropped", "infer_reduced", "not_empty", "reduced"]

PARAMS = (OpParam("input", "tensor"), OpParam("dim", "dims"), OpParam("keepdim", "bool", False))


def infer_reduced(call: OpCall, dims: Sequence[int]) -> TensorType:
    """The type of ``input`` reduced along ``dims``, by ``keepdim``."""
    dtype = call.check_dtype("input")
    broadcast(call, "input")  # the rank limit
    shape = call.tensor("input").shape
    if call.args["keepdim"]:
        return TensorType(dtype, tuple(const(1) if n in dims else s for n, s in enumerate(shape)))
    return TensorType(dtype, tuple(s for n, s in enumerate(shape) if n not in dims) or (const(1),))


def not_empty(call: OpCall, dims: Sequence[int]) -> None:
    """Refuse axes without an element: there is no largest one."""
    message = f"{call.spec.name} over an empty axis has no value"
    for dim in dims:
        size = call.tensor("input").shape[dim]
        if as_int(size) == 0:
            call.fail(
                FeValueError,
                message,
                expected="at least one element along the reduced axis",
                got="size 0",
                arg="input",
            )
        if as_int(size) is None:
            call.require(apply("gt", size, const(0)), message)


def dims_of(use: Compute) -> tuple[int, ...]:
    """The axes that ``use`` reduces, in order; all of them where it names none."""
    (operand,) = (a for a in use.args if isinstance(a, Value))
    given, rank = use.attr("dim"), operand.type.rank
    dims = given if isinstance(given, tuple) else (given,)
    found = sorted(d % rank for d in dims if isinstance(d, int))
    return tuple(found) or tuple(range(rank))


def reduced(build: Lowering, primitive: str, value: Value, dims: Sequence[int]) -> Value:
    """``value`` reduced along ``dims``, which stay with size 1. From the innermost one on: what is
    left is the less the sooner."""
    for dim in sorted(dims, reverse=True):
        value = build.reduce(primitive, value, dim)
    return value


def dropped(build: Lowering, value: Value, use: Compute, dims: Sequence[int]) -> Value:
    """``value`` without ``dims``, unless ``use`` keeps them."""
    if not use.attr("keepdim"):
        for dim in sorted(dims, reverse=True):
            value = build.squeeze(value, dim)
    return value


def _infer(call: OpCall) -> TensorType:
    rank = call.tensor("input").rank
    dims = (axis(call, "dim", rank),) if call.spec.name == "prod" else axes(call, "dim", rank)
    if call.spec.name not in ("sum", "prod"):
        not_empty(call, dims)
    return infer_reduced(call, dims)


def _lower(primitive: str, wide: frozenset[object]) -> Lower:
    """``wide``: the dtypes that are reduced in FP32."""

    def lower(build: Lowering, use: Compute) -> Value:
        (a,) = use.args
        assert isinstance(a, Value)
        dtype, dims = a.type.dtype, dims_of(use)
        value = build.widen(a) if dtype in wide else a
        result = reduced(build, primitive, value, dims)
        if primitive == "reduce_sum" and dtype.is_float and result is value:
            # A sum starts from 0.0, which makes 0.0 of -0.0; no instruction has added it here.
            result = build.emit("adds", result, const(0.0))
        result = build.narrow(result, dtype) if dtype in wide else result
        return dropped(build, result, use, dims)

    return lower


_SUMMED = _lower("reduce_sum", frozenset({BF16, F16}))

SPECS: tuple[OpSpec, ...] = (
    OpSpec(
        "sum", "reduction", PARAMS, NUMBERS, _infer, _SUMMED,
        "torch.sum(input, dim, keepdim, dtype=input.dtype)",
        "Sum over an axis or several; floats are summed in FP32, integers wrap.", method=True,
        # The order of summation: relative to the sum of the magnitudes.
        tolerance={F32: (1e-6, 0.0), F16: (9.8e-4, 6e-8), BF16: (7.9e-3, 9.2e-41)},
    ),
    OpSpec(
        "prod", "reduction", PARAMS, NUMBERS, _infer,
        _lower("reduce_prod", frozenset({BF16, F16})),
        "torch.prod(input, dim, keepdim, dtype=input.dtype)",
        "Product over an axis; floats are multiplied in FP32, integers wrap.", method=True,
        notes=(
            "Every product is rounded: over n elements the relative error is at most n * 6e-8. "
            "Where some elements are tiny and some huge, a part of them may overflow or vanish.",
        ),
        tolerance={F32: (2e-5, 1e-40), F16: (1e-3, 6e-8), BF16: (7.9e-3, 9.2e-41)},
    ),
    OpSpec(
        "amax", "reduction", PARAMS, NUMBERS, _infer, _lower("reduce_max", frozenset({BF16})),
        "torch.amax(input, dim, keepdim)",
        "Maximum over an axis or several; NaN if any element is.", method=True,
    ),
    OpSpec(
        "amin", "reduction", PARAMS, NUMBERS, _infer, _lower("reduce_min", frozenset({BF16})),
        "torch.amin(input, dim, keepdim)",
        "Minimum over an axis or several; NaN if any element is.", method=True,
    ),
)  # fmt: skip
