"""A generated kernel: its text, and the arguments to call it with."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

TORCH = {"DT_FP32": torch.float32, "DT_FP16": torch.float16, "DT_INT32": torch.int32}
HEADER = "import pypto\nD = pypto.DYNAMIC\n"
NAMED = 'N, M = pypto.frontend.dynamic("N"), pypto.frontend.dynamic("M")\n'

# Sizes of dynamic axes that calls try: none, one, and around the tiles that programs use.
ROWS = (5, 0, 1, 13, 4, 8, 3, 17)
COLUMNS = (6, 1, 9, 16, 3, 7, 21, 2)
INTS = (2, 0, 5, -1, 3, 1, -2, 4)
FLOATS = (2.0, -1.0, 3.0, 0.0)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: a tensor of role or constant sizes, or a number (no dtype)."""

    name: str
    sizes: tuple[str | int, ...] = ()
    dtype: str = ""
    kind: str = "tensor"  # or "int", "float", or "index": INT32 of small numbers from 0 on

    def annotated(self, named: bool) -> str:
        """With dynamic axes ``named`` or not: named ones are known to be equal."""
        if self.kind in ("int", "float"):
            return f"{self.name}: {self.kind}"
        axes = ", ".join(
            (s.upper() if named else "D") if isinstance(s, str) else str(s) for s in self.sizes
        )
        return f"{self.name}: pypto.Tensor([{axes}], pypto.{self.dtype})"


@dataclass(slots=True)
class Program:
    """``kinds`` counts the kinds of statements that it uses."""

    name: str
    text: str
    parameters: tuple[Parameter, ...]
    kinds: Counter[str] = field(default_factory=Counter)

    def calls(self, count: int) -> Iterator[tuple[Any, ...]]:
        """Arguments of ``count`` calls of other sizes."""
        for number in range(count):
            yield self.arguments(number)

    def arguments(self, number: int) -> tuple[Any, ...]:
        """Arguments of the call of this number; always the same."""
        sizes = {"n": ROWS[number % len(ROWS)], "m": COLUMNS[number % len(COLUMNS)]}
        draw = random.Random(f"{self.name} {number}")
        generator = torch.Generator().manual_seed(draw.getrandbits(32))
        values: list[Any] = []
        for parameter in self.parameters:
            if parameter.kind in ("int", "float"):
                options = INTS if parameter.kind == "int" else FLOATS
                values.append(options[number] if number < 2 else draw.choice(options))
                continue
            shape = [sizes[s] if isinstance(s, str) else s for s in parameter.sizes]
            low, high = (0, 4) if parameter.kind == "index" else (-4, 5)
            made = torch.randint(low, high, shape, generator=generator)
            values.append(made.to(TORCH[parameter.dtype]))
        return tuple(values)
