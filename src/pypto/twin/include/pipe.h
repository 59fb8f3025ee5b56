/* CPU twin: TPipe (allocation of on-chip memory), queues, buffers, event ids.
 *
 * Instructions run one after another, so a queue keeps the protocol's order and nothing else. In the
 * fast build AllocTensor returns the first free buffer, which keeps a double-buffered queue in the L1
 * cache; where orders are looked at, buffers take turns as on the device.
 */
#ifndef PYPTO_TWIN_PIPE_H
#define PYPTO_TWIN_PIPE_H

#include "tensor.h"

namespace pypto_twin {

/* The checker's numbers of the buffers that a queue or a TBuf has; nothing in other builds. */
class BufferNumbers {
protected:
    PYPTO_INLINE void number(uint32_t first)
    {
        (void)first;
#if defined(PYPTO_TWIN_CHECKED)
        first_ = first;
#endif
    }
    /* The buffer `index`, and the tensor that it holds now. */
    PYPTO_INLINE Provenance buffer(uint32_t index, AscendC::TPosition position) const
    {
        (void)index;
#if defined(PYPTO_TWIN_CHECKED)
        return Provenance(position, first_ == 0 ? 0 : first_ + index);
#else
        return position;
#endif
    }
    PYPTO_INLINE Provenance held(uint32_t index, AscendC::TPosition position) const
    {
        (void)index;
#if defined(PYPTO_TWIN_CHECKED)
        return check::held_by(state().check, buffer(index, position));
#else
        return position;
#endif
    }

private:
#if defined(PYPTO_TWIN_CHECKED)
    uint32_t first_ = 0;
#endif
};

}  // namespace pypto_twin

namespace AscendC {

class TPipe;

/* depth: tensors that may be enqueued; 0 is the in-place form, whose calls fill a variable. */
template <TPosition src, TPosition dst, int32_t depth, auto mask = 0>
class TQueBind : private pypto_twin::BufferNumbers {
public:
    template <typename T>
    PYPTO_INLINE LocalTensor<T> AllocTensor()
    {
        const uint32_t index = idle_buffer();
        if (__builtin_expect(index >= num_, 0)) {
            pypto_twin::refuse("queue-full", "AllocTensor: every buffer of the queue is in use");
        }
        busy_ |= 1u << index;
        pypto_twin::on_queue(pypto_twin::check::QueueEvent::alloc, this->buffer(index, src),
                             base_ + uint64_t{index} * bytes_);
        pypto_twin::on_undefine(pypto_twin::check::Undefined::allocated, src,
                                base_ + uint64_t{index} * bytes_, bytes_);
        return tensor<T>(index, src);
    }
    template <typename T>
    PYPTO_INLINE void AllocTensor(LocalTensor<T>& tensor)
    {
        tensor = AllocTensor<T>();
    }

    template <typename T>
    PYPTO_INLINE bool EnQue(const LocalTensor<T>& tensor)
    {
        const uint32_t index = index_of(tensor);
        pypto_twin::on_queue(pypto_twin::check::QueueEvent::enque, tensor.Position(), tensor.Address());
        pypto_twin::on_depth(count_, depth);
        queued_ |= static_cast<uint64_t>(index) << (4 * count_);
        ++count_;
        return true;
    }

    template <typename T>
    PYPTO_INLINE LocalTensor<T> DeQue()
    {
        if (__builtin_expect(count_ == 0, 0)) {
            pypto_twin::refuse("queue-empty", "DeQue: the queue is empty");
        }
        const uint32_t index = static_cast<uint32_t>(queued_ & 15u);
        queued_ >>= 4;
        --count_;
        pypto_twin::on_queue(pypto_twin::check::QueueEvent::deque, this->buffer(index, src),
                             base_ + uint64_t{index} * bytes_);
        return tensor<T>(index, dst);
    }
    template <typename T>
    PYPTO_INLINE void DeQue(LocalTensor<T>& tensor)
    {
        tensor = DeQue<T>();
    }

    template <typename T>
    PYPTO_INLINE void FreeTensor(const LocalTensor<T>& tensor)
    {
        const uint32_t index = index_of(tensor);
        pypto_twin::on_queue(pypto_twin::check::QueueEvent::free, tensor.Position(), tensor.Address());
        busy_ &= ~(1u << index);
        pypto_twin::release(base_ + uint64_t{index} * bytes_, bytes_);
    }

    PYPTO_INLINE bool VacantInQue() const { return count_ < (depth > 0 ? depth : 1); }
    PYPTO_INLINE bool HasTensorInQue() const { return count_ != 0; }
    PYPTO_INLINE int32_t GetTensorCountInQue() const { return static_cast<int32_t>(count_); }
    PYPTO_INLINE bool HasIdleBuffer() const
    {
        return static_cast<uint32_t>(__builtin_popcount(busy_)) < num_;
    }
    PYPTO_INLINE void FreeAllEvent() {}

private:
    friend class TPipe;
    static constexpr TPosition kPosition = src;
    static constexpr uint32_t kMaxBuffers = 16;  /* indices are queued as 4-bit digits */

