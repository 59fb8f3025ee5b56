"""Bitwise operations and shifts of integers."""

from __future__ import annotations

from pypto.error import FeTypeError
from pypto.ir.expr import Expr, apply, as_int, const
from pypto.ir.tensor import Compute, TensorType, Value
from pypto.ops.arithmetic import Lower
from pypto.ops.comparison import exclusive
from pypto.ops.lowering import BOOL, I8, I16, I32, U8, U16, U32, Lowering
from pypto.ops.numerics import of_float, power_of_two, where
from pypto.ops.shapes import broadcast, same_dtype, scalar_fits
from pypto.ops.spec import OpCall, OpParam, OpSpec

INTEGERS = frozenset({I8, U8, I16, U16, I32, U32})


def _infer(call: OpCall) -> TensorType:
    dtype = call.check_dtype("input")
    if call.scalar("other") is None:
        call.check_dtype("other")
        same_dtype(call, "input", "other")
    scalar_fits(call, call.tensor("input"), "other")
    return TensorType(dtype, broadcast(call, "input", "other"))


def _infer_not(call: OpCall) -> TensorType:
    return TensorType(call.check_dtype("input"), broadcast(call, "input"))


def _xor(build: Lowering, a: Value, b: Value) -> Value:
    either = build.emit("bit_or", a, b)
    return build.emit("bit_and", either, build.emit("bit_not", build.emit("bit_and", a, b)))


def _lower_bits(op: str) -> Lower:
    """``op``: and, or, xor."""

    def lower(build: Lowering, use: Compute) -> Value:
        a, b = use.args
        assert isinstance(a, Value)
        if a.type.dtype == BOOL:
            assert isinstance(b, Value)
            one, other = build.mask(a), build.mask(b)
            made = {"and": build.both, "or": build.either}.get(op)
            mask = made(one, other) if made else exclusive(build, one, other)
            return build.boolean(mask)
        b = b if isinstance(b, Value) else build.number(b, a.type.dtype, a.type.rank)
        return _xor(build, a, b) if op == "xor" else build.emit(f"bit_{op}", a, b)

    return lower


def _lower_not(build: Lowering, use: Compute) -> Value:
    (a,) = use.args
    assert isinstance(a, Value)
    if a.type.dtype == BOOL:
        return build.boolean(build.inverse(build.mask(a)))
    return build.emit("bit_not", a)


def _infer_bits(call: OpCall) -> TensorType:
    if call.tensor("input").dtype == BOOL and call.scalar("other") is not None:
        call.fail(
            FeTypeError, f"{call.spec.name}: a number does not combine with a DT_BOOL tensor",
            expected="a DT_BOOL tensor", arg="other",
        )  # fmt: skip
    return _infer(call)


# --- shifts ---

_WIDTH = 16


def _infer_shift(call: OpCall) -> TensorType:
    if not call.tensors():
        call.fail(
            FeTypeError, f"{call.spec.name} needs at least one tensor", arg="input",
            help="numbers alone are calculated with Python's operators",
        )  # fmt: skip
    for name, tensor in call.tensors():
        call.check_dtype(name)
        scalar_fits(call, tensor, "other" if name == "input" else "input")
    same_dtype(call, "input", "other")
    names = [name for name, _ in call.tensors()]
    return TensorType(call.tensors()[0][1].dtype, broadcast(call, *names))


def _lower_shift(left: bool) -> Lower:
    """As torch: what is shifted by less than 0 or by 16 and more keeps none of its bits."""

    def lower(build: Lowering, use: Compute) -> Value:
        a, amount = use.args
        if isinstance(a, Value) and isinstance(amount, Expr):
            return _shift_by_number(build, a, amount, left)
        dtype = use.result.type.dtype
        rank = len(build.result_shape())
        a, amount = (
            x if isinstance(x, Value) else build.number(x, dtype, rank) for x in (a, amount)
        )
        return _shift_by_tensor(build, a, amount, left)

    return lower


def _shift_by_number(build: Lowering, a: Value, amount: Expr, left: bool) -> Value:
    """All but one place first, since the instructions take no more, and what is left then."""
    inside = apply("and", apply("ge", amount, const(0)), apply("lt", amount, const(_WIDTH)))
    places = apply("select", inside, amount, const(_WIDTH))
    op = "shl" if left else "shr"
    first = apply("min", places, const(_WIDTH - 1))
    shifted = build.emit(op, a, first)
    if not left and a.type.dtype == I16:
        return shifted  # the sign has filled it
    rest = apply("sub", places, first)
    return shifted if as_int(rest) == 0 else build.emit(op, shifted, rest)


def _shift_by_tensor(build: Lowering, a: Value, amount: Value, left: bool) -> Value:
    """By a product with a power of two: exact in FP32, and no instruction shifts by a tensor."""
    dtype = a.type.dtype
    signed = not left and dtype == I16
    x, places = (of_float(build, build.view(v, I16)) for v in (a, amount))
    inside = ~(places < 0.0) & ~(places > float(_WIDTH - 1))
    places = where(inside, places, float(_WIDTH - 1) if signed else 0.0)
    exponent = build.emit("cast", places.value if left else (-places).value, dtype=I32, mode="RINT")
    factor = power_of_two(build, exponent)
    if not signed:
        factor = where(inside, factor, 0.0)
    if not left and not signed:
        x = where(x < 0.0, x + float(1 << _WIDTH), x)
    product = build.emit("cast", (x * factor).value, dtype=I32, mode="FLOOR")
    return build.view(build.cast(build.wrap(product, _WIDTH), I16), dtype)


def _shift(name: str, left: bool, operator: str, doc: str) -> OpSpec:
    return OpSpec(
        name, "bitwise", (OpParam("input", "operand"), OpParam("other", "operand")),
        frozenset({I16, U16}), _infer_shift, _lower_shift(left), f"torch.{name}(input, other)", doc,
        operator=operator,
        notes=("By less than 0 or more than 15 places no bit is left, but copies of the sign.",),
    )  # fmt: skip


def _bitwise(name: str, op: str, operator: str, doc: str) -> OpSpec:
    return OpSpec(
        name, "bitwise", (OpParam("input", "tensor"), OpParam("other", "operand")),
        INTEGERS | {BOOL}, _infer_bits, _lower_bits(op), f"torch.{name}(input, other)", doc,
        operator=operator,
    )  # fmt: skip


SPECS: tuple[OpSpec, ...] = (
    _bitwise("bitwise_and", "and", "&", "The bits that both have; broadcasts."),
    _bitwise("bitwise_or", "or", "|", "The bits that one has; broadcasts."),
    _bitwise("bitwise_xor", "xor", "^", "The bits that just one has; broadcasts."),
    OpSpec(
        "bitwise_not", "bitwise", (OpParam("input", "tensor"),), INTEGERS | {BOOL}, _infer_not,
        _lower_not, "torch.bitwise_not(input)", "Each bit inverted; of DT_BOOL, the negation.",
        operator="unary ~",
    ),
    _shift("bitwise_left_shift", True, "<<", "input * 2**other, wrapped; broadcasts."),
    _shift(
        "bitwise_right_shift", False, ">>", "input / 2**other, rounded down; broadcasts.",
    ),
)  # fmt: skip
