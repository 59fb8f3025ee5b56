"""``kernel.compile()`` and ``pypto compile`` against the calls that follow."""

from __future__ import annotations

from pathlib import Path

import torch

import pypto
from pypto.build import inspect
from pypto.runtime.tools import PROCESS
from tests.jit.support import Modules, Place, X, entries, result, watch


def test_a_call_finds_what_was_compiled(modules: Modules) -> None:
    made = modules.make("""
        N = 801

        @jit
        def fixed(x: T([8], FP32), o: T([8], FP32)):
            o[:] = x + N

        @jit
        def rows(x: T([pypto.DYNAMIC, 8], FP32), o: T([pypto.DYNAMIC, 8], FP32), n: int, f: float):
            o[:] = x * f + n

        @jit
        def chosen(x: T([8], FP32), o: T([8], FP32), up: bool = True):
            o[:] = x + N if up else x - N
    """)
    before = entries()
    reports = [kernel.compile() for kernel in (made.fixed, made.rows, made.chosen)]
    assert [(report.kernel, report.state) for report in reports] == [
        ("fixed", "compiled"),
        ("rows", "compiled"),
        ("chosen", "compiled"),
    ]
    assert entries() - before == {report.key for report in reports}
    x, out = torch.ones(3, 8), torch.empty(3, 8)
    with watch() as seen:
        assert torch.equal(result(made.fixed), X + 801)
        made.rows(x, out, 5, 0.5)
        assert torch.equal(out, torch.full((3, 8), 5.5))
        assert torch.equal(result(made.chosen), X + 801)
    assert seen.kernels == 0
    assert [k.compile().state for k in (made.fixed, made.rows, made.chosen)] == ["cached"] * 3


def test_sizes_and_values_that_the_annotations_leave_open(modules: Modules) -> None:
    made = modules.make("""
        @jit
        def k(x: T([pypto.STATIC, 8], FP32), o: T([pypto.STATIC, 8], FP32), n: int):
            y = x + 802
            for _ in range(n):
                y = y + x
            o[:] = y
    """)
    missing = made.k.compile()
    assert (missing.state, missing.key) == ("failed", "")
    assert isinstance(missing.error, pypto.PyptoError)
    report = made.k.compile(shapes={"x": (2, 8), "o": (2, 8)}, values={"n": 2})
    assert (report.state, report.error) == ("compiled", None)
    x, out = torch.ones(2, 8), torch.empty(2, 8)
    with watch() as seen:
        made.k(x, out, 2)
        assert torch.equal(out, torch.full((2, 8), 805.0))
    assert seen.kernels == 0
    unknown = made.k.compile(shapes={"y": (2, 8)}, values={"n": 2})
    assert unknown.state == "failed"


def test_a_value_that_no_call_could_give(modules: Modules) -> None:
    made = modules.make("""
        @jit
        def k(x: T([8], FP32), o: T([8], FP32), up: bool, mode: str, n: int):
            o[:] = x + n if up else x - n
    """)
    with watch() as seen:
        report = made.k.compile(values={"up": 1, "mode": None, "n": "3"})
    assert (report.state, seen.kernels) == ("failed", 0)
    assert [d.message for d in report.error.diagnostics] == [
        "argument 'up' is no bool",
        "argument 'mode' is no string",
        "argument 'n' is no integer",
    ]


def test_text_for_a_chip(modules: Modules) -> None:
    kernel = modules.kernel("o[:] = x + 803")
    with watch() as seen:
        report = kernel.compile(target="source", arch="ascend910_93", directory="made")
    assert report.state == "compiled"
    assert seen.commands == []
    assert "ascend910_93" in Path(report.path).read_text()
    assert Path(report.path) == Path("made", "k.cpp")


def test_a_report_holds_the_error(modules: Modules) -> None:
    report = modules.kernel("o[:] = x + missing").compile()
    assert (report.kernel, report.key, report.state, report.path) == ("k", "", "failed", "")
    assert isinstance(report.error, pypto.error.FeNameError)


