# ruff: noqa: E501 (lines of the C++ texts)
"""Scalar types and the scalar unit: conversions are exact or rounded to nearest even."""

from __future__ import annotations

import ctypes
import math
import subprocess

import numpy as np
import numpy.typing as npt
import pytest

from .harness import COMPILER, FLAGS, INCLUDE, Harness, Kernel

TEXT = """
using namespace AscendC;

static_assert(sizeof(LocalTensor<float>) == 16, "a tensor is a pointer, a size and a position");
static_assert(half(1.5f).bits == 0x3e00 && half(2049).bits == 0x6800, "");
static_assert(float(half::from_bits(1)) == 0x1p-24f && float(half::from_bits(0xfc00)) == -INFINITY, "");
static_assert(bfloat16_t(1.0f).bits == 0x3f80 && float(Cast(bfloat16_t(3.0f))) == 3.0f, "");
static_assert(pypto_twin::is_same<decltype(half(1) + half(2)), half>, "");
static_assert(pypto_twin::is_same<decltype(half(1) + 2.0f), float>, "");
static_assert(GetBitCount<1>(0xf0) == 4 && GetBitCount<0>(0xf0) == 60, "");
static_assert(CountLeadingZero(1) == 63 && CountLeadingZero(0) == 64, "");
static_assert(GetSFFValue<1>(8) == 3 && GetSFFValue<0>(7) == 3 && GetSFFValue<1>(0) == -1, "");
static_assert(CeilDivision(7, 2) == 4 && GetDataBlockSizeInBytes() == 32, "");

extern "C" __global__ __vector__ void widen(uint16_t* in, float* out, int32_t n)
{
    for (int32_t i = 0; i < n; ++i) { out[i] = half::from_bits(in[i]); }
}
extern "C" __global__ __vector__ void narrow(float* in, uint16_t* out, int32_t n)
{
    for (int32_t i = 0; i < n; ++i) { out[i] = half(in[i]).bits; }
}
extern "C" __global__ __vector__ void widen_soft(uint16_t* in, float* out, int32_t n)
{
    for (int32_t i = 0; i < n; ++i) { out[i] = pypto_twin::half_to_float_soft(in[i]); }
}
extern "C" __global__ __vector__ void narrow_soft(float* in, uint16_t* out, int32_t n)
{
    for (int32_t i = 0; i < n; ++i) { out[i] = pypto_twin::float_to_half_soft(in[i]); }
}
extern "C" __global__ __vector__ void narrow_double(double* in, uint16_t* out, int32_t n)
{
    for (int32_t i = 0; i < n; ++i) { out[i] = half(in[i]).bits; }
}
extern "C" __global__ __vector__ void narrow_bf16(float* in, uint16_t* out, int32_t n)
{
    for (int32_t i = 0; i < n; ++i) { out[i] = bfloat16_t(in[i]).bits; }
}
extern "C" __global__ __vector__ void to_int(float* in, int32_t* out, int32_t n)
{
    for (int32_t i = 0; i < n; ++i) {
        out[5 * i] = Cast<float, int32_t, RoundMode::CAST_RINT>(in[i]);
        out[5 * i + 1] = Cast<float, int32_t, RoundMode::CAST_FLOOR>(in[i]);
        out[5 * i + 2] = Cast<float, int32_t, RoundMode::CAST_CEIL>(in[i]);
        out[5 * i + 3] = Cast<float, int32_t, RoundMode::CAST_ROUND>(in[i]);
        out[5 * i + 4] = ScalarCast<float, int32_t, RoundMode::CAST_TRUNC>(in[i]);
    }
}
extern "C" __global__ __vector__ void odd(float* in, uint16_t* out, int32_t n)
{
    for (int32_t i = 0; i < n; ++i) { out[i] = Cast<float, half, RoundMode::CAST_ODD>(in[i]).bits; }
}
extern "C" __global__ __vector__ void uncached(int64_t* data, int32_t n)
{
    for (int32_t i = 0; i < n; ++i) {
        AtomicAdd(data, int64_t{2});
        AtomicMax(data + 1, int64_t{GetBlockIdx() * n + i});
        WriteGmByPassDCache(data + 2 + GetBlockIdx(), ReadGmByPassDCache(data + 2 + GetBlockIdx()) + 1);
    }
}
"""

NAMES = (
    "widen narrow widen_soft narrow_soft narrow_double narrow_bf16 to_int odd uncached"
).split()

ALL_BITS = np.arange(65536, dtype=np.uint16)


@pytest.fixture(scope="module")
def kernels(twin: Harness) -> dict[str, Kernel]:
    return twin.compile(TEXT, NAMES, extra=("-Wall", "-Wextra", "-Werror"))


def interesting_floats() -> npt.NDArray[np.float32]:
    """Every half, the middles between neighbours, their float neighbours, and random bits."""
    with np.errstate(invalid="ignore", over="ignore"):
        halves = ALL_BITS.view(np.float16).astype(np.float32)
        finite = np.sort(halves[np.isfinite(halves)])
        middles = (finite[:-1] + finite[1:]) / 2
        edges = np.array([65519.996, 65520, 65536, 1e38, 2.0**-25, 2.0**-26, 0, -0.0], np.float32)
        values = np.concatenate([finite, middles, edges, -edges])
        near = [np.nextafter(values, np.float32(s * np.inf)) for s in (1, -1)]
        bits = np.random.default_rng(0).integers(0, 2**32, 100_000, dtype=np.uint32)
        return np.concatenate([halves, values, *near, bits.view(np.float32)])


