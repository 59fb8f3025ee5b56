"""Reductions along any axis against torch: dtypes, ranks, tails, empty axes, special values."""

from __future__ import annotations

import functools
import math

import pytest
import torch

from pypto.error import FeTypeError, FeValueError
from pypto.ir.dtype import DataType
from tests.ops.batch import Batch
from tests.ops.checks import Case, filled

FP32, FP16, BF16 = DataType.DT_FP32, DataType.DT_FP16, DataType.DT_BF16
INT32, INT16 = DataType.DT_INT32, DataType.DT_INT16
DTYPES = (FP32, FP16, BF16, INT32, INT16)
CONTROL = ({}, {"blocks": 3, "l1_bytes": 1024}, {"blocks": 7, "l1_bytes": 8192})


def tensor(shape: tuple[int, ...], dtype: DataType, seed: int = 0) -> torch.Tensor:
    """Numbers whose products stay in range."""
    generator = torch.Generator().manual_seed(seed + sum(shape))
    kind = getattr(torch, dtype.torch_name or "")
    if not dtype.is_float:
        info = torch.iinfo(kind)
        return torch.randint(info.min, info.max, shape, generator=generator).to(kind)
    signs = torch.randint(0, 2, shape, generator=generator) * 2 - 1
    return (signs * (0.9 + torch.rand(shape, generator=generator) * 0.22)).to(kind)


def annotation(shape: str, dtype: DataType) -> str:
    axes = ", ".join("1" if a == "1" else "D" for a in shape)
    return f"pypto.Tensor([{axes}], pypto.{dtype})"


# What is computed of x [a, b, c], and the shape of the result.
RESULTS = (
    ("pypto.sum(x, 0)", "bc"), ("x.sum(1, keepdim=True)", "a1c"), ("x.sum([-1])", "ab"),
    ("pypto.amax(x, 0, True)", "1bc"), ("x.amin(-2)", "ac"), ("pypto.prod(x, -3)", "bc"),
    ("pypto.prod(x, 1, True)", "a1c"), ("pypto.prod(x, 2)", "ab"), ("x - x.amax(1, True)", "abc"),
    ("pypto.sum(x, [0, 2])", "b"), ("pypto.amax(x, (0, 1, 2), True)", "111"),
    ("x.amin((2, 1))", "a"),
)  # fmt: skip
FLOAT_RESULTS = (("pypto.softmax(x, 0)", "abc"), ("pypto.softmax(x * 3, 1)", "abc"))


def results_of(dtype: DataType) -> tuple[tuple[str, str], ...]:
    return RESULTS + FLOAT_RESULTS if dtype.is_float else RESULTS


def arguments(dtype: DataType, sizes: dict[str, int]) -> list[torch.Tensor]:
    x = tensor(tuple(sizes[n] for n in "abc"), dtype)
    shapes = [tuple(sizes.get(n, 1) for n in shape) for _, shape in results_of(dtype)]
    return [x, *(filled(x.new_empty(shape)) for shape in shapes)]


@functools.cache
def cases() -> dict[DataType, Case]:
    batch, made = Batch(), {}
    for dtype in DTYPES:
        results = results_of(dtype)
        outs = ", ".join(f"o{n}: {annotation(s, dtype)}" for n, (_, s) in enumerate(results))
        name = f"reduce_axes_{dtype.short}"
        text = f"def {name}(x: {annotation('abc', dtype)}, {outs}):\n"
        text += "".join(f"    o{n}[:] = {body}\n" for n, (body, _) in enumerate(results))
        made[dtype] = Case(batch, text, name, *arguments(dtype, {"a": 3, "b": 4, "c": 5}))
    batch.build()
    return made


SIZES = (
    (3, 4, 5), (1, 1, 1), (2, 65, 7), (130, 2, 64), (5, 3, 65), (1, 200, 1), (7, 1, 300),
    (2, 70, 1030), (66, 9, 33),
)  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.short)
def test_axes(dtype: DataType) -> None:
    case = cases()[dtype]
    for step, sizes in enumerate(SIZES):
        case.check(*arguments(dtype, dict(zip("abc", sizes, strict=True))), **CONTROL[step % 3])


