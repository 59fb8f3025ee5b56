"""``pypto compile --shape`` and ``--value``: what is read, what is refused, what is missing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Literal, Optional

import pytest

import pypto
from pypto.cli import main, parameters

KERNELS = """\
import pypto

F = pypto.DT_FP32


@pypto.frontend.jit
def pick(
    x: pypto.Tensor([8], F),
    out: pypto.Tensor([8], F),
    up: bool,
    mode: str,
    n: int,
    p,
):
    y = x
    for _ in range(n):
        y = y + x
    out[:] = y * p if up else y


@pypto.frontend.jit
def power(x: pypto.Tensor([pypto.STATIC], F), o: pypto.Tensor([8], F), e: float):
    o[:] = x**e
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a file with kernels, in the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "pick_and_power", raising=False)
    (tmp_path / "pick_and_power.py").write_text(KERNELS)
    return "pick_and_power.py"


def _refused(file: str, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["compile", file, *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err.removeprefix("pypto compile: ").removesuffix("\n")


@pytest.mark.parametrize(
    ("text", "annotation", "value"),
    [
        ("true", bool, True),
        ("False", bool, False),
        ("4", int, 4),
        ("-0x10", int, -16),
        ("1e-3", float, 0.001),
        ("inf", float, float("inf")),
        ("a=b", str, "a=b"),
        ("None", str, "None"),
        ("None", str | None, None),
        ("3", Optional[int], 3),  # noqa: UP045
        ("DT_FP16", pypto.DataType, pypto.DT_FP16),
        ("pypto.DT_FP16", pypto.DataType, pypto.DT_FP16),
        ("(1, 2)", tuple, (1, 2)),
        ("true", Any, True),
        ("'text'", object, "text"),
        ("2.5", int | float, 2.5),
        ("[1]", [int], [1]),
        ("fast", Literal["fast", 2], "fast"),
        ("2", Literal["fast", 2] | None, 2),
    ],
)
def test_values(text: str, annotation: Any, value: object) -> None:
    read = parameters._parsed(text, annotation)
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "annotation", "expected"),
    [
        ("1", bool, "true or false"),
        ("4.0", int, "an int, such as 4"),
        ("", int, "an int, such as 4"),
        ("x", float, "a number, such as 0.5"),
        ("x", bool | None, "true or false, or None"),
        ("x", Literal["fast", 2], "one of fast, 2"),
        ("x", pypto.StatusType, f"one of {', '.join(pypto.StatusType.__members__)}"),
        ("x", Any, "a value as Python writes it: 4, 0.5, True, (1, 2), \"'text'\""),
    ],
)
def test_values_that_do_not_fit(text: str, annotation: Any, expected: str) -> None:
    with pytest.raises(ValueError) as caught:
        parameters._parsed(text, annotation)
    assert str(caught.value) == expected


def test_all_values_that_do_not_fit(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    values = ("--value", "up=3", "--value", "n=x", "--value", "p=abc", "--value", "e=")
    assert _refused(file, capsys, *values) == (
        "ErrCode: F00002  --value up=3 does not fit the parameter of pick()\n"
        "  expected  true or false\n"
        "  got       '3'\n"
        "  annotated at pick_and_power.py:10:9\n"
        "\n"
        "ErrCode: F00002  --value n=x does not fit the parameter of pick()\n"
        "  expected  an int, such as 4\n"
        "  got       'x'\n"
        "  annotated at pick_and_power.py:12:8\n"
        "\n"
        "ErrCode: F00002  --value p=abc does not fit the parameter of pick()\n"
        "  expected  a value as Python writes it: 4, 0.5, True, (1, 2), \"'text'\"\n"
        "  got       'abc'\n"
        "  defined at pick_and_power.py:13:5\n"
        "\n"
        "ErrCode: F00002  --value e= does not fit the parameter of power()\n"
        "  expected  a number, such as 0.5\n"
        "  got       ''\n"
        "  annotated at pick_and_power.py:22:75"
    )


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--value", "up"), "--value takes NAME=VALUE, got 'up'"),
        (("--value", "=4"), "--value takes NAME=VALUE, got '=4'"),
        (
            ("--shape", "q=3"),
            "--shape names q, which is a tensor parameter of no kernel here; there are o, out, x",
        ),
        (
            ("--value", "q=3"),
            "--value names q, which is a scalar parameter of no kernel here; "
            "there are e, mode, n, p, up",
        ),
        (
            ("--shape", "n=3"),
            "--shape names n, which is no tensor; give its value: --value n=...",
        ),
        (
            ("--value", "x=3"),
            "--value names x, which is a tensor; give its sizes: --shape x=...",
        ),
    ],
)
def test_names(
    file: str, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], why: str
) -> None:
    assert _refused(file, capsys, *arguments) == why


def test_all_that_is_missing(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With the options of the command line, not the arguments of ``compile``."""
    assert main(["compile", f"{file}:pick", "--target", "source"]) == 1
    assert capsys.readouterr().out == (
        "pick  failed  \n"
        "ErrCode: F00002  the value of 'up' is needed to compile without a call\n"
        "  --> pick_and_power.py:10:5\n"
        "   9 |     out: pypto.Tensor([8], F),\n"
        "  10 |     up: bool,\n"
        "     |     ^^^^^^^^\n"
        "  help: name it: --value up=true, or give it a default\n"
        "\n"
        "ErrCode: F00002  the value of 'mode' is needed to compile without a call\n"
        "  --> pick_and_power.py:11:5\n"
        "  10 |     up: bool,\n"
        "  11 |     mode: str,\n"
        "     |     ^^^^^^^^^\n"
        "  help: name it: --value mode=text, or give it a default\n"
        "\n"
        "ErrCode: F00002  the value of 'p', which has no annotation, is needed to compile without "
        "a call\n"
        "  --> pick_and_power.py:13:5\n"
        "  12 |     n: int,\n"
        "  13 |     p,\n"
        "     |     ^\n"
        "  help: name it: --value p=VALUE, or give it a default; annotate it with "
        "pypto.Tensor(shape, dtype) if it is a tensor\n"
        "1 kernel: 0 compiled, 0 cached, 1 failed\n"
    )


def test_sizes_and_values_that_the_kernel_turns_out_to_need(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compile", f"{file}:power", "--target", "source"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "ErrCode: F00002  the annotation of 'x' leaves a static size open"
    assert lines[-2] == (
        "  help: give its sizes: --shape x=8, write the size as a number, or call the kernel with "
        "tensors"
    )
    assert main(["compile", f"{file}:power", "--target", "source", "--shape", "x=8"]) == 1
    assert capsys.readouterr().out == (
        "power  failed  \n"
        "ErrCode: F00001  pow: 'other' needs the value of 'e' at compile time\n"
        "  --> pick_and_power.py:23:15\n"
        "  22 | def power(x: pypto.Tensor([pypto.STATIC], F), o: pypto.Tensor([8], F), e: float):\n"
        "  23 |     o[:] = x**e\n"
        "     |               ^\n"
        "  help: name it: --value e=0.5, or give it a default\n"
        "1 kernel: 0 compiled, 0 cached, 1 failed\n"
    )


def test_values_reach_the_kernels_that_have_them(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    values = ("up=true", "mode=fast", "n=2", "p=1.5", "e=3")
    options = [word for value in values for word in ("--value", value)]
    arguments = ["compile", file, "--target", "source", "--shape", "x=8", *options]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[-1] == "2 kernels: 2 compiled, 0 cached, 0 failed"
    assert Path("pick.cpp").exists() and Path("power.cpp").exists()
