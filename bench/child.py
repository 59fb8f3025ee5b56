"""One measurement in a new process: ``python -m bench.child MODE`` prints JSON seconds by name.

Nothing is imported up here that a mode wants to time.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

__all__ = ["MODES"]


def bare_import() -> dict[str, float]:
    """CPU seconds of ``import pypto``."""
    started = time.process_time()
    import pypto  # noqa: F401

    return {"seconds": time.process_time() - started}


def first_call() -> dict[str, float]:
    """Wall seconds of ``import pypto``, the decorator and the first call; torch is there before."""
    import torch

    x, y, out = torch.rand(1, 4, 1, 64), torch.rand(1, 4, 1, 64), torch.zeros(1, 4, 1, 64)
    started = time.perf_counter()
    from bench.start_kernels import gelu

    gelu(x, y, out)
    seconds = time.perf_counter() - started
    _check(x, y, out)
    return {"seconds": seconds}


def running_process() -> dict[str, float]:
    """Median wall seconds of the first calls of kernels in a process that compiled one before."""
    import statistics

    import torch

    from bench.start_kernels import gelu, scaled

    x, y, out = torch.rand(1, 4, 1, 64), torch.rand(1, 4, 1, 64), torch.zeros(1, 4, 1, 64)
    gelu(x, y, out)
    times = []
    for number in range(5):
        kernel = scaled(2.0 + number)
        started = time.perf_counter()
        kernel(x, y, out)
        times.append(time.perf_counter() - started)
        torch.testing.assert_close(out, x * (2.0 + number) + y)
    return {"seconds": statistics.median(times)}


def torch_compile() -> dict[str, float]:
    """Wall seconds of the first call of torch.compile's kernel, its import included."""
    import torch

    from bench.rivals import gelu_formula

    x, y = torch.rand(1, 4, 1, 64), torch.rand(1, 4, 1, 64)
    started = time.perf_counter()
    out = torch.compile(gelu_formula)(x, y)
    seconds = time.perf_counter() - started
    _check(x, y, out)
    return {"seconds": seconds}


def numba_cached() -> dict[str, float]:
    """Wall seconds of ``import numba`` and the first call of a kernel with ``cache=True``."""
    import numpy  # noqa: F401  (timed apart, as torch is for pypto)
    import torch

    x, y, out = torch.rand(4, 64), torch.rand(4, 64), torch.zeros(4, 64)
    started = time.perf_counter()
    from bench.start_numba import gelu

    gelu(x.numpy(), y.numpy(), out.numpy())
    seconds = time.perf_counter() - started
    _check(x, y, out)
    return {"seconds": seconds}


def _check(x: object, y: object, out: object) -> None:
    import torch

    from bench.rivals import gelu_formula

    assert isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor)
    torch.testing.assert_close(out, gelu_formula(x, y), rtol=2e-5, atol=1e-5)


MODES: dict[str, Callable[[], dict[str, float]]] = {
    mode.__name__: mode
    for mode in (bare_import, first_call, running_process, torch_compile, numba_cached)
}

if __name__ == "__main__":
    print(json.dumps(MODES[sys.argv[1]]()))
