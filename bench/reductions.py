"""Reductions and running sums of large tensors, along several axes: pypto beside torch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

from bench import reduction_kernels as kernels
from bench.measure import Contender, Goal, Result, compare, judge

__all__ = [
    "amax_first", "argmax_last", "cumsum_first", "cumsum_last", "softmax_first", "sum_first",
    "sum_last", "sum_middle",
]  # fmt: skip

SQUARE = (4096, 4096)


def _checked(
    name: str, run: Callable[[], object], out: torch.Tensor, right: torch.Tensor
) -> Contender:
    def check() -> None:
        out.fill_(77)
        run()
        torch.testing.assert_close(out, right.to(out.dtype), rtol=2e-5, atol=2e-3)

    return Contender(name, run, check)


def _case(
    name: str,
    title: str,
    kernel: Callable[..., object],
    eager: Callable[..., object],
    bound: float,
    rounds: int,
    shape: tuple[int, ...] = SQUARE,
) -> Result:
    """``eager``: torch's function of a tensor and ``out``. ``bound``: of the time against it."""
    x = torch.randn(shape)
    right = eager(x.double())
    assert isinstance(right, torch.Tensor)
    places = right.dtype == torch.int64
    own = torch.zeros(right.shape, dtype=torch.int32 if places else torch.float32)
    its = torch.zeros(right.shape, dtype=torch.int64 if places else torch.float32)
    timings = compare(
        [
            _checked("pypto", partial(kernel, x, own), own, right),
            _checked("torch out=", lambda: eager(x, out=its), its, right),
        ],
        rounds,
    )
    traffic = sum(t.numel() * t.element_size() for t in (x, own))
    goals = (Goal("pypto", bound, "torch out="),)
    title += f", {' x '.join(map(str, shape))} fp32"
    return Result(name, title, "torch out=", timings, frozenset(), traffic, judge(goals, timings))


def sum_first(rounds: int) -> Result:
    run = partial(torch.sum, dim=0)
    return _case("sum_first", "sum over the first axis", kernels.sum_first, run, 1.2, rounds)


def sum_middle(rounds: int) -> Result:
    run = partial(torch.sum, dim=1)
    return _case(
        "sum_middle",
        "sum over the middle axis",
        kernels.sum_middle,
        run,
        1.2,
        rounds,
        (64, 4096, 64),
    )


def sum_last(rounds: int) -> Result:
    run = partial(torch.sum, dim=1)
    return _case("sum_last", "sum over the last axis", kernels.sum_last, run, 1.2, rounds)


def amax_first(rounds: int) -> Result:
    run = partial(torch.amax, dim=0)
    return _case("amax_first", "amax over the first axis", kernels.amax_first, run, 1.1, rounds)


def argmax_last(rounds: int) -> Result:
    run = partial(torch.argmax, dim=1)
    return _case("argmax_last", "argmax over the last axis", kernels.argmax_last, run, 1.5, rounds)


def softmax_first(rounds: int) -> Result:
    run = partial(torch.softmax, dim=0)
    return _case(
        "softmax_first", "softmax over the first axis", kernels.softmax_first, run, 1.0, rounds
    )


def cumsum_first(rounds: int) -> Result:
    run = partial(torch.cumsum, dim=0)
    return _case(
        "cumsum_first", "cumsum over the first axis", kernels.cumsum_first, run, 1.0, rounds
    )


def cumsum_last(rounds: int) -> Result:
    run = partial(torch.cumsum, dim=1)
    return _case("cumsum_last", "cumsum over the last axis", kernels.cumsum_last, run, 1.5, rounds)
