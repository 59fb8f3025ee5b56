"""Helpers whose code is equal are helpers of their own: closures, wrappers, copies of a text."""

from __future__ import annotations

import torch

from tests.jit.support import Modules

HEAD = """\
import functools
import pypto
D, F = pypto.DYNAMIC, pypto.DT_FP32
"""

CLOSURES = """
def times(n):
    def inner(t):
        return t * n
    return inner

def chained(f, g):
    def inner(t):
        return f(g(t))
    return inner

by3, by5 = times(3), times(5)
both = chained(by3, by5)
twice = chained(both, both)

@pypto.frontend.jit
def kernel(x: pypto.Tensor([D], F), a: pypto.Tensor([D], F), b: pypto.Tensor([D], F)):
    a[:] = by3(x) + by5(x)
    b[:] = twice(x) - by5(by3(x))
"""

WRAPPERS = """
def clamped(function):
    @functools.wraps(function)
    def wrapper(t):
        return pypto.minimum(function(t), 8.0)
    return wrapper

@clamped
def double(t):
    return t * 2

@clamped
def negate(t):
    return -t

@clamped
def relu6(t):
    return pypto.relu(double(t))

@pypto.frontend.jit
def kernel(x: pypto.Tensor([D], F), a: pypto.Tensor([D], F), b: pypto.Tensor([D], F)):
    a[:] = double(x) + negate(x)
    b[:] = relu6(x)
"""

LAYER = "SCALE = {}\ndef h(t):\n    return t * SCALE\n"

COPIES = """
@pypto.frontend.jit
def kernel(x: pypto.Tensor([D], F), a: pypto.Tensor([D], F), b: pypto.Tensor([D], F)):
    a[:] = layer_a.h(x) + layer_b.h(x)
    b[:] = layer_b.h(x)
"""

X = torch.tensor([1.0, 2.0, 30.0])


def _run(module: object) -> tuple[torch.Tensor, torch.Tensor]:
    a, b = torch.empty(3), torch.empty(3)
    module.kernel(X, a, b)  # type: ignore[attr-defined]
    return a, b


def test_closures_of_one_factory(modules: Modules) -> None:
    module = modules.make("", raw=(HEAD + CLOSURES).encode())
    a, b = _run(module)
    assert torch.equal(a, X * 8) and torch.equal(b, X * (225 - 15))
    module.by3.__closure__[0].cell_contents = 100
    a, b = _run(module)
    assert torch.equal(a, X * 105) and torch.equal(b, X * (250000 - 500))
    module.by5.__closure__[0].cell_contents = 7
    a, _ = _run(module)
    assert torch.equal(a, X * 107)


def test_functions_under_one_decorator(modules: Modules) -> None:
    a, b = _run(modules.make("", raw=(HEAD + WRAPPERS).encode()))
    assert torch.equal(a, (X * 2).clamp(max=8) - X)
    assert torch.equal(b, (X * 2).clamp(max=8))


def test_copies_of_one_text(modules: Modules) -> None:
    module = modules.make("", raw=(HEAD + COPIES).encode())
    module.layer_a = modules.make(LAYER.format(2))
    module.layer_b = modules.make(LAYER.format(5))
    a, b = _run(module)
    assert torch.equal(a, X * 7) and torch.equal(b, X * 5)
