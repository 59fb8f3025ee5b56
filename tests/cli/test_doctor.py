"""``pypto doctor`` and what is missing for an NPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from pypto.build.environment import environment
from pypto.cli import doctor, main


def test_healthy_machine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    for subject in ("pypto", "cache", "compiler", "tools", "torch"):
        assert f"ok      {subject}" in printed
    assert "problem" not in printed
    assert printed.splitlines()[-1].startswith("Kernels compile and run on this CPU.")


def test_missing_compiler_comes_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    environment.cache_clear()
    try:
        assert main(["doctor"]) == 1
    finally:
        environment.cache_clear()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("problem compiler")
    assert "No C++ compiler found" in lines[0]
    assert lines[-1] == "2 problems, the first one on top"


def test_a_compiler_without_a_version(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CXX", "/bin/sh -c true")
    environment.cache_clear()
    try:
        assert main(["doctor"]) == 1
    finally:
        environment.cache_clear()
    first = capsys.readouterr().out.splitlines()[0]
    assert first == (
        "problem compiler  ErrCode: F63001  The C++ compiler /bin/sh does not work: "
        "its version cannot be read"
    )


def test_one_failing_check_leaves_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> str:
        raise IndexError("list index out of range")

    for check in ("_cache", "_torch", "_cann"):
        monkeypatch.setattr(doctor, check, fail)
    assert main(["doctor"]) == 1
    printed = capsys.readouterr().out
    for subject in ("cache", "torch", "CANN"):
        assert (
            f"problem {subject:10}this check failed: IndexError: list index out of range\n"
            "                  this is a bug of pypto: please report it\n"
        ) in printed
    assert "ok      compiler" in printed


def test_nothing_for_an_npu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASCEND_HOME_PATH", raising=False)
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    monkeypatch.setattr(doctor, "_version", lambda name: None)
    first, second, third = doctor.cann_problems()
    assert first == "CANN is not set up: ASCEND_HOME_PATH is not set"
    assert second == "the compiler bisheng is neither in CANN nor on PATH"
    assert third.startswith("torch_npu is not installed for ")


def test_cann_directory_that_is_gone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    monkeypatch.setenv("ASCEND_HOME_PATH", str(gone))
    assert f"ASCEND_HOME_PATH names {gone}, which is not a directory" in doctor.cann_problems()


def test_complete_set_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    compiler = tmp_path / "bin" / "bisheng"
    compiler.parent.mkdir()
    compiler.touch(mode=0o755)
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tmp_path))
    monkeypatch.setattr(doctor, "_version", lambda name: "2.6.0")
    assert doctor.cann_problems() == []
