"""Values that are one number everywhere, as ``x ** 0`` is: at every place that a value may take."""

from __future__ import annotations

import torch

from tests.ops.batch import Batch
from tests.ops.checks import Case

X = torch.randn(6, 40, generator=torch.Generator().manual_seed(1))
# The body, and how large the arguments are: F [6, 40], C [6, 1], R [1, 40], V [40], S [1].
KERNELS = {
    "in_a_sum": ("x: F, o: C", "s = pypto.sum(x, -1, True)", "o[:] = s + s ** 0"),
    "stored": ("x: F, o: C, p: C", "s = pypto.sum(x, -1, True)", "o[:] = s ** 0", "p[:] = s"),
    "of_a_reduction": (
        "x: F, o: F, p: C", "s = pypto.amax(x, -1, True)", "z = s ** 0", "p[:] = s * z",
        "o[:] = x * z - s",
    ),
    "of_a_column": ("x: F, c: C, o: F", "o[:] = c ** 0 - x * (c ** 0 + c)"),
    "of_a_row": ("x: F, r: R, o: F", "o[:] = r ** 0 - x"),
    "of_one": ("x: V, o: S", "s = pypto.sum(x, -1, True)", "o[:] = s * (s ** 0)"),
}  # fmt: skip
SHAPES = {"F": "[D, D]", "C": "[D, 1]", "R": "[1, D]", "V": "[D]", "S": "[1]"}
PARTS = {"F": X, "C": X[:, :1], "R": X[:1], "V": X[0], "S": X[0, :1]}


def case_of(batch: Batch, name: str) -> tuple[Case, list[torch.Tensor]]:
    params, *body = KERNELS[name]
    pairs = [p.split(": ") for p in params.split(", ")]
    typed = ", ".join(f"{n}: pypto.Tensor({SHAPES[kind]}, pypto.DT_FP32)" for n, kind in pairs)
    text = f"def {name}({typed}):\n" + "".join(f"    {line}\n" for line in body)
    values = [PARTS[kind].clone() for _, kind in pairs]
    return Case(batch, text, name, *values), values


def test_fills() -> None:
    batch = Batch()
    cases = [case_of(batch, name) for name in KERNELS]
    batch.build()
    for case, values in cases:
        case.check(*values)
        case.check(*values, blocks=3, l1_bytes=1024, workers=2)
