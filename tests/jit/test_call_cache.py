"""The cache as a program meets it: new processes, edits, damage, many processes at once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from pypto.runtime.tools import PROCESS
from tests.jit.support import Modules, Place, X, entries, make_place, result, watch

KERNEL = """\
import pypto
import helpers

K = 701

@pypto.frontend.jit
def k(x: pypto.Tensor([8], pypto.DT_FP32), o: pypto.Tensor([8], pypto.DT_FP32)):
    o[:] = helpers.h(x) + K
"""
HELPERS = "def h(a):\n    return a * 2\n"

# Prints the result for x = 1 and, as JSON, what the call has loaded and done.
PROGRAM = """\
import json, os, sys, threading
import torch
watched = {"started": 0, "opened": [], "warm": []}
phase = "opened"
def hook(event, arguments):
    if event == "subprocess.Popen":
        watched["started"] += 1
    elif event == "open" and phase:
        watched[phase].append(str(arguments[0]))
import kernels
x, out = torch.ones(8), torch.empty(8)
sys.addaudithook(hook)
kernels.k(x, out)
phase = "warm"
def reads():
    with open("/proc/self/io") as file:
        return [line.split()[1] for line in file][2]
phase = None
before = reads()
between = reads()
phase = "warm"
for _ in range(1000):
    kernels.k(x, out)
phase = None
after = reads()
watched["calls"] = int(after) - int(between) - (int(between) - int(before))
watched["modules"] = [m for m in ("libcst", "jinja2", "subprocess", "pypto.compiler")
                      if m in sys.modules and m != "subprocess"]
