"""Casts: every pair of dtypes, rounding mode and overflow rule, on all 16-bit values."""

from __future__ import annotations

import functools
import math

import pytest
import torch

from pypto.ir.dtype import DataType
from pypto.ops.casts import CASTS
from tests.ops.batch import Batch
from tests.ops.checks import Case

MODES = ("NONE", "RINT", "FLOOR", "CEIL", "ROUND", "TRUNC")
NUMBERS = tuple(sorted(CASTS - {DataType.DT_BOOL}))
SOURCES = NUMBERS


def torch_dtype(dtype: DataType) -> torch.dtype:
    return getattr(torch, dtype.torch_name or "")  # type: ignore[no-any-return]


def values_of(dtype: DataType) -> torch.Tensor:
    kind = torch_dtype(dtype)
    if dtype.bytes == 1:
        return torch.arange(256, dtype=torch.int32).to(kind)
    if dtype.bytes == 2:
        return torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).view(kind)
    generator = torch.Generator().manual_seed(3)
    if dtype == DataType.DT_FP32:
        wide = torch.randn(20000, generator=generator) * 70000
        near = torch.randint(-600, 600, (5000,), generator=generator) / 2
        bits = torch.randint(-(2**31), 2**31, (20000,), generator=generator).to(torch.int32)
        whole = torch.arange(-300.0, 301.0)  # and the numbers next to them
        beside = [torch.nextafter(whole, torch.full((), at)) for at in (-math.inf, math.inf)]
        return torch.cat([wide, near, bits.view(torch.float32), whole, *beside])
    info = torch.iinfo(kind)
    many = torch.randint(info.min, info.max, (20000,), generator=generator)
    small = torch.randint(-70000, 70000, (5000,), generator=generator)
    return torch.cat([torch.tensor([info.min, info.max, 0, -1]), many, small]).to(kind)


def modes_of(source: DataType, target: DataType) -> list[tuple[str, str]]:
    """(mode, satmode) pairs that mean something for a cast."""
    if source == target:
        return [("NONE", "OFF")]
    to_int = not target.is_float
    modes = MODES if source.is_float and (to_int or target.bytes < source.bytes) else MODES[:1]
    return [(m, s) for m in modes for s in (("OFF", "ON") if to_int else ("OFF",))]


@functools.cache
def casts() -> dict[DataType, Case]:
    batch = Batch()
    cases = {}
    for source in SOURCES:
        params, lines = [f"x: pypto.Tensor([D], pypto.{source})"], []
        outputs = []
        for target in NUMBERS:
            for mode, sat in modes_of(source, target):
                name = f"{target.short}_{mode}_{sat}"
                params.append(f"{name}: pypto.Tensor([D], pypto.{target})")
                lines.append(
                    f"    {name}[:] = pypto.cast(x, pypto.{target}, "
                    f"pypto.CastMode.CAST_{mode}, pypto.SaturationMode.{sat})\n"
                )
                outputs.append(torch.zeros(9, dtype=torch_dtype(target)))
        name = f"cast_{source.short}"
        text = f"def {name}({', '.join(params)}):\n{''.join(lines)}"
        x = torch.zeros(9, dtype=torch_dtype(source))
        cases[source] = Case(batch, text, name, x, *outputs)
    batch.build()
    return cases


@functools.cache
def results(source: DataType) -> dict[str, torch.Tensor]:
    case = casts()[source]
    x = values_of(source)
    kinds = {f"{t.short}_{m}_{s}": t for t in NUMBERS for m, s in modes_of(source, t)}
    outputs = {n: torch.full(x.shape, 77).to(torch_dtype(kinds[n])) for n in case.names[1:]}
    assert case.variant.run(x, *outputs.values()) == 0
    return outputs


def rounded(x: torch.Tensor, mode: str) -> torch.Tensor:
    """FP64 ``x`` as integral values."""
    if mode == "ROUND":
        return torch.where(x < 0, (x - 0.5).ceil(), (x + 0.5).floor())
    function = {"NONE": "trunc", "RINT": "round", "FLOOR": "floor", "CEIL": "ceil"}
    return getattr(torch, function.get(mode, "trunc"))(x)  # type: ignore[no-any-return]


