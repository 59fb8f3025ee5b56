"""The whole message of each mistake, as the call raises it; and the frames that come with it."""

from __future__ import annotations

import linecache
import subprocess
import sys
import traceback
from collections.abc import Callable
from typing import Any

import pytest
import torch

import pypto
from tests.jit.support import Modules, X, entries, refusal, result, watch

INT32 = torch.int32

# Name: (parameters, lines of the body).
KERNELS: dict[str, tuple[str, str]] = {
    "unsupported syntax": (
        "x: T([8], FP32), o: T([8], FP32)",
        "try: o[:] = x\n    finally: o += x",
    ),
    "unknown name": ("x: T([8], FP32), o: T([8], FP32)", "o[:] = x + missing"),
    "several mistakes": (
        "x: T([8], FP32), o: T([8], FP32)",
        "while x: pass\n    y = x + missing\n    o[:] = y",
    ),
    "output rebound": ("x: T([8], FP32), o: T([8], FP32)", "o = x + 1"),
    "output never written": ("x: T([8], FP32), o: T([8], FP32)", "y = x + 1"),
    "shapes do not fit": (
        "x: T([8], FP32), o: T([8], FP32), b: T([7], FP32)",
        "o[:] = x + b",
    ),
    "ranks do not fit": (
        "x: T([8], FP32), o: T([8], FP32), b: T([7], FP32)",
        "o[:] = pypto.sum(x, 1)",
    ),
    "dtypes do not fit": (
        "x: T([8], FP32), o: T([8], FP32), b: T([8], pypto.DT_INT32)",
        "o[:] = x + b",
    ),
    "stored dtype": (
        "x: T([8], FP32), o: T([8], FP32), b: T([8], pypto.DT_INT32)",
        "o[:] = b",
    ),
    "tile rank": (
        "x: T([8], FP32), o: T([8], FP32)",
        "pypto.set_vec_tile_shapes(2, 8)\n    o[:] = x + 1",
    ),
    "tile alignment": (
        "x: T([34, 130], FP32), o: T([34, 130], FP32)",
        "pypto.set_vec_tile_shapes(16, 3)\n    o[:] = pypto.exp(x)",
    ),
    "tile over the budget": (
        "x: T([512, 1024], FP32), o: T([512, 1024], FP32)",
        "pypto.set_vec_tile_shapes(256, 1024)\n    o[:] = pypto.exp(x)",
    ),
    "annotation": ("x: T([8], FP32), o: 'T([8], FP33)'", "o[:] = x"),
    "annotation of no tensor": ("x: dict, o: T([8], FP32)", "o[:] = x"),
    "starred parameter": ("x: T([8], FP32), *o", "o[:] = x"),
}
SHAPES: dict[str, tuple[tuple[int, ...], ...]] = {
    "shapes do not fit": ((8,), (8,), (7,)),
    "ranks do not fit": ((8,), (8,), (7,)),
    "dtypes do not fit": ((8,), (8,), (8,)),
    "stored dtype": ((8,), (8,), (8,)),
    "tile alignment": ((34, 130), (34, 130)),
    "tile over the budget": ((512, 1024), (512, 1024)),
}


def _refused(modules: Modules, name: str) -> pypto.PyptoError:
    parameters, body = KERNELS[name]
    kernel = modules.make(f"@jit\ndef k({parameters}):\n    {body}\n").k
    arguments = [torch.zeros(shape) for shape in SHAPES.get(name, ((8,), (8,)))]
    if name in ("dtypes do not fit", "stored dtype"):
        arguments[2] = arguments[2].to(INT32)
    before = entries()
    error = refusal(kernel, *arguments)
    assert entries() == before
    return error


@pytest.mark.parametrize("name", KERNELS)
def test_mistakes_in_a_kernel(
    modules: Modules, name: str, golden: Callable[[str, str], None]
) -> None:
    golden(f"errors/{name.replace(' ', '-')}", str(_refused(modules, name)))


