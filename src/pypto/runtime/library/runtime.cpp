/* The exported table: what kernels and the launcher use of this library. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common.h"

namespace pypto_runtime_library {

void fail(const char* what)
{
    fprintf(stderr, "pypto: CPU runtime: %s\n", what);
    abort();
}

namespace {

constexpr uint32_t kMaxWorkers = 1024;

uint32_t count_workers()
{
    const char* const text = getenv("PYPTO_NUM_THREADS");
    if (text != nullptr && *text != '\0') {
        char* end = nullptr;
        const long wanted = strtol(text, &end, 10);
        if (*end == '\0' && wanted >= 1 && wanted <= static_cast<long>(kMaxWorkers)) {
            return static_cast<uint32_t>(wanted);
        }
        fprintf(stderr, "pypto: PYPTO_NUM_THREADS=%s is not a number from 1 to %u; ignored\n", text,
                kMaxWorkers);
    }
#if defined(__linux__)
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 0) {
        return static_cast<uint32_t>(CPU_COUNT(&allowed));
    }
#endif
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online < 1 ? 1 : static_cast<uint32_t>(online);
}

uint64_t cache_bytes(int name, uint64_t otherwise)
{
    const long bytes = name >= 0 ? sysconf(name) : 0;
    return bytes > 0 ? static_cast<uint64_t>(bytes) : otherwise;
}

#if defined(_SC_LEVEL1_DCACHE_SIZE)
constexpr int kL1 = _SC_LEVEL1_DCACHE_SIZE, kL2 = _SC_LEVEL2_CACHE_SIZE, kL3 = _SC_LEVEL3_CACHE_SIZE;
#else
constexpr int kL1 = -1, kL2 = -1, kL3 = -1;
#endif

/* Last-level cache that one core reaches, in bytes; 0 when the system does not say. sysconf adds up
 * what all cores of the machine have, so the system's own table comes first. */
uint64_t shared_cache_bytes()
{
    FILE* const file = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r");
    if (file == nullptr) {
        return 0;
    }
    unsigned long long size = 0;
    char unit = 0;
    const int found = fscanf(file, "%llu%c", &size, &unit);
    fclose(file);
    if (found < 1) {
        return 0;
    }
    return found < 2 ? size : unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : size;
}

PyptoRuntime make_runtime()
{
    PyptoRuntime runtime{};
    runtime.abi_version = PYPTO_ABI_VERSION;
    runtime.workers = worker_count();
    runtime.l1_bytes = cache_bytes(kL1, 32768);
    runtime.l2_bytes = cache_bytes(kL2, 524288);
    const uint64_t shared = shared_cache_bytes();
    runtime.llc_bytes = shared != 0 ? shared : cache_bytes(kL3, runtime.l2_bytes);
    runtime.launch = launch;
    runtime.workspace = workspace;
    runtime.blocks = blocks;
    return runtime;
}

std::atomic<uint64_t> totals[PYPTO_COUNTERS];

}  // namespace

uint32_t worker_count()
{
    static const uint32_t count = count_workers();
    return count;
}

void merge_counters(const PyptoCore& core)
{
    for (uint32_t i = 0; i < PYPTO_COUNTERS; ++i) {
        const uint64_t value = core.counters[i];
        if (value == 0) {
            continue;
        }
        if (i == PYPTO_COUNT_UB_PEAK) {
            uint64_t peak = totals[i].load();
            while (peak < value && !totals[i].compare_exchange_weak(peak, value)) {
            }
        } else {
            totals[i].fetch_add(value);
        }
    }
}

}  // namespace pypto_runtime_library

extern "C" __attribute__((visibility("default"))) const PyptoRuntime* pypto_runtime(void)
{
    static const PyptoRuntime runtime = pypto_runtime_library::make_runtime();
    return &runtime;
}

/* Counters of all launches so far, by PyptoCounter; zeros unless kernels were built for counting. */
extern "C" __attribute__((visibility("default"))) void pypto_runtime_counters(
    uint64_t out[PYPTO_COUNTERS], int32_t reset)
{
    for (uint32_t i = 0; i < PYPTO_COUNTERS; ++i) {
        std::atomic<uint64_t>& total = pypto_runtime_library::totals[i];
        out[i] = reset != 0 ? total.exchange(0) : total.load();
    }
}
