// A kernel in the style of hand-written operators: a class template with Init and Process,
// members reached through this, sizes from template arguments, a helper with a queue by reference.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;
constexpr uint32_t TILE_LENGTH = 1024;
enum class Mode : uint8_t { PLAIN = 0, SCALED };

struct Shape {
    uint32_t rows;
    uint32_t cols;
};
struct Tiling {
    Shape shape;
    float scale;
    uint32_t tiles;
};

template <typename T, Mode MODE = Mode::PLAIN>
class AddKernel {
public:
    __aicore__ inline AddKernel() = default;
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z, const Tiling& tiling, TPipe* pipe)
    {
        this->pipe = pipe;
        this->tiles = tiling.tiles;
        this->scale = static_cast<T>(tiling.scale);
        const uint64_t length = static_cast<uint64_t>(tiling.shape.rows) * tiling.shape.cols;
        const uint64_t begin = static_cast<uint64_t>(GetBlockIdx()) * tiles * TILE_LENGTH;
        xGm.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(x) + begin, length);
        yGm.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(y) + begin, length);
        zGm.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(z) + begin, length);
        pipe->InitBuffer(inX, BUFFER_NUM, TILE_LENGTH * sizeof(T));
        pipe->InitBuffer(inY, BUFFER_NUM, TILE_LENGTH * sizeof(T));
        pipe->InitBuffer(outZ, BUFFER_NUM, TILE_LENGTH * sizeof(T));
        pipe->InitBuffer(scratch, TILE_LENGTH * sizeof(T));
    }
    __aicore__ inline void Process()
    {
        for (int32_t i = 0; i < static_cast<int32_t>(this->tiles); i++) {
            CopyIn(i);
            Compute();
            CopyOut(i);
        }
    }

private:
    __aicore__ inline void Load(TQue<QuePosition::VECIN, 1>& queue, const GlobalTensor<T>& source, uint64_t at)
    {
        LocalTensor<T> tile = queue.template AllocTensor<T>();
        DataCopy(tile, source[at], TILE_LENGTH);
        queue.EnQue(tile);
    }
    __aicore__ inline void CopyIn(int32_t i)
    {
        const uint64_t at = static_cast<uint64_t>(i) * TILE_LENGTH;
        Load(inX, xGm, at);
        Load(inY, yGm, at);
    }
    __aicore__ inline void Compute()
    {
        LocalTensor<T> x = inX.template DeQue<T>();
        LocalTensor<T> y = inY.template DeQue<T>();
        LocalTensor<T> z = outZ.template AllocTensor<T>();
        if constexpr (MODE == Mode::SCALED) {
            LocalTensor<T> scaled = scratch.template Get<T>();
            Muls(scaled, x, scale, TILE_LENGTH);
            PipeBarrier<PIPE_V>();
            Add(z, scaled, y, TILE_LENGTH);
        } else {
            Add(z, x, y, TILE_LENGTH);
        }
        outZ.template EnQue<T>(z);
        inX.FreeTensor(x);
        inY.FreeTensor(y);
    }
    __aicore__ inline void CopyOut(int32_t i)
    {
        LocalTensor<T> z = outZ.template DeQue<T>();
        DataCopy(zGm[static_cast<uint64_t>(i) * TILE_LENGTH], z, TILE_LENGTH);
        outZ.FreeTensor(z);
    }

    TPipe* pipe = nullptr;
    TQue<QuePosition::VECIN, 1> inX, inY;
    TQue<QuePosition::VECOUT, 1> outZ;
    TBuf<QuePosition::VECCALC> scratch;
    GlobalTensor<T> xGm, yGm, zGm;
    uint32_t tiles = 0;
    T scale;
};

extern "C" __global__ __vector__ void add_scaled(GM_ADDR x, GM_ADDR y, GM_ADDR z, Tiling tiling)
{
    TPipe pipe;
    AddKernel<half, Mode::SCALED> op;
    op.Init(x, y, z, tiling, &pipe);
    op.Process();
}
