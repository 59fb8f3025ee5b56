# ruff: noqa: E501 (lines of the C++ texts)
"""The checked build: undefined values travel with the instructions and are reported where used.

Each kernel is given 64 floats, of which it loads the first 64 or only 56 into ``a``. With 64 nothing
is wrong with any of them; with 56 some use what was never written, and some do not.
"""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from .harness import Harness, Kernel

_STORE, _SCALAR = "undefined-store", "undefined-scalar"
_OFFSET, _MASK = "undefined-offset", "undefined-mask"

_HEAD = """
using namespace AscendC;
template <typename T>
__aicore__ inline LocalTensor<T> At(uint32_t place, uint32_t elements)
{
    return LocalTensor<T>(TPosition::VECCALC, place * 4096, elements);
}
#define BEGIN                                                                                  \\
    GlobalTensor<float> gx, gy, gw;                                                            \\
    gx.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));                                    \\
    gy.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y));                                    \\
    gw.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(workspace));                                  \\
    LocalTensor<float> a = At<float>(0, 64), b = At<float>(1, 1024), c = At<float>(2, 1024);    \\
    LocalTensor<float> d = At<float>(3, 1024);                                                 \\
    LocalTensor<half> ah = a.ReinterpretCast<half>(), bh = b.ReinterpretCast<half>();          \\
    LocalTensor<uint16_t> au = a.ReinterpretCast<uint16_t>(), bu = b.ReinterpretCast<uint16_t>(); \\
    LocalTensor<uint16_t> cu = c.ReinterpretCast<uint16_t>();                                  \\
    LocalTensor<uint32_t> offsets = c.ReinterpretCast<uint32_t>();                             \\
    LocalTensor<int32_t> indices = c.ReinterpretCast<int32_t>();                               \\
    LocalTensor<uint8_t> bits = At<uint8_t>(4, 256);                                           \\
    const UnaryRepeatParams dense(1, 1, 8, 8);                                                 \\
    DataCopy(a, gx, loaded);
#define STORE(from, elements) DataCopy(gy, from, elements);
#define BYTES(from, bytes) DataCopyPad(gy, from, DataCopyExtParams(1, bytes, 0, 0, 0));
"""

