"""Applies all rules to one text and shows what they find."""

from __future__ import annotations

import re
from collections.abc import Collection

from pypto._record import Record
from pypto.error import SourceText, Span, render_span
from pypto.lint.interface import NAMES_OF_TYPES
from pypto.lint.nodes import File
from pypto.lint.parse import parse
from pypto.lint.rule import Finding
from pypto.lint.rules import GROUPS, RULES
from pypto.lint.tokens import Tokens, tokenize
from pypto.lint.walk import Walk
from pypto.target import Target

__all__ = ["Problem", "Report", "check"]

_OFF = re.compile(r"lint:\s*off\s+([\w-]+(?:\s*,\s*[\w-]+)*)")
_PYTHON = re.compile(r"[^:]+:\d+  \S|@\S+\+\d+  \S")


_PLAINER = "write it in a plainer way, or move it out of the kernel"


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
            _PLAINER,
        )
    try:
        walk.run()
    except RecursionError:
        walk.report("unreadable", 0, 0, "an expression of this text is nested too deeply", _PLAINER)
    source = SourceText("", filename, 1, tuple(text.split("\n")))
    off = _switched_off(tokens)
    problems = [_problem(tokens, file, source, one) for one in walk.findings]
    problems += [_unknown_rule(source, one) for one in off if one.rule not in RULES]
    silent = {(one.rule, one.line) for one in off}
    kept = [
        one
        for one in dict.fromkeys(problems)
        if one.rule not in disabled and (one.rule, one.span.line) not in silent
    ]
    kept.sort(key=lambda one: (one.span.line, one.span.column, one.rule))
    return Report(tuple(kept))


def _problem(tokens: Tokens, file: File, source: SourceText, found: Finding) -> Problem:
    python = ""
    if found.at < 0:  # a preprocessor line
        line, column = tokens.position(-1 - found.at)
        end = (line, len(source.lines[line - 1]))
    else:
        line, column = tokens.place(found.at)
        end = tokens.stop(found.end)
        python = _python(tokens, file, found.at, line)
    span = Span(source, line, column, *end)
    return Problem(found.rule, found.message, found.help, found.notes, span, python)


def _python(tokens: Tokens, file: File, at: int, line: int) -> str:
    """The nearest comment above word ``at``, in its function, that names a Python line."""
    bodies = [made.body for made in file.functions if made.body is not None]
    first = next((tokens.place(b.at)[0] for b in bodies if b.at < at <= b.end), None)
    if first is None:
        return ""
    marks = [
        one.text
        for one in tokens.comments
        if one.alone and first < one.line < line and _PYTHON.match(one.text)
    ]
    return marks[-1] if marks else ""


class _Off(Record):
    """A rule that a comment switches off: the line it holds for, and where the comment says so."""

    rule: str
    line: int
    written: int


def _switched_off(tokens: Tokens) -> list[_Off]:
    return [
        _Off(name, one.line + 1 if one.alone else one.line, one.line)
        for one in tokens.comments
        if (found := _OFF.search(one.text)) is not None
        for name in re.split(r"\s*,\s*", found[1])
    ]


def _unknown_rule(source: SourceText, off: _Off) -> Problem:
    column = source.lines[off.written - 1].find(off.rule)
    span = Span(source, off.written, column, off.written, column + len(off.rule))
    message = f"there is no rule '{off.rule}'"
    return Problem("unknown-rule", message, "pypto lint --rules lists them", (), span, "")
