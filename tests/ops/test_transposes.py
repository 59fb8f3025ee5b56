"""Axes in another order, the last one among them, copied bit for bit."""

from __future__ import annotations

import functools
import itertools

import pytest
import torch

from pypto.ir.dtype import DataType
from tests.ops.batch import Batch, Variant
from tests.ops.movement import CONTROLS, DTYPES, add, annotation, anything, bits, kind
from tests.ops.programs import Seeded

FP32, FP16, INT8 = DataType.DT_FP32, DataType.DT_FP16, DataType.DT_INT8
ORDERS: tuple[tuple[int, ...], ...] = (
    *itertools.permutations(range(3)), (0, 1, 3, 2), (3, 0, 2, 1), (1, 3, 0, 2), (4, 2, 0, 3, 1),
    (0, 3, 4, 1, 2), (1, 0), (0,),
)  # fmt: skip


@functools.cache
def transposes() -> dict[DataType, Variant]:
    batch, found = Batch(), {}
    for dtype in DTYPES:
        two = annotation("D, D", dtype)
        text = f"def turn_{dtype.short}(x: {two}, o: {two}):\n    o[:] = x.transpose(-1, 0)\n"
        x = anything((3, 5), dtype)
        found[dtype] = add(batch, text, f"turn_{dtype.short}", x, x.t().contiguous())
    batch.build()
    return found


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_last_two_axes(dtype: DataType) -> None:
    variant = transposes()[dtype]
    sizes = ((3, 5), (16, 16), (1, 40), (40, 1), (33, 70), (0, 5), (5, 0), (129, 2), (2, 2100))
    for step, shape in enumerate(sizes):
        x = anything(shape, dtype)
        o = torch.zeros(shape[::-1], dtype=kind(dtype))
        assert variant.run(x, o, **CONTROLS[step % 3]) == 0
        assert torch.equal(bits(o), bits(x.t())), shape


@functools.cache
def permutes() -> dict[tuple[int, ...], Variant]:
    batch, found = Batch(), {}
    for number, order in enumerate(ORDERS):
        dtype = (FP32, FP16, INT8)[number % 3]
        axes = annotation(", ".join("D" * len(order)), dtype)
        name = f"permute{number}"
        text = f"def {name}(x: {axes}, o: {axes}):\n    o[:] = pypto.permute(x, {list(order)})\n"
        x = anything(tuple(range(2, 2 + len(order))), dtype)
        found[order] = add(batch, text, name, x, x.permute(order).contiguous())
    batch.build()
    return found


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_orders_of_axes(order: tuple[int, ...]) -> None:
    number, variant, chooser = ORDERS.index(order), permutes()[order], Seeded(sum(order))
    dtype = (FP32, FP16, INT8)[number % 3]
    for step in range(4):
        sizes = (1, 2, 3, 7, 8, 17, 33) if len(order) > 3 else (1, 2, 5, 16, 31, 40, 65)
        shape = tuple(chooser.choose(sizes) for _ in order)
        if step == 3:
            shape = (*shape[:-1], 0)
        x = anything(shape, dtype)
        o = torch.zeros(x.permute(order).shape, dtype=kind(dtype))
        assert variant.run(x, o, **CONTROLS[step % 3]) == 0
        assert torch.equal(bits(o), bits(x.permute(order))), shape


