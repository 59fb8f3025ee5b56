"""Files that ``pypto compile`` and ``pypto run`` cannot read, and programs that end on import."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pypto.cli import files, main
from pypto.cli.run import USAGE

HINT = 'put what only a run should do under `if __name__ == "__main__":`'
NO_UTF8 = "save the file as UTF-8, or name its encoding in line 1: # -*- coding: latin-1 -*-"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with files that are none."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "good.py").write_text("X = 1\n")
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "circle.py").symlink_to("circle.py")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "dangling.py").symlink_to("nowhere.py")
    os.mkfifo(tmp_path / "pipe.py")
    return tmp_path


def _python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pypto", *arguments], cwd=folder, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("circle.py", "circle.py cannot be read: its symbolic links lead in a circle"),
        ("circle", "circle cannot be read: its symbolic links lead in a circle"),
        ("dangling.py", "dangling.py is a symbolic link to nowhere.py, which is not there"),
        ("good.py/k.py", "there is no file good.py/k.py: good.py is not a directory"),
        ("none/k.py", "there is no file none/k.py"),
        (f"{'n' * 300}.py", f"{'n' * 300}.py cannot be read: File name too long"),
    ],
)
def test_no_such_file(
    folder: Path, capsys: pytest.CaptureFixture[str], path: str, why: str
) -> None:
    assert main(["compile", path]) == 2
    assert capsys.readouterr() == ("", f"pypto compile: {why}\n")
    assert main(["run", path]) == 2
    assert capsys.readouterr() == ("", f"usage: {USAGE}\npypto run: {why}\n")


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("folder.py", "folder.py is a directory; name a file in it, or a module"),
        ("/dev/null", "/dev/null is a device, not a Python file"),
        ("pipe.py", "pipe.py is a pipe, not a Python file"),
    ],
)
def test_no_file(folder: Path, capsys: pytest.CaptureFixture[str], path: str, why: str) -> None:
    assert main(["compile", path]) == 2
    assert capsys.readouterr() == ("", f"pypto compile: {why}\n")


def test_what_python_runs_though_it_is_no_file(folder: Path) -> None:
    assert main(["run", "/dev/null"]) == 0
    (folder / "folder.py" / "__main__.py").write_text("raise SystemExit(3)\n")
    assert main(["run", "folder.py"]) == 3
    with zipfile.ZipFile(folder / "archive", "w") as archive:
        archive.writestr("__main__.py", "raise SystemExit(4)\n")
    assert main(["run", "archive"]) == 4


def test_a_directory_without_a_program(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "folder.py"]) == 2
    assert capsys.readouterr().err == (
        f"usage: {USAGE}\n"
        "pypto run: folder.py is a directory without a __main__.py; name a file in it\n"
    )


def test_a_file_closed_to_us(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str, mode: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(files, "open", refuse, raising=False)
    assert main(["compile", "good.py"]) == 2
    assert capsys.readouterr().err == "pypto compile: good.py cannot be read: Permission denied\n"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (
            b"x = 1\ny\0 = 2\n",
            "ErrCode: F00005  Python text cannot hold a NUL byte\n"
            "  --> text.py:2:2\n"
            "  1 | x = 1\n"
            "  2 | y  = 2\n"
            "    |  ^\n"
            "  help: save the file as text, UTF-8\n",
        ),
        (
            "x = 1".encode("utf-16"),
            "ErrCode: F00005  Python cannot read UTF-16 text\n"
            "  --> text.py:1:1\n"
            "  1 | x = 1\n"
            "    | ^\n"
            "  help: save the file as UTF-8\n",
        ),
        (
            b"x = 1\r\ny = '\xc3\xa4\xe4'\r\n",
            "ErrCode: F00005  byte 0xe4 is not UTF-8 text\n"
            "  --> text.py:2:7\n"
            "  1 | x = 1\n"
            "  2 | y = '\u00e4\ufffd'\n"
            "    |       ^\n"
            f"  help: {NO_UTF8}\n",
        ),
        (
            b"# coding: ascii\nx = '\xe4'\n",
            "ErrCode: F00005  byte 0xe4 is not ascii text\n"
            "  --> text.py:2:6\n"
            "  1 | # coding: ascii\n"
            "  2 | x = '\ufffd'\n"
            "    |      ^\n"
            f"  help: {NO_UTF8}\n",
        ),
    ],
)
def test_no_text(folder: Path, capsys: pytest.CaptureFixture[str], data: bytes, why: str) -> None:
    (folder / "text.py").write_bytes(data)
    for command, name in (("compile", "text.py"), ("compile", "text"), ("run", "text.py")):
        assert main([command, name]) == 1
        shown = capsys.readouterr().err.replace(f"{folder}/", "")
        assert shown == f"pypto {command}: {why}"


def test_text_in_another_encoding(folder: Path) -> None:
    (folder / "latin.py").write_bytes(b"# coding: latin-1\nraise SystemExit(len('\xe4') + 4)\n")
    assert main(["run", "latin.py"]) == 5


@pytest.mark.parametrize("place", ["stops.py", "stops"])
def test_an_interrupt_while_a_module_is_imported(folder: Path, place: str) -> None:
    (folder / "stops.py").write_text("def f():\n    raise KeyboardInterrupt\nf()\n")
    done = _python(folder, "compile", place)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
    done = _python(folder, "run", "stops.py")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize("place", ["ends.py", "ends"])
def test_a_module_that_ends_the_program(folder: Path, place: str) -> None:
    (folder / "ends.py").write_text("import sys\nsys.exit(3)\n")
    done = _python(folder, "compile", place)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "Traceback (most recent call last):\n"
        f'  File "{folder}/ends.py", line 2, in <module>\n'
        "    sys.exit(3)\n"
        "SystemExit: 3\n"
        f"pypto compile: {place} ended the program while it was imported; {HINT}\n"
    )
    assert _python(folder, "run", "ends.py").returncode == 3


def test_a_file_that_imports_from_its_package(folder: Path) -> None:
    (folder / "package").mkdir()
    (folder / "package" / "part.py").write_text("from . import other\n")
    done = _python(folder, "compile", "package/part.py")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "Traceback (most recent call last):\n"
        f'  File "{folder}/package/part.py", line 1, in <module>\n'
        "    from . import other\n"
        "ImportError: attempted relative import with no known parent package\n"
        "pypto compile: a file that imports from its package is compiled by its module's name: "
        "pypto compile package.part\n"
    )


def test_an_error_of_pypto_while_a_module_is_imported(folder: Path) -> None:
    """The line of the module is shown, and no line of pypto."""
    text = "import pypto\n\npypto.Tensor(3)\n"
    (folder / "importlib").mkdir()
    (folder / "importlib" / "fails.py").write_text(text)
    message = (
        "pypto.error.FeTypeError: ErrCode: F00001  the shape of a tensor annotation must be a list "
        "or tuple\n"
        "  expected  list or tuple of axes\n"
        "  got       3 (int)\n"
        "  help: write pypto.Tensor([3], ...)\n"
    )
    for command in ("compile", "run"):
        done = _python(folder, command, "importlib/fails.py")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == (
            "Traceback (most recent call last):\n"
            f'  File "{folder}/importlib/fails.py", line 3, in <module>\n'
            "    pypto.Tensor(3)\n" + message
        )


def test_a_package_that_cannot_be_imported(folder: Path) -> None:
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").write_text("import no_such_thing\n")
    (folder / "package" / "inside.py").write_text("")
    done = _python(folder, "compile", "package.inside")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "Traceback (most recent call last):\n"
        f'  File "{folder}/package/__init__.py", line 1, in <module>\n'
        "    import no_such_thing\n"
        "ModuleNotFoundError: No module named 'no_such_thing'\n"
    )


def test_a_working_directory_that_is_gone(folder: Path) -> None:
    command = 'mkdir gone && cd gone && rmdir ../gone && exec "$0" -m pypto compile good'
    done = subprocess.run(
        ["/bin/sh", "-c", command, sys.executable], cwd=folder, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (
        2,
        "pypto compile: the working directory was removed; change to another one\n",
    )
