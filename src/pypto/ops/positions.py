"""Where extremes are: argmax and argmin."""

from __future__ import annotations

from pypto.ir.expr import as_int, const
from pypto.ir.tensor import Compute, TensorType, Value
from pypto.ops.arithmetic import FLOATS, Lower
from pypto.ops.lowering import F32, I32, Lowering
from pypto.ops.reduction import dims_of, dropped, infer_reduced, not_empty
from pypto.ops.shapes import axis
from pypto.ops.spec import OpCall, OpParam, OpSpec

__all__ = ["SPECS"]

EXACT = 1 << 24  # integers up to here are FP32 numbers


def _infer(call: OpCall) -> TensorType:
    dims = (axis(call, "dim", call.tensor("input").rank),)
    not_empty(call, dims)
    return TensorType(I32, infer_reduced(call, dims).shape)


def _lower(primitive: str) -> Lower:
    """The smallest index of an element that equals the extreme one; of NaN, where there is one."""

    def lower(build: Lowering, use: Compute) -> Value:
        (a,) = use.args
        assert isinstance(a, Value)
        (at,) = dims_of(use)
        x = build.comparable(a)
        size = as_int(x.type.shape[at])
        if size == 1:
            zero = build.fill(const(0), I32, x.type.rank)
            indices = build.emit("expand", zero, shape=x.type.shape)
        else:
            best = build.reduce(primitive, x, at)
            found = build.either(build.compare("EQ", x, best), build.compare("NE", x, x))
            short = size is not None and size <= EXACT
            indices = _first(build, found, build.iota(x, at, F32 if short else I32), at)
        return dropped(build, indices, use, (at,))

    return lower


def _first(build: Lowering, found: Value, places: Value, axis: int) -> Value:
    """The smallest of ``places`` where ``found`` is set, as INT32."""
    # Of bits, infinity is more than any index, too.
    chosen = build.select(found, build.view(places, F32), const(float("inf")))
    if places.type.dtype == F32:
        return build.cast(build.reduce("reduce_min", chosen, axis), I32, "RINT")
    return build.reduce("reduce_min", build.view(chosen, I32), axis)


_PARAMS = (
    OpParam("input", "tensor"), OpParam("dim", "dims", -1), OpParam("keepdim", "bool", False),
)  # fmt: skip
_NOTES = ("Of equal elements the first one counts; where there is NaN, the first NaN.",)

SPECS: tuple[OpSpec, ...] = (
    OpSpec(
        "argmax", "reduction", _PARAMS, FLOATS, _infer, _lower("reduce_max"),
        "torch.argmax(input, dim, keepdim).int()",
        "Index of the maximum along an axis, in DT_INT32.", method=True, notes=_NOTES,
    ),
    OpSpec(
        "argmin", "reduction", _PARAMS, FLOATS, _infer, _lower("reduce_min"),
        "torch.argmin(input, dim, keepdim).int()",
        "Index of the minimum along an axis, in DT_INT32.", method=True, notes=_NOTES,
    ),
)  # fmt: skip
