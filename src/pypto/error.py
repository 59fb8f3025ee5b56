"""Errors of pypto: classes, codes, source positions and rendering.

Every error a user can cause is a :class:`PyptoError` made of :class:`Diagnostic` records.
A diagnostic says what is wrong, what was expected and what was given, where in the Python source,
and how to mend it. The class names and codes follow the public PyPTO contract; each class also
derives from the built-in exception a Python user would catch.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from pypto._record import Record

__all__ = [
    "BuildError",
    "Diagnostic",
    "DtypeError",
    "FeError",
    "FeKeyError",
    "FeNameError",
    "FeNotImplementedError",
    "FeTypeError",
    "FeValueError",
    "ParserError",
    "PassError",
    "PassTypeError",
    "PassValueError",
    "PyptoError",
    "PyptoGeneralError",
    "PyptoRtError",
    "PyptoWarning",
    "RtTypeError",
    "RtValueError",
    "ShapeError",
    "SourceText",
    "Span",
    "TileError",
    "UnsupportedSyntaxError",
    "VerifyError",
    "raise_diagnostics",
    "render_span",
    "shown_file",
]


class SourceText(Record):
    """The source of one function: where it stands and its lines as written.

    ``label`` names the function inside a compilation (unique there) and is what compiled text
    mentions; ``filename`` and ``first_line`` say where this occurrence stands and are filled in
    only when something is shown.
    """

    label: str
    filename: str
    first_line: int
    lines: tuple[str, ...]


def shown_file(filename: str) -> str:
    """``filename`` as a person knows it: relative when it is below the working directory."""
    if not os.path.isabs(filename):
        return filename
    try:
        relative = os.path.relpath(filename)
    except (OSError, ValueError):  # no working directory any more
        return filename
    return filename if relative.startswith(os.pardir) else relative


class Span(Record):
    """A range of one function's source. Lines are 1-based within it, columns 0-based."""

    source: SourceText
    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def location(self) -> str:
        """``file:line:col`` as shown to a person (columns 1-based)."""
        return f"{shown_file(self.source.filename)}:{self.file_line}:{self.column + 1}"

    @property
    def file_line(self) -> int:
        return self.source.first_line + self.line - 1

    @property
    def relative(self) -> str:
        """``label+line``: stable under moves of the function, used in compiled text."""
        return f"{self.source.label}+{self.line}"

    def text(self) -> str:
        """The source text of the span on its first line, stripped."""
        line = self.source.lines[self.line - 1] if self.line <= len(self.source.lines) else ""
        end = self.end_column if self.end_line == self.line else len(line)
        return line[self.column : end].strip()


class Diagnostic(Record):
    """One thing that is wrong. ``cls`` is the exception class that it raises."""

    cls: type[PyptoError]
    code: str
    message: str
    span: Span | None = None
    expected: str | None = None
    got: str | None = None
    help: str | None = None
    notes: tuple[str, ...] = ()

    def render(self) -> str:
        parts = [f"ErrCode: {self.code}  {self.message}"]
        if self.expected is not None:
            parts.append(f"  expected  {self.expected}")
        if self.got is not None:
            parts.append(f"  got       {self.got}")
        if self.span is not None:
            parts.extend(render_span(self.span))
        parts.extend(f"  {line}" for note in self.notes for line in note.splitlines())
        if self.help is not None:
            parts.append(f"  help: {self.help}")
        return "\n".join(parts)


def render_span(span: Span) -> list[str]:
    """The lines that show where ``span`` stands: place, source lines, carets."""
    source = span.source
    first = max(1, span.line - 1)
    last = min(len(source.lines), max(span.line, min(span.end_line, span.line + 2)))
    width = len(str(source.first_line + last - 1))
    out = [f"  --> {span.location}"]
    for number in range(first, last + 1):
        raw = source.lines[number - 1].rstrip()
        start, end = (span.column, span.end_column) if number == span.line else (0, 0)
        if span.end_line != span.line:
            end = len(raw)
        if len(raw) > _LONGEST:
            raw, start, end = _clipped(raw, start, end)
        out.append(f"  {source.first_line + number - 1:>{width}} | {_shown(raw)}")
        if number == span.line:
            before = _cells(raw[:start])
            carets = max(1, _cells(raw[:end]) - before)
            out.append(f"  {'':>{width}} | {' ' * before}{'^' * carets}")
    return out


_LONGEST = 200
"""Characters of a source line that are shown."""


