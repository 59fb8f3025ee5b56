"""Values that a kernel takes from outside: a change is seen, and costs one compilation at most."""

from __future__ import annotations

import numpy
import pytest
import torch

from tests.jit.support import Modules, X, refusal, result, watch

SETTINGS = """
import dataclasses, enum, types
import numpy

class Mode(enum.Enum):
    A = 2
    B = 3

@dataclasses.dataclass
class Config:
    N: int = 2
    inner: object = None

cfg = Config()
deep = types.SimpleNamespace(a=types.SimpleNamespace(b=4))
SIZES = [2, 3]
TABLE = {"n": 6}
mode = Mode.A
half = numpy.float32(2.5)
"""


def test_a_global_that_changes(modules: Modules) -> None:
    """Two values are two binaries; going back to the first compiles nothing."""
    made = modules.make("""
        K = 201
        @jit
        def k(x: T([8], FP32), o: T([8], FP32)): pypto.set_vec_tile_shapes(8); o[:] = x * K
    """)
    compilations = []
    for value in (201, 202, 201, 202):
        made.K = value
        with watch() as seen:
            assert torch.equal(result(made.k), X * value)
        compilations.append(seen.kernels)
    assert compilations == [1, 1, 0, 0]


def test_a_global_that_goes_and_comes_back(modules: Modules) -> None:
    made = modules.make("""
        K = 203
        @jit
        def k(x: T([8], FP32), o: T([8], FP32)): o[:] = x * K
    """)
    assert torch.equal(result(made.k), X * 203)
    del made.K
    assert str(refusal(made.k, X, X.clone())).splitlines()[0] == (
        "ErrCode: F00004  name 'K' is not defined"
    )
    made.K = object()
    assert "'other' must be a tensor or a number" in str(refusal(made.k, X, X.clone()))
    made.K = 203
    assert torch.equal(result(made.k), X * 203)


@pytest.mark.parametrize(
    ("expression", "change", "before", "after"),
    [
        ("cfg.N", "cfg.N = 5", 2, 5),
        ("cfg.N", "cfg = Config(7)", 2, 7),
        ("SIZES[0]", "SIZES[0] = 9", 2, 9),
        ("SIZES[-1]", "SIZES.append(11)", 3, 11),
        ("TABLE['n']", "TABLE['n'] = 8", 6, 8),
        ("mode.value", "mode = Mode.B", 2, 3),
        ("deep.a.b", "deep.a.b = 5", 4, 5),
        ("deep.a.b", "deep = types.SimpleNamespace(a=types.SimpleNamespace(b=6))", 4, 6),
        ("float(half)", "half = numpy.float32(3.5)", 2.5, 3.5),
    ],
)
def test_parts_of_objects(
    modules: Modules, expression: str, change: str, before: float, after: float
) -> None:
    made = modules.make(
        SETTINGS + f"@jit\ndef k(x: T([8], FP32), o: T([8], FP32)): o[:] = x * ({expression})\n"
    )
    assert torch.equal(result(made.k), X * before)
    exec(change, vars(made))
    assert torch.equal(result(made.k), X * after)
    exec("cfg.inner = 'not read'; TABLE['m'] = 1", vars(made))
    with watch() as seen:
        assert torch.equal(result(made.k), X * after)
    assert seen.commands == []


def test_values_that_are_equal_and_not_the_same(modules: Modules) -> None:
    made = modules.make("""
        z = 0.0
        @jit
        def k(x: T([8], FP32), o: T([8], FP32)): o[:] = x * z
    """)
    assert not torch.signbit(result(made.k)).any()
    made.z = -0.0
    assert torch.signbit(result(made.k)).all()
    made.z = numpy.float64(0.0)
    assert not torch.signbit(result(made.k)).any()


def test_true_one_and_one_point_zero(modules: Modules) -> None:
    made = modules.make("""
        v = 1
        @jit
        def k(x: T([8], FP32), o: T([8], FP32)):
            o[:] = x + (10 if v is True else 20 if isinstance(v, int) else 30)
    """)
    for value, added in ((1, 20), (True, 10), (1.0, 30), (1, 20)):
        made.v = value
        assert torch.equal(result(made.k), X + added), repr(value)


def test_helpers(modules: Modules) -> None:
    """A helper of a helper, a default, a rebound helper; not its comments or its place."""
    modules.make(
        """
        @pypto.frontend.function
        def inner(a):
            return a * 2

        def h(a: T, k=1):
            return inner(a) + k
    """,
        name="helpers",
    )
    made = modules.make("""
        @jit
        def k(x: T([8], FP32), o: T([8], FP32)): o[:] = h(x) + 204
    """)

    def compilations(expected: torch.Tensor) -> int:
        with watch() as seen:
            assert torch.equal(result(made.k), expected + 204)
        return seen.kernels

    def reload(old: str, new: str) -> None:
        path = modules.directory / "helpers.py"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))
        made.h = modules.load("helpers").h

    reload("", "")
    assert compilations(X * 2 + 1) == 1
    made.h.__defaults__ = (4,)
    assert compilations(X * 2 + 4) == 1
    reload("return a * 2", "# a comment\n            # and more\n    return a   *   2")
    assert compilations(X * 2 + 1) == 0
    reload("return a   *   2", "return a * 3")
    assert compilations(X * 3 + 1) == 1
    reload("inner(a) + k", "inner(a) - k")
    assert compilations(X * 3 - 1) == 1
    exec("def h2(a, k=7): return a - k", vars(made))
    other = modules.make("def h2(a, k=7):\n    return a - k\n")
    made.h = other.h2
    assert compilations(X - 7) == 1


REFUSED = [
    ("", "global N; N = 3; o[:] = x", "a kernel cannot use the global statement"),
    ("L = []\n", "L.append(1); o[:] = x", "a kernel cannot change 'L'"),
    ("D = {}\n", "D['a'] = 1; o[:] = x", "a kernel cannot change 'D'"),
    ("import random\n", "o[:] = x * random.random()", "a kernel cannot call random.random"),
    ("import time\n", "o[:] = x * time.time()", "a kernel cannot call time.time"),
    ("import os\n", "o[:] = x * int(os.environ['A'])", "cannot read os.environ['A']"),
    (
        "import numpy as np, numpy.random\n",  # a module that numpy loads when it is asked for
        "o[:] = x * np.random.rand()",
        "a kernel cannot call np.random.rand",
    ),
]


@pytest.mark.parametrize(("before", "body", "message"), REFUSED)
def test_state_that_would_be_frozen(modules: Modules, before: str, body: str, message: str) -> None:
    kernel = modules.kernel(body, before=before)
    error = refusal(kernel, X, X.clone())
    shown = str(error)
    assert shown.splitlines()[0].partition("  ")[2].startswith(message)
    assert error.diagnostics[0].span is not None
    assert "help:" in shown