KERNELS = """\
import pypto
T, FP32, D = pypto.Tensor, pypto.DT_FP32, pypto.DYNAMIC

@pypto.frontend.jit
def first(x: T([D, 8], FP32), o: T([D, 8], FP32)):
    o[:] = x + 804

@pypto.frontend.jit
def second(x: T([pypto.STATIC, 8], FP32), o: T([pypto.STATIC, 8], FP32)):
    o[:] = x * 2
"""
CALL = """\
import torch, kernels
x, out = torch.ones(3, 8), torch.empty(3, 8)
kernels.first(x, out)
assert torch.equal(out, x + 804)
kernels.second(x, out)
assert torch.equal(out, x * 2)
"""


def test_the_command_line_and_the_call_share_binaries(place: Place) -> None:
    (place.path / "kernels.py").write_text(KERNELS)
    (place.path / "call.py").write_text(CALL)
    sizes = ("--shape", "x=3,8", "--shape", "o=3,8")
    printed = place.run("-m", "pypto", "compile", "kernels.py", *sizes)
    assert printed.splitlines()[-1] == "2 kernels: 2 compiled, 0 cached, 0 failed"
    assert place.kernels == 2
    place.run("call.py")
    printed = place.run("-m", "pypto", "compile", "kernels.py", *sizes)
    assert printed.splitlines()[-1] == "2 kernels: 0 compiled, 2 cached, 0 failed"
    assert place.kernels == 2


def test_what_compile_refuses(modules: Modules) -> None:
    kernel = modules.make("""
        @jit
        def k(x: T([8], FP32), o: T([8], FP32), n: int):
            for i in range(n):
                o[:] = x
    """).k
    messages = [
        str(kernel.compile(**arguments).error)
        for arguments in ({"target": "cuda"}, {"shapes": {"z": (3,)}}, {})
    ]
    assert messages == [
        "ErrCode: F00002  pypto does not compile for the target 'cuda'\n"
        "  expected  one of 'cpu', 'source'\n"
        "  got       'cuda'\n"
        "  help: 'source' writes the Ascend C text, which a device's compiler takes",
        "ErrCode: F00002  no tensor parameter is called 'z'\n"
        "  expected  shapes of x, o\n"
        "  got       shapes of z",
        "ErrCode: F00001  range(...) needs the value of 'n' at compile time\n"
        "  --> m1.py:7:20\n"
        "  6 | def k(x: T([8], FP32), o: T([8], FP32), n: int):\n"
        "  7 |     for i in range(n):\n"
        "    |                    ^\n"
        "  help: name it: compile(values={'n': ...}), or give it a default; for i in "
        "pypto.loop(...) loops on the device",
    ]


def test_all_that_is_missing_is_said_at_once(modules: Modules) -> None:
    kernel = modules.make("""
        @jit
        def k(x: T([pypto.STATIC, 8], FP32),
              w: T([8, ...], FP32),
              o: T,
              up: bool,
              s):
            o[:] = x
    """).k
    assert str(kernel.compile().error) == (
        "ErrCode: F00002  the annotation of 'x' leaves a static size open\n"
        "  --> m1.py:6:7\n"
        "  6 | def k(x: T([pypto.STATIC, 8], FP32),\n"
        "    |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  help: give its sizes: compile(shapes={'x': (8, 8)}), write the size as a number, or "
        "call the kernel with tensors\n"
        "\n"
        "ErrCode: F00002  the annotation of 'w' does not say its shape\n"
        "  --> m1.py:7:7\n"
        "  6 | def k(x: T([pypto.STATIC, 8], FP32),\n"
        "  7 |       w: T([8, ...], FP32),\n"
        "    |       ^^^^^^^^^^^^^^^^^^^^\n"
        "  help: give its sizes: compile(shapes={'w': (8, 8)}), annotate them, or call the kernel "
        "with tensors\n"
        "\n"
        "ErrCode: F00002  the annotation of 'o' does not say its dtype\n"
        "  --> m1.py:8:7\n"
        "  7 |       w: T([8, ...], FP32),\n"
        "  8 |       o: T,\n"
        "    |       ^^^^\n"
        "  help: annotate it fully, pypto.Tensor is too little, or call the kernel with tensors\n"
        "\n"
        "ErrCode: F00002  the value of 'up' is needed to compile without a call\n"
        "  --> m1.py:9:7\n"
        "  8 |       o: T,\n"
        "  9 |       up: bool,\n"
        "    |       ^^^^^^^^\n"
        "  help: name it: compile(values={'up': ...}), or give it a default\n"
        "\n"
        "ErrCode: F00002  the value of 's', which has no annotation, is needed to compile without "
        "a call\n"
        "  --> m1.py:10:7\n"
        "   9 |       up: bool,\n"
        "  10 |       s):\n"
        "     |       ^\n"
        "  help: name it: compile(values={'s': ...}), or give it a default; annotate it with "
        "pypto.Tensor(shape, dtype) if it is a tensor"
    )


