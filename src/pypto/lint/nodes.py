"""What an Ascend C text is made of.

``at`` and ``end`` of a node are the indices of its first and last word.
"""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = [
    "Binary",
    "Block",
    "Brace",
    "Call",
    "Cast",
    "Class",
    "Declaration",
    "Declarator",
    "Empty",
    "Expr",
    "Expression",
    "File",
    "For",
    "Function",
    "If",
    "Index",
    "Jump",
    "Literal",
    "Loop",
    "Member",
    "Name",
    "Parameter",
    "Return",
    "SizeOf",
    "Statement",
    "Switch",
    "Template",
    "Ternary",
    "Try",
    "Type",
    "Unary",
    "Word",
]


@dataclass(slots=True, eq=False)
class Type:
    """``name<args>``; ``pointers`` counts the stars, ``space`` is ``__gm__`` or another mark."""

    name: str
    args: tuple[Template, ...] | None = None
    const: bool = False
    pointers: int = 0
    reference: bool = False
    space: str = ""
    at: int = -1
    end: int = -1

    def __str__(self) -> str:
        args = "" if self.args is None else f"<{', '.join(map(str, self.args))}>"
        return f"{self.name}{args}{'*' * self.pointers}"


@dataclass(slots=True, eq=False)
class Expr:
    """An expression."""

    at: int
    end: int


@dataclass(slots=True, eq=False)
class Literal(Expr):
    """A number, string, character, ``true``, ``false`` or ``nullptr``."""

    text: str


@dataclass(slots=True, eq=False)
class Name(Expr):
    """``a::b<args>``."""

    name: str
    args: tuple[Template, ...] | None


@dataclass(slots=True, eq=False)
class Member(Expr):
    """``base.name<args>`` or ``base->name<args>``."""

    base: Expr
    name: str
    args: tuple[Template, ...] | None


@dataclass(slots=True, eq=False)
class Call(Expr):
    """``callee(args)``."""

    callee: Expr
    args: list[Expr]


@dataclass(slots=True, eq=False)
class Index(Expr):
    base: Expr
    index: Expr


@dataclass(slots=True, eq=False)
class Unary(Expr):
    """``op`` before the operand; ``after``: ``++`` or ``--`` behind it."""

    op: str
    operand: Expr
    after: bool


@dataclass(slots=True, eq=False)
class Binary(Expr):
    """``left op right``, assignments and the comma among them."""

    op: str
    left: Expr
    right: Expr


@dataclass(slots=True, eq=False)
class Ternary(Expr):
    condition: Expr
    left: Expr
    right: Expr


@dataclass(slots=True, eq=False)
class Cast(Expr):
    """A conversion to ``type``; ``word`` is ``static_cast`` or another keyword, ``(`` or ``""``."""

    type: Type
    operand: Expr
    word: str


@dataclass(slots=True, eq=False)
class Brace(Expr):
    """``type{args}`` or ``{args}``."""

    type: Type | None
    args: list[Expr]


@dataclass(slots=True, eq=False)
class SizeOf(Expr):
    of: Type | Expr


@dataclass(slots=True, eq=False)
class Word(Expr):
    """``new``, ``delete``, ``throw``, ``typeid`` with what follows."""

    word: str
    operand: Expr | None


Template = Type | Expr
"""A template argument."""


@dataclass(slots=True, eq=False)
class Statement:
    at: int
    end: int


@dataclass(slots=True, eq=False)
class Empty(Statement):
    pass


@dataclass(slots=True, eq=False)
class Block(Statement):
    body: list[Statement]


@dataclass(slots=True, eq=False)
class Expression(Statement):
    value: Expr


@dataclass(slots=True, eq=False)
class Declarator:
    """One name of a declaration. ``style``: ``=``, ``(``, ``{`` or ``""``, by its initialiser."""

    name: str
    at: int
    type: Type
    dims: list[Expr | None]
    init: list[Expr]
    style: str


@dataclass(slots=True, eq=False)
class Declaration(Statement):
    specifiers: frozenset[str]
    items: list[Declarator]


@dataclass(slots=True, eq=False)
class If(Statement):
    """``kind``: the text of a condition without parentheses, such as ``ASCEND_IS_AIV``.

    ``constant``: whether it is an ``if constexpr``.
    """

    condition: Expr
    then: Statement
    otherwise: Statement | None
    kind: str
    constant: bool = False


@dataclass(slots=True, eq=False)
class For(Statement):
    """``over`` is what a range-based loop runs over."""

    first: Statement | None
    condition: Expr | None
    step: Expr | None
    over: Expr | None
    body: Statement


@dataclass(slots=True, eq=False)
class Loop(Statement):
    """``while``, or ``do`` where ``once``."""

    condition: Expr
    body: Statement
    once: bool


@dataclass(slots=True, eq=False)
class Switch(Statement):
    value: Expr
    body: Statement


@dataclass(slots=True, eq=False)
class Return(Statement):
    value: Expr | None


@dataclass(slots=True, eq=False)
class Jump(Statement):
    """``break``, ``continue``, ``goto``, and labels (``case``, ``default``)."""

    word: str
    value: Expr | None


@dataclass(slots=True, eq=False)
class Try(Statement):
    body: Block
    handlers: list[Block]


@dataclass(slots=True, eq=False)
class Parameter:
    """A function's parameter, or a template's: ``type`` is None where it stands for a type."""

    name: str
    at: int
    type: Type | None
    default: Expr | Type | None


@dataclass(slots=True, eq=False)
class Function:
    """A function with its marks: ``__aicore__``, ``inline``, ``extern "C"`` and others."""

    name: str
    at: int
    marks: dict[str, int]
    result: Type | None
    parameters: list[Parameter]
    templates: list[Parameter] | None
    owner: str
    initializers: list[tuple[str, list[Expr]]] = field(default_factory=list)
    body: Block | None = None
    mix: tuple[int, int] | None = None
    defaulted: bool = False


@dataclass(slots=True, eq=False)
class Class:
    name: str
    at: int
    word: str
    bases: list[Type]
    templates: list[Parameter] | None
    fields: list[Declaration] = field(default_factory=list)
    methods: list[Function] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class File:
    """A whole text. ``problems``: places that could not be read, and why."""

    classes: dict[str, Class] = field(default_factory=dict)
    qualified: dict[str, Class] = field(default_factory=dict)
    """The classes again, by their names with those of the namespaces and classes around them."""
    functions: list[Function] = field(default_factory=list)
    globals: list[Declaration] = field(default_factory=list)
    enums: dict[str, list[tuple[str, Expr | None]]] = field(default_factory=dict)
    aliases: dict[str, Type] = field(default_factory=dict)
    namespaces: set[str] = field(default_factory=set)
    problems: list[tuple[int, str]] = field(default_factory=list)
    used: list[tuple[int, str]] = field(default_factory=list)
    """What ``using`` makes visible besides aliases: the places and the names."""
