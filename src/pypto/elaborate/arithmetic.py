"""Operators on known values, run-time scalars and tensors, with Python's meaning."""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable
from typing import Any

import libcst as cst

from pypto.elaborate import advice
from pypto.elaborate import values as v
from pypto.elaborate.branches import choose
from pypto.elaborate.diagnostics import Poisoned, refuse
from pypto.elaborate.dunders import call_special_method, operator_method
from pypto.elaborate.iteration import MAX_LENGTH, items_of
from pypto.elaborate.machine import Frame
from pypto.elaborate.operations import apply_operation
from pypto.elaborate.scalars import as_number, dict_of, from_python, number, python_call
from pypto.elaborate.values import Item, Known, Mapping, Scalar, Sequence, is_tensor, scalar
from pypto.error import FeNotImplementedError, FeTypeError, FeValueError, Span
from pypto.ir.dtype import DataType
from pypto.ir.expr import Const, Expr, apply, const, variables_of
from pypto.ops import registry

__all__ = [
    "BINARY",
    "apply_operator",
    "binary",
    "boolean",
    "ceil_divide",
    "check_plain",
    "is_list",
    "operand",
    "parts_of_list",
    "tensor_operator",
    "truth",
    "unary",
]

BINARY: dict[type, tuple[str, str | None, Callable[[Any, Any], Any]]] = {
    cst.Add: ("+", "add", operator.add),
    cst.Subtract: ("-", "sub", operator.sub),
    cst.Multiply: ("*", "mul", operator.mul),
    cst.Divide: ("/", "truediv", operator.truediv),
    cst.FloorDivide: ("//", "floordiv", operator.floordiv),
    cst.Modulo: ("%", "mod", operator.mod),
    cst.Power: ("**", "pow", operator.pow),
    cst.MatrixMultiply: ("@", None, operator.matmul),
    cst.BitAnd: ("&", None, operator.and_),
    cst.BitOr: ("|", None, operator.or_),
    cst.BitXor: ("^", None, operator.xor),
    cst.LeftShift: ("<<", None, operator.lshift),
    cst.RightShift: (">>", None, operator.rshift),
}
"""libcst node -> sign, operation on expressions, Python function."""

_UNARY: dict[type, tuple[str, Callable[[Any], Any]]] = {
    cst.Minus: ("-", operator.neg),
    cst.Plus: ("+", operator.pos),
    cst.BitInvert: ("~", operator.invert),
}

_PLAIN: tuple[type, ...] = (
    bool, int, float, complex, str, bytes, type(None), type(Ellipsis), tuple, list, dict, set,
    frozenset, range, type({}.keys()), type({}.items()),
)  # fmt: skip
INT64 = range(-(2**63), 2**63)
_MAX_BITS = 1 << 16
_LISTS = (list, tuple)


def operand(frame: Frame, item: Item, span: Span) -> Expr | None:
    """``item`` as a scalar expression, its captured read recorded; None when it is no number."""
    expr = number(item)
    if expr is None or not isinstance(item, Known):
        return expr
    frame.use(item, span)
    if isinstance(expr, Const) and expr.type == "int" and expr.value not in INT64:
        return None  # Python's integers go on; run-time scalars have 64 bits
    return expr


def binary(frame: Frame, sign: type, a: Item, b: Item, node: cst.CSTNode) -> Item:
    """``a sign b``; ``node`` is the whole expression."""
    span = frame.span(node)
    found = operator_method(frame, BINARY[sign][0], a, b, span)
    if found is not None:
        return found
    if is_tensor(a) or is_tensor(b):
        return tensor_operator(frame, BINARY[sign][0], (a, b), node)
    return apply_operator(frame, sign, a, b, span)


def apply_operator(frame: Frame, sign: type, a: Item, b: Item, span: Span) -> Item:
    """``a sign b`` where no expression says so: in a fold, for one."""
    symbol, op, function = BINARY[sign]
    found = operator_method(frame, symbol, a, b, span)
    if found is not None:
        return found
    if is_tensor(a) or is_tensor(b):
        return _operation(frame, symbol, (a, b), span, [span, span], None)
    left, right = operand(frame, a, span), operand(frame, b, span)
    if left is not None and right is not None and (isinstance(a, Scalar) or isinstance(b, Scalar)):
        return _scalar_operator(frame, symbol, op, (a, b), (left, right), span)
    if isinstance(a, Sequence) or isinstance(b, Sequence):
        joined = _sequence_operator(frame, symbol, a, b, span)
        if joined is not None:
            return joined
    if symbol == "|" and (isinstance(a, Mapping) or isinstance(b, Mapping)):
        first, second = dict_of(frame, a, span), dict_of(frame, b, span)
        if first is not None and second is not None:
            return Mapping({**first, **second})
    what = f"the operator {symbol}"
    x, y = frame.python(a, span, what), frame.python(b, span, what)
    check_plain(frame, what, span, (x, a), (y, b))
    _check_size(symbol, x, y, span)
    return from_python(python_call(function, span, x, y))


