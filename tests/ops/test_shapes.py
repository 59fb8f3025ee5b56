"""Broadcasting, reductions and ranks: one binary for all sizes, small steps, many blocks."""

from __future__ import annotations

import functools

import pytest
import torch

from pypto.error import RtValueError, ShapeError
from pypto.ir.dtype import DataType
from tests.ops.batch import Batch
from tests.ops.checks import Case, filled
from tests.ops.programs import Seeded

FP32, FP16, BF16 = DataType.DT_FP32, DataType.DT_FP16, DataType.DT_BF16
INT32, INT16 = DataType.DT_INT32, DataType.DT_INT16
ALL = (FP32, FP16, BF16, INT32, INT16)
CONTROL = ({}, {"blocks": 3, "l1_bytes": 1024}, {"blocks": 7, "l1_bytes": 8192})


def tensor(shape: tuple[int, ...], dtype: DataType, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed + sum(shape))
    kind = getattr(torch, dtype.torch_name or "")
    if not dtype.is_float:
        info = torch.iinfo(kind)
        return torch.randint(info.min, info.max, shape, generator=generator).to(kind)
    return (torch.randn(shape, generator=generator) * 3).to(kind)


def annotation(shape: str, dtype: DataType) -> str:
    axes = ", ".join("1" if a == "1" else "D" for a in shape)
    return f"pypto.Tensor([{axes}], pypto.{dtype})"


# --- broadcasting: letters are axes of any size, 1 an axis of size 1 ---

PATTERNS = (
    ("ab", "1b", FP32), ("ab", "a1", FP16), ("ab", "11", INT32), ("a1", "1b", BF16),
    ("b", "ab", FP16), ("a1", "ab", INT16), ("abc", "a1c", FP32), ("1bc", "ab1", INT32),
    ("abcd", "1b1d", FP16), ("a1c1", "bcd", FP32), ("abcde", "a1c1e", INT16),
    ("abcde", "1", BF16),
)  # fmt: skip


def joined(a: str, b: str) -> str:
    width = max(len(a), len(b))
    pairs = zip(a.rjust(width, "1"), b.rjust(width, "1"), strict=True)
    return "".join(y if x == "1" else x for x, y in pairs)


@functools.cache
def broadcasts() -> dict[int, Case]:
    batch = Batch()
    cases = {}
    for number, (a, b, dtype) in enumerate(PATTERNS):
        out = annotation(joined(a, b), dtype)
        text = (
            f"def broadcast{number}(x: {annotation(a, dtype)}, y: {annotation(b, dtype)}, "
            f"p: {out}, q: {out}, r: {out}):\n"
            "    p[:] = x - y\n    q[:] = pypto.maximum(y, x)\n    r[:] = (y - x) * 3 - y\n"
        )
        cases[number] = Case(batch, text, f"broadcast{number}", *broadcast_arguments(number, {}))
    batch.build()
    return cases


def broadcast_arguments(number: int, sizes: dict[str, int]) -> list[torch.Tensor]:
    a, b, dtype = PATTERNS[number]
    shapes = [tuple(1 if n == "1" else sizes.get(n, 3) for n in s) for s in (a, b, joined(a, b))]
    x, y = tensor(shapes[0], dtype, 1), tensor(shapes[1], dtype, 2)
    return [x, y, *(filled(tensor(shapes[2], dtype)) for _ in range(3))]


@pytest.mark.parametrize("number", range(len(PATTERNS)), ids=lambda n: "_".join(PATTERNS[n][:2]))
def test_broadcast(number: int) -> None:
    case, chooser = broadcasts()[number], Seeded(number)
    rank = len(joined(*PATTERNS[number][:2]))
    long = (1, 2, 7, 8, 9, 31, 32, 33, 65, 130, 257) if rank < 4 else (1, 2, 3, 7, 9, 16)
    for step in range(8):
        sizes = {n: chooser.choose(long) for n in "abcde"}
        if step == 0:
            sizes["abcde"[rank - 1]] = 0
        if step == 1:
            sizes["a"] = 0
        case.check(*broadcast_arguments(number, sizes), **CONTROL[step % 3])


def test_long_rows_broadcast() -> None:
    """Rows beyond on-chip memory; one operand the same in all rows, one value a row."""
    for number in (0, 1):
        case = broadcasts()[number]
        for sizes in ({"a": 3, "b": 60001}, {"a": 1, "b": 150000}):
            case.check(*broadcast_arguments(number, sizes))
            case.check(*broadcast_arguments(number, sizes), blocks=5)


# --- reductions ---


