"""Every sample runs, checks itself against torch, and can show what it compiled."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLES = sorted((Path(__file__).parent.parent.parent / "samples").glob("*.py"))


def _run(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_runs(sample: Path) -> None:
    assert _run(str(sample)).splitlines()[-1].startswith(f"{sample.stem}: ")


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_teaches(sample: Path) -> None:
    tree = ast.parse(sample.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    assert any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body)


def test_dump_shows_what_is_compiled_and_the_result() -> None:
    sample = next(path for path in SAMPLES if path.stem == "hello_world")
    printed = _run(str(sample), "--dump")
    assert '#include "kernel_operator.h"' in printed
    assert "__aicore__" in printed and "add_kernel" in printed
    assert printed.splitlines()[-1] == "hello_world: all 256 sums equal torch's"


def test_dump_is_the_same_in_every_process_also_from_the_cache() -> None:
    sample = next(path for path in SAMPLES if path.stem == "softmax")
    arguments = (str(sample), "--dump=all")
    assert _run(*arguments) == _run("-m", "pypto", "run", *arguments)


def test_dump_directory(tmp_path: Path) -> None:
    sample = next(path for path in SAMPLES if path.stem == "multi_jit")
    _run(str(sample), "--dump=tensor,ascendc", "--dump-dir", str(tmp_path / "made"))
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == [
        "add_kernel_false.cpp",
        "add_kernel_false.tensor.txt",
        "add_kernel_true.cpp",
        "add_kernel_true.tensor.txt",
    ]
