"""Reductions along an axis of which one element is stated and none may be there."""

from __future__ import annotations

import pytest
import torch

from tests.ops.batch import Batch, make_function

TYPES = {"DT_FP32": torch.float32, "DT_INT32": torch.int32}
TEXT = """\
import pypto
T, D = pypto.{type}, pypto.DYNAMIC
def k{type}(x: pypto.Tensor([D, 3], T), s: int, o: pypto.Tensor([D, 1], T),
    p: pypto.Tensor([D], T), m: pypto.Tensor([D, 1], T)):
    o[:] = pypto.sum(x[:, s : s + 1] + 1, -1, True) + 2
    p[:] = pypto.sum(x[:, s : s + 1], -1)
    m[:] = pypto.amax(x[:, s : s + 1], -1, True)
"""


@pytest.mark.parametrize("kind", ["fast", "checked"])
def test_a_column_that_may_lie_outside(kind: str) -> None:
    batch = Batch(kind)
    runs = []
    for type, dtype in TYPES.items():
        x = torch.arange(15).reshape(5, 3).to(dtype)
        outs = [torch.zeros(shape, dtype=dtype) for shape in ((5, 1), (5,), (5, 1))]
        function = make_function(TEXT.format(type=type), f"k{type}")
        runs.append((batch.add(function, x, 1, *outs), x))
    batch.build()
    for variant, x in runs:
        lowest = float("-inf") if x.is_floating_point() else torch.iinfo(x.dtype).min
        for start in (0, 2, 3, 7, -1, -3, -5):
            outs = [torch.full(shape, 9, dtype=x.dtype) for shape in ((5, 1), (5,), (5, 1))]
            assert variant.run(x.clone(), start, *outs) == 0
            part = x[:, start : start + 1]
            assert torch.equal(outs[0], (part + 1).sum(-1, keepdim=True, dtype=x.dtype) + 2)
            assert torch.equal(outs[1], part.sum(-1, dtype=x.dtype))
            held = part.amax(-1, keepdim=True) if part.numel() else torch.full_like(outs[2], lowest)
            assert torch.equal(outs[2], held)
