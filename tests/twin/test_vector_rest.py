# ruff: noqa: E501 (lines of the C++ texts)
"""Vector entries that no other file has: gated activations, Fmod, Xor, CumSum, last results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from .harness import Harness, Kernel
from .lanes import CALL_TEXT, COUNT, CTYPE, Array, Walk, kernel_text, pointer

N = 1003
OPERANDS = "tensor<{t}>(d), tensor<{t}>(a), tensor<{t}>(b)"
TMP = "tensor<uint8_t>(d)[1 << 18]"

BODIES: dict[str, str] = {
    **{
        f"{name}_{t}": f"{name}<{t}, false>({OPERANDS.format(t=t)}, {TMP}, c.count);"
        for name, types in {
            "GeGLU": ("half", "float"),
            "ReGlu": ("half", "float", "bfloat16_t"),
            "Fmod": ("half", "float"),
            "Xor": ("int16_t", "uint16_t"),
        }.items()
        for t in types
    },
    **{
        f"SwiGLU_{t}": f"LocalTensor<{t}> out = tensor<{t}>(d); SwiGLU<{t}, false>(out, tensor<{t}>(a), tensor<{t}>(b), float(c.scalar), {TMP}, c.count);"
        for t in ("half", "float")
    },
    **{
        f"Swish_{t}": f"Swish<{t}, false>(tensor<{t}>(d), tensor<{t}>(a), c.count, {t}(float(c.scalar)));"
        for t in ("half", "float")
    },
    **{
        f"FasterGelu_{t}": f"FasterGelu<{t}, false, false>(tensor<{t}>(d), tensor<{t}>(a), {TMP}, c.count);"
        for t in ("half", "float")
    },
    **{
        f"CumSum_{axis}_{t}": f"""static constexpr CumSumConfig config{{{last}, false, true, CumSumAlgorithm::CUMSUM_ALGORITHM_LINEBYLINE}};
    LocalTensor<{t}> out = tensor<{t}>(d), row = tensor<{t}>(b); LocalTensor<uint8_t> tmp = {TMP};
    CumSum<{t}, config>(out, row, tensor<{t}>(a), tmp, CumSumInfo{{c.repeat, c.count}});"""
        for axis, last in (("last", "true"), ("first", "false"))
        for t in ("half", "float")
    },
    **{
        f"ArithProgression_{t}": f"ArithProgression<{t}>(tensor<{t}>(d), {t}(float(c.scalar)), {t}(3.0f), int32_t(c.count));"
        for t in ("half", "float", "int16_t", "int32_t")
    },
    "FusedMulAddRelu_float": f"FusedMulAddRelu({OPERANDS.format(t='float')}, int32_t(c.count));",
    "registers": """WholeReduceSum<float>(tensor<float>(d), tensor<float>(a), 64, 2, 1, 1, 8);
    tensor<float>(d).SetValue(8, GetReduceRepeatSumSpr<float>());
    WholeReduceMax<float>(tensor<float>(d)[16], tensor<float>(a), 64, 2, 1, 1, 8);
    float value, index, least;
    GetReduceRepeatMaxMinSpr<float>(value, index);
    WholeReduceMin<float>(tensor<float>(d)[16], tensor<float>(a), 64, 2, 1, 1, 8);
    GetReduceRepeatMaxMinSpr<float>(least);
    tensor<float>(d).SetValue(9, value); tensor<float>(d).SetValue(10, index); tensor<float>(d).SetValue(11, least);""",
}  # fmt: skip


@pytest.fixture(scope="module")
def kernels(twin: Harness) -> dict[str, Kernel]:
    text = CALL_TEXT + "".join(kernel_text(name, body) for name, body in BODIES.items())
    return twin.compile(text, list(BODIES))


def run(kernel: Kernel, a: Array, b: Array, *, count: int = N, repeat: int = 1, scalar: float = 0.0) -> Array:  # fmt: skip
    """The destination after a call; it is 7 where nothing was written."""
    size = 1 << 20
    memory = [np.zeros(size, np.uint8) for _ in range(3)]
    memory[0].view(a.dtype)[:] = 7
    for space, data in zip(memory[1:], (a, b), strict=True):
        space[: data.nbytes] = data.view(np.uint8).ravel()
    call = Walk(COUNT, (a.itemsize,), count, repeat).call(scalar=scalar)
    kernel(*memory, pointer(call))
    b[...] = memory[2][: b.nbytes].view(b.dtype).reshape(b.shape)
    result = memory[0].view(a.dtype)
    assert (result[(1 << 18) // a.itemsize :] == 7).all() or count != N
    return result


def pair(t: str) -> tuple[Array, Array]:
    random = np.random.default_rng(1)
    if t in ("half", "float"):
        a, b = (random.uniform(-4, 4, N).astype(CTYPE[t]) for _ in range(2))
        return a, b
    dtype: np.dtype[Any] = np.dtype(CTYPE[t])
    limits = np.iinfo(dtype)
    a, b = (random.integers(limits.min, limits.max, N, dtype, endpoint=True) for _ in range(2))
    return a, b


def gate(x: torch.Tensor, beta: float) -> torch.Tensor:
    return x * torch.sigmoid(beta * x)


TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "GeGLU": lambda a, b: a * torch.nn.functional.gelu(b, approximate="tanh"),
    "ReGlu": lambda a, b: a * torch.relu(b),
    "SwiGLU": lambda a, b: a * gate(b, 0.75),
    "Swish": lambda a, b: gate(a, 0.75),
    "FasterGelu": lambda a, b: gate(a, 1.702),
    "Fmod": torch.fmod,
}


@pytest.mark.parametrize("t", ["half", "float"])
@pytest.mark.parametrize("name", TORCH)
def test_functions(kernels: dict[str, Kernel], name: str, t: str) -> None:
    a, b = pair(t)
    expected = TORCH[name](*(torch.from_numpy(x.astype(np.float64)) for x in (a, b))).numpy()
    found = run(kernels[f"{name}_{t}"], a, b, scalar=0.75)
    tolerance = 1e-6 if t == "float" else 1e-3
    np.testing.assert_allclose(
        found[:N].astype(np.float64), expected, rtol=tolerance, atol=tolerance
    )
    assert (found[N : N + 64] == 7).all()


def test_reglu_of_bfloat16(kernels: dict[str, Kernel]) -> None:
    a, b = (torch.from_numpy(x).to(torch.bfloat16) for x in pair("float"))
    bits = [x.view(torch.uint16).numpy() for x in (a, b)]
    found = run(kernels["ReGlu_bfloat16_t"], *bits)[:N]
    expected = (a * torch.relu(b)).view(torch.uint16).numpy()
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("t", ["int16_t", "uint16_t"])
def test_xor(kernels: dict[str, Kernel], t: str) -> None:
    a, b = pair(t)
    found = run(kernels[f"Xor_{t}"], a, b)
    np.testing.assert_array_equal(found[:N], a ^ b)
    assert (found[N : N + 64] == 7).all()


@pytest.mark.parametrize("t", ["half", "float"])
@pytest.mark.parametrize("axis", ["last", "first"])
def test_cumsum(kernels: dict[str, Kernel], t: str, axis: str) -> None:
    rows, cols = 5, 48
    x = np.random.default_rng(2).uniform(-1, 1, (rows, cols)).astype(CTYPE[t])
    last = np.zeros(cols, x.dtype)
    found = run(kernels[f"CumSum_{axis}_{t}"], x, last, count=cols, repeat=rows)
    expected = np.cumsum(x.astype(np.float32), 1 if axis == "last" else 0, np.float32)
    found = found[: rows * cols].reshape(rows, cols)
    np.testing.assert_array_equal(found, expected.astype(x.dtype))
    np.testing.assert_array_equal(last, found[-1])


@pytest.mark.parametrize("t", ["half", "float", "int16_t", "int32_t"])
def test_arith_progression(kernels: dict[str, Kernel], t: str) -> None:
    zeros = np.zeros(1, CTYPE[t])
    found = run(kernels[f"ArithProgression_{t}"], zeros, zeros.copy(), count=77, scalar=-5.0)
    np.testing.assert_array_equal(found[:77], -5 + 3 * np.arange(77))
    assert found[77] == 7


def test_fused_mul_add_relu(kernels: dict[str, Kernel]) -> None:
    a, b = pair("float")
    found = run(kernels["FusedMulAddRelu_float"], a, b)[:N]
    np.testing.assert_array_equal(found, np.maximum(a * np.float32(7) + b, 0))


def test_last_results_are_in_registers(kernels: dict[str, Kernel]) -> None:
    a = np.random.default_rng(3).permutation(128).astype(np.float32)
    found = run(kernels["registers"], a, a.copy(), count=128)
    second = a[64:]
    assert found[8] == second.sum()
    assert found[9] == second.max()
    assert found[10:11].view(np.uint32)[0] == second.argmax()
    assert found[11] == second.min()
