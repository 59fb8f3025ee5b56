"""Parts of C++ that device code does not have."""

from __future__ import annotations

import re

from pypto.lint import nodes
from pypto.lint.context import Context
from pypto.lint.expr import children
from pypto.lint.interface import FUNCTIONS
from pypto.lint.nodes import Class, Expr, Function, Type
from pypto.lint.rule import Rule, RuleSet
from pypto.lint.scope import canonical
from pypto.lint.tokens import tokenize

__all__ = ["HOST", "RULES"]

_RULES = (
    Rule(
        "dynamic-allocation",
        "new, delete, malloc and their like",
        "an AI core has no heap; on-chip memory comes from TPipe, global memory from the caller",
    ),
    Rule(
        "double-arithmetic",
        "variables, conversions and arithmetic of type double",
        "whether the scalar unit computes in double is not documented; float and integers are",
    ),
    Rule(
        "standard-library",
        "std:: names, libc functions and headers of neither",
        "device code links with no C or C++ library; AscendC::Std has what there is",
    ),
    Rule(
        "variable-length-array",
        "arrays of a length that is known only when the kernel runs",
        "they are no part of C++, and the stack of a core is small and of fixed size",
    ),
    Rule("exception", "throw, try and catch", "device code cannot unwind its stack"),
    Rule("virtual-function", "virtual functions", "device code has no tables of functions"),
    Rule("rtti", "dynamic_cast and typeid", "device code holds no type information"),
    Rule(
        "mutable-static",
        "static, thread-local and global variables that are not constant",
        "every core runs its own copy of the program and nothing initialises or shares such data",
    ),
    Rule(
        "recursion",
        "functions that call themselves, directly or by others",
        "the stack of a core is small and of fixed size",
    ),
    Rule(
        "missing-aicore",
        "device functions without __aicore__",
        "bisheng compiles a function without the mark for the host; the CPU build cannot tell",
    ),
    Rule(
        "preprocessor",
        "conditional compilation and macros that are more than a constant",
        "one text serves every target; what a macro hides is checked by nothing",
    ),
)

_HEAP = frozenset(
    "malloc calloc realloc free aligned_alloc posix_memalign alloca make_unique make_shared".split()
)
_LIBRARY = frozenset(
    """memcpy memset memmove memcmp strlen strcpy strcmp sprintf snprintf fprintf puts putchar abort
    exit assert abs fabs fabsf sqrt sqrtf exp expf exp2 exp2f log logf log2 log2f log10 pow powf sin
    sinf cos cosf tan tanf tanh tanhf floor floorf ceil ceilf round roundf rint rintf fmod fmodf
    fmax fmaxf fmin fminf isnan isinf qsort rand srand time clock swap move forward sort""".split()
)
HOST = _HEAP | _LIBRARY
"""Functions of the host, which the rules of this module name."""

_HEADERS = re.compile(
    r"(kernel_operator\.h|lib/[\w/]+\.h|utils/debug/asc_printf\.h|stdint\.h|cstdint)$"
)


def _word(walk: Context, found: nodes.Word) -> None:
    if found.word in ("new", "delete"):
        _heap(walk, found, f"'{found.word}'")
    elif found.word == "throw":
        walk.report(
            "exception",
            found.at,
            found.end,
            "device code cannot throw",
            "return a state, or refuse the call on the host",
        )
    else:
        walk.report(
            "rtti",
            found.at,
            found.end,
            f"'{found.word}' asks for type information",
            "decide by template arguments",
        )


def _heap(walk: Context, found: nodes.Expr, what: str) -> None:
    help = "take buffers from TPipe::InitBuffer, or pass global memory from the host"
    walk.report("dynamic-allocation", found.at, found.end, f"{what} needs a heap", help)


def _call(walk: Context, found: nodes.Call) -> None:
    callee = found.callee
    if not isinstance(callee, nodes.Name):
        return
    name = callee.name
    short = name.rpartition("::")[2]
    if name.startswith("std::"):
        _standard(walk, name, callee.at, callee.end)
    elif short in _HEAP:
        _heap(walk, callee, f"{name}()")
    elif short in _LIBRARY and walk.find(name) is None and not name.startswith("AscendC"):
        walk.report(
            "standard-library",
            callee.at,
            callee.end,
            f"{name}() is a function of the host's libraries",
            "use an instruction on a tensor, or a function of the Ascend C scalar unit",
        )


