"""``pypto compile``: build the kernels of a file or module ahead of their first call."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pypto.cli.frames import show_exception
from pypto.error import PyptoError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["compile_command"]


class _OfTheModule(Exception):
    """The module raised the cause of this while it was imported."""


class _NotHere(Exception):
    """What was asked for cannot be done; the text says what is missing or wrong."""


def compile_command(parsed: argparse.Namespace) -> int:
    """Compile, report a line for each kernel; the exit code."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    try:
        shapes = _shapes(parsed.shape)
        if parsed.jobs is not None and parsed.jobs < 1:
            raise _NotHere(f"-j needs a positive number of compilations, got {parsed.jobs}")
        if parsed.target == "npu":
            _require_npu_toolchain()
        if parsed.arch is not None:
            _check_arch(parsed.arch)
        kernels = _kernels(parsed.module)
        _check_shapes(shapes, kernels)
        if parsed.output is not None and parsed.target != "source":
            raise _NotHere("--output goes with --target source; binaries go to the cache")
    except (_NotHere, PyptoError) as error:
        print(f"pypto compile: {error}", file=sys.stderr)
        return 2
    except _OfTheModule as error:
        assert error.__cause__ is not None
        show_exception(error.__cause__)
        return 1
    jobs = min(len(kernels), parsed.jobs or os.cpu_count() or 1)
    how = {"target": parsed.target, "arch": parsed.arch, "directory": parsed.output}
    return _compile_all(kernels, how, shapes, jobs, console)


def _compile_all(
    kernels: Mapping[str, Any],
    how: Mapping[str, str | None],
    shapes: Mapping[str, tuple[int, ...]],
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
            chosen = {key: value for key, value in shapes.items() if key in _parameters(kernel)}
            future = pool.submit(kernel.compile, **how, shapes=chosen)
            running[future] = name
        for future in as_completed(running):
            report = future.result()
            counts[report.state] += 1
            _show(running[future], width, report, console)
            progress.advance(task)
    total = f"{len(kernels)} kernel{'s' if len(kernels) != 1 else ''}"
    console.print(f"{total}: " + ", ".join(f"{n} {state}" for state, n in counts.items()))
    return 1 if counts["failed"] else 0


def _show(name: str, width: int, report: Any, console: Console) -> None:
    from rich.text import Text

    style = {"compiled": "green", "cached": "cyan", "failed": "bold red"}[report.state]
    line = Text(f"{name:{width}}  ")
    line.append(f"{report.state:8}", style)
    if report.state != "failed":
        line.append(f"  {report.seconds:6.2f} s  {report.key[:12]}  {report.path}")
    console.print(line)
    if report.error is not None:
        console.print(Text(str(report.error)))


def _shapes(given: list[str]) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {}
    for text in given:
        name, equals, sizes = text.partition("=")
        try:
            if not equals or not name.isidentifier():
                raise ValueError
            shape = tuple(int(size) for size in sizes.split(",")) if sizes else ()
            if any(size < 0 for size in shape):
                raise ValueError
        except ValueError:
            raise _NotHere(
                f"--shape takes NAME=SIZE,SIZE,... with sizes of 0 or more, got '{text}'"
            ) from None
        shapes[name] = shape
    return shapes


def _check_shapes(shapes: Mapping[str, object], kernels: Mapping[str, Any]) -> None:
    known = {name for kernel in kernels.values() for name in _parameters(kernel)}
    for name in shapes:
        if name not in known:
            raise _NotHere(
                f"--shape names {name}, which is a parameter of no kernel here; "
                f"there are {', '.join(sorted(known))}"
            )


def _check_arch(arch: str) -> None:
    from pypto import target

    target.get(arch)


def _require_npu_toolchain() -> None:
    """Say all that is missing for NPU binaries on this machine."""
    from pypto.cli.doctor import cann_problems

    missing = cann_problems()
    raise _NotHere(
        "kernels cannot be built for the NPU here:\n"
        + "".join(f"  {problem}\n" for problem in missing)
        + "  This version writes the Ascend C text (--target source) and builds for the CPU "
        "(--target cpu)."
    )


def _kernels(text: str) -> dict[str, Any]:
    """The kernels that ``text`` (``FILE_OR_MODULE[:KERNEL]``) means, by name."""
    place, _, wanted = text.partition(":")
    module = _load(place)
    from pypto._jit import JitFunction

    found = {name: value for name, value in vars(module).items() if isinstance(value, JitFunction)}
    if not found:
        raise _NotHere(f"{place} has no kernel: no function with @pypto.frontend.jit")
    if not wanted:
        return found
    if wanted not in found:
        raise _NotHere(f"{place} has no kernel '{wanted}'; it has {', '.join(sorted(found))}")
    return {wanted: found[wanted]}


def _load(place: str) -> ModuleType:
    """Import the file or module. Raises _OfTheModule for what it raises itself."""
    if os.path.isdir(place) and (os.sep in place or not place.isidentifier()):
        raise _NotHere(f"{place} is a directory; name a file in it, or a module")
    if os.path.isfile(place) and not place.endswith(".py"):
        raise _NotHere(f"{place} is not a Python file: its name does not end in .py")
    if not (place.endswith(".py") or os.sep in place):
        if not all(part.isidentifier() for part in place.split(".")):
            raise _NotHere(f"'{place}' is neither a Python file nor the name of a module")
        sys.path.insert(0, os.getcwd())
        try:
            if importlib.util.find_spec(place) is None:
                raise _NotHere(f"there is no module and no file '{place}'")
        except ModuleNotFoundError as error:  # a parent package is missing
            raise _NotHere(f"there is no module '{error.name}'") from error
        with _shown():
            return importlib.import_module(place)
    if not os.path.isfile(place):
        raise _NotHere(f"there is no file {place}")
    name = os.path.splitext(os.path.basename(place))[0]
    sys.path.insert(0, os.path.dirname(os.path.abspath(place)))
    spec = importlib.util.spec_from_file_location(name, place)
    if spec is None or spec.loader is None:
        raise _NotHere(f"{place} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with _shown():
        spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def _shown() -> Iterator[None]:
    try:
        yield
    except PyptoError:
        raise
    except Exception as error:
        raise _OfTheModule from error


def _parameters(kernel: Any) -> tuple[str, ...]:
    return tuple(kernel.signature.parameters)
