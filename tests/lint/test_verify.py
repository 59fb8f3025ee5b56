"""A compilation that checks itself refuses text that breaks a rule; others load no rules."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pypto import compiler
from pypto.codegen.views import KernelView
from pypto.error import PyptoGeneralError
from tests.ops.batch import Batch, make_function
from tests.ops.checks import HEADER
from tests.ops.test_levels import KERNELS

PROGRAM = """
import sys
import pypto

@pypto.frontend.jit
def add(x: pypto.Tensor([8], pypto.DT_FP32), out: pypto.Tensor([8], pypto.DT_FP32)):
    out[:] = x + 1

add.compile(target="source")
print("pypto.lint" in sys.modules)
"""


def compile_broken(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[str], str]
) -> pytest.ExceptionInfo[PyptoGeneralError]:
    """Compile a kernel whose text ``change`` breaks."""
    render = compiler.render_kernel

    def broken(view: KernelView) -> str:
        text = render(view)
        changed = change(text)
        assert changed != text
        return changed

    monkeypatch.setattr(compiler, "render_kernel", broken)
    params, body, values = KERNELS["softmax"]
    text = f"{HEADER}def softmax({params}):\n    {body}\n"
    with pytest.raises(PyptoGeneralError) as info:
        Batch().add(make_function(text, "softmax"), *values)
    return info


def test_a_finding_fails_the_compilation(
    monkeypatch: pytest.MonkeyPatch, golden: Callable[[str, str], None]
) -> None:
    info = compile_broken(
        monkeypatch, lambda text: re.sub(r" Exp\((\w+), ", r" Exp(\1, \1, \1, \1, ", text, count=1)
    )
    golden("lint/verify", re.sub(r"<kernel text \d+>", "<kernel text>", str(info.value)))


def test_every_finding_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    info = compile_broken(monkeypatch, lambda text: text.replace("PipeBarrier<PIPE_V>", "Wait"))
    assert len(info.value.diagnostics) > 3
    assert all("unknown-call" in one.message for one in info.value.diagnostics)


@pytest.mark.parametrize("verify", ["0", "1"])
def test_the_rules_are_loaded_for_the_check_alone(verify: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(program)],
        cwd=tmp_path,
        env={**os.environ, "PYPTO_VERIFY": verify},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{verify == '1'}\n"
