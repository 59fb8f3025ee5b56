"""One kernel by torch and by its Tensor IR: both must leave the same in its arguments."""

from __future__ import annotations

import textwrap
from typing import Any

import torch

from pypto.ir.tensor_print import print_kernel
from tests.differential import interpreter, shim
from tests.differential.compare import copied, front_end
from tests.ops.batch import make_function

__all__ = ["HEADER", "agree", "count"]

HEADER = "import pypto\nfrom pypto import Tensor as T, DT_FP32 as FP32, DT_INT32 as I32\n"


def count(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """1, 2, 3, … in this shape."""
    return (torch.arange(torch.Size(shape).numel()) + 1).reshape(shape).to(dtype)


def agree(text: str, *values: Any, header: str = HEADER) -> str:
    """Run the kernel ``k`` both ways on copies of ``values``; its Tensor IR."""
    text = header + textwrap.dedent(text)
    made = front_end(make_function(text, "k"), values)
    want, got = copied(values), copied(values)
    shim.run(text, "k", want)
    level = print_kernel(made.kernel)
    interpreter.interpret(made.kernel, got)
    for a, b in zip(got, want, strict=True):
        if isinstance(b, torch.Tensor):
            torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True, msg=level)
    return level
