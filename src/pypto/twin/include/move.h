/* CPU twin: data movement between global memory and on-chip memory, and inside the UB. */
#ifndef PYPTO_TWIN_MOVE_H
#define PYPTO_TWIN_MOVE_H

#include "atomic.h"
#include "bytes.h"
#include "stream.h"
#include "tensor.h"

namespace AscendC {

/* blockLen and gaps in 32-byte blocks; a gap runs from the end of a block to the next start. */
struct DataCopyParams {
    pypto_twin::Field16 blockCount = 1;
    pypto_twin::Field16 blockLen = 0;
    union {
        pypto_twin::Field16 srcGap = 0;
        pypto_twin::Field16 srcStride;
    };
    union {
        pypto_twin::Field16 dstGap = 0;
        pypto_twin::Field16 dstStride;
    };

    DataCopyParams() = default;
    constexpr DataCopyParams(pypto_twin::Field16 count, pypto_twin::Field16 length, pypto_twin::Field16 source,
                             pypto_twin::Field16 destination)
        : blockCount(count), blockLen(length), srcGap(source), dstGap(destination)
    {
    }
};

/* blockLen in bytes; the GM side's stride in bytes, the UB side's in 32-byte blocks; gaps. */
struct DataCopyExtParams {
    pypto_twin::Field16 blockCount = 1;
    pypto_twin::Field32 blockLen = 0;
    pypto_twin::Field32 srcStride = 0;
    pypto_twin::Field32 dstStride = 0;
    uint32_t rsv = 0;

    constexpr DataCopyExtParams() = default;
    constexpr DataCopyExtParams(pypto_twin::Field16 count, pypto_twin::Field32 length, pypto_twin::Field32 source,
                                pypto_twin::Field32 destination, uint32_t reserved)
        : blockCount(count), blockLen(length), srcStride(source), dstStride(destination), rsv(reserved)
    {
    }
};

/* Paddings in elements, each side at most 32 bytes. */
template <typename T>
struct DataCopyPadExtParams {
    bool isPad = false;
    pypto_twin::Field8 leftPadding = 0;
    pypto_twin::Field8 rightPadding = 0;
    T paddingValue = static_cast<T>(0);

    constexpr DataCopyPadExtParams() = default;
    constexpr DataCopyPadExtParams(bool pad, pypto_twin::Field8 left, pypto_twin::Field8 right, T value)
        : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value)
    {
    }
};

/* The older form of padding; values are bits. */
struct DataCopyPadParams {
    bool isPad = false;
    pypto_twin::Field8 leftPadding = 0;
    pypto_twin::Field8 rightPadding = 0;
    uint64_t paddingValue = 0;

    constexpr DataCopyPadParams() = default;
    constexpr DataCopyPadParams(bool pad, pypto_twin::Field8 left, pypto_twin::Field8 right, uint64_t value)
        : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value)
    {
    }
};

}  // namespace AscendC

PYPTO_FIELDS(DataCopyParams, wide(p.blockCount), wide(p.blockLen), wide(p.srcGap), wide(p.dstGap))
PYPTO_FIELDS(DataCopyExtParams, wide(p.blockCount), wide(p.blockLen), wide(p.srcStride), wide(p.dstStride), p.rsv)

namespace pypto_twin {

#if defined(PYPTO_TWIN_CHECKED)
namespace check {

template <typename T>
PYPTO_INLINE Fields pad_fields(const AscendC::DataCopyPadExtParams<T>& p)
{
    uint64_t value = 0;
    __builtin_memcpy(&value, &p.paddingValue, sizeof(T));
    return Fields{Struct::DataCopyPadExtParams, 3,
                  {p.isPad, wide(p.leftPadding), wide(p.rightPadding), static_cast<int64_t>(value)}};
}

/* The instruction that copies between these memories. */
constexpr Api copy_of(AscendC::TPosition dst, AscendC::TPosition src)
{
    using AscendC::Hardware;
    switch (memory_of(dst)) {
        case Hardware::GM: return memory_of(src) == Hardware::UB ? Api::DataCopy_UB_GM : Api::DataCopy_L1_GM;
        case Hardware::L1: return memory_of(src) == Hardware::GM ? Api::DataCopy_GM_L1 : Api::DataCopy_UB_L1;
        case Hardware::BIAS: return Api::DataCopy_L1_C2;
        case Hardware::FIXBUF: return Api::DataCopy_L1_C2PIPE2GM;
        default: return memory_of(src) == Hardware::GM ? Api::DataCopy_GM_UB : Api::DataCopy_UB_UB;
    }
}

}  // namespace check
#endif

template <typename T>
PYPTO_INLINE uint64_t raw_bits(T value)
{
    uint64_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof(T));
    return bits;
}

