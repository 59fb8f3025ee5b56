"""The table of constructs as a page of the documentation (``docs/language.md``)."""

from __future__ import annotations

from collections.abc import Iterable

from pypto.elaborate.syntax import (
    EXPRESSIONS,
    FORMS,
    NOT_SUPPORTED,
    OPERATORS,
    STATEMENTS,
    Construct,
)

__all__ = ["language_page"]

_INTRODUCTION = """\
# Python in kernels

This page is made from the table of constructs; `python -m pypto.elaborate.document` prints it.

A kernel is Python text that is evaluated while it is compiled. What does not depend on the elements
of tensors or on run-time numbers happens then, once, and leaves no trace in the compiled kernel:
functions are put in the place of their calls, loops over lists are unrolled, objects, lists and
dicts exist only while compiling. Every construct of Python is either supported or refused with its
place and a rewrite, also in branches that are never taken.

In the examples `x` and `o` are tensors and `n` is an int, parameters of the kernel; `W` is an
object from outside.
"""

_BUILT_IN = """\
## Functions

Built-ins that run while compiling: `abs`, `all`, `any`, `ascii`, `bin`, `bool`, `bytes`,
`callable`, `chr`, `complex`, `dict`, `divmod`, `enumerate`, `filter`, `float`, `format`,
`frozenset`, `getattr`, `hasattr`, `hex`, `int`, `isinstance`, `iter`, `len`, `list`, `map`, `max`,
`min`, `next`, `oct`, `ord`, `pow`, `print`, `range`, `repr`, `reversed`, `round`, `set`, `slice`,
`sorted`, `str`, `sum`, `super`, `tuple` and `zip`, the functions of `math`, `cmath` and `operator`,
`functools.partial`, `functools.reduce`, `finfo` and `iinfo` of torch and NumPy. `abs`, `min`,
`max`, `sum`, `any`, `all`, `divmod`, `int`, `float` and `bool` also take run-time numbers. `print`
shows values that are known while compiling, once for each compilation; a text with run-time numbers
or tensors is printed by the running kernel.

Helpers are functions and lambdas with Python source, nested ones, methods, properties, class and
static methods of objects and classes from outside, and what `functools.partial` or
`functools.lru_cache` make of these. A function may call itself up to 100 levels deep. Functions may
be values: arguments of helpers, items of lists and dicts, attributes; what a call of the kernel
passes is none, though. Kernels make objects of dataclasses, named tuples, members of enumerations,
and classes that have a plain `__init__`; what they hold may be tensors. Operators, comparisons,
`len`, `in`, `bool`, loops, indexing, calls and `with` use the special methods of their classes
(`__add__`, `__getitem__`, ...). Functions whose result depends on more than their arguments
(clocks, random numbers, the environment, files) are refused.
"""


def language_page() -> str:
    """The whole page, Markdown."""
    sections = [
        _supported("Statements", STATEMENTS),
        _supported("Expressions", EXPRESSIONS),
        _supported("Operators", OPERATORS),
        _BUILT_IN,
        _refused((*NOT_SUPPORTED, *FORMS.values())),
    ]
    return "\n".join([_INTRODUCTION, *sections])


def _supported(title: str, rows: Iterable[Construct]) -> str:
    lines = [f"## {title}", "", "| construct | example | to know |", "|---|---|---|"]
    for row in rows:
        note = f"not yet: {row.missing}" if row.missing else row.help
        lines.append(f"| {_cell(row.what)} | {_code(row.example)} | {_cell(note)} |")
    return "\n".join(lines) + "\n"


def _refused(rows: Iterable[Construct]) -> str:
    lines = ["## Refused", "", "| construct | example | instead |", "|---|---|---|"]
    shown = set()
    for row in rows:
        if row.example and (row.what, row.help) not in shown:
            shown.add((row.what, row.help))
            lines.append(f"| {_cell(row.what)} | {_code(row.example)} | {_cell(row.help)} |")
    return "\n".join(lines) + "\n"


def _code(example: str) -> str:
    """Lines of code in one cell; leading blanks would be lost."""
    lines = [line.replace("    ", "\u00a0\u00a0") for line in example.split("\n")]
    return "<br>".join(f"`{_cell(line)}`" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(language_page(), end="")
