"""Running a kernel and comparing every parameter with its meaning."""

from __future__ import annotations

import types
from typing import Any

import torch

from tests.ops.batch import Batch, Variant, make_function
from tests.ops.reference import Ref, difference, interpret

HEADER = "import pypto\nD = pypto.DYNAMIC\n"


class Case:
    """A kernel of text, compiled within a batch for arguments such as ``values``."""

    def __init__(self, batch: Batch, text: str, name: str, *values: Any) -> None:
        self.text = text
        self.function: types.FunctionType = make_function(HEADER + text, name)
        self.variant: Variant = batch.add(self.function, *values)
        self.names = self.function.__code__.co_varnames[: self.function.__code__.co_argcount]

    def run(self, *values: Any, **control: int) -> tuple[list[Any], list[Any]]:
        """Every parameter after the call, as the kernel left it and as torch does; equal tensors
        stay one tensor."""
        copies: dict[int, torch.Tensor] = {}
        got = [
            copies.setdefault(id(v), v.clone()) if isinstance(v, torch.Tensor) else v
            for v in values
        ]
        assert self.variant.run(*got, **control) == 0
        return got, interpret(self.function, values)

    def check(self, *values: Any, **control: int) -> None:
        """The kernel does to ``values`` what its text means."""
        got, want = self.run(*values, **control)
        wrong = [
            text
            for name, have, expected in zip(self.names, got, want, strict=True)
            if isinstance(expected, Ref) and (text := difference(name, have, expected)) is not None
        ]
        shapes = [list(v.shape) if isinstance(v, torch.Tensor) else v for v in values]
        assert not wrong, "\n".join([*wrong, f"called with {shapes} {control}", self.text])


def filled(like: torch.Tensor) -> torch.Tensor:
    """An output tensor full of a value that no test expects."""
    return torch.full_like(like, 77)
