"""Arithmetic between tensors and scalars: add sub mul div pow maximum minimum neg abs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from pypto.error import DtypeError, FeTypeError, FeValueError
from pypto.ir.dtype import DataType
from pypto.ir.expr import Const, Expr, apply, as_int, const
from pypto.ir.tensor import Compute, TensorType, Value
from pypto.language.enums import PrecisionType
from pypto.ops.casts import cast_text
from pypto.ops.lowering import BF16, F16, F32, I8, I16, I32, I64, U8, Lowering, as_single, exact_in
from pypto.ops.shapes import broadcast, same_dtype, scalar_fits
from pypto.ops.spec import OpCall, OpParam, OpSpec

FLOATS = frozenset({F16, BF16, F32})
NUMBERS = FLOATS | {I16, I32}

Lower = Callable[[Lowering, Compute], Value]


def _infer_binary(call: OpCall) -> TensorType:
    first, second = call.spec.params[0].name, call.spec.params[1].name
    if not call.tensors():
        call.fail(
            FeTypeError, f"{call.spec.name} needs at least one tensor", arg=first,
            help="numbers alone are calculated with Python's operators",
        )  # fmt: skip
    for name, tensor in call.tensors():
        call.check_dtype(name)
        scalar_fits(call, tensor, second if name == first else first)
    same_dtype(call, first, second)
    return TensorType(call.tensors()[0][1].dtype, broadcast(call, first, second))


def _infer_div(call: OpCall) -> TensorType:
    result = _infer_binary(call)
    return result if result.dtype.is_float else TensorType(F32, result.shape)


def _infer_unary(call: OpCall) -> TensorType:
    name = call.spec.params[0].name
    call.check_dtype(name)
    return TensorType(call.tensor(name).dtype, broadcast(call, name))


def _infer_abs(call: OpCall) -> TensorType:
    dtype = call.tensor("input").dtype
    if dtype in (I16, I32, I64):  # FP32 does not hold all INT32
        allowed = ", ".join(str(d) for d in sorted(call.spec.dtypes))
        text = call.text("input")
        if dtype == I64:
            text = cast_text(text, I64, I32) or text
        name = text if text.isidentifier() else "x"
        where = "" if name == text else f", where x is {text}"
        call.fail(
            DtypeError,
            f"abs does not take {dtype} on this target",
            expected=f"one of {allowed}",
            got=f"{dtype} for 'input'",
            help=f"write pypto.maximum({name}, -{name}){where}",
            arg="input",
        )
    return _infer_unary(call)


def _lower_commutative(tensor_op: str, scalar_op: str) -> Lower:
    def lower(build: Lowering, use: Compute) -> Value:
        a, b = use.args
        if isinstance(a, Expr):
            a, b = b, a
        assert isinstance(a, Value)
        if isinstance(b, Expr):
            return build.with_scalar(scalar_op, a, b)
        return build.binary(tensor_op, a, b)

    return lower


def _lower_sub(build: Lowering, use: Compute) -> Value:
    a, b = use.args
    if isinstance(b, Expr):
        assert isinstance(a, Value)
        return build.with_scalar("adds", a, apply("neg", _as_kind(b, a.type.dtype)))
    assert isinstance(b, Value)
    if isinstance(a, Expr):
        # s - x = (-x) + s: the negation is exact, so the sum rounds once, also for 16-bit floats.
        return build.with_scalar("adds", build.negative(b), a)
    return build.binary("sub", a, b)


def _as_kind(scalar: Expr, dtype: DataType) -> Expr:
    return as_single(scalar) if dtype.is_float else scalar


def _lower_div(build: Lowering, use: Compute) -> Value:
    a, b = use.args
    rank = len(build.result_shape())
    dtype = use.result.type.dtype

    def operand(arg: Value | Expr) -> Value:
        if isinstance(arg, Value):
            return build.cast(arg, F32, "NONE")
        return build.fill(arg, F32, rank)

    if isinstance(b, Const) and isinstance(a, Value) and _reciprocal_is_exact(float(b.value)):
        wide = build.cast(a, F32, "NONE")
        return build.narrow(build.emit("muls", wide, const(1.0 / float(b.value))), dtype)
    return build.narrow(
        build.emit("div", operand(a), operand(b), shape=build.result_shape()), dtype
    )


def _reciprocal_is_exact(value: float) -> bool:
    mantissa, _ = math.frexp(value)
    return (
        abs(mantissa) == 0.5 and exact_in(F32, value) and 2.0**-126 <= abs(1.0 / value) < 2.0**127
    )


def _lower_neg(build: Lowering, use: Compute) -> Value:
    (a,) = use.args
    assert isinstance(a, Value)
    return build.negative(a)


def _lower_abs(build: Lowering, use: Compute) -> Value:
    (a,) = use.args
    assert isinstance(a, Value)
    return build.in_float("abs", a) if a.type.dtype == BF16 else build.emit("abs", a)


def _infer_axpy(call: OpCall) -> TensorType:
    y, x = call.check_dtype("y"), call.check_dtype("x")
    alpha = call.scalar("alpha")
    if alpha is None:
        call.fail(FeTypeError, "axpy_: 'alpha' must be a number", arg="alpha")
    if (y, x) not in {(F32, F32), (F16, F16), (F32, F16)}:
        call.fail(
            DtypeError, "axpy_: these dtypes do not go together",
            expected="y and x both DT_FP32 or DT_FP16, or DT_FP16 added to DT_FP32",
            got=f"{y} for 'y' and {x} for 'x'", arg="x",
        )  # fmt: skip
    return TensorType(y, broadcast(call, "y", "x"))


def _lower_axpy(build: Lowering, use: Compute) -> Value:
    y, x, alpha = use.args
    assert isinstance(y, Value) and isinstance(x, Value) and isinstance(alpha, Expr)
    scaled = build.emit("muls", build.widen(x), as_single(alpha))
    return build.narrow(build.emit("add", build.widen(y), scaled), y.type.dtype)


# --- pow ---

_RANKING = (F32, BF16, F16, I32, I16, I8, U8)


def _infer_pow(call: OpCall) -> TensorType:
    base = call.check_dtype("input")
    scalar = call.scalar("other")
    shape = broadcast(call, "input", "other")
    if scalar is None:
        other = call.check_dtype("other")
        return TensorType(_pow_dtype(call, base, other), shape)
    if scalar.kind == "float" and not isinstance(scalar, Const):
        _refuse_roots(call, scalar)
    if base.is_float:
        return TensorType(base, shape)
    if scalar.kind == "float":
        return TensorType(F32, shape)
    exponent = as_int(scalar)
    if exponent is not None and exponent < 0:
        call.fail(
            FeValueError,
            "pow: integers to negative integer powers are not allowed",
            expected="an exponent >= 0, or a float tensor",
            got=str(exponent),
            arg="other",
        )
    if exponent is None:
        call.require(
            apply("ge", scalar, const(0)),
            f"pow of integers needs {scalar} >= 0: for negative exponents use a float tensor",
        )
        call.require(  # the instruction takes it as int32
            apply("le", scalar, const(2**31 - 1)),
            f"pow of integers needs {scalar} < 2**31",
        )
    return TensorType(base, shape)


def _refuse_roots(call: OpCall, exponent: Expr) -> None:
    """The powers that torch takes by sqrt differ from the rest for -inf and -0.0."""
    for root, name in ((0.5, "sqrt"), (-0.5, "rsqrt")):
        call.require(
            apply("ne", exponent, const(root)),
            f"pow cannot compute its exponent {exponent} from a size where it is {root}: write "
            f"pypto.{name}, or annotate that axis with a number or pypto.STATIC",
        )


def _pow_dtype(call: OpCall, base: DataType, other: DataType) -> DataType:
    small = {I8, U8, I16}
    if base == other:
        return base
    if {base, other} == {F16, BF16}:
        return F32
    if base in small or other in small:
        same_dtype(call, "input", "other")
    return min(base, other, key=_RANKING.index)


def _lower_pow(build: Lowering, use: Compute) -> Value:
    base, other = use.args
    assert isinstance(base, Value)
    dtype = use.result.type.dtype
    if dtype.is_float:
        if base.type.dtype in (I8, U8):
            base = build.cast(base, F16)  # exact; no instruction goes to FP32
        wide = build.cast(base, F32, "NONE")
        return build.narrow(_float_power(build, wide, other), dtype)
    if isinstance(other, Const):
        return _narrow_int(build, _int_power(build, _wide_int(build, base), other), dtype)
    wide_base = _to_int32(build, base)
    if isinstance(other, Value):
        return _narrow_int32(build, build.emit("power", wide_base, _to_int32(build, other)), dtype)
    return _narrow_int32(build, build.emit("powers", wide_base, other), dtype)


def _float_power(build: Lowering, base: Value, exponent: Value | Expr) -> Value:
    rank = len(build.result_shape())
    if isinstance(exponent, Value):
        return build.emit("power", base, build.cast(exponent, F32, "NONE"))
    known = float(exponent.value) if isinstance(exponent, Const) else None
    one = build.fill(const(1.0), F32, rank) if known in (0.0, -0.5, -1.0, -2.0) else None
    if known == 0.0:
        assert one is not None
        return build.emit("expand", one, shape=build.result_shape())
    if known == 1.0:
        return build.emit("adds", base, const(-0.0))
    if known == 0.5:
        return build.emit("sqrt", base)
    if known in (2.0, 3.0):
        square = build.emit("mul", base, base)
        return square if known == 2.0 else build.emit("mul", square, base)
    if one is not None:
        if known == -0.5:
            denominator = build.emit("sqrt", base)
        else:
            denominator = base if known == -1.0 else build.emit("mul", base, base)
        return build.emit("div", one, denominator)
    number = apply("to_float", exponent)
    power = build.emit("powers", base, number)
    mask = _lost_parity(number)
    return power if as_int(mask) == 0 else build.emit("flip_sign", power, base, mask)


def _lost_parity(exponent: Expr) -> Expr:
    """The sign bit, as INT32, where the float ``exponent`` is odd and FP32 makes it even; else 0.

    FP32 holds no odd numbers beyond 2**24, FP64 none beyond 2**53; as in torch, an int is odd where
    FP64 has it odd.
    """
    large = apply("ge", apply("abs", exponent), const(2.0**24))
    odd = apply("eq", apply("mod", exponent, const(2.0)), const(1.0))
    return apply("select", apply("and", large, odd), const(-(2**31)), const(0))


def _wide_int(build: Lowering, value: Value) -> Value:
    """An 8-bit integer as INT16 (exact); wider ones unchanged."""
    if value.type.dtype in (I8, U8):
        return build.cast(build.cast(value, F16), I16, "RINT")
    return value


def _to_int32(build: Lowering, value: Value) -> Value:
    value = _wide_int(build, value)
    if value.type.dtype == I16:
        return build.cast(build.cast(value, F32), I32, "RINT")
    return value


def _narrow_int(build: Lowering, value: Value, dtype: DataType) -> Value:
    """INT16 ``value`` wrapped to an 8-bit ``dtype``; other dtypes unchanged."""
    if dtype in (I8, U8):
        wrapped = build.wrap(value, 8)
        if dtype == U8:
            wrapped = build.unsigned(wrapped, 8)
        return build.cast(build.cast(wrapped, F16, "NONE"), dtype, "RINT")
    return value


def _narrow_int32(build: Lowering, value: Value, dtype: DataType) -> Value:
    if dtype == I32:
        return value
    return _narrow_int(build, build.cast(build.wrap(value, 16), I16), dtype)


def _int_power(build: Lowering, base: Value, exponent: Const) -> Value:
    """``base`` to a constant exponent >= 0 by squaring; products wrap."""
    left = int(exponent.value)
    power: Value | None = None
    square = base
    while left:
        if left & 1:
            power = square if power is None else build.emit("mul", power, square)
        left >>= 1
        if left:
            square = build.emit("mul", square, square)
    if power is None:
        one = build.fill(const(1), base.type.dtype, len(base.type.shape))
        return build.emit("expand", one, shape=base.type.shape)
    return power if power is not base else build.emit("adds", base, const(0))


def _binary(
    name: str,
    torch: str,
    doc: str,
    lower: Lower,
    *,
    operator: str | None = None,
    infer: Callable[[OpCall], TensorType] = _infer_binary,
    dtypes: frozenset[DataType] = NUMBERS,
    params: tuple[OpParam, ...] = (OpParam("input", "operand"), OpParam("other", "operand")),
    method: bool = True,
    tolerance: Mapping[DataType, tuple[float, float]] | None = None,
) -> OpSpec:
    return OpSpec(
        name, "arithmetic", params, dtypes, infer, lower, torch, doc, method=method,
        operator=operator, tolerance=tolerance or {},
    )  # fmt: skip


_PRECISION = OpParam("precision_type", "enum", PrecisionType.HIGH_PRECISION, PrecisionType)

SPECS: tuple[OpSpec, ...] = (
    _binary(
        "add", "torch.add(input, other)", "Elementwise sum; broadcasts.",
        _lower_commutative("add", "adds"), operator="+",
    ),
    _binary(
        "sub", "torch.sub(input, other)", "Elementwise difference; broadcasts.", _lower_sub,
        operator="-",
    ),
    _binary(
        "mul", "torch.mul(input, other)", "Elementwise product; broadcasts.",
        _lower_commutative("mul", "muls"), operator="*",
    ),
    _binary(
        "div", "torch.true_divide(input, other)",
        "Elementwise true quotient; integers give FP32; broadcasts.", _lower_div, operator="/",
        infer=_infer_div,
        params=(OpParam("input", "operand"), OpParam("other", "operand"), _PRECISION),
    ),
    _binary(
        "pow", "torch.pow(input, other)", "Elementwise power; integer results wrap.", _lower_pow,
        operator="**", infer=_infer_pow, dtypes=NUMBERS | {I8, U8}, method=False,
        params=(OpParam("input", "tensor"), OpParam("other", "operand", value=True), _PRECISION),
        tolerance={F32: (1e-6, 1.2e-38), F16: (9.8e-4, 6e-8), BF16: (7.9e-3, 1.2e-38)},
    ),
    _binary(
        "maximum", "torch.maximum(input, other)", "Elementwise larger; NaN if either is NaN.",
        _lower_commutative("max", "maxs"),
    ),
    _binary(
        "minimum", "torch.minimum(input, other)", "Elementwise smaller; NaN if either is NaN.",
        _lower_commutative("min", "mins"),
    ),
    OpSpec(
        "axpy_", "arithmetic",
        (OpParam("y", "tensor"), OpParam("x", "tensor"), OpParam("alpha", "operand", 1.0)),
        frozenset({F32, F16}), _infer_axpy, _lower_axpy, "y + alpha * x",
        "y += alpha * x in place, computed in FP32; x broadcasts to y.", method=True, inplace="y",
        notes=("The result is y; nothing else of y's old value is left.",),
        tolerance={F32: (1.2e-7, 1.2e-38), F16: (9.8e-4, 6e-8)},
    ),
    OpSpec(
        "neg", "arithmetic", (OpParam("input", "tensor"),), NUMBERS, _infer_unary, _lower_neg,
        "torch.neg(input)", "Elementwise negation.", operator="unary -",
    ),
    OpSpec(
        "abs", "arithmetic", (OpParam("input", "tensor"),), FLOATS, _infer_abs, _lower_abs,
        "torch.abs(input)", "Elementwise absolute value.",
    ),
)  # fmt: skip
