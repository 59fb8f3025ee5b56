/* CPU twin, checked build: each instruction with its operands and parameters, as the kernel gave
 * them, for the rules of check/rules.h. Nothing of it is left in other builds.
 *
 * An instruction begins with PYPTO_RULES(name in the table, what it was given), for instance
 *
 *     PYPTO_RULES(Adds, count(n).tensor(dst).tensor(src));
 *     PYPTO_RULES(Adds, repeats(n).lanes<isSetMask>(mask).tensor(dst, 1, 8).tensor(src, 1, 8).fields(p));
 *
 * Tensors come in the order of the table. The instruction is left out where it cannot be carried out.
 */
#ifndef PYPTO_TWIN_RULES_H
#define PYPTO_TWIN_RULES_H

#include "core.h"

#if defined(PYPTO_TWIN_CHECKED)
#include "check/table.h"
#endif

namespace AscendC {
template <typename T>
class LocalTensor;
template <typename T>
class GlobalTensor;
}  // namespace AscendC

/* PYPTO_RULES_OF: the instruction is a value, as for copies, whose ends say which it is. */
#if defined(PYPTO_TWIN_CHECKED)
#define PYPTO_RULES_OF(api, ...)                                                                 \
    do {                                                                                         \
        using PyptoCall = ::pypto_twin::check::Call;                                             \
        if (!::pypto_twin::check::obeys(::pypto_twin::state().check, PyptoCall(api).__VA_ARGS__)) { \
            return;                                                                              \
        }                                                                                        \
    } while (false)
#else
#define PYPTO_RULES_OF(api, ...) ((void)0)
#endif
#define PYPTO_RULES(name, ...) PYPTO_RULES_OF(::pypto_twin::check::Api::name, __VA_ARGS__)

namespace pypto_twin {

/* An integer parameter of few bits. The checked build remembers what it was given, which the rest
 * of the twin and the device do not. */
#if defined(PYPTO_TWIN_CHECKED)
template <typename T>
struct NarrowField {
    NarrowField() = default;
    template <typename From, typename = decltype(static_cast<int64_t>(*static_cast<const From*>(nullptr)))>
    constexpr NarrowField(From given) : wide(static_cast<int64_t>(given))
    {
    }
    constexpr operator T() const { return static_cast<T>(wide); }

    int64_t wide;
};
template <typename T>
using Narrow = NarrowField<T>;
#else
template <typename T>
using Narrow = T;
#endif
using Field8 = Narrow<uint8_t>;
using Field16 = Narrow<uint16_t>;
using Field32 = Narrow<uint32_t>;
/* A number of elements. */
using SignedCount = Narrow<int32_t>;
using UnsignedCount = Narrow<uint32_t>;

#if defined(PYPTO_TWIN_CHECKED)
namespace check {

template <typename T>
constexpr int64_t wide(T value)
{
    return static_cast<int64_t>(value);
}
template <typename T>
constexpr int64_t wide(const NarrowField<T>& field)
{
    return field.wide;
}

/* How an operand's bytes lie: by the form's lanes, or as rows of their own. */
enum class Layout : uint8_t { lanes, rows };

struct Tensor {
    uint64_t address;
    uint64_t held; /* bytes of the tensor, 0 where it does not say */
    Provenance position;
    uint8_t type;
    uint8_t nibbles; /* half bytes of an element */
    Layout layout;
    int64_t block, repeat;      /* strides in blocks */
    uint64_t bytes, rows, pitch;
};

/* What a parameter struct was given, in the order of the table. */
struct Fields {
    static constexpr uint32_t kMost = 24;
    Struct kind;
    uint8_t count;
    int64_t values[kMost];
};

enum class Form : uint8_t { plain, count, repeat };
enum class Mask : uint8_t { none, length, bits, registers };

/* One call of an instruction. */
struct Call {
    static constexpr uint32_t kTensors = 6;

    explicit PYPTO_INLINE Call(Api of) : api(of), counter(state().mask_counter) {}

    PYPTO_INLINE Call& count(int64_t elements)
    {
        form = Form::count;
        amount = elements;
        return *this;
    }
    template <typename T>
    PYPTO_INLINE Call& count(const NarrowField<T>& elements)
    {
        return count(elements.wide);
    }
    template <typename T>
    PYPTO_INLINE Call& repeats(const T& times)
    {
        form = Form::repeat;
        amount = wide(times);
        return *this;
    }

