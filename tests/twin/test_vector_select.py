"""Compare, Select, fills and gathers."""

from __future__ import annotations

import numpy as np
import pytest

from .harness import Harness, Kernel
from .lanes import (
    BINARY_PARAMS,
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
    random_walk,
    same_values,
)

FLOATS = ("half", "float")
COMPARE = (np.less, np.greater, np.equal, np.less_equal, np.greater_equal, np.not_equal)
MOVABLE = ("half", "bfloat16_t", "int16_t", "uint16_t", "float", "int32_t", "uint32_t")


def _text() -> tuple[str, list[str]]:
    bodies: dict[str, str] = {}
    for t in (*FLOATS, "int32_t"):
        bodies[f"compare_{t}"] = f"""{BINARY_PARAMS} const CMPMODE m = CMPMODE(c.mode);
    auto x = tensor<{t}>(a), y = tensor<{t}>(b); auto out = tensor<uint8_t>(d);
    if (c.form == 0) Compare(out, x, y, m, c.count);
    else Compare(out, x, y, m, uint64_t(c.count), uint8_t(c.repeat), p);"""
        bodies[f"compares_{t}"] = f"""{UNARY_PARAMS} const CMPMODE m = CMPMODE(c.mode);
    auto x = tensor<{t}>(a); auto out = tensor<uint8_t>(d); const {t} s = {t}(c.scalar);
    if (c.form == 0) Compares(out, x, s, m, c.count);
    else CompareScalar(out, x, s, m, uint64_t(c.count), uint8_t(c.repeat), p);"""
    for t in FLOATS:
        # the bits lie in the first source, 65536 bytes on
        bodies[f"select_{t}"] = f"""{BINARY_PARAMS}
    auto x = tensor<{t}>(a), y = tensor<{t}>(b), out = tensor<{t}>(d);
    auto bits = tensor<uint8_t>(a)[65536]; const uint64_t mask[2] = {{c.low, c.high}};
    const SELMODE tt = SELMODE::VSEL_TENSOR_TENSOR_MODE, ts = SELMODE::VSEL_TENSOR_SCALAR_MODE;
    const bool scalar = c.mode == 1;
    if (c.form == 0 && scalar) Select(out, bits, x, {t}(c.scalar), ts, c.count);
    else if (c.form == 0) Select(out, bits, x, y, SELMODE(c.mode), c.count);
    else if (c.form == 1 && scalar)
        Select(out, bits, x, {t}(c.scalar), ts, uint64_t(c.count), c.repeat, p);
    else if (c.form == 1) Select(out, bits, x, y, SELMODE(c.mode), uint64_t(c.count), c.repeat, p);
    else Select(out, bits, x, y, tt, mask, c.repeat, p);"""
        bodies[f"register_{t}"] = f"""{BINARY_PARAMS}
    auto x = tensor<{t}>(a), y = tensor<{t}>(b), out = tensor<{t}>(d);
    Compare(x, y, CMPMODE(c.mode), uint64_t(c.count), p);
    GetCmpMask(tensor<uint8_t>(d)[32768]); SetCmpMask(tensor<uint8_t>(d)[32768]); ResetMask();
    Select<{t}, SELMODE::VSEL_CMPMASK_SPR>(out, x, y, 3, p);"""
    for t in MOVABLE:
        bodies[f"duplicate_{t}"] = f"""auto out = tensor<{t}>(d);
    const {t} v = tensor<{t}>(a).GetValue(3); const uint64_t mask[2] = {{c.low, c.high}};
    if (c.form == 0) Duplicate(out, v, c.count);
    else if (c.form == 1) Duplicate(out, v, uint64_t(c.count), c.repeat, c.block[0], c.stride[0]);
    else Duplicate(out, v, mask, c.repeat, c.block[0], c.stride[0]);"""
        bodies[f"brcb_{t}"] = (
            f"Brcb(tensor<{t}>(d), tensor<{t}>(a), c.repeat, {{uint16_t(c.block[0]),"
            " uint16_t(c.stride[0])});"
        )
        bodies[f"gather_{t}"] = f"""auto out = tensor<{t}>(d), in = tensor<{t}>(a);
    auto offset = tensor<uint32_t>(b); const uint64_t mask[2] = {{c.low, c.high}};
    if (c.form == 0) Gather(out, in, offset, 64u, c.count);
    else if (c.form == 1) Gather(out, in, offset, 64u, uint64_t(c.count), c.repeat, c.stride[0]);
    else Gather(out, in, offset, 64u, mask, c.repeat, c.stride[0]);"""
        bits = "uint16_t" if np.dtype(CTYPE[t]).itemsize == 2 else "uint32_t"
        bodies[f"mask_{t}"] = f"""auto out = tensor<{t}>(d), in = tensor<{t}>(a); uint64_t kept = 0;
    const GatherMaskParams q(c.block[1], c.repeat, c.stride[1], c.stride[2]);
    if (c.mode != 0) GatherMask(out, in, uint8_t(c.mode), c.form != 0, c.count, q, kept);
    else GatherMask(out, in, tensor<{bits}>(b), c.form != 0, c.count, q, kept);
    c.high = kept;"""
    for t in ("half", "float", "int16_t", "int32_t"):
        bodies[f"index_{t}"] = f"""auto out = tensor<{t}>(d); const {t} v = {t}(c.scalar);
    if (c.mode != 0) Arange<{t}>(out, v, {t}(c.mode), c.count);
    else if (c.form == 0) CreateVecIndex(out, v, c.count);
    else CreateVecIndex(out, v, uint64_t(c.count), c.repeat, c.block[0], c.stride[0]);"""
    bodies["gatherb"] = """Gatherb(tensor<uint32_t>(d), tensor<uint32_t>(a), tensor<uint32_t>(b),
        c.repeat, GatherRepeatParams(c.block[0], c.stride[0]));"""
    text = CALL_TEXT + "".join(kernel_text(name, body) for name, body in bodies.items())
    return text, list(bodies)


