"""The checked twin on queues, flags, cores, caches and global memory: whole reports."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from pypto.runtime.findings import diagnostics, read_findings

from .harness import Harness, Kernel
from .protocol_kernels import CACHES, CASES, CORES, FLAGS, QUEUES, RACES, Case, text

Kernels = dict[str, Kernel]
_TEXT = text()


@pytest.fixture(scope="module")
def kernels(twin: Harness) -> Kernels:
    return twin.compile(text(), list(CASES), build="checked")


def report(kernel: Kernel, case: Case, source: str) -> str:
    """What is told of one run; the kernel itself ends the process, should it fail to stop."""
    x, memory = np.arange(4096, dtype=np.float32), np.zeros(4096 + 128, dtype=np.float32)
    first = -memory.ctypes.data % 512 // 4  # as tensors of the device lie
    kernel(x, memory[first : first + 4096], blocks=case.blocks, kind=case.kind)
    found = read_findings(kernel.library, str(kernel.path), "text")
    return "\n\n".join(one.render() for one in diagnostics(kernel.name, found, source, "text"))


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("good")])
def test_lawful(kernels: Kernels, name: str) -> None:
    assert report(kernels[name], CASES[name], _TEXT) == ""


@pytest.mark.parametrize(
    ("group", "cases"),
    [
        ("queues", QUEUES),
        ("flags", FLAGS),
        ("cores", CORES),
        ("races", RACES),
        ("caches", CACHES),
    ],
)
def test_reports(
    kernels: Kernels, golden: Callable[[str, str], None], group: str, cases: dict[str, Case]
) -> None:
    told = {
        n: report(kernels[n], case, _TEXT) for n, case in cases.items() if not n.startswith("good")
    }
    assert all(told.values()), [name for name, report in told.items() if not report]
    golden(f"checked/{group}", "\n\n".join(told.values()))


def told(kernel: Kernel, *arguments: object) -> list[str]:
    kernel(*arguments)
    return [
        f"{one.message} ({one.memory})"
        for one in read_findings(kernel.library, str(kernel.path), "text")
    ]


def test_around_a_part_of_an_allocation(kernels: Kernels) -> None:
    memory = np.arange(8192, dtype=np.float32)
    part, y = memory[24 : 24 + 4096], np.zeros(4096, dtype=np.float32)
    assert told(kernels["good_queue"], part, y) == []
    assert np.array_equal(y[:1024], part[:1024] + 1)
    outside = "reads GM outside of x (x: bytes 16384 to 17408 of 16384)"
    assert told(kernels["past_x"], part, y) == [outside]
    outside = "writes GM outside of y (y: bytes -32 to 992 of 16384)"
    assert told(kernels["before_y"], y, part) == [outside]


def test_arguments_that_share_memory(kernels: Kernels) -> None:
    memory = np.arange(8192, dtype=np.float32)
    assert told(kernels["good_queue"], memory, memory) == []
    assert np.array_equal(memory[:1024], np.arange(1024, dtype=np.float32) + 1)
    x, y = memory[1024:4096], memory[:2048]
    assert told(kernels["good_queue"], x, y) == []
    assert np.array_equal(y[:1024], x[:1024] + 1)
    outside = "reads GM outside of x (x: bytes 16384 to 17408 of 12288)"
    assert told(kernels["past_x"], x, memory[: 16 * 256]) == [outside]


def test_empty_arguments(kernels: Kernels) -> None:
    x, nothing = np.arange(1024, dtype=np.float32), np.zeros(0, dtype=np.float32)
    found = told(kernels["good_queue"], x, nothing)
    assert found == ["writes GM outside of y (y: bytes 0 to 1024 of 0)"]
    assert told(kernels["good_flags"], nothing, nothing) == []


def test_reports_do_not_depend_on_threads(twin: Harness, kernels: Kernels) -> None:
    for name in ("no_barrier", "same_tile", "update", "one_syncs_more"):
        case = CASES[name]
        alone = report(twin.with_workers(kernels, 1)[name], case, _TEXT)
        assert [report(kernels[name], case, _TEXT) for _ in range(5)] == [alone] * 5
