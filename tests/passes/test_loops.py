"""Which loops the cores share, which they run together, and where they wait."""

from __future__ import annotations

import re

import pytest
import torch

from pypto.ir.tile import Program, TileLoop, TileNode, TileStage, Wait
from tests.ops.batch import Batch, make_function
from tests.ops.checks import HEADER

F = "pypto.Tensor([D, 64], pypto.DT_FP32)"
X = torch.ones(40, 64)


def program_of(body: str, params: str = f"x: {F}, o: {F}", *values: object) -> Program:
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    text = f"{HEADER}T = 8\ndef kernel({params}):\n{lines}"
    variant = Batch().add(make_function(text), *(values or (X, X.clone())))
    program = variant.compilation.program
    assert program is not None
    return program


def outline(nodes: tuple[TileNode, ...]) -> str:
    """``shared i (stage, ...)``, ``loop i (...)``, ``sync``, ``wait``: the shape of a program."""
    parts = []
    for node in nodes:
        if isinstance(node, TileStage):
            parts.append("stage")
        elif isinstance(node, TileLoop):
            names = ",".join(r.index.name for r in node.ranges)
            how = "shared" if node.over_cores else "loop"
            parts.append(f"{how} {names} ({outline(node.body)})")
        elif isinstance(node, Wait):
            parts.append({Wait.CORES: "sync", Wait.CORE: "wait", Wait.VECTOR: "vector"}[node])
        else:
            parts.append(type(node).__name__)
    return " ".join(parts)


