# ruff: noqa: E501 (lines of the C++ texts)
"""Whole kernels, written as generated ones are, against NumPy: tails, steps, cores, threads."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from .harness import (
    BARRIER_COUNT,
    GM_TO_UB,
    STREAM_STORES,
    UB_PEAK,
    UB_TO_GM,
    VECTOR_COUNT,
    Harness,
    Kernel,
)

TEXT = """
using namespace AscendC;

// out = (a + b) + shift over one run of elements
constexpr uint32_t kAddStep = 2048;
struct AddArgs { int64_t total; float shift; uint32_t step; };

class AddStage {
public:
    __aicore__ inline AddStage(TPipe& pipe, GM_ADDR a, GM_ADDR b, GM_ADDR out, const AddArgs& args) : args_(args)
    {
        a_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(a));
        b_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(b));
        out_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(out));
        pipe.InitBuffer(inQue_, 2, 2 * kAddStep * sizeof(float));
        pipe.InitBuffer(outQue_, 2, kAddStep * sizeof(float));
    }
    __aicore__ inline void Process()
    {
        const int64_t stride = GetBlockNum() * GetSubBlockNum() * args_.step;
        for (int64_t begin = GetBlockIdx() * args_.step; begin < args_.total; begin += stride) {
            const int64_t left = args_.total - begin;
            const uint32_t count = left < args_.step ? static_cast<uint32_t>(left) : args_.step;
            const DataCopyExtParams run{1, static_cast<uint32_t>(count * sizeof(float)), 0, 0, 0};
            const DataCopyPadExtParams<float> noPad{false, 0, 0, 0};
            LocalTensor<float> in = inQue_.AllocTensor<float>();
            DataCopyPad(in, a_[begin], run, noPad);
            DataCopyPad(in[kAddStep], b_[begin], run, noPad);
            inQue_.EnQue(in);
            in = inQue_.DeQue<float>();
            LocalTensor<float> out = outQue_.AllocTensor<float>();
            Add(out, in, in[kAddStep], count);
            PipeBarrier<PIPE_V>();
            Adds(out, out, args_.shift, count);
            inQue_.FreeTensor(in);
            outQue_.EnQue(out);
            out = outQue_.DeQue<float>();
            DataCopyPad(out_[begin], out, run);
            outQue_.FreeTensor(out);
        }
    }
private:
    AddArgs args_;
    GlobalTensor<float> a_, b_, out_;
    TQue<TPosition::VECIN, 1> inQue_;
    TQue<TPosition::VECOUT, 1> outQue_;
};
extern "C" __global__ __vector__ void add_shift(GM_ADDR a, GM_ADDR b, GM_ADDR out, AddArgs args)
{
    TPipe pipe;
    AddStage(pipe, a, b, out, args).Process();
}

// out[r, :] = softmax of x[r, :]; 100 columns at a pitch of 104
constexpr uint32_t kCols = 100, kPitch = 104, kRows = 16;
struct RowArgs { int64_t rows; uint32_t step; };