@pytest.mark.parametrize("dtype", (FP32, FP16, BF16), ids=lambda d: d.short)
def test_special_values(dtype: DataType) -> None:
    case = cases()[dtype]
    for value in (math.nan, math.inf, -math.inf, -0.0, 0.0):
        given = arguments(dtype, {"a": 5, "b": 70, "c": 6})
        for place in range(5):
            given[0][place, (place * 17) % 70, place] = value
        case.check(*given, blocks=2, l1_bytes=2048)
        case.check(given[0].fill_(value), *given[1:])


def test_rows_that_do_not_fit() -> None:
    for sizes in ((2, 3, 70_001), (3, 20_000, 5), (40_000, 2, 3)):
        for dtype in (FP32, INT16):
            cases()[dtype].check(*arguments(dtype, dict(zip("abc", sizes, strict=True))))


@functools.cache
def totals() -> dict[str, Case]:
    """Of any size, none included: what has a value there."""
    batch, made = Batch(), {}
    for dtype in (FP32, INT32):
        name = f"totals_{dtype.short}"
        text = f"def {name}(x: {annotation('abc', dtype)}, s: {annotation('bc', dtype)}, "
        text += f"t: {annotation('a1c', dtype)}, p: {annotation('ac', dtype)}, "
        text += f"q: {annotation('ab', dtype)}, u: {annotation('1', dtype)}):\n"
        text += "    s[:] = x.sum(0)\n    t[:] = x.sum(1, True)\n    p[:] = pypto.prod(x, 1)\n"
        text += "    q[:] = pypto.prod(x, 2)\n    u[:] = x.sum([0, 1, 2])\n"
        made[dtype.short] = Case(batch, text, name, *totals_arguments(dtype, (2, 2, 2)))
    batch.build()
    return made


def totals_arguments(dtype: DataType, sizes: tuple[int, int, int]) -> list[torch.Tensor]:
    a, b, c = sizes
    x = tensor(sizes, dtype)
    shapes = ((b, c), (a, 1, c), (a, c), (a, b), (1,))
    return [x, *(filled(x.new_empty(shape)) for shape in shapes)]


@pytest.mark.parametrize("sizes", [(0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 3), (0, 0, 0)])
def test_nothing_has_a_sum_and_a_product(sizes: tuple[int, int, int]) -> None:
    for dtype in (FP32, INT32):
        totals()[dtype.short].check(*totals_arguments(dtype, sizes))


def test_nothing_has_no_maximum() -> None:
    given = arguments(FP32, {"a": 3, "b": 0, "c": 4})
    assert cases()[FP32].variant.run(*given) >= 16  # a precondition refuses the call
    text = "def k(x: pypto.Tensor, o: pypto.Tensor):\n    o[:] = x.amax(0)\n"
    with pytest.raises(FeValueError, match="empty axis"):
        Case(Batch(), text, "k", torch.ones(0, 3), torch.ones(3))
    # The axis that has no elements is not the one that is reduced.
    Case(Batch(), text, "k", torch.ones(3, 0), torch.ones(0))


@pytest.mark.parametrize(
    ("call", "cls", "message"),
    [
        ("x.sum([0, -2])", FeValueError, "names an axis twice"),
        ("x.sum(2)", FeValueError, "out of range"),
        ("pypto.prod(x, [0, 1])", FeTypeError, "must be one axis"),
        ("pypto.softmax(x, (0, 1))", FeTypeError, "must be one axis"),
        ("x.sum(0.5)", FeTypeError, "an int or a list of ints"),
    ],
)
def test_refused(call: str, cls: type[Exception], message: str) -> None:
    text = f"def k(x: pypto.Tensor, o: pypto.Tensor):\n    o[:] = {call}\n"
    with pytest.raises(cls, match=message):
        Case(Batch(), text, "k", torch.ones(3, 4), torch.ones(4))


RANKS = (
    ("abcde", 0, "bcde"), ("abcde", 2, "abde"), ("abcde", 3, "abce"), ("abcd", 1, "acd"),
    ("ab", 0, "b"), ("a", 0, "1"),
)  # fmt: skip


