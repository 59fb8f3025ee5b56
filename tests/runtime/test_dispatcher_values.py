"""The dispatcher: scalars and constants."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
import pytest
import torch

from .launching import Kernels

INT64 = (0, 64)
ECHO = ("tensor", INT64, (-1,))


class Level(enum.IntEnum):
    HIGH = 3


class Number(int):
    pass


class Index:
    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


class Real:
    def __float__(self) -> float:
        return 0.25


def echo(kernels: Kernels, spec: tuple[Any, ...]) -> Any:
    """Dispatcher of one scalar; calling gives the value as the kernel saw it (floats x 1000)."""
    source: dict[str, Any] = {"ints": (("scalar", 1),)} if spec[0] == "int" else {"floats": (1,)}
    dispatch = kernels.dispatcher(
        kernels.variant("echo_kernel", (ECHO, spec), **source), names=("o", "s")
    )

    def call(value: Any) -> Any:
        o = torch.tensor([int(spec[0] == "int"), int(spec[0] == "float"), 0])
        result = dispatch(o, value)
        return "fallback" if result is not None else int(o[2])

    return call


@pytest.mark.parametrize(
    ("value", "wide", "narrow"),
    [
        (5, 5, 5),
        (-(2**63), -(2**63), -(2**63)),
        (2**63 - 1, 2**63 - 1, 2**63 - 1),
        (2**63, "fallback", "fallback"),
        (-(2**63) - 1, "fallback", "fallback"),
        (True, 1, "fallback"),
        (Number(7), 7, "fallback"),
        (Level.HIGH, 3, "fallback"),
        (np.int32(-4), -4, -4),
        (np.uint64(2**63), "fallback", "fallback"),
        (Index(9), 9, 9),
        (5.0, "fallback", "fallback"),
        ("5", "fallback", "fallback"),
        (None, "fallback", "fallback"),
        (np.array(3), "fallback", "fallback"),
        (torch.tensor(3), "fallback", "fallback"),
    ],
)
def test_int_scalars(kernels: Kernels, value: Any, wide: Any, narrow: Any) -> None:
    assert echo(kernels, ("int", True))(value) == wide
    assert echo(kernels, ("int", False))(value) == narrow


@pytest.mark.parametrize(
    ("value", "wide", "narrow"),
    [
        (0.5, 500, 500),
        (np.float64(0.5), 500, 500),
        (np.float32(0.5), 500, 500),
        (Real(), 250, 250),
        (2, 2000, "fallback"),
        (True, 1000, "fallback"),
        (np.int64(3), 3000, "fallback"),
        (Index(4), 4000, "fallback"),
        (10**400, "fallback", "fallback"),
        ("0.5", "fallback", "fallback"),
        (1j, "fallback", "fallback"),
        (np.array([0.5]), "fallback", "fallback"),
        (torch.tensor(0.5), "fallback", "fallback"),
    ],
)
def test_float_scalars(kernels: Kernels, value: Any, wide: Any, narrow: Any) -> None:
    assert echo(kernels, ("float", True))(value) == wide
    assert echo(kernels, ("float", False))(value) == narrow


def test_conversion_errors(kernels: Kernels) -> None:
    class Broken:
        def __init__(self, error: BaseException) -> None:
            self.error = error

        def __index__(self) -> int:
            raise self.error

    call = echo(kernels, ("int", True))
    assert call(Broken(ValueError("no"))) == "fallback"
    with pytest.raises(KeyboardInterrupt):
        call(Broken(KeyboardInterrupt()))


PLAIN = [
    None, True, False, 0, 1, 0.0, -0.0, 1.0, float("inf"), 1j, "", "1", "a", b"", b"a", (), (1,),
    (1.0,), (True,), (1, 2), [], [1], [1.0], {}, {"a": 1}, {"a": True}, {"a": 1, "b": 2},
    {"b": 2, "a": 1}, ((1, [2]),), ((1, [2.0]),), 2**70, Level.HIGH, int, torch.float32,
]  # fmt: skip


@pytest.mark.parametrize("expected", range(len(PLAIN)))
def test_constants_are_compared_exactly(kernels: Kernels, expected: int) -> None:
    spec = ("constant", PLAIN[expected])
    dispatch = kernels.dispatcher(kernels.variant("echo_kernel", (ECHO, spec)), names=("o", "c"))
    o = torch.zeros(2, dtype=torch.int64)
    found = [i for i, value in enumerate(PLAIN) if dispatch(o, value) is None]
    assert found == [expected]


def test_equal_constants_of_other_identity(kernels: Kernels) -> None:
    value = {"a": [1, (2.5, "x")], "b": 10**30}
    dispatch = kernels.dispatcher(
        kernels.variant("echo_kernel", (ECHO, ("constant", value))), names=("o", "c")
    )
    o = torch.zeros(2, dtype=torch.int64)
    assert dispatch(o, {"a": [1, (2.5, "x")], "b": 10**30}) is None
    assert dispatch(o, value) is None
    value["a"].append(3)  # type: ignore[attr-defined]
    assert dispatch(o, value)[0] == "fallback"


def test_constant_with_comparison(kernels: Kernels) -> None:
    def compare(value: Any) -> bool:
        if value == "raise":
            raise LookupError("compare")
        return bool(value == "right")

    dispatch = kernels.dispatcher(
        kernels.variant("echo_kernel", (ECHO, ("constant", None, compare))), names=("o", "c")
    )
    o = torch.zeros(2, dtype=torch.int64)
    assert dispatch(o, "right") is None
    assert dispatch(o, "wrong")[0] == "fallback"
    with pytest.raises(LookupError):
        dispatch(o, "raise")