def _name(walk: Context, found: nodes.Name) -> None:
    _standard(walk, found.name, found.at, found.end)


def _standard(walk: Context, name: str, at: int, end: int) -> None:
    if name.startswith("std::") and canonical(name) not in ("int32_t", "uint32_t", "uint64_t"):
        walk.report(
            "standard-library",
            at,
            end,
            f"{name} is not there on the device",
            "use AscendC::Std, or write it out",
        )


def _cast(walk: Context, found: nodes.Cast) -> None:
    if found.word == "dynamic_cast":
        walk.report(
            "rtti",
            found.at,
            found.end,
            "'dynamic_cast' asks for type information",
            "decide by template arguments",
        )
    if canonical(found.type.name) == "double" and not found.type.pointers:
        _double(walk, found.at, found.end, "a conversion to double")


def _double(walk: Context, at: int, end: int, what: str) -> None:
    walk.report("double-arithmetic", at, end, f"{what}", "compute in float: 0.5f, not 0.5")


def _binary(walk: Context, found: nodes.Binary) -> None:
    if found.op not in ("+", "-", "*", "/", "+=", "-=", "*=", "/=", "<", ">", "<=", ">="):
        return
    kind = walk.type(found.left), walk.type(found.right)
    if any(one is not None and one.name == "double" and not one.pointers for one in kind):
        if not _is_constant_value(walk, found) and not _inside_double(walk, found):
            _double(walk, found.at, found.end, "arithmetic in double")


def _is_constant_value(walk: Context, found: nodes.Binary) -> bool:
    """Whether the compiler computes ``found``: a constant in the initialiser of a constant."""
    return walk.fixed > 0 and walk.fold(found) is not None


def _inside_double(walk: Context, found: nodes.Binary) -> bool:
    """Whether an operand has been reported for the same reason."""
    return any(
        isinstance(one, nodes.Binary)
        and (kind := walk.type(one)) is not None
        and kind.name == "double"
        and not _is_constant_value(walk, one)
        for one in (found.left, found.right)
    )


def _declaration(walk: Context, found: nodes.Declaration) -> None:
    first = found.items[0].type
    _standard(walk, first.name, first.at, first.end)
    if canonical(first.name) == "double" and not first.pointers:
        if not (first.const or "constexpr" in found.specifiers):
            _double(walk, first.at, first.end, f"'{found.items[0].name}' is a double")
    for item in found.items:
        _variable(walk, found, item)
    marks = found.specifiers
    if "constexpr" in marks or (first.const and not first.pointers):
        return
    everywhere = walk.function is None and walk.owner is None
    if everywhere or marks & {"static", "thread_local"}:
        name = found.items[0].name
        walk.report(
            "mutable-static",
            found.at,
            found.items[0].at,
            f"'{name}' outlives the kernel and can change",
            "make it constexpr, or a local variable or a member",
        )


def _variable(walk: Context, found: nodes.Declaration, item: nodes.Declarator) -> None:
    made = walk.find(item.name)
    if made is None or made.type is None or walk.function is None:
        return
    if item.type.name == "auto" and made.type.name == "double":
        if not (made.type.pointers or made.fixed):
            _double(walk, item.at, item.at, f"'{item.name}' is a double")
    for size in item.dims:
        if size is not None and _varies(walk, size):
            walk.report(
                "variable-length-array",
                size.at,
                size.end,
                f"the length of '{item.name}' is no constant",
                "make it as long as it may become, by a constexpr number",
            )


def _varies(walk: Context, size: Expr) -> bool:
    """Whether a value is known only when the kernel runs."""
    if isinstance(size, nodes.Call):
        return isinstance(size.callee, nodes.Name) and canonical(size.callee.name) in FUNCTIONS
    if not isinstance(size, nodes.Name):
        return any(_varies(walk, one) for one in children(size))
    made = walk.find(size.name)
    if made is None or made.value is not None or made.kind not in ("parameter", "local"):
        return False
    return not made.fixed or (made.init is not None and _varies(walk, made.init))