# Statements of a kernel, and the rule that it breaks when `a` was filled in part.
_CASES = {
    # what is stored
    "store": ("STORE(a, 64)", _STORE),
    "store_less": ("STORE(a, 56)", None),
    "store_rows": ("DataCopy(gy, a, DataCopyParams(4, 1, 1, 0));", None),
    "store_last_row": ("DataCopy(gy, a[8], DataCopyParams(4, 1, 1, 0));", _STORE),
    "store_bytes": ("BYTES(a, 224)", None),
    "store_one_byte_more": ("BYTES(a, 225)", _STORE),
    "atomic": ("SetAtomicAdd<float>(); STORE(a, 64) SetAtomicNone();", _STORE),
    "set_value": ("for (uint32_t i = 56; i < 64; ++i) a.SetValue(i, 0.0f); STORE(a, 64)", None),
    "set_value_less": ("for (uint32_t i = 57; i < 64; ++i) a.SetValue(i, 0.0f); STORE(a, 64)", _STORE),
    "filled": ("Duplicate(a[56], 0.0f, 8); STORE(a, 64)", None),
    "filled_less": ("Duplicate(a[56], 0.0f, 7); STORE(a, 64)", _STORE),
    "index": ("CreateVecIndex(indices, 0, 64u); STORE(c, 64)", None),
    "arange": ("Arange(indices, 0, 2, 63); STORE(c, 56)", None),
    # lane by lane
    "unary": ("Exp(b, a, 64); STORE(b, 64)", _STORE),
    "unary_less": ("Exp(b, a, 64); STORE(b, 56)", None),
    "scalar_operand": ("Adds(b, a, 1.0f, 64); STORE(b, 64)", _STORE),
    "second_operand": ("Duplicate(c, 1.0f, 64); Add(b, c, a, 64); STORE(b, 64)", _STORE),
    "in_place": ("Adds(a, a, 1.0f, 64); STORE(a, 64)", _STORE),
    "target_is_source": ("Duplicate(c, 1.0f, 64); Axpy(a, c, 2.0f, 64); STORE(a, 64)", _STORE),
    "target_is_source_less": ("Duplicate(c, 1.0f, 64); Axpy(a, c, 2.0f, 64); STORE(a, 56)", None),
    "third_operand": ("Duplicate(b, 1.0f, 64); Duplicate(c, 1.0f, 64); MulAddDst(b, c, a, 64); STORE(b, 64)", _STORE),
    "overwritten": ("Adds(b, a, 1.0f, 64); Duplicate(b, 1.0f, 64); STORE(b, 64)", None),
    "mask": ("Duplicate(b, 0.0f, 64); Adds(b, a, 1.0f, 56, 1, dense); STORE(b, 64)", None),
    "mask_full": ("Duplicate(b, 0.0f, 64); Adds(b, a, 1.0f, 57, 1, dense); STORE(b, 64)", _STORE),
    "mask_bits": ("uint64_t m[2] = {0x00ff00ff00ff00ffu, 0}; Duplicate(b, 0.0f, 64); Adds(b, a, 1.0f, m, 1, dense); STORE(b, 64)", None),
    "mask_one_bit": ("uint64_t m[2] = {1ull << 60, 0}; Duplicate(b, 0.0f, 64); Adds(b, a, 1.0f, m, 1, dense); STORE(b, 64)", _STORE),
    "masked_off_stays": ("Adds(a, a, 1.0f, 56, 1, dense); STORE(a, 64)", _STORE),
    "counter_mode": ("Duplicate(b, 0.0f, 64); SetMaskCount(); SetVectorMask<float, MaskMode::COUNTER>(56); Adds<float, false>(b, a, 1.0f, MASK_PLACEHOLDER, 1, dense); SetMaskNorm(); ResetMask(); STORE(b, 64)", None),
    "counter_mode_more": ("Duplicate(b, 0.0f, 64); SetMaskCount(); SetVectorMask<float, MaskMode::COUNTER>(57); Adds<float, false>(b, a, 1.0f, MASK_PLACEHOLDER, 1, dense); SetMaskNorm(); ResetMask(); STORE(b, 64)", _STORE),
    "strides": ("Adds(b, a, 1.0f, 8, 8, UnaryRepeatParams(1, 1, 1, 1)); STORE(b, 64)", _STORE),
    "strides_gap": ("Adds(b, a, 1.0f, 8, 4, UnaryRepeatParams(1, 1, 1, 2)); STORE(b, 32)", None),
    "block_stride": ("Adds(b, a, 1.0f, 32, 1, UnaryRepeatParams(1, 2, 8, 8)); STORE(b, 32)", None),
    "block_stride_last": ("Adds(b, a[8], 1.0f, 32, 1, UnaryRepeatParams(1, 2, 8, 8)); STORE(b, 32)", _STORE),
    "one_block_for_all": ("Duplicate(c, 1.0f, 64); Add(b, c, a[48], 64, 1, BinaryRepeatParams(1, 1, 0, 8, 8, 0)); STORE(b, 64)", None),
    "undefined_block_for_all": ("Duplicate(c, 1.0f, 64); Add(b, c, a[56], 64, 1, BinaryRepeatParams(1, 1, 0, 8, 8, 0)); STORE(b, 8)", _STORE),
    "fold": ("Duplicate(b, 0.0f, 64); Duplicate(c, 1.0f, 192); Adds(c[64], a, 0.0f, 64); Add(b, c, b, 64, 3, BinaryRepeatParams(1, 1, 1, 0, 8, 0)); STORE(b, 64)", _STORE),
    "fold_less": ("Duplicate(b, 0.0f, 64); Duplicate(c, 1.0f, 192); Adds(c[64], a, 0.0f, 64); Add(b, c, b, 64, 3, BinaryRepeatParams(1, 1, 1, 0, 8, 0)); STORE(b, 56)", None),
    "narrow": ("Cast(bh, a, RoundMode::CAST_NONE, 64); STORE(b, 32)", _STORE),
    "narrow_less": ("Cast(bh, a, RoundMode::CAST_NONE, 64); BYTES(b, 112)", None),
    "widen": ("Cast(b, ah, RoundMode::CAST_NONE, 128); STORE(b, 128)", _STORE),
    "widen_less": ("Cast(b, ah, RoundMode::CAST_NONE, 128); STORE(b, 112)", None),
    "half": ("Adds(bh, ah, (half)1.0f, 113); BYTES(b, 226)", _STORE),
    "half_less": ("Adds(bh, ah, (half)1.0f, 113); BYTES(b, 224)", None),
    "four_bits": ("LocalTensor<int4b_t> four = b.ReinterpretCast<int4b_t>(); Cast(four, ah, RoundMode::CAST_NONE, 128); BYTES(b, 64)", _STORE),
    "four_bits_less": ("LocalTensor<int4b_t> four = b.ReinterpretCast<int4b_t>(); Cast(four, ah, RoundMode::CAST_NONE, 128); BYTES(b, 56)", None),
    "library": ("Tanh(b, a, 64u); STORE(b, 64)", _STORE),
    "library_less": ("Tanh(b, a, 64u); STORE(b, 56)", None),
    # bits
    "and_zero": ("Duplicate(cu, (uint16_t)0xffff, 112); Duplicate(cu[112], (uint16_t)0, 16); And(bu, au, cu, 128); STORE(b, 64)", None),
    "and_one": ("Duplicate(cu, (uint16_t)0, 127); Duplicate(cu[112], (uint16_t)1, 16); And(bu, au, cu, 128); STORE(b, 64)", _STORE),
    "or_ones": ("Duplicate(cu, (uint16_t)0xffff, 128); Or(bu, cu, au, 128); STORE(b, 64)", None),
    "or_zeros": ("Duplicate(cu, (uint16_t)0, 128); Or(bu, cu, au, 128); STORE(b, 64)", _STORE),
    "not": ("Not(bu, au, 128); STORE(b, 64)", _STORE),
    "compare": ("Duplicate(c, 1.0f, 64); Compare(bits, a, c, CMPMODE::LT, 64); BYTES(bits.ReinterpretCast<float>(), 8)", _STORE),
    "compare_less": ("Duplicate(c, 1.0f, 64); Compare(bits, a, c, CMPMODE::LT, 64); BYTES(bits.ReinterpretCast<float>(), 7)", None),
    "compare_second": ("Duplicate(c, 1.0f, 64); Compare(bits, c, a, CMPMODE::LT, 64); BYTES(bits.ReinterpretCast<float>(), 8)", _STORE),
    "compare_bit": ("Duplicate(a[56], 0.0f, 7); Compares(bits, a, 1.0f, CMPMODE::LT, 64); Duplicate(b, 0.0f, 64); Select(b, bits, a, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 63u); STORE(b, 64)", None),
    "select_bits": ("Duplicate(c, 1.0f, 64); Duplicate(d, 2.0f, 64); Compares(bits, a, 1.0f, CMPMODE::LT, 64); Select(b, bits, c, d, SELMODE::VSEL_TENSOR_TENSOR_MODE, 64u); STORE(b, 64)", _STORE),
    "select_bits_less": ("Duplicate(c, 1.0f, 64); Duplicate(d, 2.0f, 64); Compares(bits, a, 1.0f, CMPMODE::LT, 64); Select(b, bits, c, d, SELMODE::VSEL_TENSOR_TENSOR_MODE, 64u); STORE(b, 56)", None),
    "select_other": ("CreateVecIndex(indices, 0, 64u); Cast(d, indices, RoundMode::CAST_NONE, 64); Compares(bits, d, 56.0f, CMPMODE::LT, 64); Select(b, bits, a, d, SELMODE::VSEL_TENSOR_TENSOR_MODE, 64u); STORE(b, 64)", None),
    "select_chosen": ("CreateVecIndex(indices, 0, 64u); Cast(d, indices, RoundMode::CAST_NONE, 64); Compares(bits, d, 57.0f, CMPMODE::LT, 64); Select(b, bits, a, d, SELMODE::VSEL_TENSOR_TENSOR_MODE, 64u); STORE(b, 64)", _STORE),
    "select_scalar": ("CreateVecIndex(indices, 0, 64u); Cast(d, indices, RoundMode::CAST_NONE, 64); Compares(bits, d, 56.0f, CMPMODE::LT, 64); Select(b, bits, a, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 64u); STORE(b, 64)", None),
    "select_register": ("Duplicate(c, 1.0f, 64); Duplicate(d, 2.0f, 64); Compare(a, c, CMPMODE::LT, 64, BinaryRepeatParams()); Select<float, SELMODE::VSEL_CMPMASK_SPR>(b, c, d, 1, BinaryRepeatParams()); STORE(b, 64)", _STORE),
    "select_register_less": ("Duplicate(c, 1.0f, 64); Duplicate(d, 2.0f, 64); Compare(a, c, CMPMODE::LT, 64, BinaryRepeatParams()); Select<float, SELMODE::VSEL_CMPMASK_SPR>(b, c, d, 1, BinaryRepeatParams()); STORE(b, 56)", None),
    "register_to_memory": ("Duplicate(c, 1.0f, 64); Compare(a, c, CMPMODE::LT, 64, BinaryRepeatParams()); GetCmpMask(bits); BYTES(bits.ReinterpretCast<float>(), 8)", _STORE),
    "register_to_memory_less": ("Duplicate(c, 1.0f, 64); Compare(a, c, CMPMODE::LT, 56, BinaryRepeatParams()); GetCmpMask(bits); BYTES(bits.ReinterpretCast<float>(), 16)", None),
    "memory_to_register": ("Duplicate(c, 1.0f, 64); Duplicate(d, 2.0f, 64); SetCmpMask(a[52]); ResetMask(); Select<float, SELMODE::VSEL_CMPMASK_SPR>(b, c, d, 1, BinaryRepeatParams()); STORE(b, 64)", None),
    # many to one
    "whole_sum": ("WholeReduceSum(b, a, 64, 1, 1, 1, 8); BYTES(b, 4)", _STORE),
    "whole_sum_less": ("WholeReduceSum(b, a, 56, 1, 1, 1, 8); BYTES(b, 4)", None),
    "whole_max": ("WholeReduceMax(b, a, 57, 1, 1, 1, 8); BYTES(b, 8)", _STORE),
    "whole_max_less": ("WholeReduceMax(b, a, 56, 1, 1, 1, 8); BYTES(b, 8)", None),
    "whole_rows": ("WholeReduceSum(b, a, 8, 8, 1, 1, 1); BYTES(b, 32)", _STORE),
    "whole_rows_less": ("WholeReduceSum(b, a, 8, 8, 1, 1, 1); BYTES(b, 28)", None),
    "blocks": ("BlockReduceSum(b, a, 1, 64, 1, 1, 8); BYTES(b, 32)", _STORE),
    "blocks_less": ("BlockReduceSum(b, a, 1, 64, 1, 1, 8); BYTES(b, 28)", None),
    "pairs": ("PairReduceSum(b, a, 1, 64, 1, 1, 8); STORE(b, 32)", _STORE),
    "pairs_less": ("PairReduceSum(b, a, 1, 64, 1, 1, 8); BYTES(b, 112)", None),
    "sum": ("ReduceSum(b, a, c, 57); BYTES(b, 4)", _STORE),
    "sum_less": ("ReduceSum(b, a, c, 56); BYTES(b, 4)", None),
    "max": ("ReduceMax(b, a, c, 57, true); BYTES(b, 8)", _STORE),
    "max_less": ("ReduceMax(b, a, c, 56, true); BYTES(b, 8)", None),
    "running_sum": ("CumSumInfo info{8, 8}; CumSum(b, d, a, bits, info); STORE(b, 64)", _STORE),
    "running_sum_less": ("CumSumInfo info{8, 8}; CumSum(b, d, a, bits, info); STORE(b, 56)", None),
    # scalar unit
    "get_value": ("a.GetValue(56);", _SCALAR),
    "get_value_less": ("a.GetValue(55);", None),
    "sum_register": ("WholeReduceSum(b, a, 57, 1, 1, 1, 8); GetReduceRepeatSumSpr<float>();", _SCALAR),
    "sum_register_less": ("WholeReduceSum(b, a, 56, 1, 1, 1, 8); GetReduceRepeatSumSpr<float>();", None),
    "max_register": ("float m; WholeReduceMax(b, a, 57, 1, 1, 1, 8); GetReduceRepeatMaxMinSpr<float>(m);", _SCALAR),
    # moves
    "broadcast": ("Brcb(b, a[48], 2, BrcbRepeatParams(1, 8)); STORE(b, 128)", _STORE),
    "broadcast_spare": ("Brcb(b, a[48], 2, BrcbRepeatParams(1, 8)); STORE(b, 64)", None),
    "local": ("DataCopy(b, a, 64); STORE(b, 64)", _STORE),
    "local_less": ("DataCopy(b, a, 64); STORE(b, 56)", None),
    "masked_copy": ("Duplicate(b, 0.0f, 64); Copy(b, a, 57, 1, CopyRepeatParams(1, 1, 8, 8)); STORE(b, 64)", _STORE),
    "masked_copy_less": ("Duplicate(b, 0.0f, 64); Copy(b, a, 56, 1, CopyRepeatParams(1, 1, 8, 8)); STORE(b, 64)", None),
    "gather_offsets": ("Duplicate(d, 1.0f, 64); Gather(b, d, a.ReinterpretCast<uint32_t>(), 0, 57u); STORE(b, 56)", _OFFSET),
    "gather_offsets_less": ("Duplicate(d, 1.0f, 64); Gather(b, d, a.ReinterpretCast<uint32_t>(), 0, 56u); STORE(b, 56)", None),
    "gather_offsets_mask": ("Duplicate(d, 1.0f, 64); Duplicate(b, 0.0f, 64); Gather(b, d, a.ReinterpretCast<uint32_t>(), 0, (uint64_t)57, 1, 8); STORE(b, 64)", _OFFSET),
    "gather_values": ("Arange(indices, 0, 4, 64); Gather(b, a, offsets, 0, 64u); STORE(b, 64)", _STORE),
    "gather_values_less": ("Arange(indices, 220, -4, 56); Gather(b, a, offsets, 0, 56u); STORE(b, 56)", None),
    "gather_blocks": ("LocalTensor<uint32_t> from = a.ReinterpretCast<uint32_t>(), to = b.ReinterpretCast<uint32_t>(); Arange(indices, 0, 32, 8); Gatherb(to, from, offsets, 1, GatherRepeatParams(1, 8)); STORE(b, 64)", _STORE),
    "gather_block_offsets": ("LocalTensor<uint32_t> at = a.ReinterpretCast<uint32_t>(), to = b.ReinterpretCast<uint32_t>(); Duplicate(c, 1.0f, 1024); Gatherb(to, offsets, at[56], 1, GatherRepeatParams(1, 8));", _OFFSET),
    "compact": ("uint64_t kept; GatherMask(b, a, 1, false, 0, GatherMaskParams(1, 1, 8, 0), kept); STORE(b, 32)", _STORE),
    "compact_less": ("uint64_t kept; GatherMask(b, a, 1, true, 56, GatherMaskParams(1, 1, 8, 0), kept); BYTES(b, 112)", None),
    "compact_bits": ("uint64_t kept; Duplicate(c, 1.0f, 64); GatherMask(b, c, a[48].ReinterpretCast<uint32_t>(), true, 64, GatherMaskParams(1, 1, 8, 0), kept); Duplicate(b, 0.0f, 8);", None),
    "compact_bits_undefined": ("uint64_t kept; Duplicate(c, 1.0f, 64); GatherMask(b, c, a[56].ReinterpretCast<uint32_t>(), true, 64, GatherMaskParams(1, 1, 8, 0), kept);", _MASK),
    # the rest of a last block
    "padding": ("DataCopyPadExtParams<float> pad(false, 0, 0, 0.0f); DataCopyPad(b, gx, DataCopyExtParams(1, loaded * 4 - 16, 0, 0, 0), pad); STORE(b, 56) if (loaded == 64) { return; } STORE(b, 56)", _STORE),
    # workspace
    "workspace": ("DataCopy(gw, a, 64); DataCopy(b, gw, 64); STORE(b, 64)", _STORE),
    "workspace_less": ("DataCopy(gw, a, 64); DataCopy(b, gw, 64); STORE(b, 56)", None),
    "workspace_unwritten": ("DataCopy(gw, a, loaded); DataCopy(b, gw, 64); STORE(b, 64)", _STORE),
    "workspace_sum": ("Duplicate(c, 0.0f, 64); DataCopy(gw, c, 64); SetAtomicAdd<float>(); DataCopy(gw, a, 64); SetAtomicNone(); DataCopy(b, gw, 64); STORE(b, 64)", _STORE),
    "workspace_sum_of_nothing": ("Duplicate(c, 0.0f, 64); DataCopy(gw, c, loaded); SetAtomicAdd<float>(); DataCopy(gw, c, 64); SetAtomicNone(); DataCopy(b, gw, 64); STORE(b, 64)", _STORE),
    "workspace_scalar": ("DataCopy(gw, a, 64); gw.GetValue(60);", _SCALAR),
    "workspace_set": ("DataCopy(gw, a, 64); gw.SetValue(60, 1.0f); gw.GetValue(60);", None),
}  # fmt: skip

