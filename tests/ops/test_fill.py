"""Scalars stored into tensors: constants, run-time arguments, expressions of them."""

from __future__ import annotations

import pytest
import torch

import pypto
from pypto.error import FeTypeError

T = pypto.Tensor


@pypto.frontend.jit
def fill_all(a: T, b: T, c: T, d: T, e: T, s: float, n: int):
    a[:] = 1.5
    b[:] = s
    c[:] = n
    d[:] = s * 2
    e[:] = -3


@pytest.mark.parametrize("shape", [(4, 8), (3, 5, 7), (1,), (100000,), (0, 3)])
def test_scalars_are_stored(shape: tuple[int, ...]) -> None:
    dtypes = (torch.float32, torch.bfloat16, torch.int32, torch.float16, torch.int16)
    outputs = [torch.full(shape, 7).to(dtype) for dtype in dtypes]
    fill_all(*outputs, 2.7, -9)
    for output, value in zip(outputs, (1.5, 2.7, -9, 5.4, -3), strict=True):
        assert torch.equal(output, torch.full(shape, value, dtype=output.dtype))


def test_a_float_does_not_go_into_integers() -> None:
    @pypto.frontend.jit
    def wrong(o: T([4], pypto.DT_INT32)):
        o[:] = 1.5

    with pytest.raises(FeTypeError, match="a float scalar cannot be stored into a DT_INT32 tensor"):
        wrong(torch.zeros(4, dtype=torch.int32))
