"""One call on the checked twin beside one on the fast twin, compilation apart."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

import torch

import pypto
from bench import checked_kernels as kernels
from bench.measure import Contender, Goal, Result, compare, judge
from pypto.runtime import dispatch

__all__ = ["checked"]

_ROWS = {1: "4 KiB", 16: "64 KiB", 256: "1 MiB", 4096: "16 MiB"}
_SECONDS = 0.05
"""What a checked call on less than 1 MiB may take."""
_TIMES = 100.0
"""How much longer than on the fast twin it may take on more."""


_MEANINGS: dict[Callable[..., object], Callable[..., torch.Tensor]] = {
    kernels.add: torch.add,
    kernels.gelu: lambda x: 0.5 * x * (1 + torch.tanh(0.79788 * (x + 0.044715 * x**3))),
    kernels.softmax: lambda x: torch.softmax(x, -1),
}


def checked(rounds: int) -> Result:
    """add, GELU and softmax on 4 KiB to 16 MiB, on both twins in turn."""
    contenders: list[Contender] = []
    goals: list[Goal] = []
    for function, inputs in ((kernels.add, 2), (kernels.gelu, 1), (kernels.softmax, 1)):
        on_fast, on_checked = (_kernel(function, twin) for twin in ("fast", "checked"))
        for rows, size in _ROWS.items():
            tensors = [torch.rand(rows, kernels.COLUMNS) for _ in range(inputs)]
            expected = _MEANINGS[function](*tensors)
            fast = f"{function.__name__} of {size}, fast"
            contenders.append(_contender(fast, on_fast, tensors, expected))
            slow = f"{function.__name__} of {size}, checked"
            contenders.append(_contender(slow, on_checked, tensors, expected))
            goals.append(Goal(slow, _SECONDS) if rows < 256 else Goal(slow, _TIMES, fast))
    timings = compare(contenders, rounds)
    title = "a call on the checked twin, compilation apart"
    return Result("checked", title, contenders[0].name, timings, outcomes=judge(goals, timings))


def _kernel(function: Callable[..., object], twin: str) -> Callable[..., object]:
    """``function`` as a kernel on a build of the twin, compiled by a first call."""
    before = os.environ.get("PYPTO_TWIN")
    os.environ["PYPTO_TWIN"] = twin
    dispatch.build_kind.cache_clear()  # a program has one build; this one compares two
    try:
        kernel: Callable[..., object] = pypto.frontend.jit(function)
        kernel(*(torch.zeros(1, kernels.COLUMNS) for _ in range(function.__code__.co_argcount)))
    finally:
        if before is None:
            del os.environ["PYPTO_TWIN"]
        else:
            os.environ["PYPTO_TWIN"] = before
        dispatch.build_kind.cache_clear()
    return kernel


def _contender(
    name: str, kernel: Callable[..., object], tensors: list[torch.Tensor], expected: torch.Tensor
) -> Contender:
    out = torch.zeros_like(expected)

    def check() -> None:
        torch.testing.assert_close(out, expected, rtol=2e-5, atol=1e-5)

    return Contender(name, partial(kernel, *tensors, out), check)
