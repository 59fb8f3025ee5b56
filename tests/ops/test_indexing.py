"""Slices that a tensor of indices names, against torch, bit for bit."""

from __future__ import annotations

import functools

import pytest
import torch

from pypto.error import DtypeError, FeValueError, PyptoError, ShapeError, VerifyError
from pypto.ir.dtype import DataType
from pypto.ops import registry
from tests.ops.batch import Batch, Variant
from tests.ops.movement import CONTROLS, DTYPES, add, annotation, anything, bits

FP32, INT32, INT64 = DataType.DT_FP32, DataType.DT_INT32, DataType.DT_INT64
# Axes of the input, the axis, axes of the index.
FORMS = ((1, 0, 1), (1, -1, 2), (2, 0, 2), (3, 0, 1), (3, 1, 2), (3, -1, 1), (4, 0, 2), (4, 2, 1))


def axes(rank: int) -> str:
    return ", ".join("D" * rank)


def meaning(x: torch.Tensor, dim: int, index: torch.Tensor) -> torch.Tensor:
    values = {"input": x, "dim": dim, "index": index, "torch": torch}
    result: torch.Tensor = eval(registry.get("index_select").torch, values)
    return result


def indices(shape: tuple[int, ...], size: int, dtype: DataType) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape) + size)
    found = torch.randint(0, size, shape, generator=generator)
    return found.int() if dtype == INT32 else found


# Kernels over x and a table of rows; what their results are.
USES = {
    "computed": (
        "o[:] = pypto.index_select(x * 2, 0, n).exp() + 1",
        lambda x, n: meaning(x * 2, 0, n).exp() + 1,
    ),
    "named": ("o[:] = x.index_select(0, n + n - n)", lambda x, n: x[n]),
    "part": (
        "o[:] = pypto.index_select(x[1:, :], 0, n)", lambda x, n: x[1:][n],
    ),
    "turned": (
        "o[:] = x.transpose(0, 1).index_select(1, n).transpose(0, 1)", lambda x, n: x[n],
    ),
    "tails": (
        "for i in pypto.loop((n.shape[0] + 3) // 4):\n"
        "        o[i * 4 : (i + 1) * 4] = pypto.index_select(x, 0, n[i * 4 : (i + 1) * 4])",
        lambda x, n: x[n],
    ),
    "summed": (
        "o[:] = pypto.index_select(x, 0, n) - pypto.index_select(x, 0, n).amax(-1, True)",
        lambda x, n: x[n] - x[n].amax(-1, True),
    ),
    "written": (
        "m = pypto.tensor(n.shape, pypto.DT_INT32)\n    m[:] = pypto.maximum(n, 1)\n"
        "    o[:] = pypto.index_select(x, 0, m)",
        lambda x, n: x[n.clamp(min=1)],
    ),
    "chosen": (
        "if x.shape[1] > 40:\n        o[:] = pypto.index_select(x, 0, n)\n    else:\n"
        "        o[:] = pypto.index_select(x, 0, n) * 2",
        lambda x, n: x[n] * (1 if x.shape[1] > 40 else 2),
    ),
}  # fmt: skip