def _clipped(raw: str, start: int, end: int) -> tuple[str, int, int]:
    """A part of a long line, and where ``start`` and ``end`` are in it."""
    first = max(0, min(start - _LONGEST // 4, len(raw) - _LONGEST))
    last = min(len(raw), first + _LONGEST)
    head, tail = "... " if first else "", " ..." if last < len(raw) else ""
    moved = len(head) - first
    return head + raw[first:last] + tail, start + moved, min(end, last) + moved


def _shown(text: str) -> str:
    """A source line as it is printed: tabs as spaces, no characters that move the cursor."""
    text = text.expandtabs(4)
    return text if text.isprintable() else "".join(c if _is_shown(c) else " " for c in text)


def _is_shown(character: str) -> bool:
    from unicodedata import category  # loaded only for text that is not ASCII

    return category(character) not in ("Cc", "Zl", "Zp")


def _cells(text: str) -> int:
    """How many terminal cells ``text``, the start of a source line, takes when it is shown."""
    text = text.expandtabs(4)
    return len(text) if text.isascii() else sum(map(_cell, text))


def _cell(character: str) -> int:
    from unicodedata import category, east_asian_width

    if category(character) in ("Mn", "Me", "Cf"):
        return 0  # drawn onto the character before, or not drawn
    return 2 if east_asian_width(character) in "WF" else 1


class PyptoError(Exception):
    """Base of all errors that pypto raises on purpose.

    ``diagnostics`` holds every problem found; the message renders them all, first one first.
    """

    default_code = "F0FFFF"

    def __init__(self, message: str | Iterable[Diagnostic], *, code: str | None = None) -> None:
        if isinstance(message, str):
            self.diagnostics: tuple[Diagnostic, ...] = (
                Diagnostic(type(self), code or self.default_code, message),
            )
        else:
            self.diagnostics = tuple(message)
        self.code = self.diagnostics[0].code
        super().__init__("\n\n".join(d.render() for d in self.diagnostics))

    def __str__(self) -> str:
        # SyntaxError and KeyError format their arguments; ours is the rendered text, always.
        return str(self.args[0])

    def __reduce__(self) -> tuple[type[PyptoError], tuple[tuple[Diagnostic, ...]]]:
        return type(self), (self.diagnostics,)


class FeError(PyptoError):
    """The front end refused the kernel."""


class FeTypeError(FeError, TypeError):
    """A value of the wrong type in a kernel or an option."""

    default_code = "F00001"


class FeValueError(FeError, ValueError):
    """A value outside what is allowed."""

    default_code = "F00002"


class FeNameError(FeError, NameError):
    """A name that is defined nowhere."""

    default_code = "F00004"


class FeNotImplementedError(FeError, NotImplementedError):
    """Something that the contract knows and this version does not do."""

    default_code = "F00005"


class FeKeyError(FeError, KeyError):
    """An unknown key, of an option for instance."""

    default_code = "F00006"


class ShapeError(FeError, ValueError):
    """Shapes or ranks that do not fit."""

    default_code = "F0000B"


class TileError(FeError, ValueError):
    """A tile of wrong rank, alignment or size."""

    default_code = "F0000C"


class DtypeError(FeError, TypeError):
    """A dtype that an operation does not take, or dtypes that do not fit together."""

    default_code = "FC0001"


class ParserError(FeError):
    """The kernel's source cannot be read as a kernel."""

    default_code = "F00005"


class UnsupportedSyntaxError(ParserError, SyntaxError):
    """A Python construct that a kernel may not use."""

    default_code = "F00005"


class PassError(PyptoError):
    """A compiler pass could not do its work on this kernel."""

    default_code = "F40000"


class PassTypeError(PassError, TypeError):
    """A value of the wrong type in the configuration of a pass."""

    default_code = "F00001"


class PassValueError(PassError, ValueError):
    """A configuration key that passes do not have."""

    default_code = "F00002"


class VerifyError(PyptoError):
    """A level of the compiler broke its own invariant; a bug of pypto."""

    default_code = "FB0001"


class PyptoGeneralError(PyptoError, RuntimeError):
    """Compilation or launch failed outside the kernel's own text."""

    default_code = "F00003"


class BuildError(PyptoGeneralError):
    """The C++ toolchain is missing or failed."""

    default_code = "F63001"


class PyptoRtError(PyptoError):
    """A call of a compiled kernel was refused."""

    default_code = "F00003"


class RtTypeError(PyptoRtError, TypeError):
    """An argument of the wrong type, dtype, device or layout; or the wrong number of them."""

    default_code = "F00001"


class RtValueError(PyptoRtError, ValueError):
    """An argument of the right type with a wrong shape or value."""

    default_code = "F00002"


class PyptoWarning(UserWarning):
    """Something was accepted and has no effect, or a slower way was taken."""


def raise_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Raise one error that holds all ``diagnostics``, of the class of the first; none: return."""
    found = tuple(diagnostics)
    if found:
        raise found[0].cls(found)
