# ruff: noqa: E501 (lines of the C++ texts)
"""Mmad against NumPy: every pair of types, tails, where sums start, GEMV, HF32; exact."""

from __future__ import annotations

import numpy as np
import pytest

from .cube import HEAD, Array, from_nz, l0a, l0b, matrix, nz, up, values
from .harness import CUBE, Harness, Kernel

TYPES = {
    "half": ("float", "half", 16),
    "bfloat16_t": ("float", "bfloat16_t", 16),
    "float": ("float", "float", 8),
    "int8_t": ("int32_t", "int8_t", 32),
    "int4b_t": ("int32_t", "int4b_t", 64),
}

TEXT = (
    HEAD
    + """
// v: m, n, k, cmatrixInitVal, cmatrixSource, bias overload, kDirectionAlign, HF32, its ties
template <typename C, typename T> __aicore__ inline void Product(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR bias, GM_ADDR p)
{
    const int32_t* v = reinterpret_cast<const int32_t*>(p);
    poke(at<uint8_t>(TPosition::A2), a, 65536);
    poke(at<uint8_t>(TPosition::B2), b, 65536);
    poke(at<uint8_t>(TPosition::CO1), c, 131072);
    poke(at<uint8_t>(TPosition::C2), bias, 1024);
    MmadParams q;
    q.m = v[0]; q.n = v[1]; q.k = v[2];
    q.cmatrixInitVal = v[3] != 0; q.cmatrixSource = v[4] != 0; q.kDirectionAlign = v[6] != 0;
    SetHF32Mode(v[7] != 0 ? HF32Mode::ENABLE : HF32Mode::DISABLE);
    SetHF32TransMode(v[8] != 0 ? HF32TransMode::NEAREST_ZERO : HF32TransMode::NEAREST_EVEN);
    if (v[5] != 0) {
        Mmad(at<C>(TPosition::CO1), at<T>(TPosition::A2), at<T>(TPosition::B2), at<C>(TPosition::C2, 128), q);
    } else {
        Mmad(at<C>(TPosition::CO1), at<T>(TPosition::A2), at<T>(TPosition::B2), q);
    }
    SetHF32Mode(HF32Mode::DISABLE);
    peek(at<uint8_t>(TPosition::CO1), c, 131072);
}
"""
    + "".join(
        f'extern "C" __global__ __cube__ void mmad_{name}(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR bias, GM_ADDR p) {{ Product<{c}, {t}>(a, b, c, bias, p); }}\n'
        for name, (c, t, _) in TYPES.items()
    )
)


@pytest.fixture(scope="module")
def kernels(twin: Harness) -> dict[str, Kernel]:
    return twin.compile(TEXT, [f"mmad_{name}" for name in TYPES])


def factors(random: np.random.Generator, name: str, rows: int, cols: int) -> tuple[Array, Array]:
    """A matrix as numbers, and as elements: int4b_t one to a byte."""
    if name == "int4b_t":
        x = random.integers(-8, 8, (rows, cols), np.int8)
        return x, x & 15
    x = matrix(random, name, rows, cols)
    return values(name, x), x


def packed(x: Array, name: str, size: int) -> Array:
    """The bytes of fractals, filled up to ``size``."""
    if name == "int4b_t":
        x = (x[..., ::2] | x[..., 1::2] << 4).astype(np.uint8)
    flat = np.ascontiguousarray(x).view(np.uint8).ravel()
    return np.concatenate([flat, np.zeros(size - flat.size, np.uint8)])


def product(a: Array, b: Array, start: Array) -> Array:
    """Sums in the order of k, rounded after each product and each sum."""
    total = start.copy()
    for k in range(a.shape[1]):
        left, right = a[:, k, None].astype(total.dtype), b[k].astype(total.dtype)
        total = total + left * right
    return total


def run(
    kernel: Kernel,
    name: str,
    a: Array,
    b: Array,
    before: Array,
    *,
    k: int,
    flags: tuple[int, ...] = (1, 0, 0, 0, 0, 0),
    bias: Array | None = None,
) -> Array:
    """Strips of L0C after a Mmad of the fractals ``a`` and ``b``."""
    n, m = before.shape[1], before.shape[0]
    strips = nz(before, 16, up(m, 16))
    memory = packed(strips, "float", 131072)
    table = np.zeros(256, before.dtype)
    if bias is not None:
        table[: bias.size] = bias
    parameters = np.array([m, n, k, *flags], np.int32)
    kernel(packed(a, name, 65536), packed(b, name, 65536), memory, table, parameters, kind=CUBE)
    count = strips.size
    return memory.view(before.dtype)[:count].reshape(strips.shape)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize(
    ("m", "n", "k"),
    [(16, 16, 16), (32, 48, 64), (64, 64, 128), (17, 33, 65), (2, 1, 1), (100, 70, 31), (31, 15, 129)],
)  # fmt: skip
def test_products(kernels: dict[str, Kernel], name: str, m: int, n: int, k: int) -> None:
    random = np.random.default_rng(m + n + k)
    c0 = TYPES[name][2]
    (a, a_raw), (b, b_raw) = factors(random, name, m, k), factors(random, name, k, n)
    sum_type = np.float32 if TYPES[name][0] == "float" else np.int32
    before = random.integers(-99, 99, (m, n)).astype(sum_type)
    table = random.integers(-99, 99, n).astype(sum_type)
    left, right = l0a(a_raw, c0), l0b(b_raw, c0)
    first, second = np.zeros_like(before), np.broadcast_to(table, (m, n))
    kernel = kernels[f"mmad_{name}"]
    made = run(kernel, name, left, right, before, k=k)
    np.testing.assert_array_equal(from_nz(made, m, n), product(a, b, first))
    made = run(kernel, name, left, right, before, k=k, flags=(0, 0, 0, 0, 0, 0))
    np.testing.assert_array_equal(from_nz(made, m, n), product(a, b, before))
    made = run(kernel, name, left, right, before, k=k, flags=(0, 1, 0, 0, 0, 0), bias=table)
    np.testing.assert_array_equal(from_nz(made, m, n), product(a, b, second))
    shifted = np.concatenate([np.zeros(32, sum_type), table])
    made = run(kernel, name, left, right, before, k=k, flags=(0, 0, 1, 0, 0, 0), bias=shifted)
    np.testing.assert_array_equal(from_nz(made, m, n), product(a, b, second))
    made = run(kernel, name, left, right, before, k=k, flags=(1, 0, 1, 0, 0, 0), bias=shifted)
    np.testing.assert_array_equal(from_nz(made, m, n), product(a, b, first))


