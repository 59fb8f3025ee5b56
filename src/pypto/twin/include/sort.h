/* CPU twin: sorting. Records are 8 bytes: a float and its index, or a half, two unused bytes and its index.
 *
 * SORT-1  descending and stable; NaN comes first, -0 equals +0; the unused bytes of half records are 0
 * SORT-2  MrgSort takes the first list on ties; exhausted suspension stops it when a list has ended
 * SORT-3  a repeat of MrgSort works behind the lists of the repeat before
 */
#ifndef PYPTO_TWIN_SORT_H
#define PYPTO_TWIN_SORT_H

#include "cube_load.h"

namespace AscendC {

template <typename T>
struct MrgSortSrcList {
    LocalTensor<T> src1, src2, src3, src4;

    MrgSortSrcList() = default;
    MrgSortSrcList(const LocalTensor<T>& first, const LocalTensor<T>& second, const LocalTensor<T>& third,
                   const LocalTensor<T>& fourth)
        : src1(first), src2(second), src3(third), src4(fourth)
    {
    }
};

/* validBit: 3, 7 or 15 for two, three or four lists; lengths in records. */
struct MrgSort4Info {
    uint16_t elementLengths[4] = {0, 0, 0, 0};
    bool ifExhaustedSuspension = false;
    uint16_t validBit = 0;
    pypto_twin::Field8 repeatTimes = 1;

    constexpr MrgSort4Info() = default;
    constexpr MrgSort4Info(const uint16_t lengths[4], bool suspends, uint16_t valid, uint16_t repeats)
        : elementLengths{lengths[0], lengths[1], lengths[2], lengths[3]},
          ifExhaustedSuspension(suspends),
          validBit(valid),
          repeatTimes(repeats)
    {
    }
};

}  // namespace AscendC

namespace pypto_twin {

constexpr uint32_t kRecordBytes = 8;
constexpr uint32_t kSortGroup = 32;

struct Lists {
    Place at[4];
    uint32_t length[4];
    uint32_t count;
};

/* Values and indices as records, sorted in groups of 32. */
PYPTO_SHARED void sort_groups(Place dst, Place values, Place index, bool halves, uint32_t groups);
/* `taken`: records of each list that came to `dst`, of the last repeat. */
PYPTO_SHARED void merge_lists(Place dst, const Lists& lists, bool halves, bool suspends, uint32_t repeats,
                              uint32_t* taken);
PYPTO_SHARED void sort_all(Place dst, Place values, Place index, Place tmp, bool halves, uint32_t groups);
PYPTO_SHARED void split_records(Place values, Place index, Place records, bool halves, uint32_t count);

template <typename T>
PYPTO_INLINE void merge(const AscendC::LocalTensor<T>& dst, const AscendC::MrgSortSrcList<T>& src,
                        const uint16_t lengths[4], uint32_t* taken, uint16_t valid, bool suspends,
                        uint32_t repeats)
{
    PYPTO_TWIN_TYPES("MrgSort", T, half, float);
    if (__builtin_expect(valid != 3 && valid != 7 && valid != 15, 0)) {
        fail("MrgSort: validBit is 3, 7 or 15");
    }
    PYPTO_RULES_OF(check::Api::MrgSort, lists(dst, src, lengths, valid == 3 ? 2u : valid == 7 ? 3u : 4u, repeats));
    const Lists lists{{place_of(src.src1), place_of(src.src2), place_of(src.src3), place_of(src.src4)},
                      {lengths[0], lengths[1], lengths[2], lengths[3]},
                      valid == 3 ? 2u : valid == 7 ? 3u : 4u};
    merge_lists(place_of(dst), lists, sizeof(T) == 2, suspends, repeats, taken);
}

}  // namespace pypto_twin

