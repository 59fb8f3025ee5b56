"""Running sums and products against torch: axes, dtypes, long axes, special values, fusion."""

from __future__ import annotations

import functools
import math

import pytest
import torch

from pypto.error import DtypeError, FeTypeError
from pypto.ir.dtype import DataType
from tests.ops.batch import Batch
from tests.ops.checks import Case, filled

FP32, FP16, BF16 = DataType.DT_FP32, DataType.DT_FP16, DataType.DT_BF16
INT32, INT16, INT64 = DataType.DT_INT32, DataType.DT_INT16, DataType.DT_INT64
DTYPES = (FP32, FP16, BF16, INT32, INT16)
CONTROL = ({}, {"blocks": 3, "l1_bytes": 1024}, {"blocks": 7, "l1_bytes": 8192})
SUMS = ("pypto.cumsum(x, 0)", "x.cumsum(1)", "pypto.cumsum(x, dim=-1)")
PRODUCTS = ("pypto.cumprod(x, -3)", "x.cumprod(1)", "pypto.cumprod(x, 2)")


def kind(shape: str, dtype: DataType) -> str:
    sizes = ", ".join("1" if n == "1" else "D" for n in shape)
    return f"pypto.Tensor([{sizes}], pypto.{dtype})"


def tensor(sizes: tuple[int, ...], dtype: DataType) -> torch.Tensor:
    """Numbers whose products stay in range."""
    generator = torch.Generator().manual_seed(sum(sizes))
    torch_dtype = getattr(torch, dtype.torch_name or "")
    if not dtype.is_float:
        info = torch.iinfo(torch_dtype)
        return torch.randint(info.min, info.max, sizes, generator=generator).to(torch_dtype)
    signs = torch.randint(0, 2, sizes, generator=generator) * 2 - 1
    return (signs * (0.95 + torch.rand(sizes, generator=generator) * 0.1)).to(torch_dtype)


def calls_of(dtype: DataType) -> tuple[str, ...]:
    return SUMS + PRODUCTS if dtype.is_float else SUMS


def arguments(dtype: DataType, sizes: tuple[int, ...]) -> list[torch.Tensor]:
    x = tensor(sizes, dtype)
    out = x if dtype.is_float else x.long()
    return [x, *(filled(out) for _ in calls_of(dtype))]


@functools.cache
def cases() -> dict[DataType, Case]:
    batch, made = Batch(), {}
    for dtype in DTYPES:
        calls = calls_of(dtype)
        out = kind("abc", dtype if dtype.is_float else INT64)
        name = f"scan_{dtype.short}"
        params = ", ".join(f"o{n}: {out}" for n in range(len(calls)))
        text = f"def {name}(x: {kind('abc', dtype)}, {params}):\n"
        text += "".join(f"    o{n}[:] = {call}\n" for n, call in enumerate(calls))
        made[dtype] = Case(batch, text, name, *arguments(dtype, (3, 4, 5)))
    batch.build()
    return made


SIZES = (
    (3, 4, 5), (1, 1, 1), (2, 65, 7), (130, 2, 64), (5, 3, 65), (1, 33, 16), (2, 3, 1023),
    (7, 1, 1025), (0, 3, 4), (3, 0, 4), (3, 4, 0), (66, 9, 130),
)  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.short)
def test_axes(dtype: DataType) -> None:
    for step, sizes in enumerate(SIZES):
        cases()[dtype].check(*arguments(dtype, sizes), **CONTROL[step % 3])


@pytest.mark.parametrize("dtype", (FP32, INT32), ids=lambda d: d.short)
def test_long_axes(dtype: DataType) -> None:
    """In many steps of rows, and in chunks of a row."""
    for sizes in ((2, 3, 70_001), (3, 5000, 5), (9000, 2, 3)):
        cases()[dtype].check(*arguments(dtype, sizes))


def test_integers_beyond_32_bits() -> None:
    x = torch.full((40, 50, 60), 2**31 - 1, dtype=torch.int32)
    x[1::3], x[2::3] = -(2**31), -1
    cases()[INT32].check(x, *(torch.zeros(x.shape, dtype=torch.int64) for _ in range(3)))


