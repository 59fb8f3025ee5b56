"""argmax and argmin against torch: the first of equal elements, the first NaN."""

from __future__ import annotations

import functools
import math

import pytest
import torch

from pypto.error import DtypeError, FeValueError
from pypto.ir.dtype import DataType
from tests.ops.batch import Batch
from tests.ops.checks import Case

FLOATS = (DataType.DT_FP32, DataType.DT_FP16, DataType.DT_BF16)
CONTROL = ({}, {"blocks": 3, "l1_bytes": 1024}, {"blocks": 7, "l1_bytes": 8192})
# What is computed of x [a, b, c], and the shape of the result.
RESULTS = (
    ("pypto.argmax(x, 0)", "bc"), ("x.argmax(1, keepdim=True)", "a1c"), ("x.argmax()", "ab"),
    ("pypto.argmin(x, dim=-3, keepdim=True)", "1bc"), ("x.argmin(1)", "ac"),
    ("pypto.argmin(x, 2, True)", "ab1"),
)  # fmt: skip


def text_of(name: str, dtype: DataType, dynamic: bool) -> str:
    def kind(shape: str, dtype: DataType) -> str:
        sizes = ", ".join("1" if n == "1" else "D" for n in shape)
        return f"pypto.Tensor([{sizes}], pypto.{dtype})" if dynamic else "pypto.Tensor"

    outs = ", ".join(
        f"o{n}: {kind(shape, DataType.DT_INT32)}" for n, (_, shape) in enumerate(RESULTS)
    )
    lines = [f"    o{n}[:] = {body}" for n, (body, _) in enumerate(RESULTS)]
    return f"def {name}(x: {kind('abc', dtype)}, {outs}):\n" + "\n".join(lines) + "\n"


def arguments(dtype: DataType, sizes: tuple[int, int, int]) -> list[torch.Tensor]:
    """Many equal numbers."""
    generator = torch.Generator().manual_seed(sum(sizes))
    x = torch.randint(-9, 9, sizes, generator=generator).to(getattr(torch, dtype.torch_name or ""))
    named = dict(zip("abc", sizes, strict=True))
    shapes = [tuple(named.get(n, 1) for n in shape) for _, shape in RESULTS]
    return [x, *(torch.full(shape, 77, dtype=torch.int32) for shape in shapes)]


STATIC = (6, 70, 9)


@functools.cache
def cases() -> dict[tuple[DataType, bool], Case]:
    batch, made = Batch(), {}
    for dtype in FLOATS:
        for dynamic in (True, False) if dtype == DataType.DT_FP32 else (True,):
            name = f"places_{dtype.short}_{'any' if dynamic else 'one'}"
            text = text_of(name, dtype, dynamic)
            made[dtype, dynamic] = Case(batch, text, name, *arguments(dtype, STATIC))
    batch.build()
    return made


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.short)
def test_places(dtype: DataType) -> None:
    case = cases()[dtype, True]
    sizes = ((3, 4, 5), (1, 1, 1), (2, 65, 7), (130, 2, 64), (5, 3, 65), (1, 200, 1), (2, 3, 300))
    for step, one in enumerate(sizes):
        case.check(*arguments(dtype, one), **CONTROL[step % 3])


def test_places_of_known_sizes() -> None:
    for control in CONTROL:
        cases()[DataType.DT_FP32, False].check(*arguments(DataType.DT_FP32, STATIC), **control)


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.short)
def test_special_values(dtype: DataType) -> None:
    for value in (math.nan, math.inf, -math.inf, -0.0):
        for dynamic in (True, False) if dtype == DataType.DT_FP32 else (True,):
            given = arguments(dtype, STATIC)
            for place in range(12):
                given[0][place % 6, (place * 17) % 70, place % 9] = value
            cases()[dtype, dynamic].check(*given, blocks=2, l1_bytes=2048)
            given[0].fill_(value)
            cases()[dtype, dynamic].check(*given)


def test_long_axes() -> None:
    """In chunks of a row, and in many steps of rows; the place is behind what FP16 can count."""
    case = cases()[DataType.DT_FP32, True]
    for sizes in ((2, 2, 70_001), (3, 20_000, 3), (40_000, 2, 3)):
        given = arguments(DataType.DT_FP32, sizes)
        flat = given[0].view(-1)
        flat[-1], flat[-2] = 99.0, -99.0
        case.check(*given)


def test_refused() -> None:
    text = "def k(x: pypto.Tensor, o: pypto.Tensor):\n    o[:] = x.argmax(0)\n"
    with pytest.raises(FeValueError, match="empty axis"):
        Case(Batch(), text, "k", torch.ones(0, 3), torch.ones(3, dtype=torch.int32))
    with pytest.raises(DtypeError, match="argmax does not take DT_INT32"):
        whole = torch.ones(2, 3, dtype=torch.int32)
        Case(Batch(), text, "k", whole, torch.ones(3, dtype=torch.int32))
    given = arguments(DataType.DT_FP32, (3, 0, 4))
    assert cases()[DataType.DT_FP32, True].variant.run(*given) >= 16