def tensor_operator(
    frame: Frame, symbol: str, operands: tuple[Item, ...], node: cst.CSTNode
) -> Item:
    spans = [frame.span(node)] * len(operands)
    if isinstance(node, cst.BinaryOperation):
        spans = [frame.span(node.left), frame.span(node.right)]
    elif isinstance(node, cst.AugAssign):
        spans = [frame.span(node.target), frame.span(node.value)]
    return _operation(frame, symbol, operands, frame.span(node), spans, frame.name_for(node))


def _operation(
    frame: Frame,
    symbol: str,
    operands: tuple[Item, ...],
    span: Span,
    spans: list[Span],
    name: str | None,
) -> Item:
    spec = registry.operator(symbol if len(operands) == 2 else f"unary {symbol}")
    for item in operands:
        if isinstance(item, v.Poison):
            raise Poisoned
    if spec is None:
        refuse(
            FeNotImplementedError,
            f"the operator {symbol} on tensors is not available yet",
            span,
            help=advice.for_missing("matmul"),
        )
    names = [p.name for p in spec.params]
    arguments = dict(zip(names, zip(operands, spans, strict=True), strict=False))
    return apply_operation(frame, spec, (), arguments, span, name)


def _scalar_operator(
    frame: Frame,
    symbol: str,
    op: str | None,
    items: tuple[Item, Item],
    exprs: tuple[Expr, Expr],
    span: Span,
) -> Item:
    if symbol in "&|" and exprs[0].kind == exprs[1].kind == "bool":
        return scalar(apply("and" if symbol == "&" else "or", *exprs))
    if op is None or (op == "pow" and not _exact_power(exprs)):
        what = f"the operator {symbol}"
        x, y = (frame.python(item, span, what) for item in items)
        return Known(python_call(_function_of(symbol), span, x, y))
    divisor = exprs[1]
    if op in ("truediv", "floordiv", "mod") and isinstance(divisor, Const) and not divisor.value:
        refuse(FeValueError, "ZeroDivisionError: division by zero", span)
    if op == "pow" and divisor.kind == "float" and any(map(variables_of, exprs)):
        refuse(
            FeNotImplementedError,
            "a running kernel raises numbers to whole powers only",
            span,
            expected="an int as the exponent",
            got=v.describe(items[1]),
            help="raise a tensor, or give the kernel the power as a parameter",
        )
    return scalar(python_call(apply, span, op, *(as_number(e) for e in exprs)))


def _exact_power(exprs: tuple[Expr, Expr]) -> bool:
    """An int to a negative int is a float in Python: its kind depends on the value."""
    base, exponent = exprs
    if base.kind == "float":
        return True
    return isinstance(exponent, Const) and exponent.type == "int" and exponent.value >= 0


def _function_of(symbol: str) -> Callable[[Any, Any], Any]:
    return next(function for sign, _, function in BINARY.values() if sign == symbol)


def _sequence_operator(frame: Frame, symbol: str, a: Item, b: Item, span: Span) -> Sequence | None:
    if symbol == "+":
        left, right = parts_of_list(frame, a, span), parts_of_list(frame, b, span)
        if left is not None and right is not None and is_list(a) == is_list(b):
            return Sequence(left + right, is_list(a))
    if symbol == "*":
        sequence, times = (a, b) if isinstance(a, Sequence) else (b, a)
        count = frame.python(times, span, "repeating a list")
        if isinstance(sequence, Sequence) and isinstance(count, int):
            if count * len(sequence.items) > MAX_LENGTH:
                refuse(FeValueError, "the repeated list is too long for compile time", span)
            return Sequence(sequence.items * count, sequence.mutable)
    return None


def is_list(item: Item) -> bool:
    if isinstance(item, Sequence):
        return item.mutable
    return isinstance(item, Known) and isinstance(item.value, list)


def parts_of_list(frame: Frame, item: Item, span: Span) -> list[Item] | None:
    """The items of a list or tuple; None for everything else, which is never equal to one."""
    if isinstance(item, Sequence) or (isinstance(item, Known) and isinstance(item.value, _LISTS)):
        return items_of(frame, item, span)
    return None


