# ruff: noqa: E501 (lines of the C++ texts)
"""Data movement: DataCopy, DataCopyPad, Copy, atomics, streaming stores, counters."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from .harness import (
    COPY_COUNT,
    GM_TO_UB,
    STREAM_STORES,
    UB_PEAK,
    UB_TO_GM,
    VECTOR_COUNT,
    Harness,
    Kernel,
)

UB_BYTES = 65536
JUNK = 0xA5

TEXT = """
using namespace AscendC;

struct LoadArgs { uint32_t count, length, source, destination; uint8_t pad, left, right; uint64_t value; };

// ub holds the image that the load finds, and is written back whole afterwards
template <typename T> __aicore__ inline void Load(GM_ADDR gm, GM_ADDR ub, const LoadArgs& a)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 65536);
    GlobalTensor<uint8_t> image;
    image.SetGlobalBuffer(ub);
    DataCopy(buffer.Get<uint8_t>(), image, 65536);
    GlobalTensor<T> source;
    source.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(gm));
    T value;
    __builtin_memcpy(&value, &a.value, sizeof(T));
    DataCopyPad(buffer.Get<T>(), source,
                DataCopyExtParams{static_cast<uint16_t>(a.count), a.length, a.source, a.destination, 0},
                DataCopyPadExtParams<T>{a.pad != 0, a.left, a.right, value});
    DataCopy(image, buffer.Get<uint8_t>(), 65536);
}
extern "C" __global__ __vector__ void load1(GM_ADDR gm, GM_ADDR ub, LoadArgs a) { Load<uint8_t>(gm, ub, a); }
extern "C" __global__ __vector__ void load2(GM_ADDR gm, GM_ADDR ub, LoadArgs a) { Load<half>(gm, ub, a); }
extern "C" __global__ __vector__ void load4(GM_ADDR gm, GM_ADDR ub, LoadArgs a) { Load<float>(gm, ub, a); }
extern "C" __global__ __vector__ void load8(GM_ADDR gm, GM_ADDR ub, LoadArgs a) { Load<int64_t>(gm, ub, a); }

extern "C" __global__ __vector__ void store(GM_ADDR gm, GM_ADDR ub, LoadArgs a)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 65536);
    GlobalTensor<uint8_t> image, target;
    image.SetGlobalBuffer(ub);
    target.SetGlobalBuffer(gm);
    DataCopy(buffer.Get<uint8_t>(), image, 65536);
    DataCopyPad(target, buffer.Get<uint8_t>(),
                DataCopyExtParams{static_cast<uint16_t>(a.count), a.length, a.source, a.destination, 0});
}

extern "C" __global__ __vector__ void blocks(GM_ADDR out, GM_ADDR in, uint16_t count, uint16_t length,
                                             uint16_t in_gap, uint16_t out_gap)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 131072);
    LocalTensor<uint8_t> first = buffer.Get<uint8_t>(), second = first[65536];
    GlobalTensor<uint8_t> source, target;
    source.SetGlobalBuffer(in);
    target.SetGlobalBuffer(out);
    DataCopy(first, source, DataCopyParams(count, length, in_gap, 0));            // gather rows
    DataCopy(second, first, DataCopyParams(1, count * length, 0, 0));             // inside the UB
    DataCopy(target, second, DataCopyParams(count, length, 0, out_gap));          // spread rows
}

extern "C" __global__ __vector__ void copy_masked(GM_ADDR out, GM_ADDR in, uint64_t low, uint64_t high, uint8_t mode)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 8192);
    LocalTensor<int16_t> src = buffer.Get<int16_t>(), dst = src[2048];
    GlobalTensor<int16_t> source, target;
    source.SetGlobalBuffer(reinterpret_cast<__gm__ int16_t*>(in));
    target.SetGlobalBuffer(reinterpret_cast<__gm__ int16_t*>(out));
    DataCopy(src, source, 2048);
    DataCopy(dst, target, 2048);
    const uint64_t bits[2] = {low, high};
    if (mode == 0) {
        Copy(dst, src, bits, 3, CopyRepeatParams(1, 1, 8, 8));
    } else if (mode == 1) {
        Copy(dst, src, low, 4, CopyRepeatParams(1, 1, 8, 0));
    } else {
        SetMaskCount();
        SetVectorMask<int16_t, MaskMode::COUNTER>(0, low);
        Copy<int16_t, false>(dst, src, MASK_PLACEHOLDER, 2, CopyRepeatParams(1, 1, 8, 8));
        SetMaskNorm();
        ResetMask();
    }
    DataCopy(target, dst, 2048);
}

