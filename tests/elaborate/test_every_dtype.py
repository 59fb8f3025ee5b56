"""Every member of the dtype enumeration in every operation: taken, or refused by name."""

from __future__ import annotations

import pytest

import pypto
from pypto import target
from pypto._options import Options
from pypto.compiler import compile_kernel
from pypto.elaborate import KernelSource
from pypto.elaborate.annotations import signature_of
from pypto.ir.dtype import DataType, stored_dtypes
from pypto.ops import registry
from pypto.ops.spec import REQUIRED
from tests.elaborate.support import Workshop

CALLS = {
    "prelu": "pypto.prelu(x, x[0])", "interleave": "pypto.interleave(x, x)[0]",
    "index_select": "pypto.index_select(x, 0, pypto.arange(4))",
    "quantize": "pypto.quantize(x, pypto.full([4], 1.0, pypto.DT_FP32), pypto.DT_INT8, -1)",
    "dequantize": "pypto.dequantize(x, pypto.full([4], 1.0, pypto.DT_FP32), pypto.DT_FP32, -1)",
    "deinterleave": "pypto.deinterleave(x)[1]", "unpack": "pypto.unpack(x.reshape([32]), x.dtype)",
}  # fmt: skip
ARGUMENTS = {
    "dim": "-1",
    "keepdim": "True",
    "dtype": "pypto.DT_FP32",
    "tensors": "[x, x]",
    "pad": "[0, 8]",
    "num_classes": "8",
    "shape": "[4, 8]",
    "otype": "pypto.DT_FP32",
    "axis": "-1",
}


SHOWN = 50  # statements of one kernel: errors beyond the hundredth are not told


def uses() -> dict[str, str]:
    """A statement for each operation, and for each way to write a tensor, by what it is called."""
    found = {
        "copy": "o[:] = x",
        "move": "o.move(x)",
        "local": "t = pypto.tensor([4, 8], x.dtype); t[:] = x; o[:] = t",
        "tiled copy": "pypto.set_vec_tile_shapes(4, 8); o[:] = x",
        "fill": "o[:] = 0",
        "float fill": "o[:] = 1.5",
        "in place": "o += x",
        "number": "o[:] = x + 1",
        "float number": "o[:] = x * 1.5",
        "number before": "o[:] = 2 / x",
    }
    for name in registry.names():
        if name == "arange":
            continue  # of numbers alone
        needed = [p for p in registry.get(name).params if p.default is REQUIRED]
        words = ("x" if p.kind in ("tensor", "operand") else ARGUMENTS[p.name] for p in needed)
        call = CALLS.get(name, f"pypto.{name}({', '.join(words)})")
        found[name] = f"y = {call}; t = pypto.tensor(y.shape, y.dtype); t[:] = y"
    for dtype in DataType:
        cast = f"pypto.cast(x, pypto.{dtype.name})"
        found[f"cast to {dtype}"] = f"t = pypto.tensor([4, 8], pypto.{dtype.name}); t[:] = {cast}"
    return found


def kernel(dtype: DataType, *lines: str, result: DataType | None = None) -> str:
    written = dtype if result is None else result
    head = f"def k(x: T([4, 8], pypto.{dtype.name}), o: T([4, 8], pypto.{written.name})):\n"
    return head + "".join(f"    {line}\n" for line in lines)


def compile_text(shop: Workshop, text: str) -> str:
    function = shop.module(text)["k"]
    source = KernelSource.capture(function)
    chip = target.get("ascend910b")
    return compile_kernel(source, signature_of(function), Options(), {}, chip).ascendc


def refused_in(error: pypto.PyptoError, names: list[str], dtype: DataType) -> set[str]:
    """What ``error`` refuses of the statements called ``names``; each by the name of the dtype."""
    refused = set()
    for diagnostic in error.diagnostics:
        assert diagnostic.span is not None
        name = names[diagnostic.span.line - 2]
        refused.add(name)
        assert diagnostic.code in ("FC0001", "F00001"), (name, diagnostic.message)
        said = " ".join((diagnostic.message, diagnostic.expected or "", diagnostic.got or ""))
        assert str(dtype) in said, (name, diagnostic.message)
    return refused


@pytest.mark.parametrize("dtype", list(DataType), ids=str)
def test_every_operation_takes_the_dtype_or_refuses_it_by_name(
    shop: Workshop, dtype: DataType
) -> None:
    lines = uses()
    names = list(lines)
    refused = set()
    for first in range(0, len(names), SHOWN):
        part = names[first : first + SHOWN]
        try:
            shop.run(kernel(dtype, *(lines[name] for name in part)))
        except pypto.PyptoError as error:
            refused |= refused_in(error, part, dtype)
    taken = [name for name in lines if name not in refused]
    assert bool(taken) == (dtype in stored_dtypes)
    assert {"copy", "move", "local", "tiled copy"}.isdisjoint(refused) == bool(taken)
    for name in ("copy", "fill", "number"):
        if name in taken:
            assert "__aicore__" in compile_text(shop, kernel(dtype, lines[name])), name
    for other in DataType:
        if f"cast to {other}" in taken:
            line = f"o[:] = pypto.cast(x, pypto.{other.name})"
            assert "__aicore__" in compile_text(shop, kernel(dtype, line, result=other)), other


@pytest.mark.parametrize("dtype", sorted(set(DataType) - stored_dtypes), ids=str)
def test_what_cannot_be_stored(shop: Workshop, dtype: DataType) -> None:
    message = shop.message(kernel(dtype, "o[:] = x"))
    help = "a copy needs the bytes alone: annotate DT_UINT8 and pass x.view(torch.uint8)"
    shown = f"\n  help: {help}" if dtype.torch_name else ""
    assert message == (
        f"ErrCode: FC0001  storing into 'o' does not take {dtype.absent}\n"
        "  expected  one of DT_INT8, DT_INT16, DT_INT32, DT_INT64, DT_FP16, DT_FP32, DT_BF16, "
        "DT_UINT8, DT_UINT16, DT_UINT32, DT_UINT64, DT_BOOL, DT_DOUBLE\n"
        f"  got       {dtype} for 'o'\n"
        "  --> k.py:4:5\n"
        f"  3 | {kernel(dtype)}"
        "  4 |     o[:] = x\n"
        f"    |     ^^^^^^^^{shown}"
    )


def test_a_parameter_that_nothing_touches_may_have_any_dtype(shop: Workshop) -> None:
    for dtype in DataType:
        text = f"def k(x: T([8], pypto.{dtype.name}), o: T([8], FP32)):\n    o[:] = 1\n"
        assert "__aicore__" in compile_text(shop, text), dtype
