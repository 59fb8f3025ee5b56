"""Axes of one name have one size, on the first call and on every later one."""

from __future__ import annotations

import pytest
import torch

import pypto

n = pypto.frontend.dynamic("n")


@pypto.frontend.jit
def square(
    x: pypto.Tensor([n, n], pypto.DT_FP32),
    row: pypto.Tensor([n], pypto.DT_FP32),
    out: pypto.Tensor([n, n], pypto.DT_FP32),
):
    out[:] = x + row


def test_later_calls_are_checked() -> None:
    square(torch.zeros(3, 3), torch.ones(3), torch.empty(3, 3))
    out = torch.full((3, 4), -1.0)
    for x, row, target in (
        (torch.zeros(3, 4), torch.ones(4), out),
        (torch.zeros(3, 3), torch.ones(5), torch.empty(3, 3)),
        (torch.zeros(3, 3), torch.ones(3), torch.empty(3, 5)),
    ):
        with pytest.raises(pypto.PyptoError, match="axes named 'n' must be equal"):
            square(x, row, target)
    assert torch.equal(out, torch.full((3, 4), -1.0))
    out = torch.empty(5, 5)
    square(torch.zeros(5, 5), torch.ones(5), out)
    assert torch.equal(out, torch.ones(5, 5))