@pytest.fixture(scope="module")
def kernels(twin: Harness) -> dict[str, Kernel]:
    text, names = _text()
    return twin.compile(text, names)


def packed(bits: Array) -> Array:
    return np.packbits(bits, bitorder="little")


COMPARABLE = [(t, mode) for t in FLOATS for mode in range(6)] + [("int32_t", 2)]


@pytest.mark.parametrize(("t", "mode"), COMPARABLE)
def test_compare(kernels: dict[str, Kernel], t: str, mode: int) -> None:
    rng = np.random.default_rng(21)
    dtype = np.dtype(CTYPE[t])
    size, e = dtype.itemsize, 256 // dtype.itemsize
    x, y = random_data(rng, dtype), random_data(rng, dtype)
    y[::3] = x[::3]
    before = rng.integers(0, 255, 4096, dtype=np.uint8)
    with np.errstate(invalid="ignore"):
        for walk in (Walk(COUNT, (size,) * 3, 4 * e), Walk(COUNT, (size,) * 3, 0)):
            actual, expected = before.copy(), before.copy()
            bits = packed(COMPARE[mode](x[: walk.count], y[: walk.count]))
            expected[: bits.size] = bits
            kernels[f"compare_{t}"](actual, x, y, pointer(walk.call(mode=mode)))
            assert np.array_equal(actual, expected)
            bits = packed(COMPARE[mode](x[: walk.count], dtype.type(1)))
            expected[: bits.size] = bits
            kernels[f"compares_{t}"](actual, x, y, pointer(walk.call(mode=mode, scalar=1)))
            assert np.array_equal(actual, expected)
        every = list(range(e))
        walk = Walk(LENGTH, (size,) * 3, 5, 3, block=(1, 2, 0), stride=(8, 16, 1))
        left = [x[walk.index(r, every, 1)] for r in range(3)]
        right = [y[walk.index(r, every, 2)] for r in range(3)]
        bits = packed(COMPARE[mode](np.concatenate(left), np.concatenate(right)))
        actual, expected = before.copy(), before.copy()
        expected[: bits.size] = bits
        kernels[f"compare_{t}"](actual, x, y, pointer(walk.call(mode=mode)))
        assert np.array_equal(actual, expected)


