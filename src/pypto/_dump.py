"""What a run should show of its compilations: asked once per process, shown after each of them.

A program asks by the environment (``PYPTO_DUMP=ascendc`` or ``PYPTO_DUMP=tensor,tile:folder``), the
command line by ``pypto run FILE --dump``. The compiler hands over the levels as text in which file
and line are filled in already; this module selects, prints and writes.
"""

from __future__ import annotations

import datetime
import functools
import os
import sys
import threading
from collections.abc import Mapping

from pypto._paths import absolute, reason
from pypto._record import Record
from pypto.error import Diagnostic, FeValueError, PyptoGeneralError

__all__ = [
    "LEVELS",
    "DumpRequest",
    "debug_directory",
    "parse_levels",
    "request",
    "set_request",
    "show",
    "write",
    "write_file",
]

LEVELS = ("tensor", "tile", "ascendc")
"""The levels of a compilation that can be shown, in the order of compilation."""

_TITLES = {"tensor": "Tensor IR", "tile": "Tile IR", "ascendc": "Ascend C"}
_SUFFIXES = {"tensor": "tensor.txt", "tile": "tile.txt", "ascendc": "cpp"}


class DumpRequest(Record):
    """Which levels to show, in the order of ``LEVELS``, and where: a directory or stdout."""

    levels: tuple[str, ...]
    directory: str | None = None


_HELP = "name a directory that you can write: --dump-dir DIR, or PYPTO_DUMP=LEVELS:DIR."
_DEBUG_HELP = (
    "the option compile_debug_mode asks for it: give TILE_FWK_OUTPUT_DIR (mode 1) or "
    "ASCEND_WORK_PATH (mode 2) a directory that you can write."
)


def parse_levels(text: str, *notes: str) -> tuple[str, ...]:
    """Levels named by ``text``: a comma-separated list of them, or ``all``; "" means ``ascendc``.

    FeValueError for a name that is not a level; ``notes`` say in it where ``text`` comes from.
    """
    names = [name.strip() for name in text.split(",")] if text.strip() else ["ascendc"]
    if "all" in names:
        return LEVELS
    for name in names:
        if name not in LEVELS:
            raise FeValueError(
                [
                    Diagnostic(
                        FeValueError,
                        FeValueError.default_code,
                        f"'{name}' is not a level that can be shown",
                        expected=f"a comma-separated list of {', '.join(LEVELS)}; or all",
                        got=repr(text),
                        notes=notes,
                    )
                ]
            )
    return tuple(level for level in LEVELS if level in names)


_set: list[DumpRequest] = []
_lock = threading.Lock()
_written: dict[str, list[str]] = {}


def set_request(wanted: DumpRequest) -> None:
    """Ask for ``wanted`` in this process, whatever the environment says."""
    _set[:] = [wanted]


def request() -> DumpRequest | None:
    """What this process was asked to show, or None. The environment is read once."""
    return _set[0] if _set else _environment_request()


@functools.cache
def _environment_request() -> DumpRequest | None:
    text = os.environ.get("PYPTO_DUMP", "")
    if not text or text == "0":
        return None
    levels, _, directory = text.partition(":")
    names = parse_levels("" if levels == "1" else levels, f"in the variable PYPTO_DUMP={text}")
    return DumpRequest(names, directory or None)


def show(levels: Mapping[str, str], name: str) -> None:
    """Show the requested ones of ``levels`` (level to text) of the kernel ``name``.

    A level that is missing in ``levels`` was not reached; what there is is shown. Files are named
    ``<name>.cpp``, ``<name>.tile.txt``, ``<name>.tensor.txt``; a further compilation of the same
    kernel with another text goes to ``<name>-2.cpp`` and so on.
    """
    wanted = request()
    if wanted is None:
        return
    for level in wanted.levels:
        text = levels.get(level)
        if text is None:
            continue
        text = text if text.endswith("\n") else text + "\n"
        if wanted.directory is not None:
            _write(wanted.directory, name, level, text, _HELP)
        else:
            _print(name, level, text)


def write(levels: Mapping[str, str], name: str, directory: str) -> None:
    """Write all of ``levels`` to ``directory``, under the names that :func:`show` gives them."""
    for level, text in levels.items():
        _write(directory, name, level, text if text.endswith("\n") else text + "\n", _DEBUG_HELP)


@functools.cache
def debug_directory(*, fixed: bool) -> str:
    """Where ``compile_debug_mode`` writes.

    ``fixed``: ``pypto`` in ``ASCEND_WORK_PATH`` or in the working directory, the same for each run.
    Otherwise a new directory for each process, in ``TILE_FWK_OUTPUT_DIR`` or ``output``.
    """
    if fixed:
        place = os.path.join(os.environ.get("ASCEND_WORK_PATH") or os.curdir, "pypto")
        return absolute(place, "ASCEND_WORK_PATH")
    now = datetime.datetime.now()
    run = f"output_{now:%Y%m%d_%H%M%S_%f}_{os.getpid()}"
    place = os.path.join(os.environ.get("TILE_FWK_OUTPUT_DIR") or "output", run)
    return absolute(place, "TILE_FWK_OUTPUT_DIR")


def _print(name: str, level: str, text: str) -> None:
    if level == "ascendc" and sys.stdout.isatty():
        from rich.console import Console
        from rich.syntax import Syntax

        Console().print(Syntax(text, "cpp", theme="ansi_dark", background_color="default"))
        return
    # The Ascend C text is printed bare, so that it can be redirected to a file and compiled.
    heading = "" if level == "ascendc" else f"=== {_TITLES[level]} of {name} ===\n"
    encoding = sys.stdout.encoding or "utf-8"
    # Python text may hold what the terminal cannot show; a dump must not fail for it.
    shown = (heading + text).encode(encoding, "backslashreplace").decode(encoding)
    sys.stdout.write(shown)
    sys.stdout.flush()


def _write(directory: str, name: str, level: str, text: str, help: str) -> None:
    stem = "".join(c if c.isalnum() or c in "_-" else "_" for c in name)[:80]
    with _lock:
        seen = _written.setdefault(os.path.join(directory, f"{stem}.{_SUFFIXES[level]}"), [])
        if text not in seen:
            seen.append(text)
        count = seen.index(text) + 1
        numbered = stem if count == 1 else f"{stem}-{count}"
        path = os.path.join(directory, f"{numbered}.{_SUFFIXES[level]}")
        write_file(path, text, f"The {_TITLES[level]} of '{name}'", help)


def write_file(path: str, text: str, what: str, help: str) -> None:
    """Write ``text`` to ``path``, whose directory is made.

    Raises PyptoGeneralError, which says that ``what`` could not be written, and ``help``.
    """
    try:
        os.makedirs(os.path.dirname(path) or os.curdir, exist_ok=True)
        # Comments name files, and names of files need not be text.
        with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as error:
        message = f"{what} cannot be written to {path}: {reason(path, error)}"
        raise PyptoGeneralError(
            [Diagnostic(PyptoGeneralError, PyptoGeneralError.default_code, message, help=help)]
        ) from None