def _try(walk: Context, found: nodes.Try) -> None:
    walk.report(
        "exception",
        found.at,
        found.at,
        "device code cannot catch",
        "return a state, or refuse the call on the host",
    )


def _function(walk: Context, made: Function) -> None:
    if "virtual" in made.marks:
        at = made.marks["virtual"]
        walk.report(
            "virtual-function",
            at,
            at,
            f"'{made.name}' is virtual",
            "make the class a template over what differs",
        )
    for one in made.parameters:
        if one.type is not None:
            _parameter(walk, one.name, one.type)
    result = made.result
    if result is not None and canonical(result.name) == "double" and not result.pointers:
        _double(walk, result.at, result.end, f"'{made.name}' returns double")
    device = {"__aicore__", "__global__", "__vector__", "__cube__", "__mix__", "__host__"}
    if made.body is not None and not made.defaulted and not device & made.marks.keys():
        if "constexpr" not in made.marks:
            walk.report(
                "missing-aicore",
                made.at,
                made.at,
                f"'{made.name}' is compiled for the host alone",
                f"write '__aicore__ inline' before '{made.name}'",
            )


def _parameter(walk: Context, name: str, kind: Type) -> None:
    _standard(walk, kind.name, kind.at, kind.end)
    if canonical(kind.name) == "double" and not kind.pointers:
        _double(walk, kind.at, kind.end, f"'{name}' is a double")


def _class(walk: Context, owner: Class) -> None:
    for base in owner.bases:
        _standard(walk, base.name, base.at, base.end)


def _done(walk: Context) -> None:
    for at, name in walk.file.used:
        if name == "std":
            name = "std::"  # all of it
        _standard(walk, name, at, at)
    _directives(walk)
    _recursion(walk)


def _directives(walk: Context) -> None:
    for offset, text in walk.tokens.directives:
        at = -1 - offset  # no word: the place of the line itself
        words = text.lstrip("# \t").split(None, 1)
        kind, rest = (words[0], words[1] if len(words) > 1 else "") if words else ("", "")
        if kind == "include":
            header = re.split(r'[<>"]', rest)  # one in quotes may be the kernel's own
            if rest.startswith("<") and len(header) > 1 and not _HEADERS.match(header[1]):
                walk.report(
                    "standard-library",
                    at,
                    at,
                    f"{header[1]} is no header of device code",
                    'include "kernel_operator.h" alone',
                )
        elif kind.startswith(("if", "el")):
            walk.report(
                "preprocessor",
                at,
                at,
                f"'#{kind}' makes several texts of one",
                "decide by 'if constexpr' or on the host",
            )
        elif kind == "define" and not _is_constant(rest):
            walk.report(
                "preprocessor",
                at,
                at,
                "a macro that is more than a constant",
                "write a constexpr value or an inline function",
            )


def _is_constant(rest: str) -> bool:
    tokens = tokenize(rest)
    words, kinds = tokens.words, tokens.kinds
    if len(words) > 2 and words[1] == "(" and tokens.joined(0):
        return False
    body = [
        (k, w) for k, w in zip(kinds[1:-1], words[1:-1], strict=True) if w not in ("(", ")", "-")
    ]
    return len(body) <= 1 and all(k == "number" for k, _ in body)


def _recursion(walk: Context) -> None:
    """A cycle of calls, reported once, at the call that closes it."""
    state: dict[Function, int] = {}
    closed: set[tuple[Function, Function]] = set()

    def follow(made: Function) -> None:
        state[made] = 1
        for one in walk.facts[made].calls:
            target = one.function
            if target is None or target.body is None:
                continue
            if state.get(target) == 1 and (made, target) not in closed:
                closed.add((made, target))
                walk.report(
                    "recursion",
                    one.node.at,
                    one.node.end,
                    f"'{target.name}' is running already when this calls it",
                    "write it as a loop",
                )
            elif target not in state:
                follow(target)
        state[made] = 2

    for made in walk.file.functions:
        if made not in state:
            follow(made)


RULES = RuleSet(
    _RULES,
    {
        nodes.Word: _word,
        nodes.Call: _call,
        nodes.Name: _name,
        nodes.Cast: _cast,
        nodes.Binary: _binary,
        nodes.Declaration: _declaration,
        nodes.Try: _try,
    },
    _function,
    _class,
    _done,
)