CALLS: dict[str, Callable[[Any], object]] = {
    "too many arguments": lambda k: k(X, X.clone(), X, X),
    "missing argument": lambda k: k(X),
    "unknown keyword": lambda k: k(X, oo=X.clone()),
    "wrong dtype": lambda k: k(X.double(), X.clone()),
    "wrong rank": lambda k: k(X.reshape(2, 4), X.clone()),
    "wrong size": lambda k: k(X[:4], X.clone()),
    "wrong device": lambda k: k(X.to("meta"), X.clone()),
    "numpy array": lambda k: k(X.numpy(), X.clone()),
    "requires grad": lambda k: k(X, X.clone().requires_grad_()),
    "two mistakes": lambda k: k(X.double(), X[:4]),
}


@pytest.mark.parametrize("name", CALLS)
def test_mistakes_at_the_call(
    modules: Modules, name: str, golden: Callable[[str, str], None]
) -> None:
    kernel = modules.kernel("o[:] = x + 501")
    error = refusal(lambda: CALLS[name](kernel))
    golden(f"errors/call-{name.replace(' ', '-')}", str(error))


def test_a_precondition(modules: Modules, golden: Callable[[str, str], None]) -> None:
    """Sizes that only the call knows are compared then, by the compiled kernel."""
    made = modules.make("""
        @jit
        def k(a: T([pypto.DYNAMIC, 8], FP32), b: T([pypto.DYNAMIC, 8], FP32),
              o: T([pypto.DYNAMIC, 8], FP32)):
            o[:] = a + b
    """)
    a = torch.ones(4, 8)
    made.k(a, a, torch.empty(4, 8))
    golden("errors/call-precondition", str(refusal(made.k, a, a[:2], torch.empty(4, 8))))


def test_a_precondition_of_a_helper(modules: Modules, golden: Callable[[str, str], None]) -> None:
    """The place is that of the operation, in the helper; a loop's iteration is any of them."""
    made = modules.make("""
        def join(a, b):
            # the sizes must be equal
            return a * 502 + b

        @jit
        def k(a: T([pypto.DYNAMIC, 8], FP32), b: T([pypto.DYNAMIC, 8], FP32),
              o: T([pypto.DYNAMIC, 8], FP32), n: int, f: float, mode: str):
            o[:] = join(a, b) * f + n
    """)
    a, scalars = torch.ones(4, 8), (3, 0.5, "fast")
    made.k(a, a, torch.empty(4, 8), *scalars)
    error = refusal(made.k, a, a[:2], torch.empty(4, 8), *scalars)
    golden("errors/call-precondition-of-a-helper", str(error))


def test_each_occurrence_of_a_kernel_names_its_own_place(modules: Modules) -> None:
    """Kernels of one text share a binary, which knows nothing of files and lines."""
    text = """
        @jit
        def k(x: T([pypto.DYNAMIC], FP32), y: T([pypto.DYNAMIC], FP32),
              o: T([pypto.DYNAMIC], FP32)):
            o[:] = x * 503 + y
    """
    before = entries()
    places = []
    for kernel in (modules.make(text).k, modules.make("\n\n" + text).k):
        kernel(X, X, X.clone())
        places += str(refusal(kernel, X, X[:4], X.clone())).splitlines()[2:3]
    assert places == ["  --> m1.py:8:12", "  --> m2.py:10:12"]
    assert len(entries() - before) == 1


ARITHMETIC = {
    "overflow": ("y = x * 504\n    o[:] = y + (n * n + 1)", (2**32, 1)),
    "overflow on the way": ("o[:] = x + 505 + (n * n) // (n * n - 1)", (2**32, 1)),
    "division": ("o[:] = x + (506 + n) // m + n % m", (7, 0)),
    "division of floats": ("o[:] = x * (n / m) + 507", (7, 0)),
}