def same_halves(bits: npt.NDArray[np.uint16], expected: npt.NDArray[np.float16]) -> None:
    nan = np.isnan(expected)
    np.testing.assert_array_equal(bits[~nan], expected.view(np.uint16)[~nan])
    assert np.isnan(bits.view(np.float16)[nan]).all()


@pytest.mark.parametrize("name", ["widen", "widen_soft"])
def test_every_half_widens_exactly(kernels: dict[str, Kernel], name: str) -> None:
    out = np.empty(65536, np.float32)
    kernels[name](ALL_BITS, out, ctypes.c_int32(65536))
    expected = ALL_BITS.view(np.float16).astype(np.float32)
    nan = np.isnan(expected)
    np.testing.assert_array_equal(out.view(np.uint32)[~nan], expected.view(np.uint32)[~nan])
    assert np.isnan(out[nan]).all()


@pytest.mark.parametrize("name", ["narrow", "narrow_soft"])
def test_floats_round_to_half_as_numpy_does(kernels: dict[str, Kernel], name: str) -> None:
    values = interesting_floats()
    out = np.empty(values.size, np.uint16)
    kernels[name](values, out, ctypes.c_int32(values.size))
    with np.errstate(over="ignore", invalid="ignore"):
        same_halves(out, values.astype(np.float16))


def test_doubles_round_to_half_once(kernels: dict[str, Kernel]) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        single = interesting_floats().astype(np.float64)
        values = np.concatenate([single, np.nextafter(single, np.inf), np.nextafter(single, -1)])
        out = np.empty(values.size, np.uint16)
        kernels["narrow_double"](values, out, ctypes.c_int32(values.size))
        same_halves(out, values.astype(np.float16))


def test_floats_round_to_bfloat16_as_torch_does(kernels: dict[str, Kernel]) -> None:
    torch = pytest.importorskip("torch")
    values = interesting_floats()
    out = np.empty(values.size, np.uint16)
    kernels["narrow_bf16"](values, out, ctypes.c_int32(values.size))
    expected = torch.from_numpy(values).to(torch.bfloat16).view(torch.int16).numpy()
    nan = np.isnan(values)
    np.testing.assert_array_equal(out[~nan], expected.view(np.uint16)[~nan])
    assert (out[nan] == 0x7FC0).all()


def test_rounding_modes_of_the_scalar_cast(kernels: dict[str, Kernel]) -> None:
    values = np.array(
        [0.5, 1.5, 2.5, -0.5, -1.5, 1.4, -1.6, 0.49999997, 8388609, 3e9, -3e9, np.nan], np.float32
    )
    out = np.empty((values.size, 5), np.int32)
    kernels["to_int"](values, out, ctypes.c_int32(values.size))

    def away(x: float) -> float:
        return math.copysign(math.floor(abs(x) + 0.5), x)

    for value, row in zip(values.tolist(), out.tolist(), strict=True):
        if math.isnan(value):
            assert row == [0] * 5
            continue
        modes = (round, math.floor, math.ceil, away, math.trunc)
        assert row == [min(max(int(f(value)), -(2**31)), 2**31 - 1) for f in modes]


def test_odd_rounding_to_half(kernels: dict[str, Kernel]) -> None:
    values = interesting_floats()
    values = values[np.isfinite(values)]
    out = np.empty(values.size, np.uint16)
    kernels["odd"](values, out, ctypes.c_int32(values.size))
    result = out.view(np.float16).astype(np.float64)
    exact = result == values
    assert (out[~exact] & 1 == 1).all()
    # the neighbours of an odd result enclose the value
    inside = np.abs(values) < 65504
    with np.errstate(over="ignore"):
        down = np.nextafter(out.view(np.float16), np.float16(-np.inf)).astype(np.float64)
        up = np.nextafter(out.view(np.float16), np.float16(np.inf)).astype(np.float64)
    assert ((down < values) & (values < up))[inside].all()


def test_scalar_atomics_of_many_cores(kernels: dict[str, Kernel]) -> None:
    data = np.zeros(10, np.int64)
    kernels["uncached"](data, ctypes.c_int32(500), blocks=8)
    np.testing.assert_array_equal(data, [2 * 8 * 500, 8 * 500 - 1, *[500] * 8])


@pytest.mark.parametrize(
    "build",
    [(), ("-DPYPTO_TWIN_COUNT",), ("-DPYPTO_TWIN_LINKED",), ("-DPYPTO_TWIN_SUPPORT",)],
)
@pytest.mark.parametrize("level", ["x86-64-v2", "x86-64-v3"])
def test_headers_parse_cleanly_at_every_level(level: str, build: tuple[str, ...]) -> None:
    flags = [flag for flag in FLAGS if not flag.startswith("-march")]
    text = '#include "kernel_operator.h"\n'
    strict = ("-Wall", "-Wextra", "-Werror", "-fsyntax-only")
    done = subprocess.run(
        [COMPILER, *flags, f"-march={level}", *build, *strict, "-iquote", INCLUDE, "-xc++", "-"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[:4000]


def test_the_twin_includes_no_standard_header_but_two_small_ones() -> None:
    included = [
        line.split(maxsplit=1)[1]
        for path in INCLUDE.glob("*.h")
        for line in path.read_text().splitlines()
        if line.startswith("#include")
    ]
    standard = {name for name in included if name.startswith("<")}
    assert standard == {"<stddef.h>", "<stdint.h>"}
    own = {f'"{path.name}"' for path in INCLUDE.glob("*.h")}
    # The checker and the scheduler are for the object files of their builds; kernels never include
    # them.
    assert set(included) - standard - own == {
        '"../../runtime/pypto_abi.h"',
        '"check/checker.h"',
        '"check/table.h"',
        '"shuffle/launch.h"',
    }
