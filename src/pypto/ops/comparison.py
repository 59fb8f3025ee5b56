"""Comparisons, predicates and logical operations: their results are DT_BOOL.

On chip such a result is a mask, one bit for an element, which Compare makes and Select takes. In
memory, and for any other operation, it is a byte, 0 or 1; where a mask goes straight into a logical
operation or a ``where``, the byte is never made.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from pypto.error import FeTypeError
from pypto.ir.dtype import DataType
from pypto.ir.expr import Expr, const
from pypto.ir.tensor import Compute, TensorType, Value
from pypto.ops.arithmetic import FLOATS, Lower
from pypto.ops.lowering import BF16, BOOL, F16, F32, I8, I16, I32, I64, U8, U16, U32, Lowering
from pypto.ops.shapes import broadcast, same_dtype, scalar_fits
from pypto.ops.spec import OpCall, OpParam, OpSpec

COMPARABLE = FLOATS | {I8, U8, I16, I32, BOOL}
LOGICAL = COMPARABLE | {U16, U32}
ANY = LOGICAL | {I64, DataType.DT_UINT64}

_SWAPPED = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "EQ": "EQ", "NE": "NE"}


def infer_boolean(call: OpCall) -> TensorType:
    """DT_BOOL of the common shape of all operands."""
    names = [name for name, _ in call.tensors()]
    for name in names:
        call.check_dtype(name)
    return TensorType(BOOL, broadcast(call, *names))


def _infer_compare(call: OpCall) -> TensorType:
    if not call.tensors():
        call.fail(
            FeTypeError, f"{call.spec.name} needs at least one tensor", arg="input",
            help="numbers alone are calculated with Python's operators",
        )  # fmt: skip
    for name, tensor in call.tensors():
        call.check_dtype(name)
        scalar_fits(call, tensor, "other" if name == "input" else "input")
    same_dtype(call, "input", "other")
    return infer_boolean(call)


def _lower_compare(mode: str) -> Lower:
    def lower(build: Lowering, use: Compute) -> Value:
        a, b = use.args
        way = mode
        if isinstance(a, Expr):
            a, b, way = b, a, _SWAPPED[mode]
        assert isinstance(a, Value)
        return build.boolean(build.compare(way, a, b))

    return lower


def _lower_logical(combine: Callable[[Lowering, Value, Value], Value]) -> Lower:
    def lower(build: Lowering, use: Compute) -> Value:
        a, b = use.args
        assert isinstance(a, Value) and isinstance(b, Value)
        return build.boolean(combine(build, build.mask(a), build.mask(b)))

    return lower


def exclusive(build: Lowering, a: Value, b: Value) -> Value:
    """The mask of ``a xor b``."""
    return build.both(build.either(a, b), build.inverse(build.both(a, b)))


def _lower_logical_not(build: Lowering, use: Compute) -> Value:
    (a,) = use.args
    assert isinstance(a, Value)
    return build.boolean(build.inverse(build.mask(a)))


def _lower_isnan(build: Lowering, use: Compute) -> Value:
    (a,) = use.args
    assert isinstance(a, Value)
    return build.boolean(build.compare("NE", a, a))


def _lower_magnitude(mode: str) -> Lower:
    """How the magnitude compares with infinity."""

    def lower(build: Lowering, use: Compute) -> Value:
        (a,) = use.args
        assert isinstance(a, Value)
        if not a.type.dtype.is_float:
            return build.cast(build.spread(const(float(mode == "LT")), F16, a), BOOL, "RINT")
        a = build.widen(a) if a.type.dtype == BF16 else a
        return build.boolean(build.compare(mode, build.emit("abs", a), const(math.inf)))

    return lower


def negative_sign(build: Lowering, a: Value) -> Value:
    """The mask of what has its sign bit set, -0.0 and NaN included."""
    if a.type.dtype == F32:
        a = build.view(a, I32)
    elif a.type.dtype.is_float:
        a = build.view(a, I16)
    return build.compare("LT", a, const(0))


def _lower_signbit(build: Lowering, use: Compute) -> Value:
    (a,) = use.args
    assert isinstance(a, Value)
    return build.boolean(negative_sign(build, a))


def _comparison(name: str, mode: str, operator: str | None, words: str) -> OpSpec:
    torch = {"greater": "gt"}.get(name, name)
    return OpSpec(
        name, "comparison", (OpParam("input", "operand"), OpParam("other", "operand")), COMPARABLE,
        _infer_compare, _lower_compare(mode), f"torch.{torch}(input, other)",
        f"Elementwise input {words} other, as DT_BOOL; broadcasts.", method=True, operator=operator,
        notes=("A number is taken in the tensor's dtype: integers wrap.",),
    )  # fmt: skip


def _predicate(
    name: str, lower: Lower, doc: str, dtypes: frozenset[DataType], *, method: bool = False
) -> OpSpec:
    return OpSpec(
        name, "predicate", (OpParam("input", "tensor"),), dtypes, infer_boolean, lower,
        f"torch.{name}(input)", doc, method=method,
    )  # fmt: skip


def _logical(name: str, combine: Callable[[Lowering, Value, Value], Value], doc: str) -> OpSpec:
    return OpSpec(
        name, "logical", (OpParam("input", "tensor"), OpParam("other", "tensor")), LOGICAL,
        infer_boolean, _lower_logical(combine), f"torch.{name}(input, other)", doc, method=True,
        notes=("The operands may be of two dtypes.",),
    )  # fmt: skip


SPECS: tuple[OpSpec, ...] = (
    _comparison("eq", "EQ", "==", "=="),
    _comparison("ne", "NE", "!=", "!="),
    _comparison("lt", "LT", "<", "<"),
    _comparison("le", "LE", "<=", "<="),
    _comparison("gt", "GT", ">", ">"),
    _comparison("greater", "GT", None, ">"),
    _comparison("ge", "GE", ">=", ">="),
    _logical("logical_and", Lowering.both, "Whether both are not 0, as DT_BOOL; broadcasts."),
    _logical("logical_or", Lowering.either, "Whether one is not 0, as DT_BOOL; broadcasts."),
    _logical("logical_xor", exclusive, "Whether just one is not 0, as DT_BOOL; broadcasts."),
    OpSpec(
        "logical_not", "logical", (OpParam("input", "tensor"),), LOGICAL, infer_boolean,
        _lower_logical_not, "torch.logical_not(input)", "Whether it is 0, as DT_BOOL.", method=True,
    ),
    _predicate("isnan", _lower_isnan, "Whether it is NaN, as DT_BOOL.", FLOATS),
    _predicate(
        "isinf", _lower_magnitude("EQ"), "Whether it is infinite, as DT_BOOL.", FLOATS
    ),
    _predicate(
        "isfinite", _lower_magnitude("LT"),
        "Whether it is neither infinite nor NaN, as DT_BOOL; integers are finite.", ANY - {BOOL},
    ),
    _predicate(
        "signbit", _lower_signbit,
        "Whether the sign bit is set (of -0.0, too, and as NaN has it), as DT_BOOL.",
        FLOATS | {I8, I16, I32}, method=True,
    ),
)  # fmt: skip
