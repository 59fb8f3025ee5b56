"""``pypto lint``: what static rules find in Ascend C files."""

from __future__ import annotations

import argparse
import os
import sys
import textwrap

from pypto import target as chips
from pypto._paths import reason
from pypto._spelling import nearest
from pypto.cli.files import opening_problem
from pypto.error import PyptoError
from pypto.lint import RULES, check

__all__ = ["lint_command"]

_STANDARD_INPUT = "-"


def lint_command(parsed: argparse.Namespace) -> int:
    """Check ``parsed.file``; 0: nothing found, 1: something, 2: no such file or rule."""
    if parsed.rules:
        _print_rules()
        return 0
    if not parsed.file:
        return _usage("name a file, or - for standard input")
    disabled = [name for names in parsed.disable for name in names.replace(",", " ").split()]
    for name in disabled:
        if name not in RULES:
            near = nearest(name, RULES)
            advice = f"did you mean '{near}'?" if near else "--rules lists them"
            return _usage(f"there is no rule '{name}': {advice}")
    try:
        chip = chips.get(parsed.target)
    except PyptoError as error:
        print(error, file=sys.stderr)
        return 2
    texts = []
    for path in parsed.file:
        text = _read(path)
        if text is None:
            return 2
        texts.append((path, text))
    found = 0
    for path, text in texts:
        name = "<stdin>" if path == _STANDARD_INPUT else path
        report = check(text, name, chip, frozenset(disabled))
        for problem in report.problems:
            print(problem.render(), end="\n\n")
        found += len(report.problems)
    files = f"{len(texts)} file{'s' * (len(texts) != 1)}"
    print(
        f"{found} problem{'s' * (found != 1)} in {files}" if found else f"nothing found in {files}"
    )
    return 1 if found else 0


def _usage(message: str) -> int:
    print(f"pypto lint: {message}", file=sys.stderr)
    return 2


def _read(path: str) -> str | None:
    """The text of a file; None where there is none to read, which has been said."""
    if path == _STANDARD_INPUT:
        data = sys.stdin.buffer.read()
    else:
        why = opening_problem(path, regular=False)
        if why is None and os.path.isdir(path):
            why = f"{path} is a directory"
        if why is not None:
            _usage(why)
            return None
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError as error:
            _usage(f"{path} cannot be read: {reason(path, error)}")
            return None
    try:
        text = data.decode("utf-8-sig")  # a byte order mark is no part of the text
    except UnicodeDecodeError as error:
        _usage(f"{path} is no UTF-8 text: byte 0x{data[error.start]:02x} at offset {error.start}")
        return None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _print_rules() -> None:
    for rule in RULES.values():
        print(rule.id)
        for text in (rule.what, rule.why):
            print(textwrap.fill(text, 96, initial_indent="    ", subsequent_indent="    "))
