"""Elementwise functions of one tensor: exp log sqrt rsqrt reciprocal relu sigmoid tanh cast."""

from __future__ import annotations

from collections.abc import Mapping

from pypto.error import DtypeError
from pypto.ir.dtype import DataType
from pypto.ir.expr import const
from pypto.ir.tensor import Compute, TensorType, Value
from pypto.language.enums import CastMode, PrecisionType, SaturationMode
from pypto.ops.arithmetic import FLOATS, NUMBERS, Lower
from pypto.ops.casts import CASTS
from pypto.ops.lowering import BF16, BOOL, F16, F32, I8, I16, I32, I64, U8, Lowering
from pypto.ops.shapes import broadcast
from pypto.ops.spec import OpCall, OpParam, OpSpec


def _infer(call: OpCall) -> TensorType:
    return TensorType(call.check_dtype("input"), broadcast(call, "input"))


def _in_float(primitive: str) -> Lower:
    """Through FP32, rounded once: what torch does for 16-bit floats."""

    def lower(build: Lowering, use: Compute) -> Value:
        (a,) = use.args
        assert isinstance(a, Value)
        return build.in_float(primitive, a)

    return lower


def _lower_reciprocal(build: Lowering, use: Compute) -> Value:
    # The Reciprocal instruction is good to 1e-4 only; Div is exact to rounding.
    (a,) = use.args
    assert isinstance(a, Value)
    one = build.fill(const(1.0), F32, len(build.result_shape()))
    return build.narrow(build.emit("div", one, build.widen(a)), a.type.dtype)


def _lower_rsqrt(build: Lowering, use: Compute) -> Value:
    # As for Reciprocal: Rsqrt is an approximation, Sqrt then Div is not.
    (a,) = use.args
    assert isinstance(a, Value)
    one = build.fill(const(1.0), F32, len(build.result_shape()))
    root = build.emit("sqrt", build.widen(a))
    return build.narrow(build.emit("div", one, root), a.type.dtype)


def _lower_relu(build: Lowering, use: Compute) -> Value:
    (a,) = use.args
    assert isinstance(a, Value)
    if a.type.dtype == I16:
        return build.emit("maxs", a, const(0))  # Relu has no int16 form
    return build.in_float("relu", a) if a.type.dtype == BF16 else build.emit("relu", a)


# --- cast ---


def _infer_cast(call: OpCall) -> TensorType:
    source = call.check_dtype("input")
    target = call.args["dtype"]
    assert isinstance(target, DataType)
    if target not in CASTS:
        known = ", ".join(str(d) for d in sorted(CASTS))
        call.fail(
            DtypeError,
            f"cast from {source} does not give {target.absent}",
            expected=f"one of {known}",
            got=str(target),
            arg="dtype",
        )
    return TensorType(target, call.tensor("input").shape)


def _mode(use: Compute) -> str:
    """Round mode of a cast: the one asked for, else truncation to integers, half to even else."""
    mode = use.attr("mode")
    assert isinstance(mode, CastMode)
    source = use.args[0]
    assert isinstance(source, Value)
    to_int = not use.result.type.dtype.is_float
    if mode == CastMode.CAST_NONE:
        return "TRUNC" if source.type.dtype.is_float and to_int else "RINT"
    return mode.name.removeprefix("CAST_")


def _lower_cast(build: Lowering, use: Compute) -> Value:
    (a,) = use.args
    assert isinstance(a, Value)
    source, target, mode = a.type.dtype, use.result.type.dtype, _mode(use)
    if source == target:
        # The same dtype: only FP32 with an explicit rounding mode to an integral float changes.
        return a
    if target == BOOL:
        # What is not 0; FP32 has 0 for no other INT64.
        return build.boolean(build.mask(build.cast(a, F32, "RINT") if source == I64 else a))
    if source == BOOL:
        return _cast_bytes(build, a, target)
    if target.is_float:
        return _cast_to_float(build, a, target, mode)
    return _cast_to_int(build, a, target, mode, use.attr("satmode") == SaturationMode.ON)


def _cast_bytes(build: Lowering, a: Value, target: DataType) -> Value:
    """DT_BOOL as 0 or 1, which all dtypes hold."""
    number = build.cast(a, F16)
    if target in (F32, BF16, I64):
        number = build.cast(number, F32)
    return build.cast(number, target, "RINT")


def _cast_to_float(build: Lowering, a: Value, target: DataType, mode: str) -> Value:
    source = a.type.dtype
    direct = {(F16, F32), (BF16, F32), (I16, F32), (I8, F16), (U8, F16)}
    if (source, target) in direct:
        return build.cast(a, target)
    if (source, target) in {(F32, F16), (F32, BF16), (I32, F32), (I64, F32), (I16, F16)}:
        if mode == "ODD" and (source, target) != (F32, F16):
            mode = "RINT"
        return build.cast(a, target, mode)
    # The rest goes through FP32: as torch does it, exact except for INT32 and INT64.
    if source in (I8, U8):
        return build.cast(build.cast(build.cast(a, F16), F32), target, "RINT")
    if mode == "ODD":
        mode = "RINT"
    # Modes that round one way do so in both steps; one step half to even could pass the number.
    directed = source in (I32, I64) and mode in ("FLOOR", "CEIL", "TRUNC")
    wide = build.cast(a, F32, mode if directed else "RINT" if source == I64 else "NONE")
    return build.cast(wide, target, mode)


