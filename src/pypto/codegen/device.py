"""C++ of scalar expressions that the kernel itself computes, because loops or memory are in them.

What is known at launch is computed there and arrives as a field of ``args``; the rest is 64-bit
integer and FP32 arithmetic with Python's meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pypto.codegen.arguments import Arguments
from pypto.codegen.names import identifier
from pypto.codegen.values import float_literal, narrowed
from pypto.ir.dtype import DataType
from pypto.ir.expr import Apply, Const, Expr, Symbol, Variable, as_int, variables_of

__all__ = ["DeviceScalars", "Members", "cpp_type"]

_TYPES = {"int": "int64_t", "float": "float", "bool": "bool"}
_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==",
    "ne": "!=", "and": "&&", "or": "||",
}  # fmt: skip
_FUNCTIONS = {
    "floordiv": "FloorDivide", "mod": "FloorModulo", "min": "Smaller", "max": "Larger",
    "abs": "Magnitude", "pow": "IntegerPower",
}  # fmt: skip


def cpp_type(expr: Expr) -> str:
    """The C++ type of a scalar in a kernel."""
    return _TYPES[expr.kind]


@dataclass(slots=True)
class DeviceScalars:
    """Expressions where variables have ``names`` and the arguments are called ``args``.

    ``functions``: those that the text calls, to be printed before it.
    """

    arguments: Arguments
    names: Mapping[Variable, str]
    functions: dict[str, None]

    def text(self, expr: Expr, wanted: str = "size") -> str:
        """``expr`` as C++; ``wanted``: the name of a field, if it becomes one."""
        if isinstance(expr, Const):
            return _constant(expr)
        if not variables_of(expr):
            name = _launch_name(expr, wanted)
            return f"args.{self.arguments.field(expr, name, cpp_type(expr))}"
        if isinstance(expr, Variable):
            return self.names[expr]
        assert isinstance(expr, Apply)
        return self._apply(expr, wanted)

    def _apply(self, expr: Apply, wanted: str) -> str:
        if expr.op == "to_float":
            return f"static_cast<float>({self.text(expr.args[0], wanted)})"
        if expr.op == "to_int":
            return f"static_cast<int64_t>({self.text(expr.args[0], wanted)})"
        args = [self._operand(a, expr, wanted) for a in expr.args]
        if expr.op in _FUNCTIONS:
            return self._call(_FUNCTIONS[expr.op], expr, args)
        if expr.op == "neg":
            return f"(-{args[0]})"
        if expr.op == "not":
            return f"!{args[0]}"
        if expr.op == "select":
            return f"({args[0]} ? {args[1]} : {args[2]})"
        sign = "/" if expr.op == "truediv" else _INFIX[expr.op]
        return f"({f' {sign} '.join(args)})"

    def _call(self, name: str, expr: Apply, args: list[str]) -> str:
        """A function of scalars applied to ``args``, two at a time."""
        if expr.kind == "float":
            name += "Float"
        self.functions.setdefault(name)
        text = args[0] if len(args) > 1 else f"{name}({args[0]})"
        for arg in args[1:]:
            text = f"{name}({text}, {arg})"
        return text

    def _operand(self, argument: Expr, expr: Apply, wanted: str) -> str:
        """An operand, in the type that the operation is computed in."""
        text = self.text(argument, wanted)
        mixed = expr.op == "truediv" or any(a.kind == "float" for a in expr.args)
        logic = expr.op in ("and", "or", "not", "select")
        if mixed and not logic and argument.kind != "float":
            return f"static_cast<float>({text})"
        return text


def _launch_name(expr: Expr, wanted: str) -> str:
    """What a field is called: a size by its tensor and axis, a parameter by its name."""
    if not isinstance(expr, Symbol):
        return wanted
    if expr.axis is None:
        return identifier(expr.name)
    tensor, _, rest = expr.name.partition(".shape[")
    return f"{identifier(tensor)}Size{rest[:-1]}" if rest else identifier(expr.name)


def _constant(expr: Const) -> str:
    if expr.type == "bool":
        return "true" if expr.value else "false"
    if expr.type == "float":
        return float_literal(float(expr.value))
    value = int(expr.value)
    return str(value) if value > -(2**63) else f"({value + 1} - 1)"


@dataclass(slots=True)
class Members:
    """Sizes and scalars of one class: constants, fields of ``args_``, and members that the
    constructor computes from the variables it is given."""

    arguments: Arguments
    names: Mapping[Variable, str]
    functions: dict[str, None]
    taken: set[str] = field(default_factory=set)
    computed: dict[tuple[str, Expr], str] = field(default_factory=dict)
    used: dict[Variable, None] = field(default_factory=dict)
    texts: dict[str, tuple[str, str]] = field(default_factory=dict)  # member: type, expression

    def size(self, expr: Expr, wanted: str) -> str:
        """C++ of an integer in a member function."""
        if not variables_of(expr):
            return self.arguments.size(expr, wanted)
        return self._member(expr, wanted, "int64_t", self.expression(expr, wanted))

    def scalar(self, expr: Expr, dtype: DataType) -> str:
        """C++ of a scalar operand in the type of ``dtype``."""
        if not variables_of(expr):
            return self.arguments.scalar(expr, dtype)
        text = self.expression(expr, "scalar")
        if not dtype.is_float:
            return self._member(expr, "scalar", dtype.cpp, f"static_cast<{dtype.cpp}>({text})")
        if expr.kind != "float":
            text = f"static_cast<float>({text})"
        member = self._member(expr, "scalar", "float", text)
        return member if dtype == DataType.DT_FP32 else narrowed(member, dtype)

    def expression(self, expr: Expr, wanted: str) -> str:
        """C++ of ``expr`` in the constructor."""
        for variable in sorted(variables_of(expr), key=lambda v: v.id):
            self.used.setdefault(variable)
        known = as_int(expr)
        if known is not None:
            return str(known)
        return DeviceScalars(self.arguments, self.names, self.functions).text(expr, wanted)

    def _member(self, expr: Expr, wanted: str, type: str, text: str) -> str:
        key = (type, expr)
        if key not in self.computed:
            name, number = f"{wanted}_", 1
            while name in self.taken:
                number += 1
                name = f"{wanted}{number}_"
            self.taken.add(name)
            self.computed[key] = name
            self.texts[name] = (type, text)
        return self.computed[key]