    PYPTO_INLINE void Bind(uint8_t* base, uint32_t num, uint32_t bytes)
    {
        base_ = base;
        bytes_ = bytes;
        num_ = num;
        busy_ = 0;
        queued_ = 0;
        count_ = 0;
    }

    template <typename T>
    PYPTO_INLINE LocalTensor<T> tensor(uint32_t index, TPosition position) const
    {
        return LocalTensor<T>(reinterpret_cast<T*>(base_ + static_cast<uint64_t>(index) * bytes_),
                              static_cast<uint32_t>(pypto_twin::elements_of<T>(bytes_)),
                              this->held(index, position));
    }

    /* The device takes its buffers in turn; the fast build takes the first, which is in the cache. */
    PYPTO_INLINE uint32_t idle_buffer()
    {
#if PYPTO_TWIN_HOOKS || defined(PYPTO_TWIN_SHUFFLED)
        for (uint32_t tried = 0; tried < num_; ++tried) {
            const uint32_t index = turn_++ % num_;
            if ((busy_ >> index & 1u) == 0) {
                return index;
            }
        }
        return num_;
#else
        return static_cast<uint32_t>(__builtin_ctz(~busy_));
#endif
    }

    /* A tensor that is a view into a buffer stands for its buffer. */
    template <typename T>
    PYPTO_INLINE uint32_t index_of(const LocalTensor<T>& tensor) const
    {
        const uint64_t offset =
            static_cast<uint64_t>(reinterpret_cast<uint8_t*>(tensor.Address()) - base_);
        if (offset < bytes_) {
            return 0;
        }
        const uint64_t index = offset / (bytes_ != 0 ? bytes_ : 1);
        if (__builtin_expect(index >= num_, 0)) {
            pypto_twin::refuse("queue-tensor", "EnQue or FreeTensor: the tensor is not of this queue");
        }
        return static_cast<uint32_t>(index);
    }

    uint8_t* base_ = nullptr;
    uint64_t queued_ = 0;  /* buffer indices, oldest in the lowest 4 bits */
    uint32_t bytes_ = 0;   /* of one buffer */
    uint32_t num_ = 0;
    uint32_t busy_ = 0;    /* bit i: buffer i is allocated */
    uint32_t count_ = 0;   /* enqueued buffers */
#if PYPTO_TWIN_HOOKS || defined(PYPTO_TWIN_SHUFFLED)
    uint32_t turn_ = 0;    /* the buffer that AllocTensor tries next, counted on */
#endif
};

template <TPosition pos, int32_t depth, auto mask = 0>
class TQue : public TQueBind<pos, pos, depth, mask> {};

/* A buffer without synchronisation. */
template <TPosition pos = TPosition::LCM>
class TBuf : private pypto_twin::BufferNumbers {
public:
    template <typename T>
    PYPTO_INLINE LocalTensor<T> Get() const
    {
        return Get<T>(static_cast<uint32_t>(pypto_twin::elements_of<T>(bytes_)));
    }
    template <typename T>
    PYPTO_INLINE LocalTensor<T> Get(uint32_t elements) const
    {
        return LocalTensor<T>(reinterpret_cast<T*>(base_), elements, this->buffer(0, pos));
    }
    template <typename T>
    PYPTO_INLINE LocalTensor<T> GetWithOffset(uint32_t elements, uint32_t byteOffset) const
    {
        return LocalTensor<T>(reinterpret_cast<T*>(base_ + byteOffset), elements, this->buffer(0, pos));
    }

private:
    friend class TPipe;
    static constexpr TPosition kPosition = pos;

    uint8_t* base_ = nullptr;
    uint32_t bytes_ = 0;
};

/* Bump allocator of each on-chip memory; one per kernel at a time. */
class TPipe {
public:
    PYPTO_INLINE TPipe() { Init(); }

    PYPTO_INLINE void Init() { Reset(); }
    PYPTO_INLINE void Destroy()
    {
        Reset();
        pypto_twin::on_pipe_end(this);
    }
#if defined(PYPTO_TWIN_CHECKED)
    PYPTO_INLINE ~TPipe() { pypto_twin::on_pipe_end(this); }
#endif

    /* Frees everything. */
    PYPTO_INLINE void Reset()
    {
        for (uint32_t& used : used_) {
            used = 0;
        }
        for (uint8_t& ids : reserved_) {
            ids = 0;
        }
        buffers_ = 0;
        pypto_twin::on_pipe(this);
    }

