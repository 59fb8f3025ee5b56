"""What tests of operations that move elements share: inputs of any bits, comparison to the bit."""

from __future__ import annotations

import torch

from pypto.ir.dtype import DataType, stored_dtypes
from tests.ops.batch import Batch, Variant, make_function

HEADER = "import pypto\nD = pypto.DYNAMIC\n"
DTYPES = tuple(sorted(stored_dtypes))
CONTROLS: tuple[dict[str, int], ...] = (
    {}, {"blocks": 3, "l1_bytes": 1024}, {"blocks": 5, "l1_bytes": 16384},
)  # fmt: skip


def kind(dtype: DataType) -> torch.dtype:
    found: torch.dtype = getattr(torch, str(dtype.torch_name))
    return found


def anything(shape: tuple[int, ...], dtype: DataType, seed: int = 0) -> torch.Tensor:
    """Any bits: NaN with payloads, negative zeros, all integers."""
    generator = torch.Generator().manual_seed(seed + sum(shape))
    raw = torch.randint(0, 256, (*shape, dtype.bytes), dtype=torch.uint8, generator=generator)
    if dtype is DataType.DT_BOOL:
        return raw[..., 0] > 127
    return raw.view(kind(dtype)).reshape(shape)


def bits(tensor: torch.Tensor) -> torch.Tensor:
    whole = tensor.clone(memory_format=torch.contiguous_format)  # strides of axes of 1, too
    return whole.view(-1).view(torch.uint8)


def annotation(axes: str, dtype: DataType) -> str:
    """``axes``: a D for each axis of any size, else its size, with commas between them."""
    return f"pypto.Tensor([{axes}], pypto.{dtype})"


def add(batch: Batch, text: str, name: str, *values: object) -> Variant:
    return batch.add(make_function(HEADER + text, name), *values)
