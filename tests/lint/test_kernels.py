"""Kernels written by hand: nothing is found in right ones; comments switch rules off."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from pypto import target
from pypto.lint import check
from tests.lint.support import KERNELS, file, found, kernel, shown

COMPLETE = [*sorted(KERNELS.glob("*.cpp")), *sorted(Path(__file__).parent.glob("kernels/*.cpp"))]
CALLS = r"^.*(SetFlag|WaitFlag|AllocTensor|EnQue|DeQue|FreeTensor|InitBuffer)\b.*\n"


def test_there_are_kernels() -> None:
    assert len(COMPLETE) >= 6


@pytest.mark.parametrize("path", COMPLETE, ids=lambda path: path.stem)
def test_complete_kernels(path: Path) -> None:
    assert shown(path.read_text()) == ""


@pytest.mark.parametrize("path", COMPLETE, ids=lambda path: path.stem)
def test_kernels_without_one_call(path: Path) -> None:
    """A line with a call that must have its counterpart is left out, each in turn."""
    text = path.read_text()
    calls = list(re.finditer(CALLS, text, re.MULTILINE))
    assert len(calls) >= 8
    for call in calls:
        rules = found(text[: call.start()] + text[call.end() :])
        assert any(rule.startswith(("sync-", "buffer-")) for rule in rules), call[0]


def test_a_rule_is_switched_off_for_a_line() -> None:
    assert found(kernel("double d = 0;")) == ["double-arithmetic"]
    assert found(kernel("double d = 0;  // lint: off double-arithmetic")) == []
    assert found(kernel("// lint: off double-arithmetic\ndouble d = 0;")) == []
    assert found(kernel("// lint: off double-arithmetic\nfloat f = 0;\ndouble d = 0;")) == [
        "double-arithmetic"
    ]
    assert found(kernel("double d = 0;  // lint: off rtti, exception")) == ["double-arithmetic"]
    both = "static double d = 0;  // lint: off double-arithmetic, mutable-static"
    assert found(kernel(both)) == []


def test_a_rule_is_switched_off_for_a_text() -> None:
    text = kernel("double d = 0;\nthrow 1;")
    report = check(text, "example.cpp", target.get(), {"double-arithmetic"})
    assert [problem.rule for problem in report.problems] == ["exception"]


def test_the_python_line_is_named() -> None:
    text = kernel(
        "// add.py:7  out[:] = x + y\nAdd(b, a, a);\n// add.py:8  out[:] = x\nAdds(b, a);"
    )
    shown_ = shown(text).split("\n\n")
    assert "\n  python: add.py:7  out[:] = x + y\n" in shown_[0]
    assert "\n  python: add.py:8  out[:] = x\n" in shown_[1]


def test_an_unreadable_statement_hides_nothing_else() -> None:
    text = kernel("Relu(b, a, ;\nAdd(b, a);\nDuplicate(a, 0.0f, n);")
    assert found(text) == ["unreadable", "argument-count"]
    assert found(file("void f( {\n")) == ["unreadable"]
    assert found("") == []
    assert set(found('}\n{(\n"')) == {"unreadable"}


def test_it_is_fast() -> None:
    """Tests check every text they compile: 300 lines take some 40 ms, more on busy cores."""
    text = (KERNELS / "matmul_f16.cpp").read_text()
    best = min(_seconds(text) for _ in range(5))
    assert best * 300 / text.count("\n") < 0.1


def _seconds(text: str) -> float:
    begin = time.process_time()
    check(text, "example.cpp", target.get())
    return time.process_time() - begin
