"""``pypto compile``: build the kernels of a file or module ahead of their first call."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, Any

from pypto._paths import directory_problem
from pypto.cli.frames import show_exception
from pypto.cli.parameters import Given, advised, read_given
from pypto.cli.program import NotPossible, OfTheModule, kernels_of
from pypto.error import ParserError, PyptoError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

__all__ = ["compile_command"]


def compile_command(parsed: argparse.Namespace) -> int:
    """Compile, report a line for each kernel; the exit code."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    try:
        _check_request(parsed)
        kernels = kernels_of(parsed.module)
        given = read_given(parsed.shape, parsed.value, kernels)
        if parsed.target == "source":
            _check_output(parsed.output, kernels)
    except ParserError as error:  # the file is no Python text
        print(f"pypto compile: {error}", file=sys.stderr)
        return 1
    except (NotPossible, PyptoError) as error:
        print(f"pypto compile: {error}", file=sys.stderr)
        return 2
    except OfTheModule as error:
        _show_import_error(error)
        return 1
    jobs = min(len(kernels), parsed.jobs or os.cpu_count() or 1)
    how = {"target": parsed.target, "arch": parsed.arch, "directory": parsed.output}
    return _compile_all(kernels, how, given, jobs, console)


def _check_request(parsed: argparse.Namespace) -> None:
    """Refuse what makes no sense whatever the kernels are."""
    if parsed.jobs is not None and parsed.jobs < 1:
        raise NotPossible(f"-j needs a positive number of compilations, got {parsed.jobs}")
    if parsed.target == "npu":
        _require_npu_toolchain()
    if parsed.arch is not None:
        _check_arch(parsed.arch)
    if parsed.output is not None and parsed.target != "source":
        raise NotPossible("--output goes with --target source; binaries go to the cache")
    if parsed.output == "":
        raise NotPossible("--output needs a directory")


def _check_output(directory: str | None, kernels: Mapping[str, Any]) -> None:
    """Refuse a directory that cannot be written, and two kernels that would write one file."""
    first: dict[str, str] = {}
    for name, kernel in kernels.items():
        other = first.setdefault(kernel.__name__, name)
        if kernels[other] is not kernel:
            raise NotPossible(
                f"the kernels {other} and {name} would both be written to {kernel.__name__}.cpp; "
                "name one of them: FILE_OR_MODULE:KERNEL"
            )
    why = None if directory is None else directory_problem(directory)
    if why is not None:
        raise NotPossible(
            f"--output cannot be used: {directory}: {why}; name a directory that you can write"
        )


def _show_import_error(error: OfTheModule) -> None:
    cause = error.__cause__
    assert cause is not None
    show_exception(cause)
    if isinstance(cause, SystemExit):
        print(
            f"pypto compile: {error.place} ended the program while it was imported; put what only "
            'a run should do under `if __name__ == "__main__":`',
            file=sys.stderr,
        )
    elif isinstance(cause, ImportError) and "no known parent package" in str(cause):
        parts = os.path.splitext(os.path.normpath(error.place))[0].split(os.sep)
        print(
            "pypto compile: a file that imports from its package is compiled by its module's name: "
            f"pypto compile {'.'.join(parts[-2:])}",
            file=sys.stderr,
        )


def _compile_all(
    kernels: Mapping[str, Any],
    how: Mapping[str, str | None],
    given: Mapping[str, Given],
    jobs: int,
    console: Console,
) -> int:
    from rich.progress import Progress

    counts = {"compiled": 0, "cached": 0, "failed": 0}
    width = max(len(name) for name in kernels)
    with (
        Progress(console=console, transient=True, disable=not console.is_terminal) as progress,
        ThreadPoolExecutor(jobs) as pool,
    ):
        task = progress.add_task("compiling", total=len(kernels))
        running = {}
        for name, kernel in kernels.items():
            own = given[name]
            future = pool.submit(kernel.compile, **how, shapes=own.shapes, values=own.values)
            running[future] = name
        try:
            for future in as_completed(running):
                name, defect = running[future], future.exception()
                state = "failed" if defect is not None else future.result().state
                counts[state] += 1
                if defect is not None:
                    _show_defect(name, width, defect, console)
                else:
                    _show(name, width, future.result(), kernels[name], console)
                progress.advance(task)
        except BaseException:  # an interrupt: what has begun is ended, the rest is left
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    total = f"{len(kernels)} kernel{'s' if len(kernels) != 1 else ''}"
    console.print(f"{total}: " + ", ".join(f"{n} {state}" for state, n in counts.items()))
    return 1 if counts["failed"] else 0


def _show(name: str, width: int, report: Any, kernel: Any, console: Console) -> None:
    from rich.text import Text

    line = _line(name, width, report.state)
    if report.state != "failed":
        line.append(f"  {report.seconds:6.2f} s  {report.key[:12]}  {report.path}")
    console.print(line)
    if report.error is not None:
        console.print(Text(advised(report.error, kernel)))


def _line(name: str, width: int, state: str) -> Text:
    from rich.text import Text

    style = {"compiled": "green", "cached": "cyan", "failed": "bold red"}[state]
    line = Text(f"{name:{width}}  ")
    line.append(f"{state:8}", style)
    return line


def _show_defect(name: str, width: int, error: BaseException, console: Console) -> None:
    """The line of a kernel whose compilation raised what pypto never raises on purpose."""
    from rich.text import Text

    if not isinstance(error, Exception):
        raise error
    console.print(_line(name, width, "failed"))
    console.print(Text("".join(traceback.format_exception(error)).rstrip()))
    console.print(
        "This is a defect of pypto, not of the kernel: please report it with the kernel's text."
    )


def _check_arch(arch: str) -> None:
    from pypto import target

    target.get(arch)


def _require_npu_toolchain() -> None:
    """Say all that is missing for NPU binaries on this machine."""
    from pypto.cli.doctor import cann_problems

    missing = cann_problems()
    raise NotPossible(
        "kernels cannot be built for the NPU here:\n"
        + "".join(f"  {problem}\n" for problem in missing)
        + "  This version writes the Ascend C text (--target source) and builds for the CPU "
        "(--target cpu)."
    )
