"""What a warm call costs: 256 elements, eight triples of tensors in turn."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from bench import kernels
from bench.measure import Contender, Goal, Result, compare, judge
from bench.native_build import raw_call

__all__ = ["call"]

_TRIPLES = 8
_LOOPS = 250


def call(rounds: int) -> Result:
    """x + y of (1, 4, 1, 64): microseconds per call, with 0, 3 and 10 captured globals."""
    tensors = [tuple(torch.rand(kernels.SMALL) for _ in range(3)) for _ in range(_TRIPLES)]
    arrays = [tuple(t.numpy() for t in triple) for triple in tensors]
    addresses = [(*(t.data_ptr() for t in triple), triple[0].numel()) for triple in tensors]
    compiled = torch.compile(lambda a, b, out: out.copy_(a + b))

    contenders = [
        *(_kernel(count, kernel, tensors) for count, kernel in _KERNELS.items()),
        _contender("torch.add(out=)", _torch_out, tensors),
        _contender("torch eager (allocates)", _torch_eager, tensors),
        _contender("torch.compile into out", partial(_plain, compiled), tensors),
        _contender("numpy.add(out=)", _numpy_out, arrays),
        _contender("numba", partial(_plain, _numba_serial()), arrays),
        Contender(
            "C function, addresses, no checks",
            partial(_raw, raw_call().add, addresses),
            calls=_TRIPLES * _LOOPS,
            limit=True,
        ),
    ]
    timings = compare(contenders, rounds)
    goals = [Goal(f"pypto, {count} captured", 1.0, "torch.add(out=)") for count in _KERNELS]
    return Result(
        "call",
        "a warm call: x + y, 256 fp32 elements, eight triples of tensors in turn",
        "torch.add(out=)",
        timings,
        frozenset(contender.name for contender in contenders if contender.limit),
        outcomes=judge(goals, timings),
    )


_KERNELS: dict[int, Any] = {0: kernels.small_0, 3: kernels.small_3, 10: kernels.small_10}


def _kernel(count: int, kernel: Any, tensors: list[Any]) -> Contender:
    def check() -> None:
        for x, y, out in tensors:
            out.fill_(float("nan"))
            kernel(x, y, out)
            torch.testing.assert_close(out, x + y + sum(range(count)))

    run = partial(_plain, kernel, tensors)
    return Contender(f"pypto, {count} captured", run, check, calls=_TRIPLES * _LOOPS)


def _contender(name: str, run: Callable[[list[Any]], None], operands: list[Any]) -> Contender:
    return Contender(name, partial(run, operands), calls=_TRIPLES * _LOOPS)


# One loop each, alike in form, so that the loop itself costs everybody the same.


def _plain(function: Any, triples: list[Any]) -> None:
    for _ in range(_LOOPS):
        for x, y, out in triples:
            function(x, y, out)


def _torch_out(triples: list[Any]) -> None:
    add = torch.add
    for _ in range(_LOOPS):
        for x, y, out in triples:
            add(x, y, out=out)


def _torch_eager(triples: list[Any]) -> None:
    add = torch.add
    for _ in range(_LOOPS):
        for x, y, _out in triples:
            add(x, y)


def _numpy_out(triples: list[Any]) -> None:
    add = np.add
    for _ in range(_LOOPS):
        for x, y, out in triples:
            add(x, y, out=out)


def _raw(function: Any, addresses: list[Any]) -> None:
    for _ in range(_LOOPS):
        for x, y, out, count in addresses:
            function(x, y, out, count)


def _numba_serial() -> Callable[..., object]:
    from numba import njit

    @njit
    def run(x, y, out):  # type: ignore[no-untyped-def]
        for i in range(x.shape[1]):
            for k in range(x.shape[3]):
                out[0, i, 0, k] = x[0, i, 0, k] + y[0, i, 0, k]

    result: Callable[..., object] = run
    return result
