"""quantize and dequantize against torch, to the bit."""

from __future__ import annotations

import functools

import pytest
import torch

from pypto.error import DtypeError, FeValueError, PyptoError, ShapeError
from pypto.ir.dtype import DataType
from pypto.ops import registry
from tests.ops.batch import Batch, Variant
from tests.ops.movement import CONTROLS, add, annotation, anything, bits, kind

FP32, INT8, UINT8 = DataType.DT_FP32, DataType.DT_INT8, DataType.DT_UINT8
INT16 = DataType.DT_INT16
RANKS = (1, 2, 3, 5)
SHAPES: dict[int, tuple[tuple[int, ...], ...]] = {
    1: ((7,), (5000,), (0,), (1,)),
    2: ((3, 5), (70, 33), (2, 30_000), (300, 1), (0, 4), (4, 0), (1, 64)),
    3: ((2, 3, 4), (3, 40, 17), (2, 1, 700), (2, 0, 3), (5, 65, 64)),
    5: ((2, 1, 3, 4, 5), (1, 3, 2, 9, 70)),
}


def ways(rank: int) -> list[tuple[int, bool]]:
    """Axis, and whether there are zero points."""
    return [(axis, zeros) for axis in (-1, -2)[:rank] for zeros in (False, True)]


def reduced(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    at = axis % len(shape)
    return (*shape[:at], *shape[at + 1 :]) or (1,)


def axes(rank: int) -> str:
    return ", ".join("D" * rank)


def kernel(name: str, rank: int, source: DataType, targets: tuple[DataType, ...]) -> str:
    """All ways of ``name`` to all ``targets``: r the factors along rows, c along columns."""
    x, factor = annotation(axes(rank), source), axes(rank - 1) or "1"
    params = [f"x: {x}"] + [f"{n}: {annotation(factor, FP32)}" for n in ("r", "rz", "c", "cz")]
    body = []
    for target in targets:
        for step, (axis, zeros) in enumerate(ways(rank)):
            out, f = f"o{target.short}_{step}", "r" if axis == -1 else "c"
            params.append(f"{out}: {annotation(axes(rank), target)}")
            given = f", {f}z" if zeros else ""
            at = axis if zeros else axis + rank
            body.append(f"    {out}[:] = pypto.{name}(x, {f}, pypto.{target}, {at}{given})\n")
    return f"def {name}_{source.short}_{rank}({', '.join(params)}):\n{''.join(body)}"


def numbers(shape: tuple[int, ...]) -> torch.Tensor:
    """Many ties after a multiplication by a power of two, what is out of range, and no numbers."""
    generator = torch.Generator().manual_seed(sum(shape))
    x = torch.randint(-700, 700, shape, generator=generator) / 4.0
    special = torch.tensor([torch.nan, torch.inf, -torch.inf, 3e38, -3e38, 1e-40, -0.0, 7e4])
    flat = x.view(-1)
    flat[::13] = special.repeat(len(flat))[: len(flat[::13])]
    flat[5::11] += 0.1
    return x


def arguments(x: torch.Tensor, *, zeros: float = 8.0) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(x.dim())
    shapes = [reduced(tuple(x.shape), axis) for axis in (-1, -2)[: x.dim()]]
    shapes = [shapes[0], shapes[-1]]
    found = [x]
    for shape in shapes:
        scale = 2.0 ** torch.randint(-2, 3, shape, generator=generator)
        scale[..., ::3] = 0.7
        found += [scale, torch.randn(shape, generator=generator) * zeros]
    return found


def wanted(
    name: str, given: list[torch.Tensor], target: DataType, axis: int, zeros: bool
) -> torch.Tensor:
    x, *factors = given
    scale, points = factors[:2] if axis == -1 else factors[2:]
    values = {
        "input": x, "scale": scale, "zero_points": points if zeros else None, "axis": axis,
        "otype": kind(target), "torch": torch,
    }  # fmt: skip
    result: torch.Tensor = eval(registry.get(name).torch, values)
    return result


SOURCES = {"quantize": (FP32,), "dequantize": (INT8, UINT8, INT16)}
TARGETS = {"quantize": (INT8, UINT8), "dequantize": (FP32,)}
TAIL = """
def tail(x: pypto.Tensor([D, D], pypto.DT_FP32), s: pypto.Tensor([D], pypto.DT_FP32),
         o: pypto.Tensor([D, D], pypto.DT_INT8), p: pypto.Tensor([D, D], pypto.DT_UINT8)):
    for i in pypto.loop((x.shape[0] + 7) // 8):
        part, scale = x[i * 8 : (i + 1) * 8, :], s[i * 8 : (i + 1) * 8]
        o[i * 8 : (i + 1) * 8, :] = pypto.quantize(part, scale, pypto.DT_INT8, -1)
        p[i * 8 : (i + 1) * 8, :] = part.quantize(scale, pypto.DT_UINT8, axis=1, zero_points=scale)
"""
DYNAMIC = """
def dynamic(x: pypto.Tensor([D, 384], pypto.DT_BF16), q: pypto.Tensor([D, 384], pypto.DT_INT8),
            s: pypto.Tensor([D], pypto.DT_FP32), back: pypto.Tensor([D, 384], pypto.DT_FP32)):
    y = pypto.cast(x, pypto.DT_FP32)
    largest = pypto.amax(pypto.abs(y), -1)
    made = pypto.quantize(y, 127.0 / largest, pypto.DT_INT8, -1)
    q[:] = made
    s[:] = largest / 127.0
    back[:] = pypto.dequantize(made, largest / 127.0, pypto.DT_FP32, -1)
"""


def dynamic_arguments(rows: int) -> list[torch.Tensor]:
    x = torch.randn(rows, 384, generator=torch.Generator().manual_seed(rows)).bfloat16()
    return [
        x, torch.full(x.shape, 77, dtype=torch.int8), torch.full((rows,), 77.0),
        torch.full(x.shape, 77.0),
    ]  # fmt: skip


@functools.cache
def variants() -> dict[object, Variant]:
    batch, found = Batch(), dict[object, Variant]()
    for name, sources in SOURCES.items():
        for source in sources:
            for rank in RANKS if source in (FP32, INT8) else (2, 4):
                x = torch.ones((2,) * rank, dtype=kind(source))
                outs = [
                    torch.ones((2,) * rank, dtype=kind(t))
                    for t in TARGETS[name] for _ in ways(rank)
                ]  # fmt: skip
                text = kernel(name, rank, source, TARGETS[name])
                values = (*arguments(x), *outs)
                found[source, rank] = add(
                    batch, text, f"{name}_{source.short}_{rank}", *values
                )  # fmt: skip
    x = torch.ones(2, 2)
    found["tail"] = add(batch, TAIL, "tail", x, x[0], x.to(torch.int8), x.to(torch.uint8))
    found["dynamic"] = add(batch, DYNAMIC, "dynamic", *dynamic_arguments(2))
    batch.build()
    return found


def check(name: str, source: DataType, x: torch.Tensor, step: int) -> None:
    given = arguments(x)
    cases = [(t, *way) for t in TARGETS[name] for way in ways(x.dim())]
    outs = [torch.full(x.shape, 77, dtype=kind(target)) for target, *_ in cases]
    assert variants()[source, x.dim()].run(*given, *outs, **CONTROLS[step % 3]) == 0
    for case, out in zip(cases, outs, strict=True):
        assert torch.equal(bits(out), bits(wanted(name, given, *case))), (name, x.shape, *case)


@pytest.mark.parametrize("rank", RANKS)
def test_quantize(rank: int) -> None:
    for step, shape in enumerate(SHAPES[rank]):
        check("quantize", FP32, numbers(shape), step)


@pytest.mark.parametrize("source", SOURCES["dequantize"], ids=str)
def test_dequantize(source: DataType) -> None:
    shapes = [shape for rank in RANKS for shape in SHAPES[rank]]
    if source != INT8:
        shapes = [*SHAPES[2], (2, 3, 4, 65), (2, 0, 3, 4)]
    for step, shape in enumerate(shapes):
        check("dequantize", source, anything(shape, source), step)


def test_tails_of_a_loop() -> None:
    for step, shape in enumerate(((20, 33), (8, 64), (3, 700), (0, 5))):
        x = numbers(shape)
        _, scale, *_ = arguments(x)
        given = [x, scale, scale, scale, scale]
        o, p = (torch.full(shape, 77, dtype=kind(dtype)) for dtype in (INT8, UINT8))
        assert variants()["tail"].run(x, scale, o, p, **CONTROLS[step % 3]) == 0
        assert torch.equal(o, wanted("quantize", given, INT8, -1, False))
        assert torch.equal(p, wanted("quantize", given, UINT8, -1, True))


def test_a_scale_for_each_row_is_found_and_used_in_one_stage() -> None:
    variant = variants()["dynamic"]
    program = variant.compilation.program
    assert program is not None
    assert len(program.stages) == 1
    for step, rows in enumerate((1, 50, 300)):
        x, q, s, back = dynamic_arguments(rows)
        assert variant.run(x, q, s, back, **CONTROLS[step % 3]) == 0
        largest = x.float().abs().amax(-1)
        # Torch's own 127.0 / x is 127.0 * x.reciprocal().
        scale = torch.div(torch.tensor(127.0), largest)
        want = torch.round(x.float() * scale.unsqueeze(-1)).clamp(-128, 127)
        assert torch.equal(q, want.to(torch.int8))
        assert torch.equal(s, largest / 127.0)
        assert torch.equal(back, want * (largest / 127.0).unsqueeze(-1))


@pytest.mark.parametrize(
    ("line", "error", "message"),
    [
        ("quantize(x, r, pypto.DT_INT16, -1)", DtypeError, "quantize does not give DT_INT16"),
        ("dequantize(i, r, pypto.DT_FP16, -1)", DtypeError, "dequantize does not give DT_FP16"),
        ("quantize(x, i[:, 0], pypto.DT_INT8, -1)", DtypeError, "'scale' does not take DT_INT8"),
        ("quantize(x, r, pypto.DT_UINT8, -3)", FeValueError, "'axis' is out of range"),
        ("quantize(y, x, pypto.DT_UINT8, 0)", FeValueError, "'axis' must be one of the last two"),
        ("quantize(x, r, pypto.DT_INT8, -2)", ShapeError, "'scale' must have the axes of 'input'"),
        ("quantize(x, x[:, 0:1], pypto.DT_INT8, -1)", ShapeError, "'scale' must have the axes"),
        ("quantize(x, r, pypto.DT_UINT8, -1, x)", ShapeError, "'zero_points' must have the axes"),
        ("quantize(i, r, pypto.DT_INT8, -1)", DtypeError, "quantize does not take DT_INT8"),
        ("dequantize(x, r, pypto.DT_FP32, -1)", DtypeError, "dequantize does not take DT_FP32"),
    ],
)
def test_refusals(line: str, error: type[PyptoError], message: str) -> None:
    x, r, i = annotation("4, 6", FP32), annotation("4", FP32), annotation("4, 6", INT8)
    y = annotation("3, 4, 6", FP32)
    text = f"def k(x: {x}, r: {r}, i: {i}, y: {y}, o: {x}):\n    t = pypto.{line}\n    o[:] = x\n"
    ones = torch.ones(4, 6)
    with pytest.raises(error) as caught:
        add(Batch(), text, "k", ones, ones[:, 0], ones.to(torch.int8), torch.ones(3, 4, 6), ones)
    assert message in caught.value.diagnostics[0].message


def test_sizes_that_differ_at_the_call() -> None:
    x = torch.ones(4, 6)
    out = [torch.ones(4, 6, dtype=kind(t)) for t in TARGETS["quantize"] for _ in ways(2)]
    ones = torch.ones
    assert variants()[FP32, 2].call(x, ones(4), ones(4), ones(6), ones(5), *out) != 0
