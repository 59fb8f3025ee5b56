"""What the device has no instruction for does not compile, and rules that hold at run time stop."""

from __future__ import annotations

import subprocess
import sys

import pytest

from .harness import COMPILER, FLAGS, INCLUDE, Harness

# call, and what the message must name
REFUSED = [
    ("Add(t<bfloat16_t>(), t<bfloat16_t>(), t<bfloat16_t>(), 8)", "Add: the device"),
    ("Add(t<int8_t>(), t<int8_t>(), t<int8_t>(), 8)", "Add: the device"),
    ("Mul(t<int64_t>(), t<int64_t>(), t<int64_t>(), 8)", "Mul: the device"),
    ("Sub(t<uint32_t>(), t<uint32_t>(), t<uint32_t>(), 8)", "Sub: the device"),
    ("Div(t<int32_t>(), t<int32_t>(), t<int32_t>(), 8)", "Div: the device"),
    ("And(t<int32_t>(), t<int32_t>(), t<int32_t>(), 8)", "And: the device"),
    ("Not(t<int32_t>(), t<int32_t>(), 8)", "Not: the device"),
    ("Relu(t<int16_t>(), t<int16_t>(), 8)", "Relu: the device"),
    ("Abs(t<int32_t>(), t<int32_t>(), 8)", "Abs: the device"),
    ("Exp(t<bfloat16_t>(), t<bfloat16_t>(), 8)", "Exp: the device"),
    ("Muls(t<uint8_t>(), t<uint8_t>(), uint8_t(1), 8)", "Muls: the device"),
    ("ShiftLeft(t<float>(), t<float>(), 1.0f, 8)", "ShiftLeft: the device"),
    ("MulAddDst(t<half>(), t<float>(), t<float>(), 8)", "MulAddDst, Axpy: the device"),
    ("Cast(t<half>(), t<bfloat16_t>(), RoundMode::CAST_RINT, 8)", "Cast: the device"),
    ("Cast(t<int8_t>(), t<float>(), RoundMode::CAST_RINT, 8)", "Cast: the device"),
    ("Cast(t<int8_t>(), t<int32_t>(), RoundMode::CAST_NONE, 8)", "Cast: the device"),
    ("Duplicate(t<int8_t>(), int8_t(1), 8)", "Duplicate: the device"),
    ("Compare(t<uint16_t>(), t<float>(), t<float>(), CMPMODE::LT, 64)", "Compare (result bits)"),
    ("Compares(t<int8_t>(), t<float>(), 0.0f, CMPMODE::LT, 64)", "Compares (result bits)"),
    ("Compare(t<uint8_t>(), t<int16_t>(), t<int16_t>(), CMPMODE::EQ, 128)", "Compare: the device"),
    ("ReduceSum<int32_t>(t<int32_t>(), t<int32_t>(), t<int32_t>(), 8)", "ReduceSum: the device"),
    ("WholeReduceMax<int32_t>(t<int32_t>(), t<int32_t>(), 8, 1, 1, 1, 8)", "WholeReduce"),
    ("Tanh<int32_t>(t<int32_t>(), t<int32_t>(), t<uint8_t>(), 8)", "Tanh: the device"),
    ("Power<int16_t>(t<int16_t>(), t<int16_t>(), t<int16_t>(), t<uint8_t>(), 8)", "Power: the"),
    ("Gather(t<int64_t>(), t<int64_t>(), t<uint32_t>(), 0u, 8)", "Gather: the device"),
    ("Sigmoid<bfloat16_t>(t<bfloat16_t>(), t<bfloat16_t>(), t<uint8_t>(), 8)", "Sigmoid: the"),
]
HEAD = """#include "kernel_operator.h"
using namespace AscendC;
template <typename T> LocalTensor<T> t();
"""


def test_wrong_types_are_refused_by_name() -> None:
    text = HEAD + "".join(f"void f{i}() {{ {call}; }}\n" for i, (call, _) in enumerate(REFUSED))
    done = subprocess.run(
        [COMPILER, *FLAGS, "-fsyntax-only", "-iquote", str(INCLUDE), "-x", "c++", "-"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    missing = [call for call, name in REFUSED if name not in done.stderr]
    assert missing == []
    refusals = done.stderr.count("static assertion failed")
    assert refusals >= len(REFUSED)


STOPPED = {
    "mode": "Cast(t<bfloat16_t>(x), t<float>(x), RoundMode::CAST_NONE, 8);",
    "compare_count": "Compare(t<uint8_t>(x), t<float>(x), t<float>(x), CMPMODE::LT, 65);",
    "compare_int": "Compare(t<uint8_t>(x), t<int32_t>(x), t<int32_t>(x), CMPMODE::LT, 64);",
    "reduce_zero": "ReduceSum<float>(t<float>(x), t<float>(x), t<float>(x), 0);",
    "counter": "SetMaskCount(); Add(t<float>(x), t<float>(x), t<float>(x), 64, 1, {});",
    "pattern": "uint64_t n; GatherMask(t<half>(x), t<half>(x), uint8_t(8), false, 0, {}, n);",
}
MESSAGES = {
    "mode": "Cast: this pair of types has no such round mode",
    "compare_count": "multiple of 256",
    "compare_int": "EQ only",
    "reduce_zero": "count must be at least 1",
    "counter": "counter mode",
    "pattern": "patterns are 1 to 7",
}


@pytest.fixture(scope="module")
def library(twin: Harness) -> str:
    text = """using namespace AscendC;
template <typename T> LocalTensor<T> t(GM_ADDR p)
{ return LocalTensor<T>(reinterpret_cast<T*>(p), 4096, TPosition::VECCALC); }
"""
    for name, call in STOPPED.items():
        text += f'extern "C" __global__ __vector__ void {name}(GM_ADDR x) {{ {call} }}\n'
        text += f"""extern "C" __attribute__((visibility("default"))) void run_{name}(void* x)
{{ static PyptoCore c; const pypto_twin::State s(&c); {name}(static_cast<uint8_t*>(x)); }}\n"""
    twin.compile(text, list(STOPPED))
    return str(max(twin.root.glob("text-*.so"), key=lambda path: path.stat().st_mtime_ns))


@pytest.mark.parametrize("name", STOPPED)
def test_broken_rules_stop_the_process(library: str, name: str) -> None:
    script = (
        "import ctypes; memory = ctypes.create_string_buffer(1 << 16);"
        f"ctypes.CDLL({library!r}).run_{name}(memory)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert MESSAGES[name] in done.stderr
