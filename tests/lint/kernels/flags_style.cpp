// A kernel without TPipe: fixed addresses, flags by hand, two halves of memory in turn, every flag
// set one iteration ahead of its wait.
#include "kernel_operator.h"
using namespace AscendC;

#define HALF_BYTES 16384
namespace {
constexpr uint32_t kTile = HALF_BYTES / sizeof(float);
static constexpr float kThird = 1.0 / 3.0;
}  // namespace

__aicore__ inline uint32_t Least(uint32_t a, uint32_t b) { return a < b ? a : b; }

extern "C" __global__ __vector__ void third(__gm__ float* x, __gm__ float* y, uint64_t n)
{
    InitSocState();
    GlobalTensor<float> source, target;
    source.SetGlobalBuffer(x, n);
    target.SetGlobalBuffer(y, n);
    LocalTensor<float> in(TPosition::VECIN, 0, kTile), out(TPosition::VECOUT, HALF_BYTES, kTile);
    SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
    SetFlag<HardEvent::MTE3_V>(EVENT_ID1);
    for (uint64_t at = block_idx * kTile; at < n; at += block_num * kTile) {
        const uint32_t count = n - at < kTile ? static_cast<uint32_t>(n - at) : kTile;
        WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
        DataCopyPad(in, source[at], DataCopyExtParams(1, count * sizeof(float), 0, 0, 0),
                    DataCopyPadExtParams<float>(false, 0, 0, 0));
        SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
        WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
        WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
        Muls(out, in, kThird, static_cast<int32_t>(Least(count, kTile)));
        SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
        SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
        WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
        DataCopyPad(target[at], out, DataCopyExtParams(1, count * sizeof(float), 0, 0, 0));
        SetFlag<HardEvent::MTE3_V>(EVENT_ID1);
    }
    WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
    WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
    PipeBarrier<PIPE_ALL>();
}
