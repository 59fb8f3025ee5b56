"""The same small kernel for numba, with its cache on disk (NUMBA_CACHE_DIR)."""

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True)
def gelu(x: Any, bias: Any, out: Any) -> None:
    for r in range(x.shape[0]):
        for c in range(x.shape[1]):
            v = x[r, c]
            t = np.tanh(np.float32(0.79788) * (v + np.float32(0.044715) * v * v * v))
            out[r, c] = np.float32(0.5) * v * (np.float32(1) + t) + bias[r, c]
