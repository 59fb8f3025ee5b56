"""Arithmetic fused with a conversion, in its count and repeat forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .harness import Harness, Kernel
from .lanes import (
    BINARY_PARAMS,
    CALL_TEXT,
    COUNT,
    CTYPE,
    LENGTH,
    Array,
    Walk,
    kernel_text,
    pointer,
    random_data,
    same_values,
)

CASES = [
    (name, d, s)
    for name in ("AddReluCast", "SubReluCast")
    for d, s in (("int8_t", "half"), ("int8_t", "int16_t"), ("half", "float"))
] + [("MulCast", "int8_t", "half"), ("MulCast", "uint8_t", "half")]


@pytest.fixture(scope="module")
def kernels(twin: Harness) -> dict[str, Kernel]:
    text, names = CALL_TEXT, []
    for name, d, s in CASES:
        operands = f"tensor<{d}>(d), tensor<{s}>(a), tensor<{s}>(b)"
        body = f"""{BINARY_PARAMS}
    if (c.form == 0) {name}({operands}, c.count);
    else {name}({operands}, uint64_t(c.count), uint8_t(c.repeat), p);"""
        names.append(f"{name}_{d}_{s}")
        text += kernel_text(names[-1], body)
    body = "SetDeqScale(half(0.5f)); AddDeqRelu(tensor<half>(d), tensor<int32_t>(a),"
    text += kernel_text("deq", body + " tensor<int32_t>(b), int32_t(c.count));")
    return twin.compile(text, [*names, "deq"])


@pytest.mark.parametrize(("name", "d", "s"), CASES)
def test_fused_cast(kernels: dict[str, Kernel], name: str, d: str, s: str) -> None:
    rng = np.random.default_rng(41)
    target: np.dtype[Any] = np.dtype(CTYPE[d])
    kind: np.dtype[Any] = np.dtype(CTYPE[s])

    def function(a: Array, b: Array) -> Array:
        with np.errstate(all="ignore"):
            value = {"Add": a + b, "Sub": a - b, "Mul": a * b}[name[:3]]
            if name != "MulCast":
                value = np.where(value < 0, value.dtype.type(0), value)
            if target.kind == "f":
                return np.asarray(value).astype(target)
            limits = np.iinfo(target)
            clean = np.where(np.isnan(value), value.dtype.type(0), value)
            return np.clip(np.rint(clean.astype(np.float64)), limits.min, limits.max).astype(target)

    scale = 1 if kind.kind == "f" else 0
    a, b = random_data(rng, kind), random_data(rng, kind)
    if scale == 0:  # most sums near the limits of int8
        a[::2], b[::2] = (rng.integers(-90, 90, a[::2].size).astype(kind) for _ in range(2))
    before = rng.integers(0, 100, 1 << 14).astype(target)
    sizes = (target.itemsize, kind.itemsize, kind.itemsize)
    narrow = 8 * target.itemsize // kind.itemsize
    walks = [Walk(COUNT, sizes, n) for n in (0, 1, 15, 16, 33, 200)]
    walks += [Walk(LENGTH, sizes, n, 3, stride=(narrow, 8, 0)) for n in (5, 256 // kind.itemsize)]
    for walk in walks:
        expected, actual = walk.run(before, [a, b], function), before.copy()
        kernels[f"{name}_{d}_{s}"](actual, a, b, pointer(walk.call()))
        assert same_values(actual, expected), walk


def test_add_deq_relu(kernels: dict[str, Kernel]) -> None:
    rng = np.random.default_rng(42)
    a, b = (rng.integers(-1000, 1000, 256, dtype=np.int32) for _ in range(2))
    out = np.full(256, 9, np.float16)
    kernels["deq"](out, a, b, pointer(Walk(COUNT, (4,), 99).call()))
    expected = out.copy()
    expected[:99] = np.maximum((a + b)[:99] * np.float32(0.5), 0)
    assert np.array_equal(out, expected)