# Kernels that are wrong, or not, whatever is loaded: statements, rules, and what the text says.
_FIXED = {
    "rest": ("DataCopyPad(b, gx, DataCopyExtParams(2, 20, 0, 0, 0), DataCopyPadExtParams<float>(false, 0, 0, 0.0f)); STORE(b, 16)", _STORE, "stores an undefined value to 'y', element 5 (byte 4116 of UB): the rest of a last block, which DataCopyPad leaves undefined"),
    "rest_second_row": ("DataCopyPad(b, gx, DataCopyExtParams(2, 20, 0, 0, 0), DataCopyPadExtParams<float>(false, 0, 0, 0.0f)); DataCopyPad(gy[3], b, DataCopyExtParams(1, 20, 0, 0, 0)); STORE(b[8], 8)", _STORE, "stores an undefined value to 'y', element 5 (byte 4148 of UB): the rest of a last block, which DataCopyPad leaves undefined"),
    "rest_left": ("DataCopyPad(b, gx, DataCopyExtParams(2, 20, 0, 0, 0), DataCopyPadExtParams<float>(false, 0, 0, 0.0f)); DataCopyPad(gy, b, DataCopyExtParams(2, 20, 0, 0, 0));", None, ""),
    "rest_filled": ("DataCopyPad(b, gx, DataCopyExtParams(2, 20, 0, 0, 0), DataCopyPadExtParams<float>(true, 0, 3, 1.0f)); STORE(b, 16)", None, ""),
    "left_filled": ("DataCopyPad(b, gx, DataCopyExtParams(2, 20, 0, 0, 0), DataCopyPadExtParams<float>(true, 2, 1, 1.0f)); STORE(b, 16)", None, ""),
    "rest_by_value": ("SetPadValue(1.0f); DataCopyPad(b, gx, DataCopyExtParams(2, 20, 0, 0, 0), DataCopyPadExtParams<float>(false, 0, 0, 0.0f)); STORE(b, 16)", None, ""),
    "nothing": ("STORE(d, 8)", _STORE, "stores an undefined value to 'y', element 0 (byte 12288 of UB): never written"),
    "workspace_alone": ("DataCopy(b, gw, 8); STORE(b, 8)", _STORE, "stores an undefined value to 'y', element 0 (byte 4096 of UB): workspace that was never written"),
    "first_of_two": ("Exp(b, d, 8); Adds(b, b, 1.0f, 8); STORE(b, 8) STORE(b, 8)", _STORE, "stores an undefined value to 'y', element 0 (byte 4096 of UB): never written"),
    "stale": ("TPipe pipe; TQue<TPosition::VECIN, 1> in; pipe.InitBuffer(in, 1, 256); for (int i = 0; i < 2; ++i) { LocalTensor<float> t = in.AllocTensor<float>(); DataCopy(t, gx, i == 0 ? 64 : 56); in.EnQue(t); t = in.DeQue<float>(); DataCopy(gy, t, 64); in.FreeTensor(t); }", _STORE, "stores an undefined value to 'y', element 56: never written since AllocTensor", "bytes 224 to 256 of 256"),
    "new_buffer": ("TPipe pipe; TBuf<TPosition::VECCALC> one, two; pipe.InitBuffer(one, 64); pipe.InitBuffer(two, 64); STORE(two.Get<float>(), 16)", _STORE, "stores an undefined value to 'y', element 0: never written since InitBuffer", "bytes 0 to 64 of 64"),
    "reset": ("TPipe pipe; Duplicate(b, 1.0f, 8); pipe.Reset(); STORE(b, 8)", _STORE, "stores an undefined value to 'y', element 0 (byte 4096 of UB): never written since TPipe::Reset"),
    "scratch": ("LocalTensor<uint8_t> tmp = b.ReinterpretCast<uint8_t>(); Duplicate(b, 0.0f, 1024); Tanh(c, a, tmp, 64u); STORE(c, 64) STORE(b, 8)", _STORE, "stores an undefined value to 'y', element 0 (byte 4096 of UB): left by a function in its temporary buffer"),
    "uncached": ("ReadGmByPassDCache(reinterpret_cast<__gm__ int32_t*>(workspace) + 3);", _SCALAR, "what the scalar unit reads is undefined: workspace that was never written", "workspace: bytes 12 to 16 of 256"),
    "uncached_written": ("__gm__ int32_t* at = reinterpret_cast<__gm__ int32_t*>(workspace); WriteGmByPassDCache(at, 0); AtomicAdd(at, 1); ReadGmByPassDCache(at);", None, ""),
    "scalar_text": ("d.GetValue(3);", _SCALAR, "what the scalar unit reads is undefined (byte 12300 of UB): never written"),
    "scalar_workspace_text": ("gw.GetValue(3);", _SCALAR, "what the scalar unit reads is undefined: workspace that was never written", "workspace: bytes 12 to 16 of 256"),
    "offset_text": ("Gather(b, a, offsets, 0, 1u);", _OFFSET, "an offset of Gather is undefined (byte 8192 of UB): never written"),
    "mask_text": ("uint64_t kept; GatherMask(b, a, offsets, true, 12, GatherMaskParams(1, 1, 8, 0), kept);", _MASK, "a bit of GatherMask is undefined (byte 8192 of UB): never written"),
    "register_text": ("GetReduceRepeatSumSpr<float>();", _SCALAR, "the sum that the scalar unit reads is undefined: never written"),
}  # fmt: skip


