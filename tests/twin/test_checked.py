# ruff: noqa: E501 (lines of the C++ texts)
"""The checked build: lawful kernels pass, and each broken rule is found and named."""

from __future__ import annotations

import numpy as np
import pytest

from .harness import MIX_0_1, VECTOR, Harness, Kernel

_HEAD = """
using namespace AscendC;
#define BEGIN                                                                                  \\
    TPipe pipe;                                                                                \\
    GlobalTensor<float> gx, gy;                                                                \\
    gx.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));                                    \\
    gy.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y));                                    \\
    TQue<TPosition::VECIN, 1> in;                                                              \\
    TQue<TPosition::VECOUT, 1> out;                                                            \\
    TBuf<TPosition::VECCALC> calc;                                                             \\
    pipe.InitBuffer(in, 2, 1024);                                                              \\
    pipe.InitBuffer(out, 2, 1024);                                                             \\
    pipe.InitBuffer(calc, 2048);                                                               \\
    LocalTensor<float> c = calc.Get<float>();
#define LOAD                                                                                   \\
    LocalTensor<float> a = in.AllocTensor<float>();                                            \\
    DataCopy(a, gx, 256);                                                                      \\
    in.EnQue(a);                                                                               \\
    a = in.DeQue<float>();
#define STORE                                                                                  \\
    out.EnQue(b);                                                                              \\
    b = out.DeQue<float>();                                                                    \\
    DataCopy(gy[GetBlockIdx() * 256], b, 256);                                                 \\
    out.FreeTensor(b);
#define ORDER(event)                                                                           \\
    {                                                                                          \\
        const TEventID id = pipe.FetchEventID(HardEvent::event);                               \\
        SetFlag<HardEvent::event>(id);                                                         \\
        WaitFlag<HardEvent::event>(id);                                                        \\
    }
#define TAKE(event) const TEventID id = pipe.FetchEventID(HardEvent::event);
#define CLEAN                                                                                  \\
    DataCacheCleanAndInvalid<float, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(gy);
"""

