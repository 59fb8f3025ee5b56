"""The kernels that are measured."""

import pypto

ROWS = COLUMNS = 4096


@pypto.frontend.jit
def add(
    x: pypto.Tensor([pypto.DYNAMIC, 4096], pypto.DT_FP32),
    y: pypto.Tensor([pypto.DYNAMIC, 4096], pypto.DT_FP32),
    out: pypto.Tensor([pypto.DYNAMIC, 4096], pypto.DT_FP32),
):
    pypto.set_vec_tile_shapes(8, 512)
    out[:] = x + y


@pypto.frontend.jit
def gelu_bias(
    x: pypto.Tensor([pypto.DYNAMIC, 4096], pypto.DT_FP32),
    bias: pypto.Tensor([1, 4096], pypto.DT_FP32),
    out: pypto.Tensor([pypto.DYNAMIC, 4096], pypto.DT_FP32),
):
    pypto.set_vec_tile_shapes(8, 512)
    cube = x * x * x
    out[:] = 0.5 * x * (1 + pypto.tanh(0.79788 * (x + 0.044715 * cube))) + bias


@pypto.frontend.jit
def softmax(
    x: pypto.Tensor([pypto.DYNAMIC, 4096], pypto.DT_FP32),
    out: pypto.Tensor([pypto.DYNAMIC, 4096], pypto.DT_FP32),
):
    pypto.set_vec_tile_shapes(4, 4096)
    e = pypto.exp(x - pypto.amax(x, dim=-1, keepdim=True))
    out[:] = e / pypto.sum(e, dim=-1, keepdim=True)


@pypto.frontend.jit
def transpose(
    x: pypto.Tensor([pypto.DYNAMIC, 4096], pypto.DT_FP32),
    out: pypto.Tensor([4096, pypto.DYNAMIC], pypto.DT_FP32),
):
    out[:] = x.transpose(0, 1)


@pypto.frontend.jit
def concat(
    x: pypto.Tensor([pypto.DYNAMIC, 2048], pypto.DT_FP32),
    y: pypto.Tensor([pypto.DYNAMIC, 2048], pypto.DT_FP32),
    out: pypto.Tensor([pypto.DYNAMIC, 4096], pypto.DT_FP32),
):
    out[:] = pypto.concat([x, y], -1)


@pypto.frontend.jit
def pad(
    x: pypto.Tensor([pypto.DYNAMIC, 4000], pypto.DT_FP32),
    out: pypto.Tensor([pypto.DYNAMIC, 4096], pypto.DT_FP32),
):
    out[:] = pypto.pad(x, [0, 96, 0, 96])


@pypto.frontend.jit
def tiny_tile(
    x: pypto.Tensor((32, 32, 1, 256), pypto.DT_FP32),
    y: pypto.Tensor((32, 32, 1, 256), pypto.DT_FP32),
    out: pypto.Tensor((32, 32, 1, 256), pypto.DT_FP32),
):
    pypto.set_vec_tile_shapes(1, 4, 1, 64)
    out[:] = x + y


SMALL = (1, 4, 1, 64)
A, B, C, D, E, F, G, H, I, J = (float(n) for n in range(10))  # noqa: E741


@pypto.frontend.jit
def small_0(
    x: pypto.Tensor(SMALL, pypto.DT_FP32),
    y: pypto.Tensor(SMALL, pypto.DT_FP32),
    out: pypto.Tensor(SMALL, pypto.DT_FP32),
):
    out[:] = x + y


@pypto.frontend.jit
def small_3(
    x: pypto.Tensor(SMALL, pypto.DT_FP32),
    y: pypto.Tensor(SMALL, pypto.DT_FP32),
    out: pypto.Tensor(SMALL, pypto.DT_FP32),
):
    out[:] = x + y + (A + B + C)


@pypto.frontend.jit
def small_10(
    x: pypto.Tensor(SMALL, pypto.DT_FP32),
    y: pypto.Tensor(SMALL, pypto.DT_FP32),
    out: pypto.Tensor(SMALL, pypto.DT_FP32),
):
    out[:] = x + y + (A + B + C + D + E + F + G + H + I + J)
