"""Tensors made of positions: triangles, one-hot rows and numbers in steps, against torch."""

from __future__ import annotations

import functools

import pytest
import torch

import pypto
from pypto.error import PyptoError
from pypto.ir.dtype import DataType
from pypto.ops import registry
from tests.ops.batch import Batch, Variant
from tests.ops.movement import CONTROLS, add, annotation, anything, bits, kind

T = pypto.Tensor
DTYPES = tuple(sorted(registry.get("tril").dtypes))
INDICES = tuple(sorted(registry.get("one_hot").dtypes))


@functools.cache
def triangles() -> dict[DataType, Variant]:
    batch, found = Batch(), {}
    for dtype in DTYPES:
        two = annotation("D, D", dtype)
        name = f"triangles_{dtype.short}"
        text = (
            f"def {name}(x: {two}, a: {two}, b: {two}, d: int):\n"
            "    a[:] = pypto.tril(x, d)\n    b[:] = x.triu(diagonal=-1)\n"
        )
        x = anything((3, 5), dtype)
        found[dtype] = add(batch, text, name, x, x, x, 1)
    batch.build()
    return found


def torch_triangle(x: torch.Tensor, diagonal: int, *, upper: bool) -> torch.Tensor:
    """Of every dtype; what torch has no kernel for by its bits."""
    kept = torch.ones(x.shape, dtype=torch.bool)
    kept = kept.triu(diagonal) if upper else kept.tril(diagonal)
    return torch.where(kept, x, torch.zeros((), dtype=x.dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_triangles(dtype: DataType) -> None:
    variant = triangles()[dtype]
    shapes = ((5, 5), (1, 1), (40, 33), (0, 3), (2, 30_000), (300, 4))
    for step, shape in enumerate(shapes):
        x = anything(shape, dtype)
        for diagonal in (0, -2, 3, 2**40):
            a, b = torch.zeros_like(x), torch.zeros_like(x)
            assert variant.run(x, a, b, diagonal, **CONTROLS[step % 3]) == 0
            assert torch.equal(bits(a), bits(torch_triangle(x, diagonal, upper=False)))
            assert torch.equal(bits(b), bits(torch_triangle(x, -1, upper=True)))


@pypto.frontend.jit
def stacked(x: T([pypto.DYNAMIC, 3, 20, 17]), o: T([pypto.DYNAMIC, 3, 20, 17])):
    o[:] = pypto.tril(x * 2, -1) + 1


@pypto.frontend.jit
def long_rows(x: T([pypto.DYNAMIC, pypto.DYNAMIC, 70_000]), o: T([...])):
    o[:] = x.triu(65_000)


def test_triangles_of_many_axes() -> None:
    for batch in (1, 5):
        x = torch.randn(batch, 3, 20, 17)
        o = torch.zeros_like(x)
        stacked(x, o)
        assert torch.equal(o, (x * 2).tril(-1) + 1)
    x = torch.randn(2, 3, 70_000)
    o = torch.zeros_like(x)
    long_rows(x, o)
    assert torch.equal(o, x.triu(65_000))


@functools.cache
def hot() -> dict[DataType, Variant]:
    batch, found = Batch(), {}
    for dtype in INDICES:
        for rank in (1, 3):
            axes = annotation(", ".join("D" * rank), dtype)
            out = annotation(", ".join([*"D" * rank, "11"]), DataType.DT_INT64)
            name = f"hot_{dtype.short}_{rank}"
            text = f"def {name}(x: {axes}, o: {out}):\n    o[:] = pypto.one_hot(x, 11)\n"
            x = torch.zeros((2,) * rank, dtype=kind(dtype))
            found[dtype, rank] = add(batch, text, name, x, torch.zeros(*x.shape, 11).long())
    batch.build()
    return found


@pytest.mark.parametrize("dtype", INDICES, ids=str)
def test_one_hot(dtype: DataType) -> None:
    for step, shape in enumerate(((7,), (2, 3, 5), (300,), (0,), (1, 40, 9))):
        x = torch.randint(0, 11, shape).to(kind(dtype))
        o = torch.full((*shape, 11), 9)
        assert hot()[dtype, len(shape)].run(x, o, **CONTROLS[step % 3]) == 0
        assert torch.equal(o, torch.nn.functional.one_hot(x.long(), 11))


@pypto.frontend.jit
def parts(
    n: T([pypto.DYNAMIC], pypto.DT_INT32), o: T([pypto.DYNAMIC, 8], pypto.DT_INT64),
    x: T([2, pypto.DYNAMIC, 9]), w: T([pypto.DYNAMIC]), p: T([2, pypto.DYNAMIC, 9]),
):  # fmt: skip
    for i in pypto.loop((n.shape[0] + 7) // 8):
        o[i * 8 : (i + 1) * 8, :] = pypto.one_hot(n[i * 8 : (i + 1) * 8], 8)
        part = x[:, i * 8 : (i + 1) * 8, :]
        p[:, i * 8 : (i + 1) * 8, :] = pypto.prelu(part, w[i * 8 : (i + 1) * 8])


@pytest.mark.parametrize("size", [3, 20])
def test_parts_whose_axes_are_others_in_the_result(size: int) -> None:
    n, x, w = torch.arange(size).int() % 8, torch.randn(2, size, 9), torch.randn(size)
    o, p = torch.full((size, 8), 9), torch.zeros_like(x)
    parts(n, o, x, w, p)
    assert torch.equal(o, torch.nn.functional.one_hot(n.long(), 8))
    assert torch.equal(p, torch.nn.functional.prelu(x, w))


@pypto.frontend.jit
def in_steps(
    x: T([pypto.DYNAMIC]), a: T([pypto.DYNAMIC], pypto.DT_INT32), b: T([...], pypto.DT_INT32),
    c: T([...], pypto.DT_INT32), d: T([...]), e: T([...]), f: T([...]),
):  # fmt: skip
    a[:] = pypto.arange(x.shape[0])
    b[:] = pypto.arange(-5, 90, 7)
    c[:] = pypto.arange(10, -100_000, -3)
    d[:] = pypto.arange(0.5, 9, 0.25)
    e[:] = x + pypto.arange(0.0, 5000.0)[0:1] + pypto.cast(pypto.arange(x.shape[0]), pypto.DT_FP32)
    f[:] = pypto.arange(1, 0.0, -0.1)


@pytest.mark.parametrize("size", [1, 9, 5000, 0])
def test_arange(size: int) -> None:
    x = torch.randn(size)
    want = [
        torch.arange(size), torch.arange(-5, 90, 7), torch.arange(10, -100_000, -3),
        torch.arange(0.5, 9, 0.25), x + torch.arange(size), torch.arange(1, 0.0, -0.1),
    ]  # fmt: skip
    want = [t.int() if t.dtype is torch.int64 else t for t in want]
    outputs = [torch.full_like(t, 77) for t in want]
    in_steps(x, *outputs)
    for output, expected in zip(outputs[:5], want[:5], strict=True):
        assert torch.equal(output, expected)
    assert torch.allclose(outputs[5], want[5], rtol=0, atol=2.0**-22)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("pypto.arange(4, 4)", "arange has no number in this range"),
        ("pypto.arange(0, 4, 0)", "arange: 'step' is 0"),
        ("pypto.arange(0.0, 4.0, 1e-9)", "arange: 'step' is 0, or nearly"),
        ("pypto.arange(2**31)", "arange gives integers of 32 bits"),
        ("pypto.one_hot(n, 0)", "one_hot needs a class"),
        ("pypto.tril(x[0])", "tril takes 2 to 5 axes"),
        ("pypto.triu(x, 0.5)", "triu: 'diagonal' must be an int"),
        ("pypto.full([4], -1, pypto.DT_UINT8)", "full: DT_UINT8 holds no negative number"),
    ],
)
def test_refusals(line: str, message: str) -> None:
    x, n = annotation("4, 6", DataType.DT_FP32), annotation("4, 6", DataType.DT_INT32)
    text = f"def k(x: {x}, n: {n}, o: {x}):\n    t = {line}\n    o[:] = x\n"
    with pytest.raises(PyptoError) as caught:
        add(Batch(), text, "k", torch.ones(4, 6), torch.ones(4, 6).int(), torch.ones(4, 6))
    assert caught.value.diagnostics[0].message == message