@pytest.mark.parametrize("t", FLOATS)
@pytest.mark.parametrize("mode", range(3))
def test_select(kernels: dict[str, Kernel], t: str, mode: int) -> None:
    rng = np.random.default_rng(22)
    dtype = np.dtype(CTYPE[t])
    size, e = dtype.itemsize, 256 // dtype.itemsize
    unsigned = {2: np.uint16, 4: np.uint32}[size]
    x = np.concatenate([random_data(rng, dtype), random_data(rng, dtype)])
    x.view(unsigned)[: 1 << 13] = rng.integers(0, 1 << 8 * size, 1 << 13)  # odd NaN patterns
    y, before = random_data(rng, dtype), random_data(rng, dtype)
    bits = np.unpackbits(x.view(np.uint8)[65536:][:8192], bitorder="little").astype(bool)
    raw = [a.view(unsigned) for a in (x, y)]
    forms = [Walk(COUNT, (size,) * 3, n) for n in (0, 1, 7, 8, 63, 65, 130, 300)]
    forms += [Walk(LENGTH, (size,) * 3, n, 3, stride=(9, 8, 0)) for n in (1, 20, e)]
    if mode == 2:
        words = [int(w) for w in rng.integers(1, 1 << 62, 2)]
        forms += [Walk(BITS, (size,) * 3, 0, 2, words[0], words[1] if e > 64 else 0)]
    for walk in forms:
        expected = before.view(unsigned).copy()
        for r, lanes in enumerate(walk.active()):
            place = np.asarray(lanes, np.int64)
            chosen = bits[place % e if mode == 0 else r * e + place]
            other = (
                np.array(0.1, dtype).view(unsigned)
                if mode == 1
                else raw[1][walk.index(r, lanes, 2)]
            )
            value = np.where(chosen, raw[0][walk.index(r, lanes, 1)], other)
            expected[walk.index(r, lanes, 0)] = value
        actual = before.copy()
        kernels[f"select_{t}"](actual, x, y, pointer(walk.call(mode=mode, scalar=0.1)))
        assert np.array_equal(actual.view(unsigned), expected), walk


@pytest.mark.parametrize("t", FLOATS)
def test_compare_register(kernels: dict[str, Kernel], t: str) -> None:
    rng = np.random.default_rng(23)
    dtype = np.dtype(CTYPE[t])
    e = 256 // dtype.itemsize
    x, y = (rng.integers(-3, 3, 1 << 12).astype(dtype) for _ in range(2))
    out = np.zeros(1 << 16, dtype)
    kernels[f"register_{t}"](out, x, y, pointer(Walk(LENGTH, (2,), 40).call(mode=1)))
    bits = (x[:e] > y[:e]) & (np.arange(e) < 40)
    got = np.unpackbits(out.view(np.uint8)[32768:][:16], bitorder="little")[:e].astype(bool)
    assert np.array_equal(got, bits)
    expected = np.where(np.tile(bits, 3), x[: 3 * e], y[: 3 * e])
    assert np.array_equal(out[: 3 * e], expected)


