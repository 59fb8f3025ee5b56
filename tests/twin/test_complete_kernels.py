"""The complete kernels of the interface's contract, unchanged, on three builds of the twin."""

from __future__ import annotations

import ctypes
from functools import cache, partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from .harness import CUBE, MIX_1_2, VECTOR, Build, Harness, Kernel
from .orders import first_other

HERE = Path(__file__).parent / "complete"
NAMES = ("scale_add", "row_softmax", "matmul_f16", "v_c_v")

Floats = npt.NDArray[np.float32]


class ScaleAddArgs(ctypes.Structure):
    _fields_ = (("n", ctypes.c_uint32), ("alpha", ctypes.c_float))


class MmArgs(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint16) for name in ("m", "n", "k", "pad"))


@cache
def compiled(twin: Harness, build: Build) -> dict[str, Kernel]:
    return {
        name: twin.compile((HERE / f"{name}.cpp").read_text(), [name], build=build)[name]
        for name in NAMES
    }


@pytest.fixture(scope="module", params=["fast", "checked"])
def kernels(twin: Harness, request: pytest.FixtureRequest) -> dict[str, Kernel]:
    return compiled(twin, request.param)


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(3)


def lawful(kernel: Kernel) -> bool:
    """Whether the checked build, if it is one, has found nothing in the launches so far."""
    found = kernel.report() if hasattr(kernel.library, "pypto_check_report") else []
    assert found == []
    return True


@pytest.mark.parametrize("n", [1, 7, 2048, 20003])
def test_scale_add(kernels: dict[str, Kernel], random: np.random.Generator, n: int) -> None:
    x, y = (random.standard_normal(n, np.float32) for _ in range(2))
    z = np.zeros(n, np.float32)
    kernels["scale_add"](x, y, z, ScaleAddArgs(n, 0.75), blocks=3, kind=VECTOR)
    np.testing.assert_array_equal(z, np.maximum(x * np.float32(0.75) + y, 0))
    assert lawful(kernels["scale_add"])


@pytest.mark.parametrize(("rows", "cols"), [(7, 300), (5, 1), (4, 64), (3, 1031)])
def test_row_softmax(
    kernels: dict[str, Kernel], random: np.random.Generator, rows: int, cols: int
) -> None:
    x = random.standard_normal((rows, cols), np.float32)
    y = np.zeros_like(x)
    kernels["row_softmax"](x, y, ctypes.c_uint32(rows), ctypes.c_uint32(cols), blocks=3)
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, e / e.sum(1, keepdims=True), rtol=1e-5, atol=1e-7)
    assert lawful(kernels["row_softmax"])


@pytest.mark.parametrize(
    ("m", "n", "k"),
    [(32, 48, 64), (100, 70, 150), (64, 64, 128), (129, 65, 300), (1, 16, 16)],
)
def test_matmul(
    kernels: dict[str, Kernel], random: np.random.Generator, m: int, n: int, k: int
) -> None:
    a = random.uniform(-1, 1, (m, k)).astype(np.float16)
    b = random.uniform(-1, 1, (k, n)).astype(np.float16)
    c = np.full((m, n), np.nan, np.float32)
    kernels["matmul_f16"](a, b, c, MmArgs(m, n, k, 0), blocks=2, kind=CUBE)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(c, exact, rtol=0, atol=4e-5)
    assert lawful(kernels["matmul_f16"])


@pytest.mark.parametrize("groups", [1, 3])
def test_vector_cube_vector(
    kernels: dict[str, Kernel], random: np.random.Generator, groups: int
) -> None:
    x = random.standard_normal((groups * 32, 64)).astype(np.float16)
    w = random.standard_normal((64, 32)).astype(np.float16)
    y, products = (np.zeros((groups * 32, 32), np.float32) for _ in range(2))
    kernels["v_c_v"](x, w, y, np.zeros_like(x), products, blocks=groups, kind=MIX_1_2)
    exact = (x + np.float16(1)).astype(np.float64) @ w.astype(np.float64)
    np.testing.assert_allclose(y, np.maximum(exact, 0), rtol=0, atol=2e-5)
    assert lawful(kernels["v_c_v"])


def test_every_order_of_the_pipes(twin: Harness, random: np.random.Generator) -> None:
    x, y, z = (random.standard_normal(4500, np.float32) for _ in range(3))
    rows, out = random.standard_normal((5, 70), np.float32), np.zeros((5, 70), np.float32)
    a, b = (random.uniform(-1, 1, n).astype(np.float16) for n in ((70, 150), (150, 66)))
    c = np.zeros((70, 66), np.float32)
    m = random.uniform(-1, 1, (96, 64)).astype(np.float16)
    w = random.uniform(-1, 1, (64, 32)).astype(np.float16)
    v, t, p = np.zeros((96, 32), np.float32), np.zeros_like(m), np.zeros((96, 32), np.float32)
    calls = {
        "scale_add": ((x, y, z, ScaleAddArgs(4500, 0.75)), VECTOR, 3),
        "row_softmax": ((rows, out, ctypes.c_uint32(5), ctypes.c_uint32(70)), VECTOR, 2),
        "matmul_f16": ((a, b, c, MmArgs(70, 66, 150, 0)), CUBE, 2),
        "v_c_v": ((m, w, v, t, p), MIX_1_2, 3),
    }
    fast, shuffled = compiled(twin, "fast"), compiled(twin, "shuffled")
    for name, (arguments, kind, blocks) in calls.items():
        fast[name](*arguments, blocks=blocks, kind=kind)
        expected = [each.copy() if isinstance(each, np.ndarray) else None for each in arguments]
        call = partial(shuffled[name], *arguments, blocks=blocks, kind=kind)
        assert first_other(shuffled[name].library, call, expected, range(100)) is None, name
