"""``pypto compile``: what is built, what is found built, and what cannot be built."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pypto
from pypto.build.steps import prepare
from pypto.build.store import open_store
from pypto.build.toolchain import find_host_toolchain
from pypto.cli import main, parameters
from pypto.elaborate import KernelSource

KERNELS = """
import pypto

@pypto.frontend.jit
def first(x: pypto.Tensor([pypto.DYNAMIC, 64], pypto.DT_FP32),
          out: pypto.Tensor([pypto.DYNAMIC, 64], pypto.DT_FP32)):
    out[:] = x + 1

@pypto.frontend.jit
def second(x: pypto.Tensor([8, 64], pypto.DT_FP32), out: pypto.Tensor([8, 64], pypto.DT_FP32)):
    out[:] = x * 2

if __name__ == "__main__":
    raise SystemExit("compiled files are imported, not run")
"""

BROKEN = (
    KERNELS
    + """
@pypto.frontend.jit
def broken(x: pypto.Tensor([8], pypto.DT_FP32), out: pypto.Tensor([8], pypto.DT_FP32)):
    out = x
"""
)

OPEN = """
import pypto

@pypto.frontend.jit
def any_size(x: pypto.Tensor([pypto.STATIC, 64], pypto.DT_FP32),
             out: pypto.Tensor([pypto.STATIC, 64], pypto.DT_FP32)):
    out[:] = x + 1
"""

SAME = """
import pypto

def make(n):
    @pypto.frontend.jit
    def inner(x: pypto.Tensor([8], pypto.DT_FP32), out: pypto.Tensor([8], pypto.DT_FP32)):
        out[:] = x * n
    return inner

one, two = make(1), make(2)
"""

SHAPE_FORM = "--shape takes NAME=SIZE,SIZE,... with sizes of 0 or more, such as x=4,8"


def _compile(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pypto", "compile", *arguments],
        cwd=directory,
        env={**os.environ, "PYPTO_CACHE_DIR": str(directory / "cache")},
        capture_output=True,
        text=True,
    )


def _states(printed: str) -> dict[str, str]:
    """State by kernel; the summary line is left out."""
    rows = (line.split() for line in printed.splitlines()[:-1])
    states = ("compiled", "cached", "failed")
    return {row[0]: row[1] for row in rows if len(row) > 1 and row[1] in states}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files with kernels, beside a cache that has the shared tools and no kernel."""
    store = open_store()
    prepare(store, find_host_toolchain(store.memo))
    tools = Path(store.write_root()) / "tools"
    (tmp_path / "cache").mkdir(mode=0o700)
    shutil.copytree(tools, tmp_path / "cache" / "tools")
    (tmp_path / "kernels.py").write_text(KERNELS)
    (tmp_path / "broken.py").write_text(BROKEN)
    (tmp_path / "sizes.py").write_text(OPEN)
    (tmp_path / "same.py").write_text(SAME)
    (tmp_path / "nothing.py").write_text("X = 1\n")
    (tmp_path / "notes.txt").write_text("X = 1\n")
    return tmp_path


def test_second_run_compiles_nothing(folder: Path) -> None:
    done = _compile(folder, "kernels.py", "-j", "2")
    assert done.returncode == 0, done.stderr
    assert _states(done.stdout) == {"first": "compiled", "second": "compiled"}
    assert done.stdout.splitlines()[-1] == "2 kernels: 2 compiled, 0 cached, 0 failed"
    done = _compile(folder, "kernels")
    assert _states(done.stdout) == {"first": "cached", "second": "cached"}
    assert done.stdout.splitlines()[-1] == "2 kernels: 0 compiled, 2 cached, 0 failed"


