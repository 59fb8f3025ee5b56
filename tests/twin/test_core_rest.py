"""Entries of the core chapters that no other file has: sizes, scalar atomics, conversions."""

from __future__ import annotations

import numpy as np

from .harness import Harness

TEXT = """
using namespace AscendC;
extern "C" __global__ __vector__ void tensors(GM_ADDR x)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 1024);
    LocalTensor<half> t = buffer.Get<half>();
    ascendc_assert(t.GetSize() == 512);
    t.SetSize(100);
    ascendc_assert(t.GetSize() == 100 && t.ReinterpretCast<float>().GetSize() == 50);
    t.SetBufferLen(64);
    ascendc_assert(t.GetSize() == 32);
    GlobalTensor<float> g;
    g.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), 8);
    ShapeInfo shape;
    shape.shapeDim = 2;
    shape.shape[1] = 4;
    shape.dataFormat = DataFormat::NZ;
    g.SetShapeInfo(shape);
    const ShapeInfo back = g.GetShapeInfo();
    ascendc_assert(back.shapeDim == 2 && back.shape[1] == 4 && back.dataFormat == DataFormat::NZ);
    ascendc_assert(GetTaskRation() == 1);
    pipe.Destroy();
    pipe.Init();
    TBuf<TPosition::VECCALC> whole;
    pipe.InitBuffer(whole, 180000);  // what was allocated before is free again
    ascendc_assert(whole.Get<uint8_t>().GetSize() == 180000);
    LocalMemAllocator<Hardware::UB> memory;
    memory.Alloc<half, 24>();
    ascendc_assert(memory.GetCurAddr() == 64);
    LocalTensor<float> second = memory.Alloc<float>(8);
    ascendc_assert(memory.GetCurAddr() == 96 && second.GetSize() == 8);
}
extern "C" __global__ __vector__ void atomics(GM_ADDR p)
{
    __gm__ int32_t* const v = reinterpret_cast<__gm__ int32_t*>(p);
    v[8] = AtomicMin(v, 3);
    v[9] = AtomicMin(v + 1, 30);
    v[10] = AtomicExch(v + 2, 77);
    v[11] = AtomicCas(v + 3, 40, 41);
    v[12] = AtomicCas(v + 4, 0, 51);
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 64);
    GlobalTensor<int32_t> g;
    g.SetGlobalBuffer(v);
    LocalTensor<int32_t> t = buffer.Get<int32_t>();
    Duplicate(t, 5, 8);
    SetAtomicAdd<int32_t>();
    DataCopy(g[16], t, 8);
    DisableDmaAtomic();
    DataCopy(g[24], t, 8);
}
template <typename T> __aicore__ inline void Filled(GM_ADDR p)
{
    GlobalTensor<T> g;
    g.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(p));
    Fill<T>(g, 5, static_cast<T>(3.0f));
    GlobalTensor<T> second = g[8], third = g[16];
    InitOutput<T>(second, 3);
    InitGlobalMemory<T>(third, 0, static_cast<T>(1.0f));
    third = g[20];
    InitGlobalMemory<T>(third, 2, static_cast<T>(9.0f));
}
extern "C" __global__ __vector__ void fill_float16(GM_ADDR p) { Filled<half>(p); }
extern "C" __global__ __vector__ void fill_int16(GM_ADDR p) { Filled<int16_t>(p); }
extern "C" __global__ __vector__ void fill_uint16(GM_ADDR p) { Filled<uint16_t>(p); }
extern "C" __global__ __vector__ void fill_float32(GM_ADDR p) { Filled<float>(p); }
extern "C" __global__ __vector__ void fill_int32(GM_ADDR p) { Filled<int32_t>(p); }
extern "C" __global__ __vector__ void fill_uint32(GM_ADDR p) { Filled<uint32_t>(p); }
extern "C" __global__ __vector__ void scalars(GM_ADDR p)
{
    __gm__ float* const v = reinterpret_cast<__gm__ float*>(p);
    v[1] = ToFloat(ToBfloat16(v[0]));
    v[2] = AscendC::Std::min(v[0], 1.0f);
    v[3] = AscendC::Std::max(v[0], 10.0f);
}
"""

FILLED = ("float16", "int16", "uint16", "float32", "int32", "uint32")


def test_rest_of_the_core(twin: Harness) -> None:
    fills = [f"fill_{name}" for name in FILLED]
    names = ["tensors", "atomics", "scalars", *fills]
    kernels = twin.compile(TEXT, names, extra=("-Wall", "-Wextra"))
    kernels["tensors"](np.zeros(8, np.float32))

    integers = np.array([10, 20, 30, 40, 50, *[0] * 11, *range(16)], np.int32)
    kernels["atomics"](integers)
    assert integers[:5].tolist() == [3, 20, 77, 41, 50]
    assert integers[8:13].tolist() == [10, 20, 30, 40, 50]
    assert integers[16:24].tolist() == [5 + i for i in range(8)]
    assert integers[24:].tolist() == [5] * 8

    floats = np.array([1.00390625, 0, 0, 0], np.float32)  # halfway between two bfloat16_t
    kernels["scalars"](floats)
    assert floats.tolist() == [1.00390625, 1.0, 1.0, 10.0]

    for name in FILLED:
        memory = np.full(24, 7, np.dtype(name))
        expected = memory.copy()
        expected[:5], expected[8:11], expected[20:22] = 3, 0, 9
        kernels[f"fill_{name}"](memory)
        np.testing.assert_array_equal(memory, expected)
