"""C++ text of scalar values: constants by type, expressions over a call's arguments."""

from __future__ import annotations

import math
import struct

from pypto.ir.dtype import DataType
from pypto.ir.expr import Apply, Const, Expr, Symbol

__all__ = ["float_literal", "host_expression", "literal", "narrowed", "neutral"]


def float_literal(value: float) -> str:
    """A float literal that reads back as FP32 ``value``: the shortest that does."""
    if math.isnan(value):
        return "NAN"
    try:
        single = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        single = math.copysign(math.inf, value)
    if math.isinf(single):
        return "INFINITY" if single > 0 else "-INFINITY"
    text = next(t for d in range(1, 10) if _reads_back(t := f"{single:.{d}g}", single))
    if "." not in text and "e" not in text:
        text += ".0"
    return f"{text}f"


def _reads_back(text: str, single: float) -> bool:
    try:
        return bool(struct.unpack("f", struct.pack("f", float(text)))[0] == single)
    except OverflowError:
        return False


def narrowed(text: str, dtype: DataType) -> str:
    """The C++ float ``text`` in the 16-bit type of ``dtype``."""
    if dtype == DataType.DT_BF16:
        return f"ToBfloat16({text})"
    return f"static_cast<{dtype.cpp}>({text})"


def literal(value: int | float | bool, dtype: DataType) -> str:
    """``value`` as a constant of the Ascend C type of ``dtype``; integers wrap."""
    if dtype == DataType.DT_FP32:
        return float_literal(float(value))
    if dtype.is_float:
        return narrowed(float_literal(float(value)), dtype)
    bits = 8 * dtype.bytes
    unsigned = dtype.name.startswith("DT_UINT")
    wrapped = int(value) & ((1 << bits) - 1)
    if not unsigned and wrapped >> (bits - 1):
        wrapped -= 1 << bits
    if wrapped == -(1 << (bits - 1)) and bits >= 32:
        return f"({wrapped + 1} - 1)"  # the magnitude alone does not fit the type
    if bits == 32:
        return f"{wrapped}u" if unsigned else str(wrapped)
    return f"static_cast<{dtype.cpp}>({wrapped})"


def neutral(stem: str, dtype: DataType) -> str:
    """The value that a reduction starts from."""
    if stem == "Sum":
        return literal(0, dtype)
    if stem == "Prod":
        return literal(1, dtype)
    if dtype.is_float:
        return literal(float("-inf") if stem == "Max" else float("inf"), dtype)
    bits = 8 * dtype.bytes
    return literal(-(1 << (bits - 1)) if stem == "Max" else (1 << (bits - 1)) - 1, dtype)


_HOST = {
    "floordiv": "FloorDiv", "mod": "FloorMod", "pow": "Pow", "min": "Min", "max": "Max",
    "abs": "Abs",
}  # fmt: skip
_INFIX = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "eq": "==", "ne": "!=", "and": "&&", "or": "||",
}  # fmt: skip


def host_expression(expr: Expr, symbols: dict[Symbol, str]) -> str:
    """C++ of the launch wrapper for ``expr``: int64 and double, with Python's meaning.

    Integer arithmetic goes through checked functions of the wrapper's prelude.
    """
    if isinstance(expr, Const):
        return _host_constant(expr)
    if isinstance(expr, Symbol):
        return symbols[expr]
    assert isinstance(expr, Apply)
    args = [host_expression(a, symbols) for a in expr.args]
    if expr.op in ("add", "mul") and expr.type == "int":
        text = args[0]
        for arg in args[1:]:
            text = f"{_INFIX[expr.op]}({text}, {arg}, error)"
        return text
    if expr.op == "sub" and expr.type == "int":
        return f"Sub({args[0]}, {args[1]}, error)"
    if expr.op in ("add", "sub", "mul", "truediv"):
        return _host_float(expr, args)
    if expr.op in _HOST:
        if any(a.kind == "float" for a in expr.args):
            args = [_as_double(a, e) for a, e in zip(args, expr.args, strict=True)]
        checked = ", error" if expr.op in ("floordiv", "mod", "pow", "abs") else ""
        return f"{_HOST[expr.op]}({', '.join(args)}{checked})"
    if expr.op in _INFIX:
        return f"({args[0]} {_INFIX[expr.op]} {args[1]})"
    if expr.op == "neg":
        return f"Sub(INT64_C(0), {args[0]}, error)" if expr.type == "int" else f"(-{args[0]})"
    if expr.op == "not":
        return f"(!{args[0]})"
    if expr.op == "select":
        return f"({args[0]} ? {args[1]} : {args[2]})"
    if expr.op == "to_float":
        return f"static_cast<double>({args[0]})"
    return f"ToInt({args[0]}, error)"


def _as_double(text: str, expr: Expr) -> str:
    return text if expr.kind == "float" else f"static_cast<double>({text})"


def _host_float(expr: Apply, args: list[str]) -> str:
    wide = [_as_double(a, e) for a, e in zip(args, expr.args, strict=True)]
    if expr.op == "truediv":
        return f"TrueDiv({wide[0]}, {wide[1]}, error)"
    sign = {"add": "+", "sub": "-", "mul": "*"}[expr.op]
    return f"({f' {sign} '.join(wide)})"


def _host_constant(expr: Const) -> str:
    if expr.type == "bool":
        return "true" if expr.value else "false"
    if expr.type == "int":
        number = int(expr.value)
        lowest = "(-INT64_C(9223372036854775807) - 1)"
        return f"INT64_C({number})" if number != -(2**63) else lowest
    value = float(expr.value)
    if math.isnan(value):
        return '__builtin_nan("")'
    if math.isinf(value):
        return "__builtin_inf()" if value > 0 else "-__builtin_inf()"
    return repr(value)


def c_string(text: str) -> str:
    """``text`` as a C++ string literal in ASCII."""
    shown = [_ESCAPES.get(byte, chr(byte)) for byte in text.encode()]
    plain = [one if len(one) > 1 or " " <= one <= "~" else f"\\{ord(one):03o}" for one in shown]
    return f'"{"".join(plain)}"'


_ESCAPES = {10: "\\n", 9: "\\t", 34: '\\"', 92: "\\\\", 63: "\\?"}  # "??" starts a trigraph
