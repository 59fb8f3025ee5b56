"""Operands that lack rows or columns, ranks up to five, rows that are walked in chunks."""

from __future__ import annotations

import functools

import pytest
import torch

from pypto.ir.dtype import DataType
from pypto.ops.spec import OpSpec
from tests.ops.batch import Batch
from tests.ops.checks import Case
from tests.ops.test_elementwise import BINARY, UNARY, Line, outputs, result, torch_dtype

GROUP = 12
SIZES = ((3, 5), (64, 100), (1, 1), (7, 64), (0, 4), (4, 0), (1, 9), (9, 1), (3, 6000))
RANKS = (
    ((2, 3, 5), (1, 3, 1)),
    ((2, 3, 4, 5), (2, 1, 4, 1)),
    ((2, 3, 1, 4, 5), (1, 3, 2, 1, 5)),
)


def kind_of(spec: OpSpec) -> DataType:
    """One dtype of the operation: those with instructions of their own first."""
    order = (
        DataType.DT_FP32, DataType.DT_INT32, DataType.DT_INT16, DataType.DT_BF16, DataType.DT_INT8,
    )  # fmt: skip
    return next(d for d in order if d in spec.dtypes)


def cases_of(
    texts: list[tuple[OpSpec, str]], shapes: dict[str, str], name: str
) -> list[tuple[DataType, list[Line], Case]]:
    """Kernels of a group of expressions over x, y and z, by the dtype of the operations; a batch
    for each, so that no compilation is long."""
    found = []
    for kind in dict.fromkeys(kind_of(spec) for spec, _ in texts):
        lines = [
            (f"o{n}", result(spec, kind), text)
            for n, (spec, text) in enumerate(texts)
            if kind_of(spec) == kind
        ]
        for start in range(0, len(lines), GROUP):
            group = lines[start : start + GROUP]
            params = ", ".join(f"{n}: pypto.Tensor({s}, pypto.{kind})" for n, s in shapes.items())
            out = shapes["o"]
            given = "".join(f", {o}: pypto.Tensor({out}, pypto.{d})" for o, d, _ in group)
            params = params.rpartition(", o:")[0]
            body = "".join(f"    {o}[:] = {text}\n" for o, _, text in group)
            label = f"{name}_{kind.short}_{start}"
            ranks = {n: s.count(",") + 1 for n, s in shapes.items()}
            values = [
                torch.ones([1] * ranks[n], dtype=torch_dtype(kind)) for n in shapes if n != "o"
            ]
            made = [torch.zeros([1] * ranks["o"], dtype=torch_dtype(d)) for _, d, _ in group]
            text = f"def {label}({params}{given}):\n{body}"
            batch = Batch()
            found.append((kind, group, Case(batch, text, label, *values, *made)))
            batch.build()
    return found


@functools.cache
def rows() -> list[tuple[DataType, list[Line], Case]]:
    """A full operand beside one of a value a row and one of one row, and those two together."""
    texts = [(s, f"pypto.{s.name}(x, y)") for s in BINARY]
    texts += [(s, f"pypto.{s.name}(y, z)") for s in BINARY]
    texts += [(s, f"pypto.{s.name}(z, x)") for s in BINARY if s.group == "division"]
    return cases_of(texts, {"x": "[D, D]", "y": "[D, 1]", "z": "[1, D]", "o": "[D, D]"}, "r")


@functools.cache
def ranks(rank: int) -> list[tuple[DataType, list[Line], Case]]:
    x, y = next(r for r in RANKS if len(r[0]) == rank)
    texts = [(s, f"pypto.{s.name}(x, y)") for s in BINARY if s.group != "trigonometric"]
    texts += [(s, f"pypto.{s.name}(x)") for s in UNARY if s.group != "trigonometric"]
    shape = {
        n: "[" + ", ".join("1" if size == 1 else "D" for size in s) + "]"
        for n, s in (("x", x), ("y", y), ("o", torch.broadcast_shapes(x, y)))
    }
    kept = texts if rank == 4 else texts[:: 4 if rank == 3 else 3]
    return cases_of([t for t in kept if "y" in t[1] or 1 not in x], shape, f"rank{rank}")


