"""The checked twin on tensors and the memory that they are of, and on lines of global memory: whole
reports."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .harness import Harness
from .memory_kernels import BESIDE, BUFFERS, CASES, LINES
from .protocol_kernels import Case, text
from .test_checked_protocol import Kernels, report

_TEXT = text(CASES, BESIDE)


@pytest.fixture(scope="module")
def kernels(twin: Harness) -> Kernels:
    return twin.compile(_TEXT, list(CASES), build="checked")


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("good")])
def test_lawful(kernels: Kernels, name: str) -> None:
    assert report(kernels[name], CASES[name], _TEXT) == ""


@pytest.mark.parametrize(("group", "cases"), [("lines", LINES), ("buffers", BUFFERS)])
def test_reports(
    kernels: Kernels, golden: Callable[[str, str], None], group: str, cases: dict[str, Case]
) -> None:
    wrong = {name: case for name, case in cases.items() if not name.startswith("good")}
    told = {name: report(kernels[name], case, _TEXT) for name, case in wrong.items()}
    assert all(told.values()), [name for name, report in told.items() if not report]
    golden(f"checked/{group}", "\n\n".join(told.values()))
