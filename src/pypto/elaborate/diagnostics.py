"""Refusing a construct, and collecting what was refused in one elaboration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NoReturn

from pypto.error import Diagnostic, FeValueError, PyptoError, Span

__all__ = ["Collector", "Decide", "NeedValue", "OverLimit", "Poisoned", "TooMany", "refuse"]


class Poisoned(Exception):
    """A value is unknown because of an error that has been reported already."""


class NeedValue(Exception):
    """The Python values of the scalar parameters ``names`` are needed: start again with them."""

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        super().__init__(", ".join(sorted(names)))


class Decide(Exception):
    """Guesses about what loops carry were wrong: start again with these decisions."""

    def __init__(self, decisions: Mapping[tuple[object, ...], str]) -> None:
        self.decisions = decisions
        super().__init__()


def refuse(
    cls: type[PyptoError],
    message: str,
    span: Span,
    *,
    code: str | None = None,
    expected: str | None = None,
    got: str | None = None,
    help: str | None = None,
    notes: tuple[str, ...] = (),
) -> NoReturn:
    """Raise ``cls`` with one diagnostic at ``span``."""
    code = code or cls.default_code
    raise cls([Diagnostic(cls, code, message, span, expected, got, help, notes)])


MAX_DIAGNOSTICS = 100
"""Nobody reads more at a time, and suggesting names for thousands of errors takes seconds."""


class TooMany(Exception):
    """Enough errors are collected: stop looking for more."""


class OverLimit(Exception):
    """The kernel is longer than kernels may be: report it once, and leave the loops and calls."""

    def __init__(self, message: str, span: Span, help: str) -> None:
        code = FeValueError.default_code
        self.diagnostic = Diagnostic(FeValueError, code, message, span, help=help)
        super().__init__(message)


@dataclass(slots=True)
class Collector:
    """Diagnostics of one kernel, each with the place in the kernel itself that led to it."""

    found: list[tuple[tuple[int, int], Diagnostic]] = field(default_factory=list)
    seen: set[tuple[object, ...]] = field(default_factory=set)

    def add(self, diagnostic: Diagnostic, place: Span, notes: tuple[str, ...] = ()) -> None:
        """Record ``diagnostic``; the same message at the same place counts once.

        Raises TooMany when there are :data:`MAX_DIAGNOSTICS`.
        """
        if notes:
            diagnostic = replace(diagnostic, notes=diagnostic.notes + notes)
        span = diagnostic.span
        if span is not None and span.source is place.source:
            place = span
        at = None if span is None else (id(span.source), span.line, span.column)
        key = (place.line, place.column, at, diagnostic.message, diagnostic.notes)
        if key in self.seen:
            return
        self.seen.add(key)
        self.found.append(((place.line, place.column), diagnostic))
        if len(self.found) == MAX_DIAGNOSTICS:
            raise TooMany

    def in_order(self) -> list[Diagnostic]:
        """All diagnostics in source order."""
        return [d for _, d in sorted(self.found, key=lambda entry: entry[0])]

    def __bool__(self) -> bool:
        return bool(self.found)
