"""The same operators as a user of NumPy, numba or torch would write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

__all__ = [
    "gelu_formula",
    "numba_add",
    "numba_gelu",
    "numba_softmax",
    "numpy_gelu",
    "numpy_softmax",
]

Array = np.ndarray[Any, np.dtype[np.float32]]


def gelu_formula(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """As one writes it in torch."""
    return 0.5 * x * (1 + torch.tanh(0.79788 * (x + 0.044715 * x**3))) + bias


def numpy_gelu(x: Array, bias: Array, out: Array) -> None:
    """In place in ``out``: the fewest temporaries that NumPy allows."""
    np.multiply(x, x, out=out)
    np.multiply(out, x, out=out)
    np.multiply(out, np.float32(0.044715), out=out)
    np.add(out, x, out=out)
    np.multiply(out, np.float32(0.79788), out=out)
    np.tanh(out, out=out)
    np.add(out, np.float32(1), out=out)
    np.multiply(out, x, out=out)
    np.multiply(out, np.float32(0.5), out=out)
    np.add(out, bias, out=out)


def numpy_softmax(x: Array, out: Array) -> None:
    """In place in ``out``."""
    np.subtract(x, x.max(axis=-1, keepdims=True), out=out)
    np.exp(out, out=out)
    np.divide(out, out.sum(axis=-1, keepdims=True), out=out)


def numba_add() -> Callable[..., object]:
    """Compiled by numba for all threads; any rank."""
    from numba import njit, prange

    @njit(parallel=True)
    def run(x, y, out):  # type: ignore[no-untyped-def]
        for i in prange(x.size):
            out[i] = x[i] + y[i]

    def flat(x: Array, y: Array, out: Array) -> None:
        run(x.reshape(-1), y.reshape(-1), out.reshape(-1))

    return flat


def numba_gelu() -> Callable[..., object]:
    """One loop nest over rows, compiled by numba for all threads."""
    from numba import njit, prange

    half, one, scale, cubic = (np.float32(v) for v in (0.5, 1.0, 0.79788, 0.044715))

    @njit(parallel=True)
    def run(x, bias, out):  # type: ignore[no-untyped-def]
        for r in prange(x.shape[0]):
            for c in range(x.shape[1]):
                v = x[r, c]
                t = np.tanh(scale * (v + cubic * v * v * v))
                out[r, c] = half * v * (one + t) + bias[0, c]

    result: Callable[..., object] = run
    return result


def numba_softmax() -> Callable[..., object]:
    """Three loops a row, compiled by numba for all threads."""
    from numba import njit, prange

    @njit(parallel=True)
    def run(x, out):  # type: ignore[no-untyped-def]
        for r in prange(x.shape[0]):
            top = x[r, 0]
            for c in range(x.shape[1]):
                top = max(top, x[r, c])
            total = np.float32(0)
            for c in range(x.shape[1]):
                out[r, c] = np.exp(x[r, c] - top)
                total += out[r, c]
            for c in range(x.shape[1]):
                out[r, c] /= total

    result: Callable[..., object] = run
    return result
