"""Cast: the whole matrix of types and round modes, counts, strides, saturation, special values."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from .harness import Harness, Kernel
from .lanes import (
    BITS,
    CALL_TEXT,
    COUNT,
    CTYPE,
    LENGTH,
    UNARY_PARAMS,
    Array,
    Walk,
    kernel_text,
    pointer,
    random_data,
    same_values,
)

NONE, RINT, FLOOR, CEIL, ROUND, TRUNC, ODD = range(7)
ROUNDING = (RINT, FLOOR, CEIL, ROUND, TRUNC)
MATRIX = {
    ("float", "half"): (NONE,),
    ("half", "float"): (*ROUNDING, ODD, NONE),
    ("bfloat16_t", "float"): ROUNDING,
    ("float", "bfloat16_t"): (NONE,),
    ("int32_t", "bfloat16_t"): ROUNDING,
    ("int32_t", "half"): ROUNDING,
    ("int16_t", "half"): ROUNDING,
    ("int8_t", "half"): (*ROUNDING, NONE),
    ("uint8_t", "half"): (*ROUNDING, NONE),
    ("half", "int8_t"): (NONE,),
    ("half", "uint8_t"): (NONE,),
    ("half", "int16_t"): (*ROUNDING, NONE),
    ("float", "int16_t"): (NONE,),
    ("float", "int32_t"): (*ROUNDING, NONE),
    ("int16_t", "int32_t"): (NONE,),
    ("int64_t", "int32_t"): (NONE,),
    ("int32_t", "int64_t"): (NONE,),
    ("int32_t", "float"): ROUNDING,
    ("int16_t", "float"): ROUNDING,
    ("int64_t", "float"): ROUNDING,
    ("float", "int64_t"): ROUNDING,
    ("float", "float"): ROUNDING,
    ("half", "int32_t"): (NONE,),
}
PAIRS = list(MATRIX)


def _name(pair: tuple[str, str]) -> str:
    return f"cast_{pair[0]}_{pair[1]}"


@pytest.fixture(scope="module")
def kernels(twin: Harness) -> dict[str, Kernel]:
    text = CALL_TEXT
    for d, s in PAIRS:
        text += kernel_text(
            _name((d, s)),
            f"""const RoundMode m = static_cast<RoundMode>(c.mode); {UNARY_PARAMS}
    const uint64_t mask[2] = {{c.low, c.high}}; SetDeqScale(half(c.scalar));
    if (c.form == 0) Cast(tensor<{d}>(d), tensor<{s}>(a), m, c.count);
    else if (c.form == 1) Cast(tensor<{d}>(d), tensor<{s}>(a), m, uint64_t(c.count), c.repeat, p);
    else Cast(tensor<{d}>(d), tensor<{s}>(a), m, mask, c.repeat, p);""",
        )
    return twin.compile(text, [_name(pair) for pair in PAIRS])


def _round_fraction(value: Fraction, mode: int) -> int:
    floor = value.numerator // value.denominator
    rest = value - floor
    if mode == FLOOR or rest == 0:
        return floor
    if mode == CEIL:
        return floor + 1
    if mode == TRUNC:
        return floor if value >= 0 else floor + 1
    if rest != Fraction(1, 2):
        return floor if rest < Fraction(1, 2) else floor + 1
    if mode == ROUND:
        return floor + 1 if value > 0 else floor
    return floor + (floor & 1)


def _to_float_bits(value: Fraction, mode: int, fraction_bits: int, least: int, top: float) -> float:
    """An exact number rounded to a binary format, in magnitude and with IEEE overflow."""
    if value == 0:
        return 0.0
    size, negative = abs(value), value < 0
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, least) - fraction_bits)
    directed = {FLOOR: CEIL, CEIL: FLOOR}.get(mode, mode) if negative else mode
    steps = size / unit
    if mode == ODD:
        whole = steps.numerator // steps.denominator
        whole |= steps != whole
    else:
        whole = _round_fraction(steps, RINT if directed == NONE else directed)
    result = whole * unit
    if result > Fraction(top):
        if directed in (TRUNC, FLOOR) or mode == ODD:
            return -top if negative else top
        return -np.inf if negative else np.inf
    return -float(result) if negative else float(result)


FORMATS = {"half": (10, -14, 65504.0), "float": (23, -126, float(np.finfo(np.float32).max))}
FORMATS["bfloat16_t"] = (7, -126, float(torch.finfo(torch.bfloat16).max))


def _decode(kind: str, data: Array) -> Array:
    if kind == "bfloat16_t":
        return (data.astype(np.uint32) << 16).view(np.float32)
    return data


def model(pair: tuple[str, str], mode: int, scale: float) -> Callable[[Array], Array]:
    """One element at a time, in exact arithmetic."""
    d, s = pair
    target: np.dtype[Any] = np.dtype(CTYPE[d])

    def integer(value: float) -> int:
        limits = np.iinfo(target)
        if np.isnan(value):
            return 0
        if np.isinf(value):
            return limits.max if value > 0 else limits.min
        return min(max(_round_fraction(Fraction(value), mode or RINT), limits.min), limits.max)

    def floating(value: float | int) -> float:
        if isinstance(value, float) and (not np.isfinite(value) or value == 0):
            return value
        if d == s:
            rounded = float(_round_fraction(Fraction(value), mode))
            return float(np.copysign(rounded, value))
        exact = Fraction(value)
        if pair == ("half", "int32_t"):
            exact = Fraction(float(np.float32(value) * np.float32(np.float16(scale))))
        result = _to_float_bits(exact, NONE if pair == ("half", "int32_t") else mode, *FORMATS[d])
        return float(np.copysign(result, -1.0)) if exact < 0 else result

    def function(values: Array) -> Array:
        wide = _decode(s, values)
        if wide.dtype.kind == "f":
            items: list[float | int] = [float(v) for v in wide]
        else:
            items = [int(v) for v in wide]
        if d in FORMATS:
            out = np.array([floating(v) for v in items], np.float64)
            if d == "bfloat16_t":
                bits = out.astype(np.float32).view(np.uint32) >> 16
                return np.where(np.isnan(out), 0x7FC0, bits).astype(np.uint16)
            return out.astype(target)
        return np.array([integer(v) for v in items], dtype=target)

    return function


TIES = [0.5, 1.5, -0.5, -2.5, 2047.5, 127.5, -128.5, 255.5, 32767.5, -32768.5, 2.0**31, -(2.0**31)]
TIES += [
    2.0**63,
    1 + 2.0**-11,
    1 + 3 * 2.0**-11,
    65519.0,
    65520.0,
    -65520.0,
    2.0**-25,
    3 * 2.0**-25,
]
TIES += [2.0**-24 * 1.5, 1 + 2.0**-8, 3.3e38, 3.4e38, -3.4e38, 2.0**-14 - 2.0**-26, 0.49999997]


def data_for(rng: np.random.Generator, kind: str) -> Array:
    if kind == "bfloat16_t":
        return (random_data(rng, np.dtype(np.float32)).view(np.uint32) >> 16).astype(np.uint16)
    data = random_data(rng, np.dtype(CTYPE[kind]))
    if data.dtype.kind == "f":
        with np.errstate(over="ignore"):
            data[: len(TIES)] = np.array(TIES, np.float64).astype(data.dtype)
    elif data.dtype.itemsize >= 4:
        near = np.array([2**24 + 1, 2**24 + 3, -(2**24) - 1, 2**25 + 2, 32768, -32769], data.dtype)
        data[: near.size] = near
        data[8:16] = rng.integers(-(2**27), 2**27, 8)
    return data


@pytest.mark.parametrize("pair", PAIRS, ids=_name)
def test_cast(kernels: dict[str, Kernel], pair: tuple[str, str]) -> None:
    rng = np.random.default_rng(sum(map(ord, pair[0] + pair[1])))
    d, s = (np.dtype(CTYPE[t]) for t in pair)
    sizes = (d.itemsize, s.itemsize)
    e = 256 // max(sizes)
    narrow = tuple(8 * size // max(sizes) for size in sizes)
    source = data_for(rng, pair[1])
    before = rng.integers(0, 255, (1 << 13) * d.itemsize, dtype=np.uint8).view(d)
    for mode in MATRIX[pair]:
        walks = [Walk(COUNT, sizes, n) for n in (0, 1, 5, 8, 31, 33, 150)]
        walks += [Walk(LENGTH, sizes, e, 3, block=(1, 1), stride=narrow)]
        walks += [
            Walk(LENGTH, sizes, e - 3, 2, block=(1, 2), stride=(narrow[0] + 1, narrow[1] * 2))
        ]
        low = int(rng.integers(1, 1 << min(e, 62)))
        walks += [Walk(BITS, sizes, 0, 2, low, low if e > 64 else 0, block=(1, 1), stride=narrow)]
        for walk in walks:
            expected = walk.run(before, [source], model(pair, mode, 0.5))
            actual = before.copy()
            call = walk.call(mode=mode, scalar=0.5)
            kernels[_name(pair)](actual, source, source, pointer(call))
            assert _same(pair[0], actual, expected), (mode, walk)


def _same(kind: str, actual: Array, expected: Array) -> bool:
    return same_values(_decode(kind, actual), _decode(kind, expected))


def test_float_casts_follow_torch(kernels: dict[str, Kernel]) -> None:
    data = random_data(np.random.default_rng(3), np.dtype(np.float32))
    n = data.size
    half, bfloat = np.zeros(n, np.float16), np.zeros(n, np.uint16)
    call = Walk(COUNT, (2, 4), n).call(mode=RINT)
    kernels["cast_half_float"](half, data, data, pointer(call))
    call = Walk(COUNT, (2, 4), n).call(mode=RINT)
    kernels["cast_bfloat16_t_float"](bfloat, data, data, pointer(call))
    tensor = torch.from_numpy(data)
    assert same_values(half, tensor.half().numpy())
    finite = ~np.isnan(data)
    expected = tensor.bfloat16().view(torch.int16).numpy().view(np.uint16)
    assert np.array_equal(bfloat[finite], expected[finite])
    assert np.isnan(_decode("bfloat16_t", bfloat[~finite])).all()


def test_all_halves_widen_and_return(kernels: dict[str, Kernel]) -> None:
    halves = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16).view(np.float16)
    wide, back = np.zeros(1 << 16, np.float32), np.zeros(1 << 16, np.float16)
    call = Walk(COUNT, (4, 2), 1 << 16).call(mode=NONE)
    kernels["cast_float_half"](wide, halves, halves, pointer(call))
    assert same_values(wide, halves.astype(np.float32))
    call = Walk(COUNT, (2, 4), 1 << 16).call(mode=TRUNC)
    kernels["cast_half_float"](back, wide, wide, pointer(call))
    assert same_values(back, halves)