@pytest.mark.parametrize("t", MOVABLE)
def test_duplicate_and_brcb(kernels: dict[str, Kernel], t: str) -> None:
    rng = np.random.default_rng(24)
    dtype = np.dtype(CTYPE[t])
    size = dtype.itemsize
    source, before = random_data(rng, dtype), random_data(rng, dtype)
    walks = [Walk(COUNT, (size,), n) for n in (0, 1, 7, 8, 16, 17, 300)]
    walks += [w for w in (random_walk(rng, (size,)) for _ in range(40)) if w.form in (LENGTH, BITS)]
    for walk in walks:
        expected, actual = before.copy(), before.copy()
        for r, lanes in enumerate(walk.active()):
            expected[walk.index(r, lanes, 0)] = source[3]
        kernels[f"duplicate_{t}"](actual, source, source, pointer(walk.call()))
        assert same_values(actual, expected), walk
    walk = Walk(LENGTH, (size,), 0, 3, block=(2,), stride=(17,))
    expected, actual = before.copy(), before.copy()
    block = 32 // size
    for k in range(24):
        at = (k // 8 * 17 + k % 8 * 2) * block
        expected[at : at + block] = source[k]
    kernels[f"brcb_{t}"](actual, source, source, pointer(walk.call()))
    assert same_values(actual, expected)


@pytest.mark.parametrize("t", ["half", "float", "int16_t", "int32_t"])
def test_sequences(kernels: dict[str, Kernel], t: str) -> None:
    dtype = np.dtype(CTYPE[t])
    for count in (0, 1, 9, 300):
        actual, expected = np.full(512, 77, dtype), np.full(512, 77, dtype)
        expected[:count] = (np.arange(count) - 5).astype(dtype)
        call = Walk(COUNT, (2,), count).call(scalar=-5)
        kernels[f"index_{t}"](actual, actual, actual, pointer(call))
        assert np.array_equal(actual, expected)
        expected[:count] = (np.arange(count) * 3 - 5).astype(dtype)
        call = Walk(COUNT, (2,), count).call(scalar=-5, mode=3)
        kernels[f"index_{t}"](actual, actual, actual, pointer(call))
        assert np.array_equal(actual, expected)
    walk = Walk(LENGTH, (dtype.itemsize,), 10, 3, stride=(9,))
    actual, expected = np.full(1024, 77, dtype), np.full(1024, 77, dtype)
    for r, lanes in enumerate(walk.active()):
        values = np.array(lanes) + r * walk.per_repeat + 2
        expected[walk.index(r, lanes, 0)] = values.astype(dtype)
    kernels[f"index_{t}"](actual, actual, actual, pointer(walk.call(scalar=2)))
    assert np.array_equal(actual, expected)


@pytest.mark.parametrize("t", MOVABLE)
def test_gather(kernels: dict[str, Kernel], t: str) -> None:
    rng = np.random.default_rng(25)
    dtype = np.dtype(CTYPE[t])
    size = dtype.itemsize
    source, before = random_data(rng, dtype), random_data(rng, dtype)
    index = rng.integers(0, 4000, 1024)
    offset = (index * size).astype(np.uint32)
    walks = [Walk(COUNT, (size,), n) for n in (0, 1, 9, 300)]
    walks += [Walk(LENGTH, (size,), 20, 3, stride=(9,)), Walk(BITS, (size,), 0, 2, 0xF0F3)]
    for walk in walks:
        expected, actual = before.copy(), before.copy()
        for r, lanes in enumerate(walk.active()):
            picked = index[r * walk.per_repeat + np.array(lanes, np.int64)]
            expected[walk.index(r, lanes, 0)] = source[64 // size + picked]
        kernels[f"gather_{t}"](actual, source, offset, pointer(walk.call()))
        assert same_values(actual, expected), walk


def test_gather_blocks(kernels: dict[str, Kernel]) -> None:
    rng = np.random.default_rng(26)
    source = rng.integers(0, 1 << 32, 4096, dtype=np.uint32)
    offset = (rng.integers(0, 500, 16) * 32).astype(np.uint32)
    actual = np.zeros(512, np.uint32)
    kernels["gatherb"](
        actual, source, offset, pointer(Walk(LENGTH, (4,), 0, 2, stride=(9,)).call())
    )
    expected = np.zeros(512, np.uint32)
    for k in range(16):
        at = (k // 8 * 9 + k % 8) * 8
        expected[at : at + 8] = source[offset[k] // 4 :][:8]
    assert np.array_equal(actual, expected)


@pytest.mark.parametrize("t", MOVABLE)
def test_gather_mask(kernels: dict[str, Kernel], t: str) -> None:
    rng = np.random.default_rng(27)
    dtype = np.dtype(CTYPE[t])
    size, e = dtype.itemsize, 256 // dtype.itemsize
    source, before = random_data(rng, dtype), random_data(rng, dtype)
    user = rng.integers(0, 255, 4096, dtype=np.uint8)
    kept_of_four = {1: (0, 2), 2: (1, 3), 3: (0,), 4: (1,), 5: (2,), 6: (3,), 7: (0, 1, 2, 3)}
    for pattern in range(8):
        for counted, lanes in ((0, e), (1, 37), (1, e)):
            walk = Walk(counted, (size, size), lanes, 3, block=(1, 1, 1), stride=(8, 11, 1))
            pieces = []
            for r in range(3):
                at = np.arange(lanes)
                if pattern == 0:
                    row = np.unpackbits(user[r * 32 :][:32], bitorder="little").astype(bool)
                    keep = row[:lanes]
                else:
                    keep = np.isin(at % 4, kept_of_four[pattern])
                pieces.append(source[r * 11 * (32 // size) + at[keep]])
            expected, actual, flat = before.copy(), before.copy(), np.concatenate(pieces)
            expected[: flat.size] = flat
            call = walk.call(mode=pattern)
            kernels[f"mask_{t}"](actual, source, user, pointer(call))
            assert call.high == flat.size
            assert same_values(actual, expected), (pattern, walk)
