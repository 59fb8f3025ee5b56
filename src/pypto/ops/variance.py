"""The variance."""

from __future__ import annotations

from pypto.error import FeTypeError
from pypto.ir.expr import Expr, apply, product_of
from pypto.ir.tensor import Compute, TensorType, Value
from pypto.ops.arithmetic import FLOATS
from pypto.ops.lowering import BF16, F16, F32, Lowering
from pypto.ops.reduction import dims_of, dropped, infer_reduced, reduced
from pypto.ops.shapes import axes
from pypto.ops.spec import OpCall, OpParam, OpSpec

__all__ = ["SPECS"]


def _infer(call: OpCall) -> TensorType:
    if call.scalar("correction") is None:
        call.fail(
            FeTypeError,
            "var: 'correction' must be a number",
            expected="an int or a float",
            got="a tensor",
            arg="correction",
        )
    return infer_reduced(call, axes(call, "dim", call.tensor("input").rank))


def _lower(build: Lowering, use: Compute) -> Value:
    a, correction = use.args
    assert isinstance(a, Value) and isinstance(correction, Expr)
    dims, x = dims_of(use), build.widen(a)

    def number(value: Expr) -> Value:
        return build.fill(value, F32, x.type.rank)

    count = product_of(tuple(x.type.sizes[dim] for dim in dims))
    mean = build.emit("div", reduced(build, "reduce_sum", x, dims), number(count))
    apart = build.emit("sub", x, mean)
    squares = reduced(build, "reduce_sum", build.emit("mul", apart, apart), dims)
    # The mean was rounded: what the deviations sum up to says by how much.
    rest = reduced(build, "reduce_sum", apart, dims)
    rest = build.emit("div", build.emit("mul", rest, rest), number(count))
    freedom = apply("max", 0, apply("sub", count, correction))
    result = build.emit("div", build.emit("sub", squares, rest), number(freedom))
    return dropped(build, build.narrow(result, a.type.dtype), use, dims)


SPECS: tuple[OpSpec, ...] = (
    OpSpec(
        "var", "reduction",
        (
            OpParam("input", "tensor"), OpParam("dim", "dims", None),
            OpParam("correction", "operand", 1), OpParam("keepdim", "bool", False),
        ),
        FLOATS, _infer, _lower, "torch.var(input, dim, correction=correction, keepdim=keepdim)",
        "Variance over an axis or several, over all where `dim` is None; computed in FP32.",
        method=True,
        notes=("The sum of squares is divided by max(0, number of elements - correction).",),
        tolerance={F32: (4e-6, 1e-38), F16: (9.8e-4, 6e-8), BF16: (7.9e-3, 9.2e-41)},
    ),
)  # fmt: skip
