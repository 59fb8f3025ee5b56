"""Integers beyond 2**53 beside floats: rounded once, as torch does."""

from __future__ import annotations

import pytest
import torch

import pypto
from pypto.ir.expr import Const, const
from pypto.ops.lowering import as_single

T = pypto.Tensor

# FP64 rounds each to the middle of two FP32 numbers, which rounds the other way then.
BETWEEN = 2**60 + 2**36 + 1
BELOW = -(2**62 + 2**38 + 1)


@pypto.frontend.jit
def literals(x: T, a: T, b: T, c: T, d: T):
    a[:] = x + BETWEEN
    b[:] = x - BELOW
    c[:] = BELOW
    d[:] = BETWEEN / (x + 1)


@pypto.frontend.jit
def parameters(x: T, a: T, b: T, c: T, d: T, n: int, m: int):
    a[:] = x + n
    b[:] = x - m
    c[:] = m
    d[:] = n / (x + 1)


def expected(x: torch.Tensor, n: int, m: int) -> list[torch.Tensor]:
    return [x + n, x - m, torch.full_like(x, m), n / (x + 1)]


def test_as_torch() -> None:
    x = torch.zeros(16)
    wanted = expected(x, BETWEEN, BELOW)
    for call in (lambda *o: literals(x, *o), lambda *o: parameters(x, *o, BETWEEN, BELOW)):
        outputs = [torch.empty(16) for _ in range(4)]
        call(*outputs)
        for output, want in zip(outputs, wanted, strict=True):
            assert output.tolist() == want.tolist()


@pytest.mark.parametrize("sign", [1, -1])
def test_every_place_of_the_last_bit(sign: int) -> None:
    for power in range(52, 63):
        for low in (0, 1, 2, 3, 2**28 - 1, 2**28, 2**28 + 1, 2**29, 2**29 + 1, 2**36 + 1):
            number = sign * (2**power + low)
            single = as_single(const(number))
            assert isinstance(single, Const)
            want = torch.tensor(number).to(torch.float32)
            assert torch.tensor(single.value, dtype=torch.float64).to(torch.float32) == want
