"""What compares programs sees differences, refusals and faults; shortening keeps them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from pypto.error import Diagnostic, PyptoGeneralError, SourceText, Span
from tests.differential import compare
from tests.differential.compare import Report, check_compiled, check_front_end
from tests.differential.program import HEADER, Parameter, Program
from tests.differential.reduce import reduced

PARAMETERS = (
    Parameter("x", ("n", 4), "DT_FP32"),
    Parameter("o", ("n", 4), "DT_FP32"),
    Parameter("s", kind="int"),
)


def program(*lines: str, name: str = "k") -> Program:
    head = ", ".join(p.annotated(False) for p in PARAMETERS)
    text = "".join(f"    {line}\n" for line in lines)
    return Program(name, f"{HEADER}def {name}({head}):\n{text}", PARAMETERS)


GOOD = program("t = x * s", "o[:] = o + t")
REFUSED = program("o[:] = x + q")


def other_meaning(monkeypatch: pytest.MonkeyPatch, change: Callable[[torch.Tensor], Any]) -> None:
    """Torch's results for output ``o`` are changed behind each call."""
    real = compare.expected

    def expected(program: Program, values: Sequence[Any]) -> list[Any] | None:
        want = real(program, values)
        assert want is not None
        change(want[1])
        return want

    monkeypatch.setattr(compare, "expected", expected)


def test_agreement() -> None:
    report = Report()
    check_front_end(GOOD, report)
    assert (report.programs, report.calls, report.wrong) == (1, 4, [])


def test_one_element_that_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    other_meaning(monkeypatch, lambda o: o.view(-1)[-1:].add_(1))
    report = Report()
    check_front_end(GOOD, report)
    (told,) = report.wrong
    assert told.startswith("o[4, 3] is ") and "1 of 20 elements differ" in told
    assert "called with [[5, 4], [5, 4], 2]" in told and "store o[:]" in told


def test_values_that_are_no_numbers_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    report = Report()
    check_front_end(program("o[:] = x * float('nan')"), report)
    assert not report.wrong
    other_meaning(monkeypatch, lambda o: o.fill_(float("nan")))
    check_front_end(GOOD, report)
    assert len(report.wrong) == 1


def test_refusals_are_counted() -> None:
    report = Report()
    check_front_end(REFUSED, report)
    assert report.refused.total() == 1 and not report.calls
    assert "name 'q'" in next(iter(report.refused))
    assert "1 programs, 1 refused" in str(report)


def test_what_a_verifier_finds_is_no_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Span(SourceText("k", "k.py", 1, ("def k(): ...",)), 1, 0, 1, 1)

    def defect(*_: object) -> None:
        raise PyptoGeneralError([Diagnostic(PyptoGeneralError, "F0FFFF", "Tensor IR: bad", place)])

    monkeypatch.setattr(compare, "verify_tensor", defect)
    report = Report()
    check_front_end(GOOD, report)
    assert report.wrong[0].startswith("PyptoGeneralError: Tensor IR: bad") and not report.refused


def test_programs_without_a_defined_result_are_left_out() -> None:
    report = Report()
    lines = ["t = pypto.cast(x * 1e30, pypto.DT_INT32)", "o[:] = pypto.cast(t, pypto.DT_FP32)"]
    check_front_end(program(*lines), report)
    assert not report.wrong and report.calls < 4


def test_compiled_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [program("o[:] = x * 2", "x[:] = o", name=f"k{n}") for n in range(2)]
    report = Report()
    check_compiled([*names, REFUSED], report)
    assert (report.programs, report.calls, report.wrong) == (3, 16, [])
    assert report.refused.total() == 1
    other_meaning(monkeypatch, lambda o: o.view(-1)[:1].add_(1))
    report = Report()
    check_compiled(names, report)
    assert len(report.wrong) == 2 and report.wrong[0].startswith("o[0, 0] is ")


def test_shortening() -> None:
    long = program(
        "c = 3",
        "for i in pypto.loop(3):",
        "    if i > 1:",
        "        o[:] = x + 1",
        "    x[:] = pypto.relu(o + x) + c",
        "o[:] = o + 1",
    )
    short = reduced(long, lambda candidate: "relu(" in candidate.text)
    lines = short.text.splitlines()[len(HEADER.splitlines()) + 1 :]
    assert lines == ["    x = pypto.relu(o)"]