template <typename T>
PYPTO_INLINE uint8_t* bytes_at(T* address)
{
    return reinterpret_cast<uint8_t*>(address);
}

/* A run of on-chip or global memory that an instruction works on. */
struct Place {
    uint8_t* address;
    Provenance position;
};

template <typename T>
PYPTO_INLINE Place place_of(const AscendC::LocalTensor<T>& tensor)
{
    return Place{bytes_at(tensor.Address()), tensor.Position()};
}
template <typename T>
PYPTO_INLINE Place place_of(const AscendC::GlobalTensor<T>& tensor)
{
    return Place{bytes_at(tensor.GetPhyAddr()), tensor.Position()};
}

/* GM to on-chip memory. */
PYPTO_SHARED void load(Provenance position, const Rows& r);

/* On-chip memory to GM. */
PYPTO_SHARED void store(Provenance position, const Rows& rows);

/* Pipe of a copy between two on-chip memories, by its ends. */
constexpr pipe_t local_copy_pipe(AscendC::TPosition dst)
{
    return memory_of(dst) == AscendC::Hardware::UB       ? PIPE_V
           : memory_of(dst) == AscendC::Hardware::FIXBUF ? PIPE_FIX
                                                         : PIPE_MTE1;
}

PYPTO_SHARED void copy_local(Provenance dst, Provenance src, const Rows& r);

/* A copy of `bytes` rounded down to whole blocks, as the device does. */
template <typename D, typename S>
PYPTO_INLINE Rows one_run(D* dst, S* src, uint64_t bytes)
{
    const uint64_t whole = bytes / kBlockBytes * kBlockBytes;
    return Rows{bytes_at(dst), bytes_at(const_cast<S*>(src)), whole, whole, whole, 1};
}

/* DataCopyParams with its units: bytes of a block's length and of each side's gap. */
template <typename D, typename S>
PYPTO_INLINE Rows block_rows(D* dst, S* src, const AscendC::DataCopyParams& p)
{
    const uint64_t bytes = static_cast<uint64_t>(p.blockLen) * kBlockBytes;
    return Rows{bytes_at(dst),
                bytes_at(const_cast<S*>(src)),
                bytes,
                bytes + static_cast<uint64_t>(p.dstGap) * kBlockBytes,
                bytes + static_cast<uint64_t>(p.srcGap) * kBlockBytes,
                p.blockCount};
}

/* The lanes around each row of a padded load. */
struct Padding {
    uint64_t value;  /* bits of one element */
    uint32_t size;   /* bytes of one element */
    uint32_t left;   /* bytes before the data */
    uint32_t right;  /* bytes after it, to the end of its last block */
};

PYPTO_SHARED void pad_rows(const Rows& r, const Padding& p);

/* DataCopyPad to the UB: every row starts at a block, `left` bytes before its data. */
PYPTO_SHARED void load_padded(Provenance position, const Rows& rows, uint32_t gap_blocks,
                              const Padding& padding, bool fill);

}  // namespace pypto_twin

