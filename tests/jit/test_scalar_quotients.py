"""Quotients and powers of run-time scalars are Python's."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from pypto.error import PyptoError
from tests.jit.support import Modules

VALUES = (0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 1e300, -1e-300, math.inf, -math.inf)

TEXT = """
@jit
def quotient(o: T([4], FP32), a: float, b: float):
    o[:] = a // b
@jit
def remainder(o: T([4], FP32), a: float, b: float):
    o[:] = a % b
@jit
def power(o: T([4], FP32), a: float, b: float):
    o[:] = a ** b
"""


def _value(kernel: object, a: float, b: float) -> float:
    out = torch.empty(4)
    kernel(out, a, b)  # type: ignore[operator]
    return out[0].item()


def _same(found: float, wanted: float) -> bool:
    wanted = torch.tensor(wanted).item()  # in FP32
    if math.isnan(wanted):
        return math.isnan(found)
    return found == wanted and math.copysign(1, found) == math.copysign(1, wanted)


def test_quotients_and_remainders(modules: Modules) -> None:
    module = modules.make(TEXT)
    for a, b in itertools.product(VALUES, VALUES):
        if b == 0:
            with pytest.raises(PyptoError):
                _value(module.quotient, a, b)
        else:
            assert _same(_value(module.quotient, a, b), a // b), (a, b)
            assert _same(_value(module.remainder, a, b), a % b), (a, b)


def test_powers(modules: Modules) -> None:
    module = modules.make(TEXT)
    pairs = [(0.0, -math.inf), (-0.0, 3.0), (2.0, -2.0), (-2.0, 3.0), (math.inf, -1.0), (4.0, 0.5)]
    for a, b in pairs:
        assert _same(_value(module.power, a, b), a**b), (a, b)
    assert math.isnan(_value(module.power, -1.0, 0.5))  # complex in Python
    assert _value(module.power, 1e300, 2.0) == math.inf  # OverflowError in Python
    with pytest.raises(PyptoError, match="divides by zero"):
        _value(module.power, 0.0, -1.0)
