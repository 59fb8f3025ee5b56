/* Checked twin: what one call of an instruction was given, against the instruction table. */
#ifndef PYPTO_TWIN_CHECK_RULES_H
#define PYPTO_TWIN_CHECK_RULES_H

#include "bounds.h"
#include "overlap.h"

namespace pypto_twin {
namespace check {

namespace {

std::string number(int64_t value) { return std::to_string(value); }

uint64_t multiple_of(const Alignment& align, uint32_t nibbles)
{
    const uint64_t bytes = align.bytes + uint64_t{align.elements} * nibbles / 2;
    return bytes == 0 ? 1 : bytes;
}

/* "UB", or "UB or L1". */
std::string memories(uint16_t allowed)
{
    std::string text;
    for (uint32_t memory = 0; memory < static_cast<uint32_t>(Hardware::MAX); ++memory) {
        if ((allowed >> memory & 1) != 0) {
            text += (text.empty() ? "" : " or ") + std::string(name_of(static_cast<Hardware>(memory)));
        }
    }
    return text;
}

const char* type_name(uint8_t type) { return type == kNoType ? "another type" : kTypeNames[type]; }

}  // namespace

/* One call that is looked at; says what is wrong with it. */
class Rules {
public:
    Rules(Core& core, const Call& call)
        : core_(core), call_(call), row_(kApiRows[static_cast<uint32_t>(call.api)])
    {
        for (uint32_t i = 0; i < row_.operands; ++i) {
            const OperandRow& operand = kOperandRows[row_.first_operand + i];
            if (std::strcmp(operand.role, "tmp") != 0 && operands_ < Call::kTensors) {
                operand_[operands_++] = &operand;
            }
        }
    }

    /* False where the instruction cannot be carried out. */
    bool obeyed()
    {
        operands();
        types();
        piped();
        const bool amounts = amount() && mask();
        parameters();
        const bool known = special();
        if (amounts) {
            scratch();
            overlaps();
            domain();
        }
        return amounts && known;
    }

private:
    void operands()
    {
        if ((row_.cores >> core_.is_cube() & 1) == 0) {
            broken("core-kind", core_.is_cube() ? "runs on a vector core only, and this is a cube core"
                                                : "runs on a cube core only, and this is a vector core");
        }
        for (uint32_t i = 0; i < call_.tensor_count && i < operands_; ++i) {
            operand(call_.tensors[i], *operand_[i]);
        }
        if (call_.has_scratch) {
            for (uint32_t i = 0; i < row_.operands; ++i) {
                const OperandRow& row = kOperandRows[row_.first_operand + i];
                if (std::strcmp(row.role, "tmp") == 0) {
                    operand(call_.scratch, row);
                }
            }
        }
    }

    void operand(const Tensor& tensor, const OperandRow& row)
    {
        const Hardware memory = memory_of(tensor.position);
        if ((row.memories & in(memory)) == 0) {
            return broken("operand-memory", std::string(row.role) + " lies in " + name_of(memory) +
                                                "; it must lie in " + memories(row.memories), &tensor);
        }
        const bool dst = row.role[0] == 'd';
        const Alignment& rule = memory == Hardware::L0A || memory == Hardware::L0B ? row.align_L0
                                : call_.indexed && dst                             ? row.align_index
                                                                                   : row.align;
        const uint64_t align = multiple_of(rule, tensor.nibbles), at = core_.place(tensor.position, tensor.address);
        if (at % align != 0) {
            broken("align", std::string(row.role) + " starts at " +
                                (memory == Hardware::GM ? "an address of GM that is " + std::to_string(at % align) +
                                                              " past a multiple of "
                                                        : "byte " + std::to_string(at) + " of " + name_of(memory) +
                                                              ", which is no multiple of ") +
                                std::to_string(align), &tensor);
        }
    }

    /* The types of the operands, together. */
    void types()
    {
        if (row_.types == 0) {
            return;
        }
        for (uint32_t t = 0; t < row_.types; ++t) {
            if (fits(kTypesRows[row_.first_types + t])) {
                return;
            }
        }
        std::string given;
        for (uint32_t i = 0; i < call_.tensor_count; ++i) {
            given += (i == 0 ? "" : ", ") + std::string(type_name(call_.tensors[i].type));
        }
        broken("dtype", "the device has no instruction for " + given);
    }
    bool fits(const TypesRow& row) const
    {
        for (uint32_t i = 0; i < call_.tensor_count && i < operands_; ++i) {
            const uint8_t wanted = operand_[i]->type;
            if (call_.tensors[i].type != (wanted >= kTuple ? row.types[wanted - kTuple] : wanted)) {
                return false;
            }
        }
        return true;
    }