namespace AscendC {

/* ---- DataCopy: whole 32-byte blocks ---- */

template <typename T>
PYPTO_INLINE void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, pypto_twin::UnsignedCount count)
{
    PYPTO_TWIN_TYPES("DataCopy", T, PYPTO_TWIN_COPIED);
    PYPTO_RULES_OF(pypto_twin::check::copy_of(dst.Position(), TPosition::GM),
                   count(count).bytes(dst, pypto_twin::bytes_of<T>(count)).bytes(src, pypto_twin::bytes_of<T>(count)));
    pypto_twin::load(dst.Position(),
                     pypto_twin::rows_of(src, pypto_twin::one_run(dst.Address(), src.GetPhyAddr(),
                                                                  pypto_twin::bytes_of<T>(count))));
}
template <typename T>
PYPTO_INLINE void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                           const DataCopyParams& params)
{
    PYPTO_TWIN_TYPES("DataCopy", T, PYPTO_TWIN_COPIED);
    PYPTO_RULES_OF(pypto_twin::check::copy_of(dst.Position(), TPosition::GM), blocks(dst, src, params));
    pypto_twin::load(dst.Position(),
                     pypto_twin::rows_of(src, pypto_twin::block_rows(dst.Address(), src.GetPhyAddr(), params)));
}

template <typename T>
PYPTO_INLINE void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, pypto_twin::UnsignedCount count)
{
    PYPTO_TWIN_TYPES("DataCopy", T, PYPTO_TWIN_COPIED);
    PYPTO_RULES_OF(pypto_twin::check::copy_of(TPosition::GM, src.Position()),
                   count(count).bytes(dst, pypto_twin::bytes_of<T>(count)).bytes(src, pypto_twin::bytes_of<T>(count))
                       .value(pypto_twin::state().atomic_type));
    pypto_twin::store(src.Position(),
                      pypto_twin::rows_of(dst, pypto_twin::one_run(dst.GetPhyAddr(), src.Address(),
                                                                   pypto_twin::bytes_of<T>(count))));
}
template <typename T>
PYPTO_INLINE void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src,
                           const DataCopyParams& params)
{
    PYPTO_TWIN_TYPES("DataCopy", T, PYPTO_TWIN_COPIED);
    PYPTO_RULES_OF(pypto_twin::check::copy_of(TPosition::GM, src.Position()),
                   blocks(dst, src, params).value(pypto_twin::state().atomic_type));
    pypto_twin::store(src.Position(),
                      pypto_twin::rows_of(dst, pypto_twin::block_rows(dst.GetPhyAddr(), src.Address(), params)));
}

template <typename T>
PYPTO_INLINE void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, pypto_twin::UnsignedCount count)
{
    PYPTO_TWIN_TYPES("DataCopy", T, PYPTO_TWIN_COPIED);
    PYPTO_RULES_OF(pypto_twin::check::copy_of(dst.Position(), src.Position()),
                   count(count).bytes(dst, pypto_twin::bytes_of<T>(count)).bytes(src, pypto_twin::bytes_of<T>(count)));
    const uint64_t bytes = pypto_twin::bytes_of<T>(count);
    T* const from = pypto_twin::source(src.Address(), bytes);
    pypto_twin::written(dst.Address(), bytes, bytes % pypto_twin::kBlockBytes == 0);
    pypto_twin::copy_local(dst.Position(), src.Position(),
                           pypto_twin::one_run(dst.Address(), from, bytes));
}

/* Into the bias table lengths and gaps count 64 bytes on its side, into the fixpipe buffer lengths
 * count 128 bytes and gaps run from start to start. */
template <typename T>
PYPTO_INLINE void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                           const DataCopyParams& params)
{
    PYPTO_TWIN_TYPES("DataCopy", T, PYPTO_TWIN_COPIED);
    PYPTO_RULES_OF(pypto_twin::check::copy_of(dst.Position(), src.Position()), blocks(dst, src, params));
    pypto_twin::Rows r = pypto_twin::block_rows(dst.GetPhyAddr(), src.GetPhyAddr(), params);
    const Hardware memory = pypto_twin::memory_of(dst.Position());
    if (memory == Hardware::BIAS) {
        r.bytes = static_cast<uint64_t>(params.blockLen) * 64;
        r.dst_pitch = r.bytes + static_cast<uint64_t>(params.dstGap) * 64;
        r.src_pitch = r.bytes + static_cast<uint64_t>(params.srcGap) * 32;
    } else if (memory == Hardware::FIXBUF) {
        r.bytes = static_cast<uint64_t>(params.blockLen) * 128;
        r.dst_pitch = static_cast<uint64_t>(params.dstGap) * 128;
        r.src_pitch = static_cast<uint64_t>(params.srcGap) * 32;
    }
    pypto_twin::copy_local(dst.Position(), src.Position(), r);
}

