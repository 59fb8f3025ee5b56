/* Hand-written kernels behind the binary interface, and a runtime table that runs nothing. */
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "pypto_abi.h"

static void launch(const PyptoLaunch* launch) { (void)launch; }
static void* workspace(uint64_t bytes) { return bytes ? NULL : NULL; }
static uint32_t blocks(double work) { return work < 0 ? 0 : 1; }
static const PyptoRuntime runtime_table = {
    PYPTO_ABI_VERSION, 1, 32768, 524288, 33554432, launch, workspace, blocks};
const PyptoRuntime* pypto_runtime(void) { return &runtime_table; }

static const PyptoRuntime old_table = {PYPTO_ABI_VERSION + 7, 1, 0, 0, 0, launch, workspace, blocks};
const PyptoRuntime* pypto_old_runtime(void) { return &old_table; }

/* o = a + b; ints: number of elements */
static int32_t add(const PyptoRuntime* runtime, const PyptoCall* call) {
    (void)runtime;
    const float *a = call->tensors[0], *b = call->tensors[1];
    float* o = call->tensors[2];
    for (int64_t i = 0; i < call->ints[0]; i++) o[i] = a[i] + b[i];
    return PYPTO_OK;
}
const PyptoKernel add_kernel = {PYPTO_ABI_VERSION, add};

/* o = x * f + k; ints: elements, k; floats: f */
static int32_t scale(const PyptoRuntime* runtime, const PyptoCall* call) {
    (void)runtime;
    const float* x = call->tensors[0];
    float* o = call->tensors[1];
    for (int64_t i = 0; i < call->ints[0]; i++)
        o[i] = (float)(x[i] * call->floats[0] + (double)call->ints[1]);
    return PYPTO_OK;
}
const PyptoKernel scale_kernel = {PYPTO_ABI_VERSION, scale};

/* Writes every int, then every float, of a call to the one int64 tensor: counts in its first two */
static int32_t echo(const PyptoRuntime* runtime, const PyptoCall* call) {
    (void)runtime;
    int64_t* o = call->tensors[0];
    int64_t n_ints = o[0], n_floats = o[1];
    for (int64_t i = 0; i < n_ints; i++) o[2 + i] = call->ints[i];
    for (int64_t i = 0; i < n_floats; i++) o[2 + n_ints + i] = (int64_t)(call->floats[i] * 1000);
    return PYPTO_OK;
}
const PyptoKernel echo_kernel = {PYPTO_ABI_VERSION, echo};

/* Sums all n tensors (ints[0] of them, ints[1] elements each) but the last into the last. */
static int32_t sum(const PyptoRuntime* runtime, const PyptoCall* call) {
    (void)runtime;
    int64_t n = call->ints[0];
    float* o = call->tensors[n - 1];
    for (int64_t i = 0; i < call->ints[1]; i++) {
        float total = 0;
        for (int64_t t = 0; t + 1 < n; t++) total += ((const float*)call->tensors[t])[i];
        o[i] = total;
    }
    return PYPTO_OK;
}
const PyptoKernel sum_kernel = {PYPTO_ABI_VERSION, sum};

static int32_t refuse(const PyptoRuntime* runtime, const PyptoCall* call) {
    (void)runtime, (void)call;
    return PYPTO_PRECONDITION + 3;
}
const PyptoKernel refuse_kernel = {PYPTO_ABI_VERSION, refuse};

/* Waits until another thread opens the gate: that thread needs the interpreter lock. */
volatile int32_t gate;
static int32_t wait_for_gate(const PyptoRuntime* runtime, const PyptoCall* call) {
    (void)runtime, (void)call;
    struct timespec pause = {0, 1000000};
    for (int i = 0; i < 10000 && !gate; i++) nanosleep(&pause, NULL);
    return gate ? PYPTO_OK : PYPTO_PRECONDITION;
}
const PyptoKernel gate_kernel = {PYPTO_ABI_VERSION, wait_for_gate};

const PyptoKernel old_kernel = {PYPTO_ABI_VERSION + 1, add};