@pytest.fixture(scope="module")
def kernels(twin: Harness) -> dict[str, Kernel]:
    bodies = {name: body for name, (body, *_) in (*_CASES.items(), *_FIXED.items())}
    text = _HEAD + "".join(
        f'extern "C" __global__ __vector__ void k_{name}(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, '
        f"uint32_t loaded)\n{{\nBEGIN\n{body}\n}}\n"
        for name, body in bodies.items()
    )
    built = twin.compile(text, [f"k_{name}" for name in bodies], build="checked")
    return {name.removeprefix("k_"): kernel for name, kernel in built.items()}


def _found(kernel: Kernel, loaded: int) -> list[tuple[str, str, str]]:
    """Rule, text and memory of what is undefined. The floats' bits are offsets, too."""
    x = (np.arange(64, dtype=np.uint32) * 4).view(np.float32)
    y, w = np.zeros(128, dtype=np.float32), np.zeros(64, dtype=np.float32)
    kernel(x, y, w, ctypes.c_uint32(loaded))
    found = kernel.report()
    return [(rule, text, at) for rule, _, text, at, *_ in found if rule.startswith("undefined")]


@pytest.mark.parametrize("name", _CASES)
def test_nothing_is_wrong_with_what_was_written(kernels: dict[str, Kernel], name: str) -> None:
    assert _found(kernels[name], 64) == []


@pytest.mark.parametrize("name", _CASES)
def test_a_part_was_not_written(kernels: dict[str, Kernel], name: str) -> None:
    found = _found(kernels[name], 56)
    expected = _CASES[name][1]
    assert {rule for rule, *_ in found} == ({expected} if expected else set()), found


@pytest.mark.parametrize("name", _FIXED)
def test_texts(kernels: dict[str, Kernel], name: str) -> None:
    _, rule, text, *memory = _FIXED[name]
    assert _found(kernels[name], 64) == ([(rule, text, *(memory or [""]))] if rule else [])
