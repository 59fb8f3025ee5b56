"""``pypto run``: the program runs as Python runs it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pypto import _dump
from pypto._dump import DumpRequest
from pypto.cli import main, sample_arguments
from pypto.cli import run as run_module

ECHO = "import sys\nprint(__name__, sys.argv)\n"


def _run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pypto", "run", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
    )


def _program(directory: Path, text: str) -> str:
    (directory / "program.py").write_text(text, encoding="utf-8")
    return "program.py"


def test_arguments_are_the_programs(tmp_path: Path) -> None:
    file = _program(tmp_path, ECHO)
    done = _run(file, "a", "--b", "--dump", "c", "--", "--dump", "d", cwd=tmp_path)
    assert done.stdout == "__main__ ['program.py', 'a', '--b', 'c', '--dump', 'd']\n"
    assert done.returncode == 0


def test_assumptions(tmp_path: Path) -> None:
    file = _program(tmp_path, "import os\nprint(os.environ['PYPTO_ASSUME'])\n")
    done = _run(file, "--assume", "max_nan=ignore", "--assume=int_add=saturate", cwd=tmp_path)
    assert (done.stdout, done.returncode) == ("max_nan=ignore int_add=saturate\n", 0)
    done = _run(file, "--assume=max_nan=maybe", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.endswith(
        "'max_nan=maybe' is not an assumption: write max_nan=propagate or max_nan=ignore\n"
    )


def test_imports_from_the_programs_directory(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "neighbour.py").write_text("VALUE = 5\n")
    _program(tmp_path / "below", "import neighbour\nprint(neighbour.VALUE)\n")
    assert _run("below/program.py", cwd=tmp_path).stdout == "5\n"


@pytest.mark.parametrize(
    ("text", "code", "printed"),
    [
        ("import sys; sys.exit()", 0, ""),
        ("import sys; sys.exit(7)", 7, ""),
        ("import sys; sys.exit('enough')", 1, "enough\n"),
    ],
)
def test_exit_code(tmp_path: Path, text: str, code: int, printed: str) -> None:
    done = _run(_program(tmp_path, text), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (code, printed)


def test_traceback_begins_in_the_program(tmp_path: Path) -> None:
    done = _run(_program(tmp_path, "def f():\n    raise ValueError('no')\nf()\n"), cwd=tmp_path)
    lines = done.stderr.splitlines()
    assert done.returncode == 1
    assert lines[0] == "Traceback (most recent call last):"
    assert 'program.py", line 3, in <module>' in lines[1]
    assert lines[-1] == "ValueError: no"
    assert "runpy" not in done.stderr and "cli" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "request_"),
    [
        (["--dump", "F"], DumpRequest(("ascendc",))),
        (["F", "--dump=tensor,tile"], DumpRequest(("tensor", "tile"))),
        (["F", "--dump-dir", "d"], DumpRequest(("ascendc",), os.path.abspath("d"))),
        (["F", "--dump=all", "--dump-dir=d"], DumpRequest(_dump.LEVELS, os.path.abspath("d"))),
        (["F", "--", "--dump"], None),
    ],
)
def test_dump_options(tmp_path: Path, arguments: list[str], request_: DumpRequest | None) -> None:
    file = str(tmp_path / _program(tmp_path, ""))
    plan = run_module._read([file if word == "F" else word for word in arguments])
    assert (plan.file, plan.dump) == (file, request_)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["missing.py"], "there is no file missing.py"),
        (["--dump"], "which file?"),
        (
            ["--dumpp", "program.py"],
            "--dumpp is no option of this command; did you mean --dump?",
        ),
        (
            ["-q", "program.py"],
            "-q is no option of this command; options of the program come after FILE",
        ),
        (["program.py", "--dump-dir"], "--dump-dir needs a directory"),
        (["program.py", "--dump-dir="], "--dump-dir needs a directory"),
        (
            ["program.py", "--dump-dir", "program.py/made"],
            "--dump-dir cannot be used: program.py/made: program.py is not a directory; "
            "name a directory that you can write",
        ),
        (["program.py", "--dump=cpp"], "ErrCode: F00002  'cpp' is not a level that can be shown"),
    ],
)
def test_wrong_usage(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    why: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    _program(tmp_path, ECHO)
    assert run_module.run(arguments) == 2
    usage, reason = capsys.readouterr().err.splitlines()[:2]
    assert usage == f"usage: {run_module.USAGE}"
    assert reason == f"pypto run: {why}"


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: pypto run FILE")
    assert run_module.run([]) == 2


def test_a_sample_refuses_a_directory_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    for given, why in (
        ("file", "--dump-dir cannot be used: file: file is not a directory"),
        ("", "--dump-dir needs a directory"),
    ):
        monkeypatch.setattr(sys, "argv", ["sample.py", "--dump-dir", given])
        with pytest.raises(SystemExit) as left:
            sample_arguments("What it does.")
        assert left.value.code == 2
        assert capsys.readouterr().err == (
            f"usage: sample.py [-h] [--dump [LEVELS]] [--dump-dir DIR]\nsample.py: error: {why}\n"
        )


STREAM = (
    "import sys\nprint(__name__, __file__, sys.argv)\ndef f():\n    raise ValueError('no')\nf()\n"
)


@pytest.mark.parametrize("kind", ["standard input", "named pipe"])
def test_a_pipe_is_read_once(tmp_path: Path, kind: str) -> None:
    file = "/dev/stdin"
    command = [sys.executable, "-m", "pypto", "run"]
    if kind == "named pipe":
        file = "program"
        os.mkfifo(tmp_path / file)
        writer = threading.Thread(target=(tmp_path / file).write_text, args=(STREAM,))
        writer.start()
    done = subprocess.run(
        [*command, file, "a"],
        input=STREAM,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    place = tmp_path / file  # as Python has it: from the root on
    assert done.stdout == f"__main__ {place} ['{file}', 'a']\n"
    assert done.stderr == (
        "Traceback (most recent call last):\n"
        f'  File "{place}", line 5, in <module>\n'
        "    f()\n"
        f'  File "{place}", line 4, in f\n'
        "    raise ValueError('no')\n"
        "ValueError: no\n"
    )
    assert done.returncode == 1


def test_a_kernel_from_a_pipe_finds_its_text(tmp_path: Path) -> None:
    text = (
        "import pypto\n"
        "@pypto.frontend.jit\n"
        "def main(x: pypto.Tensor((8,), pypto.DT_FP32), y: pypto.Tensor((8,), pypto.DT_FP32)):\n"
        "    y[:] = x + 1\n"
        "print(main.compile(target='source').error)\n"
    )
    command = [sys.executable, "-m", "pypto", "run", "/dev/stdin"]
    done = subprocess.run(command, input=text, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "None\n", "")


def test_a_pipe_that_holds_no_text(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pypto", "run", "/dev/stdin"]
    done = subprocess.run(command, input=b"x = '\xff'\n", cwd=tmp_path, capture_output=True)
    assert done.stderr.decode() == (
        "pypto run: ErrCode: F00005  byte 0xff is not UTF-8 text\n"
        "  --> /dev/stdin:1:6\n"
        "  1 | x = '\ufffd'\n"
        "    |      ^\n"
        "  help: save the file as UTF-8, or name its encoding in line 1: "
        "# -*- coding: latin-1 -*-\n"
    )
    assert done.returncode == 1


def test_a_program_that_changes_the_directory(tmp_path: Path) -> None:
    program = (
        "import os, sys, pypto, torch\n"
        "print(sys.argv[0], os.path.isabs(__file__))\n"
        "os.chdir('/')\n"
        "@pypto.frontend.jit\n"
        "def k(x: pypto.Tensor([8], pypto.DT_FP32), out: pypto.Tensor([8], pypto.DT_FP32)):\n"
        "    out[:] = x + 1\n"
        "out = torch.empty(8)\n"
        "k(torch.zeros(8), out)\n"
        "print(out.sum().item())\n"
    )
    (tmp_path / "program.py").write_text(program)
    (tmp_path / "below").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "pypto", "run", "../program.py", "--dump-dir", "texts"],
        cwd=tmp_path / "below",
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "../program.py True\n8.0\n"
    assert [path.name for path in (tmp_path / "below" / "texts").iterdir()] == ["k.cpp"]
