#include "kernel_operator.h"
using namespace AscendC;

// C[M,N] f32 = A[M,K] f16 * B[K,N] f16, all row-major; one core makes BM x BN tiles, K in L1 steps of BK
struct MmArgs { uint16_t m, n, k, pad; };
constexpr int BM = 64, BN = 64, BK = 128;
__aicore__ inline int Up16(int v) { return (v + 15) / 16 * 16; }

extern "C" __global__ __cube__ void matmul_f16(GM_ADDR a, GM_ADDR b, GM_ADDR c, MmArgs g)
{
    GlobalTensor<half> ga, gb;
    GlobalTensor<float> gc;
    ga.SetGlobalBuffer((__gm__ half*)a);
    gb.SetGlobalBuffer((__gm__ half*)b);
    gc.SetGlobalBuffer((__gm__ float*)c);
    TPipe pipe;
    TQue<TPosition::A1, 1> qa1;
    TQue<TPosition::B1, 1> qb1;
    TQue<TPosition::A2, 1> qa2;
    TQue<TPosition::B2, 1> qb2;
    TQue<TPosition::CO1, 1> qc;
    pipe.InitBuffer(qa1, 2, BM * BK * sizeof(half));
    pipe.InitBuffer(qb1, 2, BK * BN * sizeof(half));
    pipe.InitBuffer(qa2, 2, BM * BK * sizeof(half));
    pipe.InitBuffer(qb2, 2, BK * BN * sizeof(half));
    pipe.InitBuffer(qc, 1, BM * BN * sizeof(float));

    const int mt = (g.m + BM - 1) / BM, nt = (g.n + BN - 1) / BN;
    for (int t = GetBlockIdx(); t < mt * nt; t += GetBlockNum()) {
        const int m0 = t / nt * BM, n0 = t % nt * BN;
        const int mc = g.m - m0 < BM ? g.m - m0 : BM, nc = g.n - n0 < BN ? g.n - n0 : BN;
        const int mp = Up16(mc), np = Up16(nc);
        LocalTensor<float> acc = qc.AllocTensor<float>();
        for (int k0 = 0; k0 < g.k; k0 += BK) {
            const int kc = g.k - k0 < BK ? g.k - k0 : BK, kp = Up16(kc);
            LocalTensor<half> a1 = qa1.AllocTensor<half>(), b1 = qb1.AllocTensor<half>();
            // ndNum, rows, cols, matrixStride, rowPitch, C0 stride, row stride, matrixStride
            DataCopy(a1, ga[(uint64_t)m0 * g.k + k0],
                     Nd2NzParams(1, mc, kc, 0, g.k, mp, 1, 0));
            DataCopy(b1, gb[(uint64_t)k0 * g.n + n0],
                     Nd2NzParams(1, kc, nc, 0, g.n, kp, 1, 0));
            qa1.EnQue(a1);
            qb1.EnQue(b1);

            a1 = qa1.DeQue<half>();
            b1 = qb1.DeQue<half>();
            LocalTensor<half> a2 = qa2.AllocTensor<half>(), b2 = qb2.AllocTensor<half>();
            for (int i = 0; i < mp / 16; ++i)         // one row of fractals per call
                LoadData(a2[i * 16 * kp], a1, LoadData2DParams(i, kp / 16, mp / 16, 0, 0, false, 0));
            for (int i = 0; i < kp / 16; ++i)
                LoadData(b2[i * 16 * np], b1, LoadData2DParams(i, np / 16, kp / 16, 0, 0, true, 0));
            qa1.FreeTensor(a1);
            qb1.FreeTensor(b1);
            qa2.EnQue(a2);
            qb2.EnQue(b2);

            a2 = qa2.DeQue<half>();
            b2 = qb2.DeQue<half>();
            MmadParams p;
            p.m = mp;                                 // never 1: that would select GEMV
            p.n = nc;
            p.k = kc;
            p.cmatrixInitVal = k0 == 0;
            Mmad(acc, a2, b2, p);
            PipeBarrier<PIPE_M>();
            qa2.FreeTensor(a2);
            qb2.FreeTensor(b2);
        }
        qc.EnQue(acc);
        acc = qc.DeQue<float>();
        FixpipeParamsV220 f;
        f.nSize = nc;
        f.mSize = mc;
        f.srcStride = mp;
        f.dstStride = g.n;
        Fixpipe<float, float, CFG_ROW_MAJOR>(gc[(uint64_t)m0 * g.n + n0], acc, f);
        qc.FreeTensor(acc);
    }
}
