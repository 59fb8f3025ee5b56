"""When one tile is too large: the tensors read, the result and the scratch of one operation."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch

from pypto import target
from pypto.error import TileError
from tests.ops.batch import Batch, Variant, make_function
from tests.ops.checks import HEADER

BUDGET = target.get().ub_budget
VECTOR, MATRIX = "pypto.Tensor([D], pypto.DT_{})", "pypto.Tensor([D, D], pypto.DT_{})"
TORCH = {
    "FP32": torch.float32, "FP16": torch.float16, "BF16": torch.bfloat16, "INT32": torch.int32,
    "INT16": torch.int16,
}  # fmt: skip


def compiled(
    tile: tuple[int, ...], body: str, dtype: str, names: str = "xyo", kind: str = VECTOR
) -> Variant:
    params = ", ".join(f"{n}: {kind.format(dtype)}" for n in names)
    shape = tuple(64 if size < 64 else size for size in tile)
    values = [torch.ones(shape, dtype=TORCH[dtype]) for _ in names]
    text = f"{HEADER}def k({params}):\n    pypto.set_vec_tile_shapes{tile}\n    {body}\n"
    return Batch().add(make_function(text, "k"), *values)


def refused(
    tile: tuple[int, ...], body: str, dtype: str, names: str = "xyo", kind: str = VECTOR
) -> str:
    with pytest.raises(TileError) as caught:
        compiled(tile, body, dtype, names, kind)
    return str(caught.value)


# Bytes per element of what counts: the operands, the result, and what lives between them.
CASES = [
    ("FP32", "o[:] = pypto.exp(x)", "xo", 4 + 4),
    ("FP16", "o[:] = pypto.abs(x)", "xo", 2 + 2),
    ("INT32", "o[:] = x + y", "xyo", 4 + 4 + 4),
    ("INT16", "o[:] = x + y", "xyo", 2 + 2 + 2),
    ("FP32", "o[:] = x + x", "xo", 4 + 4),  # read once
    ("BF16", "o[:] = x + y", "xyo", 2 + 2 + 2 + 4 + 4 + 4),  # both in FP32, and their sum
    ("FP16", "o[:] = pypto.sigmoid(x)", "xo", 2 + 2 + 4 + 4),
    ("FP32", "t = x * 2\n    o[:] = (t + y) * t", "xyo", 12),  # operation by operation
    (
        "FP32",  # five values that live at once: cut into stages before a tile is refused
        "a, b, c, d, e = x * 2, x + 1, x - 3, x * x, x + x\n    o[:] = (a + b) * (c + d) * e",
        "xo",
        12,
    ),
    ("FP32", "o[:] = pypto.cast(x, pypto.DT_FP32)", "xo", 0),  # nothing to compute
]


@pytest.mark.parametrize(("dtype", "body", "names", "each"), CASES)
def test_the_bound_is_exact(dtype: str, body: str, names: str, each: int) -> None:
    unit = 32 // TORCH[dtype].itemsize
    largest = BUDGET // each // unit * unit if each else 16 * BUDGET
    assert compiled((largest,), body, dtype, names)
    if each:
        message = refused((largest + unit,), body, dtype, names)
        assert f"got       {(largest + unit) * each} bytes" in message
        proposed = eval(message.rsplit("pypto.set_vec_tile_shapes", 1)[1])
        assert compiled((proposed,), body, dtype, names)


def test_rows_take_whole_blocks() -> None:
    """A row of 3 elements takes 32 bytes on chip."""
    rows = BUDGET // 64
    assert compiled((rows, 64), "o[:] = x", "FP32", "xo", MATRIX)
    text = f"{HEADER}def k(x: pypto.Tensor, o: pypto.Tensor):\n"
    text += "    pypto.set_vec_tile_shapes({}, 3)\n    o[:] = pypto.exp(x)\n"
    x = torch.ones(rows + 1, 3)
    assert Batch().add(make_function(text.format(rows), "k"), x, x.clone())
    with pytest.raises(TileError, match=rf"got       {64 * (rows + 1)} bytes"):
        Batch().add(make_function(text.format(rows + 1), "k"), x, x.clone())


def test_the_tile_is_cut_to_the_tensor_first() -> None:
    text = f"{HEADER}def k(x: pypto.Tensor, o: pypto.Tensor):\n"
    text += "    pypto.set_vec_tile_shapes(4096, 4096)\n    o[:] = pypto.exp(x)\n"
    x = torch.ones(16, 64)
    assert Batch().add(make_function(text, "k"), x, x.clone())


def test_the_whole_message(golden: Callable[[str, str], None]) -> None:
    """One operation is shown; what is proposed fits all operations under the tile."""
    body = "o[:] = pypto.tanh(x + 1) * y"
    message = refused((48, 1024), body, "BF16", kind=MATRIX)
    golden("errors/tile-with-scratch", re.sub(r"<kernel text \d+>", "<text>", message))
    assert compiled((4, 1024), body, "BF16", kind=MATRIX)
