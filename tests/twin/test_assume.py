# ruff: noqa: E501 (lines of the C++ texts)
"""Rules of the device that nothing states: the other choice of each, and their names."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import pypto
from pypto.build import assume
from pypto.error import FeValueError
from pypto.target import get

from .harness import INCLUDE, Harness, Kernel

PAGE = Path(__file__).resolve().parents[2] / "docs" / "twin.md"
ASSUMPTIONS = get().assumptions
NAN, INF, TINY = float("nan"), float("inf"), float(np.float32(1e-40))
MINIMUM = float(np.finfo(np.float32).tiny)
LARGE, LOW = 2**31 - 1, -(2**31)

# name: type, instruction on a and b, its operands, results as torch has them, results otherwise
_CASES: dict[str, tuple[str, str, list[float], list[float], list[float], list[float]]] = {
    "int_add": ("int32_t", "Add(c, a, b, 8)", [LARGE, LOW, 5, -7], [1, -1, 6, 7], [LOW, LARGE, 11, 0], [LARGE, LOW, 11, 0]),
    "int_sub": ("int16_t", "Sub(c, a, b, 16)", [-32768, 32767, 5, 0], [1, -1, 6, -32768], [32767, -32768, -1, -32768], [-32768, 32767, -1, 32767]),
    "int_mul": ("int32_t", "Mul(c, a, b, 8)", [65536, LOW, 65536, 3], [65536, -1, -65536, -4], [0, LOW, 0, -12], [LARGE, LARGE, LOW, -12]),
    "max_nan": ("float", "Max(c, a, b, 8)", [NAN, 1, NAN, 3], [2, NAN, NAN, 4], [NAN, NAN, NAN, 4], [2, 1, NAN, 4]),
    "reduce_nan": ("float", "WholeReduceMin<float>(c, a, 4, 1, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE)", [NAN, 1, -2, NAN], [0, 0, 0, 0], [NAN], [-2]),
    "relu_nan": ("float", "Relu(c, a, 8)", [NAN, -1, 2, 0], [0, 0, 0, 0], [NAN, 0, 2, 0], [0, 0, 2, 0]),
    "subnormal": ("float", "Add(c, a, b, 8)", [TINY, -TINY, 1, TINY], [0, 0, TINY, 2], [TINY, -TINY, 1, 2], [0, 0, 1, 2]),
    "subnormal_sum": ("float", "WholeReduceSum<float>(c, a, 4, 1, 1, 1, 8)", [TINY, 2 * TINY, -TINY, 3 * TINY], [0], [5 * TINY], [0]),
    "subnormal_sums": ("float", "ReduceSum<float>(c, a, b, 4)", [MINIMUM, -1.5 * MINIMUM, TINY, 0], [0], [-0.5 * MINIMUM + TINY], [0]),
    "subnormal_max": ("float", "WholeReduceMax<float>(c, a, 4, 1, 1, 1, 8, ReduceOrder::ORDER_INDEX_VALUE)", [-1, -1, TINY, -2], [0], [float(np.int32(2).view(np.float32)), TINY], [float(np.int32(2).view(np.float32)), 0]),
    "subnormal_min": ("float", "ReduceMin<float>(c, a, b, 4, true)", [1, TINY, -TINY, 2], [0], [-TINY, float(np.int32(2).view(np.float32))], [0, float(np.int32(1).view(np.float32))]),
    "subnormal_block": ("float", "BlockReduceSum<float>(c, a, 1, 4, 1, 1, 8)", [TINY, TINY, TINY, 0], [0], [3 * TINY], [0]),
    "subnormal_pair": ("float", "PairReduceSum<float>(c, a, 1, 4, 1, 1, 8)", [TINY, TINY, 1, TINY], [0], [2 * TINY, 1], [0, 1]),
    "subnormal_cast": ("float", "Cast(c, a, RoundMode::CAST_CEIL, 8)", [TINY, -TINY, 1.5, 0], [0], [1, 0, 2, 0], [0, 0, 2, 0]),
    "multiply_add": ("float", "FusedMulAdd(c, a, b, 8)", [1 + 2**-12, 3], [-1, 1], [2**-11, 10], [2**-11 + 2**-24, 10]),
    "elementary": ("float", "Div(c, a, b, 8)", [1, 1, 6], [3, 4, 2], [float(np.float32(1) / np.float32(3)), 0.25, 3], [0.333333015441894, 0.25, 3]),
    "reciprocal": ("float", "Reciprocal(c, a, 8)", [3, 4], [0, 0], [float(np.float32(1) / np.float32(3)), 0.25], [0.333313, 0.25]),
    "half_overflow": ("half", "Add(c, a, b, 16)", [60000, -60000, INF, 1], [60000, -60000, 1, NAN], [INF, -INF, INF, NAN], [65504, -65504, INF, NAN]),
    "cast_nan": ("float", "Cast(c.ReinterpretCast<int32_t>(), a, RoundMode::CAST_RINT, 8)", [NAN, 1, -INF, 0], [0, 0, 0, 0], [0, 1, LOW, 0], [LARGE, 1, LOW, 0]),
}  # fmt: skip

_TEXT = """
using namespace AscendC;
#define KERNEL(name, T, body)                                                                  \\
    extern "C" __global__ __vector__ void name(GM_ADDR x, GM_ADDR y, GM_ADDR z)                \\
    {                                                                                          \\
        GlobalTensor<T> gx, gy, gz;                                                            \\
        gx.SetGlobalBuffer((__gm__ T*)x); gy.SetGlobalBuffer((__gm__ T*)y); gz.SetGlobalBuffer((__gm__ T*)z); \\
        TPipe pipe; TBuf<TPosition::VECCALC> calc; pipe.InitBuffer(calc, 3072);                \\
        const LocalTensor<T> a = calc.Get<T>(), b = a[1024 / sizeof(T)], c = a[2048 / sizeof(T)]; \\
        DataCopy(a, gx, 32 / sizeof(T)); DataCopy(b, gy, 32 / sizeof(T)); DataCopy(c, gx, 32 / sizeof(T)); \\
        PipeBarrier<PIPE_ALL>(); body; PipeBarrier<PIPE_ALL>();                                \\
        DataCopy(gz, c, 32 / sizeof(T));                                                       \\
    }
