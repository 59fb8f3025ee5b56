#include "kernel_operator.h"
using namespace AscendC;

// z = max(x * alpha + y, 0), any length; every core takes tiles core, core+cores, ...
struct ScaleAddArgs { uint32_t n; float alpha; };
constexpr uint32_t TILE = 2048;                       // elements, a multiple of 8

extern "C" __global__ __vector__ void scale_add(GM_ADDR x, GM_ADDR y, GM_ADDR z, ScaleAddArgs a)
{
    GlobalTensor<float> gx, gy, gz;
    gx.SetGlobalBuffer((__gm__ float*)x, a.n);
    gy.SetGlobalBuffer((__gm__ float*)y, a.n);
    gz.SetGlobalBuffer((__gm__ float*)z, a.n);
    TPipe pipe;
    TQue<TPosition::VECIN, 1> inX, inY;
    TQue<TPosition::VECOUT, 1> out;
    pipe.InitBuffer(inX, 2, TILE * sizeof(float));    // num = 2: double buffering
    pipe.InitBuffer(inY, 2, TILE * sizeof(float));
    pipe.InitBuffer(out, 2, TILE * sizeof(float));

    const uint32_t tiles = (a.n + TILE - 1) / TILE;
    for (uint32_t t = GetBlockIdx(); t < tiles; t += GetBlockNum()) {
        const uint32_t base = t * TILE;
        const uint32_t cnt = a.n - base < TILE ? a.n - base : TILE;
        DataCopyExtParams cp{1, (uint32_t)(cnt * sizeof(float)), 0, 0, 0};
        DataCopyPadExtParams<float> pad{false, 0, 0, 0};

        LocalTensor<float> lx = inX.AllocTensor<float>();
        LocalTensor<float> ly = inY.AllocTensor<float>();
        DataCopyPad(lx, gx[base], cp, pad);
        DataCopyPad(ly, gy[base], cp, pad);
        inX.EnQue(lx);
        inY.EnQue(ly);

        lx = inX.DeQue<float>();
        ly = inY.DeQue<float>();
        LocalTensor<float> lz = out.AllocTensor<float>();
        Axpy(ly, lx, a.alpha, (int32_t)cnt);          // ly += lx * alpha
        PipeBarrier<PIPE_V>();
        Relu(lz, ly, (int32_t)cnt);
        inX.FreeTensor(lx);
        inY.FreeTensor(ly);
        out.EnQue(lz);

        lz = out.DeQue<float>();
        DataCopyPad(gz[base], lz, cp);
        out.FreeTensor(lz);
    }
}
