# ruff: noqa: E501 (lines of the C++ texts)
"""The checked build survives what scalar code does: faults and loops without end become findings."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from pypto.runtime.findings import diagnostics, read_findings

from .harness import MIX_0_1, VECTOR, Harness, Kernel

_HEAD = """
using namespace AscendC;
struct Node { Node* next; int32_t value; };
__aicore__ int32_t deep(volatile int32_t* n) { volatile int32_t room[64]; room[*n & 63] = *n; return *n == 0 ? 0 : (*n += 1, deep(n) + room[1]); }
#define KERNEL(name, kind) extern "C" __global__ kind void name(GM_ADDR x, GM_ADDR y, int32_t n)
#define BEGIN                                                                                  \\
    TPipe pipe; TBuf<TPosition::VECCALC> buf; pipe.InitBuffer(buf, 1024);                      \\
    LocalTensor<float> a = buf.Get<float>(); (void)a;                                          \\
    __gm__ int32_t* const out = reinterpret_cast<__gm__ int32_t*>(y);                          \\
    const int32_t me = static_cast<int32_t>(GetBlockIdx()); (void)out, (void)me;
"""

# Statements of a kernel that is called with n = 0, and what is found: rule, a part of the message,
# the line of the statement that is at fault.
_FAULTS = {
    "divide": ("const int32_t m = 12;\nWriteGmByPassDCache(out, m / n);", "scalar-division", "divides an integer by 0", "m / n"),
    "modulo": ("int64_t m = 12 + n;\nWriteGmByPassDCache(out, int32_t(m % n));", "scalar-division", "divides an integer by 0", "m % n"),
    "lowest": ("volatile int32_t m = INT32_MIN;\nWriteGmByPassDCache(out, m / (n - 1));", "scalar-division", "the lowest one by -1", "m / (n - 1)"),
    "null": ("__gm__ volatile int32_t* p = reinterpret_cast<__gm__ int32_t*>(uint64_t(n));\nWriteGmByPassDCache(out, p[4]);", "scalar-memory", "null pointer", "p[4]"),
    "null_write": ("__gm__ volatile int32_t* p = reinterpret_cast<__gm__ int32_t*>(uint64_t(n));\np[0] = 3;", "scalar-memory", "null pointer", "p[0] = 3"),
    "wild": ("__gm__ volatile int32_t* p = reinterpret_cast<__gm__ int32_t*>(uint64_t(1) << 44);\nWriteGmByPassDCache(out, p[n]);", "scalar-memory", "memory that does not exist", "p[n]"),
    "no_address": ("__gm__ volatile int32_t* p = reinterpret_cast<__gm__ int32_t*>(uint64_t(1) << 63);\nWriteGmByPassDCache(out, p[n]);", "scalar-memory", "memory that does not exist", "p[n]"),
    "far": ("__gm__ volatile uint8_t* p = x;\nout[0] = p[uint64_t(1 + n) << 45];", "scalar-memory", "memory that does not exist", "out[0] = p["),
    "in_a_copy": ("uint8_t there[4096];\n__builtin_memcpy(there, reinterpret_cast<void*>(uint64_t(n) + 64), 4096 + n);\nout[0] = there[n + 5];", "scalar-memory", "null pointer", "__builtin_memcpy"),
    "recursion": ("volatile int32_t m = n + 1;\nout[0] = deep(&m);", "scalar-stack", "more stack", None),
    "trap": ("if (n == 0) {\n__builtin_trap();\n}", "scalar-trap", "unreachable", "__builtin_trap"),
}  # fmt: skip

# The same, where it does not happen.
_LAWFUL = {
    "divided": "const int32_t m = 12; WriteGmByPassDCache(out, m / (n + 5));",
    "pointer": "__gm__ volatile int32_t* p = out; p[1] = p[0] + 2;",
    "depth": "volatile int32_t m = 0; WriteGmByPassDCache(out, deep(&m) + 2);",
    "lengthy": "volatile int32_t m = 0; for (int32_t i = 0; i < 1000000; ++i) { m = m + 1; } WriteGmByPassDCache(out, m);",
}

# Loops without end, and a part of the line where they are.
_LOOPS = {
    "scalar_loop": ("volatile int32_t m = n;\nwhile (m == 0) {\nm = m * 1;\n}", ("while (m", "m = m * 1")),
    "spin": ("if (me == 0) {\nwhile (ReadGmByPassDCache(out + 1) == 0) {\n}\n}", ("while (ReadGm",)),
    "spin_cached": ("GlobalTensor<int32_t> g; g.SetGlobalBuffer(out);\nwhile (g.GetValue(8) == 0) {\n}", ("while (g.GetValue",)),
    "vectors": ("for (volatile int32_t m = n; m == 0;) {\nDuplicate(a, 1.0f, 256); PipeBarrier<PIPE_V>();\n}", ("Duplicate", "for (volatile")),
}  # fmt: skip


def _text() -> str:
    cases = {n: c[0] for n, c in {**_FAULTS, **_LOOPS}.items()} | _LAWFUL
    return _HEAD + "".join(
        f"KERNEL({name}, __vector__)\n{{\nBEGIN\nPipeBarrier<PIPE_V>();\n{body}\n}}\n"
        for name, body in cases.items()
    ) + _MEETING  # fmt: skip


_MEETING = """
KERNEL(meeting, __mix__(0, 1))
{
    BEGIN
    SyncAll();
    if (me == 1) {
        WriteGmByPassDCache(out + 16 * me, 12 / n);
    }
    SyncAll();
    WriteGmByPassDCache(out + 16 * me, me + 7);
}
"""


@pytest.fixture(scope="module")
def kernels(twin: Harness) -> dict[str, Kernel]:
    return twin.compile(_text(), [*_FAULTS, *_LAWFUL, *_LOOPS, "meeting"], build="checked")


@pytest.fixture
def hurried(
    twin: Harness, kernels: dict[str, Kernel], monkeypatch: pytest.MonkeyPatch
) -> dict[str, Kernel]:
    """The kernels with a short limit of time."""
    monkeypatch.setenv("PYPTO_TWIN_TIMEOUT", "0.05")
    return Harness(twin.root).with_workers(kernels, 2)


def run(kernel: Kernel, blocks: int = 1, kind: int = VECTOR) -> np.ndarray:
    x, y = np.arange(64, dtype=np.int32), np.zeros(64, dtype=np.int32)
    kernel(x, y, ctypes.c_int32(0), blocks=blocks, kind=kind)
    return y


def told(kernel: Kernel) -> list[str]:
    found = read_findings(kernel.library, str(kernel.path), "text")
    return [one.render() for one in diagnostics(kernel.name, found, _text(), "text")]


@pytest.mark.parametrize("name", _FAULTS)
def test_faults(kernels: dict[str, Kernel], name: str) -> None:
    _, rule, message, line = _FAULTS[name]
    before = [signal.getsignal(number) for number in (signal.SIGSEGV, signal.SIGFPE)]
    for _ in range(2):
        run(kernels[name])
        (report,) = told(kernels[name])
        assert f"[{rule}]" in report and message in report and "core 0" in report, report
        assert "help: " in report
        if line is not None:
            assert line in report.splitlines()[1], report
            assert "and       text:" in report, report  # the instruction before
    assert [signal.getsignal(number) for number in (signal.SIGSEGV, signal.SIGFPE)] == before


@pytest.mark.parametrize("name", _LAWFUL)
def test_lawful(kernels: dict[str, Kernel], name: str) -> None:
    assert run(kernels[name])[:2].any()
    assert told(kernels[name]) == []


def test_other_cores_go_on(kernels: dict[str, Kernel]) -> None:
    run(kernels["divide"], blocks=3)
    (report,) = told(kernels["divide"])
    assert "core 0; also on cores 1-2" in report
    y = run(kernels["meeting"], blocks=3, kind=MIX_0_1)
    (report,) = told(kernels["meeting"])
    assert "[scalar-division]" in report and "\n  core 1\n" in report + "\n", report
    assert not y.any()  # they wait for the one that has ended, which is not told


@pytest.mark.parametrize("name", _LOOPS)
def test_loops_without_end(hurried: dict[str, Kernel], name: str) -> None:
    run(hurried[name], blocks=4)
    (report,) = told(hurried[name])
    assert "[timeout]" in report and "PYPTO_TWIN_TIMEOUT" in report
    assert any(
        line in report.splitlines()[1] + report.splitlines()[2] for line in _LOOPS[name][1]
    ), report
    assert "core 0" in report and "also on" not in report  # the launch has ended
    assert run(hurried["divided"])[0] == 2  # the thread is as before
    assert told(hurried["divided"]) == []


def test_threads_at_once(kernels: dict[str, Kernel]) -> None:
    reports: list[str] = []

    def work(name: str) -> None:
        for _ in range(40):
            run(kernels[name])
            reports.extend(told(kernels[name]))

    threads = [threading.Thread(target=work, args=(n,)) for n in ("divide", "null", "divided")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(reports) == 80
    assert sum("[scalar-memory]" in report for report in reports) == 40


def test_faulthandler_works_afterwards(twin: Harness, kernels: dict[str, Kernel]) -> None:
    code = (
        "import ctypes, faulthandler, sys, pathlib\n"
        "sys.path.insert(0, sys.argv[3])\n"
        "import numpy as np\n"
        "from tests.twin.harness import Harness, Kernel\n"
        "faulthandler.enable()\n"
        "twin = Harness(pathlib.Path(sys.argv[1]))\n"
        "library = ctypes.CDLL(sys.argv[2])\n"
        "kernel = Kernel('null', library['null_launch'], twin.runtime(), library, sys.argv[2], ('x', 'y'))\n"
        "x = np.zeros(64, np.int32)\n"
        "kernel(x, x.copy(), ctypes.c_int32(0))\n"
        "print(len(kernel.report()), flush=True)\n"
        "assert faulthandler.is_enabled()\n"
        "ctypes.string_at(0)\n"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code, str(twin.root), str(kernels["null"].path), str(root)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "1\n", done.stderr
    assert done.returncode == -signal.SIGSEGV
    assert "Fatal Python error: Segmentation fault" in done.stderr
    assert "string_at" in done.stderr


def test_signals_from_outside_go_where_they_went(hurried: dict[str, Kernel]) -> None:
    """A signal that somebody sends is no fault of the kernel."""
    seen: list[int] = []
    before = signal.signal(signal.SIGURG, lambda number, frame: seen.append(number))
    try:
        sender = threading.Timer(0.1, lambda: signal.raise_signal(signal.SIGURG))
        sender.start()
        run(hurried["vectors"])
        sender.join()
    finally:
        signal.signal(signal.SIGURG, before)
    assert len(told(hurried["vectors"])) == 1
    assert seen == [signal.SIGURG]
