# ruff: noqa: E501 (lines of the C++ texts)
"""Fixpipe against NumPy: row-major and NZ, to global memory and L1, every mode of quantisation."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest

from .cube import CTYPE, HEAD, Array, image, to_bfloat16
from .harness import CUBE, Harness, Kernel

# mode: number, types of destination and source
MODES = {
    "float": ("NoQuant", "float", "float"),
    "int32": ("NoQuant", "int32_t", "int32_t"),
    "half": ("F322F16", "half", "float"),
    "bf16": ("F322BF16", "bfloat16_t", "float"),
    "int8": ("QF322B8_PRE", "int8_t", "float"),
    "uint8": ("QF322B8_PRE", "uint8_t", "float"),
    "deq_half": ("DEQF16", "half", "int32_t"),
    "req_int8": ("REQ8", "int8_t", "int32_t"),
    "req_uint8": ("REQ8", "uint8_t", "int32_t"),
    "v_int8": ("VQF322B8_PRE", "int8_t", "float"),
    "v_uint8": ("VQF322B8_PRE", "uint8_t", "float"),
    "v_deq_half": ("VDEQF16", "half", "int32_t"),
    "v_req_int8": ("VREQ8", "int8_t", "int32_t"),
    "v_req_uint8": ("VREQ8", "uint8_t", "int32_t"),
}

TEXT = (
    HEAD
    + """
