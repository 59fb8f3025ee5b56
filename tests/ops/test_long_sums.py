"""Sums of rows of any length stay within the tolerance that the operation states."""

from __future__ import annotations

import math

import pytest
import torch

from tests.ops.batch import Batch, Variant, make_function
from tests.ops.checks import HEADER

COLUMNS = (1, 63, 64, 65, 4095, 4096, 4097, 8191, 8192, 10_000, 16_320, 16_321, 70_001, 1_000_003)
TOLERANCE = 1e-6  # of the sum of magnitudes


@pytest.fixture(scope="module")
def variants() -> dict[str, Variant]:
    """Sums and softmax of rows of a length known at launch, sums of long ones known before."""
    tensor, column = "pypto.Tensor([D, D], pypto.DT_FP32)", "pypto.Tensor([D, 1], pypto.DT_FP32)"
    batch = Batch()
    x, o = torch.ones(2, 40), torch.ones(2, 1)
    made = {}
    for name, out, body in (
        ("sum", column, "pypto.sum(x, -1, True)"),
        ("softmax", tensor, "pypto.softmax(x, -1)"),
    ):
        text = f"{HEADER}def {name}(x: {tensor}, o: {out}):\n    o[:] = {body}\n"
        made[name] = batch.add(make_function(text, name), x, o if name == "sum" else x.clone())
    for columns in (4096, 4097, 70_001):
        text = f"{HEADER}def sum_{columns}(x: pypto.Tensor, o: pypto.Tensor):\n"
        text += "    o[:] = pypto.sum(x, -1, True)\n"
        function = make_function(text, f"sum_{columns}")
        made[f"sum_{columns}"] = batch.add(function, torch.ones(2, columns), o.clone())
    batch.build()
    return made


def _rows(kind: str, columns: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(columns)
    if kind == "tenths":  # every addition rounds the same way
        return torch.full((2, columns), 0.1)
    if kind == "large_first":
        x = torch.full((2, columns), 1e-4)
        x[:, 0] = 1.0
        return x
    x = torch.randn(2, columns, generator=generator)
    return torch.exp(5 * x) if kind == "exponentials" else x


KINDS = ("tenths", "large_first", "exponentials", "both_signs")


def _check(variant: Variant, x: torch.Tensor) -> None:
    out = torch.empty(x.shape[0], 1)
    assert variant.run(x, out) == 0
    wide = x.double()
    error = (out.double() - wide.sum(-1, keepdim=True)).abs()
    assert (error <= TOLERANCE * wide.abs().sum(-1, keepdim=True)).all(), error


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("columns", COLUMNS)
def test_sums(variants: dict[str, Variant], columns: int, kind: str) -> None:
    _check(variants["sum"], _rows(kind, columns))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("columns", [4096, 4097, 70_001])
def test_sums_of_known_length(variants: dict[str, Variant], columns: int, kind: str) -> None:
    _check(variants[f"sum_{columns}"], _rows(kind, columns))


@pytest.mark.parametrize("columns", [70, 5000, 100_000])
@pytest.mark.parametrize(
    "values",
    [
        [math.inf], [-math.inf], [math.nan], [math.inf, -math.inf], [3e38, 3e38], [1e38, -1e38],
        [math.inf, 1.0, math.inf], [-3e38, -3e38, 1.0], [5e-324, 1e-45],
    ],
)  # fmt: skip
def test_special_values(variants: dict[str, Variant], columns: int, values: list[float]) -> None:
    x = torch.zeros(2, columns)
    for place, value in enumerate(values):
        x[:, (place + 1) * columns // (len(values) + 1)] = value
    out = torch.empty(2, 1)
    assert variants["sum"].run(x, out) == 0
    torch.testing.assert_close(out, x.sum(-1, keepdim=True), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("columns", [4097, 100_000, 1_000_003])
def test_softmax(variants: dict[str, Variant], columns: int) -> None:
    x = _rows("both_signs", columns) * 5
    out = torch.empty_like(x)
    assert variants["softmax"].run(x, out) == 0
    right = torch.softmax(x.double(), -1)
    assert ((out.double() - right).abs() <= 6e-6 * right + 1.2e-38).all()


@pytest.mark.parametrize("name", ["sum", "softmax"])
@pytest.mark.parametrize("columns", [13_000, 16_321, 100_003])
def test_the_number_of_cores_does_not_matter(
    variants: dict[str, Variant], name: str, columns: int
) -> None:
    """Not one bit: a row is cut alike however many cores there are."""
    x = torch.randn(5, columns, generator=torch.Generator().manual_seed(columns))
    results = []
    for workers in (1, 2, 3, 7):
        out = torch.empty(5, 1) if name == "sum" else torch.empty_like(x)
        assert variants[name].run(x, out, workers=workers) == 0
        results.append(out.view(torch.int32))
    assert all(torch.equal(result, results[0]) for result in results)
