# ruff: noqa: E501 (lines of the C++ texts)
"""Transposing and sorting against NumPy: blocks of each size, groups, runs, whole arrays."""

from __future__ import annotations

import numpy as np
import pytest

from .cube import CTYPE, HEAD, Array, image, matrix
from .harness import VECTOR, Harness, Kernel

BLOCKS = ("int8_t", "uint8_t", "int16_t", "uint16_t", "half", "int32_t", "uint32_t", "float")
SORTED = ("half", "float")

TEXT = (
    HEAD
    + """
// the first 64 KiB of the UB come from and go to x
template <typename T> __aicore__ inline void Squared(GM_ADDR x, GM_ADDR p)
{
    const int32_t* v = reinterpret_cast<const int32_t*>(p);
    poke(at<uint8_t>(TPosition::VECCALC), x, 65536);
    Transpose(at<T>(TPosition::VECCALC, v[0]), at<T>(TPosition::VECCALC));
    peek(at<uint8_t>(TPosition::VECCALC), x, 65536);
}
// v: high halves, repeats, strides; block j of dst is 2 * j + 40, of src 3 * j, in blocks
template <typename T> __aicore__ inline void Sixteen(GM_ADDR x, GM_ADDR p)
{
    const int32_t* v = reinterpret_cast<const int32_t*>(p);
    poke(at<uint8_t>(TPosition::VECCALC), x, 65536);
    LocalTensor<T> dst[16], src[16];
    for (int j = 0; j < 16; ++j) {
        dst[j] = at<T>(TPosition::VECCALC, 32768 + (2 * j) * 32);
        src[j] = at<T>(TPosition::VECCALC, (3 * j) * 32);
    }
    TransDataTo5HD<T>(dst, src, TransDataTo5HDParams(v[0] != 0, v[1] != 0, v[2], v[3], v[4]));
    peek(at<uint8_t>(TPosition::VECCALC), x, 65536);
}
// values at 0, indices at 16 KiB, records at 32 KiB, intermediate ones at 96 KiB
template <typename T> __aicore__ inline void Sorts(GM_ADDR x, GM_ADDR i, GM_ADDR y, GM_ADDR p)
{
    const int32_t* v = reinterpret_cast<const int32_t*>(p);
    const auto values = at<T>(TPosition::VECCALC), out = at<T>(TPosition::VECCALC, 32768);
    const auto index = at<uint32_t>(TPosition::VECCALC, 16384);
    LocalTensor<T> concat, tmp = at<T>(TPosition::VECCALC, 98304);
    poke(values, x, v[1] * 32 * sizeof(T));
    poke(index, i, v[1] * 128);
    if (v[0] == 0) {
        Sort32<T>(out, values, index, v[1]);
    } else if (v[0] == 1) {
        Concat(concat, values, tmp, 2 * v[1]);
        Sort<T, true>(out, concat, index, tmp, v[1]);
    } else {
        Concat(concat, values, tmp, 2 * v[1]);
        Sort<T, false>(out, concat, index, tmp, v[1]);
    }
    ascendc_assert(GetSortLen<T>(32) * sizeof(T) == 256 && GetSortOffset<T>(4) * sizeof(T) == 32);
    Extract(values, index, out, v[1]);
    peek(values, x, v[1] * 32 * sizeof(T));
    peek(index, i, v[1] * 128);
    peek(out, y, v[1] * 256);
}
// v: form, validBit, suspends, repeats, lengths; the lists follow one another
template <typename T> __aicore__ inline void Merges(GM_ADDR x, GM_ADDR y, GM_ADDR taken, GM_ADDR p)
{
    const int32_t* v = reinterpret_cast<const int32_t*>(p);
    const auto records = at<T>(TPosition::VECCALC), out = at<T>(TPosition::VECCALC, 65536);
    poke(records, x, 32768);
    poke(out, y, 32768);
    uint16_t lengths[4];
    LocalTensor<T> list[4];
    uint32_t start = 0;
    for (int k = 0; k < 4; ++k) {
        lengths[k] = v[4 + k];
        list[k] = records[GetSortLen<T>(start)];
        start += lengths[k];
    }
    const MrgSortSrcList<T> lists(list[0], list[1], list[2], list[3]);
    uint32_t* const counts = reinterpret_cast<uint32_t*>(taken);
    if (v[0] == 0) {
        MrgSort<T>(out, lists, MrgSort4Info(lengths, v[2] != 0, v[1], v[3]));
        uint16_t n[4];
        GetMrgSortResult(n[0], n[1], n[2], n[3]);
        for (int k = 0; k < 4; ++k) { counts[k] = n[k]; }
    } else if (v[2] != 0) {
        MrgSort<T, true>(out, lists, lengths, counts, v[1], v[3]);
    } else {
        MrgSort<T>(out, lists, lengths, counts, v[1], v[3]);
    }
    peek(out, y, 32768);
}
"""
)