def reductions_text(name: str, dtype: DataType) -> str:
    full, keep, drop = (annotation(s, dtype) for s in ("ab", "a1", "a"))
    text = (
        f"def {name}(x: {full}, s: {keep}, t: {drop}, u: {keep}, v: {drop}, w: {keep}, m: {full}"
        + (f", z: {full}" if dtype.is_float else "")
        + "):\n    s[:] = pypto.sum(x, -1, keepdim=True)\n    t[:] = x.sum(1)\n"
        "    u[:] = x.amax(-1, True)\n    v[:] = pypto.amin(x, dim=1)\n"
        "    w[:] = pypto.amin(-x, 1, True)\n    m[:] = x - pypto.amax(x, -1, keepdim=True)\n"
    )
    return text + ("    z[:] = pypto.softmax(x, -1)\n" if dtype.is_float else "")


def reduction_arguments(dtype: DataType, rows: int, cols: int) -> list[torch.Tensor]:
    x = tensor((rows, cols), dtype)
    keep, drop = x.new_full((rows, 1), 77), x.new_full((rows,), 77)
    outputs = [keep, drop, keep.clone(), drop.clone(), keep.clone(), filled(x)]
    return [x, *outputs, *([filled(x)] if dtype.is_float else [])]


@functools.cache
def reductions() -> dict[DataType, Case]:
    batch = Batch()
    cases = {
        d: Case(
            batch,
            reductions_text(f"reduce_{d.short}", d),
            f"reduce_{d.short}",
            *reduction_arguments(d, 3, 5),
        )
        for d in ALL
    }
    batch.build()
    return cases


@pytest.mark.parametrize("dtype", ALL, ids=lambda d: d.short)
def test_reductions(dtype: DataType) -> None:
    case = reductions()[dtype]
    for step, cols in enumerate((1, 2, 7, 16, 63, 64, 65, 127, 128, 129, 255, 1000, 3001)):
        rows = (1, 7, 8, 9, 65, 0)[step % 6]
        case.check(*reduction_arguments(dtype, rows, cols), **CONTROL[step % 3])
    case.check(*reduction_arguments(dtype, 2, 70001))
    case.check(*reduction_arguments(dtype, 300, 40), workers=1)


@pytest.mark.parametrize("dtype", (FP32, FP16, BF16), ids=lambda d: d.short)
def test_reductions_of_special_values(dtype: DataType) -> None:
    case = reductions()[dtype]
    for value in (float("nan"), float("inf"), float("-inf"), -0.0):
        arguments = reduction_arguments(dtype, 6, 70)
        for row in range(5):
            arguments[0][row, (row * 17) % 70] = value
        case.check(*arguments)


def test_an_empty_axis_has_a_sum_and_no_maximum() -> None:
    case = reductions()[FP32]
    copies = [v.clone() for v in reduction_arguments(FP32, 3, 0)]
    assert case.variant.run(*copies) >= 16  # a precondition refuses the call
    batch = Batch()
    text = f"def sums(x: {annotation('ab', FP32)}, s: {annotation('a1', FP32)}):\n"
    text += "    s[:] = pypto.sum(x, -1, True) + 1\n"
    sums = Case(batch, text, "sums", torch.ones(3, 0), torch.ones(3, 1))
    static = "def fixed(x: pypto.Tensor, s: pypto.Tensor):\n    s[:] = x.sum(-1, True)\n"
    fixed = Case(batch, static, "fixed", torch.ones(3, 0), torch.ones(3, 1))
    batch.build()
    for case in (sums, fixed):
        case.check(torch.ones(3, 0), torch.full((3, 1), 7.0))
    sums.check(torch.ones(0, 0), torch.ones(0, 1))
    sums.check(torch.ones(5, 9), torch.ones(5, 1))


@pytest.mark.parametrize("sizes", ["D, D", "D, 1", "4, 1"])
def test_a_sum_of_negative_zeros_is_zero(sizes: str) -> None:
    """Also over an axis of size 1, whether or not the kernel knows its size."""
    batch, cases = Batch(), []
    for dtype in (FP32, FP16, BF16):
        kind = f"pypto.Tensor([{sizes}], pypto.{dtype})"
        name = f"zeros_{dtype.short}"
        text = f"def {name}(x: {kind}, s: {kind}):\n    s[:] = pypto.sum(x, -1, True)\n"
        x = torch.tensor([[-0.0], [0.0], [2.5], [float("nan")]]).to(tensor((1,), dtype).dtype)
        cases.append((Case(batch, text, name, x, filled(x)), x))
    batch.build()
    for case, x in cases:
        (_, got), _ = case.run(x, filled(x))
        assert got.flatten().tolist()[:3] == [0.0, 0.0, 2.5] and bool(got[3].isnan())
        assert not bool(got[:3].signbit().any())


