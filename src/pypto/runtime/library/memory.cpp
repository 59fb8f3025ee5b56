#include "memory.h"

#include <sys/mman.h>
#include <unistd.h>

namespace pypto_runtime_library {

void* map_pages(size_t bytes, size_t alignment)
{
    const size_t room = bytes + alignment;
    void* const raw = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) {
        return nullptr;
    }
    const uintptr_t start = reinterpret_cast<uintptr_t>(raw);
    const uintptr_t aligned = (start + alignment - 1) & ~(static_cast<uintptr_t>(alignment) - 1);
    if (aligned != start) {
        munmap(raw, aligned - start);
    }
    if (start + room != aligned + bytes) {
        munmap(reinterpret_cast<void*>(aligned + bytes), start + room - aligned - bytes);
    }
#ifdef MADV_HUGEPAGE
    if (bytes >= kHugePage) {
        /* a wish: without huge pages everything works, only slower */
        (void)madvise(reinterpret_cast<void*>(aligned), bytes, MADV_HUGEPAGE);
    }
#endif
    return reinterpret_cast<void*>(aligned);
}

void unmap_pages(void* address, size_t bytes) { munmap(address, bytes); }

OnChip::~OnChip()
{
    for (const Chunk& chunk : chunks_) {
        unmap_pages(chunk.base, chunk.bytes);
    }
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    for (uint8_t* top : stacks_) {
        unmap_pages(top - kStackBytes - page, kStackBytes + page);
    }
}

uint8_t* OnChip::take(std::vector<uint8_t*>& slots, size_t slot, size_t bytes)
{
    while (slots.size() <= slot) {
        if (chunks_.empty() || chunks_.back().used + bytes > chunks_.back().bytes) {
            void* const base = map_pages(kHugePage, kHugePage);
            if (base == nullptr) {
                fail("no memory for a core's on-chip memory");
            }
            chunks_.push_back(Chunk{static_cast<uint8_t*>(base), kHugePage, 0});
        }
        Chunk& chunk = chunks_.back();
        slots.push_back(chunk.base + chunk.used);
        chunk.used += bytes;
    }
    return slots[slot];
}

uint8_t* OnChip::stack(size_t slot)
{
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    while (stacks_.size() <= slot) {
        void* const base = map_pages(kStackBytes + page, page);
        if (base == nullptr || mprotect(base, page, PROT_NONE) != 0) {
            fail("no memory for the stack of a core");
        }
        stacks_.push_back(static_cast<uint8_t*>(base) + page + kStackBytes);
    }
    return stacks_[slot];
}

OnChip& on_chip()
{
    static thread_local OnChip memory;
    return memory;
}

namespace {

struct Arena {
    void* base = nullptr;
    size_t bytes = 0;
    ~Arena()
    {
        if (base != nullptr) {
            unmap_pages(base, bytes);
        }
    }
};

}  // namespace

/* Grown geometrically, so that a series of growing requests maps few times. */
void* workspace(uint64_t bytes)
{
    static thread_local Arena arena;
    if (bytes > arena.bytes || arena.base == nullptr) {
        const uint64_t grown = arena.bytes + arena.bytes / 2;
        uint64_t wanted = bytes > grown ? bytes : grown;
        wanted = (wanted + kUbBytes - 1) / kUbBytes * kUbBytes;
        if (wanted < kUbBytes) {
            wanted = kUbBytes;
        }
        if (arena.base != nullptr) {
            unmap_pages(arena.base, arena.bytes);
            arena.base = nullptr;
            arena.bytes = 0;
        }
        arena.base = map_pages(wanted, wanted >= kHugePage ? kHugePage : 4096);
        arena.bytes = arena.base != nullptr ? wanted : 0;
    }
    return arena.base;
}

}  // namespace pypto_runtime_library