"""

_DTYPES = {"float": np.float32, "half": np.float16, "int32_t": np.int32, "int16_t": np.int16}


def _kernels(twin: Harness, build: str) -> dict[str, Kernel]:
    text = _TEXT + "".join(f"KERNEL({n}, {case[0]}, ({case[1]}))\n" for n, case in _CASES.items())
    return twin.compile(text, list(_CASES), build=build)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def usual(twin: Harness) -> dict[str, Kernel]:
    return _kernels(twin, "fast")


@pytest.fixture(scope="module")
def assumed(twin: Harness) -> dict[str, Kernel]:
    return _kernels(twin, "assumed")


@pytest.mark.parametrize("name", _CASES)
def test_choices(usual: dict[str, Kernel], assumed: dict[str, Kernel], name: str) -> None:
    cpp, _, first, second, plain, other = _CASES[name]
    dtype = _DTYPES[cpp]
    a, b = np.zeros(32 // dtype().itemsize, dtype), np.zeros(32 // dtype().itemsize, dtype)
    a[: len(first)], b[: len(second)] = first, second
    for kernels, wanted in ((usual, plain), (assumed, other)):
        result = np.zeros_like(a)
        kernels[name](a, b, result)
        if name == "cast_nan":
            result = result.view(np.int32)
        np.testing.assert_array_equal(
            result[: len(wanted)], np.array(wanted).astype(result.dtype), err_msg=name
        )


def test_the_headers_know_them() -> None:
    text = (INCLUDE / "assume.h").read_text(encoding="utf-8")
    constants = re.findall(r"constexpr bool (\w+) = PYPTO_ASSUME_(\w+) == 1;", text)
    assert constants == [
        (f"{name}_{facts['choices'][1]}", name.upper()) for name, facts in ASSUMPTIONS.items()
    ]
    assert re.findall(r"#define PYPTO_ASSUME_(\w+) 0", text) == [n.upper() for n in ASSUMPTIONS]


def test_what_depends_on_them_exists() -> None:
    for name, facts in ASSUMPTIONS.items():
        assert len(facts["choices"]) == 2, name
        assert [i for i in facts["instructions"] if i not in get().instructions] == [], name
        assert [o for o in facts["operations"] if not hasattr(pypto, o)] == [], name


def test_the_page_lists_them() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name, facts in ASSUMPTIONS.items():
        usual, other = facts["choices"]
        operations = ", ".join(f"`{operation}`" for operation in facts["operations"]) or "none"
        row = f"| `{name}` | {usual}, {other} | {facts['what']} | {operations} | {', '.join(facts['rules'])} |"
        assert row in page, row


def test_names_of_builds() -> None:
    assert assume.named("fast", "max_nan=propagate") == "fast"
    kind = assume.named("checked", "max_nan=ignore, int_add=saturate int_mul=wrap")
    assert kind == "checked int_add=saturate max_nan=ignore"
    assert assume.split(kind) == ("checked", ("int_add=saturate", "max_nan=ignore"))
    assert assume.flags(assume.split(kind)[1]) == (
        "-DPYPTO_ASSUME_INT_ADD=1",
        "-DPYPTO_ASSUME_MAX_NAN=1",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_man=ignore", "there is no assumption 'max_man'; did you mean 'max_nan'?"),
        ("max_nan", "'max_nan' is not an assumption: write max_nan=propagate or max_nan=ignore"),
        (
            "max_nan=no",
            "'max_nan=no' is not an assumption: write max_nan=propagate or max_nan=ignore",
        ),
        (
            "max_nan=ignore max_nan=propagate",
            "assumption 'max_nan' is given twice: ignore and propagate",
        ),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    with pytest.raises(FeValueError) as caught:
        assume.named("fast", text)
    assert str(caught.value).partition("  ")[2] == message
