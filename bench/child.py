"""One measurement in a new process: ``python -m bench.child MODE`` prints its seconds as JSON.

Nothing is imported up here that a mode wants to time.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

__all__ = ["MODES"]


class _Clock:
    """Seconds since it was made: wall time, and CPU time with that of compilers started."""

    def __init__(self) -> None:
        self._cpu = _cpu()
        self._wall = time.perf_counter()

    def read(self) -> dict[str, float]:
        return {"wall": time.perf_counter() - self._wall, "cpu": _cpu() - self._cpu}


def _cpu() -> float:
    used = os.times()
    return time.process_time() + used.children_user + used.children_system


def bare_import() -> dict[str, float]:
    """``import pypto``."""
    clock = _Clock()
    import pypto  # noqa: F401

    return clock.read()


def first_call() -> dict[str, float]:
    """``import pypto``, the decorator and the first call; torch is there before."""
    tensors = _tensors()
    clock = _Clock()
    from bench.start_kernels import gelu

    return _called(gelu, tensors, clock)


def import_and_decorate() -> dict[str, float]:
    """``import pypto`` and the decorator; torch is there before."""
    import torch  # noqa: F401

    clock = _Clock()
    from bench.start_kernels import gelu  # noqa: F401

    return clock.read()


def call() -> dict[str, float]:
    """From a decorated kernel's first call to its result."""
    from bench.start_kernels import gelu

    tensors = _tensors()
    return _called(gelu, tensors, _Clock())


def running_process() -> dict[str, float]:
    """The median of the first calls of kernels in a process that compiled one before."""
    import statistics

    import torch

    from bench.start_kernels import gelu, scaled

    x, y, out = _tensors()
    gelu(x, y, out)
    taken = []
    for number in range(5):
        kernel = scaled(2.0 + number)
        clock = _Clock()
        kernel(x, y, out)
        taken.append(clock.read())
        torch.testing.assert_close(out, x * (2.0 + number) + y)
    return {kind: statistics.median(one[kind] for one in taken) for kind in ("wall", "cpu")}


def torch_compile() -> dict[str, float]:
    """The first call of torch.compile's kernel, its import included."""
    import torch

    from bench.rivals import gelu_formula

    x, y = torch.rand(1, 4, 1, 64), torch.rand(1, 4, 1, 64)
    clock = _Clock()
    out = torch.compile(gelu_formula)(x, y)
    taken = clock.read()
    _check(x, y, out)
    return taken


def numba_cached() -> dict[str, float]:
    """``import numba`` and the first call of a kernel with ``cache=True``."""
    import numpy  # noqa: F401  (timed apart, as torch is for pypto)
    import torch

    x, y, out = torch.rand(4, 64), torch.rand(4, 64), torch.zeros(4, 64)
    clock = _Clock()
    from bench.start_numba import gelu

    gelu(x.numpy(), y.numpy(), out.numpy())
    taken = clock.read()
    _check(x, y, out)
    return taken


def _tensors() -> tuple[Any, Any, Any]:
    """Two operands and an output; imports torch."""
    import torch

    return torch.rand(1, 4, 1, 64), torch.rand(1, 4, 1, 64), torch.zeros(1, 4, 1, 64)


def _called(kernel: Any, tensors: tuple[Any, Any, Any], clock: _Clock) -> dict[str, float]:
    """What the clock says when the kernel has run; its result is checked."""
    kernel(*tensors)
    taken = clock.read()
    _check(*tensors)
    return taken


def _check(x: object, y: object, out: object) -> None:
    import torch

    from bench.rivals import gelu_formula

    assert isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor)
    torch.testing.assert_close(out, gelu_formula(x, y), rtol=2e-5, atol=1e-5)


MODES: dict[str, Callable[[], dict[str, float]]] = {
    mode.__name__: mode
    for mode in (
        bare_import,
        import_and_decorate,
        first_call,
        call,
        running_process,
        torch_compile,
        numba_cached,
    )
}

if __name__ == "__main__":
    print(json.dumps(MODES[sys.argv[1]]()))
