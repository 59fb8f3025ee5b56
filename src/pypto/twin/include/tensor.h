/* CPU twin: LocalTensor (on-chip memory) and GlobalTensor (global memory). Views; no ownership. */
#ifndef PYPTO_TWIN_TENSOR_H
#define PYPTO_TWIN_TENSOR_H

#include "deferred.h"
#include "flow.h"
#include "hooks.h"

namespace pypto_twin {

/* tensor(i) may be read or written: the shuffled build cannot tell whose turn that is. */
PYPTO_INLINE void refuse_reference()
{
    if constexpr (kShuffled) {
        fail("the shuffled build has no tensor(i): use GetValue and SetValue");
    }
}

}  // namespace pypto_twin

namespace AscendC {

template <typename T>
class LocalTensor {
public:
    using PrimType = T;

    LocalTensor() = default;

    /* Static style: `byteAddr` inside the memory of `position`, a multiple of 32. */
    PYPTO_INLINE LocalTensor(TPosition position, uint32_t byteAddr, uint32_t elements)
        : address_(reinterpret_cast<T*>(pypto_twin::memory_base(position) + byteAddr)),
          size_(elements),
          position_(pypto_twin::declared(position, address_, pypto_twin::bytes_of<T>(elements)))
    {
    }
    explicit PYPTO_INLINE LocalTensor(uint32_t byteAddr) : LocalTensor(TPosition::VECCALC, byteAddr, 0) {}

    /* The twin's own: a tensor of `elements` at `address`. */
    PYPTO_INLINE LocalTensor(T* address, uint32_t elements, pypto_twin::Provenance position)
        : address_(address), size_(elements), position_(position)
    {
    }

    /* A view that starts `offset` elements later. */
    PYPTO_INLINE LocalTensor operator[](uint32_t offset) const
    {
        return LocalTensor(at(offset), size_ > offset ? size_ - offset : 0, position_);
    }

    PYPTO_INLINE T GetValue(uint32_t index) const
    {
        pypto_twin::settle();
        T value{};
        if (pypto_twin::on_scalar()) {
            pypto_twin::on_read(position_, at(index), sizeof(T), PIPE_S);
            value = *at(index);
        }
        return pypto_twin::scalar_value(value);
    }
    template <typename S>
    PYPTO_INLINE void SetValue(uint32_t index, S value) const
    {
        pypto_twin::settle();
        if (pypto_twin::on_scalar()) {
            pypto_twin::on_write(position_, at(index), sizeof(T), PIPE_S);
            *at(index) = static_cast<T>(value);
        }
    }
    PYPTO_INLINE T& operator()(uint32_t index) const
    {
        pypto_twin::settle();
        pypto_twin::refuse_reference();
        pypto_twin::on_write(position_, at(index), sizeof(T), PIPE_S);
        return *at(index);
    }

    PYPTO_INLINE uint32_t GetSize() const { return size_; }
    PYPTO_INLINE void SetSize(uint32_t elements)
    {
        size_ = elements;
        pypto_twin::redeclare(position_, address_, pypto_twin::bytes_of<T>(elements));
    }
    PYPTO_INLINE void SetBufferLen(uint32_t bytes)
    {
        SetSize(static_cast<uint32_t>(pypto_twin::elements_of<T>(bytes)));
    }
    PYPTO_INLINE int32_t GetPosition() const { return static_cast<int32_t>(TPosition{position_}); }

    /* The same bytes as elements of U. */
    template <typename U>
    PYPTO_INLINE LocalTensor<U> ReinterpretCast() const
    {
        const uint64_t bytes = pypto_twin::bytes_of<T>(size_);
        return LocalTensor<U>(reinterpret_cast<U*>(address_),
                              static_cast<uint32_t>(pypto_twin::elements_of<U>(bytes)), position_);
    }

    PYPTO_INLINE T* GetPhyAddr() const
    {
        pypto_twin::settle();
        return address_;
    }
    PYPTO_INLINE T* GetPhyAddr(uint32_t offset) const
    {
        pypto_twin::settle();
        return at(offset);
    }
    /* The twin's own: the address, while loads may be outstanding (deferred.h). */
    PYPTO_INLINE T* Address() const { return address_; }
    PYPTO_INLINE pypto_twin::Provenance Position() const { return position_; }  /* the twin's own */

private:
    PYPTO_INLINE T* at(uint64_t index) const
    {
        return reinterpret_cast<T*>(reinterpret_cast<uint8_t*>(address_) +
                                    pypto_twin::bytes_of<T>(index));
    }

