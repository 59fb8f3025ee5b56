"""Local tensors that stay on chip: which ones, and that such kernels compute what torch does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pytest
import torch

from pypto.ir.tensor import root
from pypto.ir.tile import Program
from tests.differential import shim
from tests.differential.compare import copied
from tests.ops.batch import Batch, Variant, make_function

HEADER = """\
import pypto
F32, F16, I32, I64 = pypto.DT_FP32, pypto.DT_FP16, pypto.DT_INT32, pypto.DT_INT64
D = pypto.DYNAMIC
"""


@dataclass(frozen=True)
class Case:
    """A kernel ``(x, o)`` over blocks of ``T`` rows; ``kept``, ``memory``: its local tensors."""

    body: str
    kept: str
    memory: str = ""
    block: int = 8
    width: int = 64
    dtype: torch.dtype = torch.float32


BLOCK = "x[i * T : (i + 1) * T, :]"
RUNNING = (
    f"m = pypto.full([T, 1], -9.0, {{t}})\n"
    f"a = pypto.zeros(T, W, dtype={{t}})\n"
    f"for j in pypto.loop(2, 6):\n"
    f"    r = pypto.maximum(m, {BLOCK}[:, j : j + 1])\n"
    f"    a[:] = a * (m - r) + {BLOCK}\n"
    f"    m[:] = r\n"
    f"o[i * T : (i + 1) * T, :] = a - m"
)
CASES = {
    "a running maximum": Case(RUNNING.format(t="F32"), "m a x", "w0"),
    "in half precision": Case(
        RUNNING.format(t="F16"), "m a x", "w0", block=16, dtype=torch.float16
    ),
    "rows that no block holds": Case(RUNNING.format(t="F32"), "m", "a w0", width=61),
    "rows of one element": Case(RUNNING.format(t="F32"), "m a x", "w0", width=8),
    "single rows": Case(RUNNING.format(t="F32"), "m a x", block=1),
    "more than there is": Case(RUNNING.format(t="F32"), "m", "a w0", block=96, width=256),
    "two that change places": Case(
        f"a, b = {BLOCK} * 2, {BLOCK} + 1\n"
        "for j in pypto.loop(3):\n"
        f"    t = a - b * 0.5 + {BLOCK}\n"
        "    a, b = b, a\n"
        "    o[i * T : (i + 1) * T, :] = t\n"
        "o[i * T : (i + 1) * T, :] = a - b * 3",
        "a b x",
    ),
    "three in turn": Case(
        f"a, b, c = {BLOCK} * 2, {BLOCK} + 1, {BLOCK} * 0.5\n"
        "for j in pypto.loop(4):\n"
        "    a, b, c = c, a, b + 1\n"
        "o[i * T : (i + 1) * T, :] = a - b * 3 + c * 5",
        "a b c",
    ),
    "old and new at once": Case(
        "a = pypto.zeros(T, W)\n"
        "b = pypto.full([T, W], 1.0, F32)\n"
        "for j in pypto.loop(3):\n"
        f"    t = a + {BLOCK}\n"
        "    a[:] = b * 0.5 + j\n"
        "    b[:] = t - b\n"
        "o[i * T : (i + 1) * T, :] = a * 100 + b",
        "a b w0 x",
    ),
    "what is stored where it is": Case(
        "a = pypto.full([T, 1], 3.0, F32)\n"
        "for j in pypto.loop(2):\n"
        f"    s = pypto.sum({BLOCK}, -1, True)\n"
        "    a[:] = a\n"
        "    for k in pypto.loop(1):\n"
        "        a[:] = a + s\n"
        "o[i * T : (i + 1) * T, :] = x[i * T : (i + 1) * T, :] * a",
        "a s x",
    ),
    "one column and one number": Case(
        "s = pypto.zeros(1, 1)\n"
        "c = pypto.zeros(1, W)\n"
        "for j in pypto.loop(3):\n"
        "    s[:] = s + pypto.sum(x[i * T + j : i * T + j + 1, :], -1, True)\n"
        "    c[:] = c + x[i * T + j : i * T + j + 1, :] * s\n"
        "o[i * T : (i + 1) * T, :] = x[i * T : (i + 1) * T, :] + c * s",
        "s c",
    ),
    "whole numbers": Case(
        "a = pypto.full([T, W], 7, I32)\n"
        "for j in pypto.loop(3):\n"
        f"    a[:] = a * 2 + {BLOCK} - j\n"
        "o[i * T : (i + 1) * T, :] = a",
        "a x",
        dtype=torch.int32,
    ),
    "long whole numbers go through memory": Case(
        "a = pypto.tensor([T, W], I64)\n"
        "a[:] = pypto.cast(x[i * T : (i + 1) * T, :], I64)\n"
        "for j in pypto.loop(2):\n"
        "    b = pypto.cast(pypto.cast(a, I32) + 1, I64)\n"
        "    a[:] = b\n"
        "o[i * T : (i + 1) * T, :] = pypto.cast(a, I32)",
        "",
        "a",
        dtype=torch.int32,
    ),
    "comparisons and bits shown as numbers": Case(
        "m = pypto.full([T, 1], -2.0, F32)\n"
        "a = pypto.zeros(T, W)\n"
        "for j in pypto.loop(3):\n"
        f"    a[:] = pypto.where(pypto.gt({BLOCK}, m), a + j, pypto.abs(a) - {BLOCK})\n"
        "    m[:] = pypto.where(pypto.isfinite(m), m + 1, m)\n"
        "o[i * T : (i + 1) * T, :] = pypto.where(pypto.eq(a, m), m, a)",
        "m a x",
    ),
    "an operand whose memory the loop writes": Case(
        "a = pypto.full([T, 1], 1.0, F32)\n"
        "for k in pypto.loop(2):\n"
        "    c = pypto.zeros(T, W)\n"
        "    for j in pypto.loop(3):\n"
        "        o[i * T : (i + 1) * T, :] = c + a\n"
        f"        c = c * 0.5 + a + {BLOCK}\n"
        "    a = a + 1",
        "a c x",
    ),
    "an element that the scalar unit reads": Case(
        "a = pypto.full([T, W], 2, I32)\n"
        "for j in pypto.loop(3):\n"
        "    a[:] = a + 1\n"
        "c = a[0, 0]\n"
        "o[i * T : (i + 1) * T, :] = x[i * T : (i + 1) * T, :] * c",
        "",
        "a",
        dtype=torch.int32,
    ),
}


def text_of(name: str) -> str:
    case = CASES[name]
    type = {torch.float32: "F32", torch.float16: "F16", torch.int32: "I32"}[case.dtype]
    body = "".join(f"        {line}\n" for line in case.body.split("\n"))
    return (
        f"{HEADER}T, W = {case.block}, {case.width}\n"
        f"def {label(name)}(x: pypto.Tensor([D, W], {type}), o: pypto.Tensor([D, W], {type})):\n"
        f"    for i in pypto.loop(pypto.ceildiv(x.shape[0], T)):\n{body}"
    )


def label(name: str) -> str:
    return name.replace(" ", "_")


def values_of(case: Case, blocks: int, extra: int) -> list[torch.Tensor]:
    """``extra``: rows of a last block that is shorter."""
    generator = torch.Generator().manual_seed(blocks)
    x = torch.randint(-4, 5, (case.block * blocks + extra, case.width), generator=generator)
    return [x.to(case.dtype), torch.full_like(x, 55).to(case.dtype)]


def expected(name: str, values: list[torch.Tensor]) -> list[torch.Tensor]:
    """What torch makes of whole blocks; rows do not depend on those that are added."""
    missing = -len(values[0]) % CASES[name].block
    padded = [torch.nn.functional.pad(value, (0, 0, 0, missing)) for value in values]
    shim.run(text_of(name), label(name), padded)
    return [value[: len(value) - missing] for value in padded]


@cache
def batch(kind: str) -> dict[str, Variant]:
    made = Batch(kind)
    variants = {
        name: made.add(make_function(text_of(name), label(name)), *values_of(case, 9, 0))
        for name, case in CASES.items()
    }
    made.build()
    return variants


def kept_in(program: Program) -> set[str]:
    plans = [plan for stage in program.stages for plan in stage.plans]
    copies = [copy for plan in plans for block in plan.blocks() for copy in block.kept]
    return {root(copy.buffer).name.split("_")[0] for copy in copies}


@pytest.mark.parametrize("name", CASES)
def test_what_stays_on_chip(name: str) -> None:
    program = batch("fast")[name].compilation.program
    assert program is not None
    memory = {buffer.name.split("_")[0] for buffer in program.workspace}
    assert (kept_in(program), memory) == (
        set(CASES[name].kept.split()),
        set(CASES[name].memory.split()),
    )


@pytest.mark.parametrize("kind", ["fast", "checked", "shuffled"])
@pytest.mark.parametrize("name", CASES)
def test_numbers(name: str, kind: str) -> None:
    case, variant = CASES[name], batch(kind)[name]
    for blocks, extra in ((9, 0), (10, 3 % case.block)):
        values = values_of(case, blocks, extra)
        want = expected(name, values)
        for cores, l1 in ((1, None), (3, 1024)):
            got = copied(values)
            assert variant.run(*got, blocks=cores, l1_bytes=l1) == 0
            torch.testing.assert_close(got[1], want[1], rtol=1e-5, atol=1e-5)
