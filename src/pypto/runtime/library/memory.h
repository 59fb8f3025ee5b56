/* Memory of streams: on-chip memory (UB, L1, ...) and fiber stacks, kept per thread and reused. */
#ifndef PYPTO_RUNTIME_MEMORY_H
#define PYPTO_RUNTIME_MEMORY_H

#include <vector>

#include "common.h"

namespace pypto_runtime_library {

constexpr size_t kUbBytes = 262144;       /* 192 KiB used; a round size keeps slots aligned */
constexpr size_t kCubeBytes = 1048576;    /* L1, L0A, L0B, L0C, bias table, fixpipe buffer */
constexpr size_t kStackBytes = 262144;
constexpr size_t kHugePage = 2097152;

/* Anonymous pages, aligned to `alignment` (a power of two, at least the page size); huge pages are
 * asked for where they fit. nullptr when memory is out. */
void* map_pages(size_t bytes, size_t alignment);
void unmap_pages(void* address, size_t bytes);

/* On-chip memories of one thread: slot i serves the i-th stream that the thread runs at a time. */
class OnChip {
public:
    OnChip() = default;
    OnChip(const OnChip&) = delete;
    OnChip& operator=(const OnChip&) = delete;
    ~OnChip();

    /* 4096-byte aligned, at least as large as the memories of an AIV or an AIC; not cleared. */
    uint8_t* ub(size_t slot) { return take(ub_, slot, kUbBytes); }
    uint8_t* cube(size_t slot) { return take(cube_, slot, kCubeBytes); }
    /* Top of a stack of kStackBytes; below it a page that faults. */
    uint8_t* stack(size_t slot);

private:
    struct Chunk {
        uint8_t* base;
        size_t bytes;
        size_t used;
    };
    uint8_t* take(std::vector<uint8_t*>& slots, size_t slot, size_t bytes);

    std::vector<Chunk> chunks_;
    std::vector<uint8_t*> ub_, cube_, stacks_;
};

/* The calling thread's own. */
OnChip& on_chip();

}  // namespace pypto_runtime_library

#endif
