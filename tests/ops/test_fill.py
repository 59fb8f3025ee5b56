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


@pypto.frontend.jit
def fill_integers(
    a: T, b: T, c: T, d: T, e: T, f: T, g: T, h: T, i: T, j: T, k: T, m: T, n: int, s: int
):
    a[:] = -3
    b[:] = n
    c[:] = 200
    d[:] = True
    e[:] = n
    f[:] = 65535
    g[:] = 4_000_000_000
    h[:] = -(2**40) - 5
    i[:] = s
    j[:] = 2**63 - 1
    k[:] = s * 0
    m[:] = s


@pytest.mark.parametrize("shape", [(4, 8), (3, 5, 7), (1,), (100001,), (0, 3)])
def test_integers_of_every_width(shape: tuple[int, ...]) -> None:
    n, s = -77, 2**45 + 3
    want = {
        "int8": [-3, n], "uint8": [200], "bool": [True, True], "uint16": [65535],
        "uint32": [4_000_000_000], "int64": [-(2**40) - 5, s], "uint64": [2**63 - 1],
        "int64 ": [0, s],
    }  # fmt: skip
    filled = [
        torch.full(shape, value, dtype=getattr(torch, name.strip()))
        for name, values in want.items()
        for value in values
    ]
    outputs = [torch.zeros_like(t) for t in filled]
    fill_integers(*outputs, n, s)
    for output, expected in zip(outputs, filled, strict=True):
        assert torch.equal(output, expected), expected.dtype


def test_a_float_does_not_go_into_integers() -> None:
    @pypto.frontend.jit
    def wrong(o: T([4], pypto.DT_INT32)):
        o[:] = 1.5

    with pytest.raises(FeTypeError, match="a float scalar cannot be stored into a DT_INT32 tensor"):
        wrong(torch.zeros(4, dtype=torch.int32))