def to_float(x: torch.Tensor, kind: torch.dtype, mode: str) -> torch.Tensor:
    """FP64 ``x`` as a narrower float under a rounding mode."""
    near = x.to(kind)
    if mode in ("NONE", "RINT"):
        return near
    up = torch.nextafter(near, torch.tensor(math.inf, dtype=kind))
    down = torch.nextafter(near, torch.tensor(-math.inf, dtype=kind))
    floor = torch.where(near.double() > x, down, near)
    ceil = torch.where(near.double() < x, up, near)
    if mode == "FLOOR":
        return floor
    if mode == "CEIL":
        return ceil
    trunc = torch.where(x < 0, ceil, floor)
    if mode == "TRUNC":
        return trunc
    away = torch.where(x < 0, floor, ceil)
    tie = (x - floor.double()) == (ceil.double() - x)
    return torch.where(tie & (floor != ceil), away, near)


PAIRS = [
    (s, t, m, o) for s in SOURCES for t in NUMBERS for m, o in modes_of(s, t)
]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "target", "mode", "sat"), PAIRS, ids=lambda v: getattr(v, "short", v)
)
def test_cast(source: DataType, target: DataType, mode: str, sat: str) -> None:
    x, got = values_of(source), results(source)[f"{target.short}_{mode}_{sat}"]
    kind = torch_dtype(target)
    if target.is_float:
        check_float(x, got, kind, mode)
        return
    info = torch.iinfo(kind)
    if not source.is_float:
        wide = x.long()
        want = wide.clamp(info.min, info.max).to(kind) if sat == "ON" else wide.to(kind)
        assert torch.equal(got, want)
        return
    integral = rounded(x.double(), mode)
    # NaN has no number; beyond 32 bits wrapping is not defined (torch leaves it to the machine).
    limit = 2.0**63 if sat == "ON" else 2.0**31
    defined = integral.abs() < limit
    wide = integral[defined].long()
    want = wide.clamp(info.min, info.max) if sat == "ON" else wide
    assert torch.equal(got[defined], want.to(kind))


def check_float(x: torch.Tensor, got: torch.Tensor, kind: torch.dtype, mode: str) -> None:
    if not x.dtype.is_floating_point or mode in ("NONE", "RINT"):
        want = x.to(kind)
        same = (got == want) | (got.isnan() & want.isnan())
        assert bool((same & (got.signbit() == want.signbit()) | got.isnan()).all())
        return
    finite = x.isfinite() & (x.double().abs() <= torch.finfo(kind).max)
    want = to_float(x.double(), kind, mode)
    wrong = finite & (got != want)
    assert not bool(wrong.any()), (x[wrong][:4], got[wrong][:4], want[wrong][:4])


@functools.cache
def directed() -> dict[DataType, Case]:
    """INT32 and INT64 to BF16, which goes through FP32, in the modes that round one way."""
    batch, cases = Batch(), {}
    for source in (DataType.DT_INT32, DataType.DT_INT64):
        out = "pypto.Tensor([D], pypto.DT_BF16)"
        text = f"def directed_{source.short}(x: pypto.Tensor([D], pypto.{source}), "
        text += f"floor: {out}, ceil: {out}, trunc: {out}):\n"
        for mode in ("floor", "ceil", "trunc"):
            cast = f"pypto.cast(x, pypto.DT_BF16, pypto.CastMode.CAST_{mode.upper()})"
            text += f"    {mode}[:] = {cast}\n"
        x = torch.zeros(9, dtype=torch_dtype(source))
        outputs = [torch.zeros(9, dtype=torch.bfloat16) for _ in range(3)]
        cases[source] = Case(batch, text, f"directed_{source.short}", x, *outputs)
    batch.build()
    return cases


