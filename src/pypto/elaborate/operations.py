"""Operations of a kernel: their arguments, their types, and the statements that they become."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from functools import partial
from typing import Any, NoReturn

from pypto.elaborate import advice
from pypto.elaborate import values as v
from pypto.elaborate.branches import choose
from pypto.elaborate.diagnostics import Poisoned, refuse
from pypto.elaborate.machine import Frame
from pypto.elaborate.scalars import as_number, number
from pypto.elaborate.tensors import Argument, load, write
from pypto.elaborate.values import Item, Known
from pypto.error import (
    DtypeError,
    FeTypeError,
    FeValueError,
    Span,
)
from pypto.ir.dtype import DataType
from pypto.ir.expr import Const, Expr, apply, const, symbols_of, variables_of
from pypto.ir.tensor import Buffer, Operand, TensorType, Value
from pypto.language.dtype_names import meant_dtype
from pypto.language.element import Element
from pypto.ops.spec import OpCall, OpParam, OpSpec
from pypto.ops.valid import held_along, partly_valid

__all__ = ["apply_operation", "converted"]

_INT64 = range(-(2**63), 2**63)
_LOWEST = {
    "sum": 0, "prod": 1, "amax": float("-inf"), "amin": float("inf"),
    "argmax": 0, "argmin": 0, "var": float("nan"),
}  # fmt: skip


def _neutral(frame: Frame, operation: str, type: TensorType, span: Span) -> Buffer:
    """A tensor of what a reduction over no elements gives."""
    value: int | float = _LOWEST[operation]
    if isinstance(value, float) and not type.dtype.is_float:
        limit = 1 << (8 * type.dtype.bytes - 1)
        value = -limit if value < 0 else limit - 1
    buffer = frame.context.builder.local("none", TensorType(type.dtype, type.shape), span)
    write(frame, buffer, Known(value), span, buffer.name)
    return buffer


def apply_operation(
    frame: Frame,
    spec: OpSpec,
    positional: tuple[Argument, ...],
    keyword: Mapping[str, Argument],
    span: Span,
    name: str | None,
) -> v.Tensor:
    """One use of an operation: arguments checked, type inferred, statement appended.

    ``name``: the Python name that the result gets. Raises what the operation's type rule raises.
    What an operation that works in place changes is its result.
    """
    bound = spec.bind(positional, keyword, span)
    if spec.name == "pow":
        _check_base(frame, bound["input"], bound["other"])
    arguments: dict[str, object] = {}
    spans: dict[str, Span] = {}
    for param in spec.params:
        given = bound[param.name]
        if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], Span):
            spans[param.name] = given[1]
            arguments[param.name] = converted(frame, spec, param, given[0], given[1])
        elif param.kind == "operand" and isinstance(given, bool | int | float):
            arguments[param.name] = const(given)
        else:
            arguments[param.name] = given
    call = OpCall(spec, arguments, span, spans)
    _check_elements(call, bound)
    builder = frame.context.builder
    result = partly_valid(call, spec.infer(call), builder.smaller)
    given = [value for value in arguments.values() if isinstance(value, Value)]
    for condition, message in call.required:
        builder.require(condition, message, span, given)
    operands: list[Operand] = []
    attrs: list[tuple[str, object]] = []
    for param in spec.params:
        value = arguments[param.name]
        if isinstance(value, Value | Expr) and param.kind in ("tensor", "operand"):
            operands.append(value)
        else:
            attrs.append((param.name, value))

    def compute() -> Value:
        return builder.compute(spec.name, tuple(operands), tuple(attrs), result, span, name)

    held = held_along(call)
    if held is not None:
        # One element is stated, and there may be none: what is there is no result then.
        other = partial(_neutral, frame, spec.name, result, span)
        reduced = choose(frame, apply("gt", held, 0), span, compute, other)
        assert v.is_tensor(reduced)
        return reduced
    made = compute()
    if spec.inplace is None:
        return made
    argument = bound[spec.inplace]
    assert isinstance(argument, tuple)
    changed = argument[0]
    write(frame, changed, made, span, spans[spec.inplace].text())
    assert isinstance(changed, v.Tensor)
    return changed


def _check_elements(call: OpCall, given: Mapping[str, object]) -> None:
    """An element has a dtype, which is that of the tensors beside it."""
    dtypes = {tensor.dtype for name, tensor in call.tensors() if name != "condition"}
    for name, argument in given.items():
        item = argument[0] if isinstance(argument, tuple) and len(argument) == 2 else None
        value = item.value if isinstance(item, Known) else None
        if isinstance(value, Element) and dtypes and value.dtype not in dtypes:
            call.fail(
                DtypeError,
                f"{call.spec.name}: an element of {value.dtype} does not go with these tensors",
                expected=" or ".join(sorted(map(str, dtypes))),
                got=str(value.dtype),
                help=f"write the number alone, {value.value!r}: it takes the tensor's dtype",
                arg=name,
            )


def converted(frame: Frame, spec: OpSpec, param: OpParam, item: Item, span: Span) -> object:
    """Argument ``param`` in the form that type rules take."""
    what = f"{spec.name}: '{param.name}'"
    if isinstance(item, v.Poison):
        raise Poisoned
    if isinstance(item, Known) and item.value is None and param.default is None:
        return None
    if param.kind in ("tensor", "operand"):
        if isinstance(item, v.Scalar) and item.element is not None and param.kind == "tensor":
            item = item.element
        if isinstance(item, v.Tensor):
            return load(frame, item, span)
        if isinstance(item, Known) and isinstance(item.value, Element) and param.kind == "operand":
            return const(frame.use(item, span).value)
        expr = number(item) if param.kind == "operand" else None
        if expr is None:
            wanted = "a tensor" if param.kind == "tensor" else "a tensor or a number"
            _refuse_kind(f"{what} must be {wanted}", wanted, item, span, spec, param)
        if isinstance(item, Known):
            frame.use(item, span)
        elif param.value and expr.kind == "float" and isinstance(item, v.Scalar):
            symbols = symbols_of(expr)
            if not variables_of(expr) and all(symbol.axis is None for symbol in symbols):
                frame.need(item, span, what)
        return _in_range(what, as_number(expr), item, span)
    check, wanted = _CHECKS[param.kind]
    if isinstance(item, v.Tensor):
        wanted = f"a pypto.{param.type.__name__}" if param.type is not None else wanted
        _refuse_kind(f"{what} is no place for a tensor", wanted, item, span, spec, param)
    value = frame.python(item, span, what)
    if param.kind == "enum" and param.type is not None:
        wanted = f"a pypto.{param.type.__name__}"
        if isinstance(value, param.type):
            return value
        _refuse_kind(f"{what} must be {wanted}", wanted, item, span, spec, param)
    if not check(value):
        _refuse_kind(f"{what} must be {wanted}", wanted, item, span, spec, param)
    return tuple(value) if isinstance(value, list) else value


def _check_base(frame: Frame, base: object, exponent: object) -> None:
    """Refuse the power of a number to a tensor, and say what to write."""
    if not (isinstance(base, tuple) and isinstance(exponent, tuple)):
        return
    (item, span), (other, place) = base, exponent
    value = number(item)
    if value is None or not isinstance(other, v.Tensor):
        return
    kinds = {"float": float, "int": int, "bool": int}
    known = value.value if isinstance(value, Const) else kinds[value.kind]
    texts = [at.text() if at.line == at.end_line else "..." for at in (span, place)]
    refuse(
        FeTypeError, "pow: 'input' must be a tensor", span, expected="a tensor",
        got=v.describe(item),
        help=advice.for_base(texts[0], known, texts[1], other.type.dtype, frame.parsed.function),
    )  # fmt: skip


def _in_range(what: str, expr: Expr, item: Item, span: Span) -> Expr:
    if isinstance(expr, Const) and expr.type == "int" and expr.value not in _INT64:
        refuse(
            FeValueError, f"{what} does not fit into 64 bits", span,
            expected="-2**63 ... 2**63 - 1", got=v.describe(item),
        )  # fmt: skip
    return expr


def _refuse_kind(
    message: str, wanted: str, item: Item, span: Span, spec: OpSpec, param: OpParam
) -> NoReturn:
    got = v.describe(item)
    help = spec.usage
    if isinstance(item, Known) and param.kind == "dtype":
        meant = meant_dtype(item.value)
        help = f"write {meant!r}" if meant is not None else f"use pypto's own: {spec.usage}"
    refuse(FeTypeError, message, span, expected=wanted, got=got, help=help)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool | enum.Enum)


_CHECKS: dict[str, tuple[Any, str]] = {
    "int": (_is_int, "an int"),
    "bool": (lambda value: isinstance(value, bool), "True or False"),
    "dtype": (lambda value: isinstance(value, DataType), "a pypto dtype"),
    "enum": (lambda value: isinstance(value, enum.Enum), "an enum member"),
    "dims": (
        lambda value: (
            _is_int(value)
            or (isinstance(value, list | tuple) and all(_is_int(part) for part in value))
        ),
        "an int or a list of ints",
    ),
}