__aicore__ inline void Spread(const LocalTensor<float>& row8, const LocalTensor<float>& row, uint32_t rows)
{
    Brcb(row8, row, static_cast<uint8_t>((rows + 7) / 8), {1, 8});
    PipeBarrier<PIPE_V>();
}
extern "C" __global__ __vector__ void softmax(GM_ADDR x, GM_ADDR out, RowArgs args)
{
    TPipe pipe;
    TQue<TPosition::VECIN, 1> inQue;
    TQue<TPosition::VECOUT, 1> outQue;
    TBuf<TPosition::VECCALC> calc;
    pipe.InitBuffer(inQue, 2, kRows * kPitch * sizeof(float));
    pipe.InitBuffer(outQue, 2, kRows * kPitch * sizeof(float));
    pipe.InitBuffer(calc, (kRows + 8 * kRows + 64 * kRows) * sizeof(float));
    GlobalTensor<float> gx, go;
    gx.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));
    go.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(out));
    const LocalTensor<float> row = calc.Get<float>(), row8 = row[kRows], fold = row[9 * kRows];
    const BinaryRepeatParams same{1, 1, 1, 0, 8, 0}, broadcast{1, 1, 0, 8, 8, 0};
    constexpr uint8_t full = kCols / 64, tail = kCols % 64;
    const int64_t stride = GetBlockNum() * args.step;
    for (int64_t begin = GetBlockIdx() * args.step; begin < args.rows; begin += stride) {
        const uint32_t rows = args.rows - begin < args.step ? args.rows - begin : args.step;
        LocalTensor<float> in = inQue.AllocTensor<float>();
        DataCopyPad(in, gx[begin * kCols], DataCopyExtParams{static_cast<uint16_t>(rows), kCols * sizeof(float), 0, 0, 0},
                    DataCopyPadExtParams<float>{true, 0, kPitch - kCols, 0});
        inQue.EnQue(in);
        in = inQue.DeQue<float>();
        LocalTensor<float> o = outQue.AllocTensor<float>();

        Duplicate(fold, -INFINITY, rows * 64);
        PipeBarrier<PIPE_V>();
        for (uint32_t r = 0; r < rows; ++r) {
            Max(fold[r * 64], in[r * kPitch], fold[r * 64], 64, full, same);
            Max(fold[r * 64], in[r * kPitch + full * 64], fold[r * 64], tail, 1, same);
        }
        PipeBarrier<PIPE_V>();
        WholeReduceMax<float>(row, fold, 64, rows, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);
        PipeBarrier<PIPE_V>();
        Spread(row8, row, rows);
        for (uint32_t r = 0; r < rows; ++r) {
            Sub(o[r * kPitch], in[r * kPitch], row8[r * 8], 64, full, broadcast);
            Sub(o[r * kPitch + full * 64], in[r * kPitch + full * 64], row8[r * 8], kPitch % 64, 1, broadcast);
        }
        PipeBarrier<PIPE_V>();
        inQue.FreeTensor(in);
        Exp(o, o, rows * kPitch);
        Duplicate(fold, 0.0f, rows * 64);
        PipeBarrier<PIPE_V>();
        for (uint32_t r = 0; r < rows; ++r) {
            Add(fold[r * 64], o[r * kPitch], fold[r * 64], 64, full, same);
            Add(fold[r * 64], o[r * kPitch + full * 64], fold[r * 64], tail, 1, same);
        }
        PipeBarrier<PIPE_V>();
        WholeReduceSum<float>(row, fold, 64, rows, 1, 1, 8);
        PipeBarrier<PIPE_V>();
        Spread(row8, row, rows);
        for (uint32_t r = 0; r < rows; ++r) {
            Div(o[r * kPitch], o[r * kPitch], row8[r * 8], 64, full, broadcast);
            Div(o[r * kPitch + full * 64], o[r * kPitch + full * 64], row8[r * 8], kPitch % 64, 1, broadcast);
        }
        outQue.EnQue(o);
        o = outQue.DeQue<float>();
        DataCopyPad(go[begin * kCols], o, DataCopyExtParams{static_cast<uint16_t>(rows), kCols * sizeof(float), 0, 0, 0});
        outQue.FreeTensor(o);
    }
}

// z = max(x * alpha + y, 0): queues as locals, one for each operand
struct ScaleArgs { uint32_t n; float alpha; };
constexpr uint32_t kTile = 512;
extern "C" __global__ __vector__ void scale_add(GM_ADDR x, GM_ADDR y, GM_ADDR z, ScaleArgs a)
{
    GlobalTensor<float> gx, gy, gz;
    gx.SetGlobalBuffer((__gm__ float*)x, a.n);
    gy.SetGlobalBuffer((__gm__ float*)y, a.n);
    gz.SetGlobalBuffer((__gm__ float*)z, a.n);
    TPipe pipe;
    TQue<TPosition::VECIN, 1> inX, inY;
    TQue<TPosition::VECOUT, 1> out;
    pipe.InitBuffer(inX, 2, kTile * sizeof(float));
    pipe.InitBuffer(inY, 2, kTile * sizeof(float));
    pipe.InitBuffer(out, 2, kTile * sizeof(float));
    const uint32_t tiles = (a.n + kTile - 1) / kTile;
    for (uint32_t t = GetBlockIdx(); t < tiles; t += GetBlockNum()) {
        const uint32_t base = t * kTile, count = a.n - base < kTile ? a.n - base : kTile;
        const DataCopyExtParams run{1, (uint32_t)(count * sizeof(float)), 0, 0, 0};
        const DataCopyPadExtParams<float> noPad{false, 0, 0, 0};
        LocalTensor<float> lx = inX.AllocTensor<float>(), ly = inY.AllocTensor<float>();
        DataCopyPad(lx, gx[base], run, noPad);
        DataCopyPad(ly, gy[base], run, noPad);
        inX.EnQue(lx);
        inY.EnQue(ly);
        lx = inX.DeQue<float>();
        ly = inY.DeQue<float>();
        LocalTensor<float> lz = out.AllocTensor<float>();
        Axpy(ly, lx, a.alpha, (int32_t)count);
        PipeBarrier<PIPE_V>();
        Relu(lz, ly, (int32_t)count);
        inX.FreeTensor(lx);
        inY.FreeTensor(ly);
        out.EnQue(lz);
        lz = out.DeQue<float>();
        DataCopyPad(gz[base], lz, run);
        out.FreeTensor(lz);
    }
}

