"""``x ** e`` is torch's for special values, wherever the exponent comes from."""

from __future__ import annotations

import math

import pytest
import torch

import pypto
from pypto.error import PyptoError

D = pypto.DYNAMIC
FP32, FP16, BF16, INT32 = pypto.DT_FP32, pypto.DT_FP16, pypto.DT_BF16, pypto.DT_INT32
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


# --- odd exponents that FP32 makes even ---


@pypto.frontend.jit
def to_a_whole_number(x: pypto.Tensor([D], FP32), o: pypto.Tensor([D], FP32), n: int):
    o[:] = x**n


@pypto.frontend.jit
def halves(x: pypto.Tensor([D], FP16), o: pypto.Tensor([D], FP16), n: int):
    o[:] = x**n


@pypto.frontend.jit
def brains(x: pypto.Tensor([D], BF16), o: pypto.Tensor([D], BF16), n: int):
    o[:] = x**n


@pypto.frontend.jit
def rows(x: pypto.Tensor([D, D], FP32), o: pypto.Tensor([D, D], FP32), n: int):
    o[:] = pypto.sum(x, 1, True) ** n * x


@pypto.frontend.jit
def many_times(x: pypto.Tensor([D], FP32), o: pypto.Tensor([D], FP32), n: int):
    o[:] = x ** (n * 3.0)


LARGE = tuple(
    sign * number
    for number in (2**24 - 1, 2**24, 2**24 + 1, 2**30 + 1, 2**53 - 1, 2**53 + 1, 2**63 - 1)
    for sign in (1, -1)
)
NEAR_ONE = (-1.0000001, -0.99999994, -1e-45, -3e38)


@pytest.mark.parametrize("exponent", LARGE)
def test_large_exponents(monkeypatch: pytest.MonkeyPatch, exponent: int) -> None:
    """An odd one keeps the sign of the base. (Torch's FP32 on CPUs does so for the last few
    elements of a tensor, which are not computed in vectors.)"""
    x = torch.tensor([*SPECIAL, *NEAR_ONE])
    out = torch.empty_like(x)
    to_a_whole_number(x, out, exponent)
    want = x.double() ** exponent
    assert torch.equal(out.signbit()[~want.isnan()], want.signbit()[~want.isnan()])
    # FP32 rounds the exponent: a power near 1 follows it.
    expected = torch.abs(x) ** torch.tensor(float(exponent))
    torch.testing.assert_close(out.abs(), expected, rtol=1e-6, atol=1.2e-38, equal_nan=True)
    whole = out.clone()
    for value in (exponent, float(exponent)):
        monkeypatch.setitem(globals(), "EXPONENT", value)
        constant(x, out.zero_())
        torch.testing.assert_close(out, whole, rtol=0, atol=0, equal_nan=True)
        assert torch.equal(out.signbit(), whole.signbit())


@pytest.mark.parametrize("exponent", [257, 2049, -2049, 65537, 2**24 + 1, -(2**24) - 1])
def test_exponents_that_16_bits_do_not_hold(exponent: int) -> None:
    """The exponent is not rounded to the dtype of the base: the power is that of FP32, rounded.
    (Torch's on CPUs rounds it first: 2049 becomes an even number in FP16, 257 in BF16.)"""
    for kernel, dtype in ((halves, torch.float16), (brains, torch.bfloat16)):
        x = torch.tensor(SPECIAL).to(dtype)
        out = torch.empty_like(x)
        kernel(x, out, exponent)
        want = (x.float() ** exponent).to(dtype)
        number = ~want.isnan()
        torch.testing.assert_close(out, want, rtol=8e-3, atol=1e-7, equal_nan=True)
        assert torch.equal(out.signbit()[number], want.signbit()[number])


def test_large_exponents_in_rows() -> None:
    """The sign of one value a row, and of an exponent that the kernel computes."""
    x = torch.tensor([[-0.5, -0.5], [0.25, 0.75], [-2.0, 1.0]])
    out = torch.empty_like(x)
    rows(x, out, 2**24 + 1)
    assert torch.equal(out, torch.tensor([[0.5, 0.5], [0.25, 0.75], [2.0, -1.0]]))
    rows(x, out, 2**24 + 2)
    assert torch.equal(out, torch.tensor([[-0.5, -0.5], [0.25, 0.75], [-2.0, 1.0]]))
    y = torch.tensor([-1.0, 1.0, -0.0])
    powers = torch.empty_like(y)
    for n in (2**24 + 1, 2**24 + 2, 5):
        many_times(y, powers, n)
        check(powers, y ** (n * 3))


def test_large_exponents_of_integers() -> None:
    x = torch.tensor([-1, 0, 1, -3, 3], dtype=torch.int32)
    out = torch.zeros_like(x)
    for n in (2**24, 2**24 + 1, 2**31 - 1):
        whole(x, out, n)
        assert torch.equal(out, x**n)
