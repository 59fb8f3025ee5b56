# ruff: noqa: E501 (lines of the C++ texts)
"""The checked build knows what each instruction takes: each rule is broken once, and found."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tools import twin_table

from .harness import VECTOR, Harness, Kernel

_HEAD = """
using namespace AscendC;
template <typename T> LocalTensor<T> at(uint32_t byte, uint32_t bytes = 4096)
{ return LocalTensor<T>(TPosition::VECCALC, byte, bytes / sizeof(T)); }
#define KERNEL(name) extern "C" __global__ __vector__ void name(GM_ADDR x, int32_t n)
#define BEGIN                                                                                  \\
    const auto a = at<float>(0), b = at<float>(8192), c = at<float>(16384);                    \\
    const auto h = at<half>(24576), i = at<half>(32768);                                       \\
    const auto u = at<int32_t>(40960), v = at<int32_t>(49152);                                 \\
    Duplicate(a, 1.0f, 1024); Duplicate(b, 1.0f, 1024); Duplicate(h, half(1.0f), 2048);        \\
    Duplicate(u, 1, 1024);                                                                     \\
    PipeBarrier<PIPE_V>();
"""

# Statements of a kernel, and what is found: the rule and a part of its text.
_CASES = {
    "lawful": ("Add(c, a, b, n); PipeBarrier<PIPE_V>(); Add(c, c, a, n); PipeBarrier<PIPE_V>(); Adds(c, a, 1.0f, uint64_t(64), uint8_t(4), UnaryRepeatParams(1, 1, 8, 8));", []),
    "align_dst": ("Add(c[1], a, b, n);", [("align", "Add: dst starts at byte 16388 of UB, which is no multiple of 32")]),
    "align_src": ("Adds(c, a[7], 1.0f, n);", [("align", "Adds: src starts at byte 28 of UB, which is no multiple of 32")]),
    "count_negative": ("Add(c, a, b, -n);", [("count", "Add: the count is -64; it must be at least 0")]),
    "repeat_over": ("Adds(c, a, 1.0f, uint64_t(1), n + 192, UnaryRepeatParams(1, 1, 0, 0));", [("repeat", "Adds: the repeat count is 256; it must be 0 to 255")]),
    "stride_over": ("Adds(c, a, 1.0f, uint64_t(64), 1, UnaryRepeatParams(1, 1, 8, n * 4));", [("parameter", "Adds: srcRepStride is 256; it must be 0 to 255 (32B blocks)")]),
    "stride_field": ("BinaryRepeatParams p; p.src1RepStride = n * 5; Add(c, a, b, uint64_t(64), 1, p);", [("parameter", "Add: src1RepStride is 320; it must be 0 to 255 (32B blocks)")]),
    "stride_zero": ("Adds(c, a, 1.0f, uint64_t(8), 1, UnaryRepeatParams(0, 1, 8, 8));", [("parameter", "Adds: dstBlkStride is 0; it must be 1 to 65535 (32B blocks)")]),
    "mask_long": ("Adds(c, a, 1.0f, uint64_t(65), 1, UnaryRepeatParams());", [("mask-length", "Adds: the mask has 65 lanes; a repeat of these types has 64")]),
    "mask_mode": ("SetMaskCount(); Adds(c, a, 1.0f, uint64_t(64), 1, UnaryRepeatParams()); SetMaskNorm();", [("mask-mode", "Adds: a repeat form with isSetMask = true in counter mode takes its mask bits as a total")]),
    "overlap": ("Adds(c[8], c, 1.0f, n);", [("overlap", "Adds: src shares bytes with dst and does not start where dst starts")]),
    "overlap_behind": ("Adds(c, c[8], 1.0f, n);", [("overlap", "Adds: src shares bytes with dst and does not start where dst starts")]),
    "overlap_strides": ("Adds(c, c, 1.0f, uint64_t(64), 2, UnaryRepeatParams(1, 1, 8, 16));", [("overlap", "Adds: src starts where dst starts, with other strides")]),
    "interleaved": ("Adds(c, c[8], 1.0f, uint64_t(8), 4, UnaryRepeatParams(1, 1, 2, 2));", []),
    "accumulate": ("Add(c, a, c, uint64_t(64), 4, BinaryRepeatParams(1, 1, 1, 0, 8, 0));", []),
    "accumulate_div": ("Div(c, a, c, uint64_t(64), 4, BinaryRepeatParams(1, 1, 1, 0, 8, 0));", [("overlap", "Div: src1 is dst, and a repeat reads what an earlier one wrote")]),
    "widening_alias": ("MulAddDst(c, c.ReinterpretCast<half>(), h, n);", [("overlap", "MulAddDst: src0 is dst with elements of another size")]),
    "shift": ("ShiftLeft(v, u, 33, n);", [("parameter", "ShiftLeft: the shift is 33; it must be 0 to 32")]),
}  # fmt: skip


def test_the_table_is_current() -> None:
    assert twin_table.HEADER.read_text(encoding="utf-8") == twin_table.render()


@pytest.fixture(scope="module")
def kernels(twin: Harness) -> dict[str, Kernel]:
    text = _HEAD + "".join(
        f"KERNEL({name})\n{{\nBEGIN\n{body}\n}}\n" for name, (body, _) in _CASES.items()
    )
    return twin.compile(text, list(_CASES), build="checked")


_OTHERS = {"race", "undefined", "core-state"}
"""Rules of which the cases take no heed."""


@pytest.mark.parametrize("name", _CASES)
def test_rules(kernels: dict[str, Kernel], name: str) -> None:
    kernels[name](np.zeros(4096, dtype=np.float32), ctypes.c_int32(64), kind=VECTOR)
    found = [(rule, text) for rule, _, text, *_ in kernels[name].report() if rule not in _OTHERS]
    assert found == _CASES[name][1]