    /* The lanes of a repeat: given with the call, or what the registers say. */
    template <bool isSetMask>
    PYPTO_INLINE Call& lanes(uint64_t length)
    {
        return set_mask<isSetMask>(Mask::length, length, 0);
    }
    template <bool isSetMask>
    PYPTO_INLINE Call& lanes(int32_t length)
    {
        return set_mask<isSetMask>(Mask::length, static_cast<uint64_t>(int64_t{length}), 0);
    }
    /* The second word is of types of `size` 2 only. */
    template <bool isSetMask>
    PYPTO_INLINE Call& lanes(const uint64_t mask[], uint32_t size)
    {
        return set_mask<isSetMask>(Mask::bits, isSetMask ? mask[0] : 0, isSetMask && size <= 2 ? mask[1] : 0);
    }
    template <bool isSetMask>
    PYPTO_INLINE Call& lanes(uint64_t length, uint32_t)
    {
        return lanes<isSetMask>(length);
    }
    template <bool isSetMask>
    PYPTO_INLINE Call& lanes(int32_t length, uint32_t)
    {
        return lanes<isSetMask>(length);
    }

    /* An operand whose lanes the form walks: dense, or with strides in blocks. */
    template <typename T>
    PYPTO_INLINE Call& tensor(const AscendC::LocalTensor<T>& of)
    {
        return tensor(of, 1, 0);
    }
    template <typename T>
    PYPTO_INLINE Call& tensor(const AscendC::LocalTensor<T>& of, int64_t block, int64_t repeat)
    {
        Tensor& made = add(of);
        made.layout = Layout::lanes;
        made.block = block;
        made.repeat = repeat;
        return *this;
    }
    /* An operand of `rows` runs of `bytes` bytes, `pitch` bytes from start to start. */
    template <typename T>
    PYPTO_INLINE Call& bytes(const AscendC::LocalTensor<T>& of, uint64_t bytes, uint64_t rows = 1, uint64_t pitch = 0)
    {
        return extent(add(of), bytes, rows, pitch);
    }
    template <typename T>
    PYPTO_INLINE Call& bytes(const AscendC::GlobalTensor<T>& of, uint64_t bytes, uint64_t rows = 1, uint64_t pitch = 0)
    {
        Tensor& made = tensors[tensor_count++];
        made = Tensor{};
        made.address = reinterpret_cast<uint64_t>(of.GetPhyAddr());
        made.position = of.Position();
        describe<T>(made, of.GetSize());
        return extent(made, bytes, rows, pitch);
    }
    /* The buffer for intermediate results. */
    template <typename T>
    PYPTO_INLINE Call& tmp(const AscendC::LocalTensor<T>& of)
    {
        add(of);
        --tensor_count;
        scratch = tensors[tensor_count];
        has_scratch = true;
        return *this;
    }

    /* A struct of parameters; PYPTO_FIELDS is beside the struct. */
    template <typename P>
    PYPTO_INLINE Call& fields(const P& given)
    {
        structs[struct_count++] = pypto_fields_of(given);
        return *this;
    }
    PYPTO_INLINE Call& fields_as(const Fields& given)
    {
        structs[struct_count++] = given;
        return *this;
    }
    /* A copy of blocks: lengths and gaps in 32 bytes. */
    template <typename D, typename S, typename P>
    PYPTO_INLINE Call& blocks(const D& dst, const S& src, const P& p)
    {
        const uint64_t length = uint64_t{p.blockLen} * kBlockBytes;
        bytes(dst, length, p.blockCount, length + uint64_t{p.dstGap} * kBlockBytes);
        bytes(src, length, p.blockCount, length + uint64_t{p.srcGap} * kBlockBytes);
        return fields(p);
    }
    /* Sorted lists of records of 8 bytes that become one, `times` times, each behind the one before. */
    template <typename T, typename Lists>
    PYPTO_INLINE Call& lists(const AscendC::LocalTensor<T>& dst, const Lists& src, const uint16_t lengths[4],
                             uint32_t number, uint32_t times)
    {
        const AscendC::LocalTensor<T>* const from[] = {&src.src1, &src.src2, &src.src3, &src.src4};
        uint64_t total = 0;
        for (uint32_t i = 0; i < number; ++i) {
            total += uint64_t{lengths[i]} * 8;
        }
        bytes(dst, total * times);
        for (uint32_t i = 0; i < number; ++i) {
            bytes(*from[i], uint64_t{lengths[i]} * 8, times, total);
        }
        return *this;
    }
    /* Strides that are parameters of their own, in the order of the table. */
    template <typename... Values>
    PYPTO_INLINE Call& strides(const Values&... values)
    {
        structs[struct_count++] = Fields{Struct::none, sizeof...(Values), {wide(values)...}};
        return *this;
    }
    /* The value that a rule of this instruction is about: a shift, a mode, a padding. */
    PYPTO_INLINE Call& value(int64_t given)
    {
        scalar = given;
        return *this;
    }
    /* Rows and columns, for the size of the buffer for intermediate results. */
    PYPTO_INLINE Call& shape(uint64_t row_count, uint64_t column_count, bool last)
    {
        rows = row_count;
        columns = column_count;
        last_axis = last;
        return *this;
    }
    /* The form returns an index. */
    PYPTO_INLINE Call& index(bool wanted)
    {
        indexed = wanted;
        return *this;
    }