def test_names_and_sizes_that_do_not_fit(modules: Modules) -> None:
    kernel = modules.make("""
        @jit
        def k(x: T([8], FP32), o: T([8], FP32), n: int):
            o[:] = x + n
    """).k
    report = kernel.compile(shapes={"n": (8,), "x": (-8,)}, values={"x": 1, "m": 2})
    assert str(report.error) == (
        "ErrCode: F00002  no tensor parameter is called 'n'\n"
        "  expected  shapes of x, o\n"
        "  got       shapes of n, x\n"
        "\n"
        "ErrCode: F00002  no scalar or constant parameter is called 'm', 'x'\n"
        "  expected  values of n\n"
        "  got       values of m, x\n"
        "\n"
        "ErrCode: F00002  the shape given for 'x' is none\n"
        "  expected  a tuple of sizes, each an int of 0 or more\n"
        "  got       (-8,)"
    )


def test_values_that_are_needed_together(modules: Modules) -> None:
    kernel = modules.make("""
        @jit
        def k(x: T([8], FP32), o: T([8], FP32), n: int, m: int):
            for i in range(n * m):
                o[:] = x
    """).k
    (diagnostic,) = kernel.compile().error.diagnostics
    assert diagnostic.message == "range(...) needs the values of 'm' and 'n' at compile time"
    assert diagnostic.help == (
        "name them: compile(values={'m': ..., 'n': ...}), or give them defaults; for i in "
        "pypto.loop(...) loops on the device"
    )


def test_a_value_that_is_not_needed_stays_an_argument(modules: Modules) -> None:
    made = modules.make("""
        @jit
        def k(x: T([8], FP32), o: T([8], FP32), f: float, p, q=2):
            o[:] = x * f + p - q + 806
    """)
    report = made.k.compile(values={"f": 0.5, "p": 3})
    assert (report.state, report.error) == ("compiled", None)
    x, out = torch.ones(8), torch.empty(8)
    with watch() as seen:
        made.k(x, out, 2.0, 4, 1)
    assert torch.equal(out, torch.full((8,), 811.0))
    assert seen.kernels == 0


def test_text_that_cannot_be_written(modules: Modules) -> None:
    Path("made").write_text("")
    report = modules.kernel("o[:] = x + 807").compile(target="source", directory="made")
    assert str(report.error) == (
        "ErrCode: F00003  The Ascend C of 'k' cannot be written to made/k.cpp: made is not a "
        "directory\n"
        "  help: name a directory that you can write: compile(directory=...)."
    )


def test_entries_have_the_names_of_the_functions(modules: Modules) -> None:
    """C++ has words of its own: the kernels' names there are others."""
    made = modules.make("""
        @jit
        def main(x: T([8], FP32), o: T([8], FP32)):
            o[:] = x + 807

        @jit
        def __foo(x: T([8], FP32), o: T([8], FP32)):
            o[:] = x + 808
    """)
    keys = [made.main.compile().key, vars(made)["__foo"].compile().key]
    names = {one.key: one.name for one in inspect.list_entries(PROCESS.lookup.store)}
    assert [names[key] for key in keys] == ["main", "__foo"]
    assert inspect.remove(PROCESS.lookup.store, "main") == 1
    assert keys[0] not in entries() and keys[1] in entries()