def numbers(shape: tuple[int, ...], kind: DataType, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    if kind.is_float:
        values = torch.randn(shape, generator=generator) * 3
        return torch.where(values.abs() < 0.5, values.round(), values).to(torch_dtype(kind))
    return torch.randint(-9, 10, shape, generator=generator).to(torch_dtype(kind))


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_rows_and_columns(size: tuple[int, int]) -> None:
    for kind, lines, case in rows():
        x = numbers(size, kind, 1)
        y, z = numbers((size[0], 1), kind, 2), numbers((1, size[1]), kind, 3)
        case.check(x, y, z, *outputs(lines, case, x), blocks=2, l1_bytes=4096)


@pytest.mark.parametrize("rank", [3, 4, 5])
def test_ranks(rank: int) -> None:
    x, y = next(r for r in RANKS if len(r[0]) == rank)
    for kind, lines, case in ranks(rank):
        like = torch.zeros(torch.broadcast_shapes(x, y))
        case.check(numbers(x, kind, 4), numbers(y, kind, 5), *outputs(lines, case, like), blocks=2)


def test_masks_broadcast() -> None:
    """A condition of one value a row, of one row, of one element, and what is chosen likewise."""
    batch = Batch()
    shapes = "c: B([D, 1]), r: B([1, D]), x: F([D, D]), y: F([D, 1]), z: F([1, D])"
    text = (
        "B = lambda shape: pypto.Tensor(shape, pypto.DT_BOOL)\n"
        "F = lambda shape: pypto.Tensor(shape, pypto.DT_FP32)\n"
        f"def masks({shapes}, a: F([D, D]), b: F([D, D]), m: B([D, D]), n: F([D, D])):\n"
        "    a[:] = pypto.where(c, x, z)\n"
        "    b[:] = pypto.where(pypto.logical_and(r, x > y), y, z)\n"
        "    m[:] = pypto.logical_or(c, pypto.logical_and(r, pypto.logical_not(x == z)))\n"
        "    n[:] = pypto.where(pypto.logical_xor(c, y < 0.0), 1.0, x)\n"
    )

    def values(height: int, width: int) -> list[torch.Tensor]:
        x, y, z = (
            numbers(s, DataType.DT_FP32, n)
            for n, s in enumerate(((height, width), (height, 1), (1, width)))
        )
        made = [torch.full((height, width), 77.0) for _ in range(4)]
        made[2] = made[2].bool()
        return [y > 0.3, z > 0.1, x, y, z, *made]

    case = Case(batch, text, "masks", *values(2, 2))
    batch.build()
    for height, width in SIZES:
        case.check(*values(height, width), blocks=2, l1_bytes=4096)


def test_prelu() -> None:
    """The weight belongs to axis 1, whatever follows."""
    batch = Batch()
    cases = []
    for rank, kind in ((1, "FP32"), (2, "FP16"), (3, "FP32"), (4, "BF16")):
        shape = ", ".join("D" * rank)
        weight = "1" if rank == 1 else "D"
        text = (
            f"def prelu{rank}(x: pypto.Tensor([{shape}], pypto.DT_{kind}), "
            f"w: pypto.Tensor([{weight}], pypto.DT_{kind}), "
            f"o: pypto.Tensor([{shape}], pypto.DT_{kind})):\n    o[:] = pypto.prelu(x, w)\n"
        )
        dtype = getattr(DataType, f"DT_{kind}")
        sizes = (5, 3, 4, 7)[:rank]
        x = numbers(sizes, dtype, 8)
        w = numbers((1 if rank == 1 else 3,), dtype, 9)
        cases.append((Case(batch, text, f"prelu{rank}", x, w, x.clone()), x, w))
    batch.build()
    for case, x, w in cases:
        case.check(x, w, torch.full_like(x, 77))
