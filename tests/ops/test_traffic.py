"""What a kernel moves, counted by the counting build: each input read once, each output written
once; softmax written as five operations reads and writes its tensor once."""

from __future__ import annotations

import ctypes
import functools

import torch

from tests.ops.batch import Batch, runtime
from tests.ops.checks import Case

GM_TO_UB, UB_TO_GM, _, _, _, SYNC_ALL = range(6)
FP32 = "pypto.Tensor([D, D], pypto.DT_FP32)"
CHAIN = f"""
def chain(x: {FP32}, y: {FP32}, o: {FP32}):
    a = x * 2 + y
    b = pypto.exp(a) / (y + 3)
    o[:] = pypto.maximum(a, b) - x
"""
BIAS = f"""
def bias(x: {FP32}, b: pypto.Tensor([1, D], pypto.DT_FP32), o: {FP32}):
    o[:] = pypto.relu(x + b)
"""
SOFTMAX = """
def softmax(x: pypto.Tensor([D, 4096], pypto.DT_FP32), o: pypto.Tensor([D, 4096], pypto.DT_FP32)):
    pypto.set_vec_tile_shapes(1, 64)
    high = pypto.amax(x, dim=-1, keepdim=True)
    shifted = x - high
    power = pypto.exp(shifted)
    total = pypto.sum(power, dim=-1, keepdim=True)
    o[:] = power / total
"""
STAGES = """
def stages(x: pypto.Tensor([D, D], pypto.DT_FP32), o: pypto.Tensor([1], pypto.DT_FP32)):
    o[:] = pypto.amax(pypto.amax(x, -1), -1)
"""


@functools.cache
def cases() -> dict[str, Case]:
    batch = Batch(kind="counting")
    x, y, row = torch.ones(3, 5), torch.ones(3, 5), torch.ones(1, 5)
    wide = torch.ones(3, 4096)
    made = {
        "chain": Case(batch, CHAIN, "chain", x, y, x.clone()),
        "bias": Case(batch, BIAS, "bias", x, row, x.clone()),
        "softmax": Case(batch, SOFTMAX, "softmax", wide, wide.clone()),
        "stages": Case(batch, STAGES, "stages", x, torch.ones(1)),
    }
    batch.build()
    return made


def counted(name: str, *values: torch.Tensor, **control: int) -> list[int]:
    counters = (ctypes.c_uint64 * 16)()
    library = runtime()
    library.pypto_runtime_counters(counters, ctypes.c_int32(1))
    cases()[name].check(*values, **control)
    library.pypto_runtime_counters(counters, ctypes.c_int32(1))
    return list(counters)


def test_elementwise_chain_moves_its_tensors_once() -> None:
    for shape in ((1, 1), (7, 33), (130, 257), (3, 60001)):
        x, y, o = torch.rand(shape), torch.rand(shape), torch.zeros(shape)
        for control in ({}, {"blocks": 3, "l1_bytes": 2048}):
            found = counted("chain", x, y, o, **control)
            assert found[GM_TO_UB] == 2 * x.nbytes
            assert found[UB_TO_GM] == o.nbytes


def test_bias_is_read_once_a_core() -> None:
    x, row = torch.rand(65, 40), torch.rand(1, 40)
    found = counted("bias", x, row, torch.zeros(65, 40), blocks=1)
    assert found[GM_TO_UB] == x.nbytes + row.nbytes
    assert found[UB_TO_GM] == x.nbytes


def test_softmax_reads_and_writes_once() -> None:
    for rows in (1, 7, 64):
        x = torch.randn(rows, 4096)
        for control in ({}, {"blocks": 4}):
            found = counted("softmax", x, torch.zeros_like(x), **control)
            assert found[GM_TO_UB] == x.nbytes
            assert found[UB_TO_GM] == x.nbytes
            assert found[SYNC_ALL] == 0


def test_cores_wait_once_for_each_other() -> None:
    found = counted("stages", torch.randn(20, 30), torch.zeros(1), blocks=4)
    assert found[SYNC_ALL] == 4  # once on each of four streams
