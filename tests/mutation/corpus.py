"""Kernels of Python text whose synchronisations are taken away: canonical ones, random ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tests.ops.checks import HEADER
from tests.ops.programs import TORCH, Program, Seeded, Writer, bound_text

__all__ = ["GOLDEN", "RANDOM", "Subject", "golden", "random_kernel"]

_F = "pypto.Tensor([D, D], pypto.DT_FP32)"
_H = "pypto.Tensor([D, D], pypto.DT_BF16)"
_V = "pypto.Tensor([D], pypto.DT_FP32)"


@dataclass(frozen=True, slots=True)
class Subject:
    """A kernel of Python text, and the arguments of its calls; a step takes as little as it can."""

    name: str
    text: str
    calls: tuple[tuple[Any, ...], ...]


def _floats(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape) + 7 * len(shape))
    return torch.randn(shape, generator=generator).to(dtype)


def _whole(*shape: int, dtype: torch.dtype = torch.int32) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape) + 5 * len(shape))
    return torch.randint(-9, 10, shape, generator=generator).to(dtype)


def _subject(name: str, parameters: str, body: str, *calls: tuple[Any, ...]) -> Subject:
    return Subject(name, f"{HEADER}def {name}({parameters}):\n    {body}\n", calls)


GOLDEN = {
    subject.name: subject
    for subject in (
        _subject("add", f"x: {_F}, o: {_F}", "o[:] = x + 1", (_floats(40, 130), _floats(40, 130))),
        _subject("copy", f"x: {_F}, o: {_F}", "o[:] = x", (_floats(41, 129), _floats(41, 129))),
        _subject(
            "chain", f"x: {_H}, y: {_H}, o: {_H}, s: float", "o[:] = pypto.sigmoid(x * s) + y",
            (*(_floats(33, 70, dtype=torch.bfloat16) for _ in range(3)), 0.5),
        ),
        _subject(
            "bias", f"x: {_F}, b: pypto.Tensor([1, D], pypto.DT_FP32), o: {_F}",
            "o[:] = pypto.exp(x - b) * b", (_floats(50, 40), _floats(1, 40), _floats(50, 40)),
            (_floats(5, 20000), _floats(1, 20000), _floats(5, 20000)),
        ),
        _subject(
            "softmax", f"x: {_F}, o: {_F}", "o[:] = pypto.softmax(x, -1)",
            (_floats(23, 150), _floats(23, 150)), (_floats(3, 13000), _floats(3, 13000)),
        ),
        _subject(
            "static_softmax", "x: pypto.Tensor, o: pypto.Tensor", "o[:] = pypto.softmax(x, -1)",
            (_floats(23, 150), _floats(23, 150)),
        ),
        _subject(
            "integers",
            "x: pypto.Tensor([D], pypto.DT_INT32), o: pypto.Tensor([1], pypto.DT_INT32)",
            "o[:] = pypto.sum(x * 3, -1)", (_whole(900), _whole(1)), (_whole(40000), _whole(1)),
        ),
        _subject(
            "stages", f"x: {_F}, o: pypto.Tensor([1], pypto.DT_FP32), p: {_F}",
            "m = pypto.amax(x, -1)\n    o[:] = pypto.amax(m, -1)\n    p[:] = x * 2",
            (_floats(40, 150), _floats(1), _floats(40, 150)),
            (_floats(3, 17000), _floats(1), _floats(3, 17000)),
        ),
        _subject(
            "in_place", f"x: {_F}, o: {_F}", "t = x * o\n    o[:] = t + o\n    o[:] = o * o",
            (_floats(30, 70), _floats(30, 71)[:, :70].contiguous()),
        ),
        _subject(
            "normalize", f"x: {_F}, g: pypto.Tensor([1, D], pypto.DT_FP32), o: {_F}",
            "m = pypto.sum(x, -1, True) * 0.01\n    c = x - m\n"
            "    v = pypto.sum(c * c, -1, True) * 0.01 + 0.5\n    o[:] = c / pypto.sqrt(v) * g",
            (_floats(23, 100), _floats(1, 100), _floats(23, 100)),
            (_floats(3, 15000), _floats(1, 15000), _floats(3, 15000)),
        ),
        _subject(
            "outer", f"x: {_V}, y: pypto.Tensor([D, 1], pypto.DT_FP32), o: {_F}",
            "o[:] = (x + y) * pypto.exp(y)", (_floats(70), _floats(40, 1), _floats(40, 70)),
        ),
        _subject(
            "handed", f"x: {_F}, o: {_F}, s: {_V}",
            "r = pypto.sum(x, -1)\n    s[:] = r * 0.5\n    o[:] = x * pypto.amax(r, -1, True)",
            (_floats(24, 90), _floats(24, 90), _floats(24)),
        ),
    )
}  # fmt: skip

RANDOM = range(40)


def golden() -> list[Subject]:
    return list(GOLDEN.values())


def random_kernel(seed: int) -> Subject:
    """The kernel that ``seed`` draws, with sizes that take several steps."""
    program = Writer(Seeded(7000 + seed), f"random{seed}").write()
    chooser = Seeded(seed)
    rank = len(program.roles)
    some = (1500, 3001) if rank == 1 else (3, 8, 17, 33, 70, 130) if rank < 4 else (2, 3, 8, 17)
    best: dict[str, int] = {}
    for _ in range(100):  # the sizes that make most of the smallest output
        sizes = {role: chooser.choose(some) for role in program.roles}
        if max(_count(p.shape, sizes) for p in program.params) <= 15000:
            best = max(best, sizes, key=lambda s: _smallest(program, s))
    sizes = best
    return Subject(program.name, bound_text(program, sizes), (_arguments(program, sizes, seed),))


def _count(shape: Sequence[str | int], sizes: dict[str, int]) -> int:
    total = 1
    for role in shape:
        total *= role if isinstance(role, int) else sizes[role]
    return total


def _smallest(program: Program, sizes: dict[str, int]) -> int:
    """Elements of the smallest tensor that is written."""
    outputs = [p.shape for p in program.params if p.text[0] == "o"]
    return min((_count(shape, sizes) for shape in outputs), default=0) if sizes else -1


def _arguments(program: Program, sizes: dict[str, int], seed: int) -> tuple[Any, ...]:
    """Moderate numbers: NaN and infinities would hide that something else is missing."""
    generator = torch.Generator().manual_seed(seed)
    values: list[Any] = []
    for parameter in program.params:
        shape = [role if isinstance(role, int) else sizes[role] for role in parameter.shape]
        kind = TORCH[parameter.dtype]
        if kind.is_floating_point:
            values.append(torch.randn(shape, generator=generator).to(kind))
        else:
            values.append(torch.randint(-9, 10, shape, generator=generator).to(kind))
    if program.same is not None:
        values[program.same[1]] = values[program.same[0]]
    return (*values, *(3 if kind == "int" else 0.5 for _, kind in program.scalars))
