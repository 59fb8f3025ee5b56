#include "kernel_operator.h"
using namespace AscendC;

// y[r,:] = softmax(x[r,:]), float, any cols that fit
template <HardEvent E> __aicore__ inline void Order(TPipe& pipe)      // pipe B of E = A_B waits for pipe A
{
    event_t id = static_cast<event_t>(pipe.FetchEventID(E));
    SetFlag<E>(id);
    WaitFlag<E>(id);
}

extern "C" __global__ __vector__ void row_softmax(GM_ADDR x, GM_ADDR y, uint32_t rows, uint32_t cols)
{
    GlobalTensor<float> gx, gy;
    gx.SetGlobalBuffer((__gm__ float*)x, (uint64_t)rows * cols);
    gy.SetGlobalBuffer((__gm__ float*)y, (uint64_t)rows * cols);
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    TBuf<TPosition::VECCALC> red, scr;
    const uint32_t bytes = (cols * sizeof(float) + 31) / 32 * 32;
    const uint32_t reps = (cols + 63) / 64;           // one vector repeat holds 64 floats
    pipe.InitBuffer(in, 2, bytes);
    pipe.InitBuffer(out, 2, bytes);
    pipe.InitBuffer(red, 32);
    pipe.InitBuffer(scr, (reps * 2 + 7) / 8 * 32);    // ReduceMax needs two lanes per repeat
    LocalTensor<float> s = red.Get<float>(), w = scr.Get<float>();

    DataCopyExtParams cp{1, (uint32_t)(cols * sizeof(float)), 0, 0, 0};
    DataCopyPadExtParams<float> pad{false, 0, 0, 0};
    for (uint32_t r = GetBlockIdx(); r < rows; r += GetBlockNum()) {
        LocalTensor<float> a = in.AllocTensor<float>();
        DataCopyPad(a, gx[(uint64_t)r * cols], cp, pad);
        in.EnQue(a);

        a = in.DeQue<float>();
        LocalTensor<float> o = out.AllocTensor<float>();
        ReduceMax<float>(s, a, w, (int32_t)cols, false);
        Order<HardEvent::V_S>(pipe);
        float m = s.GetValue(0);
        Order<HardEvent::S_V>(pipe);
        Adds(o, a, -m, (int32_t)cols);
        PipeBarrier<PIPE_V>();
        in.FreeTensor(a);
        Exp(o, o, (int32_t)cols);
        PipeBarrier<PIPE_V>();
        ReduceSum<float>(s, o, w, (int32_t)cols);
        Order<HardEvent::V_S>(pipe);
        float d = s.GetValue(0);
        Order<HardEvent::S_V>(pipe);
        Muls(o, o, 1.0f / d, (int32_t)cols);
        out.EnQue(o);

        o = out.DeQue<float>();
        DataCopyPad(gy[(uint64_t)r * cols], o, cp);
        out.FreeTensor(o);
    }
}