// static style, without TPipe
extern "C" __global__ __vector__ void static_style(__gm__ float* x, __gm__ float* y)
{
    InitSocState();
    GlobalTensor<float> gx, gy;
    gx.SetGlobalBuffer(x + block_idx * 256, 256);
    gy.SetGlobalBuffer(y + block_idx * 256, 256);
    LocalMemAllocator<Hardware::UB> ub;
    LocalTensor<float> a = ub.Alloc<float, 256>();
    LocalTensor<float> b(TPosition::VECCALC, 4096, 256);
    DataCopy(a, gx, 256);
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    Muls(b, a, 3.0f, 256);
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopy(gy, b, 256);
    PipeBarrier<PIPE_ALL>();
}

// three copies in flight before the first is used: first in, first out, each buffer on its own
extern "C" __global__ __vector__ void pipelined(GM_ADDR x, GM_ADDR y, int32_t steps)
{
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 3> queue;
    pipe.InitBuffer(queue, 3, 64);
    GlobalTensor<int32_t> gx, gy;
    gx.SetGlobalBuffer((__gm__ int32_t*)x);
    gy.SetGlobalBuffer((__gm__ int32_t*)y);
    for (int32_t i = 0; i < steps + 2; ++i) {
        if (i < steps) {
            LocalTensor<int32_t> t = queue.AllocTensor<int32_t>();
            DataCopy(t, gx[i * 16], 16);
            queue.EnQue(t);
        }
        if (i >= 2) {
            LocalTensor<int32_t> t;
            queue.DeQue(t);
            DataCopy(gy[(i - 2) * 16], t, 16);
            queue.FreeTensor(t);
        }
    }
}

