"""Chains of reductions along rows: the work and the text of a kernel grow with its length."""

from __future__ import annotations

import pytest
import torch

from pypto.ir.tile import Program
from tests.ops.batch import Batch, Variant, make_function
from tests.ops.checks import HEADER

STEP = "v = pypto.abs(v * 0.5 + x) - pypto.amax(v, -1, keepdim=True) * 0.25"


def _chain(batch: Batch, shape: str, steps: int, *sizes: int) -> Variant:
    tensor = f"pypto.Tensor({shape}, pypto.DT_FP32)"
    body = "".join(f"    {line}\n" for line in ["v = x", *[STEP] * steps, "o[:] = v"])
    x = torch.empty(*sizes)
    return batch.add(make_function(f"{HEADER}def kernel(x: {tensor}, o: {tensor}):\n{body}"), x, x)


def _program(variant: Variant) -> Program:
    program = variant.compilation.program
    assert program is not None
    return program


def _length(variant: Variant) -> int:
    return len(variant.compilation.ascendc.splitlines())


def test_long_chains_are_cut_into_stages() -> None:
    batch = Batch()
    chains = {n: _chain(batch, "[D, D]", n, 3, 40) for n in (6, 7, 12, 13, 48)}
    stages = {n: len(_program(chain).stages) for n, chain in chains.items()}
    assert stages == {6: 1, 7: 2, 12: 2, 13: 3, 48: 8}
    # What one more stage adds, to all of them alike.
    added = _length(chains[12]) - _length(chains[6])
    assert _length(chains[48]) <= _length(chains[6]) + 7 * added * 1.1


@pytest.mark.parametrize("shape", ["[3, 40]", "[D, 2048]"])
def test_rows_that_fit_are_read_once(shape: str) -> None:
    columns = int(shape.rpartition(",")[2].strip(" ]"))
    program = _program(_chain(Batch(), shape, 24, 3, columns))
    assert len(program.stages) == 1


@pytest.mark.parametrize("columns", [1, 40, 2500, 20011])
def test_values(columns: int) -> None:
    batch = Batch()
    chain = _chain(batch, "[D, D]", 14, 3, 40)
    batch.build()
    torch.manual_seed(columns)
    x, o = torch.rand(3, columns), torch.zeros(3, columns)
    assert chain.run(x, o) == 0
    v = x
    for _ in range(14):
        v = torch.abs(v * 0.5 + x) - torch.amax(v, -1, keepdim=True) * 0.25
    torch.testing.assert_close(o, v, rtol=1e-5, atol=1e-6)
