"""Kernels of the cases of reductions."""

from typing import Any

import pypto

# Any: type checkers take a name in an annotation for a type.
MATRIX: Any = pypto.Tensor([pypto.DYNAMIC, pypto.DYNAMIC], pypto.DT_FP32)
CUBE: Any = pypto.Tensor([pypto.DYNAMIC, pypto.DYNAMIC, pypto.DYNAMIC], pypto.DT_FP32)
LINE: Any = pypto.Tensor([pypto.DYNAMIC], pypto.DT_FP32)
PLACES: Any = pypto.Tensor([pypto.DYNAMIC], pypto.DT_INT32)


@pypto.frontend.jit
def sum_first(x: MATRIX, out: LINE):
    out[:] = pypto.sum(x, 0)


@pypto.frontend.jit
def sum_middle(x: CUBE, out: MATRIX):
    out[:] = pypto.sum(x, 1)


@pypto.frontend.jit
def sum_last(x: MATRIX, out: LINE):
    out[:] = pypto.sum(x, 1)


@pypto.frontend.jit
def amax_first(x: MATRIX, out: LINE):
    out[:] = pypto.amax(x, 0)


@pypto.frontend.jit
def argmax_last(x: MATRIX, out: PLACES):
    out[:] = pypto.argmax(x, 1)


@pypto.frontend.jit
def softmax_first(x: MATRIX, out: MATRIX):
    out[:] = pypto.softmax(x, 0)


@pypto.frontend.jit
def cumsum_first(x: MATRIX, out: MATRIX):
    out[:] = pypto.cumsum(x, 0)


@pypto.frontend.jit
def cumsum_last(x: MATRIX, out: MATRIX):
    out[:] = pypto.cumsum(x, 1)
