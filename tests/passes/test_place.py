"""Local tensors that are made where they are copied to, and those that must not be."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest
import torch

from pypto.ir.dtype import DataType
from tests.ops.batch import Batch, Variant
from tests.ops.movement import CONTROLS, add, annotation

TWO = annotation("40, D", DataType.DT_FP32)
Meaning = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], list[torch.Tensor]]


def rolled(x: torch.Tensor, y: torch.Tensor, o: torch.Tensor) -> list[torch.Tensor]:
    return [torch.cat([x[1:], x[:1]]), y, o]


# Statements over x, y and o; what x, y and o are then; whether a local tensor is left.
KERNELS: dict[str, tuple[str, Meaning, bool]] = {
    "joined": (
        "o[0:4] = pypto.concat([x[0:1], y[0:3]])",
        lambda x, y, o: [x, y, torch.cat([x[:1], y[:3], o[4:]])], False,
    ),
    "across": (
        "o.transpose(0, 1)[:, 0:4] = pypto.concat([x[0:1], y[0:3]]).transpose(0, 1)",
        lambda x, y, o: [x, y, torch.cat([x[:1], y[:3], o[4:]])], True,
    ),
    "rolled": ("x[:] = pypto.concat([x[1:], x[0:1]])", rolled, False),
    "computed": (
        "o[0:4] = pypto.concat([x[0:1], y[0:3]]) * 2",
        lambda x, y, o: [x, y, torch.cat([x[:1] * 2, y[:3] * 2, o[4:]])], True,
    ),
    "read again": (
        "t = pypto.concat([x[0:1], y[0:3]])\n    o[0:4] = t\n    o[1:2] = t[0:1]",
        lambda x, y, o: [x, y, torch.cat([x[:1], x[:1], y[1:3], o[4:]])], True,
    ),
    "touched between": (
        "t = pypto.tensor([2, x.shape[1]], pypto.DT_FP32)\n    t[0:1] = x[0:1]\n"
        "    o[1:2] = o[0:1] + y[0:1]\n    t[1:2] = o[1:2]\n    o[0:2] = t",
        lambda x, y, o: [x, y, torch.cat([x[:1], o[:1] + y[:1], o[2:]])], True,
    ),
    "in a loop": (
        "for i in pypto.loop(4):\n"
        "        o[2 * i : 2 * i + 2] = pypto.concat([x[i : i + 1], y[i : i + 1]])",
        lambda x, y, o: [x, y, torch.cat([torch.stack([x[:4], y[:4]], 1).flatten(0, 1), o[8:]])],
        False,
    ),
    "by a loop": (
        "t = pypto.tensor([8, x.shape[1]], pypto.DT_FP32)\n"
        "    for i in pypto.loop(4, parallel=True):\n"
        "        for j in pypto.loop(2):\n"
        "            t[2 * i + j : 2 * i + j + 1] = x[i : i + 1] + y[j : j + 1]\n"
        "    o[1:9] = t",
        lambda x, y, o: [
            x, y,
            torch.cat([o[:1], (x[:4, None] + y[None, :2]).flatten(0, 1), o[9:]]),
        ],
        False,
    ),
    "by a loop that reads": (
        "t = pypto.tensor([8, x.shape[1]], pypto.DT_FP32)\n"
        "    for i in pypto.loop(8):\n"
        "        t[i : i + 1] = o[8 - i : 9 - i] + x[i : i + 1]\n"
        "    o[0:8] = t",
        lambda x, y, o: [x, y, torch.cat([o[1:9].flip(0) + x[:8], o[8:]])],
        True,
    ),
    "by a loop that reads a number": (
        "t = pypto.tensor([8, x.shape[1]], pypto.DT_FP32)\n"
        "    for i in pypto.loop(8):\n"
        "        t[i : i + 1] = x[i : i + 1] * o[i, 0]\n"
        "    o[1:9] = t",
        lambda x, y, o: [x, y, torch.cat([o[:1], x[:8] * o[:8, :1], o[9:]])],
        True,
    ),
    "by a loop that says where": (
        "t = pypto.tensor([8, x.shape[1]], pypto.DT_FP32)\n"
        "    n = 0\n"
        "    for i in pypto.loop(8):\n"
        "        t[i : i + 1] = x[i : i + 1]\n"
        "        n = n + 2\n"
        "    o[n : n + 8] = t",
        lambda x, y, o: [x, y, torch.cat([o[:16], x[:8], o[24:]])],
        True,
    ),
    "in a branch": (
        "t = pypto.concat([x[0:1], y[0:3]])\n    if x.shape[1] > 20:\n        o[0:4] = t",
        lambda x, y, o: [x, y, torch.cat([x[:1], y[:3], o[4:]]) if x.shape[1] > 20 else o], True,
    ),
    "twice": (
        "t = pypto.pad(pypto.concat([x[0:1], y[0:3]]), [0, 0, 0, 1], value=3)\n    o[0:5] = t",
        lambda x, y, o: [x, y, torch.cat([x[:1], y[:3], torch.full_like(x[:1], 3), o[5:]])], False,
    ),
}  # fmt: skip


@functools.cache
def variants() -> dict[str, Variant]:
    batch, found = Batch(), {}
    for number, (name, (body, _, _)) in enumerate(KERNELS.items()):
        label = f"place{number}"
        text = f"def {label}(x: {TWO}, y: {TWO}, o: {TWO}):\n    {body}\n"
        found[name] = add(batch, text, label, *(torch.ones(40, 8) for _ in "xyo"))
    batch.build()
    return found


@pytest.mark.parametrize("name", KERNELS)
def test_meaning(name: str) -> None:
    _, meaning, _ = KERNELS[name]
    for step, shape in enumerate(((40, 8), (40, 33), (40, 130))):
        given = [torch.randn(shape) for _ in "xyo"]
        have = [t.clone() for t in given]
        assert variants()[name].run(*have, **CONTROLS[step % 3]) == 0
        for got, want in zip(have, meaning(*given), strict=True):
            assert torch.equal(got, want), (name, shape)


@pytest.mark.parametrize("name", KERNELS)
def test_what_is_left(name: str) -> None:
    program = variants()[name].compilation.program
    assert program is not None
    copied = [
        buffer for buffer in program.workspace if buffer.name.startswith(("concat", "t", "pad"))
    ]
    assert bool(copied) == KERNELS[name][2]
