"""8-bit integers: powers wrap as torch's do; float exponents give FP32."""

from __future__ import annotations

import pytest
import torch

import pypto

T = pypto.Tensor


@pypto.frontend.jit
def powers(x: T, y: T, cubed: T, to_y: T):
    cubed[:] = x**3
    to_y[:] = pypto.pow(x, y)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32])
def test_powers_wrap(dtype: torch.dtype) -> None:
    low = torch.iinfo(dtype).min if dtype.is_signed else 0
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(max(low, -1000), 127, (5, 37), dtype=dtype, generator=generator)
    y = torch.randint(0, 12, (5, 37), dtype=dtype, generator=generator)
    cubed, to_y = torch.zeros_like(x), torch.zeros_like(x)
    powers(x, y, cubed, to_y)
    assert torch.equal(cubed, x**3)
    assert torch.equal(to_y, torch.pow(x, y))


@pypto.frontend.jit
def roots(x: T, constant: T, given: T, e: float):
    constant[:] = x**0.5
    given[:] = x**e


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32])
def test_float_exponents(dtype: torch.dtype) -> None:
    x = torch.arange(-128, 128).to(dtype)
    for e in (2.0, -1.0, 1.5):
        constant, given = torch.zeros(256), torch.zeros(256)
        roots(x, constant, given, e)
        for got, want in ((constant, x.float().sqrt()), (given, x.float() ** e)):
            torch.testing.assert_close(got, want, rtol=1e-6, atol=0, equal_nan=True)