def test_what_was_compiled_ahead_serves_the_call(folder: Path) -> None:
    assert _compile(folder, "kernels.py:first").returncode == 0
    call = (
        "import torch, kernels\n"
        "x, out = torch.rand(3, 64), torch.empty(3, 64)\n"
        "kernels.first(x, out)\n"
        "assert torch.equal(out, x + 1)\n"
    )
    environment = {**os.environ, "PYPTO_CACHE_DIR": str(folder / "cache")}
    listed = sorted((folder / "cache" / "entries").glob("*/*"))
    done = subprocess.run(
        [sys.executable, "-c", call], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert sorted((folder / "cache" / "entries").glob("*/*")) == listed


def test_a_kernel_that_cannot_be_built(folder: Path) -> None:
    done = _compile(folder, "broken.py")
    assert done.returncode == 1
    assert _states(done.stdout) == {"first": "compiled", "second": "compiled", "broken": "failed"}
    assert "assigning to 'out' does not write the tensor" in done.stdout
    assert "broken.py:" in done.stdout


def test_a_defect_of_pypto_fails_one_kernel(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever a compilation raises, its kernel has a line, and the others are compiled."""
    from pypto import compiler

    usual = compiler.compile_kernel

    def broken(source: KernelSource, *rest: Any) -> compiler.Compilation:
        if source.function.__name__ == "first":
            raise KeyError("no such row")
        return usual(source, *rest)

    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "kernels", raising=False)
    monkeypatch.setattr(compiler, "compile_kernel", broken)
    assert main(["compile", "kernels.py", "--target", "source", "-j", "1"]) == 1
    printed, complaints = capsys.readouterr()
    assert _states(printed) == {"first": "failed", "second": "compiled"}
    lines = printed.splitlines()
    assert lines[:2] == ["first   failed  ", "Traceback (most recent call last):"]
    assert "KeyError: 'no such row'" in lines
    assert (
        "This is a defect of pypto, not of the kernel: please report it with the kernel's text."
        in lines
    )
    assert lines[-1] == "2 kernels: 1 compiled, 0 cached, 1 failed"
    assert complaints == ""


def test_source_alone(folder: Path) -> None:
    target = ("--target", "source", "--arch", "ascend910_93", "--output", "made")
    done = _compile(folder, "kernels.py:second", *target)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].split()[-1] == "made/second.cpp"
    assert "ascend910_93" in (folder / "made" / "second.cpp").read_text()
    assert not (folder / "cache" / "entries").exists()


def test_text_that_cannot_be_written(folder: Path) -> None:
    (folder / "made" / "second.cpp").mkdir(parents=True)
    done = _compile(folder, "kernels.py", "--target", "source", "--output", "made")
    assert (done.returncode, done.stderr) == (1, "")
    assert _states(done.stdout) == {"first": "compiled", "second": "failed"}
    lines = [line for line in done.stdout.splitlines() if not line.startswith("first")]
    assert lines == [
        "second  failed  ",
        "ErrCode: F00003  The Ascend C of 'second' cannot be written to made/second.cpp: "
        "made/second.cpp is a directory",
        "  help: name a directory that you can write: --output DIR.",
        "2 kernels: 1 compiled, 0 cached, 1 failed",
    ]


def test_an_interrupt_while_kernels_are_compiled(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(running: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "kernels", raising=False)
    monkeypatch.setattr("pypto.cli.compile.as_completed", interrupt)
    assert main(["compile", "kernels.py", "--target", "source"]) == 130
    assert capsys.readouterr() == ("", "")


WARN = """
import warnings
from pypto.build.store import CacheStore
from pypto.cli.frames import plain_warnings

with plain_warnings():
    CacheStore("/dev/null/cache").write_root()
    warnings.warn_explicit("of others", UserWarning, "other.py", 3)
"""


def test_a_cache_that_cannot_be_made() -> None:
    """The warning is a line of text, without a line of pypto."""
    done = subprocess.run([sys.executable, "-c", WARN], capture_output=True, text=True)
    assert done.stderr == (
        "pypto: The cache directory /dev/null/cache cannot be used (Not a directory: "
        "/dev/null/cache); kernels are built in a private temporary directory and rebuilt in the "
        "next process. Set PYPTO_CACHE_DIR to a writable directory of your own.\n"
        "other.py:3: UserWarning: of others\n"
    )


ACCENTS = """
import pypto

@pypto.frontend.jit
def cafe\u0301(e\u0301: pypto.Tensor([pypto.STATIC], pypto.DT_FP32),
          out: pypto.Tensor([8], pypto.DT_FP32), n\u0303: int):
    out[:] = e\u0301 * pypto.tensor([n\u0303], pypto.DT_FP32).shape[0]
"""


@pytest.mark.parametrize(("kernel", "x", "n"), [
    ("cafe\u0301", "e\u0301", "n\u0303"), ("caf\u00e9", "\u00e9", "\u00f1"),
])  # fmt: skip
def test_names_in_every_form_of_unicode(folder: Path, kernel: str, x: str, n: str) -> None:
    (folder / "accents.py").write_text(ACCENTS, encoding="utf-8")
    given = ("--shape", f"{x}=8", "--value", f"{n}=3", "--target", "source")
    done = _compile(folder, f"accents.py:{kernel}", *given)
    assert _states(done.stdout) == {"caf\u00e9": "compiled"}, done.stdout + done.stderr


def test_sizes_that_annotations_leave_open(folder: Path) -> None:
    done = _compile(folder, "sizes.py")
    assert done.returncode == 1
    assert _states(done.stdout) == {"any_size": "failed"}
    done = _compile(folder, "sizes.py", "--shape", "x=4,64", "--shape", "out=4,64")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["missing.py"], "there is no file missing.py"),
        (["no_such_module"], "there is no module and no file 'no_such_module'"),
        (["no.such.module"], "there is no module 'no'"),
        (["."], ". is a directory; name a file in it, or a module"),
        (["cache/"], "cache/ is a directory; name a file in it, or a module"),
        ([".kernels"], "'.kernels' is neither a Python file nor the name of a module"),
        ([""], "'' is neither a Python file nor the name of a module"),
        (["notes.txt"], "notes.txt is not a Python file: its name does not end in .py"),
        (["nothing.py"], "nothing.py has no kernel: no function with @pypto.frontend.jit"),
        (["kernels.py:third"], "kernels.py has no kernel 'third'; it has first, second"),
        (["kernels.py", "--shape", "x"], f"{SHAPE_FORM}, got 'x'"),
        (["kernels.py", "--shape", "x="], f"{SHAPE_FORM}, got 'x='"),
        (["kernels.py", "--shape", "x=4,-1"], f"{SHAPE_FORM}, got 'x=4,-1'"),
        (["kernels.py", "--shape", "x=4", "--shape", "x=5"], "--shape names x twice"),
        (
            ["kernels.py", "--shape", "y=4"],
            "--shape names y, which is a tensor parameter of no kernel here; there are out, x",
        ),
        (
            ["kernels.py", "--output", "made"],
            "--output goes with --target source; binaries go to the cache",
        ),
        (["kernels.py", "--target", "source", "--output", ""], "--output needs a directory"),
        (
            ["kernels.py", "--target", "source", "--output", "notes.txt/made"],
            "--output cannot be used: notes.txt/made: notes.txt is not a directory; "
            "name a directory that you can write",
        ),
        (
            ["same.py", "--target", "source"],
            "the kernels one and two would both be written to inner.cpp; name one of them: "
            "FILE_OR_MODULE:KERNEL",
        ),
        (["kernels.py", "-j", "0"], "-j needs a positive number of compilations, got 0"),
        (
            ["kernels.py", "--arch", "ascend310"],
            "ErrCode: F00002  soc_version 'ascend310' is not a chip that pypto compiles for",
        ),
    ],
)
def test_not_possible(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    why: str,
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "kernels", raising=False)
    monkeypatch.delitem(sys.modules, "nothing", raising=False)
    assert main(["compile", *arguments]) == 2
    assert capsys.readouterr().err.splitlines()[0] == f"pypto compile: {why}"


def test_npu_without_cann_says_what_is_missing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pypto.cli.doctor.cann_problems", lambda: ["CANN is not set up"])
    assert main(["compile", str(folder / "kernels.py"), "--target", "npu"]) == 2
    assert capsys.readouterr().err == (
        "pypto compile: kernels cannot be built for the NPU here:\n"
        "  CANN is not set up\n"
        "  This version writes the Ascend C text (--target source) and builds for the CPU "
        "(--target cpu).\n"
    )


def test_shapes() -> None:
    assert list(map(parameters._shape, ["x=4,8", "y=3", "z="])) == [
        ("x", (4, 8)),
        ("y", (3,)),
        ("z", ()),
    ]


@pytest.mark.parametrize("place", ["raises.py", "raises"])
def test_an_exception_of_the_module(folder: Path, place: str) -> None:
    """The traceback begins in the module."""
    (folder / "raises.py").write_text("def f():\n    raise ValueError('no')\nf()\n")
    done = _compile(folder, place)
    lines = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (1, "")
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1].endswith('raises.py", line 3, in <module>')
    assert lines[-1] == "ValueError: no"
    assert "importlib" not in done.stderr and "cli" not in done.stderr
    (folder / "raises.py").write_text("def f(:\n")
    lines = _compile(folder, place).stderr.splitlines()
    assert lines[0].endswith('raises.py", line 1')
    assert lines[-1] == "SyntaxError: invalid syntax"


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"pypto {pypto.__version__}\n"
