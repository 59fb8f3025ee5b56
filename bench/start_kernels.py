"""Small kernels whose first calls are timed."""

from typing import Any

import pypto

SHAPE = (1, 4, 1, 64)


@pypto.frontend.jit
def gelu(
    x: pypto.Tensor(SHAPE, pypto.DT_FP32),
    bias: pypto.Tensor(SHAPE, pypto.DT_FP32),
    out: pypto.Tensor(SHAPE, pypto.DT_FP32),
):
    pypto.set_vec_tile_shapes(1, 4, 1, 64)
    cube = x * x * x
    out[:] = 0.5 * x * (1 + pypto.tanh(0.79788 * (x + 0.044715 * cube))) + bias


def scaled(factor: float) -> Any:
    """A kernel of its own for each factor: the factor is captured, so it is part of the key."""

    @pypto.frontend.jit
    def kernel(
        x: pypto.Tensor(SHAPE, pypto.DT_FP32),
        y: pypto.Tensor(SHAPE, pypto.DT_FP32),
        out: pypto.Tensor(SHAPE, pypto.DT_FP32),
    ):
        pypto.set_vec_tile_shapes(1, 4, 1, 64)
        out[:] = x * factor + y

    return kernel
