"""Regions without elements: what is written there is nothing, whatever else touches the tensor."""

from __future__ import annotations

import pytest
import torch

from tests.ops.batch import Batch, make_function
from tests.ops.checks import HEADER

BODIES = {
    "alone": "o[0:0] = x[0:0]",
    "in regions that run": "if s > 1: o[0:0] = 1\n    for i in pypto.loop(s): o[0:0] = x[0:0]",
    "beside a read of the tensor": "o[0:1, 0:0] -= o[0:1, 0:1] + 1",
    "before a write of the whole": "o[1:2, 3:3] = x[0:1, 0:1] * 2\n    o[:] = o + 1",
    "in a loop that reads and writes": "for i in pypto.loop(s):\n        o[2:2] = o[0:1] + x[i]\n"
    "        o[0] += x[i]",
}


@pytest.fixture(scope="module")
def batch() -> Batch:
    made = Batch()
    x = torch.ones(4, 12)
    for number, body in enumerate(BODIES.values()):
        text = f"{HEADER}def k{number}(x: pypto.Tensor([4, 12], pypto.DT_FP32), "
        text += f"o: pypto.Tensor([4, 12], pypto.DT_FP32), s: int):\n    {body}\n"
        made.add(make_function(text, f"k{number}"), x, x.clone(), 3)
    made.build()
    return made


@pytest.mark.parametrize("case", BODIES)
def test_nothing_is_written(batch: Batch, case: str) -> None:
    x = torch.arange(48.0).reshape(4, 12)
    o = x.flip(0) + 0.5
    want = o.clone()
    if case == "before a write of the whole":
        want += 1
    elif case == "in a loop that reads and writes":
        want[0] += x[:3].sum(0)
    number = list(BODIES).index(case)
    assert batch.variants[number].run(x, o, 3, blocks=2) == 0
    assert torch.equal(o, want)
