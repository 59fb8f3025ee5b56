"""The shuffled twin from outside: what is said when nothing goes on, and of a seed that is none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from pypto.compiler import Compilation
from pypto.error import VerifyError
from tests.ops.batch import Batch, Variant, make_function
from tests.ops.checks import HEADER

TENSOR = "pypto.Tensor([D], pypto.DT_FP32)"
KERNEL = f"{HEADER}def kernel(x: {TENSOR}, o: {TENSOR}):\n    o[:] = pypto.exp(x + 1.0)\n"
X = torch.rand(100)
SAMPLE = Path(__file__).parents[2] / "samples" / "hello_world.py"
GET = Compilation.ascendc.fget  # type: ignore[attr-defined]
SHOWN = """
  3 | def kernel(x: pypto.Tensor([D], pypto.DT_FP32), o: pypto.Tensor([D], pypto.DT_FP32)):
  4 |     o[:] = pypto.exp(x + 1.0)
    |     ^^^^^^^^^^^^^^^^^^^^^^^^^
"""
HELP = """
  core 0; also on core 1
  help: each wait needs its signal: EnQue before DeQue, FreeTensor before AllocTensor, SetFlag before WaitFlag, SyncAll on every core"""  # noqa: E501


def text_of(compilation: Compilation) -> str:
    """The kernel, with a wait for a flag that nothing sets."""
    wait = "        WaitFlag<HardEvent::MTE3_V>(0);\n"
    return str(GET(compilation)).replace("        Exp(", f"{wait}        Exp(")


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> Variant:
    batch = Batch("shuffled")
    variant = batch.add(make_function(KERNEL), X, X)
    monkeypatch.setattr(Compilation, "ascendc", property(text_of))
    batch.build()
    return variant


def test_a_deadlock(waiting: Variant) -> None:
    with pytest.raises(VerifyError) as caught:
        waiting.run(X, torch.zeros(100))
    message = str(caught.value)
    file = message.split("--> ")[1].split(":")[0]
    first, second = (part.replace(file, "FILE") for part in message.split("\n\n"))
    assert first == (
        "ErrCode: FB0001  kernel: pipe V waits for ever in WaitFlag<MTE3_V>(0), in the order of "
        f"seed 0 [deadlock]\n  --> FILE:4:5{SHOWN}"
        "  kernel.cpp:68  WaitFlag<HardEvent::MTE3_V>(0);\n  kernel.cpp:45  Compute(count);" + HELP
    )
    assert second == (
        "ErrCode: FB0001  kernel: pipe MTE3 waits for ever in DeQue, in the order of seed 0 "
        f"[deadlock]\n  --> FILE:4:5{SHOWN}"
        "  kernel.cpp:76  LocalTensor<float> outBuf = outQue_.DeQue<float>();\n"
        "  kernel.cpp:46  CopyOut(begin, count);" + HELP
    )


@pytest.mark.parametrize("seed", ["-1", "many", str(2**64)])
def test_a_seed_that_is_none(seed: str) -> None:
    environment = {**os.environ, "PYPTO_TWIN": "shuffled", "PYPTO_TWIN_SEED": seed}
    done = subprocess.run(
        [sys.executable, str(SAMPLE)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert f"PYPTO_TWIN_SEED must be a number from 0 to 2**64 - 1, got '{seed}'" in done.stderr
