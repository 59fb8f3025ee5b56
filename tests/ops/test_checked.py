"""A kernel whose text lacks its barriers, on the checked twin: what the error says."""

from __future__ import annotations

import pytest
import torch

from pypto.compiler import Compilation
from pypto.error import VerifyError
from tests.ops.batch import Batch, Variant, make_function, runtime
from tests.ops.checks import HEADER

TENSOR = "pypto.Tensor([D], pypto.DT_FP32)"
HEAD = f"def kernel(x: {TENSOR}, o: {TENSOR}):"
KERNEL = f"{HEADER}{HEAD}\n    o[:] = pypto.exp(x + 1.0)\n"
X = torch.rand(100)


@pytest.fixture(scope="module")
def careless() -> Variant:
    batch = Batch("checked")
    variant = batch.add(make_function(KERNEL), X, X)
    text = Compilation.ascendc.fget  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patch:
        without = property(lambda self: text(self).replace("PipeBarrier<PIPE_V>();", ""))
        patch.setattr(Compilation, "ascendc", without)
        batch.build()
    runtime()  # compiled while the compiler is on PATH
    return variant


def test_a_missing_barrier(careless: Variant) -> None:
    with pytest.raises(VerifyError) as caught:
        careless.run(X, torch.zeros(100), blocks=1)
    message = str(caught.value)
    assert (
        "kernel: reads UB on pipe V what pipe V writes, and nothing orders the two [race]"
        in message
    )
    assert " |     o[:] = pypto.exp(x + 1.0)\n" in message and "\n  kernel.cpp:" in message
    assert "help: order the two: a PipeBarrier of the pipe" in message


def test_without_addr2line(careless: Variant, monkeypatch: pytest.MonkeyPatch) -> None:
    from pypto.runtime import findings

    findings._places.cache_clear()
    monkeypatch.setenv("PATH", "")
    with pytest.raises(VerifyError) as caught:
        careless.run(X, torch.zeros(100), blocks=1)
    findings._places.cache_clear()
    assert "the place is not known: that takes addr2line, of binutils, on PATH" in str(caught.value)