@pytest.mark.parametrize("name", ARITHMETIC)
def test_scalar_expressions_without_a_value(
    modules: Modules, name: str, golden: Callable[[str, str], None]
) -> None:
    body, numbers = ARITHMETIC[name]
    kernel = modules.make(f"""
        @jit
        def k(x: T([8], FP32), o: T([8], FP32), n: int, m: int):
            {body.replace("    ", "            ")}
    """).k
    kernel(X, X.clone(), 2, 3)
    golden(f"errors/call-{name.replace(' ', '-')}", str(refusal(kernel, X, X.clone(), *numbers)))


def test_the_place_when_the_text_of_a_helper_is_gone(modules: Modules) -> None:
    """Then only the line within the function is known."""
    helper = modules.make("def join(a, b):\n    return a * 508 + b\n", name="joining")
    made = modules.make("""
        @jit
        def k(a: T([pypto.DYNAMIC], FP32), b: T([pypto.DYNAMIC], FP32),
              o: T([pypto.DYNAMIC], FP32)):
            o[:] = join(a, b)
    """)
    made.join = helper.join
    made.k(X, X, X.clone())
    path = modules.directory / "joining.py"
    path.write_text("# nothing\n")
    linecache.clearcache()
    assert str(refusal(made.k, X, X[:4], X.clone())) == (
        "ErrCode: F00002  k: add needs a.shape[0] == b.shape[0] "
        "(annotate an axis of size 1 as 1 to broadcast)\n"
        "  got       a [8], b [4], o [8]\n"
        "  needed at join+2 (function+line)"
    )


def test_the_proposed_tile_works(modules: Modules) -> None:
    """Each refused tile comes with one that is taken: the help's own words, put in its place."""
    for name in ("tile alignment", "tile over the budget"):
        error = _refused(modules, name)
        proposed = error.diagnostics[0].help
        assert proposed is not None
        call = proposed.removeprefix("use ")
        parameters, body = KERNELS[name]
        lines = [call, body.splitlines()[1].strip()]
        kernel = modules.make(
            f"@jit\ndef k({parameters}):\n" + "".join(f"    {line}\n" for line in lines)
        ).k
        x = torch.linspace(-1, 1, 34 * 130 if "align" in name else 512 * 1024)
        x = x.reshape(SHAPES[name][0])
        assert torch.allclose(result(kernel, x=x), torch.exp(x), rtol=1e-6)


# --- no C++ compiler ---

NO_COMPILER = """
import torch, pypto
@pypto.frontend.jit
def k(x: pypto.Tensor([8], pypto.DT_FP32), o: pypto.Tensor([8], pypto.DT_FP32)):
    o[:] = x + 1
@pypto.frontend.jit
def bad(x: pypto.Tensor([8], pypto.DT_FP32), o: pypto.Tensor([8], pypto.DT_FP32)):
    o[:] = y + 1
for kernel in (k, bad):
    try:
        kernel(torch.zeros(8), torch.zeros(8))
    except pypto.PyptoError as error:
        print(f"{type(error).__name__}: {error}")
"""


@pytest.mark.parametrize("name", ["CXX", "PATH"])
def test_no_compiler(modules: Modules, name: str, golden: Callable[[str, str], None]) -> None:
    """The kernel's own mistakes are said first; then what is missing, and how to get it."""
    path = modules.directory / "program.py"
    path.write_text(NO_COMPILER)
    variables = {"PATH": "/usr/nowhere", "PYPTO_CACHE_DIR": str(modules.directory / "cache")}
    if name == "CXX":
        variables["CXX"] = "/nonexistent"
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=modules.directory,
        env=variables,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    golden(f"errors/no-compiler-{name}", done.stdout)


# --- frames ---


def _frames(call: Callable[[], object]) -> list[str]:
    """Files of the traceback that a call ends with, below the frame of this function."""
    try:
        call()
    except pypto.PyptoError as error:
        return [frame.filename for frame in traceback.extract_tb(error.__traceback__)][1:]
    raise AssertionError("the call was not refused")


