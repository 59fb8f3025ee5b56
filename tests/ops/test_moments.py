"""var and rms_norm against torch in FP64."""

from __future__ import annotations

import functools
import warnings

import pytest
import torch

from pypto.error import FeTypeError, ShapeError
from pypto.ir.dtype import DataType
from pypto.ops import registry
from tests.ops.batch import Batch
from tests.ops.checks import Case

FLOATS = (DataType.DT_FP32, DataType.DT_FP16, DataType.DT_BF16)
CONTROL = ({}, {"blocks": 3, "l1_bytes": 1024}, {"blocks": 7, "l1_bytes": 8192})
# Arguments of var for x [a, b, c], and the shape of the result.
RESULTS = (
    ("", "1"), ("[1]", "ac"), ("0, 0", "bc"), ("dim=-1, correction=0.5, keepdim=True", "ab1"),
    ("(0, 2), n", "b"), ("[]", "1"),
)  # fmt: skip


def kind(shape: str, dtype: DataType) -> str:
    sizes = ", ".join("1" if n == "1" else "D" for n in shape)
    return f"pypto.Tensor([{sizes}], pypto.{dtype})"


@functools.cache
def cases() -> dict[str, Case]:
    batch, made = Batch(), {}
    for dtype in FLOATS:
        outs = ", ".join(f"o{n}: {kind(shape, dtype)}" for n, (_, shape) in enumerate(RESULTS))
        name = f"var_{dtype.short}"
        text = f"def {name}(x: {kind('abc', dtype)}, n: int, {outs}):\n"
        text += "".join(f"    o{n}[:] = x.var({a})\n" for n, (a, _) in enumerate(RESULTS))
        made[name] = Case(batch, text, name, *var_arguments(dtype, (3, 4, 5)))
        name = f"norm_{dtype.short}"
        text = f"def {name}(x: {kind('abc', dtype)}, g: {kind('c', dtype)}, e: float, "
        text += f"o: {kind('abc', dtype)}, p: {kind('abc', dtype)}):\n"
        text += "    o[:] = pypto.rms_norm(x, g)\n    p[:] = pypto.rms_norm(x, epsilon=e)\n"
        made[name] = Case(batch, text, name, *norm_arguments(dtype, (3, 4, 5)))
    batch.build()
    return made


def numbers(shape: tuple[int, ...], dtype: DataType, mean: float = 0.0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    x = torch.randn(shape, generator=generator) + mean
    return x.to(getattr(torch, dtype.torch_name or ""))


def var_arguments(dtype: DataType, sizes: tuple[int, int, int], mean: float = 0.0) -> list[object]:
    named = dict(zip("abc", sizes, strict=True))
    shapes = [tuple(named.get(n, 1) for n in shape) for _, shape in RESULTS]
    x = numbers(sizes, dtype, mean)
    return [x, 2, *(x.new_full(shape, 77) for shape in shapes)]


def norm_arguments(dtype: DataType, sizes: tuple[int, int, int]) -> list[object]:
    x, g = numbers(sizes, dtype), numbers(sizes[2:], dtype)
    return [x, g, 0.25, x.new_full(sizes, 77), x.new_full(sizes, 77)]


def close(name: str, got: torch.Tensor, want: torch.Tensor) -> None:
    relative, absolute = registry.get(name).tolerance[
        next(d for d in FLOATS if getattr(torch, d.torch_name or "") == got.dtype)
    ]
    want = want.reshape(got.shape)
    same = (got.double() == want) | (got.isnan() & want.isnan())
    error = (got.double() - want).abs()
    assert (same | (error <= relative * want.abs() + absolute)).all(), (name, error.max())


@pytest.mark.parametrize("mean", [0.0, 100.0])
@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.short)
def test_variance(dtype: DataType, mean: float) -> None:
    case = cases()[f"var_{dtype.short}"]
    sizes = ((3, 4, 5), (2, 65, 7), (130, 2, 64), (1, 1, 1), (5, 300, 3), (2, 3, 20_000), (4, 0, 3))
    for step, one in enumerate(sizes):
        given = var_arguments(dtype, one, mean)
        assert case.variant.run(*given, **CONTROL[step % 3]) == 0
        x = given[0].double()  # type: ignore[attr-defined]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of results that are not numbers
            wanted = [
                x.var(), x.var(1), x.var(0, correction=0), x.var(-1, correction=0.5),
                x.var((0, 2), correction=2), x.var([]),
            ]  # fmt: skip
        for got, want in zip(given[2:], wanted, strict=True):
            close("var", got, want)  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.short)
def test_rms_norm(dtype: DataType) -> None:
    case = cases()[f"norm_{dtype.short}"]
    for step, sizes in enumerate(((3, 4, 5), (7, 9, 300), (2, 2, 40_000), (0, 3, 4))):
        given = norm_arguments(dtype, sizes)
        assert case.variant.run(*given, **CONTROL[step % 3]) == 0
        x, g, _, o, p = given
        wide = x.double()  # type: ignore[attr-defined]
        mean = wide.pow(2).mean(-1, keepdim=True)
        close("rms_norm", o, wide * torch.rsqrt(mean + 1e-6) * g.double())  # type: ignore[arg-type, attr-defined]
        close("rms_norm", p, wide * torch.rsqrt(mean + 0.25))  # type: ignore[arg-type]


def test_refused() -> None:
    x, g = torch.ones(3, 4), torch.ones(3)
    text = "def k(x: pypto.Tensor, g: pypto.Tensor, o: pypto.Tensor):\n    o[:] = {}\n"
    with pytest.raises(ShapeError, match=r"shape \[4\]"):
        Case(Batch(), text.format("pypto.rms_norm(x, g)"), "k", x, g, x.clone())
    with pytest.raises(FeTypeError, match="'epsilon' must be a number"):
        Case(Batch(), text.format("pypto.rms_norm(x, epsilon=g)"), "k", x, g, x.clone())
    with pytest.raises(FeTypeError, match="'correction' must be a number"):
        Case(Batch(), text.format("x.var(0, g)"), "k", x, g, torch.ones(4))
