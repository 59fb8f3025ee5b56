/* CPU runtime library: declarations shared by its parts. Nothing here throws; a condition that
 * cannot be met ends the process with a message. */
#ifndef PYPTO_RUNTIME_COMMON_H
#define PYPTO_RUNTIME_COMMON_H

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "../pypto_abi.h"

namespace pypto_runtime_library {

[[noreturn]] void fail(const char* what);

/* Threads that a launch may use, the caller included: PYPTO_NUM_THREADS, else the processors that
 * this process may run on. Read once. */
uint32_t worker_count();

/* One step of waiting without giving up the processor. */
inline void pause()
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Orders non-temporal stores before whatever this thread writes next. */
inline void store_fence()
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_sfence();
#endif
}

/* Adds one stream's counters to the process's. */
void merge_counters(const PyptoCore& core);

void launch(const PyptoLaunch* launch);
void* workspace(uint64_t bytes);
uint32_t blocks(double work);

}  // namespace pypto_runtime_library

#endif