def test_nothing_to_do(kernels: dict[str, Kernel]) -> None:
    before = np.ones((16, 16), np.float32)
    ones = np.ones((16, 16), np.float16)
    made = run(kernels["mmad_half"], "half", l0a(ones, 16), l0b(ones, 16), before, k=0)
    np.testing.assert_array_equal(from_nz(made, 16, 16), before)


def test_junk_beyond_k_and_n_is_ignored(kernels: dict[str, Kernel]) -> None:
    random = np.random.default_rng(1)
    a, b = matrix(random, "half", 32, 32), matrix(random, "half", 32, 32)
    a[:, 19:], b[19:], b[:, 21:] = np.nan, np.inf, np.nan
    before = np.zeros((32, 21), np.float32)
    made = run(kernels["mmad_half"], "half", l0a(a, 16), l0b(b, 16), before, k=19)
    np.testing.assert_array_equal(from_nz(made, 32, 21), product(a[:, :19], b[:19, :21], before))
    assert not made[1, :, 5:].any()


@pytest.mark.parametrize("name", TYPES)
def test_one_row_is_a_vector(kernels: dict[str, Kernel], name: str) -> None:
    random = np.random.default_rng(2)
    (a, a_raw), (b, b_raw) = factors(random, name, 1, 77), factors(random, name, 77, 40)
    vector = np.zeros((1, up(77, TYPES[name][2])), a_raw.dtype)
    vector[:, :77] = a_raw
    before = np.zeros((1, 40), np.float32 if TYPES[name][0] == "float" else np.int32)
    made = run(kernels[f"mmad_{name}"], name, vector, l0b(b_raw, TYPES[name][2]), before, k=77)
    np.testing.assert_array_equal(from_nz(made, 1, 40), product(a, b, before))


def test_k_direction_align(kernels: dict[str, Kernel]) -> None:
    random = np.random.default_rng(5)
    a, b = matrix(random, "float", 32, 24), matrix(random, "float", 24, 16)
    wide = np.zeros((32, 32), np.float32)
    wide[:, :24] = a
    before = np.zeros((32, 16), np.float32)
    kernel = kernels["mmad_float"]
    made = run(kernel, "float", l0a(wide, 8), l0b(b, 8), before, k=24, flags=(1, 0, 0, 1, 0, 0))
    np.testing.assert_array_equal(from_nz(made, 32, 16), product(a, b, before))


def hf32(x: Array, to_zero: bool) -> Array:
    bits = x.view(np.uint32).astype(np.uint64)
    tie = np.uint64(0) if to_zero else (bits >> np.uint64(13)) & np.uint64(1)
    return ((bits + 0xFFF + tie) & np.uint64(0xFFFFE000)).astype(np.uint32).view(np.float32)


@pytest.mark.parametrize("to_zero", [False, True])
def test_hf32(kernels: dict[str, Kernel], to_zero: bool) -> None:
    random = np.random.default_rng(6)
    a, b = matrix(random, "float", 16, 16), matrix(random, "float", 16, 16)
    a.view(np.uint32)[::2] = (a.view(np.uint32)[::2] & 0xFFFFE000) | 0x1000  # ties
    before = np.zeros((16, 16), np.float32)
    flags = (1, 0, 0, 0, 1, int(to_zero))
    made = run(kernels["mmad_float"], "float", l0a(a, 8), l0b(b, 8), before, k=16, flags=flags)
    expected = product(hf32(a, to_zero), hf32(b, to_zero), before)
    np.testing.assert_array_equal(from_nz(made, 16, 16), expected)
    assert (expected != product(a, b, before)).any()
    assert (expected != product(hf32(a, not to_zero), hf32(b, not to_zero), before)).any()


def test_integers_wrap(kernels: dict[str, Kernel]) -> None:
    ones = np.full((16, 16), 127, np.int8)
    before = np.full((16, 16), 2**31 - 1, np.int32)
    kernel = kernels["mmad_int8_t"]
    made = run(
        kernel, "int8_t", l0a(ones, 32), l0b(ones, 32), before, k=16, flags=(0, 0, 0, 0, 0, 0)
    )
    assert (made[0] == -(2**31) + 127 * 127 * 16 - 1).all()


def test_types_that_do_not_exist(twin: Harness) -> None:
    text = (
        HEAD
        + """
    extern "C" __global__ __cube__ void wrong(GM_ADDR p)
    {
        Mmad(at<half>(TPosition::CO1), at<half>(TPosition::A2), at<half>(TPosition::B2), MmadParams());
    }
    """
    )
    with pytest.raises(AssertionError) as caught:
        twin.compile(text, ["wrong"])
    assert (
        "static assertion failed: Mmad: float = half * half, bfloat16_t * bfloat16_t, "
        "float * float; int32_t = int8_t * int8_t, int4b_t * int4b_t" in str(caught.value)
    )
