"""Scalar expressions over sizes, scalar arguments and constants.

An :class:`Expr` is a 64-bit integer, a float or a bool. Without a :class:`Variable` in it, it is
known at the latest when the kernel is launched. Integer sums and products are kept in a normal form
(a sorted polynomial), so equal sizes compare equal; everything else compares by structure.

Expressions are compared, looked up and added all the time, so each keeps what was asked of it: its
hash, its polynomial, its variables and its place in the order of atoms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, ClassVar, Literal

from pypto._record import Record

__all__ = [
    "FOLD",
    "INT64",
    "Apply",
    "Const",
    "Expr",
    "Kind",
    "Monomial",
    "Polynomial",
    "Symbol",
    "Variable",
    "apply",
    "as_int",
    "const",
    "forget_applied",
    "from_polynomial",
    "order_of",
    "polynomial",
    "product_of",
    "symbols_of",
    "variables_of",
]

INT64 = range(-(2**63), 2**63)

Kind = Literal["int", "float", "bool"]


_store = object.__setattr__  # past the __setattr__ of records, which refuses


class Expr(Record):
    """Base class; use the functions below to build one."""

    __slots__ = ("_hash", "_order", "_polynomial", "_variables")
    if TYPE_CHECKING:
        _hash: ClassVar[int]
        _order: ClassVar[tuple[str, str]]
        _polynomial: ClassVar[Polynomial]
        _variables: ClassVar[frozenset[Variable]]

    @property
    def kind(self) -> Kind:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if other.__class__ is not self.__class__ or hash(self) != hash(other):
            return False
        return bool(super().__eq__(other))

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            made = super().__hash__()
            _store(self, "_hash", made)
            return made

    def __str__(self) -> str:
        return to_text(self)


class Const(Expr):
    """A known value. ``repr`` keeps -0.0 apart from 0.0 and 1 apart from 1.0 and True."""

    value: int | float | bool
    type: Kind

    def __init__(self, value: int | float | bool, type: Kind) -> None:
        _store(self, "value", value)
        _store(self, "type", type)

    @property
    def kind(self) -> Kind:
        return self.type

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Const) or self.type != other.type:
            return False
        if self.type == "int":
            return self.value == other.value
        return repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            made = hash((self.type, self.value if self.type == "int" else repr(self.value)))
            _store(self, "_hash", made)
            return made

    def __str__(self) -> str:
        return repr(self.value)


class Symbol(Expr):
    """A value known at launch: a size (``axis`` is set) or a scalar argument of the kernel.

    ``param`` is the parameter's position in the kernel's signature.
    """

    name: str
    param: int
    axis: int | None
    type: Kind = "int"

    @property
    def kind(self) -> Kind:
        return self.type

    def __str__(self) -> str:
        return self.name


class Variable(Expr):
    """A value that only the running kernel knows: a loop's index, a scalar that a loop carries or
    that branches merge, an element read from memory. ``id`` makes it unique in its kernel."""

    name: str
    id: int
    type: Kind = "int"

    @property
    def kind(self) -> Kind:
        return self.type

    def __str__(self) -> str:
        return self.name


class Apply(Expr):
    """``op`` applied to ``args``, with Python's meaning of the operator.

    Ops: add sub mul floordiv mod truediv pow neg min max abs, lt le gt ge eq ne, and or not,
    select (condition, then, else), to_float, to_int.
    """

    op: str
    args: tuple[Expr, ...]
    type: Kind

    def __init__(self, op: str, args: tuple[Expr, ...], type: Kind) -> None:
        _store(self, "op", op)
        _store(self, "args", args)
        _store(self, "type", type)

    @property
    def kind(self) -> Kind:
        return self.type


_COMPARE = {"lt", "le", "gt", "ge", "eq", "ne"}
FOLD: dict[str, Callable[..., int | float | bool]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "truediv": lambda a, b: a / b,
    "pow": lambda a, b: a**b,
    "neg": lambda a: -a,
    "abs": lambda a: abs(a),
    "min": lambda a, b: min(a, b),
    "max": lambda a, b: max(a, b),
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "and": lambda a, b: bool(a and b),
    "or": lambda a, b: bool(a or b),
    "not": lambda a: not a,
    "select": lambda c, a, b: a if c else b,
    "to_float": lambda a: float(a),
    "to_int": lambda a: int(a),
}


def const(value: int | float | bool) -> Const:
    """The constant ``value``."""
    if isinstance(value, bool):
        return Const(value, "bool")
    if isinstance(value, int):
        return _FEW[value] if 0 <= value < len(_FEW) else Const(value, "int")
    return Const(float(value), "float")


_FEW = tuple(Const(value, "int") for value in range(9))  # most constants are one of these


def as_int(expr: Expr) -> int | None:
    """The value of a constant integer expression, else None."""
    if isinstance(expr, Const) and expr.type in ("int", "bool"):
        return int(expr.value)
    return None


def apply(op: str, *args: Expr | int | float) -> Expr:
    """``op`` of ``args``, folded and, for integer sums and products, in normal form.

    Raises ZeroDivisionError or OverflowError as Python would when all operands are constants.
    """
    operands = tuple([a if isinstance(a, Expr) else const(a) for a in args])
    asked = (op, operands)
    made = _APPLIED.get(asked)
    if made is None:
        made = _applied(op, operands)
        if len(_APPLIED) >= _MANY:
            _APPLIED.clear()
        _APPLIED[asked] = made
    return made


# What was asked before: kernels use the same few offsets and sizes again and again, and one object
# for all that are equal makes them quick to compare.
_APPLIED: dict[tuple[str, tuple[Expr, ...]], Expr] = {}
_MANY = 50_000


def forget_applied() -> None:
    """Let go of what was asked before: measurements start from nothing."""
    _APPLIED.clear()


def _applied(op: str, operands: tuple[Expr, ...]) -> Expr:
    kind = _result_kind(op, operands)
    values = [a.value for a in operands if isinstance(a, Const)]
    if len(values) == len(operands):
        return const(FOLD[op](*values))
    if kind == "int" and op in ("add", "sub", "mul", "neg"):
        return _normal(op, operands)
    if op in ("floordiv", "mod") and kind == "int":
        simple = _simplify_division(op, operands[0], operands[1])
        if simple is not None:
            return simple
    if op in ("min", "max", "eq", "le", "ge") and operands[0] == operands[1]:
        return operands[0] if op in ("min", "max") else const(kind == "bool")
    if op == "select" and isinstance(operands[0], Const):
        return operands[1] if operands[0].value else operands[2]
    if op == "to_float" and operands[0].kind == "float":
        return operands[0]
    return Apply(op, operands, kind)


def _result_kind(op: str, args: tuple[Expr, ...]) -> Kind:
    if op in _COMPARE or op in ("and", "or", "not"):
        return "bool"
    if op in ("truediv", "to_float"):
        return "float"
    if op == "to_int":
        return "int"
    for argument in args[1:] if op == "select" else args:
        if argument.kind == "float":
            return "float"
    return "int"


def _simplify_division(op: str, a: Expr, b: Expr) -> Expr | None:
    divisor = as_int(b)
    if divisor == 1:
        return a if op == "floordiv" else const(0)
    if divisor is None or divisor <= 0:
        return None
    terms = polynomial(a)
    if all(coefficient % divisor == 0 for coefficient in terms.values()):
        if op == "mod":
            return const(0)
        return from_polynomial({m: c // divisor for m, c in terms.items()})
    return None


# --- normal form: a polynomial {monomial: coefficient}, a monomial a sorted tuple of atoms ---

Monomial = tuple[Expr, ...]
Polynomial = dict[Monomial, int]


def order_of(atom: Expr) -> tuple[str, str]:
    """What atoms are sorted by."""
    try:
        return atom._order
    except AttributeError:
        made = type(atom).__name__, repr(atom)
        _store(atom, "_order", made)
        return made


def polynomial(expr: Expr) -> Polynomial:
    """``expr`` as a sum of products: the coefficient of each. Not to be changed."""
    try:
        return expr._polynomial
    except AttributeError:
        made = _terms(expr)
        _store(expr, "_polynomial", made)
        return made


def _terms(expr: Expr) -> Polynomial:
    if isinstance(expr, Const):
        return {(): int(expr.value)} if expr.value else {}
    if isinstance(expr, Apply) and expr.type == "int":
        if expr.op == "add":
            return _sum(polynomial(a) for a in expr.args)
        if expr.op == "mul":
            made: Polynomial = {(): 1}
            for factor in expr.args:
                made = product(made, polynomial(factor))
            return made
    return {(expr,): 1}


def _sum(parts: Iterable[Polynomial]) -> Polynomial:
    out: Polynomial = {}
    for part in parts:
        for monomial, coefficient in part.items():
            out[monomial] = out.get(monomial, 0) + coefficient
    return {m: c for m, c in out.items() if c}


def product(a: Polynomial, b: Polynomial) -> Polynomial:
    """The product of two sums of products."""
    for one, other in ((a, b), (b, a)):
        if not one or (len(one) == 1 and () in one):
            factor = one.get((), 0)
            return {m: c * factor for m, c in other.items()} if factor else {}
    return _sum(
        {tuple(sorted(ma + mb, key=order_of)): ca * cb}
        for ma, ca in a.items()
        for mb, cb in b.items()
    )


def _normal(op: str, args: tuple[Expr, ...]) -> Expr:
    if op == "neg":
        return from_polynomial({m: -c for m, c in polynomial(args[0]).items()})
    left, right = polynomial(args[0]), polynomial(args[1])
    if not right and op != "mul":
        return args[0]
    if op == "mul":
        return from_polynomial(product(left, right))
    if op == "sub":
        right = {m: -c for m, c in right.items()}
    return from_polynomial(_sum((left, right)))


def from_polynomial(terms: Polynomial) -> Expr:
    """The expression in normal form of a sum of products."""
    addends: list[Expr] = []
    monomials: Iterable[Monomial] = terms
    if len(terms) > 1:
        monomials = sorted(terms, key=lambda m: (-len(m), [order_of(a) for a in m]))
    for monomial in monomials:
        coefficient = terms[monomial]
        if not coefficient:
            continue
        factors: tuple[Expr, ...] = monomial
        if coefficient != 1 or not monomial:
            factors = (*monomial, const(coefficient))
        addends.append(factors[0] if len(factors) == 1 else Apply("mul", factors, "int"))
    if not addends:
        return const(0)
    if len(addends) == 1:
        return addends[0]
    made = Apply("add", tuple(addends), "int")
    if len(addends) == len(terms):  # none of 0
        _store(made, "_polynomial", terms)
    return made


def product_of(factors: Iterable[Expr]) -> Expr:
    """The product of ``factors``; 1 of none."""
    result: Expr = const(1)
    for factor in factors:
        result = apply("mul", result, factor)
    return result


def symbols_of(expr: Expr) -> set[Symbol]:
    """All symbols in ``expr``."""
    if isinstance(expr, Symbol):
        return {expr}
    if isinstance(expr, Apply):
        return set().union(*(symbols_of(a) for a in expr.args))
    return set()


def variables_of(expr: Expr) -> frozenset[Variable]:
    """All variables in ``expr``; none in what is known when the kernel is launched."""
    if isinstance(expr, Variable):
        return frozenset((expr,))
    if not isinstance(expr, Apply):
        return _NONE
    try:
        return expr._variables
    except AttributeError:
        found = _NONE.union(*map(variables_of, expr.args))
        _store(expr, "_variables", found)
        return found


_NONE: frozenset[Variable] = frozenset()


_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%", "truediv": "/", "pow": "**",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=", "and": "and", "or": "or",
}  # fmt: skip


def to_text(expr: Expr) -> str:
    """Python text of ``expr``, for dumps and messages."""
    if not isinstance(expr, Apply):
        return str(expr)
    if expr.op in _INFIX:
        sign = _INFIX[expr.op]
        tight = sign in ("*", "//", "%", "/", "**")
        return (sign if tight else f" {sign} ").join(_wrapped(a) for a in expr.args)
    if expr.op == "neg":
        return f"-{_wrapped(expr.args[0])}"
    if expr.op == "select":
        condition, then, other = expr.args
        return f"({_wrapped(then)} if {_wrapped(condition)} else {_wrapped(other)})"
    name = {"to_float": "float", "to_int": "int"}.get(expr.op, expr.op)
    return f"{name}({', '.join(to_text(a) for a in expr.args)})"


def _wrapped(expr: Expr) -> str:
    return f"({to_text(expr)})" if isinstance(expr, Apply) and expr.op in _INFIX else to_text(expr)
