"""Long kernels of many stages: what they compute again, and that results are those of torch."""

from __future__ import annotations

import pytest
import torch

import pypto
from bench.compile_times import kernel_of
from pypto import passes, target
from pypto._options import Options
from pypto.elaborate import KernelSource, elaborate
from pypto.elaborate.annotations import signature_of
from pypto.passes.stage import Stage

D = pypto.DYNAMIC
STEPS = 12


@pytest.mark.parametrize("kind", ["nested", "slices", "in_place", "stored_chain"])
def test_nodes_grow_as_the_kernel_does(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    placed = 0
    add = Stage.add

    def counted(*args: object) -> None:
        nonlocal placed
        placed += 1
        add(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(Stage, "add", counted)
    seen: list[int] = []
    for length in (60, 120, 240):
        placed = 0
        function = kernel_of(kind, length)
        signature = signature_of(function)
        kernel = elaborate(KernelSource.capture(function), signature, Options(), {}).kernel
        passes.lower(kernel, signature.alias, target.get())
        seen.append(placed)
    small, middle, large = seen
    assert large - middle <= 2.2 * (middle - small), seen
    assert large <= 12 * 240, seen


@pypto.frontend.jit
def branching_off(
    x: pypto.Tensor([D, 40], pypto.DT_FP32),
    o: pypto.Tensor([12, D, 40], pypto.DT_FP32),
    s: pypto.Tensor([12, D, 1], pypto.DT_FP32),
):
    t = x + 1.0
    u = x - 1.0
    for i in range(12):
        t = pypto.exp(t * 0.25 - x) * 0.5
        u = pypto.abs(u * 0.5 + t) + 0.125
        r = pypto.sum(t * u, -1, keepdim=True) * 0.01
        t = t - r
        o[i] = t + u
        s[i] = r


@pypto.frontend.jit
def in_a_shared_loop(
    x: pypto.Tensor([D, 64], pypto.DT_FP32), o: pypto.Tensor([12, D, 64], pypto.DT_FP32)
):
    for b in pypto.loop(x.shape[0] // 8):
        a = x[b * 8 : b * 8 + 8, :]
        t = a + 1.0
        u = a - 1.0
        for i in range(12):
            t = pypto.exp(t * 0.25 - a) * 0.5
            u = pypto.abs(u * 0.5 + t) + 0.125
            o[i, b * 8 : b * 8 + 8, :] = t + u + b


def test_what_branches_off_a_chain() -> None:
    for rows in (1, 37, 256):
        x = torch.linspace(-1, 1, rows * 40).reshape(rows, 40)
        o, s = torch.zeros(STEPS, rows, 40), torch.zeros(STEPS, rows, 1)
        branching_off(x, o, s)
        t, u = x + 1, x - 1
        for i in range(STEPS):
            t = torch.exp(t * 0.25 - x) * 0.5
            u = torch.abs(u * 0.5 + t) + 0.125
            r = torch.sum(t * u, -1, keepdim=True) * 0.01
            t = t - r
            torch.testing.assert_close(o[i], t + u)
            torch.testing.assert_close(s[i], r)


def test_chains_in_a_loop_of_the_cores() -> None:
    for rows in (8, 96):
        x = torch.linspace(-1, 1, rows * 64).reshape(rows, 64)
        o = torch.zeros(STEPS, rows, 64)
        in_a_shared_loop(x, o)
        t, u = x + 1, x - 1
        block = (torch.arange(rows) // 8).reshape(rows, 1)
        for i in range(STEPS):
            t = torch.exp(t * 0.25 - x) * 0.5
            u = torch.abs(u * 0.5 + t) + 0.125
            torch.testing.assert_close(o[i], t + u + block)
