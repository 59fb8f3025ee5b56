"""Which Python constructs a kernel may use: every libcst node type is in exactly one table.

``SUPPORTED`` nodes are evaluated (or are parts of evaluated ones). ``REFUSED`` nodes are found by
:func:`check` before anything is evaluated, also in branches that are never taken, and are reported
with the construct's name and a way to write the same thing. ``LAYOUT`` nodes carry no meaning.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from pypto.elaborate.names import normal
from pypto.elaborate.parse import ParsedFunction, children
from pypto.error import Diagnostic, ParserError, UnsupportedSyntaxError

__all__ = ["LAYOUT", "REFUSED", "SUPPORTED", "check"]

_COMPREHENSION = "write a for statement over range(...) or a list, or spell the items out"
_IMPORT = "import at the top of the module; the kernel can use the module's names"
_MATCH = "write if / elif / else"
_TRY = "a kernel raises nothing at run time; test the condition with if before"
_TYPES = "leave the type parameters out; tensors are typed by their annotations"
_TEMPLATE = "write an f-string"

REFUSED: dict[str, tuple[str, str]] = {
    "Await": ("await", "call the function directly; a kernel runs to its end without waiting"),
    "Asynchronous": ("async", "write the plain form without async"),
    "ClassDef": ("a class definition", "define the class outside the kernel"),
    "StarredDictComp": ("a dict comprehension", _COMPREHENSION),
    "ExceptHandler": ("an except clause", _TRY),
    "ExceptStarHandler": ("an except* clause", _TRY),
    "Finally": ("a finally clause", _TRY),
    "Global": (
        "the global statement",
        "a kernel may not rebind globals; pass the value as a parameter",
    ),
    "Import": ("an import", _IMPORT),
    "ImportAlias": ("an import", _IMPORT),
    "ImportFrom": ("an import", _IMPORT),
    "ImportStar": ("an import", _IMPORT),
    "LazyImport": ("an import", _IMPORT),
    "LazyImportFrom": ("an import", _IMPORT),
    "Match": ("the match statement", _MATCH),
    "MatchAs": ("the match statement", _MATCH),
    "MatchCase": ("the match statement", _MATCH),
    "MatchClass": ("the match statement", _MATCH),
    "MatchKeywordElement": ("the match statement", _MATCH),
    "MatchList": ("the match statement", _MATCH),
    "MatchMapping": ("the match statement", _MATCH),
    "MatchMappingElement": ("the match statement", _MATCH),
    "MatchOr": ("the match statement", _MATCH),
    "MatchOrElement": ("the match statement", _MATCH),
    "MatchSequenceElement": ("the match statement", _MATCH),
    "MatchSingleton": ("the match statement", _MATCH),
    "MatchStar": ("the match statement", _MATCH),
    "MatchTuple": ("the match statement", _MATCH),
    "MatchValue": ("the match statement", _MATCH),
    "NameItem": ("the global or nonlocal statement", "pass the value as a parameter"),
    "Nonlocal": (
        "the nonlocal statement",
        "a kernel may not rebind names of an enclosing function; pass the value as a parameter",
    ),
    "ParamSpec": ("a type parameter", _TYPES),
    "TemplatedString": ("a template string", _TEMPLATE),
    "TemplatedStringExpression": ("a template string", _TEMPLATE),
    "TemplatedStringText": ("a template string", _TEMPLATE),
    "Try": ("try", _TRY),
    "TryStar": ("try with except*", _TRY),
    "TypeAlias": ("a type statement", "define the type outside the kernel"),
    "TypeParam": ("a type parameter", _TYPES),
    "TypeParameters": ("a type parameter list", _TYPES),
    "TypeVar": ("a type parameter", _TYPES),
    "TypeVarTuple": ("a type parameter", _TYPES),
    "With": ("with", "set options by the decorator or by pypto.set_*_options(...)"),
    "WithItem": ("with", "set options by the decorator or by pypto.set_*_options(...)"),
    "Yield": ("yield", "write the result into a parameter: name[:] = value"),
}

_STATEMENTS = (
    "AnnAssign", "Assert", "Assign", "AugAssign", "Break", "Continue", "Del", "Expr", "For", "If",
    "FunctionDef", "Pass", "Raise", "Return", "While",
)  # fmt: skip
_EXPRESSIONS = (
    "Attribute", "BinaryOperation", "BooleanOperation", "Call", "Comparison", "ConcatenatedString",
    "Dict", "DictComp", "Ellipsis", "Float", "FormattedString", "GeneratorExp", "IfExp",
    "Imaginary", "Integer", "Lambda", "List", "ListComp", "Name", "NamedExpr", "Set", "SetComp",
    "SimpleString", "StarredElement", "Subscript", "Tuple", "UnaryOperation",
)  # fmt: skip
_OPERATORS = (
    "Add", "AddAssign", "And", "BitAnd", "BitAndAssign", "BitInvert", "BitOr", "BitOrAssign",
    "BitXor", "BitXorAssign", "Divide", "DivideAssign", "Equal", "FloorDivide",
    "FloorDivideAssign", "GreaterThan", "GreaterThanEqual", "In", "Is", "IsNot", "LeftShift",
    "LeftShiftAssign", "LessThan", "LessThanEqual", "MatrixMultiply", "MatrixMultiplyAssign",
    "Minus", "Modulo", "ModuloAssign", "Multiply", "MultiplyAssign", "Not", "NotEqual", "NotIn",
    "Or", "Plus", "Power", "PowerAssign", "RightShift", "RightShiftAssign", "Subtract",
    "SubtractAssign",
)  # fmt: skip
_PARTS = (
    "Annotation", "Arg", "AssignTarget", "CompFor", "CompIf", "ComparisonTarget", "DictElement",
    "Element", "Else", "FormattedStringExpression", "FormattedStringText", "From", "IndentedBlock",
    "Index", "Param", "Parameters", "SimpleStatementLine", "SimpleStatementSuite", "Slice",
    "StarredDictElement", "SubscriptElement",
)  # fmt: skip

SUPPORTED = frozenset(_STATEMENTS + _EXPRESSIONS + _OPERATORS + _PARTS)

LAYOUT = frozenset(
    {
        "AsName", "AssignEqual", "BaseValueToken", "Colon", "Comma", "Comment", "Decorator", "Dot",
        "EmptyLine", "LeftCurlyBrace", "LeftParen", "LeftSquareBracket", "Module", "Newline",
        "ParamSlash", "ParamStar", "ParenthesizedWhitespace",
        "RightCurlyBrace", "RightParen", "RightSquareBracket", "Semicolon", "SimpleWhitespace",
        "TrailingWhitespace",
    }
)  # fmt: skip
"""Nodes without meaning of their own: white space, punctuation, and the kernel's own head."""


