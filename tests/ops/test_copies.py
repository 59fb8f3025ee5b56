"""Copies of every dtype that a kernel can store, bit by bit."""

from __future__ import annotations

import pytest
import torch

import pypto
from pypto.ir.dtype import stored_dtypes

T = pypto.Tensor
DTYPES = sorted(stored_dtypes)


@pypto.frontend.jit
def copy_all(
    a: T, b: T, c: T, d: T, e: T, f: T, g: T, h: T, i: T, j: T, k: T, m: T, n: T,
    a_: T, b_: T, c_: T, d_: T, e_: T, f_: T, g_: T, h_: T, i_: T, j_: T, k_: T, m_: T, n_: T,
):  # fmt: skip
    inputs = [a, b, c, d, e, f, g, h, i, j, k, m, n]
    outputs = [a_, b_, c_, d_, e_, f_, g_, h_, i_, j_, k_, m_, n_]
    for source, target in zip(inputs, outputs):  # noqa: B905 - checked by the test
        target[:] = source


def test_every_stored_dtype_is_copied() -> None:
    assert len(DTYPES) == 13
    random = torch.Generator().manual_seed(3)
    inputs, outputs = [], []
    for dtype in DTYPES:
        kind = getattr(torch, str(dtype.torch_name))
        raw = torch.randint(0, 256, (3, 37 * dtype.bytes), dtype=torch.uint8, generator=random)
        made = (raw > 127) if kind is torch.bool else raw.view(kind)
        inputs.append(made)
        outputs.append(torch.zeros_like(made))
    copy_all(*inputs, *outputs)
    for given, copied in zip(inputs, outputs, strict=True):
        assert torch.equal(given.view(torch.uint8), copied.view(torch.uint8)), given.dtype


@pypto.frontend.jit
def copy_any(x: T, o: T):
    o[:] = x


@pypto.frontend.jit
def copy_eights(x: T([...], pypto.DT_FP8E4M3), o: T([...], pypto.DT_FP8E4M3)):
    o[:] = x


@pytest.mark.parametrize("kernel", [copy_any, copy_eights], ids=["bare", "annotated"])
def test_a_dtype_of_torch_that_no_copy_takes(kernel: pypto.frontend.JitFunction) -> None:
    x = torch.zeros(4).to(torch.float8_e4m3fn)
    with pytest.raises(pypto.error.DtypeError) as caught:
        kernel(x, torch.empty_like(x))
    (diagnostic,) = caught.value.diagnostics
    assert (
        diagnostic.message
        == "storing into 'o' does not take DT_FP8E4M3, which exists on Ascend 950 only"
    )
    assert diagnostic.help == (
        "a copy needs the bytes alone: annotate DT_UINT8 and pass x.view(torch.uint8)"
    )


@pytest.mark.parametrize(
    ("have", "want"),
    [((256, 1), (256, 40)), ((1,), (70,)), ((4, 1, 3), (4, 5, 3)), ((1, 9), (4, 9)),
     ((2, 1, 1), (2, 3, 7)), ((256, 1), (256, 1)), ((3, 1), (3, 70_001)), ((0, 1), (0, 5))],
)  # fmt: skip
def test_broadcast_copies(have: tuple[int, ...], want: tuple[int, ...]) -> None:
    """Every value of the dtypes of one byte."""
    dtypes = [d for d in DTYPES if d.bytes == 1]
    count = torch.Size(have).numel()
    inputs = []
    for dtype in dtypes:
        bits = torch.arange(count, dtype=torch.int64).to(torch.uint8).reshape(have)
        kind = getattr(torch, str(dtype.torch_name))
        inputs.append(bits > 100 if kind is torch.bool else bits.view(kind))
    outputs = [torch.zeros(want, dtype=x.dtype) for x in inputs]
    copy_three(*inputs, *outputs)
    for given, copied in zip(inputs, outputs, strict=True):
        assert torch.equal(copied, given.expand(want)), given.dtype


@pypto.frontend.jit
def copy_three(a: T, b: T, c: T, a_: T, b_: T, c_: T):
    a_[:] = a
    b_[:] = b
    c_[:] = c


EIGHTS = [d for d in DTYPES if d.bytes == 8]


@pytest.mark.parametrize(
    ("have", "want"),
    [((256, 1), (256, 40)), ((1,), (70,)), ((4, 1, 3), (4, 5, 3)), ((2, 1, 1), (2, 3, 7)),
     ((3, 1), (3, 30_001)), ((0, 1), (0, 5))],
)  # fmt: skip
def test_broadcasts_of_eight_bytes(have: tuple[int, ...], want: tuple[int, ...]) -> None:
    """In halves, gathered: no instruction repeats 8 bytes."""
    assert len(EIGHTS) == 3
    random = torch.Generator().manual_seed(5)
    raw = torch.randint(0, 256, (*have, 8), dtype=torch.uint8, generator=random)
    inputs = [raw.view(getattr(torch, str(d.torch_name))).reshape(have) for d in EIGHTS]
    outputs = [torch.zeros(want, dtype=x.dtype) for x in inputs]
    copy_three(*inputs, *outputs)
    for given, copied in zip(inputs, outputs, strict=True):
        bits = given.view(torch.int64), copied.view(torch.int64)
        assert torch.equal(bits[1], bits[0].expand(want)), given.dtype