print(out[0].item())
print(json.dumps(watched))
"""


def _write(place: Place, kernel: str = KERNEL, helpers: str = HELPERS) -> None:
    for name, text in (("kernels", kernel), ("helpers", helpers), ("program", PROGRAM)):
        path = place.path / f"{name}.py"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def _run(place: Place) -> tuple[float, dict[str, object]]:
    value, watched = place.run("-B", "program.py").splitlines()
    return float(value), json.loads(watched)


def test_a_warm_process_starts_and_loads_nothing(place: Place) -> None:
    """No program, no libcst, no Jinja2; a thousand warm calls open and read no file."""
    _write(place)
    value, watched = _run(place)
    assert (value, place.kernels) == (703.0, 1)
    assert watched["modules"] == ["libcst", "jinja2", "pypto.compiler"]
    starts = place.starts()
    value, watched = _run(place)
    assert (value, place.starts()) == (703.0, starts)
    assert (watched["started"], watched["modules"]) == (0, [])
    assert (watched["warm"], watched["calls"]) == ([], 0)
    own = str(place.cache)
    opened = [path for path in watched["opened"] if path.startswith(own)]  # type: ignore[attr-defined]
    rooms = sorted({Path(path).relative_to(own).parts[0] for path in opened})
    assert rooms == ["entries", "manifests", "memo", "tools"]


def test_edits_between_processes(place: Place) -> None:
    """An edit of what the kernel does compiles once; comments, layout and moves do not."""
    _write(place)
    assert (_run(place)[0], place.kernels) == (703.0, 1)
    moved = KERNEL.replace("K = 701\n", "# a comment\n\n\nK  =  701  # the same\n")
    moved = moved.replace("    o[:] =", "\n    # what follows is the sum\n    o[:]  =")
    _write(place, moved, "# nothing new\n" + HELPERS.replace("a * 2", "(a  *  2)  # twice"))
    assert (_run(place)[0], place.kernels) == (703.0, 1)
    _write(place, KERNEL.replace("K = 701", "K = 702"), HELPERS.replace("a * 2", "a * 3"))
    assert (_run(place)[0], place.kernels) == (705.0, 2)


DAMAGES: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("kernel.so", lambda data: data[:-1]),
    ("kernel.so", lambda data: data[:500] + bytes([data[500] ^ 1]) + data[501:]),
    ("kernel.so", lambda data: b""),
    ("meta.json", lambda data: data.replace(b"sha256", b"sha255", 1)),
    ("k.cpp", lambda data: data + b" "),
]


@pytest.mark.parametrize(("name", "damage"), DAMAGES)
def test_damaged_entries_are_built_again(
    modules: Modules, name: str, damage: Callable[[bytes], bytes]
) -> None:
    """A kernel that is loaded anew looks at its entry anew; one in use keeps its binary."""
    number = 710 + DAMAGES.index((name, damage))
    kernel = modules.kernel(f"o[:] = x + {number}")
    assert torch.equal(result(kernel), X + number)
    report = kernel.compile()
    path = Path(report.path, name)
    data = path.read_bytes()
    assert damage(data) != data
    path.unlink()  # the loaded library keeps its own file
    path.write_bytes(damage(data))
    with watch() as seen:
        assert torch.equal(result(kernel), X + number)
        assert seen.kernels == 0
        assert torch.equal(result(modules.load("m1").k), X + number)
    assert seen.kernels == 1
    assert path.exists()
    assert kernel.compile().state == "cached"


def test_a_damaged_manifest_costs_no_compilation(modules: Modules) -> None:
    kernel = modules.kernel("o[:] = x + 720")
    assert torch.equal(result(kernel), X + 720)
    key = kernel.compile().key
    cache = Path(PROCESS.lookup.store.write_root())
    rows = [row for row in cache.glob("manifests/*/*/*.json") if key in row.read_text()]
    assert len(rows) == 1
    rows[0].write_bytes(rows[0].read_bytes()[:-2])
    with watch() as seen:
        assert torch.equal(result(modules.load("m1").k), X + 720)
    assert seen.kernels == 0


THREADS = """\
import threading, torch, kernels
outs = [torch.empty(8) for _ in range(4)]
threads = [threading.Thread(target=kernels.k, args=(torch.ones(8), out)) for out in outs]
for thread in threads: thread.start()
for thread in threads: thread.join()
print([out[0].item() for out in outs])
"""


def test_many_processes_and_threads_compile_once(place: Place) -> None:
    _write(place)
    (place.path / "threads.py").write_text(THREADS)
    processes = [place.start("-B", "threads.py") for _ in range(3)]
    printed = [process.communicate(timeout=300) for process in processes]
    assert printed == [("[703.0, 703.0, 703.0, 703.0]\n", "")] * 3
    assert (place.kernels, len(entries(place.cache))) == (1, 1)


MISTAKE = """\
import torch, kernels
try:
    kernels.k(torch.ones(8), torch.empty(8))
except Exception as error:
    print(type(error).__name__)
"""


def test_nothing_is_compiled_for_a_kernel_with_a_mistake(tmp_path: Path) -> None:
    """Not even the tools that all kernels share: the compiler is only asked for its version."""
    place = make_place(tmp_path, None)
    _write(place, KERNEL.replace("+ K", "+ L"))
    (place.path / "mistake.py").write_text(MISTAKE)
    assert place.run("mistake.py") == "FeNameError\n"
    asked = place.log.read_text().split("\n")
    assert {line.split()[0] for line in asked if line} <= {
        "--version",
        "-dumpmachine",
        "-print-file-name=libmvec.so",
    }
    assert not list(place.cache.glob("tools/*/*"))


# --- the cost of an import ---


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import pypto", ("libcst", "jinja2", "numpy", "torch", "dataclasses", "inspect", "re")),
        (
            "import pypto\n@pypto.frontend.jit\ndef k(x: pypto.Tensor([8], pypto.DT_FP32)): pass",
            ("libcst", "jinja2", "numpy", "torch", "pypto.passes", "pypto.compiler", "subprocess"),
        ),
    ],
)
def test_what_an_import_and_a_decorator_load(code: str, absent: tuple[str, ...]) -> None:
    program = f"import sys\n{code}\nprint([m for m in {absent!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{program}"],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")