ROWS = "x[i * T : (i + 1) * T, :]"
CASES = {
    "rows of their own": (
        "for i in pypto.loop(x.shape[0] // T):\n"
        "    o[i * T : (i + 1) * T, :] = pypto.exp(x[i * T : (i + 1) * T, :])",
        "shared i (stage)",
    ),
    "a last part that is shorter": (
        "for i in pypto.loop((x.shape[0] + T - 1) // T):\n"
        "    o[i * T : (i + 1) * T, :] = x[i * T : (i + 1) * T, :] * 2",
        "shared i (stage)",
    ),
    "loops in one another are one range": (
        "for i in pypto.loop(x.shape[0] // T):\n"
        "    for j in pypto.loop(64 // 8):\n"
        "        o[i * T : i * T + T, j * 8 : j * 8 + 8] = "
        "x[i * T : i * T + T, j * 8 : j * 8 + 8] + i",
        "shared i,j (stage)",
    ),
    "few iterations are run together": (
        "for i in pypto.loop(4):\n    o[i : i + 1, :] = x[i : i + 1, :] * 2",
        "loop i (stage)",
    ),
    "a sum over iterations": (
        "a = pypto.tensor([8, 64], pypto.DT_FP32)\n"
        "a[:] = x[0:8, :]\n"
        "for i in pypto.loop(1, x.shape[0] // T):\n"
        "    a[:] = a + x[i * T : (i + 1) * T, :]\n"
        "o[0:8, :] = a",
        "shared strip (stage loop i (stage) vector stage)",
    ),
    "a scalar that is carried": (
        "c = 0\n"
        "for i in pypto.loop(x.shape[0]):\n"
        "    c += 1\n"
        "    o[i : i + 1, :] = x[i : i + 1, :] + c",
        "loop i (stage)",
    ),
    "the row before": (
        "for i in pypto.loop(1, x.shape[0]):\n"
        "    o[i : i + 1, :] = x[i : i + 1, :] + o[i - 1 : i, :]",
        "loop i (sync stage)",
    ),
    "every row writes the first": (
        "for i in pypto.loop(x.shape[0]):\n    o[0:1, :] = x[i : i + 1, :]",
        "loop i (wait stage)",
    ),
    "a tensor of the iteration": (
        "for i in pypto.loop(x.shape[0] // T):\n"
        "    t = pypto.tensor([8, 64], pypto.DT_FP32)\n"
        "    t[:] = x[i * T : (i + 1) * T, :]\n"
        "    for j in pypto.loop(3):\n"
        "        t[:] = t * 0.5 + x[i * T : (i + 1) * T, :]\n"
        "    o[i * T : (i + 1) * T, :] = t",
        "shared i (stage loop j (stage) vector stage)",
    ),
    "two loops": (
        "for i in pypto.loop(x.shape[0]):\n"
        "    o[i : i + 1, :] = x[i : i + 1, :] * 2\n"
        "for i in pypto.loop(x.shape[0]):\n"
        "    o[i : i + 1, :] = o[i : i + 1, :] + 1",
        "shared i (stage) sync shared i (stage)",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_schedule(name: str) -> None:
    body, expected = CASES[name]
    assert re.sub(r"i_\d", "i", outline(program_of(body).body)) == expected


def test_nothing_is_read_where_a_tensor_has_no_row() -> None:
    """A row that is repeated over others but lies behind the end of its tensor: none is written."""
    text = (
        f"{HEADER}def kernel(x: {F}, y: {F}, o: {F}):\n"
        "    for j in pypto.loop(9):\n"
        "        o[j * 4 : j * 4 + 4, :] = x[j * 4 : j * 4 + 4, :] + y[j : j + 1, :]\n"
    )
    batch = Batch("checked")
    x, y, o = torch.ones(36, 64), torch.ones(2, 64), torch.zeros(36, 64)
    variant = batch.add(make_function(text), x, y, o)
    batch.build()
    assert variant.run(x, y, o, blocks=3) == 0
    assert torch.equal(o[:8], torch.full((8, 64), 2.0)) and not o[8:].any()


def test_reductions_see_what_a_part_holds() -> None:
    """A part that reaches over the end is reduced over what is there, in 16-bit floats, too."""
    h = "pypto.Tensor([D, D], pypto.DT_FP16)"
    text = (
        f"{HEADER}def kernel(x: {h}, o: pypto.Tensor([D, 1], pypto.DT_FP16)):\n"
        "    for j in pypto.loop(1):\n"
        "        o[:] = pypto.sum(x[:, j : j + 16], -1, True)\n"
    )
    batch = Batch("checked")
    x, o = torch.ones(5, 11).half(), torch.zeros(5, 1).half()
    variant = batch.add(make_function(text), x, o)
    batch.build()
    assert variant.run(x, o) == 0
    assert o.eq(11).all()


EMBEDDED = {
    "a row from either end": (
        "for j in pypto.loop(-3, 3):\n    o[j] += x[j] * 2",
        lambda x, o: [o[j].add_(x[j] * 2) for j in range(-3, 3)],
    ),
    "a range of loops that depend on one around": (
        "for j in pypto.loop(2):\n"
        "    for i in pypto.loop(x.shape[0] - j):\n"
        "        for m in pypto.loop(j, 9 - j, j + 1):\n"
        "            o[i, m * 7 : m * 7 + 7] = x[i, m * 7 : m * 7 + 7] * (j + 2)",
        lambda x, o: [
            o[i, m * 7 : m * 7 + 7].copy_(x[i, m * 7 : m * 7 + 7] * (j + 2))
            for j in range(2)
            for i in range(len(x) - j)
            for m in range(j, 9 - j, j + 1)
        ],
    ),
}


@pytest.mark.parametrize("kind", ["fast", "checked"])
def test_expressions_in_other_expressions(kind: str) -> None:
    """What binds less than its surroundings stands in parentheses."""
    batch, made = Batch(kind), []
    for number, (body, meaning) in enumerate(EMBEDDED.values()):
        lines = "".join(f"    {line}\n" for line in body.split("\n"))
        text = f"{HEADER}def k{number}(x: {F}, o: {F}):\n{lines}"
        made.append((meaning, batch.add(make_function(text, f"k{number}"), X, X)))
    batch.build()
    for meaning, variant in made:
        x = torch.arange(11 * 64.0).reshape(11, 64)
        got, want = torch.ones(11, 64), torch.ones(11, 64)
        meaning(x, want)
        assert variant.run(x, got, blocks=3) == 0
        assert torch.equal(got, want)
