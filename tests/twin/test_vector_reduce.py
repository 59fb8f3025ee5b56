"""Reductions: of repeats, blocks and pairs under masks and strides, and of whole tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from .harness import Harness, Kernel
from .lanes import (
    BITS,
    CALL_TEXT,
    CTYPE,
    LENGTH,
    Array,
    Walk,
    kernel_text,
    pointer,
    random_data,
    same_values,
)

TYPES = ("half", "float")
ORDERS = ("VALUE_INDEX", "INDEX_VALUE", "ONLY_VALUE", "ONLY_INDEX")
WHOLE = ("WholeReduceSum", "WholeReduceMax", "WholeReduceMin")
BLOCK = ("BlockReduceSum", "BlockReduceMax", "BlockReduceMin", "PairReduceSum")
COUNTED = ("ReduceMax", "ReduceMin", "ReduceSum")


def _text() -> tuple[str, list[str]]:
    text, names = CALL_TEXT, []
    for t in TYPES:
        for name in WHOLE:
            order = ", ReduceOrder(c.mode)" if name != "WholeReduceSum" else ""
            rest = f"c.repeat, c.stride[0], c.block[1], c.stride[1]{order}"
            body = f"""const uint64_t mask[2] = {{c.low, c.high}};
    if (c.form == 1) {name}<{t}>(tensor<{t}>(d), tensor<{t}>(a), int32_t(c.count), {rest});
    else {name}<{t}>(tensor<{t}>(d), tensor<{t}>(a), mask, {rest});"""
            text += kernel_text(f"{name}_{t}", body)
            names.append(f"{name}_{t}")
        for name in BLOCK:
            rest = "c.stride[0], c.block[1], c.stride[1]"
            body = f"""const uint64_t mask[2] = {{c.low, c.high}};
    if (c.form == 1)
        {name}<{t}>(tensor<{t}>(d), tensor<{t}>(a), c.repeat, int32_t(c.count), {rest});
    else {name}<{t}>(tensor<{t}>(d), tensor<{t}>(a), c.repeat, mask, {rest});"""
            text += kernel_text(f"{name}_{t}", body)
            names.append(f"{name}_{t}")
        for name in COUNTED:
            index = ", bool(c.mode)" if name != "ReduceSum" else ""
            operands = f"tensor<{t}>(d), tensor<{t}>(a), tensor<{t}>(b)"
            body = f"""if (c.form == 0) {name}<{t}>({operands}, int32_t(c.count){index});
    else {name}<{t}>({operands}, int32_t(c.count), int32_t(c.repeat), c.stride[1]{index});"""
            text += kernel_text(f"{name}_{t}", body)
            names.append(f"{name}_{t}")
    return text, names


@pytest.fixture(scope="module")
def kernels(twin: Harness) -> dict[str, Kernel]:
    text, names = _text()
    return twin.compile(text, names)


def tree_sum(values: Array, active: Array) -> Any:
    """The documented order: halve the groups of eight lanes, then the lanes; absent is +0."""
    lanes = np.where(active, values, values.dtype.type(0))
    with np.errstate(all="ignore"):
        while lanes.size > 1:
            half = lanes.size // 2
            lanes = (lanes[:half] + lanes[half:]).astype(values.dtype)
    return lanes[0]


def extreme(values: Array, better: Callable[[Array], int]) -> tuple[np.generic, int]:
    nan = np.isnan(values)
    index = int(np.argmax(nan)) if nan.any() else int(better(values))
    return values[index], index


def random_reduction(rng: np.random.Generator, size: int) -> Walk:
    e = 256 // size
    form = int(rng.choice([LENGTH, BITS]))
    words = rng.integers(0, 1 << 63, size=2, dtype=np.uint64)
    low, high = (int(w) * 2 + 1 for w in words)
    if e == 64:
        high = 0
    return Walk(
        form,
        (size, size),
        int(rng.choice(np.array([e, int(rng.integers(1, e + 1))]))),
        int(rng.integers(0, 7)),
        low,
        high,
        (1, int(rng.choice([1, 1, 2]))),
        (int(rng.integers(1, 4)), int(rng.choice([8, 8, 0, 3, 17]))),
    )


def lanes_of(walk: Walk, source: Array) -> list[tuple[Array, Array]]:
    """Per repeat: all lanes' values, and which are active."""
    every = list(range(walk.per_repeat))
    result = []
    for r, lanes in enumerate(walk.active()):
        mask = np.zeros(walk.per_repeat, bool)
        mask[lanes] = True
        result.append((source[walk.index(r, every, 1)], mask))
    return result


@pytest.mark.parametrize("t", TYPES)
@pytest.mark.parametrize("name", WHOLE)
def test_whole(kernels: dict[str, Kernel], name: str, t: str) -> None:
    rng = np.random.default_rng(11)
    dtype = np.dtype(CTYPE[t])
    index_type = np.dtype(np.uint16 if t == "half" else np.uint32)
    source, before = random_data(rng, dtype), random_data(rng, dtype)
    source[:3000] = rng.integers(-4, 4, 3000).astype(dtype)  # ties
    for number in range(60):
        walk, order = random_reduction(rng, dtype.itemsize), number % 4
        raw = before.view(np.uint8).copy()
        for r, (values, mask) in enumerate(lanes_of(walk, source)):
            if name == "WholeReduceSum":
                pieces = [tree_sum(values, mask).tobytes()]
            else:
                better = np.argmax if name.endswith("Max") else np.argmin
                lanes = np.flatnonzero(mask)
                value, at = extreme(values[mask], better)
                narrow = np.array(lanes[at], index_type).tobytes()
                wide = np.array(lanes[at], np.uint32).tobytes()
                bytes_ = value.tobytes()
                pieces = [[bytes_, narrow], [narrow, bytes_], [bytes_], [wide]][order]
            joined = b"".join(pieces)
            at = r * walk.stride[0] * len(joined)
            raw[at : at + len(joined)] = np.frombuffer(joined, np.uint8)
        actual = before.copy()
        kernels[f"{name}_{t}"](actual, source, source, pointer(walk.call(mode=order)))
        assert equal_numbers(actual, raw.view(dtype)), (walk, ORDERS[order])


