"""Functions that run at compile time because they depend on their arguments alone.

Everything else that is no helper with Python source and no function of pypto is refused: its result
would be frozen into the compiled kernel.
"""

from __future__ import annotations

import builtins
import sys
import types

from pypto.elaborate.advice import for_function
from pypto.elaborate.numerics import DESCRIBING

__all__ = ["METHODS", "MUTATORS", "SYMBOLIC", "is_foreign", "is_pure", "why_impure"]

_PURE_BUILTINS = frozenset(
    getattr(builtins, name)
    for name in (
        "abs", "all", "any", "ascii", "bin", "bool", "bytes", "chr", "complex", "dict", "divmod",
        "float", "format", "frozenset", "hex", "int", "isinstance", "len", "list", "max", "min",
        "oct", "ord",
        "pow", "range", "repr", "reversed", "round", "set", "slice", "sorted", "str", "sum",
        "tuple", "zip", "enumerate",
    )
)  # fmt: skip

SYMBOLIC: dict[object, str] = {abs: "abs", min: "min", max: "max", int: "to_int", float: "to_float"}
"""Built-ins that take run-time scalars, and their operation on expressions."""

_PURE_MODULES = frozenset({"math", "cmath", "_operator", "operator"})

_SETS = frozenset(
    {
        "copy", "difference", "intersection", "isdisjoint", "issubset", "issuperset",
        "symmetric_difference", "union",
    }
)  # fmt: skip

METHODS: dict[type, frozenset[str]] = {
    str: frozenset(
        {
            "capitalize", "casefold", "center", "count", "endswith", "find", "format", "index",
            "isalnum", "isalpha", "isdecimal", "isdigit", "isidentifier", "islower", "isnumeric",
            "isspace", "isupper", "join", "ljust", "lower", "lstrip", "partition", "removeprefix",
            "removesuffix", "replace", "rfind", "rindex", "rjust", "rpartition", "rsplit",
            "rstrip", "split", "splitlines", "startswith", "strip", "swapcase", "title", "upper",
            "zfill",
        }
    ),
    int: frozenset({"bit_length", "bit_count", "conjugate"}),
    float: frozenset({"is_integer", "hex", "conjugate"}),
    tuple: frozenset({"count", "index"}),
    list: frozenset({"count", "index", "copy"}),
    dict: frozenset({"get", "items", "keys", "values", "copy"}),
    range: frozenset({"count", "index"}),
    frozenset: _SETS,
    set: _SETS,
    bytes: frozenset({"hex", "count", "find", "startswith", "endswith"}),
}  # fmt: skip
"""Methods of plain values that change nothing."""

MUTATORS = frozenset(
    {
        "add", "append", "clear", "difference_update", "discard", "extend", "insert",
        "intersection_update", "pop", "popitem", "remove", "reverse", "setdefault", "sort",
        "symmetric_difference_update", "update",
    }
)  # fmt: skip
"""Methods that change their object."""

_CLOCKS = frozenset({"time", "datetime", "random", "secrets", "uuid"})


def is_pure(function: object) -> bool:
    """True for a built-in or standard function whose result depends on its arguments alone."""
    if isinstance(function, types.BuiltinFunctionType | type) and function in _PURE_BUILTINS:
        return True
    if isinstance(function, types.BuiltinFunctionType):
        return function.__module__ in _PURE_MODULES
    if isinstance(function, type) and function.__name__ in DESCRIBING:
        return function.__module__.partition(".")[0] in ("numpy", "torch")
    return False


def is_foreign(function: object) -> bool:
    """True for Python functions of the standard library and of array packages: no helpers.

    Their text could be read, but it is not written for a kernel.
    """
    top = (getattr(function, "__module__", None) or "").partition(".")[0]
    return top in ("torch", "numpy") or (top in sys.stdlib_module_names and top != "__main__")


def why_impure(function: object, name: str) -> tuple[str, str]:
    """Message and remedy for calling ``function``, written ``name`` in the kernel."""
    module = (getattr(function, "__module__", None) or "").partition(".")[0].lstrip("_")
    owner = getattr(function, "__self__", None)
    if owner is not None and not isinstance(owner, types.ModuleType):
        module = type(owner).__module__.partition(".")[0]
    if function is breakpoint or function is input or function is open:
        return f"a kernel cannot call {name}", "call it outside the kernel"
    if module in _CLOCKS:
        return (
            f"a kernel cannot call {name}: its result would be frozen into the compiled kernel",
            "call it outside and pass the value as a parameter",
        )
    if module in ("logging", "warnings"):
        return (
            f"a kernel cannot call {name}: it would run once, while compiling, and never again",
            "call it outside the kernel",
        )
    if module in ("os", "posix", "nt", "sys", "platform", "socket", "pathlib"):
        return (
            f"a kernel cannot call {name}: it depends on the process, not on its arguments",
            "call it outside and pass the value as a parameter",
        )
    if module in ("torch", "numpy"):
        return (
            f"a kernel cannot call {name}: it would run once, while compiling",
            for_function(name) or "use pypto operations, or pass the result as a parameter",
        )
    if function is type:
        return "a kernel cannot call type", "ask with isinstance(value, kind)"
    if module == "builtins" and not isinstance(function, type):
        return (
            f"a kernel cannot call the built-in {name}",
            "compute the value outside and pass it as a parameter",
        )
    if isinstance(function, type):
        return (
            f"a kernel cannot make objects of the class {name}",
            "make the object outside and pass it as a parameter or use it as a global",
        )
    return (
        f"a kernel cannot call {name}: its Python source is not available to the compiler",
        "call a plain Python function, or compute the value outside and pass it as a parameter",
    )