    bool amount()
    {
        const int64_t amount = call_.amount;
        if (call_.form == Form::repeat) {
            if (amount < row_.least_repeat || amount > row_.most_repeat) {
                broken("repeat", "the repeat count is " + number(amount) + "; it must be " +
                                     number(row_.least_repeat) + " to " + number(row_.most_repeat));
                return amount >= 0 && amount <= UINT16_MAX; /* more than any instruction has */
            }
            return !(row_.repeat_normal && call_.counter) || counter_mode("this form");
        }
        if (call_.form != Form::count) {
            return true;
        }
        if (amount > INT32_MAX || amount < INT32_MIN) {
            broken("count", "the count is " + number(amount) + ", which the 32 bits of the parameter do not hold");
            return false;
        }
        if (row_.count_normal && call_.counter) {
            counter_mode("the count form");
        }
        const uint32_t nibbles = call_.tensors[call_.tensor_count - 1].nibbles;
        switch (row_.count) {
            case Count::any: break;
            case Count::natural:
            case Count::positive: {
                const int64_t least = row_.count == Count::positive;
                if (amount < least) {
                    broken("count", "the count is " + number(amount) + "; it must be at least " + number(least));
                    return amount == 0 && std::strncmp(row_.name, "Reduce", 6) != 0;
                }
                break;
            }
            case Count::blocks:
            case Count::repeats: {
                const uint64_t unit = row_.count == Count::blocks ? kBlockBytes : kRepeatBytes;
                if (static_cast<uint64_t>(amount) * nibbles / 2 % unit != 0) {
                    broken("count", "the count is " + number(amount) + ", " +
                                        std::to_string(static_cast<uint64_t>(amount) * nibbles / 2) +
                                        " bytes; it must be a multiple of " + std::to_string(unit) + " bytes");
                    return row_.count == Count::blocks;
                }
                break;
            }
        }
        return true;
    }
    bool counter_mode(const char* form)
    {
        broken("mask-mode", std::string(form) + " needs normal mask mode; SetMaskCount is in force");
        return false;
    }

    /* The lanes of a repeat: those that the widest type has. */
    bool mask()
    {
        if (call_.mask == Mask::none || !call_.sets_mask) {
            return true;
        }
        if (call_.counter && !counts_per_repeat()) {
            broken("mask-mode", "a repeat form with isSetMask = true in counter mode takes its mask bits as a total");
            return false;
        }
        const uint64_t most = lanes();
        if (call_.mask == Mask::length && call_.low > most) {
            broken("mask-length", "the mask has " + number(static_cast<int64_t>(call_.low)) +
                                      " lanes; a repeat of these types has " + std::to_string(most));
        } else if (call_.mask == Mask::bits && most == 32 && call_.low >> 32 != 0) {
            broken("mask-bits", "the mask has bits past lane 31; a repeat of these types has 32");
        }
        return true;
    }
    bool counts_per_repeat() const
    {
        return call_.api == Api::Copy;
    }
    uint32_t lanes() const { return lanes_of(call_); }

    void parameters()
    {
        /* Where the destination is not walked, its strides mean nothing. */
        const bool walked = call_.tensor_count != 0 && call_.tensors[0].layout == Layout::lanes &&
                            std::strcmp(operand_[0]->role, "dst") == 0;
        for (uint32_t i = 0; i < call_.struct_count; ++i) {
            const Fields& given = call_.structs[i];
            const int32_t at = given.kind == Struct::none ? row_.strides : static_cast<int32_t>(given.kind);
            if (at < 0) {
                continue;
            }
            for (uint32_t k = 0; k < given.count && k < kStructRows[at].fields; ++k) {
                const FieldRow& field = kFieldRows[kStructRows[at].first + k];
                if (walked || given.kind != Struct::BinaryRepeatParams || std::strncmp(field.name, "dst", 3) != 0) {
                    parameter(field, given.values[k]);
                }
            }
        }
    }
    void parameter(const FieldRow& field, int64_t value)
    {
        const bool listed = field.values == 0 || (value >= 0 && value < 64 && (field.values >> value & 1) != 0);
        if (value < field.low || value > field.high || !listed) {
            broken("parameter", std::string(field.name) + " is " + number(value) + "; it must be " + allowed(field) +
                                    (field.unit[0] != '\0' ? " (" + std::string(field.unit) + ")" : ""));
        }
    }
    static std::string allowed(const FieldRow& field)
    {
        if (field.values == 0) {
            return number(field.low) + " to " + number(field.high);
        }
        std::string text;
        for (int64_t value = 0; value < 64; ++value) {
            if ((field.values >> value & 1) != 0) {
                text += (text.empty() ? "" : " or ") + number(value);
            }
        }
        return text;
    }

    /* Rules that only one instruction has: check/special.h. False where it cannot be carried out. */
    bool special();
    bool cast_mode();
    void copy_pad(uint32_t local_stride);
    void atomic_type();
    void block_stride();
    void deq_scale();
    void merged_lists();
    void single_repeat();

    /* settings.h */
    void piped();
    void domain();
    template <typename T>
    void domain_of(const Tensor& src);

    /* It shares no byte with the operands, but where the table says so. */
    void scratch_apart()
    {
        Tensor whole = call_.scratch;
        whole.layout = Layout::rows;
        whole.rows = 1;
        whole.bytes = whole.held;
        for (uint32_t i = 0; i < call_.tensor_count && i < operands_ && !row_.tmp_aliases; ++i) {
            if (meets(call_, whole, call_.tensors[i])) {
                broken("overlap", std::string("tmp shares bytes with ") + operand_[i]->role, &whole);
            }
        }
    }

