"""Loops that accumulate along an axis they do not mix: cut into strips that cores run alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pytest
import torch

from pypto.ir.tile import TileLoop, Wait, walk_nodes
from tests.differential import shim
from tests.differential.compare import copied
from tests.ops.batch import Batch, Variant, make_function

HEADER = "import pypto\nF32, F16, D = pypto.DT_FP32, pypto.DT_FP16, pypto.DYNAMIC\n"


@dataclass(frozen=True)
class Case:
    """A kernel ``(x, y, o)``. ``strips``: whether its loop is cut; ``memory``: its workspace."""

    body: str
    x: tuple[object, ...] = ("D", 256)
    y: tuple[object, ...] = ("D", 64)
    o: tuple[object, ...] = ("D", 64)
    strips: bool = True
    memory: str = ""


SOFTMAX = """\
n = x.shape[0]
m = pypto.full([n, 1], -1e30, F32)
l = pypto.zeros(n, 1)
a = pypto.zeros(n, 64)
for j in pypto.loop(4):
    s = x[:, j * 64 : (j + 1) * 64]
    r = pypto.maximum(m, pypto.amax(s, -1, True))
    e, k = pypto.exp(s - r), pypto.exp(m - r)
    l[:] = l * k + pypto.sum(e, -1, True)
    a[:] = a * k + e * y
    m[:] = r
