"""Examples of the documentation that are written by hand: a kernel and what it prints, by group."""

from __future__ import annotations

__all__ = ["EXAMPLES"]

_MOVEMENT = """\
import torch

import pypto

X = pypto.Tensor([2, 4], pypto.DT_INT32)


@pypto.frontend.jit
def movement(
    x: X,
    y: X,
    joined: pypto.Tensor([2, 8], pypto.DT_INT32),
    padded: pypto.Tensor([3, 5], pypto.DT_INT32),
    repeated: pypto.Tensor([2, 3], pypto.DT_INT32),
    odd: pypto.Tensor([2, 2], pypto.DT_INT32),
    woven: X,
    packed: pypto.Tensor([32], pypto.DT_UINT8),
):
    joined[:] = pypto.concat([x, y], dim=-1)
    padded[:] = x.pad([0, 1, 0, 1], value=-1)
    repeated[:] = pypto.expand_clone(x[:, 1:2], [2, 3])
    first, second = pypto.deinterleave(x)
    odd[:] = second
    one, other = pypto.interleave(x, y)
    woven[:] = one
    packed[:] = pypto.pack(x)


x = torch.arange(8, dtype=torch.int32).reshape(2, 4)
results = {
    "concat": torch.empty(2, 8, dtype=torch.int32),
    "pad": torch.empty(3, 5, dtype=torch.int32),
    "expand_clone": torch.empty(2, 3, dtype=torch.int32),
    "deinterleave": torch.empty(2, 2, dtype=torch.int32),
    "interleave": torch.empty(2, 4, dtype=torch.int32),
    "pack": torch.empty(32, dtype=torch.uint8),
}
movement(x, x + 10, *results.values())
for name, result in results.items():
    print(name, result[:9].tolist())
"""
_MOVED = """\
concat [[0, 1, 2, 3, 10, 11, 12, 13], [4, 5, 6, 7, 14, 15, 16, 17]]
pad [[0, 1, 2, 3, -1], [4, 5, 6, 7, -1], [-1, -1, -1, -1, -1]]
expand_clone [[1, 1, 1], [5, 5, 5]]
deinterleave [[1, 3], [5, 7]]
interleave [[0, 10, 1, 11], [4, 14, 5, 15]]
pack [0, 0, 0, 0, 1, 0, 0, 0, 2]
"""

_CREATION = """\
import torch

import pypto


@pypto.frontend.jit
def creation(
    x: pypto.Tensor([3, 4], pypto.DT_INT32),
    y: pypto.Tensor([3], pypto.DT_INT32),
    steps: pypto.Tensor([4], pypto.DT_FP32),
    hot: pypto.Tensor([3, 4], pypto.DT_INT64),
    lower: pypto.Tensor([3, 4], pypto.DT_INT32),
    upper: pypto.Tensor([3, 4], pypto.DT_INT32),
):
    steps[:] = pypto.arange(1.0, 3, 0.5)
    hot[:] = pypto.one_hot(y, 4)
    lower[:] = pypto.tril(x)
    upper[:] = x.triu(diagonal=1)


x = torch.arange(1, 13, dtype=torch.int32).reshape(3, 4)
y = torch.tensor([2, 0, 3], dtype=torch.int32)
results = {
    "arange": torch.empty(4),
    "one_hot": torch.empty(3, 4, dtype=torch.int64),
    "tril": torch.empty(3, 4, dtype=torch.int32),
    "triu": torch.empty(3, 4, dtype=torch.int32),
}
creation(x, y, *results.values())
for name, result in results.items():
    print(name, result.tolist())
"""
_CREATED = """\
arange [1.0, 1.5, 2.0, 2.5]
one_hot [[0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 1]]
tril [[1, 0, 0, 0], [5, 6, 0, 0], [9, 10, 11, 0]]
triu [[0, 2, 3, 4], [0, 0, 7, 8], [0, 0, 0, 12]]
"""

_QUANTIZATION = """\
import torch

import pypto

Rows = pypto.Tensor([pypto.DYNAMIC, 4], pypto.DT_FP32)


@pypto.frontend.jit
def quantization(
    x: Rows,
    bytes: pypto.Tensor([pypto.DYNAMIC, 4], pypto.DT_INT8),
    scales: pypto.Tensor([pypto.DYNAMIC], pypto.DT_FP32),
    back: Rows,
):
    largest = x.abs().amax(-1)
    q = pypto.quantize(x, 127.0 / largest, pypto.DT_INT8, axis=-1)
    bytes[:] = q
    scales[:] = largest / 127.0
    back[:] = pypto.dequantize(q, largest / 127.0, pypto.DT_FP32, axis=-1)


x = torch.tensor([[1.0, -0.5, 0.25, 0.125], [3.0, 5.08, -12.7, 0.04]])
results = {
    "bytes": torch.empty(2, 4, dtype=torch.int8),
    "scales": torch.empty(2),
    "back": torch.empty(2, 4),
}
quantization(x, *results.values())
for name, result in results.items():
    rounded = [[round(v, 4) for v in row] for row in result.reshape(2, -1).tolist()]
    print(name, rounded)
"""
_QUANTIZED = """\
bytes [[127, -64, 32, 16], [30, 51, -127, 0]]
scales [[0.0079], [0.1]]
back [[1.0, -0.5039, 0.252, 0.126], [3.0, 5.1, -12.7, 0.0]]
"""

_INDEXING = """\
import torch

import pypto

Rows = pypto.Tensor([pypto.DYNAMIC, 4], pypto.DT_FP32)


@pypto.frontend.jit
def indexing(
    table: Rows,
    index: pypto.Tensor([pypto.DYNAMIC], pypto.DT_INT32),
    rows: Rows,
    columns: pypto.Tensor([pypto.DYNAMIC, pypto.DYNAMIC], pypto.DT_FP32),
):
    rows[:] = pypto.index_select(table, 0, index)
    columns[:] = pypto.index_select(table, 1, index)


table = torch.arange(12.0).reshape(3, 4)
index = torch.tensor([2, 0], dtype=torch.int32)
results = {"rows": torch.empty(2, 4), "columns": torch.empty(3, 2)}
indexing(table, index, *results.values())
for name, result in results.items():
    print(name, result.tolist())
"""
_INDEXED = """\
rows [[8.0, 9.0, 10.0, 11.0], [0.0, 1.0, 2.0, 3.0]]
columns [[2.0, 0.0], [6.0, 4.0], [10.0, 8.0]]
"""

EXAMPLES: dict[str, tuple[str, str]] = {
    "movement": (_MOVEMENT, _MOVED),
    "creation": (_CREATION, _CREATED),
    "quantization": (_QUANTIZATION, _QUANTIZED),
    "indexing": (_INDEXING, _INDEXED),
}
"""The text of a program and its output; the tests of the documentation run them."""