    /* The buffer for intermediate results. */
    void scratch()
    {
        if (!call_.has_scratch || row_.tmp < 0) {
            return;
        }
        const uint32_t nibbles = call_.tensors[call_.tensor_count - 1].nibbles;
        const int64_t size = nibbles / 2, lanes = kRepeatBytes / size;
        const int64_t count = call_.form == Form::repeat ? call_.amount * lanes : call_.amount;
        const ScratchFacts facts{count, size, lanes, kBlockBytes / size, static_cast<int64_t>(call_.rows),
                                 static_cast<int64_t>(call_.columns),
                                 call_.tensors[call_.tensor_count - 1].type, call_.indexed, call_.last_axis};
        scratch_apart();
        const uint64_t needed = static_cast<uint64_t>(kScratch[row_.tmp](facts));
        if (call_.scratch.held < needed) {
            broken("tmp-size", "the buffer for intermediate results has " + std::to_string(call_.scratch.held) +
                                   " bytes; it needs " + std::to_string(needed), &call_.scratch);
        }
        if (!row_.tmp_aliases) {
            core_.spoil(call_.scratch.position, call_.scratch.address, std::min(needed, call_.scratch.held));
        }
        core_.lend(call_.scratch.position, call_.scratch.address, std::min(needed, call_.scratch.held));
    }

    /* The destination against each source. */
    void overlaps()
    {
        if (call_.tensor_count == 0 || operands_ == 0 || std::strcmp(operand_[0]->role, "dst") != 0) {
            return;
        }
        const Tensor& dst = call_.tensors[0];
        for (uint32_t i = 1; i < call_.tensor_count && i < operands_; ++i) {
            const Tensor& src = call_.tensors[i];
            if (std::strncmp(operand_[i]->role, "dst", 3) == 0 || !meets(call_, dst, src) || lawful(dst, src, i)) {
                continue;
            }
            const bool same = dst.address == src.address;
            broken("overlap", std::string(operand_[i]->role) +
                                  (same && row_.alias == Alias::none ? " is dst, which this instruction does not allow"
                                   : same && dst.nibbles != src.nibbles
                                       ? " is dst with elements of another size"
                                   : same && same_lanes(dst, src) ? " is dst, and a repeat reads what an earlier one wrote"
                                   : same ? " starts where dst starts, with other strides"
                                          : " shares bytes with dst and does not start where dst starts"), &src);
        }
    }
    bool lawful(const Tensor& dst, const Tensor& src, uint32_t index) const
    {
        if (row_.alias == Alias::unknown) {
            return true;
        }
        const bool one_size = dst.nibbles == src.nibbles;
        if (dst.address != src.address || !one_size || !same_lanes(dst, src) || row_.alias == Alias::none) {
            return false;
        }
        /* An accumulation, where a repeat reads what an earlier one wrote: the second source of a few. */
        return (index == 2 && dst.repeat == 0 && (row_.accumulates >> dst.type & 1) != 0) ||
               !repeats_meet(call_, dst);
    }
    bool same_lanes(const Tensor& dst, const Tensor& src) const
    {
        if (dst.layout == Layout::rows || src.layout == Layout::rows) {
            return true; /* reductions: what is written is read before */
        }
        const bool one = call_.form == Form::count || call_.amount <= 1;
        return dst.block == src.block && (one || dst.repeat == src.repeat);
    }

    void broken(const char* rule, std::string text, const Tensor* of = nullptr)
    {
        core_.broken(rule, std::string(row_.name) + ": " + std::move(text), of);
    }

    Core& core_;
    const Call& call_;
    const ApiRow& row_;
    const OperandRow* operand_[Call::kTensors];
    uint32_t operands_ = 0;
};

}  // namespace check
}  // namespace pypto_twin

#include "settings.h"
#include "special.h"

namespace pypto_twin {
namespace check {

inline bool Core::is_cube() const { return cube_; }

inline uint64_t Core::place(TPosition position, uint64_t address) const
{
    const Hardware memory = memory_of(position);
    return memory == Hardware::GM ? address
                                  : address - reinterpret_cast<uint64_t>(core_.ub) - memory_offset(memory);
}

inline void Core::broken(const char* rule, std::string text, const Tensor* of)
{
    site_ = here();
    Buffer* buffer = nullptr;
    if (of != nullptr && memory_of(of->position) != Hardware::GM) {
        buffer = buffer_of(of->position, place(of->position, of->address));
    }
    kind_told_ |= std::strcmp(rule, "core-kind") == 0;
    found(rule, std::move(text), kNoSite, Place{buffer == nullptr ? kNoSite : buffer->site, ""});
}

inline void Core::gather_offset(uint64_t offset, uint32_t unit)
{
    if (offset % unit != 0) {
        broken("gather-offset", "an offset is " + std::to_string(offset) + " bytes, which is no multiple of " +
                                    std::to_string(unit), nullptr);
    }
}

inline bool Core::obeys(const Call& call)
{
    lent_ = Lent{};
    return Rules(*this, call).obeyed();
}

}  // namespace check
}  // namespace pypto_twin

#endif