    Api api;
    Form form = Form::plain;
    Mask mask = Mask::none;
    bool sets_mask = false;
    bool counter;
    bool indexed = false;
    bool has_scratch = false;
    bool last_axis = true;
    uint8_t tensor_count = 0, struct_count = 0;
    int64_t amount = 0; /* elements, or repeats */
    int64_t scalar = 0;
    uint64_t rows = 0, columns = 0;
    uint64_t low = 0, high = 0;
    Tensor tensors[kTensors];
    Tensor scratch;
    Fields structs[2];

private:
    template <bool isSetMask>
    PYPTO_INLINE Call& set_mask(Mask kind, uint64_t first, uint64_t second)
    {
        sets_mask = isSetMask;
        mask = isSetMask ? kind : Mask::registers;
        low = isSetMask ? first : state().mask_low;
        high = isSetMask ? second : state().mask_high;
        return *this;
    }
    template <typename T>
    PYPTO_INLINE Tensor& add(const AscendC::LocalTensor<T>& of)
    {
        Tensor& made = tensors[tensor_count++];
        made = Tensor{};
        made.address = reinterpret_cast<uint64_t>(of.Address());
        made.position = of.Position();
        describe<T>(made, of.GetSize());
        return made;
    }
    template <typename T>
    static PYPTO_INLINE void describe(Tensor& made, uint64_t elements)
    {
        made.type = type_of<T>;
        made.nibbles = is_same<T, int4b_t> ? 1 : 2 * sizeof(T);
        made.held = bytes_of<T>(elements);
    }
    PYPTO_INLINE Call& extent(Tensor& made, uint64_t bytes, uint64_t rows, uint64_t pitch)
    {
        made.layout = Layout::rows;
        made.bytes = bytes;
        made.rows = rows;
        made.pitch = pitch;
        return *this;
    }
};

/* False where the instruction cannot be carried out; what is wrong is reported. */
PYPTO_HIDDEN bool obeys(Core* core, const Call& call);

}  // namespace check
#endif

}  // namespace pypto_twin

/* Beside a struct of parameters `p`: what it was given, in the order of the table. */
#if defined(PYPTO_TWIN_CHECKED)
#define PYPTO_FIELDS(name, ...) PYPTO_FIELDS_OF(, name, name, __VA_ARGS__)
#define PYPTO_TEMPLATE_FIELDS(name, ...) PYPTO_FIELDS_OF(template <typename T>, name, name<T>, __VA_ARGS__)
#define PYPTO_FIELDS_OF(parameters, name, type, ...)                                             \
    namespace AscendC {                                                                          \
    parameters PYPTO_INLINE pypto_twin::check::Fields pypto_fields_of(const type& p)             \
    {                                                                                            \
        using pypto_twin::check::wide;                                                           \
        using pypto_twin::check::Fields;                                                         \
        const int64_t values[] = {__VA_ARGS__};                                                  \
        static_assert(sizeof values / sizeof *values <= Fields::kMost, "too many fields");       \
        Fields fields{pypto_twin::check::Struct::name, sizeof values / sizeof *values, {}};      \
        __builtin_memcpy(fields.values, values, sizeof values);                                  \
        return fields;                                                                           \
    }                                                                                            \
    }
#else
#define PYPTO_FIELDS(name, ...)
#define PYPTO_TEMPLATE_FIELDS(name, ...)
#endif

#endif
