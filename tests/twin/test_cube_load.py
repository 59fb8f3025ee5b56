# ruff: noqa: E501 (lines of the C++ texts)
"""Copies into the cube unit's memories, against NumPy: nd2nz, nz2nd, LoadData, Fill, bias."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from .cube import CTYPE, HEAD, Array, Bytes, from_nz, image, matrix, up
from .harness import CUBE, VECTOR, Harness, Kernel

ND = tuple(CTYPE)
WHOLE = 131072
"""Bytes of L1 and L0 that the kernels take from their arguments and give back."""

TEXT = (
    HEAD
    + """
template <typename T> __aicore__ inline void Nd2Nz(GM_ADDR x, GM_ADDR l1, GM_ADDR p)
{
    const int32_t* v = reinterpret_cast<const int32_t*>(p);
    poke(at<uint8_t>(TPosition::A1), l1, 131072);
    DataCopy(at<T>(TPosition::A1, v[8]), gm<T>(x), Nd2NzParams(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]));
    peek(at<uint8_t>(TPosition::A1), l1, 131072);
}
template <typename T> __aicore__ inline void Nz2Nd(GM_ADDR y, GM_ADDR ub, GM_ADDR p)
{
    const int32_t* v = reinterpret_cast<const int32_t*>(p);
    poke(at<uint8_t>(TPosition::VECCALC), ub, 131072);
    DataCopy(gm<T>(y), at<T>(TPosition::VECCALC), Nz2NdParamsFull(v[0], v[1], v[2], v[3], v[4], v[5], v[6]));
}
// v: position of the destination, and the parameters
template <typename T> __aicore__ inline void Load2D(GM_ADDR l1, GM_ADDR l0, GM_ADDR p)
{
    const int32_t* v = reinterpret_cast<const int32_t*>(p);
    const TPosition to = v[0] == 0 ? TPosition::A2 : v[0] == 1 ? TPosition::B2 : TPosition::A1;
    const LoadData2DParams params(v[1], v[2], v[3], 0, v[4], v[5] != 0, v[6]);
    poke(at<uint8_t>(to), l0, 65536);
    if (v[7] != 0) {
        LoadData(at<T>(to), gm<T>(l1), params);
    } else {
        poke(at<uint8_t>(TPosition::B1, 131072), l1, 131072);
        LoadData(at<T>(to), at<T>(TPosition::B1, 131072), params);
    }
    peek(at<uint8_t>(to), l0, 65536);
}
template <typename T> __aicore__ inline void Squares(GM_ADDR l1, GM_ADDR l0, GM_ADDR p)
{
    const int32_t* v = reinterpret_cast<const int32_t*>(p);
    const TPosition to = v[0] == 0 ? TPosition::A2 : TPosition::B2;
    poke(at<uint8_t>(to), l0, 65536);
    poke(at<uint8_t>(TPosition::A1), l1, 131072);
    LoadDataWithTranspose(at<T>(to), at<T>(TPosition::A1), LoadData2dTransposeParams(v[1], v[2], v[3], v[4], v[5]));
    peek(at<uint8_t>(to), l0, 65536);
}
template <typename T> __aicore__ inline void Load3D(GM_ADDR l1, GM_ADDR l0, GM_ADDR p)
{
    const int32_t* v = reinterpret_cast<const int32_t*>(p);
    const TPosition to = v[0] == 0 ? TPosition::A2 : TPosition::B2;
    poke(at<uint8_t>(to), l0, 65536);
    poke(at<uint8_t>(TPosition::A1), l1, 131072);
    LoadData3DParamsV2<T> q;
    q.l1H = v[1]; q.l1W = v[2]; q.channelSize = v[3]; q.kExtension = v[4]; q.mExtension = v[5];
    q.kStartPt = v[6]; q.mStartPt = v[7]; q.strideW = v[8]; q.strideH = v[9]; q.filterW = v[10]; q.filterH = v[11];
    q.dilationFilterW = v[12]; q.dilationFilterH = v[13]; q.enTranspose = v[14] != 0;
    for (int i = 0; i < 4; ++i) { q.padList[i] = v[15 + i]; }
    q.padValue = static_cast<T>(3);
    uint8_t pads[4] = {0, 0, 0, 0};
    SetFmatrix(1, 1, pads, FmatrixMode::FMATRIX_LEFT);
    SetLoadDataBoundary(0);
    SetLoadDataPaddingValue<T>(static_cast<T>(0));
    SetLoadDataRepeat(LoadDataRepeatParam{});
    LoadData(at<T>(to), at<T>(TPosition::A1), q);
    peek(at<uint8_t>(to), l0, 65536);
}
template <typename T> __aicore__ inline void Fills(GM_ADDR memory, GM_ADDR p)
{
    const int32_t* v = reinterpret_cast<const int32_t*>(p);
    const TPosition to = v[0] == 0 ? TPosition::A2 : v[0] == 1 ? TPosition::B2 : TPosition::A1;
    const T value = static_cast<T>(static_cast<float>(v[4]));
    poke(at<uint8_t>(to), memory, 65536);
    if (v[5] != 0) {
        InitConstValue(at<T>(to), InitConstValueParams<T>(v[1], v[2], v[3], value));
    } else {
        Fill(at<T>(to), InitConstValueParams<T>(v[1], v[2], v[3], value));
    }
    peek(at<uint8_t>(to), memory, 65536);
}
// GM to L1 and back, and L1 to the fixpipe buffer; v: count, length, gaps on the way in and out
extern "C" __global__ __cube__ void passes(GM_ADDR x, GM_ADDR y, GM_ADDR p)
{
    const int32_t* v = reinterpret_cast<const int32_t*>(p);
    const LocalTensor<uint64_t> l1 = at<uint64_t>(TPosition::A1), fb = at<uint64_t>(TPosition::C2PIPE2GM);
    DataCopy(l1, gm<uint64_t>(x), 1024);
    DataCopy(gm<uint64_t>(y), l1, 1024);
    DataCopy(l1[1024], gm<uint64_t>(x), DataCopyParams(v[0], v[1], v[2], 0));
    DataCopy(gm<uint64_t>(y)[1024], l1[1024], DataCopyParams(v[0], v[1], 0, v[3]));
    DataCopy(fb, l1, DataCopyParams(2, 1, 4, 2)); // starts 128 bytes and 256 bytes apart
    peek(fb, y + 16384, 2048);
}
extern "C" __global__ __cube__ void bias(GM_ADDR l1, GM_ADDR c2, GM_ADDR p)
{
    const int32_t* v = reinterpret_cast<const int32_t*>(p);
    poke(at<uint8_t>(TPosition::C1), l1, 4096);
    poke(at<uint8_t>(TPosition::C2), c2, 1024);
    const DataCopyParams params(v[1], v[2], v[3], v[4]);
    if (v[0] != 0) {
        DataCopy(at<float>(TPosition::C2), at<half>(TPosition::C1), params);
    } else {
        DataCopy(at<int32_t>(TPosition::C2), at<int32_t>(TPosition::C1), params);
    }
    peek(at<uint8_t>(TPosition::C2), c2, 1024);
}
"""
)

KERNELS = {
    "nd2nz": ("Nd2Nz<{T}>(x, y, p)", ND),
    "nz2nd": ("Nz2Nd<{T}>(x, y, p)", ND),
    "load": ("Load2D<{T}>(x, y, p)", ("half", "bfloat16_t", "float", "int8_t", "uint8_t", "int32_t", "uint32_t")),
    "squares": ("Squares<{T}>(x, y, p)", ("half", "bfloat16_t", "float", "int8_t", "uint8_t", "int32_t", "uint32_t", "int4b_t")),
    "image": ("Load3D<{T}>(x, y, p)", ("half", "bfloat16_t", "float", "int8_t", "int32_t", "uint32_t")),
    "fill": ("Fills<{T}>(x, p)", ("half", "bfloat16_t", "int16_t", "uint16_t", "float", "int32_t", "uint32_t")),
}  # fmt: skip


@pytest.fixture(scope="module")
def kernels(twin: Harness) -> dict[str, Kernel]:
    text, names = TEXT, ["bias", "passes"]
    for kernel, (call, types) in KERNELS.items():
        for name in types:
            names.append(f"{kernel}_{name}")
            text += (
                f'extern "C" __global__ __cube__ void {kernel}_{name}(GM_ADDR x, GM_ADDR y, '
                f"GM_ADDR p) {{ {call.format(T=name)}; }}\n"
            )
    return twin.compile(text, names)


def numbers(*values: int) -> Array:
    return np.array(values, np.int32)


def cases(kernel: str) -> tuple[str, ...]:
    return KERNELS[kernel][1]


@pytest.mark.parametrize("name", cases("nd2nz"))
@pytest.mark.parametrize(
    ("count", "rows", "cols", "pitch", "c0_stride", "row_stride"),
    [
        (1, 32, 64, 64, 32, 1),
        (1, 7, 19, 40, 16, 1),
        (1, 1, 1, 3, 1, 1),
        (2, 5, 33, 34, 32, 2),
        (3, 4, 8, 8, 9, 2),
        (0, 4, 8, 8, 9, 2),
        (1, 0, 8, 8, 9, 2),
    ],
)
def test_nd_to_nz(
    kernels: dict[str, Kernel],
    name: str,
    count: int,
    rows: int,
    cols: int,
    pitch: int,
    c0_stride: int,
    row_stride: int,
) -> None:
    random = np.random.default_rng(rows * 100 + cols)
    dtype = np.dtype(CTYPE[name])
    c0, apart, step, start = 32 // dtype.itemsize, rows * pitch + 3, 4096 // dtype.itemsize, 32
    x = matrix(random, name, 1, max(count, 1) * apart)[0]
    memory = image(WHOLE)
    expected = memory.copy()
    for i, r, c in itertools.product(range(count), range(rows), range(up(cols, c0))):
        block = 32 * (c // c0 * c0_stride + r * row_stride)
        offset = start + (i * step + c % c0) * dtype.itemsize + block
        value = x[i * apart + r * pitch + c] if c < cols else dtype.type(0)
        expected[offset : offset + dtype.itemsize] = np.frombuffer(value.tobytes(), np.uint8)
    parameters = numbers(count, rows, cols, apart, pitch, c0_stride, row_stride, step, start)
    kernels[f"nd2nz_{name}"](x, memory, parameters, kind=CUBE)
    np.testing.assert_array_equal(memory, expected)


@pytest.mark.parametrize("name", cases("nz2nd"))
def test_nz_to_nd(kernels: dict[str, Kernel], name: str) -> None:
    dtype = np.dtype(CTYPE[name])
    count, rows, cols, pitch, strip_rows = 2, 5, 48, 50, 7
    memory = image(WHOLE)
    source = memory.view(dtype)
    y = np.zeros((count, rows, pitch), dtype)
    before = y.copy()
    for i in range(count):
        strips = source[i * 4 * 256 :][: 3 * strip_rows * 16].reshape(3, strip_rows, 16)
        before[i, :, :cols] = from_nz(strips, rows, cols)
    parameters = numbers(count, rows, cols, 4, strip_rows, pitch, rows * pitch)
    kernels[f"nz2nd_{name}"](y, memory, parameters, kind=VECTOR)
    np.testing.assert_array_equal(y.view(np.uint8), before.view(np.uint8))


def load_2d(
    before: Bytes, source: Bytes, start: int, repeat: int, stride: int, gap: int, transpose: bool
) -> Bytes:
    expected = before.copy().reshape(-1, 512)
    for i in range(repeat):
        fractal = source.reshape(-1, 512)[start + i * stride]
        if transpose:
            fractal = np.ascontiguousarray(fractal.view(np.uint16).reshape(16, 16).T).view(np.uint8)
        expected[i * (1 + gap)] = fractal.ravel()
    return expected.ravel()


@pytest.mark.parametrize("name", cases("load"))
@pytest.mark.parametrize(("target", "from_gm"), [(0, 0), (1, 0), (0, 1), (1, 1), (2, 1)])
def test_load_data_2d(kernels: dict[str, Kernel], name: str, target: int, from_gm: int) -> None:
    two_bytes = np.dtype(CTYPE[name]).itemsize == 2
    for start, repeat, stride, gap in [(0, 1, 1, 0), (3, 4, 2, 0), (1, 5, 1, 2), (9, 0, 1, 0)]:
        for transpose in (False, True) if two_bytes else (False,):
            source, memory = image(WHOLE, 2), image(65536)
            expected = load_2d(memory, source, start, repeat, stride, gap, transpose)
            p = numbers(target, start, repeat, stride, gap, int(transpose), 0, from_gm)
            kernels[f"load_{name}"](source, memory, p, kind=CUBE)
            np.testing.assert_array_equal(memory, expected)


def test_load_data_descends(kernels: dict[str, Kernel]) -> None:
    source, memory = image(WHOLE, 2), image(65536)
    expected = load_2d(memory, source, 9, 3, -2, 1, False)
    kernels["load_half"](source, memory, numbers(0, 9, 3, 2, 1, 0, 1, 0), kind=CUBE)
    np.testing.assert_array_equal(memory, expected)


def nibbles(x: Bytes) -> Bytes:
    return np.stack([x & 15, x >> 4], -1).reshape(*x.shape[:-1], -1)


@pytest.mark.parametrize("name", cases("squares"))
@pytest.mark.parametrize(
    ("start", "repeat", "stride", "gap", "inner"), [(0, 3, 1, 3, 0), (2, 2, 3, 9, 1), (1, 1, 1, 0, 0)]
)  # fmt: skip
def test_load_with_transpose(
    kernels: dict[str, Kernel], name: str, start: int, repeat: int, stride: int, gap: int, inner: int
) -> None:  # fmt: skip
    source, memory = image(WHOLE, 3), image(65536)
    bits = 4 if name == "int4b_t" else np.dtype(CTYPE[name]).itemsize * 8
    side, count = {4: (64, 4), 8: (32, 2), 16: (16, 1), 32: (16, 2)}[bits]
    expected = memory.copy().reshape(-1, 512)
    for i in range(repeat):
        block = source.reshape(-1, count, 16, 32)[start + i * stride]
        if bits == 4:
            t = nibbles(block).reshape(side, side).T.reshape(count, 16, 64)
            made = (t[..., ::2] | t[..., 1::2] << 4).astype(np.uint8)
        elif bits == 32:
            square = np.concatenate(list(block.view(np.uint32)), 1)
            made = np.stack(np.split(square.T, 2, 1))
        else:
            made = block.view(f"u{bits // 8}").reshape(side, side).T
        made = np.ascontiguousarray(made).view(np.uint8).reshape(count, 512)
        for fractal in range(count):
            expected[i * (1 + gap) + fractal * (1 + inner)] = made[fractal]
    p = numbers(1, start, repeat, stride, gap, inner)
    kernels[f"squares_{name}"](source, memory, p, kind=CUBE)
    np.testing.assert_array_equal(memory, expected.ravel())


# height, width, channels, kExtension, mExtension, kStart, mStart, strides, filter, dilation, pads
IMAGES = {
    "matrix": (1, 48, 32, 32, 48, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0),
    "part": (1, 48, 64, 32, 16, 32, 16, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0),
    "tails": (1, 20, 24, 24, 20, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0),
    "patches": (6, 7, 32, 9 * 32, 20, 0, 0, 1, 1, 3, 3, 1, 1, 1, 0, 1, 0),
    "strided": (9, 11, 32, 6 * 32, 16, 0, 3, 2, 3, 3, 2, 2, 3, 2, 1, 1, 2),
}  # fmt: skip


def patches(source: Array, c: tuple[int, ...], border: object) -> Array:
    """The patch matrix [places][columns] of ``source[strips, height, width, C0]``."""
    height, width, *_, stride_w, stride_h, filter_w, filter_h, dil_w, dil_h = c[:13]
    left, right, top, bottom = c[13:]
    strips, _, _, c0 = source.shape
    padded = np.full(
        (strips, height + top + bottom, width + left + right, c0), border, source.dtype
    )
    padded[:, top : top + height, left : left + width] = source
    down = (padded.shape[1] - (filter_h - 1) * dil_h - 1) // stride_h + 1
    across = (padded.shape[2] - (filter_w - 1) * dil_w - 1) // stride_w + 1
    rows = []
    for y, x in itertools.product(range(down), range(across)):
        taps = padded[:, y * stride_h :: dil_h, x * stride_w :: dil_w][:, :filter_h, :filter_w]
        rows.append(taps.reshape(-1))
    return np.array(rows)


@pytest.mark.parametrize("case", IMAGES)
@pytest.mark.parametrize(
    ("name", "target"),
    [
        (name, target)
        for name in cases("image")
        for target in ("a", "a_transposed", "b")
        if target == "a" or CTYPE[name] != np.int8
    ],
)
def test_load_data_3d(kernels: dict[str, Kernel], name: str, case: str, target: str) -> None:
    c = IMAGES[case]
    dtype = np.dtype(CTYPE[name])
    c0 = 32 // dtype.itemsize
    height, width, channels, columns, rows, first_column, first_row = c[:7]
    strips = -(-channels // c0)
    source = np.zeros(WHOLE, np.uint8)
    pixels = matrix(np.random.default_rng(4), name, 1, strips * height * width * c0)[0]
    source.view(dtype)[: pixels.size] = pixels
    three = 0x4040 if name == "bfloat16_t" else 3
    whole = patches(pixels.reshape(strips, height, width, c0), c, three)
    part = np.zeros((up(rows, 16), up(columns, c0 if target == "a" else 16)), dtype)
    cut = whole[first_row : first_row + rows, first_column : first_column + up(columns, c0)]
    part[: cut.shape[0], : cut.shape[1]] = cut
    if target == "a":
        made = part.reshape(part.shape[0] // 16, 16, -1, c0).swapaxes(1, 2)
    else:  # fractals [16 of the columns][C0 of the rows], row by row over (columns, rows)
        made = part.T.reshape(part.shape[1] // 16, 16, -1, c0).swapaxes(1, 2)
        made = made.swapaxes(0, 1) if target == "b" else made
    memory = image(65536)
    expected = memory.copy()
    flat = np.ascontiguousarray(made).view(np.uint8).ravel()
    expected[: flat.size] = flat
    p = numbers(int(target == "b"), *c[:13], int(target == "a_transposed"), *c[13:])
    kernels[f"image_{name}"](source, memory, p, kind=CUBE)
    np.testing.assert_array_equal(memory, expected)


@pytest.mark.parametrize("name", cases("fill"))
@pytest.mark.parametrize(("target", "unit"), [(0, 512), (1, 512), (2, 32)])
def test_fill(kernels: dict[str, Kernel], name: str, target: int, unit: int) -> None:
    repeats, blocks, gap, value = 3, 2, 5, 7
    bits = {"half": 0x4700, "bfloat16_t": 0x40E0}.get(name, value)
    element = np.array([value if name == "float" else bits], CTYPE[name] if name != "half" else np.uint16)  # fmt: skip
    memory = image(65536)
    expected = memory.copy()
    for i in range(repeats):
        start = i * (blocks + gap) * unit
        expected[start : start + blocks * unit] = np.tile(
            element.view(np.uint8), blocks * unit // element.itemsize
        )
    for old_name in (0, 1):
        found = memory.copy()
        p = numbers(target, repeats, blocks, gap, value, old_name)
        kernels[f"fill_{name}"](found, found, p, kind=CUBE)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("converts", [0, 1])
def test_bias_table(kernels: dict[str, Kernel], converts: int) -> None:
    source = np.arange(2048, dtype=np.float16) if converts else np.arange(1024, dtype=np.int32)
    table = np.zeros(256, np.float32 if converts else np.int32)
    expected = table.copy()
    count, length, source_gap, gap = 3, 2, 1, 1
    taken = source.view(np.uint8).reshape(-1, 32)
    per_block = length if converts else 2 * length
    for i in range(count):
        row = taken[i * (per_block + source_gap) :][:per_block].ravel().view(source.dtype)
        expected[i * (length + gap) * 16 :][: length * 16] = row
    kernels["bias"](source, table, numbers(converts, count, length, source_gap, gap), kind=CUBE)
    np.testing.assert_array_equal(table, expected)


def test_l1_and_back(kernels: dict[str, Kernel]) -> None:
    count, length, gap_in, gap_out = 5, 3, 2, 1
    x = np.arange(1024, dtype=np.uint64)
    y = np.zeros(2304, np.uint64)
    expected = y.copy()
    expected[:1024] = x
    for i in range(count):  # a block is 4 elements
        row = x[i * (length + gap_in) * 4 :][: length * 4]
        expected[1024 + i * (length + gap_out) * 4 :][: length * 4] = row
    expected[2048:2064], expected[2080:2096] = x[:16], x[16:32]
    kernels["passes"](x, y, numbers(count, length, gap_in, gap_out), kind=CUBE)
    np.testing.assert_array_equal(y, expected)
