/* CPU twin: bodies of what is compiled once for all kernels: transposing and sorting. */
#ifndef PYPTO_TWIN_SHARED_SORT_H
#define PYPTO_TWIN_SHARED_SORT_H

#include "forms.h"
#include "shared_cube_load.h"
#include "sort.h"
#include "transpose.h"

namespace pypto_twin {

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define PYPTO_TWIN_SHUFFLES 1
#endif
#endif

#if defined(PYPTO_TWIN_SHUFFLES)
typedef uint8_t u8x16 __attribute__((vector_size(16)));

template <uint32_t size>
struct Interleaved;
#define PYPTO_TWIN_INTERLEAVED(size, vector, low, high)                       \
    template <>                                                              \
    struct Interleaved<size> {                                               \
        using Vector = vector;                                               \
        static PYPTO_INLINE Vector first(Vector a, Vector b) { return __builtin_shufflevector low; } \
        static PYPTO_INLINE Vector second(Vector a, Vector b) { return __builtin_shufflevector high; } \
    };
PYPTO_TWIN_INTERLEAVED(1, u8x16, (a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
                       (a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31))
PYPTO_TWIN_INTERLEAVED(2, simd::u16x8, (a, b, 0, 8, 1, 9, 2, 10, 3, 11), (a, b, 4, 12, 5, 13, 6, 14, 7, 15))
PYPTO_TWIN_INTERLEAVED(4, simd::i32x4, (a, b, 0, 4, 1, 5), (a, b, 2, 6, 3, 7))
#undef PYPTO_TWIN_INTERLEAVED

/* The same with registers, for builds that only compute: squares of 16 bytes a side. */
template <uint32_t size>
PYPTO_INLINE void transpose_squares(const Blocks& dst, const Blocks& src, uint32_t repeats)
{
    using Shuffle = Interleaved<size>;
    using Vector = typename Shuffle::Vector;
    constexpr uint32_t side = 16 / size, across = size == 1 ? 1 : 2;
    for (uint32_t r = 0; r < repeats; ++r) {
        for (uint32_t down = 0; down < kTransposed / side; ++down) {
            for (uint32_t right = 0; right < across; ++right) {
                Vector lines[side], next[side];
                for (uint32_t i = 0; i < side; ++i) {
                    const uint8_t* const from = src.at[down * side + i] + uint64_t{r} * src.pitch;
                    lines[i] = simd::load<Vector>(from + src.first + right * 16);
                }
                for (uint32_t round = 1; round < side; round *= 2) { /* each doubles what stands in order */
                    for (uint32_t i = 0; i < side / 2; ++i) {
                        next[2 * i] = Shuffle::first(lines[i], lines[i + side / 2]);
                        next[2 * i + 1] = Shuffle::second(lines[i], lines[i + side / 2]);
                    }
                    for (uint32_t i = 0; i < side; ++i) {
                        lines[i] = next[i];
                    }
                }
                for (uint32_t j = 0; j < side; ++j) {
                    const uint32_t element = right * side + j;
                    const uint32_t block = size == 4 ? 2 * element + down / 2 : element;
                    const uint32_t place = size == 4 ? down % 2 * 16 : down * side * size;
                    simd::store(dst.at[block] + uint64_t{r} * dst.pitch + dst.first + place, lines[j]);
                }
            }
        }
    }
}
#endif

PYPTO_SHARED void transpose_blocks(const Blocks& dst, const Blocks& src, uint32_t size, uint32_t repeats)
{
    if (!on_instruction(PIPE_V)) {
        return;
    }
#if defined(PYPTO_TWIN_SHUFFLES)
    if (!kHooks && !kNaive && dst.at[0] != src.at[0]) { /* in place, all is read before any is written */
        return size == 4   ? transpose_squares<4>(dst, src, repeats)
               : size == 2 ? transpose_squares<2>(dst, src, repeats)
                           : transpose_squares<1>(dst, src, repeats);
    }
#endif
    const uint32_t elements = size == 4 ? 8 : kTransposed; /* of a source block */
    const uint32_t written = size == 4 ? kBlockBytes : kTransposed * size;
    for (uint32_t r = 0; r < repeats; ++r) {
        uint8_t taken[kTransposed][kBlockBytes];
        check::Origin origins[kTransposed][kTransposed] = {};
        for (uint32_t i = 0; i < kTransposed; ++i) {
            const uint8_t* const from = src.at[i] + uint64_t{r} * src.pitch + src.first;
            on_read(src.position, from, elements * size, PIPE_V);
            __builtin_memcpy(taken[i], from, elements * size);
            for (uint32_t j = 0; j < elements && kChecked; ++j) {
                Flow flow;
                flow.from(src.position, from + j * size, size);
                origins[i][j] = flow.origin();
            }
        }
        for (uint32_t block = 0; block < kTransposed; ++block) {
            uint8_t* const to = dst.at[block] + uint64_t{r} * dst.pitch + dst.first;
            on_write(dst.position, to, written, PIPE_V);
            const uint32_t j = size == 4 ? block / 2 : block, first = size == 4 ? block % 2 * 8 : 0;
            for (uint32_t i = 0; i < written / size; ++i) {
                __builtin_memcpy(to + i * size, &taken[first + i][j * size], size);
                Flow flow;
                flow.from(origins[first + i][j]);
                flow.to(dst.position, to + i * size, size);
            }
        }
    }
}

PYPTO_INLINE float key_of(const uint8_t* record, bool halves)
{
    uint16_t half_bits;
    float value;
    __builtin_memcpy(&half_bits, record, 2);
    __builtin_memcpy(&value, record, 4);
    return halves ? half_to_float(half_bits) : value;
}
PYPTO_INLINE bool comes_first(float a, float b) { return a > b || (a != a && b == b); }

/* What comes of values that are compared depends on all of them. */
PYPTO_INLINE void flow_sorted(Flow flow, Place dst, uint64_t bytes, Place index = {nullptr, {}},
                              uint64_t index_bytes = 0)
{
    if (index_bytes != 0) {
        flow.from(index.position, index.address, index_bytes);
    }
    flow.to(dst.position, dst.address, bytes);
}

PYPTO_INLINE void make_group(uint8_t* dst, const uint8_t* values, const uint8_t* index, bool halves)
{
    const uint32_t size = halves ? 2 : 4;
    for (uint32_t i = 0; i < kSortGroup; ++i) {
        uint8_t record[kRecordBytes] = {};
        __builtin_memcpy(record, values + i * size, size);
        __builtin_memcpy(record + 4, index + i * 4, 4);
        const float key = key_of(record, halves);
        uint32_t at = i;
        for (; at != 0 && comes_first(key, key_of(dst + (at - 1) * kRecordBytes, halves)); --at) {
            copy_unit<uint64_t>(dst + at * kRecordBytes, dst + (at - 1) * kRecordBytes);
        }
        copy_unit<uint64_t>(dst + at * kRecordBytes, record);
    }
}

PYPTO_SHARED void sort_groups(Place dst, Place values, Place index, bool halves, uint32_t groups)
{
    if (!on_instruction(PIPE_V) || groups == 0) {
        return;
    }
    settle();
    const uint32_t size = halves ? 2 : 4, bytes = kSortGroup * size;
    on_read(values.position, values.address, uint64_t{groups} * bytes, PIPE_V);
    on_read(index.position, index.address, uint64_t{groups} * kSortGroup * 4, PIPE_V);
    on_write(dst.position, dst.address, uint64_t{groups} * kSortGroup * kRecordBytes, PIPE_V);
    for (uint32_t g = 0; g < groups; ++g) {
        const Place to{dst.address + g * kSortGroup * kRecordBytes, dst.position};
        const Place of{index.address + g * kSortGroup * 4, index.position};
        Flow flow;
        flow.from(values.position, values.address + g * bytes, bytes);
        flow_sorted(flow, to, kSortGroup * kRecordBytes, of, kSortGroup * 4);
        make_group(to.address, values.address + g * bytes, of.address, halves);
    }
}

/* Merges runs until all have ended, or one of them with `suspends`; says how much of each was taken. Without
 * `to` it only counts. */
PYPTO_INLINE void merge_runs(uint8_t* to, const uint8_t* const* runs, const uint32_t* lengths, uint32_t count,
                             bool halves, bool suspends, uint32_t* taken)
{
    for (uint32_t k = 0; k < 4; ++k) {
        taken[k] = 0;
    }
    for (;;) {
        uint32_t best = count;
        for (uint32_t k = 0; k < count; ++k) {
            if (taken[k] == lengths[k]) {
                if (suspends) {
                    return;
                }
            } else if (best == count || comes_first(key_of(runs[k] + taken[k] * kRecordBytes, halves),
                                                    key_of(runs[best] + taken[best] * kRecordBytes, halves))) {
                best = k;
            }
        }
        if (best == count) {
            return;
        }
        const uint8_t* const next = runs[best] + taken[best]++ * kRecordBytes;
        if (to != nullptr) {
            copy_unit<uint64_t>(to, next);
            to += kRecordBytes;
        }
    }
}

PYPTO_SHARED void merge_lists(Place dst, const Lists& lists, bool halves, bool suspends, uint32_t repeats,
                              uint32_t* taken)
{
    if (!on_instruction(PIPE_V, true)) {
        return;
    }
    settle();
    uint64_t total = 0;
    for (uint32_t k = 0; k < lists.count; ++k) {
        total += lists.length[k] * kRecordBytes;
    }
    for (uint32_t r = 0; r < repeats; ++r) {
        const uint8_t* runs[4] = {};
        Flow flow;
        for (uint32_t k = 0; k < lists.count; ++k) {
            runs[k] = lists.at[k].address + r * total;
            on_read(lists.at[k].position, runs[k], lists.length[k] * kRecordBytes, PIPE_V);
            flow.from(lists.at[k].position, runs[k], lists.length[k] * kRecordBytes);
        }
        const Place to{dst.address + r * total, dst.position};
        uint64_t made = total;
        if (kHooks && suspends) {  // what is written is checked before it is
            merge_runs(nullptr, runs, lists.length, lists.count, halves, suspends, taken);
            made = uint64_t{taken[0] + taken[1] + taken[2] + taken[3]} * kRecordBytes;
        }
        on_write(to.position, to.address, made, PIPE_V);
        flow_sorted(flow, to, made);
        merge_runs(to.address, runs, lists.length, lists.count, halves, suspends, taken);
    }
}

PYPTO_SHARED void sort_all(Place dst, Place values, Place index, Place tmp, bool halves, uint32_t groups)
{
    if (!on_instruction(PIPE_V) || groups == 0) {
        return;
    }
    settle();
    const uint32_t size = halves ? 2 : 4, count = groups * kSortGroup;
    const uint64_t bytes = uint64_t{count} * kRecordBytes;
    on_read(values.position, values.address, uint64_t{count} * size, PIPE_V);
    on_read(index.position, index.address, uint64_t{count} * 4, PIPE_V);
    on_write(dst.position, dst.address, bytes, PIPE_V);
    on_write(tmp.position, tmp.address, bytes, PIPE_V);
    Flow flow;
    flow.from(values.position, values.address, uint64_t{count} * size);
    flow_sorted(flow, dst, bytes, index, uint64_t{count} * 4);
    on_undefine(check::Undefined::scratch, tmp.position, tmp.address, bytes);
    for (uint32_t g = 0; g < groups; ++g) {
        make_group(dst.address + uint64_t{g} * kSortGroup * kRecordBytes, values.address + g * kSortGroup * size,
                   index.address + uint64_t{g} * kSortGroup * 4, halves);
    }
    for (uint32_t width = kSortGroup; width < count; width *= 2) {
        for (uint32_t at = 0; at < count; at += 2 * width) {
            const uint32_t left = count - at;
            const uint32_t lengths[2] = {left < width ? left : width,
                                         left <= width ? 0 : left < 2 * width ? left - width : width};
            const uint8_t* const runs[2] = {dst.address + uint64_t{at} * kRecordBytes,
                                            dst.address + (uint64_t{at} + lengths[0]) * kRecordBytes};
            uint32_t taken[4];
            merge_runs(tmp.address + uint64_t{at} * kRecordBytes, runs, lengths, 2, halves, false, taken);
        }
        copy_bytes(dst.address, tmp.address, bytes);
    }
}

PYPTO_SHARED void split_records(Place values, Place index, Place records, bool halves, uint32_t count)
{
    if (on_instruction(PIPE_V)) {
        settle();
        const uint32_t size = halves ? 2 : 4;
        on_read(records.position, records.address, uint64_t{count} * kRecordBytes, PIPE_V);
        on_write(values.position, values.address, uint64_t{count} * size, PIPE_V);
        on_write(index.position, index.address, uint64_t{count} * 4, PIPE_V);
        for (uint32_t i = 0; i < count; ++i) {
            const uint8_t* const record = records.address + uint64_t{i} * kRecordBytes;
            uint8_t* const value = values.address + uint64_t{i} * size;
            uint8_t* const number = index.address + uint64_t{i} * 4;
            on_move(values.position, value, 0, records.position, record, 0, size);
            on_move(index.position, number, 0, records.position, record + 4, 0, 4);
            __builtin_memcpy(value, record, size);
            __builtin_memcpy(number, record + 4, 4);
        }
    }
    state().mask_counter = false;
    set_mask(3, 0); /* what is left is partial: code that relies on it is wrong on the device too */
}

}  // namespace pypto_twin

#endif