@functools.cache
def variants() -> dict[object, Variant]:
    batch, found = Batch(), dict[object, Variant]()
    for number, (rank, dim, names) in enumerate(FORMS):
        index = INT64 if number % 2 else INT32
        out = rank - 1 + names
        head = (
            f"def form{number}(x: {annotation(axes(rank), FP32)}, "
            f"n: {annotation(axes(names), index)}, o: {annotation(axes(out), FP32)}):\n"
        )
        n = torch.zeros((2,) * names, dtype=torch.int64 if number % 2 else torch.int32)
        values = (torch.ones((2,) * rank), n, torch.ones((2,) * out))
        text = f"{head}    o[:] = pypto.index_select(x, {dim}, n)\n"
        found[rank, dim, names] = add(batch, text, f"form{number}", *values)
    for dtype in DTYPES:
        two = annotation("D, D", dtype)
        text = (
            f"def typed_{dtype.short}(x: {two}, n: {annotation('D', INT32)}, o: {two}, p: {two}):\n"
            "    o[:] = pypto.index_select(x, 0, n)\n    p[:] = pypto.index_select(x, 1, n)\n"
        )
        x = anything((2, 2), dtype)
        found[dtype] = add(batch, text, f"typed_{dtype.short}", x, torch.zeros(2).int(), x, x)
    for name, (body, _) in USES.items():
        two = annotation("D, D", FP32)
        text = f"def {name}(x: {two}, n: {annotation('D', INT32)}, o: {two}):\n    {body}\n"
        x = torch.ones(2, 2)
        found[name] = add(batch, text, name, x, torch.zeros(2).int(), x)
    batch.build()
    return found


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_forms(form: tuple[int, int, int]) -> None:
    rank, dim, names = form
    index = INT64 if FORMS.index(form) % 2 else INT32
    for step, size in enumerate((3, 20, 65, 1)):
        shape = (size, 7, 33, 5)[:rank] if rank > 1 else (size * 9,)
        for named in ((5, 4)[:names], (70, 2)[:names], (0, 3)[:names]):
            x = anything(shape, FP32)
            n = indices(named, shape[dim], index)
            want = meaning(x, dim, n)
            o = torch.full(want.shape, 77.0)
            assert variants()[form].run(x, n, o, **CONTROLS[step % 3]) == 0
            assert torch.equal(bits(o), bits(want)), (shape, named)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes(dtype: DataType) -> None:
    for step, shape in enumerate(((5, 9), (40, 40), (6, 5000))):
        x, n = anything(shape, dtype), indices((11,), 5, INT32)
        o, p = (torch.zeros_like(meaning(x, dim, n)) for dim in (0, 1))
        assert variants()[dtype].run(x, n, o, p, **CONTROLS[step % 3]) == 0
        assert torch.equal(bits(o), bits(meaning(x, 0, n)))
        assert torch.equal(bits(p), bits(meaning(x, 1, n)))


@pytest.mark.parametrize("name", USES)
def test_uses(name: str) -> None:
    for step, (rows, cols, count) in enumerate(((6, 9, 3), (50, 130, 37), (4, 30_000, 9))):
        x = torch.randn(rows, cols, generator=torch.Generator().manual_seed(step))
        n = indices((count,), rows - 1, INT32)
        o = torch.full((count, cols), 77.0)
        assert variants()[name].run(x, n, o, **CONTROLS[step % 3]) == 0
        want = USES[name][1](x, n)
        assert torch.allclose(o, want, rtol=1e-6, atol=0), (name, rows, cols)


def test_slices_are_copied_to_where_they_go() -> None:
    program = variants()[3, 0, 1].compilation.program
    assert program is not None and not program.workspace


def test_what_is_not_there_is_reported() -> None:
    batch = Batch("checked")
    two = annotation("D, D", FP32)
    text = f"def out(x: {two}, n: {annotation('D', INT64)}, o: {two}):\n"
    variant = add(
        batch, text + "    o[:] = pypto.index_select(x, 1, n)\n", "out",
        torch.ones(2, 2), torch.zeros(2).long(), torch.ones(2, 2),
    )  # fmt: skip
    batch.build()
    x, o = torch.randn(4, 6), torch.zeros(4, 3)
    assert variant.run(x, torch.tensor([5, 0, 2]), o) == 0
    assert torch.equal(o, x[:, [5, 0, 2]])
    for wrong in (6, -1, 2**40):
        with pytest.raises(VerifyError, match="n_element >= 0 && n_element < "):
            variant.run(x, torch.tensor([0, wrong, 2]), o)


@pytest.mark.parametrize(
    ("line", "error", "message"),
    [
        ("index_select(x, 2, n)", FeValueError, "index_select: 'dim' is out of range"),
        ("index_select(x, 0, x)", DtypeError, "'index' does not take DT_FP32"),
        ("index_select(x, 0, n.reshape([1, 2, 2]))", ShapeError, "'index' has 1 or 2 axes"),
        ("index_select(y, 1, n.reshape([2, 2]))", ShapeError, "gives at most rank 5"),
    ],
)
def test_refusals(line: str, error: type[PyptoError], message: str) -> None:
    x, y = annotation("4, 6", FP32), annotation("1, 2, 3, 4, 5", FP32)
    text = f"def k(x: {x}, n: {annotation('4', INT32)}, y: {y}, o: {x}):\n    t = pypto.{line}\n"
    ones = torch.ones(4, 6)
    with pytest.raises(error) as caught:
        values = (ones, torch.zeros(4).int(), torch.ones(1, 2, 3, 4, 5), ones)
        add(Batch(), text + "    o[:] = x\n", "k", *values)
    assert message in caught.value.diagnostics[0].message