namespace AscendC {

template <typename T>
PYPTO_INLINE void Sort32(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                         const LocalTensor<uint32_t>& index, const int32_t repeatTime)
{
    using namespace pypto_twin;
    PYPTO_TWIN_TYPES("Sort32", T, half, float);
    PYPTO_RULES(Sort32, repeats(repeatTime).bytes(dst, uint64_t(repeatTime) * 256)
                            .bytes(src, uint64_t(repeatTime) * kSortGroup * sizeof(T))
                            .bytes(index, uint64_t(repeatTime) * 128));
    sort_groups(place_of(dst), place_of(src), place_of(index), sizeof(T) == 2,
                static_cast<uint32_t>(repeatTime));
}

template <typename T>
PYPTO_INLINE void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& src, const MrgSort4Info& info)
{
    uint32_t* const taken = pypto_twin::state().merged;
    pypto_twin::merge(dst, src, info.elementLengths, taken, info.validBit, info.ifExhaustedSuspension,
                      info.repeatTimes);
}
template <typename T, bool isExhaustedSuspension = false>
PYPTO_INLINE void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& src,
                          const uint16_t lengths[4], uint32_t sorted[4], uint16_t validBit, int32_t repeatTime)
{
    pypto_twin::merge(dst, src, lengths, sorted, validBit, isExhaustedSuspension,
                      static_cast<uint32_t>(repeatTime));
}

/* Records of each list that the last MrgSort with MrgSort4Info has taken. */
PYPTO_INLINE void GetMrgSortResult(uint16_t& first, uint16_t& second, uint16_t& third, uint16_t& fourth)
{
    const uint32_t* const taken = pypto_twin::state().merged;
    first = static_cast<uint16_t>(taken[0]);
    second = static_cast<uint16_t>(taken[1]);
    third = static_cast<uint16_t>(taken[2]);
    fourth = static_cast<uint16_t>(taken[3]);
}

/* What Sort takes: on this target the values themselves. */
template <typename T>
PYPTO_INLINE void Concat(LocalTensor<T>& concat, const LocalTensor<T>& src, const LocalTensor<T>& tmp,
                         const int32_t repeatTime)
{
    PYPTO_TWIN_TYPES("Concat", T, half, float);
    concat = src;
    (void)tmp, (void)repeatTime;
}

/* 32 values a repeat; isFullSort: all of them in one order, else in groups of 32. */
template <typename T, bool isFullSort>
PYPTO_INLINE void Sort(const LocalTensor<T>& dst, const LocalTensor<T>& concat,
                       const LocalTensor<uint32_t>& index, LocalTensor<T>& tmp, const int32_t repeatTime)
{
    using namespace pypto_twin;
    PYPTO_TWIN_TYPES("Sort", T, half, float);
    PYPTO_RULES(Sort, repeats(repeatTime).bytes(dst, uint64_t(repeatTime) * 256)
                          .bytes(concat, uint64_t(repeatTime) * kSortGroup * sizeof(T))
                          .bytes(index, uint64_t(repeatTime) * 128));
    const uint32_t groups = static_cast<uint32_t>(repeatTime);
    if constexpr (isFullSort) {
        sort_all(place_of(dst), place_of(concat), place_of(index), place_of(tmp), sizeof(T) == 2, groups);
    } else {
        sort_groups(place_of(dst), place_of(concat), place_of(index), sizeof(T) == 2, groups);
    }
}

/* Values and indices of sorted records, 32 a repeat. */
template <typename T>
PYPTO_INLINE void Extract(const LocalTensor<T>& values, const LocalTensor<uint32_t>& index,
                          const LocalTensor<T>& sorted, const int32_t repeatTime)
{
    using namespace pypto_twin;
    PYPTO_TWIN_TYPES("Extract", T, half, float);
    PYPTO_RULES(Extract, repeats(repeatTime).bytes(values, uint64_t(repeatTime) * kSortGroup * sizeof(T))
                             .bytes(index, uint64_t(repeatTime) * 128)
                             .bytes(sorted, uint64_t(repeatTime) * 256));
    split_records(place_of(values), place_of(index), place_of(sorted), sizeof(T) == 2,
                  static_cast<uint32_t>(repeatTime) * kSortGroup);
}

/* Elements of T that `count` records take. */
template <typename T>
constexpr uint32_t GetSortLen(const uint32_t count)
{
    return count * pypto_twin::kRecordBytes / sizeof(T);
}
template <typename T>
constexpr uint32_t GetSortOffset(const uint32_t count)
{
    return GetSortLen<T>(count);
}

}  // namespace AscendC

#endif