template <typename T> __aicore__ inline void Accumulate(GM_ADDR out, GM_ADDR in, uint32_t n, int32_t how)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 4096);
    GlobalTensor<T> source, target;
    source.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(in));
    target.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(out));
    const uint32_t bytes = n * sizeof(T);
    DataCopyPad(buffer.Get<T>(), source[GetBlockIdx() * n], DataCopyExtParams{1, bytes, 0, 0, 0},
                DataCopyPadExtParams<T>{});
    if (how == 0) { SetAtomicAdd<T>(); } else if (how == 1) { SetAtomicMax<T>(); } else { SetAtomicMin<T>(); }
    DataCopyPad(target, buffer.Get<T>(), DataCopyExtParams{1, bytes, 0, 0, 0});
    SetAtomicNone();
}
extern "C" __global__ __vector__ void accumulate_f32(GM_ADDR out, GM_ADDR in, uint32_t n, int32_t how) { Accumulate<float>(out, in, n, how); }
extern "C" __global__ __vector__ void accumulate_f16(GM_ADDR out, GM_ADDR in, uint32_t n, int32_t how) { Accumulate<half>(out, in, n, how); }
extern "C" __global__ __vector__ void accumulate_i8(GM_ADDR out, GM_ADDR in, uint32_t n, int32_t how) { Accumulate<int8_t>(out, in, n, how); }
extern "C" __global__ __vector__ void accumulate_i32(GM_ADDR out, GM_ADDR in, uint32_t n, int32_t how) { Accumulate<int32_t>(out, in, n, how); }

// a pass through the UB in steps, every core its own range
extern "C" __global__ __vector__ void pass(GM_ADDR out, GM_ADDR in, int64_t bytes, uint32_t step)
{
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
    pipe.InitBuffer(queue, 2, step);
    GlobalTensor<uint8_t> source, target;
    source.SetGlobalBuffer(in);
    target.SetGlobalBuffer(out);
    for (int64_t begin = GetBlockIdx() * step; begin < bytes; begin += GetBlockNum() * step) {
        const uint32_t count = bytes - begin < step ? bytes - begin : step;
        LocalTensor<uint8_t> t = queue.AllocTensor<uint8_t>();
        DataCopyPad(t, source[begin], DataCopyExtParams{1, count, 0, 0, 0}, DataCopyPadExtParams<uint8_t>{});
        queue.EnQue(t);
        t = queue.DeQue<uint8_t>();
        DataCopyPad(target[begin], t, DataCopyExtParams{1, count, 0, 0, 0});
        queue.FreeTensor(t);
    }
}

