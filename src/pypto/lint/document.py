"""The rules as a page of the documentation (``docs/lint.md``)."""

from __future__ import annotations

from collections.abc import Iterable

from pypto.lint.rule import Rule
from pypto.lint.rules import (
    OWN,
    banned,
    buffers,
    cross,
    entry,
    flags,
    immediates,
    instructions,
    life,
    names,
    offsets,
    operands,
    sync,
    views,
)

__all__ = ["lint_page"]

_INTRODUCTION = """\
# Static rules

This page is made from the rules; `python -m pypto.lint.document` prints it.

`pypto lint FILE.cpp` reads Ascend C, generated or written by hand, and reports what cannot be right
on the device although the CPU build compiles and runs it. It compiles nothing and runs nothing.

```sh
pypto compile samples/softmax.py:softmax_kernel --target source --output build
pypto lint build/softmax_kernel.cpp
pypto lint --disable buffer-size,missing-aicore kernel.cpp other.cpp
```

The exit code is 0 when nothing is found, 1 when something is, and 2 when a file or a rule is not
there. `--target CHIP` says whose memories and limits hold, `--rules` lists the rules, and `-` is
standard input. Every text that the tests of this project compile is checked by all rules; a finding
fails the compilation.

A comment switches rules off for its line or, alone on a line, for the next one:

```c++
static int32_t calls;  // lint: off mutable-static
```

What the rules know of instructions, memories and limits is the instruction table of the compiler.
Functions of the text are followed where they are called. The rules of instructions see a function
again for every call that tells more: types and constants of its template and of its class template,
constants of its parameters, and where the tensors lie that it is given; a finding names the call.
What constants rule out is not run. Of overloads the one is taken that the types of the arguments
choose; where several may be meant, and in `if constexpr` on what no type of the call tells, nothing
is said.

Flags, queues, tensors of queues and sums of buffers are followed from the kernels of a file, along
every path: conditions that are asked twice give one answer; loops run once, and twice where they
leave other flags, tensors or buffers than they found. What depends on the number of an iteration or
on values that only a launch knows is not decided. A file without a kernel is checked by the other
rules.
"""

_SECTIONS = (
    ("Kernels and cores", entry.RULES.rules),
    (
        "Flags and queues",
        (*sync.RULES.rules, *life.RULES.rules, *flags.RULES.rules, *cross.RULES.rules),
    ),
    ("Buffers", (*buffers.RULES.rules, *views.RULES.rules)),
    ("Offsets", offsets.RULES.rules),
    ("Instructions", (*instructions.RULES.rules, *immediates.RULES.rules, *operands.RULES.rules)),
    ("Names", names.RULES.rules),
    ("Parts of C++", banned.RULES.rules),
    ("The text", OWN),
)


def lint_page() -> str:
    """The whole page, Markdown."""
    return "\n".join([_INTRODUCTION, *(_section(title, rules) for title, rules in _SECTIONS)])


def _section(title: str, rules: Iterable[Rule]) -> str:
    rows = ["| rule | refuses | because |", "|---|---|---|"]
    rows += [f"| `{rule.id}` | {rule.what} | {rule.why} |" for rule in rules]
    return f"## {title}\n\n" + "\n".join(rows) + "\n"


if __name__ == "__main__":
    print(lint_page(), end="")