def test_ranks_and_broadcasts() -> None:
    """Axes 1 to 5 of them, and operands that lack some: what is inside and outside of the reduced
    axis is not one axis then."""
    batch, made = Batch(), []
    sizes = dict(zip("abcde", (3, 2, 5, 4, 9), strict=True))
    for number, (shape, dim, out) in enumerate(RANKS):
        beside = "".join(n if i % 2 == 0 else "1" for i, n in enumerate(shape))
        name = f"ranks{number}"
        text = f"def {name}(x: {annotation(shape, FP32)}, y: {annotation(beside, FP32)}, "
        text += f"o: {annotation(out, FP32)}, p: {annotation(out, FP32)}):\n"
        text += f"    o[:] = pypto.sum(x * y, {dim})\n"
        text += f"    p[:] = pypto.amax(x, {dim}) - pypto.amin(x, {dim}) + o\n"
        x, y, o = (
            tensor(tuple(sizes.get(n, 1) for n in letters), FP32, seed)
            for seed, letters in enumerate((shape, beside, out))
        )
        made.append((Case(batch, text, name, x, y, filled(o), filled(o)), x, y, o))
    batch.build()
    for case, x, y, o in made:
        for control in CONTROL:
            case.check(x, y, filled(o), filled(o), **control)


def test_partly_valid() -> None:
    """What lies behind the valid part of a view is not reduced."""
    batch = Batch()
    text = (
        f"def view(x: {annotation('ab', FP32)}, s: {annotation('b', FP32)}, "
        f"m: {annotation('b', FP32)}):\n"
        "    for i in pypto.loop((x.shape[0] + 15) // 16):\n"
        "        part = x[i * 16 : i * 16 + 16, :]\n"
        "        s[:] = pypto.sum(part, 0)\n        m[:] = pypto.amax(part, 0)\n"
    )
    x, o = tensor((37, 70), FP32), torch.zeros(70)
    case = Case(batch, text, "view", x, o, o.clone())
    batch.build()
    got_sum, got_max = torch.zeros(70), torch.zeros(70)
    assert case.variant.run(x, got_sum, got_max) == 0
    torch.testing.assert_close(got_sum, x[32:].sum(0))
    assert torch.equal(got_max, x[32:].amax(0))


@pytest.mark.parametrize("rows", [63, 64, 65, 1000, 70_001])
@pytest.mark.parametrize("kind", ["tenths", "large_first", "both_signs"])
def test_long_sums(rows: int, kind: str) -> None:
    """Sums of rows stay within the tolerance of the operation however many there are."""
    x = torch.full((rows, 3), 0.1)
    if kind == "large_first":
        x = torch.full((rows, 3), 1e-4)
        x[0] = 1.0
    elif kind == "both_signs":
        x = torch.randn(rows, 3, generator=torch.Generator().manual_seed(rows))
    given = totals_arguments(FP32, (rows, 1, 3))
    assert totals()[FP32.short].variant.run(x.view(rows, 1, 3), *given[1:]) == 0
    error = (given[1].double() - x.double().sum(0)).abs()
    assert (error <= 1e-6 * x.double().abs().sum(0)).all(), error


@pytest.mark.parametrize("sizes", [(1000, 3, 70), (4, 5000, 33)])
def test_the_number_of_cores_does_not_matter(sizes: tuple[int, int, int]) -> None:
    """Not one bit."""
    x = torch.randn(sizes, generator=torch.Generator().manual_seed(1))
    results = []
    for workers in (1, 2, 3, 7):
        given = totals_arguments(FP32, sizes)
        given[0] = x
        assert totals()[FP32.short].variant.run(*given, workers=workers) == 0
        results.append(torch.cat([g.flatten() for g in given[1:3]]))
    assert all(torch.equal(result, results[0]) for result in results)


def test_a_step_fits_its_buffers() -> None:
    """Rows of 65 columns, as many as the buffers of a stage with many operands hold."""
    batch = Batch()
    full = annotation("abc", INT32)
    text = (
        f"def tight(x: {full}, y: {full}, m: {annotation('a1c', INT32)}, g: {full}, n: {full}):\n"
        "    z = y.bitwise_xor(x)\n"
        "    low = pypto.amin(pypto.where(z.ne(x), x, 0), 1, keepdim=True)\n"
        "    m[:] = low\n    g[:] = pypto.gcd(x, low)\n    n[:] = z.minimum(low)\n"
    )

    def given(sizes: tuple[int, int, int]) -> list[torch.Tensor]:
        x, y = tensor(sizes, INT32), tensor(sizes, INT32, 1)
        return [x // 7, y, filled(x[:, :1].contiguous()), filled(x), filled(x)]

    case = Case(batch, text, "tight", *given((17, 33, 65)))
    batch.build()
    for columns in (65, 97, 129, 511, 1025):
        case.check(*given((3, 33, columns)))
        case.check(*given((3, 33, columns)), workers=1)