def test_the_traceback_ends_at_the_call(modules: Modules) -> None:
    """Also for the first call of a kernel, calls through the launcher, and preconditions."""
    good = modules.make("""
        @jit
        def k(a: T([pypto.DYNAMIC, 8], FP32), b: T([pypto.DYNAMIC, 8], FP32),
              o: T([pypto.DYNAMIC, 8], FP32)):
            o[:] = a + b
    """).k
    a = torch.ones(4, 8)
    good(a, a, torch.empty(4, 8))
    bad = modules.kernel("o[:] = x + missing")
    calls = [
        lambda: bad(X, X.clone()),
        lambda: bad(x=X, o=X.clone()),
        lambda: good(a, a),
        lambda: good(a, a, a.double()),
        lambda: good(a, a[:2], torch.empty(4, 8)),
    ]
    for call in calls:
        assert _frames(call) == [__file__]


FRAMES = """
import traceback, torch, pypto
@pypto.frontend.jit
def bad(x: pypto.Tensor([8], pypto.DT_FP32), o: "pypto.Tensor([8], missing)"):
    o[:] = x
for _ in range(2):
    try:
        bad(torch.zeros(8), torch.zeros(8))
    except pypto.PyptoError as error:
        print([frame.name for frame in traceback.extract_tb(error.__traceback__)])
        cause = error.__cause__
        print([frame.filename for frame in traceback.extract_tb(cause.__traceback__)])
"""


def _frames_of_program(modules: Modules, **variables: str) -> list[str]:
    path = modules.directory / "frames.py"
    path.write_text(FRAMES)
    environment = {"PATH": "/usr/bin:/bin", "PYPTO_CACHE_DIR": str(modules.directory / "cache")}
    done = subprocess.run(
        [sys.executable, "frames.py"],
        cwd=modules.directory,
        env=environment | variables,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_before_the_launcher_one_frame_says_how_to_see_more(modules: Modules) -> None:
    lines = _frames_of_program(modules)
    assert lines == ["['<module>', '__call__']", "['<string>']"] * 2


def test_all_frames_on_request(modules: Modules) -> None:
    lines = _frames_of_program(modules, PYPTO_TRACEBACK="full")
    assert all(line.count(",") >= 3 for line in lines[::2])
    assert all("parameters.py" in line for line in lines[1::2])


def test_errors_of_others_keep_their_frames(modules: Modules) -> None:
    """What the user's own code raises during a call is his to see."""

    class Index:
        def __index__(self) -> int:
            raise RuntimeError("mine")

    made = modules.make("""
        @jit
        def k(x: T([8], FP32), o: T([8], FP32), n: int):
            o[:] = x + n
    """)
    made.k(X, X.clone(), 1)
    with watch(), pytest.raises(RuntimeError, match="mine") as caught:
        made.k(X, X.clone(), Index())
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "__index__"


def test_a_subclass_of_tensor_that_answers_nothing(modules: Modules) -> None:
    class Mute(torch.Tensor):
        @classmethod
        def __torch_function__(cls, *_: object, **__: object) -> object:
            raise RuntimeError("mine")

    kernel = modules.kernel("o[:] = x")
    mute = torch.zeros(8).as_subclass(Mute)
    with pytest.raises(pypto.PyptoError) as caught:
        kernel(mute, torch.zeros(8))
    where = f"{modules.directory}/m1.py"
    assert str(caught.value).replace(where, "m1.py") == (
        "ErrCode: F00001  argument 'x' is of Mute, a subclass of torch.Tensor that may give it "
        "another meaning\n"
        "  expected  tensor of float32, shape [8]\n"
        "  got       Mute of float32, shape [8], on cpu\n"
        "  annotated at m1.py:5:10\n"
        "  help: x.as_subclass(torch.Tensor) is the plain tensor"
    )