def _cast_to_int(build: Lowering, a: Value, target: DataType, mode: str, saturate: bool) -> Value:
    source = a.type.dtype
    if mode == "ODD":
        mode = "TRUNC"
    if source.is_float:
        return _float_to_int(build, a, target, mode, saturate)
    if source in (I8, U8):
        # FP16 holds all of them; from there on no value is out of range but in the other 8 bits.
        a = build.cast(a, F16)
        if target == I64:
            a = build.cast(a, F32)
        if target not in (I8, U8) or saturate:
            return build.cast(a, target, "RINT")
        return _to_byte(build, build.cast(a, I16, "RINT"), target, False)
    if source == I16 and target in (I32, I64):
        return build.cast(build.cast(a, F32), target, "RINT")
    if source == I64:
        a = build.cast(a, I32) if saturate else build.emit("low_half", a, dtype=I32)
    return _narrow_to_int(build, a, target, saturate)


def _float_to_int(build: Lowering, a: Value, target: DataType, mode: str, saturate: bool) -> Value:
    source = a.type.dtype
    if target == I64:
        return build.cast(build.cast(a, F32), I64, mode)
    direct = target == I32 or (target == I16 and source != BF16) or source == F16
    if target == I32 or (saturate and direct):
        return build.cast(a, target, mode)
    # The instruction saturates; wrapping goes through INT32, where every 16-bit result fits.
    return _narrow_to_int(build, build.cast(a, I32, mode), target, saturate)


def _narrow_to_int(build: Lowering, a: Value, target: DataType, saturate: bool) -> Value:
    """INT32 or INT16 ``a`` as an integer that is no wider, or INT32 as INT64."""
    if target == I64:
        return build.cast(a, I64)
    if target in (I8, U8):
        return _to_byte(build, a, target, saturate)
    return build.cast(a if saturate or target == I32 else build.wrap(a, 16), target)


def _to_byte(build: Lowering, a: Value, target: DataType, saturate: bool) -> Value:
    """INT32 or INT16 ``a`` as INT8 or UINT8, by FP16: it holds what is left exactly."""
    if saturate:
        low, high = (-128, 127) if target == I8 else (0, 255)
        a = build.emit("mins", build.emit("maxs", a, const(low)), const(high))
    else:
        a = build.wrap(a, 8)
        if target == U8:
            a = build.unsigned(a, 8)
    if a.type.dtype == I32:
        a = build.cast(a, F32, "NONE")
        return build.cast(build.cast(a, F16, "RINT"), target, "RINT")
    return build.cast(build.cast(a, F16, "NONE"), target, "RINT")


def _function(
    name: str,
    doc: str,
    lower: Lower,
    *,
    precision: PrecisionType | None,
    dtypes: frozenset[DataType] = FLOATS,
    group: str = "functions",
    tolerance: Mapping[DataType, tuple[float, float]] | None = None,
    notes: tuple[str, ...] = (),
) -> OpSpec:
    params = [OpParam("input", "tensor")]
    if precision is not None:
        params.append(OpParam("precision_type", "enum", precision, PrecisionType))
    return OpSpec(
        name, group, tuple(params), dtypes, _infer, lower, f"torch.{name}(input)", doc,
        method=True, tolerance=tolerance or {}, notes=notes,
    )  # fmt: skip


_INTRINSIC, _HIGH = PrecisionType.INTRINSIC, PrecisionType.HIGH_PRECISION
# Two units in the last place of FP32, one of a 16-bit float; one step among the subnormals.
_TWO_UNITS = {F32: (2.4e-7, 1.5e-45), F16: (9.8e-4, 6e-8), BF16: (7.9e-3, 9.2e-41)}

SPECS: tuple[OpSpec, ...] = (
    _function(
        "exp", "e to the power of each element.", _in_float("exp"), precision=_INTRINSIC,
        tolerance=_TWO_UNITS,
    ),
    _function(
        "log", "Natural logarithm; log(0) = -inf, of a negative NaN.", _in_float("ln"),
        precision=_INTRINSIC, tolerance=_TWO_UNITS,
    ),
    _function(
        "sqrt", "Square root; of a negative NaN.", _in_float("sqrt"), precision=_INTRINSIC,
        notes=("Rounded correctly; torch's own vector code is off by one unit for some values.",),
    ),
    _function(
        "rsqrt", "1 / sqrt(x); of zero inf, of a negative NaN.", _lower_rsqrt,
        precision=_INTRINSIC, tolerance=_TWO_UNITS,
    ),
    _function("reciprocal", "1 / x.", _lower_reciprocal, precision=_HIGH),
    _function(
        "relu", "max(x, 0); NaN stays NaN.", _lower_relu, precision=None, dtypes=NUMBERS,
        group="nn",
    ),
    _function(
        "sigmoid", "1 / (1 + exp(-x)).", _in_float("sigmoid"), precision=None, group="nn",
        # exp(-x) is infinite where the quotient would be below the normal numbers of FP32.
        tolerance={F32: (2.4e-7, 1.2e-38), F16: (9.8e-4, 6e-8), BF16: (7.9e-3, 1.2e-38)},
    ),
    _function(
        "tanh", "Hyperbolic tangent.", _in_float("tanh"), precision=None, tolerance=_TWO_UNITS,
    ),
    OpSpec(
        "cast", "functions",
        (
            OpParam("input", "tensor"),
            OpParam("dtype", "dtype"),
            OpParam("mode", "enum", CastMode.CAST_NONE, CastMode),
            OpParam("satmode", "enum", SaturationMode.OFF, SaturationMode),
        ),
        CASTS, _infer_cast, _lower_cast, "input.to(dtype)",
        "The same numbers in another dtype. Integers wrap on overflow unless satmode is ON; "
        "floats are truncated to integers and rounded half to even to floats by default. "
        "DT_BOOL is what is not 0.",
    ),
)  # fmt: skip
