"""Python lines inside generated comments.

Compiled text says ``@label+line``, which does not change when the function moves; what is shown to
a person says ``file:line`` instead.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable

from pypto.error import SourceText, Span, shown_file

__all__ = ["located", "safe", "source_line"]

_MARK = re.compile(r"@([^\s@+]+)\+(\d+)")


def source_line(span: Span) -> str:
    """``@label+line  statement``: the Python statement of ``span``, layout normalised."""
    line = span.source.lines[span.line - 1] if span.line <= len(span.source.lines) else ""
    return f"@{_label(span.source)}+{span.line}  {safe(_normal(line.strip()))}".rstrip()


def _label(source: SourceText) -> str:
    return re.sub(r"[\s@+]", "_", source.label)


@functools.lru_cache(maxsize=4096)  # a line stands above each of its instructions
def _normal(line: str) -> str:
    """The line without comment and layout, so that editing those changes no compiled text."""
    try:
        return ast.unparse(ast.parse(line)).replace("\n", " ")
    except (SyntaxError, ValueError, RecursionError):
        return " ".join(line.split("#")[0].split())


def safe(text: str) -> str:
    """``text`` for a ``//`` comment: one line, printable, not continued by a backslash."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else " " for c in text)
    if len(text) > 110:
        text = f"{text[:107]}..."
    return f"{text} ." if text.rstrip().endswith(("\\", "??/")) else text


def located(text: str, sources: Iterable[SourceText]) -> str:
    """``text`` with every ``@label+line`` replaced by where that line stands now."""
    places = {_label(s): s for s in sources}

    def place(match: re.Match[str]) -> str:
        source = places.get(match[1])
        if source is None:
            return match[0]
        return f"{shown_file(source.filename)}:{source.first_line + int(match[2]) - 1}"

    return _MARK.sub(place, text)