@functools.cache
def mixed() -> dict[str, Variant]:
    two, row = annotation("D, D", FP32), annotation("D", FP32)
    half, three = annotation("D, D", FP16), annotation("D, D, D", FP32)
    texts = {
        "sums": f"(x: {two}, y: {two}, o: {two}):\n    o[:] = x.transpose(0, 1) * 2 + y\n",
        "alike": f"(x: {two}, y: {two}, o: {two}):\n"
        "    o[:] = x.transpose(0, 1) + y.transpose(0, 1)\n",
        "written": f"(x: {two}, y: {two}, o: {two}):\n    o.transpose(0, 1)[:] = x - 1\n",
        "both": f"(x: {two}, y: {two}, o: {two}):\n"
        "    o.transpose(0, 1)[:] = x.transpose(0, 1) * 3\n",
        "bias": f"(x: {two}, b: {row}, o: {two}):\n    o[:] = x.transpose(0, 1) + b\n",
        "cast": f"(x: {half}, y: {two}, o: {two}):\n"
        "    o[:] = pypto.cast(x.transpose(0, 1), pypto.DT_FP32) + y\n",
        "chosen": f"(x: {two}, y: {two}, o: {two}):\n"
        "    o[:] = pypto.where(x.transpose(0, 1) > 0, y, 2.0)\n",
        "twice": f"(x: {two}, y: {two}, o: {two}):\n"
        "    o[:] = x.transpose(0, 1)\n    x[:] = o.transpose(0, 1) + x\n",
        "filled": f"(x: {two}, y: {two}, o: {two}):\n    o.transpose(0, 1)[:] = 7.0\n",
        "reduced": f"(x: {two}, y: {two}, o: {row}):\n    o[:] = x.transpose(0, 1).sum(-1)\n",
        "several": f"(x: {three}, y: {three}, o: {three}):\n"
        "    o[:] = x.permute([2, 0, 1]) + y.permute([1, 2, 0])\n",
        "reshaped": f"(x: {three}, y: {two}, o: {two}):\n"
        "    o[:] = x.permute([2, 0, 1]).reshape([x.shape[2], x.shape[0] * x.shape[1]]) + y\n",
        "cut": f"(x: {two}, y: {two}, o: {two}):\n    o[:, 1:] = x.transpose(0, 1)[:, 1:]\n",
    }
    batch, found = Batch(), {}
    for name, text in texts.items():
        found[name] = add(batch, f"def {name}{text}", name, *arguments(name, 3, 4))
    batch.build()
    return found


def arguments(name: str, a: int, b: int) -> list[torch.Tensor]:
    x = torch.randn(a, b)
    if name == "several":
        return [torch.randn(2, a, b), torch.randn(a, b, 2), torch.zeros(b, 2, a)]
    if name == "reshaped":
        return [torch.randn(2, a, b), torch.randn(b, 2 * a), torch.zeros(b, 2 * a)]
    if name == "bias":
        return [x, torch.randn(a), torch.zeros(b, a)]
    if name == "reduced":
        return [x, x.clone(), torch.zeros(b)]
    y = torch.randn(b, a)
    return {"alike": [x, torch.randn(a, b), torch.zeros(b, a)], "cast": [x.half(), y, y * 0]}.get(
        name, [x, y, torch.zeros(b, a)]
    )


MEANINGS = {
    "sums": lambda x, y: x.t() * 2 + y, "alike": lambda x, y: x.t() + y.t(),
    "written": lambda x, y: x.t() - 1, "both": lambda x, y: x * 3,
    "bias": lambda x, y: x.t() + y, "cast": lambda x, y: x.t().float() + y,
    "chosen": lambda x, y: torch.where(x.t() > 0, y, 2.0), "twice": lambda x, y: x.t(),
    "filled": lambda x, y: torch.full_like(x.t(), 7.0), "reduced": lambda x, y: x.t().sum(-1),
    "several": lambda x, y: x.permute(2, 0, 1) + y.permute(1, 2, 0),
    "reshaped": lambda x, y: x.permute(2, 0, 1).reshape(y.shape) + y,
    "cut": lambda x, y: torch.cat([x.t()[:, :1] * 0, x.t()[:, 1:]], 1),
}  # fmt: skip


@pytest.mark.parametrize("name", MEANINGS)
def test_with_other_operations(name: str) -> None:
    for step, (a, b) in enumerate(((3, 4), (40, 33), (70, 130), (1, 9), (0, 3))):
        x, y, o = arguments(name, a, b)
        if name == "both":
            o = torch.zeros(a, b)
        before = x.clone()
        assert mixed()[name].run(x, y, o, **CONTROLS[step % 3]) == 0
        want = MEANINGS[name](before, y)
        assert torch.allclose(o, want, atol=1e-4), (a, b)
        assert torch.equal(x, before * 2 if name == "twice" else before)
