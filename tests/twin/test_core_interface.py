# ruff: noqa: E501 (lines of the C++ texts)
"""Every name of the core chapters compiles with the documented forms, and does what it says."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from .harness import MIX_0_1, Build, Harness

TEXT = """
using namespace AscendC;
struct Args { uint32_t rows, cols; float eps; };

extern "C" __global__ __aicore__ void old_spelling(GM_ADDR x)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    x[0] = 9;
}
template <typename T> __global__ __vector__ void templated(__gm__ T* x, __gm__ T* y) { *y = *x; }
__schedmode__(1) extern "C" __global__ __mix__(0, 1) void names(GM_ADDR out, GM_ADDR in, Args args)
{
    TPipe pipe;
    GlobalTensor<float> gf, go;
    gf.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(in), 64);
    go.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(out));
    GlobalTensor<float> part = gf[16];
    part.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE);
    ShapeInfo shape;
    shape.shapeDim = 2;
    part.SetShapeInfo(shape);

    TQue<TPosition::VECIN, 1> qi;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> qb;
    TQue<TPosition::VECCALC, 0> inplace;
    TBuf<TPosition::VECCALC> tb;
    pipe.InitBuffer(qi, 2, 1000);
    pipe.InitBuffer(qb, 2, 1024);
    pipe.InitBuffer(inplace, 1, 64);
    pipe.InitBuffer(tb, 2048);
    LocalTensor<float> t = qi.AllocTensor<float>();
    ascendc_assert(t.GetSize() == 256 && qi.HasIdleBuffer() && qi.VacantInQue(), "rounded up to %d", 32);
    DataCopy(t, gf, 64);
    qi.EnQue(t);
    ascendc_assert(qi.HasTensorInQue() && qi.GetTensorCountInQue() == 1 && !qi.VacantInQue());
    t = qi.DeQue<float>();
    LocalTensor<float> t2;
    inplace.AllocTensor(t2);
    inplace.EnQue(t2);
    inplace.DeQue(t2);
    inplace.FreeTensor(t2);
    LocalTensor<half> w = tb.Get<half>(512), w2 = tb.GetWithOffset<half>(256, 1024);
    ascendc_assert(w.GetSize() == 512 && w2.GetPhyAddr() == w.GetPhyAddr(512));
    ascendc_assert(tb.Get<half>().GetSize() == 1024 && tb.Get<int4b_t>().GetSize() == 4096);
    ascendc_assert(tb.Get<int4b_t>()[64].ReinterpretCast<uint8_t>().GetPhyAddr() == w.ReinterpretCast<uint8_t>().GetPhyAddr(32));
    ascendc_assert(t.GetPosition() == static_cast<int32_t>(TPosition::VECIN) && t[200].GetSize() == 56);

    LocalTensor<uint32_t> bits = t.ReinterpretCast<uint32_t>();
    bits.SetValue(0, 0x40490fdbu);
    t(1) = t.GetValue(0) + gf.GetValue(1) + part.GetValue(1);
    t[2].SetValue(0, static_cast<int>(sub_block_idx) + block_num);
    event_t e = static_cast<event_t>(pipe.FetchEventID(HardEvent::S_MTE3));
    TQueSync<PIPE_S, PIPE_MTE3> sync;
    sync.SetFlag(e);
    sync.WaitFlag(e);
    DataSyncBarrier<MemDsbT::ALL>();
    DataCopy(go[GetBlockIdx() * 8], t, 8);
    DataCacheCleanAndInvalid<float, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(go);
    qi.FreeTensor(t);
    qi.FreeAllEvent();
    SetDeqScale(static_cast<half>(0.5f));
    SetDeqScale(1.0f, 3, true);
    SetVectorMask<float>(40);
    ascendc_assert(pypto_twin::state().mask_low == (1ull << 40) - 1 && pypto_twin::state().mask_high == 0);
    SetVectorMask<half>(100);
    ascendc_assert(pypto_twin::state().mask_low == ~0ull && pypto_twin::state().mask_high == (1ull << 36) - 1);
    ResetMask();
    SyncAll<true>();
    GlobalTensor<int32_t> gi;
    LocalTensor<int32_t> ui = tb.Get<int32_t>();
    SyncAll<true>(gi, ui);
    const int64_t before = GetSystemCycle();
    ascendc_assert(GetSystemCycle() >= before && GetTaskRatio() == 1);
    if (GetBlockIdx() == 1) {
        AscendC::printf("rows=%u eps=%f half=%f bf16=%f\\\\n", args.rows, args.eps, half(1.5f), bfloat16_t(2.0f));
        DumpTensor(gf, 7, 3);
    }
}
extern "C" __global__ __vector__ void call_template(GM_ADDR x, GM_ADDR y) { templated<int32_t>((int32_t*)x, (int32_t*)y); }
""".replace("\\\\n", "\\n")


class Args(ctypes.Structure):
    _fields_ = (("rows", ctypes.c_uint32), ("cols", ctypes.c_uint32), ("eps", ctypes.c_float))


@pytest.mark.parametrize("build", ["fast", "count", "alone"])
def test_names_of_the_core_chapters(
    twin: Harness, build: Build, capfd: pytest.CaptureFixture[str]
) -> None:
    kernels = twin.compile(
        TEXT, ["names", "old_spelling", "call_template"], build=build, extra=("-Wall", "-Wextra")
    )
    x, out = np.arange(64, dtype=np.float32), np.zeros(16, np.float32)
    kernels["names"](out, x, Args(3, 4, 0.25), blocks=2, kind=MIX_0_1)
    pi = np.float32(np.pi)
    row = [pi, (pi + np.float32(1)) + np.float32(17), 2, 3, 4, 5, 6, 7]
    np.testing.assert_array_equal(out, np.array([row, row], np.float32).ravel())
    text = capfd.readouterr().out
    assert text == (
        "rows=3 eps=0.250000 half=1.500000 bf16=2.000000\n"
        "DumpTensor desc=7 count=3\n0 1 2\n"
    )  # fmt: skip

    byte = np.zeros(1, np.uint8)
    kernels["old_spelling"](byte)
    assert byte[0] == 9
    source, target = np.array([5], np.int32), np.zeros(1, np.int32)
    kernels["call_template"](source, target)
    assert target[0] == 5


def test_debug_output_vanishes_on_request(twin: Harness, capfd: pytest.CaptureFixture[str]) -> None:
    text = """
    extern "C" __global__ __vector__ void quiet(GM_ADDR x)
    {
        AscendC::printf("%d", 1);
        ascendc_assert(x == nullptr);
    }
    """
    quiet = twin.compile(text, ["quiet"], extra=("-DASCENDC_DUMP=0",))
    quiet["quiet"](np.zeros(1, np.uint8))
    assert capfd.readouterr().out == ""