extern "C" __global__ __vector__ void junk_tail(GM_ADDR out, GM_ADDR in)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 64);
    GlobalTensor<float> source, target;
    source.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(in));
    target.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(out));
    SetPadValue<float>(7.5f);
    DataCopyPad(buffer.Get<float>(), source, DataCopyExtParams{2, 12, 0, 0, 0}, DataCopyPadExtParams<float>{});
    DataCopy(target, buffer.Get<float>(), 16);
}
"""

NAMES = (
    "load1 load2 load4 load8 store blocks copy_masked accumulate_f32 accumulate_f16 accumulate_i8 "
    "accumulate_i32 pass junk_tail"
).split()


class LoadArgs(ctypes.Structure):
    _fields_ = (
        ("count", ctypes.c_uint32),
        ("length", ctypes.c_uint32),
        ("source", ctypes.c_uint32),
        ("destination", ctypes.c_uint32),
        ("pad", ctypes.c_uint8),
        ("left", ctypes.c_uint8),
        ("right", ctypes.c_uint8),
        ("value", ctypes.c_uint64),
    )


@pytest.fixture(scope="module")
def kernels(twin: Harness) -> dict[str, Kernel]:
    return twin.compile(TEXT, NAMES)


def bytes_of(n: int, seed: int = 1) -> npt.NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, n, dtype=np.uint8)


def round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


@dataclass(frozen=True, slots=True)
class Case:
    """Parameters of one DataCopyPad that fits the buffers of the tests."""

    size: int
    count: int
    elements: int
    gm_gap: int
    ub_gap: int
    pad: bool
    left: int
    right: int
    value: int

    @property
    def length(self) -> int:
        return self.elements * self.size


@st.composite
def cases(draw: st.DrawFn) -> Case:
    size = draw(st.sampled_from((1, 2, 4, 8)))
    elements = draw(st.integers(0, 600 // size) | st.integers(1, 3))
    ub_gap = draw(st.integers(0, 3))
    row = round_up(elements * size + 64, 32) + ub_gap * 32
    count = draw(st.integers(0, min(4095, UB_BYTES // row)) | st.integers(0, 4))
    return Case(
        size,
        count,
        elements,
        draw(st.integers(0, 70)),
        ub_gap,
        draw(st.booleans()),
        draw(st.integers(0, 32 // size)),
        draw(st.integers(0, 32 // size)),
        0 if size == 8 else draw(st.integers(0, 256**size - 1)),
    )


@given(cases())
def test_padded_load_follows_the_contract(kernels: dict[str, Kernel], case: Case) -> None:
    gm = bytes_of(max(1, case.count * (case.length + case.gm_gap)))
    ub = np.full(UB_BYTES, JUNK, np.uint8)
    kernels[f"load{case.size}"](
        gm,
        ub,
        LoadArgs(
            case.count,
            case.length,
            case.gm_gap,
            case.ub_gap,
            case.pad,
            case.left,
            case.right,
            case.value,
        ),
    )
    fill = case.pad and (case.left > 0 or case.right > 0)
    left, right = (case.left * case.size, case.right * case.size) if fill else (0, 0)
    occupied = round_up(left + case.length + right, 32)
    element = np.frombuffer(case.value.to_bytes(case.size, "little"), np.uint8)
    expected = np.full(UB_BYTES, JUNK, np.uint8)
    if case.length > 0:
        for row in range(case.count):
            start = row * (occupied + case.ub_gap * 32)
            source = row * (case.length + case.gm_gap)
            if fill:
                expected[start : start + occupied] = np.tile(element, occupied // case.size)
            data = gm[source : source + case.length]
            expected[start + left : start + left + case.length] = data
    np.testing.assert_array_equal(ub, expected)


@given(cases(), st.booleans(), st.integers(0, 63))
def test_padded_store_writes_exactly_its_bytes(
    kernels: dict[str, Kernel], case: Case, stream: bool, offset: int
) -> None:
    ub = bytes_of(UB_BYTES, 2)
    pitch = case.length + case.gm_gap
    gm = np.full(offset + case.count * pitch + 64, JUNK, np.uint8)
    expected = gm.copy()
    occupied = round_up(case.length, 32) + case.ub_gap * 32
    for row in range(case.count):
        start = offset + row * pitch
        expected[start : start + case.length] = ub[row * occupied : row * occupied + case.length]
    kernels["store"](
        gm[offset:],
        ub,
        LoadArgs(case.count, case.length, case.ub_gap, case.gm_gap, 0, 0, 0, 0),
        flags=STREAM_STORES if stream else 0,
    )
    np.testing.assert_array_equal(gm, expected)


def test_as_many_rows_as_the_field_allows(kernels: dict[str, Kernel]) -> None:
    gm = bytes_of(4095 * 4, 3)
    out = np.full(4095 * 5, JUNK, np.uint8)
    ub = np.full(UB_BYTES, JUNK, np.uint8)
    ub[:] = np.resize(gm, UB_BYTES)
    kernels["store"](out, ub, LoadArgs(2047, 1, 0, 4, 0, 0, 0, 0))
    np.testing.assert_array_equal(out[: 2047 * 5 : 5], ub[: 2047 * 32 : 32])
    assert (out.reshape(-1, 5)[:, 1:] == JUNK).all()


@pytest.mark.parametrize(
    ("count", "length", "in_gap", "out_gap"),
    [(4, 2, 6, 0), (1, 1, 0, 0), (7, 3, 1, 5), (0, 4, 0, 0), (5, 0, 1, 1), (64, 1, 2, 3)],
)
def test_block_copies_gather_and_spread_rows(
    kernels: dict[str, Kernel], count: int, length: int, in_gap: int, out_gap: int
) -> None:
    source = bytes_of(max(1, count * (length + in_gap)) * 32, 4)
    target = np.full(max(1, count * (length + out_gap)) * 32, JUNK, np.uint8)
    expected = target.copy()
    for row in range(count):
        start, stop = row * (length + in_gap) * 32, row * (length + out_gap) * 32
        expected[stop : stop + length * 32] = source[start : start + length * 32]
    arguments = (ctypes.c_uint16(v) for v in (count, length, in_gap, out_gap))
    kernels["blocks"](target, source, *arguments)
    np.testing.assert_array_equal(target, expected)


@pytest.mark.parametrize(
    ("low", "high", "mode"),
    [
        (0x5555_5555_5555_5555, 0xFF, 0),
        (2**64 - 1, 2**64 - 1, 0),
        (70, 0, 1),
        (128, 0, 1),
        (9, 0, 2),
    ],
)
def test_masked_copy_inside_the_ub(
    kernels: dict[str, Kernel], low: int, high: int, mode: int
) -> None:
    source = np.arange(2048, dtype=np.int16)
    target = np.full(2048, -1, np.int16)
    expected = target.copy()
    bits = low | high << 64 if mode == 0 else (1 << low) - 1
    for repeat in range({0: 3, 1: 4, 2: 2}[mode]):
        for lane in range(128):
            if bits >> lane & 1:
                expected[repeat * 128 + lane] = source[(0 if mode == 1 else repeat * 128) + lane]
    kernels["copy_masked"](
        target, source, ctypes.c_uint64(low), ctypes.c_uint64(high), ctypes.c_uint8(mode)
    )
    np.testing.assert_array_equal(target, expected)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int32"])
@pytest.mark.parametrize("how", [0, 1, 2])
def test_atomic_copies_combine_the_cores(kernels: dict[str, Kernel], dtype: str, how: int) -> None:
    cores, n = 6, 37
    generator = np.random.default_rng(how)
    values = generator.integers(-20, 20, (cores, n)).astype(dtype)  # sums are exact in any order
    start = generator.integers(-20, 20, n).astype(dtype)
    target = np.concatenate([start, np.full(5, 77, dtype)])
    combine = (np.add, np.maximum, np.minimum)[how]
    expected = start
    for row in values:
        expected = combine(expected, row)
    name = {"float32": "f32", "float16": "f16", "int8": "i8", "int32": "i32"}[dtype]
    kernels[f"accumulate_{name}"](
        target, values, ctypes.c_uint32(n), ctypes.c_int32(how), blocks=cores
    )
    np.testing.assert_array_equal(target[:n], expected)
    assert (target[n:] == 77).all()


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("offset", [0, 1, 16, 48])
@pytest.mark.parametrize("step", [32, 1024, 4096, 16384])
def test_streaming_stores_at_any_alignment(
    twin: Harness, kernels: dict[str, Kernel], workers: int, offset: int, step: int
) -> None:
    n = 100_003
    raw = np.full(n + 256, JUNK, np.uint8)
    start = -raw.ctypes.data % 64 + offset
    target = raw[start : start + n]
    source = bytes_of(n, 5)
    on = twin.with_workers(kernels, workers)
    arguments = (target, source, ctypes.c_int64(n), ctypes.c_uint32(step))
    on["pass"](*arguments, blocks=3, flags=STREAM_STORES)
    np.testing.assert_array_equal(target, source)
    assert (raw[:start] == JUNK).all()
    assert (raw[start + n :] == JUNK).all()


def test_pad_value_fills_the_tail_of_an_unpadded_load(kernels: dict[str, Kernel]) -> None:
    source = np.arange(6, dtype=np.float32)
    target = np.zeros(16, np.float32)
    kernels["junk_tail"](target, source)
    expected = [0, 1, 2, *[7.5] * 5, 3, 4, 5, *[7.5] * 5]
    np.testing.assert_array_equal(target, np.array(expected, np.float32))


def test_counting_build_counts_bytes_and_instructions(twin: Harness) -> None:
    counted = twin.compile(TEXT, ["pass", "blocks"], build="count")
    runtime = twin.runtime()
    runtime.counters(reset=True)
    n = 10_000
    source, target = bytes_of(n, 6), np.zeros(n, np.uint8)
    counted["pass"](target, source, ctypes.c_int64(n), ctypes.c_uint32(1024), blocks=2)
    counters = runtime.counters()
    np.testing.assert_array_equal(target, source)
    assert counters[GM_TO_UB] == n
    assert counters[UB_TO_GM] == n
    assert counters[COPY_COUNT] == 20  # ten steps, in and out
    assert counters[VECTOR_COUNT] == 0
    assert counters[UB_PEAK] == 2048

    arguments = (ctypes.c_uint16(v) for v in (4, 2, 1, 0))
    counted["blocks"](target, source, *arguments)
    counters = runtime.counters()
    assert counters[GM_TO_UB] == counters[UB_TO_GM] == 4 * 2 * 32
    assert counters[COPY_COUNT] == 2
    assert counters[VECTOR_COUNT] == 1  # the copy inside the UB is the vector unit's
    assert counters[UB_PEAK] == 131072
    assert runtime.counters() == [0] * 16


def test_fast_build_counts_nothing(twin: Harness, kernels: dict[str, Kernel]) -> None:
    twin.runtime().counters(reset=True)
    target = np.zeros(64, np.uint8)
    kernels["pass"](target, bytes_of(64), ctypes.c_int64(64), ctypes.c_uint32(64))
    assert twin.runtime().counters() == [0] * 16