    /* `num` buffers of `bytes`, each rounded up to 32. */
    template <TPosition src, TPosition dst, int32_t depth, auto mask>
    PYPTO_INLINE bool InitBuffer(TQueBind<src, dst, depth, mask>& queue, uint8_t num, uint32_t bytes)
    {
        if (__builtin_expect(num == 0 || num > queue.kMaxBuffers, 0)) {
            pypto_twin::refuse("pipe-buffers", "InitBuffer: a queue has 1 to 16 buffers");
        }
        const uint32_t rounded = pypto_twin::round_up(bytes, pypto_twin::kBlockBytes);
        queue.Bind(Allocate(src, num, rounded), num, rounded);
        queue.number(pypto_twin::on_buffers(src, queue.base_, rounded, num, dst));
        pypto_twin::on_undefine(pypto_twin::check::Undefined::buffer, src, queue.base_, uint64_t{num} * rounded);
        return true;
    }
    template <TPosition pos>
    PYPTO_INLINE bool InitBuffer(TBuf<pos>& buffer, uint32_t bytes)
    {
        buffer.bytes_ = pypto_twin::round_up(bytes, pypto_twin::kBlockBytes);
        buffer.base_ = Allocate(pos, 1, buffer.bytes_);
        buffer.number(pypto_twin::on_buffers(pos, buffer.base_, buffer.bytes_, 0, pos));
        pypto_twin::on_undefine(pypto_twin::check::Undefined::buffer, pos, buffer.base_, buffer.bytes_);
        return true;
    }

    /* Reserved until ReleaseEventID. */
    template <HardEvent event>
    PYPTO_INLINE TEventID AllocEventID()
    {
        const TEventID id = FreeEventID(event);
        reserved_[static_cast<uint32_t>(event)] |= static_cast<uint8_t>(1u << id);
        pypto_twin::on_event_id(event, id, true);
        return id;
    }
    template <HardEvent event>
    PYPTO_INLINE void ReleaseEventID(TEventID id)
    {
        pypto_twin::on_release(event, id);
        reserved_[static_cast<uint32_t>(event)] &= static_cast<uint8_t>(~(1u << id));
    }

    /* A free id, not reserved. */
    PYPTO_INLINE TEventID FetchEventID(HardEvent event)
    {
        const TEventID id = FreeEventID(event);
        pypto_twin::on_event_id(event, id, false);
        return id;
    }
    template <HardEvent event>
    PYPTO_INLINE TEventID FetchEventID()
    {
        return FetchEventID(event);
    }

private:
    static constexpr uint32_t kMaxBuffers = 64;  /* of all InitBuffer calls */

    PYPTO_INLINE TEventID FreeEventID(HardEvent event) const
    {
        const uint32_t free = ~static_cast<uint32_t>(reserved_[static_cast<uint32_t>(event)]);
        const int id = __builtin_ctz(free);
        if (__builtin_expect(id >= 8, 0)) {
            pypto_twin::refuse("flag-id", "every event id of this kind is reserved");
        }
        return static_cast<TEventID>(id);
    }

    PYPTO_INLINE uint8_t* Allocate(TPosition position, uint32_t num, uint32_t bytes)
    {
        const Hardware memory = pypto_twin::memory_of(position);
        uint32_t& used = used_[static_cast<uint32_t>(memory)];
        const uint32_t start = used;
        const uint64_t end = start + static_cast<uint64_t>(num) * bytes;
        buffers_ += num;
        if (__builtin_expect(end > pypto_twin::memory_bytes(memory), 0)) {
            pypto_twin::refuse("pipe-memory", "InitBuffer: more bytes than the memory of this position has");
        }
        if (__builtin_expect(buffers_ > kMaxBuffers, 0)) {
            pypto_twin::refuse("pipe-buffers", "InitBuffer: more than 64 buffers");
        }
        used = static_cast<uint32_t>(end);
        pypto_twin::on_allocate(memory, used);
        return pypto_twin::memory_base(position) + start;
    }

    uint32_t used_[static_cast<uint32_t>(Hardware::MAX)];
    uint32_t buffers_;
    uint8_t reserved_[static_cast<uint32_t>(HardEvent::MAX)];
};

/* Static style, without TPipe: a bump allocator from address 0 of one memory. */
template <Hardware hardware = Hardware::UB>
class LocalMemAllocator {
public:
    template <typename T, uint32_t elements>
    PYPTO_INLINE LocalTensor<T> Alloc()
    {
        return Alloc<T>(elements);
    }
    template <typename T>
    PYPTO_INLINE LocalTensor<T> Alloc(uint32_t elements)
    {
        const uint32_t start = used_;
        const uint64_t end = start + pypto_twin::bytes_of<T>(elements);
        if (__builtin_expect(end > pypto_twin::memory_bytes(hardware), 0)) {
            pypto_twin::refuse("pipe-memory", "LocalMemAllocator: more bytes than the memory has");
        }
        used_ = pypto_twin::round_up(static_cast<uint32_t>(end), pypto_twin::kBlockBytes);
        pypto_twin::on_allocate(hardware, used_);
        return LocalTensor<T>(kPosition, start, elements);
    }
    PYPTO_INLINE uint32_t GetCurAddr() const { return used_; }

private:
    static constexpr TPosition kPosition = hardware == Hardware::L1    ? TPosition::A1
                                           : hardware == Hardware::L0A ? TPosition::A2
                                           : hardware == Hardware::L0B ? TPosition::B2
                                           : hardware == Hardware::L0C ? TPosition::CO1
                                           : hardware == Hardware::BIAS ? TPosition::C2
                                           : hardware == Hardware::FIXBUF ? TPosition::C2PIPE2GM
                                                                          : TPosition::VECCALC;
    uint32_t used_ = 0;
};

}  // namespace AscendC

#endif
