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
from pypto.ir.expr import (
    Apply,
    Const,
    Expr,
    Symbol,
    Variable,
    apply,
    as_int,
    const,
    product_of,
    variables_of,
)

__all__ = ["DeviceScalars", "Members", "cpp_type"]

_TYPES = {"int": "int64_t", "float": "float", "bool": "bool"}
# How tightly C++ binds: what binds less than its surroundings stands in parentheses.
_ATOM, _UNARY, _PRODUCT, _SUM, _ORDER, _EQUAL, _AND, _OR, _CHOICE = range(9)
_INFIX = {
    "add": ("+", _SUM), "sub": ("-", _SUM), "mul": ("*", _PRODUCT), "truediv": ("/", _PRODUCT),
    "lt": ("<", _ORDER), "le": ("<=", _ORDER), "gt": (">", _ORDER), "ge": (">=", _ORDER),
    "eq": ("==", _EQUAL), "ne": ("!=", _EQUAL), "and": ("&&", _AND), "or": ("||", _OR),
}  # fmt: skip
_FUNCTIONS = {
    "floordiv": "FloorDivide", "mod": "FloorModulo", "min": "Smaller", "max": "Larger",
    "abs": "Magnitude", "pow": "WholePower",
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
        return self._within(expr, wanted, _CHOICE)

    def term(self, expr: Expr, wanted: str) -> str:
        """``expr`` where it is added or compared."""
        return self._within(expr, wanted, _SUM)

    def factor(self, expr: Expr, wanted: str) -> str:
        """``expr`` where it is multiplied, or divided by."""
        return self._within(expr, wanted, _UNARY)

    def _within(self, expr: Expr, wanted: str, loosest: int) -> str:
        """``expr``, in parentheses where it binds less than ``loosest``."""
        text, level = self._shown(expr, wanted)
        return f"({text})" if level > loosest else text

    def _shown(self, expr: Expr, wanted: str) -> tuple[str, int]:
        if isinstance(expr, Const):
            text = _constant(expr)
            return text, _UNARY if text.startswith("-") else _ATOM
        if not variables_of(expr):
            name = _launch_name(expr, wanted)
            return f"args.{self.arguments.field(expr, name, cpp_type(expr))}", _ATOM
        if isinstance(expr, Variable):
            return self.names[expr], _ATOM
        assert isinstance(expr, Apply)
        if expr.op in ("to_float", "to_int"):
            type = "float" if expr.op == "to_float" else "int64_t"
            return f"static_cast<{type}>({self.text(expr.args[0], wanted)})", _ATOM
        if expr.op in _FUNCTIONS:
            args = [self._operand(a, expr, wanted, _CHOICE) for a in expr.args]
            return self._call(_FUNCTIONS[expr.op], expr, args), _ATOM
        if expr.op in ("neg", "not"):
            sign = "-" if expr.op == "neg" else "!"
            return f"{sign}{self._operand(expr.args[0], expr, wanted, _ATOM)}", _UNARY
        if expr.op == "select":
            condition, then, other = (self._operand(a, expr, wanted, _OR) for a in expr.args)
            return f"{condition} ? {then} : {other}", _CHOICE
        if expr.op in ("add", "mul") and expr.type == "int":
            return self._polynomial(expr, wanted)
        sign, level = _INFIX[expr.op]
        first, second = expr.args[0], expr.args[1:]
        parts = [self._operand(first, expr, wanted, level)]
        parts += [self._operand(a, expr, wanted, level - 1) for a in second]
        return f" {sign} ".join(parts), level

    def _polynomial(self, expr: Apply, wanted: str) -> tuple[str, int]:
        """A sum or product of integers; what is known at launch in it is one field."""
        known = [a for a in expr.args if not variables_of(a)]
        varying = [a for a in expr.args if variables_of(a)]
        if expr.op == "mul":
            return self._product(varying, product_of(known), wanted)
        rest: Expr = const(0)
        for part in known:
            rest = apply("add", rest, part)
        terms = [(_is_negative(term), term) for term in varying]
        fixed = [] if as_int(rest) == 0 else [((as_int(rest) or 0) < 0, rest)]
        constant = as_int(rest) is not None
        ordered = sorted([*terms, *fixed] if constant else [*fixed, *terms], key=lambda t: t[0])
        text = ""
        for negative, term in ordered:
            shown = self._within(apply("neg", term) if negative else term, wanted, _PRODUCT)
            sign = ("-" if negative else "+") if text else ""
            text = f"{text} {sign} {shown}" if text else f"-{shown}" if negative else shown
        return text, _SUM

    def _product(self, varying: list[Expr], factor: Expr, wanted: str) -> tuple[str, int]:
        parts = [self._within(a, wanted, _UNARY) for a in varying]
        if as_int(factor) == -1:
            return f"-{' * '.join(parts)}", _PRODUCT
        if as_int(factor) != 1:
            parts.append(self._within(factor, wanted, _UNARY))
        return " * ".join(parts), _PRODUCT

    def _call(self, name: str, expr: Apply, args: list[str]) -> str:
        """A function of scalars applied to ``args``, two at a time."""
        if expr.kind == "float":
            name += "Float"
        self.functions.setdefault(name)
        text = args[0] if len(args) > 1 else f"{name}({args[0]})"
        for arg in args[1:]:
            text = f"{name}({text}, {arg})"
        return text

    def _operand(self, argument: Expr, expr: Apply, wanted: str, loosest: int) -> str:
        """An operand, in the type that the operation is computed in."""
        mixed = expr.op == "truediv" or any(a.kind == "float" for a in expr.args)
        logic = expr.op in ("and", "or", "not", "select")
        if mixed and not logic and argument.kind != "float" and expr.op != "pow":
            return f"static_cast<float>({self.text(argument, wanted)})"
        return self._within(argument, wanted, loosest)


def _is_negative(term: Expr) -> bool:
    """Whether ``term`` is shown as something subtracted."""
    factor = term.args[-1] if isinstance(term, Apply) and term.op == "mul" else term
    return (as_int(factor) or 0) < 0


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
        return self._scalars(expr).text(expr, wanted)

    def term(self, expr: Expr, wanted: str) -> str:
        """C++ of ``expr`` in the constructor, where it is added."""
        return self._scalars(expr).term(expr, wanted)

    def _scalars(self, expr: Expr) -> DeviceScalars:
        """What makes C++ of ``expr``, whose variables the class is then given."""
        for variable in sorted(variables_of(expr), key=lambda v: v.id):
            self.used.setdefault(variable)
        return DeviceScalars(self.arguments, self.names, self.functions)

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
