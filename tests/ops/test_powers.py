"""``x ** e`` is torch's for special values, wherever the exponent comes from."""

from __future__ import annotations

import math

import pytest
import torch

import pypto
from pypto.error import PyptoError

D = pypto.DYNAMIC
FP32, INT32 = pypto.DT_FP32, pypto.DT_INT32
SPECIAL = (
    -math.inf, -4.0, -1.5, -1.0, -1e-30, -0.0, 0.0, 1e-30, 0.5, 1.0, 4.0, 1e30, math.inf, math.nan,
)  # fmt: skip
EXPONENTS = (
    0.5, -0.5, 2.0, 3.0, -1.0, -2.0, 0.0, -0.0, 1.0, 2.5, 4.0, -3.0, math.nan, math.inf, -math.inf,
)  # fmt: skip


@pypto.frontend.jit
def run_time(x: pypto.Tensor([D], FP32), o: pypto.Tensor([D], FP32), e: float):
    o[:] = x**e


@pypto.frontend.jit
def computed(x: pypto.Tensor([D], FP32), o: pypto.Tensor([D], FP32), e: float):
    o[:] = pypto.pow(x, e * 2 / 2)


EXPONENT = 0.0


@pypto.frontend.jit
def constant(x: pypto.Tensor([D], FP32), o: pypto.Tensor([D], FP32)):
    o[:] = x**EXPONENT


@pypto.frontend.jit
def of_integers(x: pypto.Tensor([D], INT32), o: pypto.Tensor([D], FP32), e: float):
    o[:] = x**e


@pypto.frontend.jit
def by_size(x: pypto.Tensor([D], FP32), o: pypto.Tensor([D], FP32)):
    o[:] = x ** (1 / x.shape[0])


@pypto.frontend.jit
def whole(x: pypto.Tensor([D], INT32), o: pypto.Tensor([D], INT32), n: int):
    o[:] = x**n


def check(got: torch.Tensor, want: torch.Tensor) -> None:
    torch.testing.assert_close(got, want, rtol=1e-6, atol=0, equal_nan=True)
    number = ~want.isnan()
    assert torch.equal(got.signbit()[number], want.signbit()[number]), (got, want)


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_special_values(monkeypatch: pytest.MonkeyPatch, exponent: float) -> None:
    x = torch.tensor(SPECIAL)
    out = torch.empty_like(x)
    monkeypatch.setitem(globals(), "EXPONENT", exponent)
    constant(x, out)
    check(out, x**exponent)
    run_time(x, out.zero_(), exponent)
    check(out, x**exponent)


@pytest.mark.parametrize("exponent", [0.5, -0.5, 1.25])
def test_an_exponent_that_the_kernel_computes(exponent: float) -> None:
    x = torch.tensor(SPECIAL)
    out = torch.empty_like(x)
    computed(x, out, exponent)
    check(out, x**exponent)
    integers = torch.tensor([0, 1, 4, 1000], dtype=torch.int32)
    powers = torch.empty(4)
    of_integers(integers, powers, exponent)
    check(powers, integers**exponent)


def test_an_exponent_that_depends_on_a_size() -> None:
    x = torch.tensor([-math.inf, -0.0, 8.0])
    out = torch.empty_like(x)
    by_size(x, out)
    check(out, x ** (1 / 3))
    with pytest.raises(PyptoError) as caught:
        by_size(x[1:].clone(), out[1:].clone())
    assert str(caught.value).splitlines()[0] == (
        "ErrCode: F00002  by_size: pow cannot compute its exponent 1/x.shape[0] from a size where "
        "it is 0.5: write pypto.sqrt, or annotate that axis with a number or pypto.STATIC"
    )


def test_a_negative_exponent_of_integers() -> None:
    x = torch.tensor([-2, -1, 1, 3], dtype=torch.int32)
    out = torch.zeros_like(x)
    for n in (0, 1, 5):
        whole(x, out, n)
        assert torch.equal(out, x**n)
    with pytest.raises(PyptoError) as caught:
        whole(x, out.zero_(), -1)
    lines = str(caught.value).splitlines()
    assert lines[0] == (
        "ErrCode: F00002  whole: pow of integers needs n >= 0: for negative exponents use a float "
        "tensor"
    )
    assert any("    |" in line and "^^^^" in line for line in lines)
    assert not out.any()


@pytest.mark.parametrize("n", [2**31, 2**32 + 1, 2**63 - 1])
def test_an_exponent_beyond_32_bits(n: int) -> None:
    x = torch.tensor([1, 2, 3, 5], dtype=torch.int32)
    out = torch.zeros_like(x)
    whole(x, out, 2**31 - 1)
    assert out.tolist() == [
        1,
        0,
        pow(3, 2**31 - 1, 2**32) - 2**32,
        pow(5, 2**31 - 1, 2**32) - 2**32,
    ]
    with pytest.raises(PyptoError) as caught:
        whole(x, out.zero_(), n)
    assert str(caught.value).splitlines()[0] == (
        "ErrCode: F00002  whole: pow of integers needs n < 2**31"
    )
    assert not out.any()