@pytest.mark.parametrize("bits", [31, 62])
def test_integers_rounded_one_way(bits: int) -> None:
    source = DataType.DT_INT32 if bits == 31 else DataType.DT_INT64
    powers = [2**p for p in range(9, bits)]
    x = torch.tensor([s * (p + d) for p in powers for d in (-1, 0, 1) for s in (1, -1)])
    x = x.to(torch_dtype(source))
    floor, ceil, trunc = (torch.zeros(x.shape, dtype=torch.bfloat16) for _ in range(3))
    assert directed()[source].variant.run(x, floor, ceil, trunc) == 0
    rows = zip(*(t.tolist() for t in (x, floor, ceil, trunc)), strict=True)
    for number, low, high, near_zero in rows:  # Python compares integers and floats exactly
        assert low <= number <= high and high - low <= abs(number) / 128, number
        assert near_zero == (low if number >= 0 else high), number


@pytest.mark.parametrize("mode", ["NONE_OFF", "TRUNC_OFF", "TRUNC_ON"])
@pytest.mark.parametrize("source", ["DT_FP32", "DT_FP16", "DT_BF16"])
def test_floats_that_the_integer_cannot_hold(source: str, mode: str) -> None:
    """INT64 and INT32 saturate, narrower integers are the low bits of the INT32; NaN is 0."""
    dtype = DataType[source]
    x = torch.cat([values_of(dtype), torch.tensor([math.inf, -math.inf, math.nan])]).double()
    kinds = [t for t in NUMBERS if not t.is_float]
    got = cast_all(dtype, x.to(torch_dtype(dtype)), mode, kinds)
    for target in kinds:
        info = torch.iinfo(torch_dtype(target))
        held = info if mode.endswith("ON") or target.bytes >= 4 else torch.iinfo(torch.int32)
        limit = 2.0 ** (held.bits - (held.min < 0))
        beyond = (x.abs() >= limit) | x.isnan()
        want = torch.where(x > 0, held.max, held.min).masked_fill(x.isnan(), 0)
        assert torch.equal(got[target][beyond], want.to(torch_dtype(target))[beyond])
        assert bool(beyond.any())


def cast_all(
    source: DataType, x: torch.Tensor, mode: str, kinds: list[DataType]
) -> dict[DataType, torch.Tensor]:
    """``x`` cast to each of ``kinds`` by one kernel of :func:`casts`."""
    case = casts()[source]
    every = {f"{t.short}_{m}_{s}": t for t in NUMBERS for m, s in modes_of(source, t)}
    outputs = {n: torch.zeros(x.shape).to(torch_dtype(every[n])) for n in case.names[1:]}
    assert case.variant.run(x, *outputs.values()) == 0
    return {t: outputs[f"{t.short}_{mode}"] for t in kinds}


def test_booleans() -> None:
    """To DT_BOOL what is not 0, from it 0 and 1."""
    batch, cases = Batch(), {}
    for dtype in (*NUMBERS, DataType.DT_BOOL):
        text = (
            f"def bool_{dtype.short}(x: pypto.Tensor([D], pypto.{dtype}), "
            "c: pypto.Tensor([D], pypto.DT_BOOL), b: pypto.Tensor([D], pypto.DT_BOOL), "
            f"o: pypto.Tensor([D], pypto.{dtype})):\n"
            f"    b[:] = pypto.cast(x, pypto.DT_BOOL)\n    o[:] = pypto.cast(c, pypto.{dtype})\n"
        )
        x = torch.zeros(8).to(torch_dtype(dtype))
        cases[dtype] = Case(batch, text, f"bool_{dtype.short}", x, x.bool(), x.bool(), x)
    batch.build()
    for dtype, case in cases.items():
        x = torch.arange(300).to(torch.uint8).bool()
        x = values_of(dtype) if dtype != DataType.DT_BOOL else x
        x[::3] = 0
        condition = torch.rand(x.shape, generator=torch.Generator().manual_seed(7)) < 0.5
        got, out = torch.zeros_like(condition), torch.full_like(x, 1)
        assert case.variant.run(x, condition, got, out) == 0
        assert torch.equal(got, x != 0)
        assert torch.equal(out, condition.to(x.dtype))