o[:] = a / l"""
CASES = {
    "online softmax": Case(SOFTMAX),
    "rows of the columns": Case(
        "a = pypto.zeros(1, 2048)\n"
        "for j in pypto.loop(x.shape[0]):\n"
        "    a[:] = a + x[j : j + 1, :] * (j + 1)\n"
        "o[:] = a + y",
        ("D", 2048), (1, 2048), (1, 2048),
    ),
    "little enough for one core": Case(
        "a = pypto.zeros(1, 64)\n"
        "for j in pypto.loop(x.shape[0]):\n"
        "    a[:] = a + x[j : j + 1, :]\n"
        "o[:] = a",
        ("D", 64), (1, 64), (1, 64),
    ),
    "a row that all rows use": Case(
        "a = pypto.zeros(x.shape[0], 64)\n"
        "for j in pypto.loop(4):\n"
        "    a[:] = a + x[:, j * 64 : (j + 1) * 64] * y[j : j + 1, :]\n"
        "o[:] = a",
        y=(4, 64),
    ),
    "a row beside rows of a length that is known when it runs": Case(
        "t = x[0:1] * 1\n"
        "for j in pypto.loop(3):\n"
        "    t = t * 2\n"
        "o[0:3] = y[0:3] + t - y[0:1]",
        ("D", "D"), ("D", "D"), ("D", "D"),
    ),
    "loops in one another, and branches": Case(
        "a = pypto.zeros(x.shape[0], 64)\n"
        "for i in pypto.loop(2):\n"
        "    for j in pypto.loop(2):\n"
        "        if i == j:\n"
        "            a[:] = a + x[:, 0:64] * (i + 1)\n"
        "        else:\n"
        "            a[:] = a * 0.5 + y\n"
        "    a[:] = a - i\n"
        "o[:] = a",
    ),
    "an operand that is also the result": Case(
        "a = pypto.zeros(x.shape[0], 64)\n"
        "for j in pypto.loop(4):\n"
        "    a[:] = a + o + x[:, j * 64 : (j + 1) * 64]\n"
        "    o[:] = a * 0.5\n"
        "o[:] = a + o",
    ),
    "what is used behind": Case(
        "a = pypto.zeros(x.shape[0], 64)\n"
        "for j in pypto.loop(4):\n"
        "    a[:] = a + x[:, j * 64 : (j + 1) * 64]\n"
        "o[:] = a\n"
        "for i in pypto.loop(x.shape[0]):\n"
        "    o[i : i + 1, :] = o[i : i + 1, :] + a[0:1, :]",
        memory="a",
    ),
    "a number that is used behind": Case(
        "a = pypto.zeros(x.shape[0], 64)\n"
        "c = 0\n"
        "for j in pypto.loop(4):\n"
        "    a[:] = a + x[:, j * 64 : (j + 1) * 64]\n"
        "    c += j\n"
        "o[:] = a\n"
        "for i in pypto.loop(x.shape[0]):\n"
        "    o[i : i + 1, :] = o[i : i + 1, :] + c",
        strips=False,
        memory="a",
    ),
    "a weight for each channel": Case(
        "a = pypto.zeros(1, 256, 64)\n"
        "for j in pypto.loop(3):\n"
        "    a[:] = a + pypto.prelu(x, y) * (j + 1)\n"
        "o[:] = a",
        (1, 256, 64), (256,), (1, 256, 64),
    ),
    "nothing": Case(
        "a = pypto.zeros(0, 64)\n"
        "for j in pypto.loop(4):\n"
        "    a[:] = a + x * j\n"
        "o[:] = a",
        (0, 64), (1, 64), (0, 64),
        strips=False,
        memory="a",
    ),
    "a row of another one": Case(
        "a = pypto.zeros(x.shape[0], 64)\n"
        "for j in pypto.loop(4):\n"
        "    a[:] = a + x[:, j * 64 : (j + 1) * 64]\n"
        "    a[:] = a * a[0:1, :] * 0.125\n"
        "o[:] = a",
        strips=False,
        memory="a w0 w1",
    ),
    "memory of the operand is written at another place": Case(
        "a = pypto.zeros(x.shape[0], 64)\n"
        "for j in pypto.loop(4):\n"
        "    a[:] = a + o[0:1, :] + x[:, j * 64 : (j + 1) * 64]\n"
        "    o[:] = a * 0.25\n",
        strips=False,
        memory="a",
    ),
}  # fmt: skip


def label(name: str) -> str:
    return name.replace(" ", "_").replace(",", "")


def text_of(name: str) -> str:
    case = CASES[name]
    shapes = (case.x, case.y, case.o)
    params = ", ".join(
        f"{n}: pypto.Tensor([{', '.join(map(str, shape))}], F32)"
        for n, shape in zip("xyo", shapes, strict=True)
    )
    body = "".join(f"    {line}\n" for line in case.body.rstrip().split("\n"))
    return f"{HEADER}def {label(name)}({params}):\n{body}"


def values_of(name: str, rows: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(rows)
    case = CASES[name]
    shapes = [[rows if s == "D" else s for s in shape] for shape in (case.x, case.y, case.o)]
    return [torch.randint(-3, 4, shape, generator=generator).float() for shape in shapes]  # type: ignore[arg-type]


@cache
def batch(kind: str) -> dict[str, Variant]:
    made = Batch(kind)
    variants = {
        name: made.add(make_function(text_of(name), label(name)), *values_of(name, 40))
        for name in CASES
    }
    made.build()
    return variants


@pytest.mark.parametrize("name", CASES)
def test_which_loops_are_cut(name: str) -> None:
    program = batch("fast")[name].compilation.program
    assert program is not None
    nodes = list(walk_nodes(program.body))
    loops = [n for n in nodes if isinstance(n, TileLoop) and n.over_cores]
    names = [r.index.name for loop in loops for r in loop.ranges]
    assert ("strip" in names) is CASES[name].strips
    assert {b.name.split("_")[0] for b in program.workspace} == set(CASES[name].memory.split())
    if names == ["strip"]:
        assert Wait.CORES not in nodes


@pytest.mark.parametrize("kind", ["fast", "checked", "shuffled"])
@pytest.mark.parametrize("name", CASES)
def test_numbers(name: str, kind: str) -> None:
    variant = batch(kind)[name]
    for rows in (40, 1, 100, 0):
        values = values_of(name, rows)
        want = copied(values)
        shim.run(text_of(name), label(name), want)
        for cores, l1 in ((1, None), (3, 1024)):
            got = copied(values)
            assert variant.run(*got, blocks=cores, l1_bytes=l1) == 0
            torch.testing.assert_close(got[2], want[2], rtol=1e-5, atol=1e-5)
