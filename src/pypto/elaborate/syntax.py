"""Which Python constructs a kernel may use: every libcst node type is in exactly one table.

Each row names a construct and shows it; ``docs/language.md`` is printed from the rows, and a test
runs every example. Refused nodes are found before anything is evaluated (``checking.py``), also in
branches that are never taken. ``LAYOUT`` nodes carry no meaning.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "EXPRESSIONS",
    "FORMS",
    "LAYOUT",
    "NOT_SUPPORTED",
    "OPERATORS",
    "REFUSED",
    "STATEMENTS",
    "SUPPORTED",
    "Construct",
]


class Construct(NamedTuple):
    """One row: libcst's node types (names), what it is called, and lines of a kernel with it.

    The kernel of the example is ``k(x, o, n)``: two tensors and an int; outside are ``T``, ``W``
    (with ``__enter__`` and ``__exit__``).
    ``help``: what to write instead of a refused construct, or what to know of a supported one.
    ``missing``: the message while the tensor operation behind a supported construct is not there.
    ``since``: the first version of Python that has the construct.
    """

    nodes: str
    what: str
    example: str
    help: str = ""
    missing: str = ""
    since: tuple[int, int] = (3, 10)

    @property
    def message(self) -> str:
        """What refuses it."""
        return self.missing or f"a kernel cannot use {self.what}"


STATEMENTS = (
    Construct("Assign AssignTarget", "assignment", "a = b = x + 1\nc, *d = (1, 2, 3)"),
    Construct("AnnAssign Annotation", "annotated assignment", "y: float = 2.5",
              "the annotation is not evaluated"),
    Construct("AugAssign AddAssign", "augmented assignment", "o += x",
              "in place for parameters, local tensors, lists, dicts and sets"),
    Construct("Assert", "assert", "assert x.shape[0] == 8, 'eight are needed'",
              "over sizes and scalar parameters it is checked at each call"),
    Construct("Break", "break", "for i in range(3):\n    if i == 1: break"),
    Construct("Continue", "continue", "for i in range(3):\n    if i == 1: continue"),
    Construct("Del", "del", "y = [1, 2]\ndel y[0]", "of names, and of items of lists and dicts"),
    Construct("Expr", "an expression", "o.move(x)"),
    Construct("For Else", "for, also with else", "for t in (x, o): pass\nelse: y = 1",
              "unrolled over what is known while compiling; `pypto.loop` loops on the device"),
    Construct("FunctionDef Param Parameters Return", "nested function",
              "def f(t, *more, by=2, **named): return t * by\ny = f(x, by=3)",
              "compiled where it is called; recursion ends by a value known while compiling"),
    Construct("Decorator", "decorator of a nested function",
              "def twice(f): return lambda t: f(f(t))\n@twice\ndef g(t): return t * 2\ny = g(x)",
              "helpers, `functools.wraps`, `functools.lru_cache` and `functools.cache`"),
    Construct("If", "if, elif, else", "if x.shape[0] > 4: y = 1\nelif n: y = 2\nelse: y = 3"),
    Construct("Nonlocal NameItem", "nonlocal",
              "m = 1\ndef f():\n    nonlocal m\n    m = 2\nf()",
              "of variables of the kernel and its helpers"),
    Construct("Pass", "pass", "pass"),
    Construct("Raise From", "raise", "if x.shape[0] != 8: raise ValueError('eight') from None",
              "it refuses the calls that get there, which is known while compiling or at the call"),
    Construct("While", "while, also with else", "i = 3\nwhile i > 0: i -= 1\nelse: i = 9",
              "unrolled: the condition is known while compiling, and so is every step"),
    Construct("With WithItem AsName", "with", "with W as y: pass",
              "objects of classes with `__enter__` and `__exit__` in Python"),
    Construct("IndentedBlock SimpleStatementLine SimpleStatementSuite", "block",
              "if n: a = 1; b = 2\nelse:\n    a = b = 3"),
)  # fmt: skip

EXPRESSIONS = (
    Construct("Attribute", "attribute", "y = x.shape", "stored values, methods and properties"),
    Construct("Call Arg", "call", "y = max(1, *(2, 3), key=abs)",
              "of operations, helpers, methods, classes, and functions without effects"),
    Construct("Comparison ComparisonTarget", "comparison, also chained", "y = 0 < 1 <= 2"),
    Construct("BinaryOperation", "operator", "y = x + 1"),
    Construct("BooleanOperation", "and, or", "y = n > 1 and n < 9 or False"),
    Construct("UnaryOperation", "sign, not", "y = -x\nz = not 1"),
    Construct("IfExp", "conditional expression", "y = 1 if n else 2"),
    Construct("Name", "name", "y = x"),
    Construct("NamedExpr", "walrus operator", "y = (m := 3) + m"),
    Construct("Lambda", "lambda", "f = lambda t, by=2: t * by\ny = f(x)"),
    Construct("Integer Float Imaginary SimpleString ConcatenatedString Ellipsis", "literal",
              "y = (1, 2.5, 1j, 'a' 'b', ...)"),
    Construct("FormattedString FormattedStringExpression FormattedStringText", "f-string",
              "y = f'size {x.shape[0]:>4} {3!r}'",
              "of run-time numbers only to be printed, as they are or as `:d` and `:f`"),
    Construct("Tuple List Set Element StarredElement", "tuple, list, set",
              "y = [(x, o), *(1, 2)]\nz = {1, 2}", "items of sets are known while compiling"),
    Construct("Dict DictElement StarredDictElement", "dict", "y = {'a': x, **{'b': 2}}",
              "keys are known while compiling"),
    Construct("ListComp CompFor CompIf", "list comprehension",
              "y = [t * i for t in (x, o) for i in range(3) if i]"),
    Construct("SetComp", "set comprehension", "y = {i % 2 for i in range(4)}"),
    Construct("DictComp", "dict comprehension", "y = {i: x * i for i in range(2)}"),
    Construct("GeneratorExp", "generator expression", "y = sum(i * i for i in range(4))",
              "evaluated when its items are asked for"),
    Construct("Subscript Index Slice SubscriptElement", "index and slice",
              "y = [1, 2, 3][1:2][0]\nz = x[2:4]"),
)  # fmt: skip

OPERATORS = (
    Construct("Add Subtract Multiply Divide FloorDivide Modulo Power Plus Minus",
              "`+ - * / // % **`", "y = -x + 2 - +1 * 3 / 4 + (7 // 2) % 2 ** 2"),
    Construct("SubtractAssign MultiplyAssign DivideAssign FloorDivideAssign ModuloAssign "
              "PowerAssign", "`-= *= /= //= %= **=`",
              "y = 9\ny -= 1\ny *= 3\ny //= 5\ny %= 3\ny **= 2\ny /= 2"),
    Construct("BitAnd BitOr BitXor BitInvert LeftShift RightShift", "`& | ^ ~ << >>`",
              "y = 6 & 3 | 8 ^ ~1 << 2 >> 1"),
    Construct("BitAndAssign BitOrAssign BitXorAssign LeftShiftAssign RightShiftAssign",
              "`&= |= ^= <<= >>=`", "y = 6\ny &= 3\ny |= 8\ny ^= 1\ny <<= 2\ny >>= 1"),
    Construct("Equal NotEqual LessThan LessThanEqual GreaterThan GreaterThanEqual",
              "`== != < <= > >=`", "y = 1 == 1 != 2 < 3 <= 3\nz = 3 > 2 >= 1"),
    Construct("In NotIn Is IsNot", "`in`, `not in`, `is`, `is not`",
              "y = 1 in (1, 2)\nz = 3 not in (1,)\nw = y is not None\nv = z is True"),
    Construct("And Or Not", "`and`, `or`, `not`", "y = not 0 and 1 or 2"),
    Construct("MatrixMultiply", "`@`", "y = x @ x",
              missing="the operator @ on tensors is not available yet"),
    Construct("MatrixMultiplyAssign", "`@=`", "y = x\ny @= x",
              missing="the operator @ on tensors is not available yet"),
)  # fmt: skip

_IMPORT = "import at the top of the module; the kernel can use the module's names"
_MATCH = "write if / elif / else"
_TRY = "a kernel raises nothing at run time; test the condition with if before"
_TYPES = "leave the type parameters out; tensors are typed by their annotations"

NOT_SUPPORTED = (
    Construct("Asynchronous", "async", "async def f(): pass",
              "write the plain form without async"),
    Construct("Await", "await", "async def f(): await x",
              "call the function directly; a kernel runs to its end without waiting"),
    Construct("ClassDef", "a class definition", "class A: pass",
              "define the class outside the kernel"),
    Construct("StarredDictComp", "a dict comprehension", "y = {**d for d in ({1: 2},)}",
              "write a for statement: y.update(d)", since=(3, 15)),
    Construct("Try ExceptHandler Finally", "try",
              "try: pass\nexcept ValueError: pass\nfinally: pass", _TRY),
    Construct("TryStar ExceptStarHandler", "try with except*",
              "try: pass\nexcept* ValueError: pass", _TRY, since=(3, 11)),
    Construct("Global", "the global statement", "global N",
              "a kernel may not rebind globals; pass the value as a parameter"),
    Construct("Import ImportAlias", "an import", "import math", _IMPORT),
    Construct("ImportFrom", "an import", "from math import pi", _IMPORT),
    Construct("ImportStar", "an import", "from math import *", _IMPORT),
    Construct("LazyImport", "an import", "lazy import math", _IMPORT, since=(3, 15)),
    Construct("LazyImportFrom", "an import", "lazy from math import pi", _IMPORT, since=(3, 15)),
    Construct("Match MatchCase MatchAs MatchClass MatchKeywordElement MatchList MatchMapping "
              "MatchMappingElement MatchOr MatchOrElement MatchSequenceElement MatchSingleton "
              "MatchStar MatchTuple MatchValue", "the match statement",
              "match n:\n    case T(a=1) | {'b': 2} | [3, *_] | (4, 5) | None: pass\n"
              "    case m: pass", _MATCH),
    Construct("TemplatedString TemplatedStringExpression TemplatedStringText",
              "a template string", "y = t'a{n}'", "write an f-string", since=(3, 14)),
    Construct("TypeAlias", "a type statement", "type A = int",
              "define the type outside the kernel", since=(3, 12)),
    Construct("TypeParameters TypeParam TypeVar TypeVarTuple ParamSpec",
              "a type parameter list", "def f[A, *B, **C](t): return t", _TYPES, since=(3, 12)),
    Construct("Yield", "yield", "def f(): yield x",
              "write the result into a parameter: name[:] = value"),
)  # fmt: skip
"""Constructs that are refused wherever they stand; parts of them are in their row."""

FORMS: dict[str, Construct] = {
    "raise": Construct(
        "Raise", "a bare raise", "if n: raise", "name the error: raise ValueError()",
    ),
}  # fmt: skip
"""Forms of supported constructs that are refused all the same."""

SUPPORTED = frozenset(
    name for row in (*STATEMENTS, *EXPRESSIONS, *OPERATORS) for name in row.nodes.split()
)
REFUSED: dict[str, Construct] = {name: row for row in NOT_SUPPORTED for name in row.nodes.split()}

LAYOUT = frozenset(
    {
        "AssignEqual", "BaseValueToken", "Colon", "Comma", "Comment", "Dot",
        "EmptyLine", "LeftCurlyBrace", "LeftParen", "LeftSquareBracket", "Module", "Newline",
        "ParamSlash", "ParamStar", "ParenthesizedWhitespace", "RightCurlyBrace", "RightParen",
        "RightSquareBracket", "Semicolon", "SimpleWhitespace", "TrailingWhitespace",
    }
)  # fmt: skip
"""Nodes without meaning of their own: white space, punctuation, and the kernel's own head."""
