"""A kernel by torch and by its Tensor IR, or compiled: they leave the same in its arguments."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from pypto.ir.tensor_print import print_kernel
from tests.differential import interpreter, shim
from tests.differential.compare import copied, front_end
from tests.ops.batch import Batch, make_function

__all__ = ["HEADER", "TWINS", "agree", "agree_calls", "agree_compiled", "count"]

HEADER = "import pypto\nfrom pypto import Tensor as T, DT_FP32 as FP32, DT_INT32 as I32\n"
TWINS = ("fast", "checked")


def count(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """1, 2, 3, … in this shape."""
    return (torch.arange(torch.Size(shape).numel()) + 1).reshape(shape).to(dtype)


def agree(text: str, *values: Any, header: str = HEADER) -> str:
    """Run the kernel ``k`` both ways on copies of ``values``; its Tensor IR."""
    return agree_calls(text, [values], header)


def agree_calls(text: str, calls: Sequence[Sequence[Any]], header: str = HEADER) -> str:
    """:func:`agree` for several calls of one kernel, which is read once."""
    text = header + textwrap.dedent(text)
    made = front_end(make_function(text, "k"), calls[0])
    assert len(calls) == 1 or not made.specialised
    level = print_kernel(made.kernel)
    for values in calls:
        want, got = copied(values), copied(values)
        shim.run(text, "k", want)
        interpreter.interpret(made.kernel, got)
        _check(got, want, f"{values[1:]}\n{level}")
    return level


def agree_compiled(
    cases: Iterable[tuple[str, Sequence[Sequence[Any]]]], kind: str, header: str = HEADER
) -> None:
    """Run kernels ``k`` by torch and compiled together for ``kind`` of the twin; each with the
    values of several calls, on cores of two numbers."""
    batch, made = Batch(kind), []
    for number, (text, calls) in enumerate(cases):
        text = header + textwrap.dedent(text).replace("def k(", f"def k{number}(")
        function = make_function(text, f"k{number}")
        made.append((text, f"k{number}", calls, batch.add(function, *calls[0])))
    batch.build()
    for text, name, calls, variant in made:
        for values in calls:
            want = copied(values)
            shim.run(text, name, want)
            for control in ({}, {"blocks": 3, "workers": 2}):
                got = copied(values)
                assert variant.run(*got, **control) == 0, text
                _check(got, want, f"{values[1:]} {control}\n{text}")


def _check(got: Sequence[Any], want: Sequence[Any], message: str) -> None:
    for a, b in zip(got, want, strict=True):
        if isinstance(b, torch.Tensor):
            torch.testing.assert_close(
                a, b, rtol=0, atol=0, equal_nan=True, msg=lambda m: f"{m}\n{message}"
            )
