"""Errors of the C++ compiler as they are shown; loaded when there is one."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from typing import Any

from pypto.build.toolchain import CompilerError
from pypto.error import BuildError, Diagnostic

__all__ = ["compiler_error", "fast_math", "missing", "quoting_advice", "unusable"]

_INSTALL = (
    "install a C++17 compiler (Debian, Ubuntu: `apt install g++`; Fedora, openEuler: "
    "`dnf install gcc-c++`), or set CXX to one."
)
_WAIT = "give it more time: set PYPTO_COMPILE_TIMEOUT to a larger number of seconds."
_SHOWN_LINES = 20
_SHOWN_CHARACTERS = 4000


def fast_math(cxx: str, flag: str) -> BuildError:
    """CXX holds a flag that would change results."""
    return _build_error(
        f"CXX holds {flag}, which would change NaN, infinities and small numbers in "
        "kernels and in the whole process",
        got=f"CXX={cxx}",
        help=f"remove {flag} from CXX.",
    )


def missing(
    cxx: str | None, tried: list[str], search_path: str, help: str | None = None
) -> BuildError:
    """There is no compiler; ``tried`` says what was looked for."""
    return _build_error(
        "No C++ compiler found; kernels need one to run on the CPU",
        expected="the compiler that CXX names, else c++, g++ or clang++ on PATH",
        got=f"CXX={shlex.quote(cxx)}" if cxx is not None else "CXX is not set",
        notes=(*(f"tried     {line}" for line in tried), f"PATH      {search_path}"),
        help=help or _INSTALL,
    )


def quoting_advice(cxx: str, executable: Callable[[str], bool]) -> str | None:
    """What to write where CXX begins with the path of a program that holds blanks."""
    words = cxx.strip().split(" ")
    for count in range(len(words), 1, -1):
        path = " ".join(words[:count])
        if os.sep in path and executable(path):
            value = " ".join([shlex.quote(path), *words[count:]])
            return f"CXX is split at blanks: quote the path in it: CXX={shlex.quote(value)}"
    return None


def compiler_error(
    what: str,
    ending: str,
    timed_out: bool,
    version: str,
    command: str,
    output: str,
    dropped: int,
    source: str,
) -> CompilerError:
    """The error of one failed run, with the first lines of its output."""
    lines = output[:_SHOWN_CHARACTERS].splitlines()
    shown = [f"| {line}" for line in lines[:_SHOWN_LINES]]
    hidden = len(output.encode()) + dropped - len("\n".join(lines[:_SHOWN_LINES]).encode())
    if hidden > 1:
        shown.append(f"| ... {hidden} more bytes")
    notes = (f"compiler  {version}", f"command   {command}", f"source    {source}")
    diagnostic = Diagnostic(
        CompilerError,
        BuildError.default_code,
        f"The C++ compiler failed on {what}: {ending}",
        notes=(*notes, *(shown or ["| (it printed nothing)"])),
        help=_WAIT
        if timed_out
        else "check that the compiler that CXX or PATH names is complete and supports C++17; "
        "if it is, this is a bug of pypto: please report it with the text above.",
    )
    return CompilerError((diagnostic,), output, command, source)


def unusable(
    command: tuple[str, ...], argument: str, output: str, reason: str, timed_out: bool = False
) -> BuildError:
    """There is a compiler, and it does not do what was asked."""
    lines = output[:_SHOWN_CHARACTERS].splitlines()[:5] or ["(it printed nothing)"]
    return _build_error(
        f"The C++ compiler {command[0]} does not work: {reason}",
        notes=(
            f"command   {shlex.join((*command, argument) if argument else command)}",
            *(f"| {line}" for line in lines),
        ),
        help=_WAIT if timed_out else _INSTALL,
    )


def _build_error(message: str, **parts: Any) -> BuildError:
    return BuildError([Diagnostic(BuildError, BuildError.default_code, message, **parts)])