@pytest.fixture(scope="module")
def kernels(twin: Harness) -> dict[str, Kernel]:
    text, names = TEXT, []
    forms = [
        *(("square", t, "Squared<{t}>(x, p)", "x, GM_ADDR p") for t in ("int16_t", "uint16_t", "half")),
        *(("sixteen", t, "Sixteen<{t}>(x, p)", "x, GM_ADDR p") for t in BLOCKS),
        *(("sort", t, "Sorts<{t}>(x, i, y, p)", "x, GM_ADDR i, GM_ADDR y, GM_ADDR p") for t in SORTED),
        *(("merge", t, "Merges<{t}>(x, y, n, p)", "x, GM_ADDR y, GM_ADDR n, GM_ADDR p") for t in SORTED),
    ]  # fmt: skip
    for name, t, call, parameters in forms:
        names.append(f"{name}_{t}")
        text += f'extern "C" __global__ __vector__ void {name}_{t}(GM_ADDR {parameters}) {{ {call.format(t=t)}; }}\n'
    return twin.compile(text, names)


def numbers(*values: int) -> Array:
    return np.array(values, np.int32)


@pytest.mark.parametrize("t", ["int16_t", "uint16_t", "half"])
@pytest.mark.parametrize("where", [0, 4096])
def test_transpose(kernels: dict[str, Kernel], t: str, where: int) -> None:
    memory = image(65536)
    expected = memory.copy()
    square = memory[:512].view(np.uint16).reshape(16, 16)
    expected[where : where + 512] = np.ascontiguousarray(square.T).view(np.uint8).ravel()
    kernels[f"square_{t}"](memory, numbers(where))
    np.testing.assert_array_equal(memory, expected)


