"""Elementwise vector instructions in every form, against the lane model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from .harness import Harness, Kernel
from .lanes import (
    BINARY_PARAMS,
    CALL_TEXT,
    COUNT,
    COUNTER,
    CTYPE,
    FORMS_TEXT,
    LENGTH,
    UNARY_PARAMS,
    Array,
    Call,
    Walk,
    kernel_text,
    pointer,
    random_data,
    random_walk,
    same_values,
)

FLOATS = ("half", "float")
ARITHMETIC = ("half", "float", "int16_t", "int32_t")
BITWISE = ("int16_t", "uint16_t")
SHIFTED = ("int16_t", "uint16_t", "int32_t", "uint32_t")


def _max(a: Array, b: Array) -> Array:
    return np.where(np.isnan(a) | (a > b), a, b) if a.dtype.kind == "f" else np.maximum(a, b)


def _min(a: Array, b: Array) -> Array:
    return np.where(np.isnan(a) | (a < b), a, b) if a.dtype.kind == "f" else np.minimum(a, b)


def _relu(a: Array) -> Array:
    return np.where(a < 0, a.dtype.type(0), a)


def _shift_right(a: Array, s: int) -> Array:
    wide = a.astype(np.int64) >> s
    return wide.astype(a.dtype)


def _shift_left(a: Array, s: int) -> Array:
    return (a.astype(np.int64) << s).astype(a.dtype)


@dataclass(frozen=True, slots=True)
class Case:
    """One instruction; ``model`` works on float32 (rounded once) or on the integers themselves."""

    name: str
    types: tuple[str, ...]
    model: Callable[..., Array]
    operands: str
    params: str = BINARY_PARAMS

    @property
    def sources(self) -> int:
        return sum(f"<T>({x})" in self.operands for x in "ab")

    @property
    def scalar(self) -> bool:
        return "scalar" in self.operands


AB = "tensor<T>(d), tensor<T>(a), tensor<T>(b)"
A = "tensor<T>(d), tensor<T>(a)"
AS = "tensor<T>(d), tensor<T>(a), T(c.scalar)"
CASES = (
    Case("Add", ARITHMETIC, lambda a, b: a + b, AB),
    Case("Sub", ARITHMETIC, lambda a, b: a - b, AB),
    Case("Mul", ARITHMETIC, lambda a, b: a * b, AB),
    Case("Max", ARITHMETIC, _max, AB),
    Case("Min", ARITHMETIC, _min, AB),
    Case("Div", FLOATS, lambda a, b: a / b, AB),
    Case("And", BITWISE, lambda a, b: a & b, AB),
    Case("Or", BITWISE, lambda a, b: a | b, AB),
    Case("AddRelu", ("half", "float", "int16_t"), lambda a, b: _relu(a + b), AB),
    Case("SubRelu", ("half", "float", "int16_t"), lambda a, b: _relu(a - b), AB),
    Case("Not", BITWISE, lambda a: ~a, A, UNARY_PARAMS),
    Case("Relu", ("half", "float", "int32_t"), _relu, A, UNARY_PARAMS),
    Case("Abs", FLOATS, np.abs, A, UNARY_PARAMS),
    Case("Sqrt", FLOATS, np.sqrt, A, UNARY_PARAMS),
    Case("Rsqrt", FLOATS, lambda a: np.float32(1) / np.sqrt(a), A, UNARY_PARAMS),
    Case("Reciprocal", FLOATS, lambda a: np.float32(1) / a, A, UNARY_PARAMS),
    Case("Adds", ARITHMETIC, lambda a, s: a + s, AS, UNARY_PARAMS),
    Case("Muls", ARITHMETIC, lambda a, s: a * s, AS, UNARY_PARAMS),
    Case("Maxs", ARITHMETIC, lambda a, s: _max(np.full_like(a, s), a), AS, UNARY_PARAMS),
    Case("Mins", ARITHMETIC, lambda a, s: _min(np.full_like(a, s), a), AS, UNARY_PARAMS),
    Case("LeakyRelu", FLOATS, lambda a, s: np.where(a < 0, a * s, a), AS, UNARY_PARAMS),
    Case("ShiftLeft", SHIFTED, lambda a, s: _shift_left(a, int(s)), AS, UNARY_PARAMS),
    Case("ShiftRight", SHIFTED, lambda a, s: _shift_right(a, int(s)), AS, UNARY_PARAMS),
)
PAIRS = [(case, t) for case in CASES for t in case.types]


def _text() -> str:
    parts = [CALL_TEXT]
    for case, t in PAIRS:
        forms = FORMS_TEXT.format(name=case.name, operands=case.operands, type="T", types="T")
        parts.append(kernel_text(f"{case.name}_{t}", f"using T = {t}; {case.params} {forms}"))
    return "".join(parts)


@pytest.fixture(scope="module")
def kernels(twin: Harness) -> dict[str, Kernel]:
    return twin.compile(_text(), [f"{case.name}_{t}" for case, t in PAIRS])


def apply(case: Case, dtype: np.dtype, scalar: float) -> Callable[..., Array]:
    def function(*values: Array) -> Array:
        wide: list[Any] = list(values)
        if dtype.kind == "f":
            wide = [v.astype(np.float32) for v in values]
        if case.scalar:
            kind = np.float32 if dtype.kind == "f" else dtype.type
            wide.append(kind(dtype.type(scalar)))
        with np.errstate(all="ignore"):
            return case.model(*wide).astype(dtype)

    return function


def scalar_of(rng: np.random.Generator, case: Case, dtype: np.dtype) -> float:
    if case.name.startswith("Shift"):
        return float(rng.integers(0, 8 * dtype.itemsize + 1))
    if dtype.kind == "f":
        return float(dtype.type(rng.choice([0.5, -0.0, -3.25, 0.1])))
    return float(rng.integers(-30000, 30000))


@pytest.mark.parametrize(("case", "t"), PAIRS, ids=[f"{c.name}-{t}" for c, t in PAIRS])
def test_all_forms(kernels: dict[str, Kernel], case: Case, t: str) -> None:
    rng = np.random.default_rng(sum(map(ord, case.name + t)))
    dtype = np.dtype(CTYPE[t])
    sizes = (dtype.itemsize,) * (1 + case.sources)
    walks = [Walk(COUNT, sizes, count) for count in (*range(0, 70, 3), 128, 255, 300)]
    walks += [random_walk(rng, sizes) for _ in range(25)]
    source = [random_data(rng, dtype) for _ in range(2)]
    before = random_data(rng, dtype)
    for walk in walks:
        scalar = scalar_of(rng, case, dtype)
        expected = walk.run(before, source[: case.sources], apply(case, dtype, scalar))
        actual, call = before.copy(), walk.call(scalar=scalar)
        kernels[f"{case.name}_{t}"](actual, *source, pointer(call))
        assert same_values(actual, expected), (walk, scalar)
        check_state(walk, call)


def check_state(walk: Walk, call: Call) -> None:
    """The mask registers afterwards."""
    ones = (1 << 64) - 1
    mode = call.form
    assert mode == 0
    if walk.form == COUNT:
        assert (call.low, call.high) == (ones, ones)
    elif walk.form == LENGTH:
        bits = (1 << walk.count) - 1
        assert (call.low, call.high) == (bits & ones, bits >> 64)
    elif walk.form == COUNTER:
        assert (call.low, call.high) == (walk.count, 0)
    else:
        assert (call.low, call.high) == (walk.low, walk.high)


@pytest.mark.parametrize("t", ARITHMETIC)
def test_in_place_and_accumulation(kernels: dict[str, Kernel], t: str) -> None:
    rng = np.random.default_rng(5)
    dtype = np.dtype(CTYPE[t])
    sizes = (dtype.itemsize,) * 3
    data, other = random_data(rng, dtype), random_data(rng, dtype)
    case = next(c for c in CASES if c.name == "Add")
    e = 256 // dtype.itemsize
    in_place = [Walk(COUNT, sizes, 77), Walk(LENGTH, sizes, e, 5), Walk(LENGTH, sizes, 9, 3)]
    for walk in in_place:
        expected = walk.run(data, [data, other], apply(case, dtype, 0))
        actual = data.copy()
        kernels[f"Add_{t}"](actual, actual, other, pointer(walk.call()))
        assert same_values(actual, expected)
    fold = Walk(LENGTH, sizes, e, 6, stride=(0, 8, 0))
    expected = fold.run(data, [other, data], apply(case, dtype, 0))
    actual = data.copy()
    kernels[f"Add_{t}"](actual, other, actual, pointer(fold.call()))
    assert same_values(actual, expected)
