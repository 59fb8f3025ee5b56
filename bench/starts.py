"""Imports and first calls, each in a process of its own with caches in a temporary directory.

Seconds in the child; CPU time includes the compilers that it starts. The interpreter's own start is
left out, and so is ``import torch``, which every program that owns tensors has paid for already.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.measure import Goal, Result, Timing, judge

__all__ = ["start"]

_REPOSITORY = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True)
class _Start:
    """``prepare`` brings the caches under its argument to the state that is measured;
    ``rounds``: at most so many, for what takes long."""

    name: str
    mode: str
    prepare: Callable[[Path], None]
    rounds: int = 99


def start(rounds: int) -> Result:
    """Import, first calls with all degrees of empty caches, and the warm start."""
    with tempfile.TemporaryDirectory(prefix="pypto-bench-") as root:
        caches = Path(root)
        times: dict[str, list[tuple[float, float]]] = {one.name: [] for one in _STARTS}
        _child("first_call", caches)  # writes bytecode, which an installed package has
        for number in range(rounds):
            for one in _STARTS:
                if number < one.rounds:
                    one.prepare(caches)
                    times[one.name].append(_child(one.mode, caches))
    timings = {
        name: Timing(tuple(wall for wall, _ in taken), tuple(cpu for _, cpu in taken))
        for name, taken in times.items()
    }
    return Result(
        "start",
        "imports and first calls in new processes",
        _COLD,
        timings,
        outcomes=judge(_GOALS, timings),
    )


_IMPORT = "import pypto"
_COLD = "pypto, first call, empty kernel cache"
_RUNNING = "pypto, first call in a running process"
_VERY_FIRST = "pypto, very first call on a machine"
_WARM = "pypto, first call, warm cache"
_WARM_CALL = "pypto, the same, from call to result"

_GOALS = (
    Goal(_IMPORT, 0.06),
    Goal(_COLD, 0.7),
    Goal(_RUNNING, 0.4),
    Goal(_VERY_FIRST, 6.0),
    Goal(_WARM_CALL, 0.02),
    Goal(_COLD, 1.0, "numba, first call, empty cache"),
    Goal(_WARM, 0.1, "numba, first call, warm cache"),
)


# They would make every start compile Python files again, or look for them elsewhere.
_DROPPED = ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "PYPTO_DUMP")


def _child(mode: str, caches: Path) -> tuple[float, float]:
    """Wall and CPU seconds."""
    environment = {
        **{name: value for name, value in os.environ.items() if name not in _DROPPED},
        "PYPTO_CACHE_DIR": str(caches / "pypto"),
        "NUMBA_CACHE_DIR": str(caches / "numba"),
        "TORCHINDUCTOR_CACHE_DIR": str(caches / "inductor"),
    }
    done = subprocess.run(
        [sys.executable, "-m", "bench.child", mode],
        cwd=_REPOSITORY,
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    taken = json.loads(done.stdout.splitlines()[-1])
    return float(taken["wall"]), float(taken["cpu"])


def _nothing(caches: Path) -> None:
    """Whatever is cached may stay."""


def _remove_kernels(caches: Path) -> None:
    """The tools that all kernels share stay; the kernels and what leads to them go."""
    for room in ("entries", "manifests"):
        shutil.rmtree(caches / "pypto" / room, ignore_errors=True)


def _remove(name: str) -> Callable[[Path], None]:
    return lambda caches: shutil.rmtree(caches / name, ignore_errors=True)


# The order matters within a round: a warm start follows the cold one that filled the cache.
_STARTS = (
    _Start(_IMPORT, "bare_import", _nothing),
    _Start("pypto, import and decorator", "import_and_decorate", _nothing),
    _Start(_VERY_FIRST, "first_call", _remove("pypto"), rounds=3),
    _Start(_COLD, "first_call", _remove_kernels),
    _Start(_WARM, "first_call", _nothing),
    _Start(_WARM_CALL, "call", _nothing),
    _Start(_RUNNING, "running_process", _remove_kernels),
    _Start("numba, first call, empty cache", "numba_cached", _remove("numba")),
    _Start("numba, first call, warm cache", "numba_cached", _nothing),
    _Start("torch.compile, first call, empty cache", "torch_compile", _remove("inductor"), 1),
    _Start("torch.compile, first call, warm cache", "torch_compile", _nothing, 1),
)
