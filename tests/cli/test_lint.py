"""``pypto lint``: what is printed, and the exit codes."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from pypto.cli import main
from pypto.lint import RULES

SOUND = """\
#include "kernel_operator.h"
extern "C" __global__ __vector__ void empty(GM_ADDR x) {}
"""
BROKEN = """\
#include "kernel_operator.h"
extern "C" __global__ __vector__ void broken(GM_ADDR x)
{
    AscendC::SyncAll<true>();
    double d = 0;
}
"""
FOUND = """\
sync-all-kind: SyncAll in kernel 'broken', which is __vector__
  --> {name}:4:5
  3 | {{
  4 |     AscendC::SyncAll<true>();
    |     ^^^^^^^^^^^^^^^^^^^^^^^^
  help: mark the kernel __mix__(0, 1): then its cores can wait for one another

double-arithmetic: 'd' is a double
  --> {name}:5:5
  4 |     AscendC::SyncAll<true>();
  5 |     double d = 0;
    |     ^^^^^^
  help: compute in float: 0.5f, not 0.5

"""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sound.cpp").write_text(SOUND)
    Path("broken.cpp").write_text(BROKEN)


def test_nothing_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "sound.cpp"]) == 0
    assert capsys.readouterr().out == "nothing found in 1 file\n"


def test_findings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "sound.cpp", "broken.cpp"]) == 1
    expected = FOUND.format(name="broken.cpp") + "2 problems in 2 files\n"
    assert capsys.readouterr().out == expected


def test_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(BROKEN.encode())))
    assert main(["lint", "-"]) == 1
    assert capsys.readouterr().out == FOUND.format(name="<stdin>") + "2 problems in 1 file\n"


def test_disabled_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "broken.cpp", "--disable", "sync-all-kind,double-arithmetic"]) == 0
    assert main(["lint", "broken.cpp", "--disable", "sync-all-kind"]) == 1
    assert capsys.readouterr().out.endswith("\n\n1 problem in 1 file\n")


def test_the_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "--rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == list(RULES)
    text = " ".join(" ".join(lines).split())
    assert all(" ".join(f"{r.id} {r.what} {r.why}".split()) in text for r in RULES.values())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "pypto lint: name a file, or - for standard input\n"),
        (["none.cpp"], "pypto lint: there is no file none.cpp\n"),
        (["."], "pypto lint: . is a directory\n"),
        (["latin.cpp"], "pypto lint: latin.cpp is no UTF-8 text: byte 0xe9 at offset 3\n"),
        (
            ["sound.cpp", "--disable", "buffer-sizes"],
            "pypto lint: there is no rule 'buffer-sizes': did you mean 'buffer-size'?\n",
        ),
        (
            ["sound.cpp", "--disable", "xyz"],
            "pypto lint: there is no rule 'xyz': --rules lists them\n",
        ),
    ],
)
def test_wrong_usage(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("latin.cpp").write_bytes(b"// \xe9\n")
    assert main(["lint", *arguments]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", message)


def test_unknown_target(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "sound.cpp", "--target", "ascend910c"]) == 2
    assert "soc_version 'ascend910c' is not a chip" in capsys.readouterr().err


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
def test_ends_of_lines_and_a_mark_in_front(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], end: str
) -> None:
    text = '#include "kernel_operator.h"\nint f() { return malloc(3); }\n'
    (tmp_path / "k.cpp").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", end).encode())
    assert main(["lint", str(tmp_path / "k.cpp")]) == 1
    shown = capsys.readouterr().out
    assert "k.cpp:2:" in shown and "malloc" in shown
