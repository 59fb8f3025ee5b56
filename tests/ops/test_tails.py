"""Tiles that do not divide the tensor, in one axis and in both: every element, and none beyond."""

from __future__ import annotations

import pytest
import torch

from pypto.error import TileError
from tests.ops.batch import Batch, make_function
from tests.ops.checks import HEADER

GUARD = 64  # elements before and after each tensor
COLUMNS = (1, 4, 5, 126, 127, 130, 131)
ROWS = (1, 15, 16, 17, 37)
KERNELS = {  # of whole numbers that every type holds
    "FP32": ("x * 2 + y", torch.float32),
    "FP16": ("x - y", torch.float16),
    "INT32": ("x * y", torch.int32),
    "row": ("x + pypto.sum(y, -1, True)", torch.float32),
}


@pytest.fixture(scope="module")
def batch() -> Batch:
    """Each kernel for each width, and once more with widths that the call gives."""
    made = Batch()
    for name, (expression, dtype) in KERNELS.items():
        kind = f"pypto.DT_{'FP32' if name == 'row' else name}"
        for columns in (*COLUMNS, "D"):
            annotation = f"pypto.Tensor([D, {columns}], {kind})"
            text = f"{HEADER}def k_{name}_{columns}(x: {annotation}, y: {annotation}, "
            text += f"o: {annotation}):\n    pypto.set_vec_tile_shapes(16, 32)\n"
            text += f"    o[:] = {expression}\n"
            sample = torch.ones(8, COLUMNS[-1] if columns == "D" else int(columns), dtype=dtype)
            made.add(make_function(text, f"k_{name}_{columns}"), sample, sample, sample.clone())
    made.build()
    return made


def _within_guards(shape: tuple[int, int], dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """A tensor in the middle of a larger one, which is full of 77, and the larger one."""
    whole = torch.full((GUARD + shape[0] * shape[1] + GUARD,), 77).to(dtype)
    return whole[GUARD:-GUARD].view(shape), whole


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("given", [False, True])
def test_tails_of_both_axes(batch: Batch, name: str, given: bool) -> None:
    expression, dtype = KERNELS[name]
    variants = {v.compilation.name: v for v in batch.variants}
    pick = torch.Generator().manual_seed(7)
    for columns in COLUMNS:
        variant = variants[f"k_{name}_{'D' if given else columns}"]
        for rows in ROWS:
            shape = (rows, columns)
            x, y = (torch.randint(-9, 9, shape, generator=pick).to(dtype) for _ in range(2))
            o, whole = _within_guards(shape, dtype)
            for blocks in (1, 3):
                o.fill_(77)
                assert variant.run(x, y, o, blocks=blocks) == 0
                want = eval(expression, {"pypto": torch, "x": x, "y": y})
                assert torch.equal(o, want), (shape, blocks)
                assert (whole[:GUARD] == 77).all() and (whole[-GUARD:] == 77).all()


@pytest.mark.parametrize(
    ("dtype", "last"), [("FP32", 1), ("FP32", 3), ("FP32", 7), ("FP16", 15), ("INT8", 31)]
)
def test_a_tile_that_ends_within_a_block(dtype: str, last: int) -> None:
    """Refused, unless it covers the whole axis."""
    annotation = f"pypto.Tensor([34, {{}}], pypto.DT_{dtype})"
    text = f"{HEADER}def k(x: {annotation}, o: {annotation}):\n"
    text += f"    pypto.set_vec_tile_shapes(16, {last})\n    o[:] = x + x\n"
    if dtype == "INT8":  # this version computes nothing in it
        text = text.replace("x + x", "pypto.cast(pypto.cast(x, pypto.DT_FP16), pypto.DT_INT8)")
    kind = {"FP32": torch.float32, "FP16": torch.float16, "INT8": torch.int8}[dtype]
    x = torch.ones(34, 130, dtype=kind)
    with pytest.raises(TileError) as caught:
        Batch().add(make_function(text.format(130, 130), "k"), x, x.clone())
    shown = str(caught.value)
    operation = "cast" if dtype == "INT8" else "add"
    assert (
        f"the last size of the vector tile is not a multiple of 32 bytes for {operation}\n" in shown
    )
    assert f"got       {last} element{'s' * (last > 1)}, " in shown
    whole = torch.ones(34, last, dtype=kind)
    assert Batch().add(make_function(text.format(last, last), "k"), whole, whole.clone())
