"""How long pypto takes to compile long kernels, phase by phase, and how that grows with them.

What is read for a kind and a length is the CPU time of each phase; the exponent of growth is the
slope between the two longest kernels: 1 is linear. Imports and Jinja's templates are loaded before.
"""

from __future__ import annotations

import gc
import linecache
import math
import statistics
import time
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.long_kernels import KINDS
from bench.measure import Goal, Outcome, Result, Timing
from pypto import passes, target
from pypto._collector import CollectorPause
from pypto._options import Options
from pypto._recursion import deep_recursion
from pypto.codegen.kernel import generate
from pypto.codegen.render import render_cpu_wrapper, render_kernel
from pypto.elaborate import KernelSource, driver, elaborate
from pypto.elaborate.annotations import signature_of
from pypto.error import PyptoError
from pypto.ir.expr import forget_applied

__all__ = ["LENGTHS", "compile_times", "kernel_of", "phases_of"]

LENGTHS = (100, 300, 1500)
_FRONT = 0.3
"""CPU seconds that parsing, elaboration and passes of 300 statements may take together."""
_GROWTH = 1.2
"""The exponent of growth that measures linear time: other programs disturb it."""
_ERROR = 0.01
"""CPU seconds that an error may take beyond evaluating the statements before it."""
_PASSES = ("decompose", "check_tiles", "simplify", "localize", "schedule")


def compile_times(rounds: int) -> Result:
    """All kinds of kernels at all lengths: a table of phases, and the goals."""
    phases_of(kernel_of("chain", 20))  # what a process loads and learns once
    console = Console(highlight=False)
    timings: dict[str, Timing] = {}
    outcomes: list[Outcome] = []
    for kind in KINDS:
        seen: dict[int, dict[str, float]] = {}
        for length in LENGTHS:
            function = kernel_of(kind, length)
            taken = [phases_of(function) for _ in range(rounds if length < 1000 else 1)]
            seen[length] = {phase: min(one[phase] for one in taken) for phase in taken[0]}
            totals = tuple(sum(one.values()) for one in taken)
            timings[f"{kind} of {length}"] = Timing(totals, totals)
        console.print(_table(kind, seen))
        outcomes += _judge(kind, seen)
    outcomes.append(_error(rounds))
    title = "CPU time of compilations without the C++ compiler"
    return Result("compile", title, f"chain of {LENGTHS[0]}", timings, outcomes=tuple(outcomes))


def kernel_of(kind: str, length: int, text: str | None = None) -> types.FunctionType:
    """The kernel of ``kind``, or of ``text``, in a module of its own without a file."""
    text = KINDS[kind](length) if text is None else text
    name = f"<{kind} of {length}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    module = types.ModuleType(kind)
    exec(compile(text, name, "exec", dont_inherit=True), vars(module))
    made: types.FunctionType = vars(module)["k"]
    return made


def phases_of(function: types.FunctionType) -> dict[str, float]:
    """CPU seconds of each phase of one compilation."""
    forget_applied()  # as in a new process
    gc.collect()
    with CollectorPause():  # as in a first call
        return _phases(function)


def _phases(function: types.FunctionType) -> dict[str, float]:
    spent: dict[str, float] = {}
    source, signature = KernelSource.capture(function), signature_of(function)
    with _timed(driver, "parse", spent):
        started = time.process_time()
        kernel = elaborate(source, signature, Options(), {}).kernel
        spent["elaborate"] = time.process_time() - started - spent["parse"]
    with deep_recursion():
        with _all_timed(passes, _PASSES, spent):
            started, before = time.process_time(), sum(spent.values())
            program = passes.lower(kernel, signature.alias, target.get())
            inside = sum(spent.values()) - before
            spent["plan"] = time.process_time() - started - inside
        started = time.process_time()
        generated = generate(program, target.get())
        spent["generate"] = time.process_time() - started
        started = time.process_time()
        render_kernel(generated.kernel)
        render_cpu_wrapper((generated.wrapper,))
        spent["render"] = time.process_time() - started
    return spent


@contextmanager
def _timed(module: types.ModuleType, name: str, spent: dict[str, float]) -> Iterator[None]:
    """Add to ``spent`` what calls of a function of ``module`` take inside."""
    run: Callable[..., Any] = getattr(module, name)
    spent[name] = 0.0

    @wraps(run)
    def timed(*args: Any, **kwargs: Any) -> Any:
        started = time.process_time()
        try:
            return run(*args, **kwargs)
        finally:
            spent[name] += time.process_time() - started

    setattr(module, name, timed)
    try:
        yield
    finally:
        setattr(module, name, run)


@contextmanager
def _all_timed(
    module: types.ModuleType, names: tuple[str, ...], spent: dict[str, float]
) -> Iterator[None]:
    if not names:
        yield
        return
    with _timed(module, names[0], spent), _all_timed(module, names[1:], spent):
        yield


def _growth(short: float, long: float) -> float:
    """The exponent of time over length between the two longest kernels."""
    return math.log(max(long, 1e-6) / max(short, 1e-6)) / math.log(LENGTHS[-1] / LENGTHS[-2])


def _table(kind: str, seen: dict[int, dict[str, float]]) -> Table:
    doc = (KINDS[kind].__doc__ or "").strip()
    table = Table(title=f"{kind}: {doc} Milliseconds of CPU", title_justify="left")
    table.add_column("phase")
    for length in LENGTHS:
        table.add_column(str(length), justify="right")
    table.add_column("growth", justify="right")
    rows = {phase: [seen[length][phase] for length in LENGTHS] for phase in seen[LENGTHS[0]]}
    rows["all"] = [sum(seen[length].values()) for length in LENGTHS]
    for phase, row in rows.items():
        style = "bold" if phase == "all" else ""
        times = [f"{1e3 * one:.0f}" for one in row]
        table.add_row(phase, *times, f"{_growth(row[-2], row[-1]):.2f}", style=style)
    return table


def _judge(kind: str, seen: dict[int, dict[str, float]]) -> list[Outcome]:
    front = sum(t for phase, t in seen[300].items() if phase not in ("generate", "render"))
    growth = _growth(*(sum(seen[length].values()) for length in LENGTHS[-2:]))
    exponent = Goal(f"{kind}: exponent of growth", _GROWTH, "the length of the kernel")
    return [
        Outcome(Goal(f"{kind} of 300, to the passes", _FRONT), front),
        Outcome(exponent, growth),
    ]


def _error(rounds: int) -> Outcome:
    """What a mistake in the last line of a kernel of 300 statements takes, and its message, beyond
    what the front end takes for the statements before it: the same kernel without that line."""
    text = KINDS["nested"](300)
    right = kernel_of("mistaken without its last line", 300, text)
    wrong = kernel_of("mistaken", 300, text + "    o[:] = undefined\n")
    beyond = []
    for _ in range(2 * rounds + 1):
        before, _ = _front_end(right)
        behind, said = _front_end(wrong)
        assert "undefined" in said
        beyond.append(behind - before)
    goal = Goal("an error behind 300 statements, beyond evaluating them", _ERROR)
    return Outcome(goal, statistics.median(beyond))


def _front_end(function: types.FunctionType) -> tuple[float, str]:
    """CPU seconds of the front end, and what it has to say."""
    forget_applied()
    gc.collect()
    with CollectorPause():
        started = time.process_time()
        said = ""
        try:
            elaborate(KernelSource.capture(function), signature_of(function), Options(), {})
        except PyptoError as error:
            said = str(error)
        return time.process_time() - started, said