// two stages with a Reset between them share the memory
extern "C" __global__ __vector__ void reset_between(GM_ADDR x, GM_ADDR y)
{
    GlobalTensor<float> gx, gy;
    gx.SetGlobalBuffer((__gm__ float*)x);
    gy.SetGlobalBuffer((__gm__ float*)y);
    TPipe pipe;
    for (int stage = 0; stage < 2; ++stage) {
        TBuf<TPosition::VECCALC> buffer;
        pipe.InitBuffer(buffer, 150000);
        TEventID id = pipe.AllocEventID<HardEvent::MTE2_V>();
        TEventID other = pipe.AllocEventID<HardEvent::MTE2_V>();
        LocalTensor<float> t = buffer.Get<float>(64);
        DataCopy(t, stage == 0 ? gx : gy, 64);
        SetFlag<HardEvent::MTE2_V>(id);
        WaitFlag<HardEvent::MTE2_V>(id);
        Adds(t, t, static_cast<float>(1 + id + 10 * other), 64);
        pipe.ReleaseEventID<HardEvent::MTE2_V>(id);
        pipe.ReleaseEventID<HardEvent::MTE2_V>(other);
        event_t fetched = static_cast<event_t>(pipe.FetchEventID(HardEvent::V_MTE3));
        SetFlag<HardEvent::V_MTE3>(fetched);
        WaitFlag<HardEvent::V_MTE3>(fetched);
        DataCopy(gy, t, 64);
        PipeBarrier<PIPE_ALL>();
        pipe.Reset();
    }
}
"""

NAMES = "add_shift softmax scale_add static_style pipelined reset_between".split()


class AddArgs(ctypes.Structure):
    _fields_ = (("total", ctypes.c_int64), ("shift", ctypes.c_float), ("step", ctypes.c_uint32))


class RowArgs(ctypes.Structure):
    _fields_ = (("rows", ctypes.c_int64), ("step", ctypes.c_uint32))


class ScaleArgs(ctypes.Structure):
    _fields_ = (("n", ctypes.c_uint32), ("alpha", ctypes.c_float))


@pytest.fixture(scope="module", params=["fast", "alone"])
def kernels(twin: Harness, request: pytest.FixtureRequest) -> dict[str, Kernel]:
    extra = ("-Wall", "-Wextra", "-Werror")
    return twin.compile(TEXT, NAMES, build=request.param, extra=extra)


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("blocks", [1, 2, 3, 7])
@pytest.mark.parametrize("flags", [0, STREAM_STORES])
def test_add_of_a_run(
    twin: Harness, kernels: dict[str, Kernel], workers: int, blocks: int, flags: int
) -> None:
    add = twin.with_workers(kernels, workers)["add_shift"]
    for total in (0, 1, 7, 256, 2048, 20_003):
        a, b = normal(total, seed=1), normal(total, seed=2)
        for step in (256, 512, 2048):
            out = np.full(total + 8, 77, np.float32)
            add(a, b, out, AddArgs(total, 3.0, step), blocks=blocks, flags=flags)
            np.testing.assert_array_equal(out[:total], (a + b) + np.float32(3))
            assert (out[total:] == 77).all()


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("blocks", [1, 3])
def test_softmax_of_rows(
    twin: Harness, kernels: dict[str, Kernel], workers: int, blocks: int
) -> None:
    softmax = twin.with_workers(kernels, workers)["softmax"]
    for rows in (1, 5, 16, 83):
        x = 5 * normal(rows, 100, seed=rows)
        exact = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
        exact /= exact.sum(axis=1, keepdims=True)
        for step in (1, 8, 16):
            out = np.full((rows + 1, 100), 77, np.float32)
            softmax(x, out, RowArgs(rows, step), blocks=blocks)
            np.testing.assert_allclose(out[:rows], exact, rtol=2e-6, atol=1e-9)
            assert (out[rows:] == 77).all()


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("n", [1, 7, 512, 20_003])
def test_scale_add_on_three_cores(
    twin: Harness, kernels: dict[str, Kernel], workers: int, n: int
) -> None:
    x, y, z = normal(n, seed=3), normal(n, seed=4), np.zeros(n, np.float32)
    on = twin.with_workers(kernels, workers)
    on["scale_add"](x, y, z, ScaleArgs(n, 0.75), blocks=3)
    # exact products of 0.75 do not always fit: one rounding or two
    np.testing.assert_allclose(z, np.maximum(x * np.float32(0.75) + y, 0), rtol=0, atol=3e-7)


def test_static_style(kernels: dict[str, Kernel]) -> None:
    x, y = normal(4 * 256, seed=5), np.zeros(4 * 256, np.float32)
    kernels["static_style"](x, y, blocks=4)
    np.testing.assert_array_equal(y, x * np.float32(3))


@pytest.mark.parametrize("steps", [1, 2, 3, 10])
def test_queue_keeps_its_order(kernels: dict[str, Kernel], steps: int) -> None:
    x, y = np.arange(steps * 16, dtype=np.int32), np.zeros(steps * 16, np.int32)
    kernels["pipelined"](x, y, ctypes.c_int32(steps))
    np.testing.assert_array_equal(y, x)


def test_reset_gives_the_memory_and_the_events_back(kernels: dict[str, Kernel]) -> None:
    x, y = normal(64, seed=6), np.zeros(64, np.float32)
    kernels["reset_between"](x, y)
    np.testing.assert_array_equal(y, (x + np.float32(11)) + np.float32(11))


def test_counters_of_a_kernel(twin: Harness) -> None:
    add = twin.compile(TEXT, ["add_shift"], build="count")["add_shift"]
    total, step = 10_000, 512
    a, b, out = normal(total, seed=7), normal(total, seed=8), np.zeros(total, np.float32)
    twin.runtime().counters(reset=True)
    add(a, b, out, AddArgs(total, 1.0, step), blocks=3)
    np.testing.assert_array_equal(out, (a + b) + np.float32(1))
    steps = -(-total // step)
    counters = twin.runtime().counters()
    assert counters[GM_TO_UB] == 2 * 4 * total
    assert counters[UB_TO_GM] == 4 * total
    assert counters[VECTOR_COUNT] == 2 * steps
    assert counters[BARRIER_COUNT] == steps
    assert counters[UB_PEAK] == 6 * 2048 * 4