/* ---- DataCopyPad: byte-granular rows ---- */

/* Value of the last block's rest when a load asks for no padding. */
template <typename T, TPosition position = TPosition::MAX>
PYPTO_INLINE void SetPadValue(T value)
{
    pypto_twin::state().pad_value = pypto_twin::raw_bits(value);
    pypto_twin::state().pad_set = true;
}

template <typename T>
PYPTO_INLINE void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                              const DataCopyExtParams& params, const DataCopyPadExtParams<T>& pad)
{
    PYPTO_TWIN_TYPES("DataCopyPad", T, PYPTO_TWIN_COPIED);
    PYPTO_RULES(DataCopyPad_GM_UB, bytes(dst, params.blockCount == 0 ? 0 : 1).bytes(src, 0).fields(params)
                                       .fields_as(pypto_twin::check::pad_fields(pad)));
    constexpr uint32_t size = sizeof(T);
    const bool fill = pad.isPad && (pad.leftPadding != 0 || pad.rightPadding != 0);
    const pypto_twin::Padding padding{pypto_twin::raw_bits(pad.paddingValue), size,
                                      fill ? pad.leftPadding * size : 0,
                                      fill ? pad.rightPadding * size : 0};
    const uint64_t bytes = params.blockLen;
    const pypto_twin::Rows rows{pypto_twin::bytes_at(dst.Address()), pypto_twin::bytes_at(src.GetPhyAddr()), bytes, 0,
                                bytes + params.srcStride, params.blockCount};
    pypto_twin::load_padded(dst.Position(), pypto_twin::rows_of(src, rows), params.dstStride, padding, fill);
}

template <typename T>
PYPTO_INLINE void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src,
                              const DataCopyExtParams& params)
{
    PYPTO_TWIN_TYPES("DataCopyPad", T, PYPTO_TWIN_COPIED);
    PYPTO_RULES(DataCopyPad_UB_GM, bytes(dst, 0).bytes(src, params.blockCount == 0 ? 0 : 1).fields(params)
                                       .value(pypto_twin::state().atomic_type));
    const uint64_t bytes = params.blockLen;
    const uint64_t occupied =
        (bytes + pypto_twin::kBlockBytes - 1) / pypto_twin::kBlockBytes * pypto_twin::kBlockBytes;
    const pypto_twin::Rows rows{pypto_twin::bytes_at(dst.GetPhyAddr()),
                                pypto_twin::bytes_at(src.Address()), bytes, bytes + params.dstStride,
                                occupied + static_cast<uint64_t>(params.srcStride) * pypto_twin::kBlockBytes,
                                params.blockCount};
    pypto_twin::store(src.Position(), pypto_twin::rows_of(dst, rows));
}

/* The older forms: lengths of 16 bits, in bytes. */
template <typename T>
PYPTO_INLINE void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                              const DataCopyParams& params, const DataCopyPadParams& pad)
{
    T value;
    __builtin_memcpy(&value, &pad.paddingValue, sizeof(T));
    DataCopyPad(dst, src,
                DataCopyExtParams(params.blockCount, params.blockLen, params.srcStride,
                                  params.dstStride, 0),
                DataCopyPadExtParams<T>(pad.isPad, pad.leftPadding, pad.rightPadding, value));
}
template <typename T>
PYPTO_INLINE void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src,
                              const DataCopyParams& params)
{
    DataCopyPad(dst, src,
                DataCopyExtParams(params.blockCount, params.blockLen, params.srcStride,
                                  params.dstStride, 0));
}

}  // namespace AscendC

#endif