@pytest.mark.parametrize("dtype", (FP32, FP16, BF16), ids=lambda d: d.short)
def test_special_values(dtype: DataType) -> None:
    for value in (math.nan, math.inf, -math.inf, -0.0, 0.0):
        given = arguments(dtype, (5, 70, 66))
        for place in range(5):
            given[0][place, place * 17, place * 13] = value
        cases()[dtype].check(*given, blocks=2, l1_bytes=2048)
        given = arguments(dtype, (3, 40, 20))
        cases()[dtype].check(given[0].fill_(value), *given[1:])


def test_what_meets_in_a_stage() -> None:
    """Running totals of what is computed, and what is computed of them: in the passes of one stage
    or in several stages."""
    batch = Batch()
    text = (
        f"def meets(x: {kind('ab', FP32)}, y: {kind('1b', FP32)}, o: {kind('ab', FP32)}, "
        f"p: {kind('ab', FP32)}, q: {kind('ab', FP32)}, m: {kind('b', FP32)}, "
        f"n: {kind('a1', FP32)}):\n"
        "    o[:] = pypto.cumsum(x * y, 0) - pypto.amax(x, 0, True)\n"
        "    p[:] = pypto.cumsum(pypto.cumsum(x, 0), 1) * y\n"
        "    q[:] = pypto.cumsum(y, 1) + x\n"
        "    m[:] = pypto.cumsum(x, 0).amax(0)\n"
        "    n[:] = pypto.cumsum(x, 1).amin(1, True)\n"
    )

    def given(rows: int, columns: int) -> list[torch.Tensor]:
        # Small integers: every sum is exact.
        generator = torch.Generator().manual_seed(rows)
        x = torch.randint(-3, 4, (rows, columns), generator=generator).float()
        outputs = [filled(x), filled(x), filled(x), filled(x[0]), filled(x[:, :1])]
        return [x, filled(x[:1].contiguous()).fill_(2), *outputs]

    case = Case(batch, text, "meets", *given(3, 4))
    batch.build()
    for rows, columns in ((3, 4), (70, 33), (1, 1), (40, 1100)):
        for control in CONTROL:
            values = given(rows, columns)
            assert case.variant.run(*values, **control) == 0
            x, y, o, p, q, m, n = values
            torch.testing.assert_close(o, (x * y).cumsum(0) - x.amax(0, True), rtol=0, atol=0)
            torch.testing.assert_close(p, x.cumsum(0).cumsum(1) * y, rtol=0, atol=0)
            torch.testing.assert_close(q, y.cumsum(1) + x, rtol=0, atol=0)
            torch.testing.assert_close(m, x.cumsum(0).amax(0), rtol=0, atol=0)
            torch.testing.assert_close(n, x.cumsum(1).amin(1, True), rtol=0, atol=0)


@pytest.mark.parametrize("length", [63, 1000, 70_001])
def test_long_sums(length: int) -> None:
    """Every sum on the way is within the tolerance of the operation."""
    for x in (torch.full((length,), 0.1), torch.tensor([1.0] + [1e-4] * (length - 1))):
        for number, sizes in ((0, (length, 1, 1)), (2, (1, 1, length))):
            given = arguments(FP32, sizes)
            given[0] = x.reshape(sizes)
            assert cases()[FP32].variant.run(*given) == 0
            right = x.double().cumsum(0)
            error = (given[1 + number].flatten().double() - right).abs()
            assert (error <= 1e-6 * right).all(), (number, error.max())


def test_in_place() -> None:
    batch = Batch()
    text = f"def own(x: {kind('ab', FP32)}):\n"
    text += "    x[:] = pypto.cumsum(x, 0)\n    x[:] = pypto.cumprod(x, 1)\n"
    x = torch.ones(40, 9)
    case = Case(batch, text, "own", x)
    batch.build()
    for control in CONTROL:
        case.check(x / 20, **control)


def test_refused() -> None:
    text = "def k(x: pypto.Tensor, o: pypto.Tensor):\n    o[:] = {}\n"
    x = torch.ones(3, 4)
    with pytest.raises(FeTypeError, match="must be one axis"):
        Case(Batch(), text.format("x.cumsum((0, 1))"), "k", x, x.clone())
    with pytest.raises(DtypeError, match="cumprod does not take DT_INT32"):
        Case(Batch(), text.format("x.cumprod(0)"), "k", x.int(), x.int())
