# ruff: noqa: E501 (lines of the C++ texts)
"""The checked build knows what each instruction takes: each rule is broken once, and found."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tools import twin_table

from .harness import CUBE, VECTOR, Harness, Kernel

_HEAD = """
using namespace AscendC;
template <typename T> LocalTensor<T> at(uint32_t byte, uint32_t bytes = 4096)
{ return LocalTensor<T>(TPosition::VECCALC, byte, bytes / sizeof(T)); }
#define KERNEL(name) extern "C" __global__ __vector__ void name(GM_ADDR x, int32_t n)
#define BEGIN                                                                                  \\
    const auto a = at<float>(0), b = at<float>(8192), c = at<float>(16384);                    \\
    const auto h = at<half>(24576), i = at<half>(32768);                                       \\
    const auto u = at<int32_t>(40960), v = at<int32_t>(49152);                                 \\
    Duplicate(a, 1.0f, 1024); Duplicate(b, 1.0f, 1024); Duplicate(h, half(1.0f), 2048);        \\
    Duplicate(u, 1, 1024);                                                                     \\
    PipeBarrier<PIPE_V>();
"""

# Statements of a kernel, and what is found: the rule and a part of its text.
_CASES = {
    "lawful": ("Add(c, a, b, n); PipeBarrier<PIPE_V>(); Add(c, c, a, n); PipeBarrier<PIPE_V>(); Adds(c, a, 1.0f, uint64_t(64), uint8_t(4), UnaryRepeatParams(1, 1, 8, 8));", []),
    "align_dst": ("Add(c[1], a, b, n);", [("align", "Add: dst starts at byte 16388 of UB, which is no multiple of 32")]),
    "align_src": ("Adds(c, a[7], 1.0f, n);", [("align", "Adds: src starts at byte 28 of UB, which is no multiple of 32")]),
    "count_negative": ("Add(c, a, b, -n);", [("count", "Add: the count is -64; it must be at least 0")]),
    "repeat_over": ("Adds(c, a, 1.0f, uint64_t(1), n + 192, UnaryRepeatParams(1, 1, 0, 0));", [("repeat", "Adds: the repeat count is 256; it must be 0 to 255")]),
    "stride_over": ("Adds(c, a, 1.0f, uint64_t(64), 1, UnaryRepeatParams(1, 1, 8, n * 4));", [("parameter", "Adds: srcRepStride is 256; it must be 0 to 255 (32B blocks)")]),
    "stride_field": ("BinaryRepeatParams p; p.src1RepStride = n * 5; Add(c, a, b, uint64_t(64), 1, p);", [("parameter", "Add: src1RepStride is 320; it must be 0 to 255 (32B blocks)")]),
    "stride_zero": ("Adds(c, a, 1.0f, uint64_t(8), 1, UnaryRepeatParams(0, 1, 8, 8));", [("parameter", "Adds: dstBlkStride is 0; it must be 1 to 65535 (32B blocks)")]),
    "mask_long": ("Adds(c, a, 1.0f, uint64_t(65), 1, UnaryRepeatParams());", [("mask-length", "Adds: the mask has 65 lanes; a repeat of these types has 64")]),
    "mask_mode": ("SetMaskCount(); Adds(c, a, 1.0f, uint64_t(64), 1, UnaryRepeatParams()); SetMaskNorm();", [("mask-mode", "Adds: a repeat form with isSetMask = true in counter mode takes its mask bits as a total")]),
    "overlap": ("Adds(c[8], c, 1.0f, n);", [("overlap", "Adds: src shares bytes with dst and does not start where dst starts")]),
    "overlap_behind": ("Adds(c, c[8], 1.0f, n);", [("overlap", "Adds: src shares bytes with dst and does not start where dst starts")]),
    "overlap_strides": ("Adds(c, c, 1.0f, uint64_t(64), 2, UnaryRepeatParams(1, 1, 8, 16));", [("overlap", "Adds: src starts where dst starts, with other strides")]),
    "interleaved": ("Adds(c, c[8], 1.0f, uint64_t(8), 4, UnaryRepeatParams(1, 1, 2, 2));", []),
    "accumulate": ("Add(c, a, c, uint64_t(64), 4, BinaryRepeatParams(1, 1, 1, 0, 8, 0));", []),
    "accumulate_div": ("Div(c, a, c, uint64_t(64), 4, BinaryRepeatParams(1, 1, 1, 0, 8, 0));", [("overlap", "Div: src1 is dst, and a repeat reads what an earlier one wrote")]),
    "widening_alias": ("MulAddDst(c, c.ReinterpretCast<half>(), h, n);", [("overlap", "MulAddDst: src0 is dst with elements of another size")]),
    "cast_mode": ("Cast(h, a, n > 0 ? RoundMode::CAST_ODD : RoundMode::CAST_NONE, n); Cast(u, a, n > 0 ? RoundMode::CAST_NONE : RoundMode::CAST_RINT, n);", [("cast-mode", "Cast: float to int32_t has no mode CAST_NONE")]),
    "cast_widening": ("Cast(c, c.ReinterpretCast<half>(), RoundMode::CAST_NONE, n);", [("overlap", "Cast: src is dst with elements of another size")]),
    "cast_one_size": ("Cast(c.ReinterpretCast<int32_t>(), c, RoundMode::CAST_RINT, n);", []),
    "duplicate_stride": ("Duplicate(c, 1.0f, uint64_t(64), uint8_t(2), n * 1024, 8);", [("parameter", "Duplicate: dstBlkStride is 65536; it must be 1 to 65535 (32B blocks)")]),
    "duplicate_repeat": ("Duplicate(c, 1.0f, uint64_t(64), n * 4, 1, 0);", [("repeat", "Duplicate: the repeat count is 256; it must be 0 to 255")]),
    "brcb_overlap": ("Brcb(a, a[8], 1, BrcbRepeatParams(1, 8));", [("overlap", "Brcb: src shares bytes with dst and does not start where dst starts")]),
    "brcb_stride": ("Brcb(c, a, 1, BrcbRepeatParams(0, 8));", [("parameter", "Brcb: the block stride of dst is 0, so the blocks of a repeat are written one over the other")]),
    "index_mode": ("SetMaskCount(); CreateVecIndex(u, 0, uint32_t(n)); SetMaskNorm();", [("mask-mode", "CreateVecIndex: the count form needs normal mask mode; SetMaskCount is in force")]),
    "arange_step": ("Arange<int32_t>(u, 0, -1, n);", [("parameter", "Arange: the step is negative; it must be at least 0")]),
    "copy_default": ("Copy(c, a, uint64_t(64), 1, CopyRepeatParams());", [("parameter", "Copy: the block stride of dst is 0, so the blocks of a repeat are written one over the other")]),
    "copy_repeat": ("Copy(c, a, uint64_t(8), 1, CopyRepeatParams(1, 1, n * 64, 8));", [("parameter", "Copy: dstRepeatSize is 4096; it must be 0 to 4095 (32B blocks)")]),
    "compare_count": ("Compare(c.ReinterpretCast<uint8_t>(), a, b, CMPMODE::LT, n - 1);", [("count", "Compare: the count is 63, 252 bytes; it must be a multiple of 256 bytes")]),
    "compare_mode": ("Compares(c.ReinterpretCast<uint8_t>(), u, 3, CMPMODE::LT, n);", [("compare-mode", "Compares: int32_t has the mode EQ only")]),
    "compare_same": ("Compare(a.ReinterpretCast<uint8_t>(), a, b, CMPMODE::LT, n);", [("overlap", "Compare: src0 is dst, which this instruction does not allow")]),
    "select_mode": ("Select(c, b.ReinterpretCast<uint8_t>(), a, b, SELMODE::VSEL_TENSOR_SCALAR_MODE, n);", [("select-mode", "Select(tensor,tensor): VSEL_TENSOR_SCALAR_MODE goes with a scalar, the other modes with a tensor")]),
    "select_align": ("Select(c, b.ReinterpretCast<uint8_t>()[8], a, a, SELMODE::VSEL_TENSOR_TENSOR_MODE, n);", [("align", "Select(tensor,tensor): mask starts at byte 8200 of UB, which is no multiple of 32")]),
    "gather_offset": ("const auto w = v.ReinterpretCast<uint32_t>(); Duplicate(w, 2u, 8); PipeBarrier<PIPE_V>(); Gather(c, a, w, 0, 8);", [("gather-offset", "an offset is 2 bytes, which is no multiple of 4")]),
    "gather_base": ("const auto w = v.ReinterpretCast<uint32_t>(); Duplicate(w, 2u, 8); PipeBarrier<PIPE_V>(); Gather(c, a, w, 2, 8);", [("gather-offset", "Gather: the base is 2 bytes, which is no multiple of 4")]),
    "gather_self": ("const auto w = v.ReinterpretCast<uint32_t>(); Duplicate(w, 0u, 8); PipeBarrier<PIPE_V>(); Gather(a, a, w, 0, 8);", [("overlap", "Gather: src is dst, which this instruction does not allow")]),
    "pattern": ("uint64_t kept = 0; GatherMask(c, a, uint8_t(n), false, 0, GatherMaskParams(1, 1, 8, 0), kept);", [("parameter", "GatherMask(pattern): the pattern is 64; it must be 1 to 7")]),
    "reduce_count": ("ReduceMax<float>(c, a, b, n - 64);", [("count", "ReduceMax: the count is 0; it must be at least 1")]),
    "reduce_align": ("ReduceMax<float>(c[1], a, b, n, true);", [("align", "ReduceMax: dst starts at byte 16388 of UB, which is no multiple of 8")]),
    "reduce_tmp": ("ReduceMax<float>(c, a, at<float>(57344, 32), n * 16);", [("tmp-size", "ReduceMax: the buffer for intermediate results has 32 bytes; it needs 128")]),
    "whole_repeat": ("WholeReduceSum<float>(c, a, 1, n * 4, 1, 1, 0);", [("repeat", "WholeReduceSum: the repeat count is 256; it must be 0 to 255")]),
    "whole_stride": ("WholeReduceMax<float>(c, a, 64, 1, 65536, 1, 8);", [("parameter", "WholeReduceMax: dstRepStride is 65536; it must be 0 to 65535 (pairs; ORDER_ONLY_VALUE: values; ORDER_ONLY_INDEX: uint32)")]),
    "block_align": ("BlockReduceMax<float>(c[4], a, 1, 64, 1, 1, 8);", [("align", "BlockReduceMax: dst starts at byte 16400 of UB, which is no multiple of 32")]),
    "whole_mask": ("WholeReduceMin<float>(c, a, n + 1, 1, 1, 1, 8);", [("mask-length", "WholeReduceMin: the mask has 65 lanes; a repeat of these types has 64")]),
    "tanh_tmp": ("Tanh<float>(c, a, at<uint8_t>(57344, 128), n);", [("tmp-size", "Tanh: the buffer for intermediate results has 128 bytes; it needs 256")]),
    "tanh_same": ("Tanh<float>(a, a, at<uint8_t>(57344), n);", [("overlap", "Tanh: src is dst, which this instruction does not allow")]),
    "tanh_zero": ("Tanh<float>(c, a, at<uint8_t>(57344), n - 64);", [("count", "Tanh: the count is 0; it must be at least 1")]),
    "tanh_parts": ("Tanh<float>(c, a, at<uint8_t>(16384 + 128), n);", [("overlap", "Tanh: tmp shares bytes with dst")]),
    "power_tmp": ("Power<float>(c, a, 2.0f, at<uint8_t>(57344, 1280), n);", [("tmp-size", "Power(tensor,scalar): the buffer for intermediate results has 1280 bytes; it needs 1536")]),
    "copy_count": ("GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)x); DataCopy(c, g, n + 1);", [("count", "DataCopy(GM->UB): the count is 65, 260 bytes; it must be a multiple of 32 bytes")]),
    "copy_align": ("GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)x); DataCopy(c[2], g, n);", [("align", "DataCopy(GM->UB): dst starts at byte 16392 of UB, which is no multiple of 32")]),
    "copy_gm": ("GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)(x + 2)); DataCopy(c, g, n);", [("align", "DataCopy(GM->UB): src starts at an address of GM that is 2 past a multiple of 4")]),
    "copy_blocks": ("GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)x); DataCopy(c, g, DataCopyParams(n * 64, 0, 0, 0));", [("parameter", "DataCopy(GM->UB): blockCount is 4096; it must be 0 to 4095 (count)")]),
    "copy_length": ("GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)x); DataCopyParams p; p.blockLen = n * 1024; DataCopy(c, g, p);", [("parameter", "DataCopy(GM->UB): blockLen is 65536; it must be 0 to 65535 (32B blocks (C2 as dst: 64B, C2PIPE2GM: 128B))")]),
    "pad_length": ("GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)x); DataCopyPad(c, g, DataCopyExtParams(1, n - 1, 0, 0, 0), DataCopyPadExtParams<float>());", [("parameter", "DataCopyPad(GM->UB): blockLen is 63 bytes, which is no multiple of the 4 bytes of an element")]),
    "pad_sides": ("GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)x); DataCopyPad(c, g, DataCopyExtParams(1, n, 0, 0, 0), DataCopyPadExtParams<float>(true, 9, 0, 0.0f));", [("parameter", "DataCopyPad(GM->UB): leftPadding is 9 elements; it must be 0 to 8, which is 32 bytes")]),
    "pad_stride": ("GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)x); DataCopyPad(g, c, DataCopyExtParams(1, n, n * 1024, 0, 0));", [("parameter", "DataCopyPad(UB->GM): srcStride is 65536 blocks; on the UB side it must be 0 to 65535")]),
    "pad_wide": ("GlobalTensor<int64_t> g; g.SetGlobalBuffer((__gm__ int64_t*)x); DataCopyPad(c.ReinterpretCast<int64_t>(), g, DataCopyExtParams(1, n, 0, 0, 0), DataCopyPadExtParams<int64_t>(true, 0, 1, 7));", [("parameter", "DataCopyPad(GM->UB): types of 8 bytes are padded with 0 only")]),
    "atomic": ("GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)x); SetAtomicAdd<int32_t>(); DataCopy(g, a, n); SetAtomicNone(); DataCopy(g, a, n);", [("atomic-type", "DataCopy(UB->GM): copies float while SetAtomic* is in force for int32_t")]),
    "shift": ("ShiftLeft(v, u, 33, n);", [("parameter", "ShiftLeft: the shift is 33; it must be 0 to 32")]),
    "count_wide": ("const int64_t m = n; Add(c, a, b, m); Tanh<float>(c, a, at<uint8_t>(57344), uint64_t(m)); DataCopy(c, a, m); Duplicate(c, 1.0f, m);", []),
    "count_cut": ("const int64_t m = (int64_t(1) << 32) + n; Add(c, a, b, m);", [("count", "Add: the count is 4294967360, which the 32 bits of the parameter do not hold")]),
    "count_cut_library": ("Tanh<float>(c, a, at<uint8_t>(57344), uint64_t(n) << 32);", [("count", "Tanh: the count is 274877906944, which the 32 bits of the parameter do not hold")]),
    "count_cut_copy": ("GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)x); DataCopy(c, g, (uint64_t(1) << 32) | uint64_t(n));", [("count", "DataCopy(GM->UB): the count is 4294967360, which the 32 bits of the parameter do not hold")]),
    "count_cut_cast": ("Cast(h, a, RoundMode::CAST_NONE, (uint64_t(1) << 32) | uint64_t(n));", [("count", "Cast: the count is 4294967360, which the 32 bits of the parameter do not hold")]),
    "merge_past": ("uint16_t l[4] = {8, 8, 0, 0}; MrgSort<float>(at<float>(196544, 64), MrgSortSrcList<float>(a, a[16], a, a), MrgSort4Info(l, true, 3, 1));", [("bounds", "writes bytes 196544 to 196608 of UB, of which kernels may use 188160")]),
    "merge": ("uint16_t l[4] = {8, 8, 8, 8}; MrgSort<float>(c, MrgSortSrcList<float>(a, a[16], b, b[16]), MrgSort4Info(l, false, 15, 1));", []),
    "merge_behind": ("uint16_t l[4] = {8, 8, 0, 0}; MrgSort<float>(c[32], MrgSortSrcList<float>(c, c[16], c, c), MrgSort4Info(l, false, 3, 1));", []),
    "merge_self": ("uint16_t l[4] = {8, 8, 0, 0}; MrgSort<float>(a, MrgSortSrcList<float>(a, b, b, b), MrgSort4Info(l, false, 3, 1));", [("overlap", "MrgSort: src0 is dst, which this instruction does not allow")]),
    "merge_part": ("uint16_t l[4] = {8, 8, 0, 0}; MrgSort<float>(a, MrgSortSrcList<float>(b, a[24], b, b), MrgSort4Info(l, false, 3, 1));", [("overlap", "MrgSort: src1 shares bytes with dst and does not start where dst starts")]),
    "merge_fourth": ("uint16_t l[4] = {8, 8, 8, 8}; uint32_t s[4]; MrgSort<float>(c, MrgSortSrcList<float>(a, a[16], b, c[56]), l, s, 15, 1);", [("overlap", "MrgSort: src3 shares bytes with dst")]),
    "merge_repeats": ("uint16_t l[4] = {8, 8, 0, 0}; uint32_t s[4]; MrgSort<float>(a, MrgSortSrcList<float>(b, a[32], b, b), l, s, 3, n / 32);", [("overlap", "MrgSort: src1 shares bytes with dst and does not start where dst starts")]),
    "merge_unused": ("uint16_t l[4] = {8, 8, 8, 0}; MrgSort<float>(c, MrgSortSrcList<float>(a, a[16], b, c), MrgSort4Info(l, false, 7, 1));", []),
    "counter": ("SetMaskCount(); SetVectorMask<float, MaskMode::COUNTER>(0, 1000); Adds<float, false>(c, b, 1.0f, MASK_PLACEHOLDER, 1, UnaryRepeatParams()); PipeBarrier<PIPE_V>(); Adds<float, false>(c, c, 1.0f, MASK_PLACEHOLDER, 1, UnaryRepeatParams()); SetMaskNorm(); ResetMask();", []),
    "counter_ones": ("SetMaskCount(); ResetMask(); Adds<float, false>(c, b, 1.0f, MASK_PLACEHOLDER, 1, UnaryRepeatParams());", [("overlap", "Adds: src shares bytes with dst and does not start where dst starts"), ("bounds", "writes bytes 16384 to 17179885312 of UB, of which kernels may use 188160")]),
    "counter_in_place": ("SetMaskCount(); ResetMask(); Adds<float, false>(c, c, 1.0f, MASK_PLACEHOLDER, 1, UnaryRepeatParams());", [("bounds", "writes bytes 16384 to 17179885312 of UB, of which kernels may use 188160")]),
    "counter_gaps": ("SetMaskCount(); ResetMask(); Adds<float, false>(c, c, 1.0f, MASK_PLACEHOLDER, 1, UnaryRepeatParams(1, 1, 16, 16));", [("buffer-bounds", "writes 256 bytes past the end of a tensor"), ("bounds", "writes bytes 188416 to 188672 of UB, of which kernels may use 188160")]),
    "counter_stays": ("SetMaskCount(); ResetMask(); Adds<float, false>(c, b, 1.0f, MASK_PLACEHOLDER, 1, UnaryRepeatParams(1, 1, 0, 8));", [("overlap", "Adds: src shares bytes with dst and does not start where dst starts"), ("bounds", "reads bytes 8192 to 17179877120 of UB, of which kernels may use 188160")]),
    "counter_cast": ("SetMaskCount(); ResetMask(); Cast<half, float, false>(i, b, RoundMode::CAST_NONE, MASK_PLACEHOLDER, 1, UnaryRepeatParams(1, 1, 4, 8));", [("overlap", "Cast: src shares bytes with dst and does not start where dst starts"), ("bounds", "writes bytes 32768 to 8589967232 of UB, of which kernels may use 188160")]),
    "counter_reduce": ("SetMaskCount(); ResetMask(); WholeReduceSum<float, false>(c, a, MASK_PLACEHOLDER, 1, 1, 1, 8);", [("overlap", "WholeReduceSum: src shares bytes with dst and does not start where dst starts"), ("buffer-bounds", "reads 32 bytes past the end of a tensor"), ("bounds", "reads bytes 188160 to 188192 of UB, of which kernels may use 188160")]),
    "counter_select": ("SetMaskCount(); ResetMask(); Select<float, SELMODE::VSEL_CMPMASK_SPR>(c, a, b, 1, BinaryRepeatParams());", [("overlap", "Select(register): src0 shares bytes with dst and does not start where dst starts"), ("buffer-bounds", "writes 32 bytes past the end of a tensor"), ("bounds", "writes bytes 188160 to 188192 of UB, of which kernels may use 188160")]),
    "count_most": ("Add(c, c, b, int32_t(~0u >> 1) + n - 64);", [("overlap", "Add: src1 shares bytes with dst and does not start where dst starts"), ("bounds", "writes bytes 16384 to 8589950972 of UB, of which kernels may use 188160")]),
    "count_most_domain": ("Log<float>(c, a, uint32_t(n) * 33554431);", [("overlap", "Log: src shares bytes with dst and does not start where dst starts"), ("bounds", "writes bytes 16384 to 8589950720 of UB, of which kernels may use 188160")]),
    "repeat_most": ("Adds(c, c, 1.0f, uint64_t(64), n << 24, UnaryRepeatParams());", [("repeat", "Adds: the repeat count is 1073741824; it must be 0 to 255")]),
    "pattern_most": ("uint64_t kept = 0; GatherMask(c, a, uint8_t(1), true, uint32_t(n - 65), GatherMaskParams(1, 1, 8, 0), kept);", [("buffer-bounds", "reads 32 bytes past the end of a tensor"), ("bounds", "reads bytes 188160 to 188192 of UB, of which kernels may use 188160")]),
    "pattern_stays": ("uint64_t kept = 0; GatherMask(c, a, uint8_t(7), false, 0, GatherMaskParams(1, 2000, 0, 0), kept);", [("bounds", "writes bytes 16384 to 212996 of UB, of which kernels may use 188160")]),
    "pattern_bits_most": ("uint64_t kept = 0; GatherMask(c, a, v.ReinterpretCast<uint32_t>(), true, uint32_t(n - 65), GatherMaskParams(1, 1, 8, 8), kept);", [("bounds", "reads bytes 49152 to 536920064 of UB, of which kernels may use 188160")]),
    "lists": ("LocalTensor<half> d[16], s[16]; for (int k = 0; k < 16; ++k) { d[k] = i[k * 16]; s[k] = h[k * 16]; } TransDataTo5HD<half>(d, s, TransDataTo5HDParams(false, false, 2, 16, 16)); TransDataTo5HD<half>(s, s, TransDataTo5HDParams(false, false, 2, 16, 16)); TransDataTo5HD<half>(d, s, TransDataTo5HDParams(false, false, 1, 0, 0));", []),
    "lists_repeat": ("LocalTensor<half> d[16], s[16]; for (int k = 0; k < 16; ++k) { d[k] = h[256 + k * 16]; s[k] = h[k * 16]; } TransDataTo5HD<half>(d, s, TransDataTo5HDParams(false, false, 2, 16, 16));", [("overlap", "TransDataTo5HD: src shares bytes with dst, and its blocks are not those of dst in the same order")]),
    "lists_one_repeat": ("LocalTensor<half> d[16], s[16]; for (int k = 0; k < 16; ++k) { d[k] = h[256 + k * 16]; s[k] = h[k * 16]; } TransDataTo5HD<half>(d, s, TransDataTo5HDParams(false, false, 1, 0, 0));", []),
    "lists_in_place": ("LocalTensor<half> s[16]; for (int k = 0; k < 16; ++k) { s[k] = h[k * 16]; } TransDataTo5HD<half>(s, s, TransDataTo5HDParams(false, false, 2, 8, 8));", [("overlap", "TransDataTo5HD: src is dst, and a repeat reads what an earlier one wrote")]),
    "lists_strides": ("LocalTensor<half> s[16]; for (int k = 0; k < 16; ++k) { s[k] = h[k * 16]; } TransDataTo5HD<half>(s, s, TransDataTo5HDParams(false, false, 2, 16, 32));", [("overlap", "TransDataTo5HD: src starts where dst starts, with other strides")]),
    "lists_halves": ("const auto e = h.ReinterpretCast<int8_t>(); LocalTensor<int8_t> s[16]; for (int k = 0; k < 16; ++k) { s[k] = e[k * 32]; } TransDataTo5HD<int8_t>(s, s, TransDataTo5HDParams(true, false, 1, 0, 0));", []),
    "lists_stride": ("LocalTensor<half> d[16], s[16]; for (int k = 0; k < 16; ++k) { d[k] = i[k * 16]; s[k] = h[k * 16]; } TransDataTo5HD<half>(d, s, TransDataTo5HDParams(false, false, 1, 16, 16));", [("parameter", "TransDataTo5HD: dstRepStride is 16; with a repeatTimes of 1 it must be 0")]),
    "lists_stride_src": ("LocalTensor<half> d[16], s[16]; for (int k = 0; k < 16; ++k) { d[k] = i[k * 16]; s[k] = h[k * 16]; } TransDataTo5HD<half>(d, s, TransDataTo5HDParams(false, false, 1, 0, 16));", [("parameter", "TransDataTo5HD: srcRepStride is 16; with a repeatTimes of 1 it must be 0")]),
    "deq": ("SetDeqScale(half(0.5f)); Cast(h, u, RoundMode::CAST_NONE, n); AddDeqRelu(i, u, u, n);", []),
    "deq_offset": ("SetDeqScale(0.5f, 0, true); Cast(h, u, RoundMode::CAST_NONE, n);", []),
    "deq_never": ("Cast(h, u, RoundMode::CAST_NONE, n);", [("deq-scale", "Cast: int32_t to half takes the scale of SetDeqScale, and nothing has set one")]),
    "deq_repeat": ("Cast(h, u, RoundMode::CAST_NONE, uint64_t(64), uint8_t(1), UnaryRepeatParams(1, 1, 4, 8));", [("deq-scale", "Cast: int32_t to half takes the scale of SetDeqScale, and nothing has set one")]),
    "deq_fused": ("AddDeqRelu(h, u, u, n);", [("deq-scale", "AddDeqRelu: int32_t to half takes the scale of SetDeqScale, and nothing has set one")]),
    "deq_not_needed": ("Cast(c, u, RoundMode::CAST_NONE, n); Cast(h, a, RoundMode::CAST_NONE, n);", []),
    "second_word": ("const uint64_t m[2] = {~uint64_t(0), uint64_t(n)}; Adds(c, a, 1.0f, m, uint8_t(1), UnaryRepeatParams());", []),
    "domain": ("Duplicate(b, 65504.0f, 8); Duplicate(b[8], -65504.0f, 8); Sin<float>(c, b, at<uint8_t>(57344), 16); Log<float>(c, a, n);", []),
    "domain_sin": ("Duplicate(b, 65504.0f, 8); Duplicate(b[8], -65536.0f, 8); Cos<float>(c, b, at<uint8_t>(57344), 16); Cos<float>(c, b, at<uint8_t>(57344), 8);", [("domain", "Cos: element 8 of src is -65536; the function is documented for abs x <= 65504")]),
    "domain_log": ("Duplicate(b, 0.0f, 8); Log<float>(c, b, 8);", [("domain", "Log: element 0 of src is 0; the function is documented for x > 0")]),
    "domain_half": ("Duplicate(h, half(1.5f), 16); Asin<half>(i, h, at<uint8_t>(57344), 16);", [("domain", "Asin: element 0 of src is 1.5; the function is documented for abs x <= 1")]),
    "domain_nan": ("Duplicate(b.ReinterpretCast<int32_t>(), 0x7fc00000, 8); Log<float>(c, b, 8); Duplicate(b, 0.0f, 8); Ln(c, b, 8);", []),
}  # fmt: skip


_ON_A_CUBE_CORE = """
    LocalTensor<float> l(TPosition::A1, 0, 64);
    l.SetValue(0, 1.0f);
    Adds(l, l, 1.0f, 64);
