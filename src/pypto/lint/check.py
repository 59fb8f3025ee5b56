"""Applies all rules to one text and shows what they find."""

from __future__ import annotations

import re
from collections.abc import Collection

from pypto._record import Record
from pypto.error import SourceText, Span, render_span
from pypto.lint.interface import NAMES_OF_TYPES
from pypto.lint.parse import parse
from pypto.lint.rule import Finding
from pypto.lint.rules import GROUPS, RULES
from pypto.lint.tokens import Comment, Tokens, tokenize
from pypto.lint.walk import Walk
from pypto.target import Target

__all__ = ["Problem", "Report", "check"]

_OFF = re.compile(r"lint:\s*off\s+([\w, -]+)")
_PYTHON = re.compile(r"\S+:\d+  \S|@\S+\+\d+  \S")


class Problem(Record):
    """A broken rule at a place. ``python``: the comment that names the Python line, or empty."""

    rule: str
    message: str
    help: str
    notes: tuple[str, ...]
    span: Span
    python: str

    def render(self) -> str:
        """The problem as it is shown: rule, message, place with the line, notes, remedy."""
        rows = [f"{self.rule}: {self.message}", *render_span(self.span)]
        if self.python:
            rows.append(f"  python: {self.python}")
        rows += [f"  {note}" for note in self.notes]
        return "\n".join([*rows, f"  help: {self.help}"])


class Report(Record):
    """What :func:`check` found, in the order of the text."""

    problems: tuple[Problem, ...]

    def render(self) -> str:
        return "\n\n".join(problem.render() for problem in self.problems)


def check(
    text: str, filename: str, target: Target, disabled: Collection[str] = frozenset()
) -> Report:
    """Apply every rule that is not ``disabled`` to an Ascend C text.

    ``// lint: off RULE, RULE`` switches rules off for its line, or, alone on a line, for the next.
    """
    tokens = tokenize(text)
    types = NAMES_OF_TYPES | target.param_structs.keys()
    file = parse(tokens, types)
    walk = Walk(tokens, file, target, GROUPS)
    for index, why in file.problems:
        found = tokens.words[index] or "the end of the text"
        walk.report(
            "unreadable",
            index,
            index,
            f"'{found}' cannot stand here: {why} is expected",
            "write it in a plainer way, or move it out of the kernel",
        )
    walk.run()
    source = SourceText("", filename, 1, tuple(text.split("\n")))
    off = _switched_off(tokens)
    problems = [_problem(tokens, source, one) for one in walk.findings]
    problems += _unknown_rules(source, off)
    kept = [
        one
        for one in dict.fromkeys(problems)
        if one.rule not in disabled and one.rule not in off.get(one.span.line, ())
    ]
    kept.sort(key=lambda one: (one.span.line, one.span.column, one.rule))
    return Report(tuple(kept))


def _problem(tokens: Tokens, source: SourceText, found: Finding) -> Problem:
    if found.at < 0:  # a preprocessor line
        line, column = tokens.position(-1 - found.at)
        end = (line, len(source.lines[line - 1]))
    else:
        line, column = tokens.place(found.at)
        end = tokens.stop(found.end)
    span = Span(source, line, column, *end)
    python = _python(tokens.comments, source, line)
    return Problem(found.rule, found.message, found.help, found.notes, span, python)


def _python(comments: list[Comment], source: SourceText, line: int) -> str:
    """The nearest comment above ``line``, in its block, that names a Python line."""
    by_line = {one.line: one.text for one in comments if one.alone}
    depth = _indent(source.lines[line - 1])
    for number in range(line - 1, 0, -1):
        row = source.lines[number - 1]
        if row.strip() and _indent(row) < depth and number not in by_line:
            depth = _indent(row)
            if depth <= 4 and row.strip() in ("{", "public:", "private:"):
                return ""
        text = by_line.get(number, "")
        if text and _PYTHON.match(text):
            return text
    return ""


def _indent(row: str) -> int:
    return len(row) - len(row.lstrip())


def _switched_off(tokens: Tokens) -> dict[int, frozenset[str]]:
    """Rules that comments switch off, by line."""
    off: dict[int, frozenset[str]] = {}
    for one in tokens.comments:
        found = _OFF.search(one.text)
        if found is not None:
            names = frozenset(name for name in re.split(r"[,\s]+", found[1]) if name)
            line = one.line + one.alone
            off[line] = off.get(line, frozenset()) | names
    return off


def _unknown_rules(source: SourceText, off: dict[int, frozenset[str]]) -> list[Problem]:
    problems = []
    for line, names in off.items():
        for name in sorted(names - RULES.keys()):
            row = next(
                n
                for n in (line, line - 1)
                if _OFF.search((source.lines[n - 1 : n] and source.lines[n - 1]) or "")
            )
            column = source.lines[row - 1].find(name)
            span = Span(source, row, column, row, column + len(name))
            problems.append(
                Problem(
                    "unknown-rule",
                    f"there is no rule '{name}'",
                    "pypto lint --rules lists them",
                    (),
                    span,
                    "",
                )
            )
    return problems