    T* address_ = nullptr;
    uint32_t size_ = 0;  /* elements */
    pypto_twin::Provenance position_ = pypto_twin::Provenance{TPosition::VECCALC};
};

template <typename T>
class GlobalTensor {
public:
    using PrimType = T;

    GlobalTensor() = default;

    PYPTO_INLINE void SetGlobalBuffer(__gm__ T* address, uint64_t elements)
    {
        address_ = address;
        size_ = elements;
#if defined(PYPTO_TWIN_CHECKED)
        position_ = pypto_twin::declared(TPosition::GM, address, pypto_twin::bytes_of<T>(elements));
#endif
    }
    PYPTO_INLINE void SetGlobalBuffer(__gm__ T* address) { SetGlobalBuffer(address, 0); }

    PYPTO_INLINE GlobalTensor operator[](uint64_t offset) const
    {
        GlobalTensor view;
        view.address_ = at(offset);
        view.size_ = size_ > offset ? size_ - offset : 0;
#if defined(PYPTO_TWIN_CHECKED)
        view.position_ = position_;
#endif
        return view;
    }

    /* May be unaligned memory of a caller: no T& is formed here. */
    PYPTO_INLINE T GetValue(uint64_t index) const
    {
        T value{};
        if (pypto_twin::on_scalar()) {
            pypto_twin::on_read(Position(), at(index), sizeof(T), PIPE_S);
            pypto_twin::on_cached(false, at(index), sizeof(T));
            __builtin_memcpy(&value, at(index), sizeof(T));
        }
        return pypto_twin::scalar_value(value);
    }
    PYPTO_INLINE void SetValue(uint64_t index, T value) const
    {
        pypto_twin::settle();
        if (pypto_twin::on_scalar()) {
            pypto_twin::on_write(Position(), at(index), sizeof(T), PIPE_S);
            pypto_twin::on_cached(true, at(index), sizeof(T));
            __builtin_memcpy(at(index), &value, sizeof(T));
        }
    }
    /* What becomes of the reference is not known: a write for the order of instructions, a read for
     * the cache. */
    PYPTO_INLINE T& operator()(uint64_t index) const
    {
        pypto_twin::settle();
        pypto_twin::refuse_reference();
        pypto_twin::on_write(Position(), at(index), sizeof(T), PIPE_S);
        pypto_twin::on_cached(false, at(index), sizeof(T));
        return *at(index);
    }

    PYPTO_INLINE uint64_t GetSize() const { return size_; }
    PYPTO_INLINE __gm__ T* GetPhyAddr() const { return address_; }
    PYPTO_INLINE __gm__ T* GetPhyAddr(uint64_t offset) const { return at(offset); }
    /* The twin's own. */
    PYPTO_INLINE pypto_twin::Provenance Position() const
    {
#if defined(PYPTO_TWIN_CHECKED)
        return position_;
#else
        return TPosition::GM;
#endif
    }

    template <CacheRwMode rw = CacheRwMode::RW>
    PYPTO_INLINE void SetL2CacheHint(CacheMode mode)
    {
        (void)mode;  /* a hint; the caches of a CPU choose themselves */
    }

    PYPTO_INLINE void SetShapeInfo(const ShapeInfo& shape) { shape_ = shape; }
    PYPTO_INLINE ShapeInfo GetShapeInfo() const { return shape_; }

private:
    PYPTO_INLINE __gm__ T* at(uint64_t index) const
    {
        return reinterpret_cast<T*>(reinterpret_cast<uint8_t*>(address_) +
                                    pypto_twin::bytes_of<T>(index));
    }

    __gm__ T* address_ = nullptr;
    uint64_t size_ = 0;  /* elements; 0 when not stated */
    ShapeInfo shape_;
#if defined(PYPTO_TWIN_CHECKED)
    pypto_twin::Provenance position_{TPosition::GM};
#endif
};

}  // namespace AscendC

#endif
