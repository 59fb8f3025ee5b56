"""Operations that move elements, on large tensors: pypto beside torch, which writes to ``out``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

from bench import kernels
from bench.measure import Contender, Goal, Result, compare, judge

__all__ = ["concat", "pad", "transpose"]


def _moved(
    name: str,
    title: str,
    inputs: tuple[torch.Tensor, ...],
    kernel: Callable[..., object],
    formula: Callable[..., torch.Tensor],
    into: Callable[..., object],
    goals: tuple[Goal, ...],
    rounds: int,
) -> Result:
    expected = formula(*inputs)

    def contender(label: str, run: Callable[..., object]) -> Contender:
        out = torch.zeros(expected.shape)
        call = partial(run, *inputs, out)

        def check() -> None:
            out.fill_(float("nan"))
            call()
            assert torch.equal(out, expected)

        return Contender(label, call, check)

    contenders = [
        contender("pypto", kernel),
        Contender("torch eager (allocates)", lambda: formula(*inputs)),
        contender("torch out=", into),
    ]
    timings = compare(contenders, rounds)
    bytes_moved = sum(t.numel() * t.element_size() for t in (*inputs, expected))
    return Result(
        name, title, "torch out=", timings, frozenset(), bytes_moved, judge(goals, timings)
    )


_GOALS = (Goal("pypto", 1.0, "torch out="),)


def transpose(rounds: int) -> Result:
    """x.t() of 4096 x 4096 fp32."""
    x = torch.randn(kernels.ROWS, kernels.COLUMNS)
    return _moved(
        "transpose", "x.t(), 4096 x 4096 fp32", (x,), kernels.transpose,
        lambda a: a.t().contiguous(), lambda a, out: out.copy_(a.t()), _GOALS, rounds,
    )  # fmt: skip


def concat(rounds: int) -> Result:
    """Two halves of 4096 x 2048 fp32 side by side."""
    x, y = (torch.randn(kernels.ROWS, kernels.COLUMNS // 2) for _ in range(2))
    return _moved(
        "concat", "concat([x, y], -1), 4096 x 2048 fp32 each", (x, y), kernels.concat,
        lambda a, b: torch.cat([a, b], -1), lambda a, b, out: torch.cat([a, b], -1, out=out),
        _GOALS, rounds,
    )  # fmt: skip


def pad(rounds: int) -> Result:
    """4000 x 4000 fp32 to 4096 x 4096."""
    x = torch.randn(4000, 4000)
    sizes = [0, 96, 0, 96]

    def into(a: torch.Tensor, out: torch.Tensor) -> None:
        out[:4000, :4000] = a
        out[:4000, 4000:] = 0
        out[4000:] = 0

    return _moved(
        "pad", "pad(x, [0, 96, 0, 96]), 4000 x 4000 fp32", (x,), kernels.pad,
        lambda a: torch.nn.functional.pad(a, sizes), into, _GOALS, rounds,
    )  # fmt: skip
