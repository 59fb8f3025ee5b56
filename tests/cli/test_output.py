"""Where the command writes: terminals of no width, and files that take no more."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pypto.cli import main


@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize(
    "command",
    ["cache list", "cache info", "cache verify", "doctor", "--help", "run --help", "--version"],
)
def test_a_full_disk_is_one_line(command: str, buffered: bool) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, *(() if buffered else ("-u",)), "-m", "pypto", *command.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.stderr == "pypto: the output cannot be written: No space left on device\n"
    assert done.returncode == 1


def test_a_reader_that_has_gone() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "pypto", "cache", "info"], stdout=writer, stderr=subprocess.PIPE
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


def test_no_width(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "0")
    main(["doctor"])
    assert "compiler" in capsys.readouterr().out
