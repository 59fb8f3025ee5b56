# ruff: noqa: E501 (lines of the C++ texts)
"""Kernels written by hand, with flags, scalar accesses, the cube unit and several cores."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.twin.harness import CUBE, MIX_0_1, MIX_1_2, VECTOR, Harness
from tests.twin.harness import Kernel as Launched

from .examine import Kernel, Launch
from .mutants import mutants

__all__ = ["NAMES", "handwritten"]

_COMPLETE = Path(__file__).parents[1] / "twin" / "complete"

_PIPELINED = """#include "kernel_operator.h"
using namespace AscendC;
// y = (x + 1) * 2 in two buffers each way, without queues
extern "C" __global__ __vector__ void pipelined(GM_ADDR x, GM_ADDR y, int32_t steps)
{
    InitSocState();
    GlobalTensor<float> gx, gy;
    gx.SetGlobalBuffer((__gm__ float*)x);
    gy.SetGlobalBuffer((__gm__ float*)y);
    const int64_t first = GetBlockIdx() * steps;
    for (int32_t i = 0; i < steps; ++i) {
        const int32_t id = i % 2;
        const uint64_t at = (first + i) * 64;
        LocalTensor<float> in(TPosition::VECCALC, id * 256, 64), out(TPosition::VECCALC, 512 + id * 256, 64);
        if (i >= 2) WaitFlag<HardEvent::V_MTE2>(id);
        DataCopy(in, gx[at], 64);
        SetFlag<HardEvent::MTE2_V>(id);
        WaitFlag<HardEvent::MTE2_V>(id);
        if (i >= 2) WaitFlag<HardEvent::MTE3_V>(id);
        Adds(in, in, 1.0f, 64);
        PipeBarrier<PIPE_V>();
        Muls(out, in, 2.0f, 64);
        if (i + 2 < steps) SetFlag<HardEvent::V_MTE2>(id);
        SetFlag<HardEvent::V_MTE3>(id);
        WaitFlag<HardEvent::V_MTE3>(id);
        DataCopy(gy[at], out, 64);
        if (i + 2 < steps) SetFlag<HardEvent::MTE3_V>(id);
    }
    PipeBarrier<PIPE_ALL>();
}
"""

_SCALAR = """#include "kernel_operator.h"
using namespace AscendC;
// each row times its largest element plus its number; then each row of its neighbour on top
extern "C" __global__ __mix__(0, 1) void scalar(GM_ADDR x, GM_ADDR y, GM_ADDR w, int32_t rows)
{
    TPipe pipe;
    const TEventID mte2_v0 = pipe.AllocEventID<HardEvent::MTE2_V>();
    const TEventID v_s0 = pipe.AllocEventID<HardEvent::V_S>();
    const TEventID s_v0 = pipe.AllocEventID<HardEvent::S_V>();
    const TEventID v_mte31 = pipe.AllocEventID<HardEvent::V_MTE3>();
    const TEventID v_mte22 = pipe.AllocEventID<HardEvent::V_MTE2>();
    const TEventID mte3_v3 = pipe.AllocEventID<HardEvent::MTE3_V>();
    GlobalTensor<float> gx, gy, gw;
    gx.SetGlobalBuffer((__gm__ float*)x);
    gy.SetGlobalBuffer((__gm__ float*)y);
    gw.SetGlobalBuffer((__gm__ float*)w);
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 1024);
    LocalTensor<float> a = buffer.Get<float>(), b = a[64], c = a[128];
    const int64_t cores = GetBlockNum();
    for (int64_t row = GetBlockIdx(); row < rows; row += cores) {
        DataCopy(a, gx[row * 64], 64);
        SetFlag<HardEvent::MTE2_V>(mte2_v0);
        WaitFlag<HardEvent::MTE2_V>(mte2_v0);
        WholeReduceMax<float>(b, a, 64, 1, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);
        SetFlag<HardEvent::V_S>(v_s0);
        WaitFlag<HardEvent::V_S>(v_s0);
        const float largest = b.GetValue(0);
        c.SetValue(0, static_cast<float>(row));
        SetFlag<HardEvent::S_V>(s_v0);
        WaitFlag<HardEvent::S_V>(s_v0);
        Muls(b, a, largest, 64);
        Brcb(c[8], c, 1, BrcbRepeatParams{1, 8});
        PipeBarrier<PIPE_V>();
        Add(b, b, c[8], 64, 1, BinaryRepeatParams{1, 1, 0, 8, 8, 0});
        SetFlag<HardEvent::V_MTE3>(v_mte31);
        WaitFlag<HardEvent::V_MTE3>(v_mte31);
        DataCopy(gw[row * 64], b, 64);
        PipeBarrier<PIPE_ALL>();
    }
    SyncAll();
    for (int64_t row = GetBlockIdx(); row < rows; row += cores) {
        DataCopy(a, gw[row * 64], 64);
        DataCopy(b, gw[(row + 1) % rows * 64], 64);
        SetFlag<HardEvent::MTE2_V>(mte2_v0);
        WaitFlag<HardEvent::MTE2_V>(mte2_v0);
        Add(c, a, b, 64);
        SetFlag<HardEvent::V_MTE3>(v_mte31);
        WaitFlag<HardEvent::V_MTE3>(v_mte31);
        SetFlag<HardEvent::V_MTE2>(v_mte22);
        DataCopy(gy[row * 64], c, 64);
        WaitFlag<HardEvent::V_MTE2>(v_mte22);
        SetFlag<HardEvent::MTE3_V>(mte3_v3);
        WaitFlag<HardEvent::MTE3_V>(mte3_v3);
    }
    PipeBarrier<PIPE_ALL>();
}
"""

_RELAY = """#include "kernel_operator.h"
using namespace AscendC;
// the AIVs of a group hand rows to their AIC through w, it hands them back through v
extern "C" __global__ __mix__(1, 2) void relay(GM_ADDR x, GM_ADDR y, GM_ADDR w, GM_ADDR v, int32_t rounds)
{
    TPipe pipe;
    const TEventID mte2_v0 = pipe.AllocEventID<HardEvent::MTE2_V>();
    const TEventID v_mte30 = pipe.AllocEventID<HardEvent::V_MTE3>();
    const TEventID mte2_v1 = pipe.AllocEventID<HardEvent::MTE2_V>();
    const TEventID v_mte31 = pipe.AllocEventID<HardEvent::V_MTE3>();
    const TEventID mte2_mte30 = pipe.AllocEventID<HardEvent::MTE2_MTE3>();
    const TEventID mte3_mte21 = pipe.AllocEventID<HardEvent::MTE3_MTE2>();
    GlobalTensor<float> gx, gy, gw, gv;
    gx.SetGlobalBuffer((__gm__ float*)x);
    gy.SetGlobalBuffer((__gm__ float*)y);
    gw.SetGlobalBuffer((__gm__ float*)w);
    gv.SetGlobalBuffer((__gm__ float*)v);
    if ASCEND_IS_AIV {
        TBuf<TPosition::VECCALC> buffer;
        pipe.InitBuffer(buffer, 1024);
        LocalTensor<float> a = buffer.Get<float>(), b = a[64], c = a[128], d = a[192];
        const int64_t own = GetBlockIdx() * 64, other = (GetBlockIdx() ^ 1) * 64;
        for (int32_t i = 0; i < rounds; ++i) {
            DataCopy(a, gx[own], 64);
            SetFlag<HardEvent::MTE2_V>(mte2_v0);
            WaitFlag<HardEvent::MTE2_V>(mte2_v0);
            Adds(b, a, static_cast<float>(i), 64);
            SetFlag<HardEvent::V_MTE3>(v_mte30);
            WaitFlag<HardEvent::V_MTE3>(v_mte30);
            DataCopy(gw[own], b, 64);
            CrossCoreSetFlag<2, PIPE_MTE3>(3);
            CrossCoreWaitFlag(4);
            DataCopy(c, gv[other], 64);
            SetFlag<HardEvent::MTE2_V>(mte2_v1);
            WaitFlag<HardEvent::MTE2_V>(mte2_v1);
            Muls(d, c, 2.0f, 64);
            SetFlag<HardEvent::V_MTE3>(v_mte31);
            WaitFlag<HardEvent::V_MTE3>(v_mte31);
            DataCopy(gy[(GetBlockIdx() * rounds + i) * 64], d, 64);
            PipeBarrier<PIPE_ALL>();
        }
    }
    if ASCEND_IS_AIC {
        TBuf<TPosition::A1> buffer;
        pipe.InitBuffer(buffer, 512);
        LocalTensor<float> a = buffer.Get<float>();
        for (int32_t i = 0; i < rounds; ++i) {
            CrossCoreWaitFlag(3);
            DataCopy(a, gw[GetBlockIdx() * 128], 128);
            SetFlag<HardEvent::MTE2_MTE3>(mte2_mte30);
            WaitFlag<HardEvent::MTE2_MTE3>(mte2_mte30);
            DataCopy(gv[GetBlockIdx() * 128], a, 128);
            CrossCoreSetFlag<2, PIPE_MTE3>(4);
            SetFlag<HardEvent::MTE3_MTE2>(mte3_mte21);
            WaitFlag<HardEvent::MTE3_MTE2>(mte3_mte21);
        }
    }
}
"""


class _ScaleAdd(ctypes.Structure):
    _fields_ = (("n", ctypes.c_uint32), ("alpha", ctypes.c_float))


class _Matmul(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint16) for name in ("m", "n", "k", "pad"))


def _floats(*shape: int, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def _like(array: Any) -> Any:
    return np.zeros_like(array)


# text (None: a file), kind, blocks, arguments
_KERNELS: dict[str, tuple[str | None, int, int, tuple[Any, ...]]] = {
    "scale_add": (None, VECTOR, 2, (_floats(20003), _floats(20003), _like(_floats(20003)), _ScaleAdd(20003, 0.75))),
    "row_softmax": (None, VECTOR, 2, (_floats(9, 300), _like(_floats(9, 300)), ctypes.c_uint32(9), ctypes.c_uint32(300))),
    "matmul_f16": (
        None, CUBE, 2,
        (_floats(129, 300, dtype=np.float16), _floats(300, 65, dtype=np.float16), _like(_floats(129, 65)), _Matmul(129, 65, 300, 0)),
    ),
    "v_c_v": (
        None, MIX_1_2, 3,
        (_floats(96, 64, dtype=np.float16), _floats(64, 32, dtype=np.float16), _like(_floats(96, 32)),
         _floats(96, 64, dtype=np.float16) * np.float16(0), _like(_floats(96, 32))),
    ),
    "pipelined": (_PIPELINED, VECTOR, 2, (_floats(12, 64), _like(_floats(12, 64)), ctypes.c_int32(6))),
    "scalar": (_SCALAR, MIX_0_1, 2, (_floats(8, 64), _like(_floats(8, 64)), _like(_floats(8, 64)), ctypes.c_int32(8))),
    "relay": (
        _RELAY, MIX_1_2, 2,
        (_floats(4, 64), _like(_floats(4 * 3, 64)), _like(_floats(4, 64)), _like(_floats(4, 64)), ctypes.c_int32(3)),
    ),
}  # fmt: skip

NAMES = tuple(_KERNELS)


def handwritten(twin: Harness, names: Sequence[str] = NAMES) -> list[Kernel]:
    """Those kernels, with all their mutants."""
    kernels = []
    for name in names:
        text, kind, blocks, arguments = _KERNELS[name]
        if text is None:
            text = (_COMPLETE / f"{name}.cpp").read_text()
        changed = mutants(name, text)
        checked, shuffled = (
            twin.compile(changed.text, [name], build=build)[name]
            for build in ("checked", "shuffled")
        )
        runs = (_launch(launched, kind, blocks) for launched in (checked, checked, shuffled))
        kernels.append(
            Kernel(changed, None, text, (arguments,), checked.library, shuffled.library, *runs)
        )
    return kernels


def _launch(launched: Launched, kind: int, blocks: int) -> Launch:
    def launch(*values: Any) -> None:
        launched(*values, kind=kind, blocks=blocks)

    return launch
