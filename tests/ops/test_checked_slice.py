"""A slice of the suite on the checked twin, by default: each kind of operation, one compilation.

``tox -e checked`` runs the whole suite so."""

from __future__ import annotations

import functools

import pytest
import torch

from pypto.ir.dtype import DataType
from pypto.ops import registry
from tests.ops.batch import Batch
from tests.ops.checks import Case, filled

FP32, BF16, FP16, INT32 = "DT_FP32", "DT_BF16", "DT_FP16", "DT_INT32"
KINDS = {FP32: torch.float32, BF16: torch.bfloat16, FP16: torch.float16, INT32: torch.int32}
SPECS = tuple(map(registry.get, registry.names()))
SIZES = (1, 7, 64, 1009)


def named(kinds: list[str], dtype: DataType) -> list[str]:
    """Operations of operands of these kinds alone, beside options."""
    return [
        spec.name
        for spec in SPECS
        if [p.kind for p in spec.params if p.kind != "enum"] == kinds and dtype in spec.dtypes
    ]


# Truth values have cases of their own, and long formulas take g++ long.
BRIEF = {
    "abs", "add", "ceil", "div", "exp", "floor", "log", "maximum", "minimum", "mul", "neg",
    "reciprocal", "relu", "round", "rsqrt", "sigmoid", "sqrt", "square", "sub", "tanh", "trunc",
}  # fmt: skip
ONE = [name for name in named(["tensor"], DataType.DT_FP32) if name in BRIEF]
TWO = [name for name in named(["operand", "operand"], DataType.DT_FP32) if name in BRIEF]
# name: dtypes of the inputs, rank, and (dtype, expression) of each output
KERNELS: dict[str, tuple[tuple[str, ...], int, list[tuple[str, str]]]] = {
    "one_operand": ((FP32,), 1, [(FP32, f"pypto.{name}(x)") for name in ONE]),
    "two_operands": ((FP32, FP32), 1, [(FP32, f"pypto.{name}(x, y)") for name in TWO]),
    "half": ((FP16, FP16), 1, [(FP16, "pypto.exp(x) + y * 0.5"), (FP16, "pypto.maximum(x, y)")]),
    "bfloat": ((BF16, BF16), 1, [(BF16, "pypto.sigmoid(x) * y"), (BF16, "x - y")]),
    "integers": ((INT32, INT32), 1, [(INT32, "x * y + 3"), (INT32, "pypto.minimum(x, y)")]),
    "casts": (
        (FP32, INT32),
        1,
        [(t, f"pypto.cast({v}, pypto.{t})") for v in "xy" for t in (BF16, FP16, INT32, FP32)],
    ),
    "rows": (
        (FP32,),
        2,
        [
            (FP32, "x - pypto.amax(x, -1, keepdim=True)"),
            (FP32, "x + pypto.amin(x, -1, keepdim=True)"),
            (FP32, "x * pypto.sum(x, -1, keepdim=True)"),
            (FP32, "pypto.softmax(x, -1)"),
        ],
    ),
    "half_rows": ((BF16,), 2, [(BF16, "pypto.softmax(x, -1)")]),
}


@functools.cache
def cases() -> dict[str, Case]:
    batch = Batch("checked")
    made = {}
    for name, (inputs, rank, outputs) in KERNELS.items():
        axes = ", ".join(["D"] * rank)
        dtypes = [*inputs, *(dtype for dtype, _ in outputs)]
        names = [*"xy"[: len(inputs)], *(f"o{n}" for n in range(len(outputs)))]
        params = ", ".join(
            f"{n}: pypto.Tensor([{axes}], pypto.{d})" for n, d in zip(names, dtypes, strict=True)
        )
        body = "".join(f"    o{n}[:] = {text}\n" for n, (_, text) in enumerate(outputs))
        values = (torch.ones([9] * rank, dtype=KINDS[dtype]) for dtype in dtypes)
        made[name] = Case(batch, f"def {name}({params}):\n{body}", name, *values)
    made["stages"] = Case(
        batch,
        "def stages(x: pypto.Tensor([D, D], pypto.DT_FP32), o: pypto.Tensor([1], pypto.DT_FP32),\n"
        "           p: pypto.Tensor([D, D], pypto.DT_FP32)):\n"
        "    o[:] = pypto.amax(pypto.amax(x, -1), -1)\n"
        "    p[:] = x * 2\n",
        "stages",
        torch.ones(9, 9),
        torch.ones(1),
        torch.ones(9, 9),
    )
    batch.build()
    return made


def values_of(dtype: str, shape: tuple[int, ...]) -> torch.Tensor:
    generator = torch.Generator().manual_seed(len(shape))
    values = torch.rand(shape, generator=generator) * 3 + 0.25
    return values.to(KINDS[dtype])


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_keep_the_rules(name: str) -> None:
    inputs, rank, outputs = KERNELS[name]
    for size in SIZES:
        shape = (size,) if rank == 1 else (37, size)
        given = [values_of(dtype, shape) for dtype in inputs]
        empty = [filled(torch.empty(shape, dtype=KINDS[dtype])) for dtype, _ in outputs]
        cases()[name].check(*given, *empty, blocks=3, l1_bytes=4096)


def test_stages_keep_the_rules() -> None:
    x = values_of(FP32, (100, 40))
    cases()["stages"].check(x, torch.zeros(1), filled(x), blocks=4, l1_bytes=4096)
