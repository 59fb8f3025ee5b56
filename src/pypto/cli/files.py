"""Files that the command reads: why one cannot be opened, and why one is no Python text."""

from __future__ import annotations

import errno
import importlib.util
import io
import os
import re
import stat
import tokenize
import zipfile

from pypto._paths import reason
from pypto.error import Diagnostic, ParserError, SourceText, Span

__all__ = ["check_bytes", "check_text", "opening_problem", "read_stream"]

_KINDS = (
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


def opening_problem(path: str, *, regular: bool) -> str | None:
    """Why ``path`` cannot be opened; None where it can, or is a directory.

    ``regular``: devices and pipes will not do.
    """
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        return _why_missing(path, error)
    for is_kind, kind in _KINDS:
        if is_kind(mode):
            return f"{path} is {kind}, not a Python file" if regular else None
    if stat.S_ISDIR(mode):
        return None
    try:
        with open(path, "rb"):
            return None
    except OSError as error:
        return f"{path} cannot be read: {reason(path, error)}"


def _why_missing(path: str, error: OSError) -> str:
    if error.errno == errno.ENOENT:
        if os.path.islink(path):
            return f"{path} is a symbolic link to {os.readlink(path)}, which is not there"
        return f"there is no file {path}"
    if error.errno == errno.ENOTDIR:
        return f"there is no file {path}: {reason(path, error)}"
    return f"{path} cannot be read: {reason(path, error)}"


def check_text(path: str) -> None:
    """Raise ParserError, with the place, where a file holds bytes that Python text cannot.

    Python's own message names neither file nor column. What Python runs without reading it as text
    (a directory, an archive, compiled code, a pipe) is not looked at. Raises OSError.
    """
    if not os.path.isfile(path):
        return
    with open(path, "rb") as file:
        data = file.read()
    if data[:4] == importlib.util.MAGIC_NUMBER:
        return
    try:
        check_bytes(path, data)
    except ParserError:
        if not zipfile.is_zipfile(path):
            raise


def read_stream(path: str) -> bytes | None:
    """All of what can be read only once: a pipe or a device. None for anything else.

    Raises ParserError where that is no Python text, OSError where it cannot be read.
    """
    mode = os.stat(path).st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return None
    with open(path, "rb") as file:
        data = file.read()
    check_bytes(path, data)
    return data


def check_bytes(path: str, data: bytes) -> None:
    """:func:`check_text` for what was read from ``path``."""
    found = _not_text(data)
    if found is None:
        return
    at, encoding, message, help = found
    lines = _lines(data, encoding)
    before = _lines(data[:at], encoding)
    line, column = len(before), len(before[-1])
    place = Span(SourceText("", path, 1, tuple(lines)), line, column, line, column + 1)
    code = ParserError.default_code
    raise ParserError([Diagnostic(ParserError, code, message, place, help=help)])


def _not_text(data: bytes) -> tuple[int, str, str, str] | None:
    """Where ``data`` is no Python text: position, encoding, what is wrong and what to do."""
    zero = data.find(b"\0")
    if zero >= 0:
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return 0, "utf-16", "Python cannot read UTF-16 text", "save the file as UTF-8"
        return zero, "utf-8", "Python text cannot hold a NUL byte", "save the file as text, UTF-8"
    encoding = _encoding(data)
    if encoding is None:
        return None
    try:
        data.decode(encoding)
    except UnicodeDecodeError as error:
        name = "UTF-8" if encoding.startswith("utf-8") else encoding
        message = f"byte 0x{data[error.start]:02x} is not {name} text"
        help = "save the file as UTF-8, or name its encoding in line 1: # -*- coding: latin-1 -*-"
        return error.start, encoding, message, help
    return None


def _encoding(data: bytes) -> str | None:
    """The encoding of Python text; None for a declaration that Python's own error explains."""
    try:
        return tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    except SyntaxError:
        # Also what the first two lines give when they are not UTF-8 and declare nothing.
        declared = any(re.match(rb"^[ \t\f]*#.*?coding[:=]", row) for row in data.split(b"\n")[:2])
        return None if declared else "utf-8"


def _lines(data: bytes, encoding: str) -> list[str]:
    return re.split("\r\n|\r|\n", data.decode(encoding, "replace"))
