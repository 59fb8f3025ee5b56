"""``pypto run FILE``: run a program as Python would, and show the kernels that it compiles."""

from __future__ import annotations

import importlib.util
import io
import linecache
import os
import pkgutil
import runpy
import sys
import types
from collections.abc import Sequence
from dataclasses import dataclass

from pypto import _dump
from pypto._paths import absolute, directory_problem
from pypto._spelling import nearest
from pypto.cli import INTERRUPTED
from pypto.cli.files import check_text, opening_problem, read_stream
from pypto.cli.frames import show_exception
from pypto.error import ParserError, PyptoError

__all__ = ["HELP", "USAGE", "run"]

USAGE = (
    "pypto run FILE [ARGUMENTS ...] [--dump[=LEVELS]] [--dump-dir DIR] [--checked] "
    "[--assume RULE=CHOICE ...] [-- ARGUMENTS ...]"
)

_OPTIONS = ("--dump", "--dump-dir", "--checked", "--help")

HELP = f"""usage: {USAGE}

Run FILE as `python FILE` does. `--dump` prints the Ascend C of each kernel that it calls;
`--dump=tensor,tile,ascendc` (or `all`) selects levels, `--dump-dir DIR` writes files instead.
`--checked` runs kernels on the checked twin: a broken rule of the device is an error.
`--assume max_nan=ignore` decides a rule of the device that is not known (docs/twin.md lists them).
All other arguments, and all that follow `--`, are the program's own.
"""


@dataclass(frozen=True, slots=True)
class _Plan:
    file: str
    arguments: tuple[str, ...]
    dump: _dump.DumpRequest | None
    checked: bool
    assumptions: str


class _UsageError(Exception):
    """The command line makes no sense; the text says why."""


def run(arguments: Sequence[str]) -> int:
    """Run the program that ``arguments`` describe; its exit code, or 2 for wrong usage."""
    if not arguments:
        print(HELP, end="", file=sys.stderr)
        return 2
    try:
        plan = _read(arguments)
    except (_UsageError, PyptoError) as error:
        print(f"usage: {USAGE}\npypto run: {error}", file=sys.stderr)
        return 2
    try:
        text = read_stream(plan.file)
        if text is None:
            check_text(plan.file)
    except (ParserError, OSError) as error:
        print(f"pypto run: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:  # while it waits for a pipe
        return INTERRUPTED
    if plan.checked:
        os.environ["PYPTO_TWIN"] = "checked"
    if plan.assumptions:
        os.environ["PYPTO_ASSUME"] = plan.assumptions
    if plan.dump is not None:
        _dump.set_request(plan.dump)
    return _execute(plan, text)


def _read(arguments: Sequence[str]) -> _Plan:
    given = list(arguments)
    cut = given.index("--") if "--" in given else len(given)
    mine, passed = given[:cut], given[cut + 1 :]
    levels: str | None = None
    directory: str | None = None
    checked = False
    assumptions: list[str] = []
    rest: list[str] = []
    while mine:
        word = mine.pop(0)
        option, equals, value = word.partition("=")
        if option == "--dump":
            levels = value
        elif word == "--checked":
            checked = True
        elif option == "--assume":
            if not equals and not mine:
                raise _UsageError("--assume needs RULE=CHOICE")
            assumptions.append(value if equals else mine.pop(0))
        elif option == "--dump-dir":
            if not equals and not mine:
                raise _UsageError("--dump-dir needs a directory")
            directory = value if equals else mine.pop(0)
            if not directory:
                raise _UsageError("--dump-dir needs a directory")
        elif not rest and word.startswith("-") and not os.path.lexists(word):
            raise _UsageError(_unknown(word))
        else:
            rest.append(word)
    if not rest:
        raise _UsageError("which file?")
    file, *own = rest
    _check_file(file)
    why = None if directory is None else directory_problem(directory)
    if why is not None:
        raise _UsageError(
            f"--dump-dir cannot be used: {directory}: {why}; name a directory that you can write"
        )
    place = None if directory is None else absolute(directory, "--dump-dir")
    dump = None
    if levels is not None or directory is not None:
        dump = _dump.DumpRequest(_dump.parse_levels(levels or ""), place)
    if assumptions:
        from pypto.build import assume

        assume.named("fast", " ".join(assumptions))  # says what is wrong with them
    return _Plan(file, (*own, *passed), dump, checked, " ".join(assumptions))


def _unknown(option: str) -> str:
    near = nearest(option.partition("=")[0], _OPTIONS)
    advice = f"did you mean {near}?" if near else "options of the program come after FILE"
    return f"{option} is no option of this command; {advice}"


def _check_file(file: str) -> None:
    problem = opening_problem(file, regular=False)
    if problem is None and os.path.isdir(file):
        inside = os.path.join(file, "__main__.py")
        if not os.path.exists(inside) and not os.path.exists(f"{inside}c"):
            problem = f"{file} is a directory without a __main__.py; name a file in it"
    if problem is not None:
        raise _UsageError(problem)


def _execute(plan: _Plan, text: bytes | None) -> int:
    """Run the program; its ``text`` where the file can be read only once."""
    sys.argv[:] = [plan.file, *plan.arguments]
    try:
        # From the root on, as Python makes it: the program may change the directory.
        path = absolute(plan.file, "pypto run")
    except PyptoError as error:
        print(error, file=sys.stderr)
        return 1
    sys.path.insert(0, os.path.dirname(path))
    try:
        if text is not None:
            lines = io.StringIO(importlib.util.decode_source(text)).readlines()
            # Without a time, linecache takes it as it is: kernels and tracebacks find lines there.
            linecache.cache[path] = (len(text), None, lines, path)
            _run_text(path, text)
        elif path.endswith(".pyc") or pkgutil.get_importer(path) is not None:
            runpy.run_path(path, run_name="__main__")  # compiled, a directory, an archive
        else:
            with open(path, "rb") as file:
                _run_text(path, file.read())
    except SystemExit as leaving:
        return _exit_code(leaving)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BaseException as error:
        show_exception(error)
        return 1
    return 0


def _run_text(file: str, text: bytes) -> None:
    """What ``runpy.run_path`` does, which opens a file twice (a pipe is empty by then), and puts
    what it is given in ``sys.argv``."""
    module = types.ModuleType("__main__")
    vars(module).update(__file__=file, __cached__=None)
    code = compile(text, file, "exec")
    before = sys.modules["__main__"]
    sys.modules["__main__"] = module
    try:
        exec(code, vars(module))
    finally:
        sys.modules["__main__"] = before


def _exit_code(leaving: SystemExit) -> int:
    if leaving.code is None:
        return 0
    if isinstance(leaving.code, int):
        return leaving.code
    print(leaving.code, file=sys.stderr)
    return 1