def equal_numbers(actual: Array, expected: Array) -> bool:
    """As same_values; the sign of a zero among equal zeros is free."""
    zeros = (actual == 0) & (expected == 0)
    return same_values(np.where(zeros, expected, actual), expected)


@pytest.mark.parametrize("t", TYPES)
@pytest.mark.parametrize("name", BLOCK)
def test_blocks_and_pairs(kernels: dict[str, Kernel], name: str, t: str) -> None:
    rng = np.random.default_rng(12)
    dtype = np.dtype(CTYPE[t])
    source, before = random_data(rng, dtype), random_data(rng, dtype)
    group = 2 if name.startswith("Pair") else 32 // dtype.itemsize
    for _ in range(40):
        walk = random_reduction(rng, dtype.itemsize)
        results = walk.per_repeat // group
        expected = before.copy()
        for r, (values, mask) in enumerate(lanes_of(walk, source)):
            for k in range(results):
                part, on = values[k * group :][:group], mask[k * group :][:group]
                if not on.any():
                    continue
                if name.endswith("Sum"):
                    value = tree_sum(part, on)
                else:
                    better = np.argmax if name.endswith("Max") else np.argmin
                    value = extreme(part[on], better)[0]
                expected[r * walk.stride[0] * results + k] = value
        actual = before.copy()
        kernels[f"{name}_{t}"](actual, source, source, pointer(walk.call()))
        assert equal_numbers(actual, expected), walk


@pytest.mark.parametrize("t", TYPES)
@pytest.mark.parametrize("name", COUNTED)
def test_counted(kernels: dict[str, Kernel], name: str, t: str) -> None:
    rng = np.random.default_rng(13)
    dtype = np.dtype(CTYPE[t])
    e = 256 // dtype.itemsize
    for count in (1, 2, 7, 8, 9, 63, 64, 65, 128, 129, 300, 1000):
        source = rng.integers(-500, 500, 4096).astype(dtype)
        if count % 2:
            source[count // 2] = np.nan
        before = np.full(64, 7, dtype)
        expected = before.copy()
        if name == "ReduceSum":
            total: Any = None
            for first in range(0, count, e):
                part = source[first : first + e]
                sum_ = tree_sum(part, np.arange(e) < count - first)
                total = sum_ if total is None else dtype.type(total + sum_)
            expected[0] = total
        else:
            value, at = extreme(source[:count], np.argmax if name.endswith("Max") else np.argmin)
            expected[0] = value
            expected[1] = np.array(at, np.uint16 if t == "half" else np.uint32).view(dtype)
        actual = before.copy()
        call = Walk(0, (dtype.itemsize,) * 2, count).call(mode=1)
        kernels[f"{name}_{t}"](actual, source, source, pointer(call))
        assert same_values(actual, expected), count


@pytest.mark.parametrize("name", ["ReduceMax", "ReduceMin", "ReduceSum"])
def test_repeat_forms_of_counted(kernels: dict[str, Kernel], name: str) -> None:
    source = np.random.default_rng(14).integers(-500, 500, 4096).astype(np.float32)
    source[0], source[70] = -1000, 1000  # lane 70 is masked off below
    actual = np.zeros(8, np.float32)
    walk = Walk(LENGTH, (4, 4), 5, 3, stride=(0, 16))
    kernels[f"{name}_float"](actual, source, source, pointer(walk.call()))
    picked = np.concatenate([source[r * 128 : r * 128 + 5] for r in range(3)])
    expected = {"ReduceMax": picked.max(), "ReduceMin": picked.min(), "ReduceSum": picked.sum()}
    assert actual[0] == expected[name]


def test_new_names(twin: Harness) -> None:
    text = CALL_TEXT + kernel_text(
        "new_names",
        """LocalTensor<float> out = tensor<float>(d), in = tensor<float>(a);
    ReduceRepeat<ReduceType::SUM, float, float>(out, in, 64, 2, 1, 1, 8);
    const ReduceOrder order = ReduceOrder::ORDER_ONLY_VALUE;
    ReduceRepeat<ReduceType::MAX, float, float>(out[8], in, 64, 2, 1, 1, 8, order);
    ReduceDataBlock<ReduceType::MIN, float, float>(out[16], in, 64, 2, 1, 1, 8);
    ReducePairElem<ReduceType::SUM, float, float>(out[32], in, 64, 2, 1, 1, 8);
    RepeatReduceSum<float>(out[128], in, 2, 64, 1, 1, 1, 8);""",
    )
    source = np.random.default_rng(15).integers(-99, 99, 128).astype(np.float32)
    out = np.zeros(256, np.float32)
    kernel = twin.compile(text, ["new_names"])["new_names"]
    kernel(out, source, source, pointer(Walk(0, (4,)).call()))
    rows = source.reshape(2, 64)
    assert np.array_equal(out[:2], rows.sum(1))
    assert np.array_equal(out[8:10], rows.max(1))
    assert np.array_equal(out[16:32], source.reshape(16, 8).min(1))
    assert np.array_equal(out[32:96], source.reshape(64, 2).sum(1))
    assert np.array_equal(out[128:130], rows.sum(1))
