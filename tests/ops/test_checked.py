"""Generated kernels whose text was damaged, on the checked twin: what the errors say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from pypto.compiler import Compilation
from pypto.error import VerifyError
from tests.ops.batch import Batch, Variant, make_function, runtime
from tests.ops.checks import HEADER

TENSOR = "pypto.Tensor([D], pypto.DT_FP32)"
KERNELS = {
    "careless": "o[:] = pypto.exp(x + 1.0)",
    "greedy": "o[:] = x * 2.0",
    "wide": "o[:] = x - 1.0",
    "hasty": "o[:] = pypto.abs(x)",
    "spare": "o[:] = x + 3.0",
    "askew": "o[:] = pypto.exp(x)",
    "cramped": "o[:] = pypto.tanh(x)",
    "divided": "o[:] = pypto.exp(x)",
}
# What is replaced in the Ascend C of each, and by what.
DAMAGE = {
    "careless": (r"PipeBarrier<PIPE_V>\(\);", ""),
    "greedy": (r"GetBlockIdx\(\) \* share", "0 * share"),
    "wide": (r"(const uint32_t count) = .*", r"\1 = args_.step;"),
    "hasty": (r"Abs\(o, x, count\)", "Abs(o, x, count - 1)"),
    "spare": (r"(CopyIn[\s\S]*?)count \* sizeof", r"\1(count - 3) * sizeof"),
    "askew": (r"Exp\((\w+), (\w+), count\)", r"Exp(\1, \2[1], count - 1)"),
    "cramped": (r"GetWithOffset<uint8_t>\(8192", "GetWithOffset<uint8_t>(128"),
    "divided": (r"Exp\((\w+), (\w+), count\)", r"Exp(\1, \2, count / (args_.step / 4096))"),
}
X = torch.rand(3000)
SAMPLE = Path(__file__).parents[2] / "samples" / "hello_world.py"


@pytest.fixture(scope="module")
def damaged() -> dict[str, Variant]:
    batch = Batch("checked")
    variants = {}
    for name, body in KERNELS.items():
        text = f"{HEADER}def {name}(x: {TENSOR}, o: {TENSOR}):\n    {body}\n"
        variants[name] = batch.add(make_function(text, name), X, X.clone())
    text_of = Compilation.ascendc.fget  # type: ignore[attr-defined]

    def damage(compilation: Compilation) -> str:
        before = text_of(compilation)
        after = re.sub(*DAMAGE[compilation.name], before)
        assert after != before
        return after

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Compilation, "ascendc", property(damage))
        batch.build()
    runtime(2)  # compiled while the compiler is on PATH
    return variants


def message(variant: Variant, damage: tuple[str, str], **control: int) -> str:
    """What the run says; the Ascend C in its notes is the one that was compiled."""
    text_of = Compilation.ascendc.fget  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patch, pytest.raises(VerifyError) as caught:
        patch.setattr(Compilation, "ascendc", property(lambda c: re.sub(*damage, text_of(c))))
        variant.run(X, torch.zeros(3000), **control)
    return re.sub(r"<kernel text \d+>", "<kernel text>", str(caught.value))


def test_messages(damaged: dict[str, Variant], golden: Callable[[str, str], None]) -> None:
    told = [
        message(variant, DAMAGE[name], blocks=3, l1_bytes=4096, workers=2)
        for name, variant in damaged.items()
    ]
    golden("checked/generated", "\n\n".join(told))


def test_a_limit_that_is_none() -> None:
    environment = {**os.environ, "PYPTO_TWIN": "checked", "PYPTO_TWIN_TIMEOUT": "soon"}
    done = subprocess.run(
        [sys.executable, str(SAMPLE)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "PYPTO_TWIN_TIMEOUT must be seconds, 0 for no limit, got 'soon'" in done.stderr


def test_without_addr2line(damaged: dict[str, Variant], monkeypatch: pytest.MonkeyPatch) -> None:
    from pypto.runtime import findings

    findings._places.cache_clear()
    monkeypatch.setenv("PATH", "")
    told = message(damaged["careless"], DAMAGE["careless"], blocks=1, workers=2)
    findings._places.cache_clear()
    assert "the place is not known: that takes addr2line, of binutils, on PATH" in told
    assert "kernel.cpp" not in told
