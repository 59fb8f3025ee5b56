# ruff: noqa: E501 (lines of the C++ texts)
"""The cube unit's memories in NumPy: fractals, and the C++ that test kernels share.

``HEAD`` gives kernels ``poke`` and ``peek``: bytes between global memory and an on-chip tensor past
all instructions, as L0A and L0B have no way out on the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]

CTYPE: dict[str, Any] = {
    "half": np.float16,
    "bfloat16_t": np.uint16,
    "float": np.float32,
    "int8_t": np.int8,
    "uint8_t": np.uint8,
    "int16_t": np.int16,
    "uint16_t": np.uint16,
    "int32_t": np.int32,
    "uint32_t": np.uint32,
}

HEAD = """
using namespace AscendC;
template <typename T> __aicore__ inline LocalTensor<T> at(TPosition position, uint32_t byte = 0)
{ return LocalTensor<T>(position, byte, 0); }
template <typename T> __aicore__ inline void poke(const LocalTensor<T>& t, GM_ADDR from, uint64_t bytes)
{ __builtin_memcpy(static_cast<void*>(t.GetPhyAddr()), from, bytes); }
template <typename T> __aicore__ inline void peek(const LocalTensor<T>& t, GM_ADDR to, uint64_t bytes)
{ __builtin_memcpy(to, static_cast<void*>(t.GetPhyAddr()), bytes); }
template <typename T> __aicore__ inline GlobalTensor<T> gm(GM_ADDR p)
{ GlobalTensor<T> t; t.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(p)); return t; }
"""


def up(value: int, unit: int) -> int:
    """``value`` rounded up to a multiple of ``unit``."""
    return -(-value // unit) * unit


def to_bfloat16(x: Array) -> Array:
    """Bits of float values rounded to bfloat16, half to even."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))) >> np.uint64(16)).astype(
        np.uint16
    )


def from_bfloat16(bits: Array) -> Array:
    """The float values of bfloat16 bits."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def matrix(random: np.random.Generator, name: str, rows: int, cols: int) -> Array:
    """Elements of the C++ type ``name``: small numbers, as bits for bfloat16."""
    if name == "bfloat16_t":
        return to_bfloat16(random.uniform(-2, 2, (rows, cols)).astype(np.float32))
    if name in ("half", "float"):
        return random.uniform(-2, 2, (rows, cols)).astype(CTYPE[name])
    limits = np.iinfo(CTYPE[name])
    return random.integers(limits.min, limits.max, (rows, cols), CTYPE[name], endpoint=True)


def values(name: str, x: Array) -> Array:
    """Elements as numbers: bits of bfloat16 as float."""
    return from_bfloat16(x) if name == "bfloat16_t" else x


def fractals(x: Array, c0: int) -> Array:
    """``x[rows, cols]`` as fractals row by row, each [16 rows][c0 cols]; filled up with zeros."""
    rows, cols = up(x.shape[0], 16), up(x.shape[1], c0)
    whole = np.zeros((rows, cols), x.dtype)
    whole[: x.shape[0], : x.shape[1]] = x
    return whole.reshape(rows // 16, 16, cols // c0, c0).swapaxes(1, 2)


def l0a(a: Array, c0: int) -> Array:
    """A[m, k] as L0A holds it."""
    return fractals(a, c0)


def l0b(b: Array, c0: int) -> Array:
    """B[k, n] as L0B holds it: fractals row by row over (k, n), each [16 n][c0 k]."""
    return fractals(b.T, c0).swapaxes(0, 1)


def nz(x: Array, width: int, rows: int | None = None) -> Array:
    """``x[rows, cols]`` as strips of ``width`` columns, ``rows`` rows each; filled with zeros."""
    height, cols = rows or x.shape[0], up(x.shape[1], width)
    whole = np.zeros((height, cols), x.dtype)
    whole[: x.shape[0], : x.shape[1]] = x
    return whole.reshape(height, cols // width, width).swapaxes(0, 1)


def from_nz(strips: Array, rows: int, cols: int) -> Array:
    """``[strips][rows][width]`` as a matrix, cut to ``rows`` and ``cols``."""
    return strips.swapaxes(0, 1).reshape(strips.shape[1], -1)[:rows, :cols]


def image(n: int, seed: int = 1) -> Bytes:
    """Random bytes: what memory holds before."""
    return np.random.default_rng(seed).integers(0, 256, n, dtype=np.uint8)
