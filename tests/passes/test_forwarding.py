"""What was stored is read from the value, wherever the sizes are equal in every call."""

from __future__ import annotations

import pytest
import torch

from pypto.ir.tile import Program
from tests.ops.batch import Batch, make_function
from tests.ops.checks import HEADER

X = torch.ones(6, 40)
SHAPES = {
    "static": "[6, 40]",
    "each its own": "[D, D]",
    "one of them": "[D, 40]",
    "from the call": None,
}


def _program(shape: str | None, body: str) -> Program:
    tensor = "pypto.Tensor" if shape is None else f"pypto.Tensor({shape}, pypto.DT_FP32)"
    text = f"{HEADER}def kernel(a: {tensor}, x: {tensor}, o: {tensor}):\n    {body}\n"
    variant = Batch().add(make_function(text), X, X.clone(), X.clone())
    program = variant.compilation.program
    assert program is not None
    return program


@pytest.mark.parametrize("name", SHAPES)
def test_an_output_that_is_updated_again_and_again_is_one_stage(name: str) -> None:
    program = _program(SHAPES[name], "; ".join(["o[:] = o * a + x"] * 3))
    (stage,) = program.stages
    (plan,) = stage.plans
    copies = [c for block in plan.blocks() for c in (*block.loads, *block.stores)]
    assert sorted(c.buffer.name for c in copies) == ["a", "o", "o", "x"]


def test_a_stored_value_that_was_spread_is_read_back() -> None:
    """A row that was stored to all rows has another shape than what is read."""
    shape = "pypto.Tensor([1, D], pypto.DT_FP32)"
    tensor = "pypto.Tensor([D, D], pypto.DT_FP32)"
    text = f"{HEADER}def kernel(a: {shape}, o: {tensor}):\n    o[:] = a\n    o[:] = o + 1\n"
    batch = Batch()
    variant = batch.add(make_function(text), X[:1].clone(), X.clone())
    batch.build()
    row, out = torch.rand(1, 40), torch.zeros(6, 40)
    assert variant.run(row, out) == 0
    assert torch.equal(out, (row + 1).expand(6, 40))


def test_a_column_by_a_precondition_is_handed_over_once() -> None:
    """Where a call makes an axis one of size 1, rows of what is handed over are neighbours."""
    text = (
        "import pypto\nD, F32 = pypto.DYNAMIC, pypto.DT_FP32\n"
        "def k(y: pypto.Tensor([D, D], F32), o: pypto.Tensor([D, 1], F32)):\n"
        "    v = pypto.maximum(y - 0.5, o)\n"
        "    o[:] = v + pypto.maximum(y[2] + 0.5, pypto.amax(v, 0))\n"
    )
    y, o = torch.tensor([[1.0], [5.0], [-2.0], [3.0]]), torch.zeros(4, 1)
    batch = Batch()
    variant = batch.add(make_function(text, "k"), y, o)
    batch.build()
    assert variant.run(y, o) == 0
    v = torch.clamp(y - 0.5, min=0)
    torch.testing.assert_close(o, v + torch.maximum(y[2] + 0.5, v.amax(0)))