"""


def test_scalars_of_a_cube_core(kernels: dict[str, Kernel]) -> None:
    kernel = kernels["on_a_cube_core"]
    kernel(np.zeros(4096, dtype=np.float32), ctypes.c_int32(64), kind=CUBE)
    found = [(rule, text) for rule, _, text, *_ in kernel.report() if not rule.startswith(_OTHERS)]
    assert found == [
        ("operand-memory", "SetValue: the scalar unit does not reach L1, only UB and GM"),
        ("core-kind", "Adds: runs on a vector core only, and this is a cube core"),
        ("operand-memory", "Adds: dst lies in L1; it must lie in UB"),
    ]


def test_the_table_is_current() -> None:
    assert twin_table.HEADER.read_text(encoding="utf-8") == twin_table.render()


@pytest.fixture(scope="module")
def kernels(twin: Harness) -> dict[str, Kernel]:
    text = _HEAD + "".join(
        f"KERNEL({name})\n{{\nBEGIN\n{body}\n}}\n" for name, (body, _) in _CASES.items()
    )
    text += "KERNEL(on_a_cube_core)\n{\n" + _ON_A_CUBE_CORE + "}\n"
    return twin.compile(text, [*_CASES, "on_a_cube_core"], build="checked")


_OTHERS = ("race", "undefined", "core-state", "needs-tpipe")
"""Rules of which the cases take no heed."""


@pytest.mark.parametrize("name", _CASES)
def test_rules(kernels: dict[str, Kernel], name: str) -> None:
    kernels[name](np.zeros(4096, dtype=np.float32), ctypes.c_int32(64), kind=VECTOR)
    found = [
        (rule, text) for rule, _, text, *_ in kernels[name].report() if not rule.startswith(_OTHERS)
    ]
    assert found == _CASES[name][1]