def test_static_maximum_of_nothing_is_an_error() -> None:
    text = "def k(x: pypto.Tensor, s: pypto.Tensor):\n    s[:] = x.amax(-1, True)\n"
    with pytest.raises(ValueError, match="empty axis"):
        Case(Batch(), text, "k", torch.ones(3, 0), torch.ones(3, 1))


def test_ranks_of_reductions() -> None:
    """Ranks 1 to 5, several reductions in a row: through workspace, with all cores waiting."""
    batch = Batch()
    text = (
        f"def ranks(x: {annotation('abcde', FP32)}, y: {annotation('abcd', FP32)}, "
        f"z: {annotation('abc1', FP32)}, s: {annotation('a', FP32)}):\n"
        "    a = pypto.amax(x, -1)\n    y[:] = a\n    b = pypto.amin(a, -1, keepdim=True)\n"
        "    z[:] = b\n    c = pypto.amax(pypto.amin(b, -1), -1)\n    s[:] = pypto.amax(c, 1)\n"
    )
    line = f"def line(x: {annotation('a', FP32)}, s: {annotation('1', FP32)}):\n"
    line += "    s[:] = pypto.amax(x, 0) - x.amin(0, True)\n"

    def arguments(*sizes: int) -> list[torch.Tensor]:
        x = tensor(sizes, FP32)
        y, z = x.new_zeros(sizes[:4]), x.new_zeros((*sizes[:3], 1))
        return [x, y, z, x.new_zeros(sizes[:1])]

    ranks = Case(batch, text, "ranks", *arguments(2, 2, 2, 2, 2))
    single = Case(batch, line, "line", torch.ones(5), torch.ones(1))
    batch.build()
    assert ranks.variant.compilation.ascendc.count("SyncAll<true>()") >= 3
    for sizes in ((2, 3, 4, 5, 6), (1, 1, 1, 1, 1), (3, 2, 1, 9, 65), (7, 5, 3, 2, 1)):
        for control in CONTROL:
            ranks.check(*arguments(*sizes), **control)
    for size in (1, 5, 64, 1000, 40000):
        single.check(tensor((size,), FP32), torch.zeros(1))


# --- in place, aliases, several stages ---


def test_in_place_and_aliases() -> None:
    batch = Batch()
    pair = ", ".join(f"{n}: {annotation('ab', FP32)}" for n in "xo")
    update = f"def update({pair}):\n    o[:] = o + x\n    x[:] += o\n    o.move(x * o)\n"
    twice = f"def twice({pair}):\n    o[:] = x * 2\n    o[:] = pypto.sum(x, -1, True) + o\n"
    x, o = tensor((9, 33), FP32, 1), tensor((9, 33), FP32, 2)
    same = tensor((9, 33), FP32, 3)
    cases = [Case(batch, update, "update", x, o), Case(batch, twice, "twice", x, o)]
    alias = [
        Case(batch, update.replace("update", "update_same"), "update_same", same, same),
        Case(batch, twice.replace("twice", "twice_same"), "twice_same", same, same),
    ]
    batch.build()
    for control in CONTROL:
        for case in cases:
            case.check(x, o, **control)
        for case in alias:
            case.check(same, same, **control)


def test_a_refused_broadcast() -> None:
    text = "def k(x: pypto.Tensor, y: pypto.Tensor, o: pypto.Tensor):\n    o[:] = x + y\n"
    with pytest.raises(ShapeError, match="do not broadcast"):
        Case(Batch(), text, "k", torch.ones(3, 4), torch.ones(3, 5), torch.ones(3, 4))


def test_an_axis_that_does_not_fit_at_the_call(tmp_path: object) -> None:
    """Dynamic axes are equal at every call, else the call is refused with the reason."""
    import pypto
    from tests.ops.batch import make_function
    from tests.ops.checks import HEADER

    text = f"def k(x: {annotation('ab', FP32)}, y: {annotation('ab', FP32)}):\n    y[:] = x + y\n"
    kernel = pypto.frontend.jit(make_function(HEADER + text, "k"))
    y = torch.ones(3, 4)
    kernel(torch.ones(3, 4), y)
    assert bool((y == 2).all())
    with pytest.raises(RtValueError, match=r"needs x\.shape\[1\] == y\.shape\[1\]"):
        kernel(torch.ones(3, 1), y)
    assert bool((y == 2).all())
