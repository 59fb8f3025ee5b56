"""The kernels that are measured on the checked twin: functions, which each twin decorates."""

import pypto

COLUMNS = 1024


def add(
    x: pypto.Tensor([pypto.DYNAMIC, 1024], pypto.DT_FP32),
    y: pypto.Tensor([pypto.DYNAMIC, 1024], pypto.DT_FP32),
    out: pypto.Tensor([pypto.DYNAMIC, 1024], pypto.DT_FP32),
):
    out[:] = x + y


def gelu(
    x: pypto.Tensor([pypto.DYNAMIC, 1024], pypto.DT_FP32),
    out: pypto.Tensor([pypto.DYNAMIC, 1024], pypto.DT_FP32),
):
    cube = x * x * x
    out[:] = 0.5 * x * (1 + pypto.tanh(0.79788 * (x + 0.044715 * cube)))


def softmax(
    x: pypto.Tensor([pypto.DYNAMIC, 1024], pypto.DT_FP32),
    out: pypto.Tensor([pypto.DYNAMIC, 1024], pypto.DT_FP32),
):
    out[:] = pypto.softmax(x, -1)
