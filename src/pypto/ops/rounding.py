"""Rounding to integral numbers, signs."""

from __future__ import annotations

from pypto.error import FeValueError
from pypto.ir.expr import const
from pypto.ir.tensor import Compute, TensorType, Value
from pypto.ops.arithmetic import FLOATS, NUMBERS, Lower
from pypto.ops.lowering import F16, F32, I8, Lowering
from pypto.ops.numerics import Real, formula, where
from pypto.ops.shapes import broadcast, same_dtype
from pypto.ops.spec import OpCall, OpParam, OpSpec


def _infer(call: OpCall) -> TensorType:
    return TensorType(call.check_dtype("input"), broadcast(call, "input"))


def _lower_integral(mode: str) -> Lower:
    """Integers are integral as they are."""

    def lower(build: Lowering, use: Compute) -> Value:
        (a,) = use.args
        assert isinstance(a, Value)
        if not a.type.dtype.is_float:
            return a
        return build.narrow(Real(build, build.widen(a)).integral(mode).value, a.type.dtype)

    return lower


def _infer_round(call: OpCall) -> TensorType:
    result = _infer(call)
    decimals = call.args["decimals"]
    assert isinstance(decimals, int)
    if decimals and not result.dtype.is_float and decimals < 0:
        call.fail(
            FeValueError,
            "round: integers are not rounded to tens or hundreds",
            expected="decimals >= 0, or a float tensor",
            got=str(decimals),
            arg="decimals",
        )
    if abs(decimals) > 38:
        call.fail(
            FeValueError, "round: FP32 has no such power of ten", expected="-38 ... 38",
            got=str(decimals), arg="decimals",
        )  # fmt: skip
    return result


def _lower_round(build: Lowering, use: Compute) -> Value:
    decimals = use.attr("decimals")
    (a,) = use.args
    assert isinstance(decimals, int) and isinstance(a, Value)
    if not decimals or not a.type.dtype.is_float:
        return _lower_integral("RINT")(build, use)
    x = Real(build, build.widen(a))
    scale = 10.0 ** abs(decimals)
    number = Real(build, build.fill(const(scale), x.value.type.dtype, a.type.rank))
    if decimals > 0:
        result = (x * scale).integral("RINT") / number
    else:
        result = (x / number).integral("RINT") * scale
    return build.narrow(result.value, a.type.dtype)


def _sign(x: Real) -> Real:
    one = Real(x.build, x.build.spread(const(1.0), F32, x.value))
    return where(x > 0.0, one, 0.0) - where(x < 0.0, one, 0.0)


def _lower_sign(build: Lowering, use: Compute) -> Value:
    (a,) = use.args
    assert isinstance(a, Value)
    dtype = a.type.dtype
    if dtype.is_float:
        return formula(_sign)(build, use)
    wide = build.cast(a, F16) if dtype == I8 else a
    one = build.emit("mins", build.emit("maxs", wide, const(-1)), const(1))
    return build.cast(one, dtype, "RINT")


def _infer_copysign(call: OpCall) -> TensorType:
    dtype = call.check_dtype("input")
    call.check_dtype("other")
    same_dtype(call, "input", "other")
    return TensorType(dtype, broadcast(call, "input", "other"))


def _copysign(x: Real, sign: Real) -> Real:
    return x.magnitude().signed_as(sign)


def _rounding(name: str, mode: str, doc: str) -> OpSpec:
    return OpSpec(
        name, "rounding", (OpParam("input", "tensor"),), NUMBERS, _infer, _lower_integral(mode),
        f"torch.{name}(input)", doc, method=True,
        notes=("Integers stay as they are; zeros keep their sign.",),
    )  # fmt: skip


SPECS: tuple[OpSpec, ...] = (
    _rounding("floor", "FLOOR", "The largest integral number that is not above."),
    _rounding("ceil", "CEIL", "The smallest integral number that is not below."),
    _rounding("trunc", "TRUNC", "The integral part."),
    OpSpec(
        "round", "rounding", (OpParam("input", "tensor"), OpParam("decimals", "int", 0)), NUMBERS,
        _infer_round, _lower_round,
        "torch.round(input, decimals=decimals) if input.is_floating_point() else input",
        "The nearest integral number, or multiple of 10**-decimals; ties go to even.", method=True,
    ),
    OpSpec(
        "sign", "rounding", (OpParam("input", "tensor"),), FLOATS | {I8} | NUMBERS, _infer,
        _lower_sign, "torch.sign(input)", "-1, 0 or 1.", method=True,
    ),
    OpSpec(
        "copysign", "rounding", (OpParam("input", "tensor"), OpParam("other", "tensor")), FLOATS,
        _infer_copysign, formula(_copysign), "torch.copysign(input, other)",
        "The magnitude of input with the sign of other; broadcasts.", method=True,
    ),
)  # fmt: skip
