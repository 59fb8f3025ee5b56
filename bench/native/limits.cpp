// What this machine can do: the same work as the kernels, written by hand in C++ with OpenMP.
#include <cmath>
#include <cstdint>

// The vector variants of libmvec, without -ffast-math.
extern "C" __attribute__((simd("notinbranch"), const)) float tanhf(float);
extern "C" __attribute__((simd("notinbranch"), const)) float expf(float);

extern "C" {

// STREAM triad: 12 bytes an element.
void triad(const float* b, const float* c, float* a, int64_t count)
{
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < count; ++i) {
        a[i] = b[i] + 3.0f * c[i];
    }
}

void add(const float* x, const float* y, float* out, int64_t count)
{
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < count; ++i) {
        out[i] = x[i] + y[i];
    }
}

void add_small(const float* x, const float* y, float* out, int64_t count)
{
    for (int64_t i = 0; i < count; ++i) {
        out[i] = x[i] + y[i];
    }
}

void gelu_bias(const float* x, const float* bias, float* out, int64_t rows, int64_t columns)
{
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < rows; ++r) {
        const float* in = x + r * columns;
        float* to = out + r * columns;
#pragma omp simd
        for (int64_t c = 0; c < columns; ++c) {
            const float v = in[c];
            to[c] = 0.5f * v * (1.0f + tanhf(0.79788f * (v + 0.044715f * v * v * v))) + bias[c];
        }
    }
}

void softmax(const float* x, const float*, float* out, int64_t rows, int64_t columns)
{
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < rows; ++r) {
        const float* in = x + r * columns;
        float* to = out + r * columns;
        float top = -INFINITY;
#pragma omp simd reduction(max : top)
        for (int64_t c = 0; c < columns; ++c) {
            top = in[c] > top ? in[c] : top;
        }
        float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
        for (int64_t c = 0; c < columns; ++c) {
            to[c] = expf(in[c] - top);
            sum += to[c];
        }
        const float scale = 1.0f / sum;
#pragma omp simd
        for (int64_t c = 0; c < columns; ++c) {
            to[c] *= scale;
        }
    }
}
}