# Statements of a kernel, and the rules that it breaks.
_CASES = {
    "lawful": ("LOAD LocalTensor<float> b = out.AllocTensor<float>(); Adds(b, a, 1.0f, 256); in.FreeTensor(a); STORE", []),
    "barrier": ("LOAD LocalTensor<float> b = out.AllocTensor<float>(); Adds(c, a, 1.0f, 256); PipeBarrier<PIPE_V>(); Adds(b, c, 1.0f, 256); in.FreeTensor(a); STORE", []),
    "no_barrier": ("LOAD LocalTensor<float> b = out.AllocTensor<float>(); Adds(c, a, 1.0f, 256); Adds(b, c, 1.0f, 256); in.FreeTensor(a); STORE", ["race"]),
    "other_half": ("LOAD LocalTensor<float> b = out.AllocTensor<float>(); Adds(c, a, 1.0f, 256); Adds(c[256], a, 1.0f, 256); PipeBarrier<PIPE_V>(); Adds(b, c, 1.0f, 256); in.FreeTensor(a); STORE", []),
    "one_byte": ("LOAD LocalTensor<float> b = out.AllocTensor<float>(); Adds(c, a, 1.0f, 256); Adds(c[248], a, 1.0f, 256); PipeBarrier<PIPE_V>(); Adds(b, c, 1.0f, 256); in.FreeTensor(a); STORE", ["race"]),
    "no_deque": ("LocalTensor<float> a = in.AllocTensor<float>(); DataCopy(a, gx, 256); LocalTensor<float> b = out.AllocTensor<float>(); Adds(b, a, 1.0f, 256); in.FreeTensor(a); STORE", ["race"]),
    "queued": ("LocalTensor<float> a = in.AllocTensor<float>(); DataCopy(a, gx, 256); in.EnQue(a); LocalTensor<float> b = out.AllocTensor<float>(); Adds(b, a, 1.0f, 256); a = in.DeQue<float>(); in.FreeTensor(a); STORE", ["queue-queued", "race"]),
    "freed": ("LOAD in.FreeTensor(a); LocalTensor<float> b = out.AllocTensor<float>(); Adds(b, a, 1.0f, 256); STORE", ["queue-idle"]),
    "freed_twice": ("LOAD LocalTensor<float> b = out.AllocTensor<float>(); Adds(b, a, 1.0f, 256); in.FreeTensor(a); in.FreeTensor(a); STORE", ["queue-free"]),
    "left": ("LocalTensor<float> a = in.AllocTensor<float>(); DataCopy(a, gx, 256); in.EnQue(a);", ["queue-left-full"]),
    "past_buffer": ("LOAD LocalTensor<float> b = out.AllocTensor<float>(); Adds(b, a, 1.0f, 264); in.FreeTensor(a); STORE", ["buffer-bounds"]),
    "masked_reduce": ("LOAD LocalTensor<float> b = out.AllocTensor<float>(); Duplicate(b, 0.0f, 256); PipeBarrier<PIPE_V>(); WholeReduceSum<float>(b, a, 2, 32, 1, 1, 1); in.FreeTensor(a); STORE", []),
    "masked_reduce_past": ("LOAD LocalTensor<float> b = out.AllocTensor<float>(); Duplicate(b, 0.0f, 256); PipeBarrier<PIPE_V>(); WholeReduceSum<float>(b, a[232], 10, 3, 1, 1, 1); in.FreeTensor(a); STORE", ["buffer-bounds", "undefined-store"]),
    "masked_reduce_race": ("LOAD LocalTensor<float> b = out.AllocTensor<float>(); Duplicate(b, 0.0f, 256); PipeBarrier<PIPE_V>(); Adds(c, a, 1.0f, 64); WholeReduceMax<float>(b, c[56], 3, 1, 1, 1, 1, ReduceOrder::ORDER_ONLY_VALUE); in.FreeTensor(a); STORE", ["race"]),
    "masked_reduce_beside": ("LOAD LocalTensor<float> b = out.AllocTensor<float>(); Duplicate(b, 0.0f, 256); Duplicate(c, 0.0f, 8); PipeBarrier<PIPE_V>(); Adds(c[8], a, 1.0f, 64); WholeReduceMax<float>(b, c, 3, 1, 1, 1, 1, ReduceOrder::ORDER_ONLY_VALUE); in.FreeTensor(a); STORE", []),
    "scalar": ("LOAD Adds(c, a, 1.0f, 256); in.FreeTensor(a); gy.SetValue(GetBlockIdx() * 64, c.GetValue(0)); CLEAN", ["race"]),
    "scalar_event": ("LOAD Adds(c, a, 1.0f, 256); in.FreeTensor(a); ORDER(V_S) gy.SetValue(GetBlockIdx() * 64, c.GetValue(0)); CLEAN", []),
    "scalar_write": ("LOAD c.SetValue(0, 1.0f); LocalTensor<float> b = out.AllocTensor<float>(); Add(b, a, c, 256); in.FreeTensor(a); STORE", ["race", "undefined-store"]),
    "flag_left": ("TAKE(V_S) SetFlag<HardEvent::V_S>(id);", ["flag-left-set"]),
    "flag_twice": ("TAKE(V_S) SetFlag<HardEvent::V_S>(id); SetFlag<HardEvent::V_S>(id); WaitFlag<HardEvent::V_S>(id);", ["flag-set-twice"]),
    "flag_unset": ("TAKE(MTE2_V) WaitFlag<HardEvent::MTE2_V>(id);", ["flag-not-set"]),
    "flag_other": ("LOAD Adds(c, a, 1.0f, 256); in.FreeTensor(a); ORDER(MTE2_S) gy.SetValue(GetBlockIdx() * 64, c.GetValue(0)); CLEAN", ["race"]),
    "same_place": ("LOAD LocalTensor<float> b = out.AllocTensor<float>(); Adds(b, a, 1.0f, 256); in.FreeTensor(a); out.EnQue(b); b = out.DeQue<float>(); DataCopy(gy, b, 256); out.FreeTensor(b);", ["race-tile"]),
    "back": ("LOAD LocalTensor<float> b = out.AllocTensor<float>(); Adds(b, a, 1.0f, 256); in.FreeTensor(a); STORE a = in.AllocTensor<float>(); DataCopy(a, gy[GetBlockIdx() * 256], 256); in.EnQue(a); a = in.DeQue<float>(); in.FreeTensor(a);", ["race"]),
    "other_core": ("LOAD LocalTensor<float> b = out.AllocTensor<float>(); Adds(b, a, 1.0f, 256); in.FreeTensor(a); STORE PipeBarrier<PIPE_ALL>(); a = in.AllocTensor<float>(); DataCopy(a, gy[(1 - GetBlockIdx()) * 256], 256); in.EnQue(a); a = in.DeQue<float>(); in.FreeTensor(a);", ["race"]),
    "sync_all": ("LOAD LocalTensor<float> b = out.AllocTensor<float>(); Adds(b, a, 1.0f, 256); in.FreeTensor(a); STORE SyncAll(); a = in.AllocTensor<float>(); DataCopy(a, gy[(1 - GetBlockIdx()) * 256], 256); in.EnQue(a); a = in.DeQue<float>(); in.FreeTensor(a);", []),
    "reserved": ("TBuf<TPosition::VECCALC> most; pipe.InitBuffer(most, 188192 - 6144); Duplicate(most.Get<float>()[(188160 - 6144) / 4], 1.0f, 8);", ["bounds"]),
    "scratch": ("LOAD LocalTensor<float> b = out.AllocTensor<float>(); Adds(c, a, 1.0f, 64); PipeBarrier<PIPE_V>(); Tanh<float>(b, a, c.ReinterpretCast<uint8_t>(), 256); in.FreeTensor(a); STORE", []),
    "scratch_race": ("LOAD LocalTensor<float> b = out.AllocTensor<float>(); Adds(c, a, 1.0f, 64); Tanh<float>(b, a, c.ReinterpretCast<uint8_t>(), 256); in.FreeTensor(a); STORE", ["race"]),
    "scratch_twice": ("LOAD LocalTensor<float> b = out.AllocTensor<float>(); Tanh<float>(b, a, c.ReinterpretCast<uint8_t>(), 128); Tanh<float>(b[128], a[128], c.ReinterpretCast<uint8_t>(), 128); in.FreeTensor(a); STORE", ["race"]),
    "scratch_each": ("LOAD LocalTensor<float> b = out.AllocTensor<float>(); Tanh<float>(b, a, c.ReinterpretCast<uint8_t>(), 128); Tanh<float>(b[128], a[128], c[256].ReinterpretCast<uint8_t>(), 128); in.FreeTensor(a); STORE", []),
    "scratch_reduce": ("LOAD LocalTensor<float> b = out.AllocTensor<float>(); Duplicate(b, 0.0f, 256); Adds(c, a, 1.0f, 64); PipeBarrier<PIPE_V>(); ReduceMax<float>(b, a, c, 256); ReduceMax<float>(b[8], a, c, 256); in.FreeTensor(a); STORE", ["race"]),
    "scratch_reduce_barrier": ("LOAD LocalTensor<float> b = out.AllocTensor<float>(); Duplicate(b, 0.0f, 256); PipeBarrier<PIPE_V>(); ReduceMax<float>(b, a, c, 256); PipeBarrier<PIPE_V>(); ReduceMax<float>(b[8], a, c, 256); in.FreeTensor(a); STORE", []),
    "scratch_past": ("LOAD LocalTensor<float> b = out.AllocTensor<float>(); LocalTensor<float> more = out.AllocTensor<float>(); Tanh<float>(more, a, b[248].ReinterpretCast<uint8_t>(), 256); in.FreeTensor(a); out.FreeTensor(b); b = more; STORE", ["tmp-size"]),
}  # fmt: skip


@pytest.fixture(scope="module")
def kernels(twin: Harness) -> dict[str, Kernel]:
    text = _HEAD + "".join(
        f'extern "C" __global__ __mix__(0, 1) void {name}(GM_ADDR x, GM_ADDR y)\n{{\nBEGIN\n{body}\n}}\n'
        for name, (body, _) in _CASES.items()
    )
    return twin.compile(text, list(_CASES), build="checked")


@pytest.mark.parametrize("name", _CASES)
def test_rules(kernels: dict[str, Kernel], name: str) -> None:
    x, y = np.arange(256, dtype=np.float32), np.zeros(512, dtype=np.float32)
    kernels[name](x, y, blocks=2, kind=MIX_0_1)
    found = kernels[name].report()
    assert sorted({rule for rule, *_ in found}) == _CASES[name][1], found


def test_one_core_has_no_rival(kernels: dict[str, Kernel]) -> None:
    x, y = np.arange(256, dtype=np.float32), np.zeros(512, dtype=np.float32)
    kernels["same_place"](x, y, blocks=1, kind=VECTOR)
    assert kernels["same_place"].report() == []
    assert np.array_equal(y[:256], x + 1)
