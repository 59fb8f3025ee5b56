"""``2 ** x``: the base of ``pow`` is a tensor; what the message proposes instead is taken."""

from __future__ import annotations

import pytest

from tests.elaborate.support import Workshop

HEADER = """\
import math
import pypto
from pypto import Tensor as T, DT_FP32, DT_FP16, DT_INT32, DT_INT8
TWO, RATE, ZERO = 2, 0.5, 0.0
"""


def kernel(line: str, dtype: str, result: str | None = None) -> str:
    return (
        f"def k(x: T([8], {dtype}), s: T([8], {dtype}), o: T([8], {result or dtype}), b: float,\n"
        f"      n: int):\n    {line}\n"
    )


ADVICE = [
    ("o[:] = 1 + 2 ** x", "DT_FP32", "2", "write pypto.exp(x * math.log(2))"),
    ("o[:] = RATE ** x", "DT_FP32", "RATE", "write pypto.exp(x * math.log(RATE))"),
    (
        "o[:] = pypto.pow(2, x - 1)", "DT_FP32", "2",
        "write pypto.exp((x - 1) * math.log(2))",
    ),
    ("o[:] = math.e ** -x", "DT_FP32", "math.e", "write pypto.exp(-x)"),
    (
        "o[:] = TWO ** x", "DT_FP16", "TWO",
        "write pypto.cast(pypto.exp(pypto.cast(x, pypto.DT_FP32) * math.log(TWO)), pypto.DT_FP16)",
    ),
    (
        "o[:] = (-2) ** x", "DT_FP32", "-2",
        "make the base a tensor: t = pypto.tensor([1], x.dtype), then t[:] = -2, then t ** x",
    ),
    (
        "t = s\n    o[:] = ZERO ** t", "DT_FP32", "ZERO",
        "make the base a tensor: base = pypto.tensor([1], t.dtype), then base[:] = ZERO, then "
        "base ** t",
    ),
    (
        "o[:] = b ** (x + 1)", "DT_FP32", "b",
        "make the base a tensor: t = pypto.tensor([1], pypto.DT_FP32), then t[:] = b, then "
        "t ** (x + 1)",
    ),
    (
        "o[:] = TWO ** x", "DT_INT32", "TWO",
        "make the base a tensor: t = pypto.tensor([1], x.dtype), then t[:] = TWO, then t ** x",
    ),
    (
        "o[:] = n ** x", "DT_INT8", "n",
        "make the base a tensor: t = pypto.tensor([1], pypto.DT_INT32), then t[:] = n, then "
        "t ** pypto.cast(x, pypto.DT_INT32)",
    ),
    (
        "o[:] = RATE ** x", "DT_INT8", "RATE",
        "make the base a tensor: t = pypto.tensor([1], pypto.DT_FP32), then t[:] = RATE, then "
        "t ** pypto.cast(x, pypto.DT_INT32)",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("line", "dtype", "base", "help"), ADVICE)
def test_advice(shop: Workshop, line: str, dtype: str, base: str, help: str) -> None:
    names = shop.module(kernel(line, dtype), HEADER)
    with pytest.raises(TypeError) as caught:
        shop.elaborate(names["k"])
    lines = str(caught.value).splitlines()
    assert lines[0] == "ErrCode: F00001  pow: 'input' must be a tensor"
    assert lines[-1] == f"  help: {help}"
    source, caret = lines[-3:-1]
    column = caret.index("^")
    assert source[column : column + caret.count("^")] == base


def test_the_whole_message(shop: Workshop) -> None:
    text = kernel("o[:] = 2 ** x", "FP32")
    assert shop.message(text, "k") == (
        "ErrCode: F00001  pow: 'input' must be a tensor\n"
        "  expected  a tensor\n"
        "  got       2 (int)\n"
        "  --> k.py:5:12\n"
        "  4 |       n: int):\n"
        "  5 |     o[:] = 2 ** x\n"
        "    |            ^\n"
        "  help: write pypto.exp(x * math.log(2)), with import math at the top of the module"
    )


RESULTS = {"DT_INT8": "DT_INT32"}


@pytest.mark.parametrize(("line", "dtype", "base", "help"), ADVICE)
def test_what_is_proposed_is_taken(
    shop: Workshop, line: str, dtype: str, base: str, help: str
) -> None:
    if help.startswith("write "):
        lines = [f"o[:] = {help.removeprefix('write ')}"]
    else:
        lines = help.removeprefix("make the base a tensor: ").split(", then ")
        lines[-1] = f"o[:] = {lines[-1]}"
    lines = [*line.split("\n    ")[:-1], *lines]
    result = RESULTS.get(dtype, dtype) if base != "RATE" else "DT_FP32"
    names = shop.module(kernel("\n    ".join(lines), dtype, result), HEADER)
    shop.elaborate(names["k"])


def test_other_bases_and_exponents(shop: Workshop) -> None:
    """Powers of two numbers, and of what is no number, have the message of every operation."""
    for line, got in (
        ("o[:] = pypto.pow(2, 3)", "2 (int)"),
        ("o[:] = pypto.pow('a', x)", "'a' (str)"),
    ):
        message = shop.message(kernel(line, "FP32"), "k")
        assert f"  got       {got}\n" in message
        help = "precision_type=pypto.PrecisionType.HIGH_PRECISION"
        assert message.endswith(f"  help: pypto.pow(input, other, {help})")
    shop.elaborate(shop.module(kernel("o[:] = x ** s", "FP32"))["k"])
