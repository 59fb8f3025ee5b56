"""Bitwise operations and shifts of integers."""

from __future__ import annotations

from pypto.error import FeTypeError
from pypto.ir.tensor import Compute, TensorType, Value
from pypto.ops.arithmetic import Lower
from pypto.ops.comparison import exclusive
from pypto.ops.lowering import BOOL, I8, I16, I32, U8, U16, U32, Lowering
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


def _bitwise(name: str, op: str, doc: str) -> OpSpec:
    return OpSpec(
        name, "bitwise", (OpParam("input", "tensor"), OpParam("other", "operand")),
        INTEGERS | {BOOL}, _infer_bits, _lower_bits(op), f"torch.{name}(input, other)", doc,
    )  # fmt: skip


SPECS: tuple[OpSpec, ...] = (
    _bitwise("bitwise_and", "and", "The bits that both have; broadcasts."),
    _bitwise("bitwise_or", "or", "The bits that one has; broadcasts."),
    _bitwise("bitwise_xor", "xor", "The bits that just one has; broadcasts."),
    OpSpec(
        "bitwise_not", "bitwise", (OpParam("input", "tensor"),), INTEGERS | {BOOL}, _infer_not,
        _lower_not, "torch.bitwise_not(input)", "Each bit inverted; of DT_BOOL, the negation.",
    ),
)  # fmt: skip
