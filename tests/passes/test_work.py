"""How the work of the passes grows with a kernel: as the kernel does, whatever its shape."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
import torch

from pypto import passes, target
from pypto.codegen.kernel import generate
from tests.ops.batch import Batch, Variant, make_function
from tests.ops.checks import HEADER

F = "pypto.Tensor([D, D], pypto.DT_FP32)"
COLUMN, ROW = "pypto.Tensor([D, 1], pypto.DT_FP32)", "pypto.Tensor([1, D], pypto.DT_FP32)"
B = "pypto.Tensor([D, D], pypto.DT_BF16)"
X = torch.ones(16, 40)


def compiled(params: Iterable[str], body: Iterable[str], values: Iterable[Any]) -> Variant:
    lines = "".join(f"    {line}\n" for line in body)
    text = f"{HEADER}def k({', '.join(params)}):\n{lines}"
    return Batch().add(make_function(text, "k"), *(v.clone() for v in values))


def inputs(n: int) -> Variant:
    params = [f"x{i}: {F}" for i in range(n)]
    body = ["t = x0", *(f"t = t + x{i}" for i in range(1, n)), "o[:] = t"]
    return compiled([*params, f"o: {F}"], body, [X] * (n + 1))


def outputs(n: int) -> Variant:
    params = [f"o{i}: {F}" for i in range(n)]
    return compiled([f"x: {F}", *params], [f"o{i}[:] = x * {i}" for i in range(n)], [X] * (n + 1))


def chain(n: int) -> Variant:
    return compiled([f"x: {F}", f"o: {F}"], ["t = x", *["t = t * 1.5 + x"] * n, "o[:] = t"], [X, X])


def halves(n: int) -> Variant:
    x = X.bfloat16()
    return compiled([f"x: {B}", f"o: {B}"], ["t = x", *["t = t * 1.5 + x"] * n, "o[:] = t"], [x, x])


def in_place(n: int) -> Variant:
    return compiled([f"x: {F}", f"o: {F}"], ["o[:] = o * 1.5 + x"] * n, [X, X])


def live(n: int) -> Variant:
    """All values are needed at the end."""
    first = [f"t{i} = pypto.exp(x * {i})" for i in range(n)]
    then = ["s = x", *(f"s = s + t{i}" for i in range(n)), "o[:] = s"]
    return compiled([f"x: {F}", f"o: {F}"], [*first, *then], [X, X])


def broadcasts(n: int) -> Variant:
    steps = ["t = t * t", "t = t + c", "t = r - t", "t = t * (c * 2)", "t = t + (r + 1)"]
    body = ["t = x * c", *(steps[i % len(steps)] for i in range(n)), "o[:] = t"]
    params = [f"x: {F}", f"c: {COLUMN}", f"r: {ROW}", f"o: {F}"]
    return compiled(params, body, [X, X[:, :1], X[:1], X])


def reductions(n: int) -> Variant:
    """Rows that are on chip as a whole, each reduced many times."""
    steps = ["t = t - pypto.amax(t, -1, True)", "t = t * pypto.sum(t, -1, True)"]
    x = torch.ones(4096, 3)
    body = ["t = x", *(steps[i % 2] for i in range(n)), "o[:] = t"]
    return compiled(["x: pypto.Tensor", "o: pypto.Tensor"], body, [x, x])


@contextmanager
def lines_run(counts: list[int]) -> Iterator[None]:
    """Append how many lines of Python run inside."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)
    counts.append(count)


FAMILIES = (inputs, outputs, chain, halves, in_place, live, broadcasts, reductions)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
def test_work_grows_as_the_kernel_does(family: Callable[[int], Variant]) -> None:
    counts: list[int] = []
    for n in (20, 40, 80):
        variant = family(n)
        with lines_run(counts):
            passes.lower(variant.compilation.kernel, variant.signature.alias, target.get())
    small, middle, large = counts
    # Twice for linear work, four times for quadratic work.
    assert large - middle < 2.3 * (middle - small)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
def test_the_text_is_made_in_one_walk(family: Callable[[int], Variant]) -> None:
    counts: list[int] = []
    for n in (20, 40, 80):
        program = family(n).compilation.program
        assert program is not None
        with lines_run(counts):
            generate(program, target.get())
    small, middle, large = counts
    assert large - middle < 2.5 * (middle - small)


def test_a_value_used_twice_at_each_step() -> None:
    """2 ** 60 paths lead from the result to the operand that broadcasts."""
    body = ["t = x * c", *["t = t * t"] * 60, "o[:] = t"]
    compiled([f"x: {F}", f"c: {COLUMN}", f"o: {F}"], body, [X, X[:, :1], X])


@pytest.mark.parametrize(("family", "n"), [(chain, 550), (halves, 220), (broadcasts, 1100)])
def test_a_chain_may_be_longer_than_pythons_stack(family: Callable[[int], Variant], n: int) -> None:
    variant = family(n)
    assert sys.getrecursionlimit() <= 1000  # else the test shows nothing
    passes.lower(variant.compilation.kernel, variant.signature.alias, target.get())
