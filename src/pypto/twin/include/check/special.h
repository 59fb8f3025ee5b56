/* Checked twin: rules that one instruction has and others have not. Part of rules.h. */
#ifndef PYPTO_TWIN_CHECK_SPECIAL_H
#define PYPTO_TWIN_CHECK_SPECIAL_H

namespace pypto_twin {
namespace check {

inline bool Rules::special()
{
    const int64_t given = call_.scalar;
    const uint32_t nibbles = call_.tensor_count == 0 ? 2 : call_.tensors[0].nibbles;
    switch (call_.api) {
        case Api::ShiftLeft:
        case Api::ShiftRight: {
            const int64_t most = 4 * nibbles; /* bits of T */
            if (given < 0 || given > most) {
                broken("parameter", "the shift is " + number(given) + "; it must be 0 to " + number(most));
                return false;
            }
            return true;
        }
        case Api::Arange:
            if (given < 0) {
                broken("parameter", "the step is negative; it must be at least 0");
            }
            return true;
        case Api::Cast:
            if (call_.tensors[0].type == type_of<half> && call_.tensors[1].type == type_of<int32_t>) {
                deq_scale();
            }
            return cast_mode();
        case Api::AddDeqRelu: return deq_scale(), true;
        case Api::MrgSort: return merged_lists(), true;
        case Api::TransDataTo5HD: return single_repeat(), true;
        case Api::Compare:
        case Api::Compares:
            if (call_.tensors[1].type == type_of<int32_t> && given != 2 /* EQ */) {
                broken("compare-mode", "int32_t has the mode EQ only");
                return false;
            }
            return true;
        case Api::Select_tensor_tensor:
        case Api::Select_tensor_scalar:
            if ((given == 1) != (call_.api == Api::Select_tensor_scalar)) {
                broken("select-mode", "VSEL_TENSOR_SCALAR_MODE goes with a scalar, the other modes with a tensor");
                return false;
            }
            return true;
        case Api::Gather:
            if (given % (nibbles / 2) != 0) {
                broken("gather-offset", "the base is " + number(given) + " bytes, which is no multiple of " +
                                            std::to_string(nibbles / 2));
            }
            return true;
        case Api::GatherMask_pattern:
            if (given < 1 || given > 7) {
                broken("parameter", "the pattern is " + number(given) + "; it must be 1 to 7");
                return false;
            }
            return true;
        case Api::Copy:
        case Api::Brcb:
        case Api::Gatherb: return block_stride(), true;
        case Api::DataCopyPad_GM_UB: return copy_pad(3), true;
        case Api::DataCopyPad_UB_GM: return copy_pad(2), atomic_type(), true;
        case Api::DataCopy_UB_GM:
        case Api::DataCopy_L1_GM: return atomic_type(), true;
        case Api::DataCopy_UB_L1:
            broken("operand-memory", "the device has no path from UB to L1");
            return true;
        case Api::Fixpipe_L0C_GM:
        case Api::Fixpipe_L0C_GM_vector_quant:
        case Api::Fixpipe_L0C_L1: {
            const int64_t columns = call_.structs[0].values[0];
            if (given != 0 && columns % given != 0) {
                broken("parameter", "nSize is " + number(columns) + "; with CFG_NZ it must be a multiple of " +
                                        number(given));
            }
            return true;
        }
        default: return true;
    }
}

/* Whether the pair of types has this round mode. */
inline bool Rules::cast_mode()
{
    for (const CastRow& row : kCastRows) {
        if (row.dst == call_.tensors[0].type && row.src == call_.tensors[1].type &&
            (row.modes >> call_.scalar & 1) != 0) {
            return true;
        }
    }
    static const char* const names[] = {"NONE", "RINT", "FLOOR", "CEIL", "ROUND", "TRUNC", "ODD"};
    broken("cast-mode", std::string(type_name(call_.tensors[1].type)) + " to " + type_name(call_.tensors[0].type) +
                            " has no mode CAST_" + names[call_.scalar]);
    return false;
}

/* int32_t becomes half by a scale that is in a register, where the kernel before may have left one. */
inline void Rules::deq_scale()
{
    if (!state().deq_set) {
        broken("deq-scale", "int32_t to half takes the scale of SetDeqScale, and nothing has set one");
    }
}

/* The third and the fourth list, which the table does not name. */
inline void Rules::merged_lists()
{
    for (uint32_t i = operands_; i < call_.tensor_count; ++i) {
        operand(call_.tensors[i], *operand_[operands_ - 1]);
        if (meets(call_, call_.tensors[0], call_.tensors[i])) {
            broken("overlap", "src" + std::to_string(i - 1) + " shares bytes with dst", &call_.tensors[i]);
        }
    }
}

/* With one repeat its strides are 0. */
inline void Rules::single_repeat()
{
    static const char* const names[] = {"dstRepStride", "srcRepStride"};
    const int64_t* const given = call_.structs[0].values;
    for (uint32_t i = 0; i < 2 && given[2] == 1; ++i) {
        if (given[3 + i] != 0) {
            broken("parameter", std::string(names[i]) + " is " + number(given[3 + i]) +
                                    "; with a repeatTimes of 1 it must be 0");
        }
    }
}

/* Blocks of a destination that stays would be written one over the other. */
inline void Rules::block_stride()
{
    const Tensor& dst = call_.tensors[0];
    const Extent extent = extent_of(call_);
    if (dst.block == 0 && extent.repeats != 0 && extent.lanes * dst.nibbles / 2 > kBlockBytes) {
        broken("parameter", "the block stride of dst is 0, so the blocks of a repeat are written one over the other");
    }
}

/* `local_stride`: which field is the stride on the UB side. */
inline void Rules::copy_pad(uint32_t local_stride)
{
    const Fields& copy = call_.structs[0];
    const int64_t size = call_.tensors[0].nibbles / 2;
    if (copy.values[1] % size != 0) {
        broken("parameter", "blockLen is " + number(copy.values[1]) + " bytes, which is no multiple of the " +
                                number(size) + " bytes of an element");
    }
    if (copy.values[local_stride] > 65535) {
        broken("parameter", std::string(local_stride == 3 ? "dst" : "src") + "Stride is " +
                                number(copy.values[local_stride]) + " blocks; on the UB side it must be 0 to 65535");
    }
    if (call_.struct_count < 2) {
        return;
    }
    const Fields& pad = call_.structs[1];
    for (uint32_t side = 1; side <= 2 && pad.values[0] != 0; ++side) {
        const int64_t most = kBlockBytes / size;
        if (pad.values[side] > most && pad.values[side] <= kBlockBytes) {
            broken("parameter", std::string(side == 1 ? "left" : "right") + "Padding is " + number(pad.values[side]) +
                                    " elements; it must be 0 to " + number(most) + ", which is 32 bytes");
        }
    }
    if (pad.values[0] != 0 && size == 8 && pad.values[3] != 0) {
        broken("parameter", "types of 8 bytes are padded with 0 only");
    }
}

/* What is added to GM has the type that SetAtomic* was given. */
inline void Rules::atomic_type()
{
    const uint8_t type = call_.tensors[1].type;
    if (call_.scalar != 0 && call_.scalar - 1 != type) {
        broken("atomic-type", std::string("copies ") + type_name(type) + " while SetAtomic* is in force for " +
                                  type_name(static_cast<uint8_t>(call_.scalar - 1)));
    }
}

}  // namespace check
}  // namespace pypto_twin

#endif
