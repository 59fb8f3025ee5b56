"""Makes a program that shows a fault short: lines, blocks and operands are taken away.

``python -m tests.differential.reduce SEED`` prints a short form of the program of this seed of
which the same becomes by its Tensor IR: a wrong result, a fault, a refusal.
"""

from __future__ import annotations

import ast
import dataclasses
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

from tests.differential.compare import Report, check_front_end, expected
from tests.differential.generate import write
from tests.differential.program import Program
from tests.ops.programs import Seeded


def reduced(program: Program, wrong: Callable[[Program], bool]) -> Program:
    """``program`` with as much left out as leaves it ``wrong``."""
    changed = True
    while changed:
        changed = False
        for text in _shorter(program.text):
            candidate = dataclasses.replace(program, text=text)
            if _runs(candidate) and wrong(candidate):
                program, changed = candidate, True
                break
    return program


def _runs(program: Program) -> bool:
    """It has a meaning: Python and torch have nothing against it."""
    try:
        return all(expected(program, values) is not None for values in program.calls(4))
    except Exception:  # whatever a program that was cut at random does
        return False


def _shorter(text: str) -> Iterator[str]:
    """``text`` with one statement or expression replaced by a part of it or taken away."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.arguments):
            continue  # annotations
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                for replacement in _shorter_lists(value):
                    setattr(node, name, replacement)
                    yield _printed(tree)
                setattr(node, name, value)
            elif isinstance(value, ast.expr) and not isinstance(node, ast.Attribute):
                for part in _parts(value):
                    setattr(node, name, part)
                    yield _printed(tree)
                setattr(node, name, value)


def _shorter_lists(items: list[Any]) -> Iterator[list[Any]]:
    for index, item in enumerate(items):
        before, after = items[:index], items[index + 1 :]
        if isinstance(item, ast.stmt):
            yield [*before, *after]
            if isinstance(item, ast.For | ast.While | ast.If):
                yield [*before, *item.body, *after]
        elif isinstance(item, ast.expr):
            yield from ([*before, part, *after] for part in _parts(item))


def _parts(item: ast.expr) -> Iterator[ast.expr]:
    yield from (child for child in ast.iter_child_nodes(item) if isinstance(child, ast.expr))


def _printed(tree: ast.Module) -> str:
    """Without empty blocks."""
    for node in ast.walk(tree):
        if getattr(node, "body", None) == [] and not isinstance(node, ast.Module):
            return ""  # no program
    return ast.unparse(tree) + "\n"


def kind_of(program: Program) -> str | None:
    """What becomes of ``program`` by Tensor IR, in words that do not hang on its names; None when
    it agrees with torch."""
    report = Report()
    try:
        check_front_end(program, report)
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError) as error:
        return f"crash: {type(error).__name__}"
    if report.refused:
        return "refused: " + re.sub(r"'[^']*'|[0-9]+", "...", next(iter(report.refused)))[:90]
    if not report.wrong:
        return None
    first = report.wrong[0].split(":", 1)[0]
    return first if first in ("fault", "PyptoGeneralError") else "values"


def main() -> None:
    program = write(Seeded(int(sys.argv[1])), f"k{sys.argv[1]}")
    kind = kind_of(program)
    if kind is None:
        print("nothing is wrong")
        return
    print(kind, flush=True)
    short = reduced(program, lambda candidate: kind_of(candidate) == kind)
    print(short.text)
    report = Report()
    check_front_end(short, report)
    print(*(report.wrong or report.refused))


if __name__ == "__main__":
    main()