@pytest.mark.parametrize("t", BLOCKS)
@pytest.mark.parametrize(("high_dst", "high_src"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_sixteen_blocks(kernels: dict[str, Kernel], t: str, high_dst: int, high_src: int) -> None:
    size = np.dtype(CTYPE[t]).itemsize
    for repeats, dst_stride, src_stride in [(1, 0, 0), (3, 33, 50), (0, 1, 1)]:
        memory = image(65536)
        expected = memory.copy()
        for r in range(repeats):
            blocks = [memory[(3 * j + r * src_stride) * 32 :][:32].view(f"u{size}") for j in range(16)]  # fmt: skip
            source = np.stack(blocks)
            if size == 1:
                source = source[:, 16 * high_src :][:, :16]
            rows = list(source.T)
            if size == 4:
                rows = [part for row in rows for part in (row[:8], row[8:])]
            for j, row in enumerate(rows):
                start = 32768 + (2 * j + r * dst_stride) * 32 + (16 * high_dst if size == 1 else 0)
                expected[start : start + row.nbytes] = np.ascontiguousarray(row).view(np.uint8)
        p = numbers(high_dst, high_src, repeats, dst_stride, src_stride)
        kernels[f"sixteen_{t}"](memory, p, kind=VECTOR)
        np.testing.assert_array_equal(memory, expected)


def order(x: Array) -> Array:
    """Descending and stable, NaN first."""
    keys = np.where(np.isnan(x), np.inf, x.astype(np.float64))
    return np.lexsort((np.arange(x.size), -keys, ~np.isnan(x)))


def records(x: Array, index: Array) -> Array:
    made = np.zeros((x.size, 8), np.uint8)
    made[:, : x.itemsize] = x.view(np.uint8).reshape(-1, x.itemsize)
    made[:, 4:] = index.astype(np.uint32).view(np.uint8).reshape(-1, 4)
    return made


@pytest.mark.parametrize("t", SORTED)
@pytest.mark.parametrize("repeats", [1, 3, 8, 17])
@pytest.mark.parametrize("form", [0, 1, 2])
def test_sort(kernels: dict[str, Kernel], t: str, repeats: int, form: int) -> None:
    random = np.random.default_rng(repeats)
    x = random.integers(-50, 50, 32 * repeats).astype(CTYPE[t])  # with ties
    x[::29] = np.inf
    x[3::37] = np.nan
    x[5::31] = -0.0
    index = random.permutation(x.size).astype(np.uint32)
    step = x.size if form == 1 else 32
    at = np.concatenate([s + order(x[s : s + step]) for s in range(0, x.size, step)])
    expected_x, expected_index = x[at], index[at]
    y = np.zeros((x.size, 8), np.uint8)
    kernels[f"sort_{t}"](x, index, y, numbers(form, repeats))
    np.testing.assert_array_equal(y, records(expected_x, expected_index))
    np.testing.assert_array_equal(x.view(np.uint8), expected_x.view(np.uint8))
    np.testing.assert_array_equal(index, expected_index)


@pytest.mark.parametrize("t", SORTED)
@pytest.mark.parametrize("form", [0, 1])
@pytest.mark.parametrize("suspends", [0, 1])
@pytest.mark.parametrize(
    ("lengths", "repeats"),
    [((32, 32), 1), ((5, 70, 9), 1), ((16, 16, 16, 16), 3), ((1, 0, 40, 7), 1)],
)
def test_merge(
    kernels: dict[str, Kernel], t: str, form: int, suspends: int, lengths: tuple[int, ...], repeats: int
) -> None:  # fmt: skip
    random = np.random.default_rng(sum(lengths))
    memory = image(32768).reshape(-1, 8)
    expected = image(32768, 2).reshape(-1, 8)
    before = expected.copy()
    counts = np.zeros(4, np.uint32)
    start = 0
    for _ in range(repeats):
        runs = []
        for length in lengths:
            x = -np.sort(-random.integers(-30, 30, length).astype(CTYPE[t]))
            run = records(x, np.arange(start, start + length))
            memory[start : start + length] = run
            runs.append(list(zip(x.tolist(), run, strict=True)))
            start += length
        to = start - sum(lengths)
        taken = [0] * len(lengths)
        while any(n < len(run) for n, run in zip(taken, runs, strict=True)):
            if suspends and any(n == len(run) for n, run in zip(taken, runs, strict=True)):
                break
            heads = [(-runs[k][n][0], k) for k, n in enumerate(taken) if n < len(runs[k])]
            k = min(heads)[1]
            expected[to] = runs[k][taken[k]][1]
            taken[k] += 1
            to += 1
        counts[: len(taken)] = taken
    valid = {2: 3, 3: 7, 4: 15}[len(lengths)]
    p = numbers(form, valid, suspends, repeats, *lengths, *[0] * (4 - len(lengths)))
    found = np.full(4, 99, np.uint32)
    kernels[f"merge_{t}"](memory, before, found, p)
    np.testing.assert_array_equal(found, counts)
    np.testing.assert_array_equal(before, expected)


CHECKED = """
extern "C" __global__ __vector__ void whole(GM_ADDR x, GM_ADDR y)
{
    InitSocState();
    const auto values = at<float>(TPosition::VECCALC), out = at<float>(TPosition::VECCALC, 4096);
    const auto index = at<uint32_t>(TPosition::VECCALC, 2048);
    LocalTensor<float> tmp = at<float>(TPosition::VECCALC, 8192);
    DataCopy(values, gm<float>(x), 64);
    CreateVecIndex(index.ReinterpretCast<int32_t>(), 0, 64u);
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0); WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    PipeBarrier<PIPE_V>();
    Sort<float, true>(out, values, index, tmp, 2);
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0); WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopy(gm<float>(y), out, 128);
    PipeBarrier<PIPE_ALL>();
}
extern "C" __global__ __vector__ void part(GM_ADDR x, GM_ADDR y)
{
    InitSocState();
    const auto values = at<half>(TPosition::VECCALC), out = at<half>(TPosition::VECCALC, 4096);
    DataCopy(values, gm<half>(x), 240);  // the last row is missing
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0); WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    Transpose(out, values);
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0); WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopy(gm<half>(y), out, 16);
    PipeBarrier<PIPE_ALL>();
}
extern "C" __global__ __vector__ void early(GM_ADDR x, GM_ADDR y)
{
    InitSocState();
    const auto values = at<half>(TPosition::VECCALC), out = at<half>(TPosition::VECCALC, 4096);
    DataCopy(values, gm<half>(x), 256);
    Transpose(out, values[8]);
    PipeBarrier<PIPE_ALL>();
}
"""


def test_checked_build(twin: Harness) -> None:
    kernels = twin.compile(HEAD + CHECKED, ["whole", "part", "early"], build="checked")
    x, y = matrix(np.random.default_rng(1), "float", 1, 128)[0], np.zeros(128, np.float32)

    def found(name: str) -> list[tuple[str, ...]]:
        kernels[name](x, y, kind=VECTOR)
        return [(row[0], row[2]) for row in kernels[name].report()]

    why = "a kernel without a TPipe may not call it: it may ask the TPipe for events or memory"
    assert found("whole") == [
        ("needs-tpipe", f"CreateVecIndex: {why}"),
        ("needs-tpipe", f"Sort: {why}"),
    ]
    np.testing.assert_array_equal(y[::2], -np.sort(-x[:64]))
    assert found("part") == [
        (
            "undefined-store",
            "stores an undefined value to 'y', element 7 (byte 4126 of UB): never written",
        )
    ]
    assert found("early") == [
        ("align", "Transpose: src starts at byte 16 of UB, which is no multiple of 32"),
        ("race", "reads UB on pipe V what pipe MTE2 writes, and nothing orders the two"),
    ]