// v: n, m, srcStride, dstStride, ndNum, srcNdStride, dstNdStride, relu, channel split, atomic
template <typename D, typename S, QuantMode_t mode, const FixpipeConfig& config, bool l1>
__aicore__ inline void Drain(GM_ADDR y, GM_ADDR c, GM_ADDR scales, GM_ADDR p)
{
    const int32_t* v = reinterpret_cast<const int32_t*>(p);
    constexpr bool vector = mode == VQF322B8_PRE || mode == VDEQF16 || mode == VREQ8;
    poke(at<uint8_t>(TPosition::CO1), c, 131072);
    poke(at<uint8_t>(TPosition::A1, 65536), scales, 4096);
    FixpipeParamsV220 q;
    q.nSize = v[0]; q.mSize = v[1]; q.srcStride = v[2]; q.dstStride = v[3];
    q.ndNum = v[4]; q.srcNdStride = v[5]; q.dstNdStride = v[6];
    q.reluEn = v[7] != 0; q.isChannelSplit = v[8] != 0; q.quantPre = mode;
    __builtin_memcpy(&q.deqScalar, scales, 8);
    const LocalTensor<uint64_t> table = at<uint64_t>(TPosition::A1, 65536);
    if constexpr (l1) {
        poke(at<uint8_t>(TPosition::A1), y, 32768);
        if constexpr (vector) {
            Fixpipe<D, S, config>(at<D>(TPosition::A1), at<S>(TPosition::CO1), table, q);
        } else {
            Fixpipe<D, S, config>(at<D>(TPosition::A1), at<S>(TPosition::CO1), q);
        }
        peek(at<uint8_t>(TPosition::A1), y, 32768);
    } else if constexpr (vector) {
        Fixpipe<D, S, config>(gm<D>(y), at<S>(TPosition::CO1), table, q);
    } else {
        if (v[9] != 0) { SetAtomicAdd<float>(); }
        Fixpipe<D, S, config>(gm<D>(y), at<S>(TPosition::CO1), q);
        SetAtomicNone();
    }
}
"""
)


def kernel_text() -> tuple[str, list[str]]:
    text, names = TEXT, []
    for name, (mode, dst, src) in MODES.items():
        forms = [("rows", "CFG_ROW_MAJOR", "false"), ("nz", "CFG_NZ", "false")]
        if dst != src:
            forms.append(("l1", "CFG_NZ", "true"))
        for form, config, l1 in forms:
            names.append(f"{form}_{name}")
            text += (
                f'extern "C" __global__ __cube__ void {form}_{name}(GM_ADDR y, GM_ADDR c, GM_ADDR s, '
                f"GM_ADDR p) {{ Drain<{dst}, {src}, {mode}, {config}, {l1}>(y, c, s, p); }}\n"
            )
    return text, names


@pytest.fixture(scope="module")
def kernels(twin: Harness) -> dict[str, Kernel]:
    return twin.compile(*kernel_text())


def scale_bits(scale: float, offset: int, signed: bool) -> int:
    low = int(np.float32(scale).view(np.uint32))
    return low | (offset & 0x1FF) << 37 | int(signed) << 46


def scales(name: str, random: np.random.Generator, n: int) -> tuple[Array, Array, Array]:
    """Words, factors as the unit uses them, offsets; one word where the mode has one scale."""
    signed = not name.endswith("uint8")
    count = n if name.startswith("v_") else 1
    factors = random.uniform(0.001, 0.1, count).astype(np.float32)
    offsets = random.integers(-20, 20, count)
    words = np.array(
        [scale_bits(float(f), int(o), signed) for f, o in zip(factors, offsets, strict=True)], np.uint64
    )  # fmt: skip
    return words, (factors.view(np.uint32) & 0xFFFFE000).view(np.float32), offsets


def converted(name: str, x: Array, factors: Array, offsets: Array, relu: bool) -> Array:
    """``x[m, n]`` as the unit writes it."""
    mode, dst, _ = MODES[name]
    if relu:
        x = np.maximum(x, 0)
    if mode == "NoQuant":
        return x
    if mode == "F322F16":
        return x.astype(np.float16)
    if mode == "F322BF16":
        return to_bfloat16(x)
    scaled: Array = x.astype(np.float32) * factors
    if dst == "half":
        return scaled.astype(np.float16)
    limits = np.iinfo(CTYPE[dst])
    made: Array = np.clip(np.rint(scaled) + offsets, limits.min, limits.max)
    return made.astype(CTYPE[dst])


def accumulators(name: str, random: np.random.Generator) -> Array:
    """What L0C holds: all of it."""
    if MODES[name][2] == "float":
        return random.uniform(-3000, 3000, 32768).astype(np.float32)
    return random.integers(-30000, 30000, 32768, np.int32)


def columns(c: Array, n: int, m: int, stride: int, start: int = 0) -> Array:
    """The matrix [m, n] that L0C holds from ``start`` on."""
    row, column = np.meshgrid(np.arange(m), np.arange(n), indexing="ij")
    found: Array = c[start + (column // 16 * stride + row) * 16 + column % 16]
    return found


@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize(("n", "m", "pitch"), [(48, 32, 48), (33, 17, 40), (7, 1, 7), (70, 20, 71)])
@pytest.mark.parametrize("relu", [False, True])
def test_row_major(
    kernels: dict[str, Kernel], name: str, n: int, m: int, pitch: int, relu: bool
) -> None:
    random = np.random.default_rng(n + m)
    c, (words, factors, offsets) = accumulators(name, random), scales(name, random, n)
    count, stride, apart = 2, -(-m // 16) * 16, m * pitch + 5
    dtype = np.dtype(CTYPE[MODES[name][1]])
    y = image(4096 * 8).view(dtype).copy()
    expected = y.copy()
    for i in range(count):
        x = columns(c, n, m, stride, i * 16 * 256)
        target = expected[i * apart :][: m * pitch].reshape(m, pitch)
        target[:, :n] = converted(name, x, factors, offsets, relu)
    table = np.zeros(512, np.uint64)
    table[: words.size] = words
    p = np.array([n, m, stride, pitch, count, 16, apart, relu, 0, 0], np.int32)
    kernels[f"rows_{name}"](y, c, table, p, kind=CUBE)
    np.testing.assert_array_equal(y.view(np.uint8), expected.view(np.uint8))


NZ_FORMS = [
    *[("nz", name, False) for name in MODES],
    *[("l1", name, False) for name, (_, dst, src) in MODES.items() if dst != src],
    ("nz", "float", True),
]


@pytest.mark.parametrize(("form", "name", "split"), NZ_FORMS)
@pytest.mark.parametrize(("n", "m"), [(64, 32), (48, 17), (16, 5)])
def test_nz(kernels: dict[str, Kernel], form: str, name: str, split: bool, n: int, m: int) -> None:
    dst = MODES[name][1]
    random = np.random.default_rng(n + m)
    c, (words, factors, offsets) = accumulators(name, random), scales(name, random, n)
    dtype = np.dtype(CTYPE[dst])
    width = 8 if split else 32 if dtype.itemsize == 1 else 16
    stride, strip = -(-m // 16) * 16, (m + 3) * width * dtype.itemsize // 32
    y = image(32768).view(dtype).copy()
    expected = y.copy()
    x = converted(name, columns(c, n, m, stride), factors, offsets, False)
    for row, column in itertools.product(range(m), range(n)):
        start = column // width * strip * 32 // dtype.itemsize
        expected[start + row * width + column % width] = x[row, column]
    table = np.zeros(512, np.uint64)
    table[: words.size] = words
    p = np.array([n, m, stride, strip, 1, 0, 0, 0, split, 0], np.int32)
    kernels[f"{form}_{name}"](y, c, table, p, kind=CUBE)
    np.testing.assert_array_equal(y.view(np.uint8), expected.view(np.uint8))


def test_special_values(kernels: dict[str, Kernel]) -> None:
    x = np.array([np.nan, np.inf, -np.inf, -0.0, 65520, 1e-8, 0.5, 1.5], np.float32)
    c = np.zeros(32768, np.float32)
    c[:8] = x
    words = np.zeros(512, np.uint64)
    words[0] = scale_bits(1.0, 3, signed=True)
    p = np.array([8, 1, 16, 8, 1, 0, 0, 0, 0, 0], np.int32)
    halves, bytes_ = np.zeros(8, np.float16), np.zeros(8, np.int8)
    kernels["rows_half"](halves, c, words, p, kind=CUBE)
    kernels["rows_int8"](bytes_, c, words, p, kind=CUBE)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(halves, x.astype(np.float16))
    assert np.signbit(halves[3])
    assert bytes_.tolist() == [3, 127, -128, 3, 127, 3, 3, 5]
    relu = p.copy()
    relu[7] = 1
    floats = np.zeros(8, np.float32)
    kernels["rows_float"](floats, c, words, relu, kind=CUBE)
    np.testing.assert_array_equal(
        floats, [np.nan, np.inf, 0, -0.0, 65520, np.float32(1e-8), 0.5, 1.5]
    )


def test_atomic_add(kernels: dict[str, Kernel]) -> None:
    random = np.random.default_rng(1)
    c = accumulators("float", random)
    y = random.uniform(-1, 1, (20, 40)).astype(np.float32)
    expected = y + columns(c, 40, 20, 32)
    p = np.array([40, 20, 32, 40, 1, 0, 0, 0, 0, 1], np.int32)
    kernels["rows_float"](y, c, np.zeros(512, np.uint64), p, kind=CUBE)
    np.testing.assert_array_equal(y, expected)


WRONG = {
    "Fixpipe<half, float>(gm<half>(p), at<float>(TPosition::CO1), q);": "Fixpipe: quantPre does not fit the types of destination and source",
    "q.quantPre = VDEQF16; Fixpipe<half, int32_t>(gm<half>(p), at<int32_t>(TPosition::CO1), q);": "Fixpipe: the modes VQF322B8_PRE, VDEQF16 and VREQ8, and only they, take a tensor of scales",
    "q.isChannelSplit = true; Fixpipe<float, float>(gm<float>(p), at<float>(TPosition::CO1), q);": "Fixpipe: isChannelSplit is for float in NZ",
    "SetLoadDataBoundary(1024);": "SetLoadDataBoundary: the twin's L1 does not wrap around; 0 only",
    "LoadDataRepeatParam r; r.repeatTime = 2; SetLoadDataRepeat(r);": "SetLoadDataRepeat: the twin has one repeat of LoadData only",
    "LoadData(at<float>(TPosition::A2), at<float>(TPosition::A1), LoadData2DParams(0, 1, 1, 0, 0, true, 0));": "LoadData: ifTranspose is for types of 2 bytes",
    "LoadData(at<int4b_t>(TPosition::A1), gm<int4b_t>(p), LoadData2DParams(0, 1, 1, 0, 0, false, 0));": "LoadData: int4b_t goes to L0A and L0B only",
    "LoadDataWithTranspose(at<int4b_t>(TPosition::A2), at<int4b_t>(TPosition::A1), LoadData2dTransposeParams(0, 1, 1, 0, 0));": "LoadDataWithTranspose: int4b_t goes to L0B only",
    "LoadData3DParamsV2<int8_t> i; i.l1H = 1; i.l1W = 16; LoadData(at<int8_t>(TPosition::B2), at<int8_t>(TPosition::A1), i);": "LoadData (3D): types of 1 byte go to L0A only, without enTranspose",
    "LoadData3DParamsV2<half> i; i.kStartPt = 8; LoadData(at<half>(TPosition::B2), at<half>(TPosition::A1), i);": "LoadData (3D): enSmallK does not exist on this target; kStartPt is a multiple of 32 bytes",
    "LoadData3DParamsV2<half> i; i.strideW = 0; LoadData(at<half>(TPosition::B2), at<half>(TPosition::A1), i);": "LoadData (3D): a stride or the filter's size is 0",
}  # fmt: skip


@pytest.fixture(scope="module")
def wrong(twin: Harness) -> Kernel:
    switch = "".join(f"case {i}: {{ {text} break; }}\n" for i, text in enumerate(WRONG))
    text = f"""
    extern "C" __global__ __cube__ void wrong(GM_ADDR p)
    {{
        FixpipeParamsV220 q;
        switch (*p) {{ {switch} }}
    }}
    """
    return twin.compile(HEAD + text, ["wrong"])["wrong"]


@pytest.mark.parametrize("which", range(len(WRONG)))
def test_refused(wrong: Kernel, which: int) -> None:
    code = f"""
import ctypes, numpy as np
library, runtime = ctypes.CDLL({wrong.library._name!r}), ctypes.CDLL({wrong.runtime.library._name!r})
runtime.pypto_runtime.restype = ctypes.c_void_p
which = np.array([{which}], np.uint8)
argument = ctypes.c_void_p(which.ctypes.data)
pointers = (ctypes.c_void_p * 1)(ctypes.addressof(argument))
library.wrong_launch(ctypes.c_void_p(runtime.pypto_runtime()), pointers, 1, {CUBE}, 0, (ctypes.c_uint64 * 1)(1), 1)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    message = list(WRONG.values())[which]
    assert done.returncode == -6, done
    assert done.stderr == f"pypto: Ascend C twin, block 0: {message}\n"
