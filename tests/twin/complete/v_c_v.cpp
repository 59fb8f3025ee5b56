#include "kernel_operator.h"
using namespace AscendC;

// y = relu((x + 1) * w) : vector stage, cube stage, vector stage. x [G*32,64] f16, w [64,32] f16, y f32; G groups
template <HardEvent E> __aicore__ inline void Order(TPipe& pipe)      // pipe B of E = A_B waits for pipe A
{
    event_t id = static_cast<event_t>(pipe.FetchEventID(E));
    SetFlag<E>(id);
    WaitFlag<E>(id);
}
constexpr int M = 32, K = 64, N = 32, HM = M / 2;
extern "C" __global__ __mix__(1, 2) void v_c_v(GM_ADDR x, GM_ADDR w, GM_ADDR y, GM_ADDR wsT, GM_ADDR wsC)
{
    GlobalTensor<half> gx, gw, gt;
    GlobalTensor<float> gy, gc;
    gx.SetGlobalBuffer((__gm__ half*)x);
    gw.SetGlobalBuffer((__gm__ half*)w);
    gt.SetGlobalBuffer((__gm__ half*)wsT);
    gy.SetGlobalBuffer((__gm__ float*)y);
    gc.SetGlobalBuffer((__gm__ float*)wsC);
    TPipe pipe;
    const int64_t id = GetBlockIdx();                 // AIV: 0..2G-1, AIC: 0..G-1
    if ASCEND_IS_AIV {
        TBuf<TPosition::VECCALC> bh;
        pipe.InitBuffer(bh, HM * K * sizeof(half));
        LocalTensor<half> h = bh.Get<half>();
        DataCopy(h, gx[id * HM * K], HM * K);
        Order<HardEvent::MTE2_V>(pipe);
        Adds(h, h, (half)1.0f, HM * K);
        Order<HardEvent::V_MTE3>(pipe);
        DataCopy(gt[id * HM * K], h, HM * K);
    }
    SyncAll<false>();
    if ASCEND_IS_AIC {
        TBuf<TPosition::A1> ba;
        TBuf<TPosition::B1> bb;
        TBuf<TPosition::A2> bla;
        TBuf<TPosition::B2> blb;
        TBuf<TPosition::CO1> bc;
        pipe.InitBuffer(ba, M * K * 2);
        pipe.InitBuffer(bb, K * N * 2);
        pipe.InitBuffer(bla, M * K * 2);
        pipe.InitBuffer(blb, K * N * 2);
        pipe.InitBuffer(bc, M * N * 4);
        LocalTensor<half> a1 = ba.Get<half>(), b1 = bb.Get<half>(), a2 = bla.Get<half>(), b2 = blb.Get<half>();
        LocalTensor<float> acc = bc.Get<float>();
        const int64_t other = GetBlockNum() - 1 - id; // take another group's rows: needs the all-core barrier
        DataCopy(a1, gt[other * M * K], Nd2NzParams(1, M, K, 0, K, M, 1, 0));
        DataCopy(b1, gw, Nd2NzParams(1, K, N, 0, N, K, 1, 0));
        Order<HardEvent::MTE2_MTE1>(pipe);
        for (int i = 0; i < M / 16; ++i) LoadData(a2[i * 16 * K], a1, LoadData2DParams(i, K / 16, M / 16, 0, 0, false, 0));
        for (int i = 0; i < K / 16; ++i) LoadData(b2[i * 16 * N], b1, LoadData2DParams(i, N / 16, K / 16, 0, 0, true, 0));
        Order<HardEvent::MTE1_M>(pipe);
        MmadParams p;
        p.m = M; p.n = N; p.k = K; p.cmatrixInitVal = true;
        Mmad(acc, a2, b2, p);
        Order<HardEvent::M_FIX>(pipe);
        FixpipeParamsV220 f;
        f.nSize = N; f.mSize = M; f.srcStride = M; f.dstStride = N;
        Fixpipe(gc[other * M * N], acc, f);
    }
    SyncAll<false>();
    if ASCEND_IS_AIV {
        TBuf<TPosition::VECCALC> bf;
        pipe.InitBuffer(bf, HM * N * sizeof(float));
        LocalTensor<float> v = bf.Get<float>();
        DataCopy(v, gc[id * HM * N], HM * N);
        Order<HardEvent::MTE2_V>(pipe);
        Relu(v, v, HM * N);
        Order<HardEvent::V_MTE3>(pipe);
        DataCopy(gy[id * HM * N], v, HM * N);
    }
}