def check_plain(frame: Frame, what: str, span: Span, *pairs: tuple[object, Item]) -> None:
    """Operators of users' classes run their code; those of plain values are Python's own."""
    for value, item in pairs:
        kind = type(value)
        plain = isinstance(value, _PLAIN) and kind.__module__ == "builtins"
        plain = plain or isinstance(value, enum.Enum) or number(Known(value)) is not None
        if not plain:
            refuse(
                FeTypeError,
                f"{what} cannot be used here",
                span,
                expected="numbers, strings, tuples or tensors",
                got=v.describe(item),
            )


def _check_size(symbol: str, x: object, y: object, span: Span) -> None:
    """Powers, shifts and repetitions whose result would not fit into a compilation."""
    too_big = False
    if isinstance(x, int) and isinstance(y, int):
        if symbol == "**":
            too_big = abs(x) > 1 and x.bit_length() * y > _MAX_BITS
        elif symbol == "<<":
            too_big = y > _MAX_BITS
    elif symbol == "*":
        for text, times in ((x, y), (y, x)):
            if isinstance(text, str | bytes | tuple | list) and isinstance(times, int):
                too_big = len(text) * times > MAX_LENGTH
    if too_big:
        refuse(FeValueError, f"the result of {symbol} is too large for compile time", span)


_UNARY_METHODS = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}


def unary(frame: Frame, sign: type, item: Item, node: cst.CSTNode) -> Item:
    """``-x``, ``+x``, ``~x`` or ``not x``."""
    span = frame.span(node)
    if sign is cst.Not:
        if isinstance(item, Scalar):
            return scalar(apply("not", item.expr))
        return Known(not truth(frame, item, span))
    symbol, function = _UNARY[sign]
    if is_tensor(item):
        return item if symbol == "+" else tensor_operator(frame, symbol, (item,), node)
    if isinstance(item, Scalar):
        if symbol == "-":
            return scalar(apply("neg", as_number(item.expr)))
        if symbol == "+":
            return scalar(as_number(item.expr))
        if item.expr.kind == "int":
            return scalar(apply("sub", const(-1), item.expr))
    found = call_special_method(frame, item, _UNARY_METHODS[symbol], [], span)
    if found is not None:
        return found
    value = frame.python(item, span, f"the operator {symbol}")
    check_plain(frame, f"the operator {symbol}", span, (value, item))
    return Known(python_call(function, span, value))


def truth(frame: Frame, item: Item, span: Span) -> bool:
    """Whether Python takes ``item`` for true, at compile time."""
    if isinstance(item, Sequence | Mapping | v.Set):
        return bool(item.items)
    if isinstance(item, v.View):
        return bool(item.owner.items)
    if isinstance(item, (v.Cursor, *v.CALLABLE)):
        return True
    if is_tensor(item):
        refuse(
            FeTypeError,
            "a tensor has no truth value: its elements are known only when the kernel runs",
            span,
            got=v.describe(item),
            help="compare sizes or parameters, or choose elementwise with an operation",
        )
    for method in ("__bool__", "__len__"):
        found = call_special_method(frame, item, method, [], span)
        if found is not None:
            return truth(frame, found, span)
    if isinstance(item, v.Instance):
        return True
    value = frame.python(item, span, "a condition")
    plain = isinstance(value, _PLAIN) or number(Known(value)) is not None
    if not plain and (hasattr(type(value), "__bool__") or hasattr(type(value), "__len__")):
        if not isinstance(value, DataType | enum.Enum):
            refuse(
                FeTypeError, "the truth of this object runs its code", span, got=v.describe(item)
            )
    return bool(value)


def boolean(frame: Frame, node: cst.BooleanOperation) -> Item:
    """``a and b``, ``a or b``: the second operand is not evaluated when the first decides."""
    is_and = isinstance(node.operator, cst.And)
    first = frame.evaluate(node.left)
    span = frame.span(node.left)
    if not isinstance(first, Scalar):
        return first if truth(frame, first, span) is not is_and else frame.evaluate(node.right)

    def one(a: Expr, b: Expr) -> Expr:
        if a.kind == b.kind == "bool":
            return apply("and", b, a) if is_and else apply("or", a, b)
        return apply("select", first.expr, a, b)

    sides = (lambda: frame.evaluate(node.right), lambda: first)
    then, other = sides if is_and else sides[::-1]
    return choose(frame, first.expr, span, then, other, one)


def ceil_divide(frame: Frame, a: Item, b: Item, span: Span) -> Item:
    """``a / b`` rounded up, of ints."""
    left, right = operand(frame, a, span), operand(frame, b, span)
    if left is None or right is None or "float" in (left.kind, right.kind):
        refuse(FeTypeError, "ceildiv divides ints", span, got=f"{v.describe(a)}, {v.describe(b)}")
    quotient = python_call(apply, span, "floordiv", apply("neg", as_number(left)), right)
    return scalar(apply("neg", quotient))
