"""Whole operators on large tensors: pypto beside torch, numba, NumPy and a hand-written loop.

Every output is made and touched before it is timed, except where a tool can only allocate its
result: those contenders say so in their names.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from bench import kernels, rivals
from bench.measure import Contender, Goal, Result, compare, judge
from bench.native_build import limits

__all__ = ["add", "gelu", "softmax", "tiny"]


def _touched(*shape: int) -> torch.Tensor:
    return torch.zeros(shape)


def _checked(
    name: str,
    run: Callable[[], object],
    out: torch.Tensor | None,
    expected: torch.Tensor,
    *,
    limit: bool = False,
) -> Contender:
    """A contender whose result is checked; ``out`` None: it is what ``run`` returns."""

    def check() -> None:
        if out is not None:
            out.fill_(float("nan"))
        result = run()
        got = out if out is not None else result
        assert isinstance(got, torch.Tensor)
        torch.testing.assert_close(got, expected, rtol=2e-5, atol=1e-5)

    return Contender(name, run, check, limit=limit)


def _native(function: Any, out: torch.Tensor, inputs: tuple[torch.Tensor, ...], *sizes: int) -> Any:
    addresses = [t.data_ptr() for t in (*inputs, out)]
    return partial(function, *(ctypes.c_void_p(a) for a in addresses), *sizes)


def _operator(
    name: str,
    title: str,
    inputs: tuple[torch.Tensor, ...],
    kernel: Callable[..., object],
    eager: Callable[..., torch.Tensor],
    eager_out: Callable[..., object] | None,
    formula: Callable[..., torch.Tensor],
    numba_kernel: Callable[..., object],
    numpy_kernel: Callable[..., object],
    native: tuple[Any, tuple[torch.Tensor, ...], tuple[int, ...]],
    goals: tuple[Goal, ...],
    rounds: int,
    extra: tuple[Contender, ...] = (),
) -> Result:
    shape = tuple(inputs[0].shape)
    expected = formula(*inputs)

    def into(run: Callable[..., object], out: torch.Tensor) -> Callable[[], object]:
        return partial(run, *inputs, out)

    compiled = torch.compile(formula)
    # A function of its own, since torch.compile keeps its state by code object.
    compiled_into = torch.compile(lambda *args: args[-1].copy_(formula(*args[:-1])))
    names = ["pypto", "out=", "compile", "numba", "numpy", "native"]
    outs = {key: _touched(*shape) for key in names}
    arrays = [t.numpy() for t in inputs]
    function, operands, sizes = native
    contenders = [
        _checked("pypto", into(kernel, outs["pypto"]), outs["pypto"], expected),
        _checked("torch eager (allocates)", lambda: eager(*inputs), None, expected),
        _checked("torch.compile (allocates)", lambda: compiled(*inputs), None, expected),
        _checked(
            "torch.compile into out",
            into(compiled_into, outs["compile"]),
            outs["compile"],
            expected,
        ),
        _checked(
            "numba",
            lambda: numba_kernel(*arrays, outs["numba"].numpy()),
            outs["numba"],
            expected,
        ),
        _checked(
            "NumPy out=",
            lambda: numpy_kernel(*arrays, outs["numpy"].numpy()),
            outs["numpy"],
            expected,
        ),
        _checked(
            "C++ loop",
            _native(function, outs["native"], operands, *sizes),
            outs["native"],
            expected,
            limit=True,
        ),
        *extra,
    ]
    if eager_out is not None:
        contenders.insert(
            2, _checked("torch out=", into(eager_out, outs["out="]), outs["out="], expected)
        )
    timings = compare(contenders, rounds)
    return Result(
        name,
        title,
        "torch eager (allocates)",
        timings,
        frozenset(contender.name for contender in contenders if contender.limit),
        sum(t.numel() * t.element_size() for t in (*inputs, outs["pypto"])),
        judge(goals, timings),
    )


def add(rounds: int) -> Result:
    """x + y of 4096 x 4096 fp32; the triad of STREAM is the limit of memory."""
    shape = (kernels.ROWS, kernels.COLUMNS)
    x, y = torch.rand(shape), torch.rand(shape)
    triad_out = _touched(*shape)
    count = x.numel()
    triad = Contender("STREAM triad", _native(limits().triad, triad_out, (x, y), count), limit=True)
    return _operator(
        "add",
        "x + y, 4096 x 4096 fp32",
        (x, y),
        kernels.add,
        torch.add,
        lambda a, b, out: torch.add(a, b, out=out),
        lambda a, b: a + b,
        rivals.numba_add(),
        lambda a, b, out: np.add(a, b, out=out),
        (limits().add, (x, y), (count,)),
        (Goal("pypto", 1.05, "torch out="), Goal("pypto", 1.15, "C++ loop")),
        rounds,
        (triad,),
    )


def gelu(rounds: int) -> Result:
    """The tanh form of gelu, and a bias: a chain of eleven operations."""
    rows, columns = kernels.ROWS, kernels.COLUMNS
    x, bias = torch.randn(rows, columns), torch.randn(1, columns)
    return _operator(
        "gelu",
        "0.5 x (1 + tanh(0.79788 (x + 0.044715 x^3))) + bias, 4096 x 4096 fp32",
        (x, bias),
        kernels.gelu_bias,
        rivals.gelu_formula,
        None,
        rivals.gelu_formula,
        rivals.numba_gelu(),
        rivals.numpy_gelu,
        (limits().gelu_bias, (x, bias), (rows, columns)),
        (Goal("pypto", 1.0, "torch.compile into out"), Goal("pypto", 1.7, "C++ loop")),
        rounds,
    )


def softmax(rounds: int) -> Result:
    """Softmax over the last axis."""
    rows, columns = kernels.ROWS, kernels.COLUMNS
    x = torch.randn(rows, columns)
    return _operator(
        "softmax",
        "softmax over the last axis, 4096 x 4096 fp32",
        (x,),
        kernels.softmax,
        lambda a: torch.softmax(a, dim=-1),
        lambda a, out: torch.softmax(a, dim=-1, out=out),
        lambda a: torch.softmax(a, dim=-1),
        rivals.numba_softmax(),
        rivals.numpy_softmax,
        (limits().softmax, (x, x), (rows, columns)),
        (Goal("pypto", 1.0, "torch out="), Goal("pypto", 1.45, "C++ loop")),
        rounds,
    )


def tiny(rounds: int) -> Result:
    """A tile of 256 elements on 1 MiB operands: tiles are hints, and must not cost."""
    shape = (32, 32, 1, 256)
    x, y = torch.rand(shape), torch.rand(shape)
    return _operator(
        "tiny",
        "x + y, (32, 32, 1, 256) fp32, tile (1, 4, 1, 64)",
        (x, y),
        kernels.tiny_tile,
        torch.add,
        lambda a, b, out: torch.add(a, b, out=out),
        lambda a, b: a + b,
        rivals.numba_add(),
        lambda a, b, out: np.add(a, b, out=out),
        (limits().add_small, (x, y), (x.numel(),)),
        (Goal("pypto", 1.0, "torch out="), Goal("pypto", 1.25, "C++ loop")),
        rounds,
    )
