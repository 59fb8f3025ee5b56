/* CPU twin: atomic accumulation on the way to global memory, and scalar atomics. */
#ifndef PYPTO_TWIN_ATOMIC_H
#define PYPTO_TWIN_ATOMIC_H

#include "bytes.h"

namespace pypto_twin {

enum class AtomicOperation : uint8_t { add, max, min };

/* Unsigned integer of the same size, for compare and exchange. */
template <uint32_t size>
struct Unsigned;
template <>
struct Unsigned<1> {
    using type = uint8_t;
};
template <>
struct Unsigned<2> {
    using type = uint16_t;
};
template <>
struct Unsigned<4> {
    using type = uint32_t;
};
template <>
struct Unsigned<8> {
    using type = uint64_t;
};

/* a op b in T; integers wrap, 16-bit floats are computed in float and rounded once. */
template <typename T>
PYPTO_INLINE T combine(AtomicOperation operation, T a, T b)
{
    if constexpr (is_same<T, half> || is_same<T, bfloat16_t>) {
        return static_cast<T>(
            combine<float>(operation, static_cast<float>(a), static_cast<float>(b)));
    } else if (operation == AtomicOperation::add) {
        if constexpr (is_same<T, float> || is_same<T, double>) {
            return a + b;
        } else {
            using U = typename Unsigned<sizeof(T)>::type;
            return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
        }
    } else if (operation == AtomicOperation::max) {
        return a != a || a > b ? a : b;  /* NaN wins */
    } else {
        return a != a || a < b ? a : b;
    }
}

/* *address = *address op value, indivisibly; returns the former value. */
template <typename T>
PYPTO_INLINE T update(T* address, AtomicOperation operation, T value)
{
    using U = typename Unsigned<sizeof(T)>::type;
    U* const cell = reinterpret_cast<U*>(address);
    U before = __atomic_load_n(cell, __ATOMIC_RELAXED);
    for (;;) {
        const T old = __builtin_bit_cast(T, before);
        const U after = __builtin_bit_cast(U, combine<T>(operation, old, value));
        if (__atomic_compare_exchange_n(cell, &before, after, true, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            return old;
        }
    }
}

/* A copy to GM while SetAtomic* is in force. Compiled only where a kernel asks for it. */
template <typename T, AtomicOperation operation>
inline PYPTO_COLD void accumulate_rows(const Rows& r)
{
    for (uint32_t row = 0; row < r.rows; ++row) {
        uint8_t* const dst = r.dst + row * r.dst_pitch;
        const uint8_t* const src = r.src + row * r.src_pitch;
        for (uint64_t i = 0; i + sizeof(T) <= r.bytes; i += sizeof(T)) {
            T value;
            __builtin_memcpy(&value, src + i, sizeof(T));
            update(reinterpret_cast<T*>(dst + i), operation, value);
        }
    }
}

template <typename T, AtomicOperation operation>
PYPTO_INLINE void set_atomic()
{
    static_assert(is_same<T, half> || is_same<T, bfloat16_t> || is_same<T, float> ||
                      is_same<T, int8_t> || is_same<T, int16_t> || is_same<T, int32_t>,
                  "SetAtomic*: half, bfloat16_t, float, int8_t, int16_t and int32_t only");
    on_atomic(true);
    state().accumulate = accumulate_rows<T, operation>;
#if defined(PYPTO_TWIN_CHECKED)
    state().atomic_type = 1 + check::type_of<T>;
#endif
}

}  // namespace pypto_twin

namespace AscendC {

template <typename T>
PYPTO_INLINE void SetAtomicAdd()
{
    pypto_twin::set_atomic<T, pypto_twin::AtomicOperation::add>();
}
template <typename T>
PYPTO_INLINE void SetAtomicMax()
{
    pypto_twin::set_atomic<T, pypto_twin::AtomicOperation::max>();
}
template <typename T>
PYPTO_INLINE void SetAtomicMin()
{
    pypto_twin::set_atomic<T, pypto_twin::AtomicOperation::min>();
}
PYPTO_INLINE void SetAtomicNone()
{
    pypto_twin::on_atomic(false);
    pypto_twin::state().accumulate = nullptr;
#if defined(PYPTO_TWIN_CHECKED)
    pypto_twin::state().atomic_type = 0;
#endif
}
PYPTO_INLINE void DisableDmaAtomic() { SetAtomicNone(); }

/* Scalar atomics on global memory; each returns the former value. */
template <typename T>
PYPTO_INLINE T AtomicAdd(__gm__ T* address, T value)
{
    T before{};
    if (pypto_twin::on_scalar()) {
        pypto_twin::on_uncached(true, true, address, sizeof(T));
        before = pypto_twin::update(address, pypto_twin::AtomicOperation::add, value);
    }
    return pypto_twin::scalar_value(before);
}
template <typename T>
PYPTO_INLINE T AtomicMax(__gm__ T* address, T value)
{
    T before{};
    if (pypto_twin::on_scalar()) {
        pypto_twin::on_uncached(true, true, address, sizeof(T));
        before = pypto_twin::update(address, pypto_twin::AtomicOperation::max, value);
    }
    return pypto_twin::scalar_value(before);
}
template <typename T>
PYPTO_INLINE T AtomicMin(__gm__ T* address, T value)
{
    T before{};
    if (pypto_twin::on_scalar()) {
        pypto_twin::on_uncached(true, true, address, sizeof(T));
        before = pypto_twin::update(address, pypto_twin::AtomicOperation::min, value);
    }
    return pypto_twin::scalar_value(before);
}
template <typename T>
PYPTO_INLINE T AtomicExch(__gm__ T* address, T value)
{
    using U = typename pypto_twin::Unsigned<sizeof(T)>::type;
    U before{};
    if (pypto_twin::on_scalar()) {
        pypto_twin::on_uncached(true, true, address, sizeof(T));
        before = __atomic_exchange_n(reinterpret_cast<U*>(address), __builtin_bit_cast(U, value),
                                     __ATOMIC_ACQ_REL);
    }
    return pypto_twin::scalar_value(__builtin_bit_cast(T, before));
}
template <typename T>
PYPTO_INLINE T AtomicCas(__gm__ T* address, T expected, T desired)
{
    using U = typename pypto_twin::Unsigned<sizeof(T)>::type;
    U before = __builtin_bit_cast(U, expected);
    if (pypto_twin::on_scalar()) {
        pypto_twin::on_uncached(true, true, address, sizeof(T));
        __atomic_compare_exchange_n(reinterpret_cast<U*>(address), &before,
                                    __builtin_bit_cast(U, desired), false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE);
    }
    return pypto_twin::scalar_value(__builtin_bit_cast(T, before));
}

}  // namespace AscendC

#endif