def check(function: ParsedFunction, *, helper: bool = False) -> list[Diagnostic]:
    """Every refused construct in the body of ``function``, a kernel or a helper.

    A refused construct is reported once, without what stands inside it.
    """
    found = [] if helper else list(_head(function))
    stack: list[cst.CSTNode] = [function.node.body]
    while stack:
        node = stack.pop()
        name = type(node).__name__
        refused = REFUSED.get(name)
        if refused is not None:
            what, help = refused
            message = f"a kernel cannot use {what}"
            found.append(_unsupported(message, function, node, help))
            continue
        found.extend(_special(function, node))
        stack.extend(child for child in children(node) if _type(child) not in LAYOUT)
    return found


def _type(node: cst.CSTNode) -> str:
    return type(node).__name__


def _unsupported(
    message: str, function: ParsedFunction, node: cst.CSTNode, help: str
) -> Diagnostic:
    span = function.span(node)
    return Diagnostic(UnsupportedSyntaxError, "F00005", message, span, help=help)


def _head(function: ParsedFunction) -> Iterator[Diagnostic]:
    """Parameters that no call could fill one by one."""
    parameters = function.node.params
    for param, sign in ((parameters.star_arg, "*"), (parameters.star_kwarg, "**")):
        if isinstance(param, cst.Param):
            help = "list the parameters one by one, or pass a tuple or dict of constants"
            message = f"a kernel cannot take {sign}{normal(param.name.value)}"
            yield _unsupported(message, function, param.name, help)
    if isinstance(function.node, cst.FunctionDef) and function.node.asynchronous is not None:
        yield Diagnostic(
            ParserError, "F00005", "an async function is no kernel", function.head,
            help="write def, not async def",
        )  # fmt: skip


def _special(function: ParsedFunction, node: cst.CSTNode) -> Iterator[Diagnostic]:
    """Forms of supported nodes that are refused all the same."""
    if isinstance(node, cst.FunctionDef) and node.decorators:
        help = "call the decorator's function inside the nested function"
        message = "a kernel cannot use a decorator on a nested function"
        yield _unsupported(message, function, node.decorators[0], help)
    if isinstance(node, cst.Raise) and node.exc is None:
        yield _unsupported(
            "a kernel cannot use a bare raise", function, node, "name the error: raise ValueError()"
        )
