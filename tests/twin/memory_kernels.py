# ruff: noqa: E501 (lines of the C++ texts)
"""Kernels that use memory that is not their tensor's, or lines of global memory that others write,
and their neighbours that just do not. Those named ``good...`` break no rule."""

from __future__ import annotations

from .harness import MIX_0_1, VECTOR
from .protocol_kernels import Case

BESIDE = """
// One block of 32 bytes.
__aicore__ inline void CopyTo(Work& w, uint32_t at)
{
    w.CopyIn(0);
    w.Compute();
    LocalTensor<float> b = w.outQue_.DeQue<float>();
    DataCopy(w.y_[at], b, 8);
    w.outQue_.FreeTensor(b);
}
"""

LINES = {
    "cleaned_at_once": Case("w.y_.SetValue(me, 1.0f);\nw.Clean();", MIX_0_1, 2),
    "good_lines_apart": Case("w.y_.SetValue(16 * me, 1.0f);\nw.Clean();", MIX_0_1, 2),
    "good_line_in_turn": Case("if (me == 1) {\n    w.y_.SetValue(0, 1.0f);\n    w.Clean();\n}\nSyncAll();\nif (me == 0) {\n    w.y_.SetValue(1, 1.0f);\n    w.Clean();\n}", MIX_0_1, 2),
    "old_line": Case("(void)w.y_.GetValue(me);\nSyncAll();\nif (me == 0) {\n    w.y_.SetValue(0, 1.0f);\n    w.Clean();\n}\nSyncAll();\nif (me == 1) {\n    w.y_.SetValue(1, 1.0f);\n    w.Clean();\n}", MIX_0_1, 2),
    "good_line_anew": Case("(void)w.y_.GetValue(me);\nSyncAll();\nif (me == 0) {\n    w.y_.SetValue(0, 1.0f);\n    w.Clean();\n}\nSyncAll();\nif (me == 1) {\n    w.Clean();\n    w.y_.SetValue(1, 1.0f);\n    w.Clean();\n}", MIX_0_1, 2),
    "copy_beside_line": Case("if (me == 0) {\n    w.y_.SetValue(0, 1.0f);\n    w.Clean();\n} else {\n    CopyTo(w, 8);\n}", MIX_0_1, 2),
    "line_beside_copy": Case("if (me == 1) {\n    w.y_.SetValue(0, 1.0f);\n    w.Clean();\n} else {\n    CopyTo(w, 8);\n}", MIX_0_1, 2),
    "own_line_and_copy": Case("CopyTo(w, 8);\nw.y_.SetValue(0, 1.0f);\nw.Clean();"),
    "good_own_line_and_copy": Case("CopyTo(w, 8);\nw.Order<HardEvent::MTE3_S>();\nw.y_.SetValue(0, 1.0f);\nw.Clean();"),
    "good_copy_then_line": Case("if (me == 0) {\n    CopyTo(w, 8);\n}\nSyncAll();\nif (me == 1) {\n    w.y_.SetValue(0, 1.0f);\n    w.Clean();\n}\nSyncAll();\nif (me == 0) {\n    CopyTo(w, 8);\n}", MIX_0_1, 2),
    "cleaned_too_late": Case("if (me == 0) {\n    w.y_.SetValue(5, 1.0f);\n}\nSyncAll();\nif (me == 0) {\n    w.Clean();\n} else {\n    (void)w.y_.GetValue(5);\n}\nSyncAll();", MIX_0_1, 2),
    "cleaned_too_late_by_1": Case("if (me == 1) {\n    w.y_.SetValue(5, 1.0f);\n}\nSyncAll();\nif (me == 1) {\n    w.Clean();\n} else {\n    (void)w.y_.GetValue(5);\n}\nSyncAll();", MIX_0_1, 2),
    "copied_too_early": Case("if (me == 0) {\n    w.y_.SetValue(5, 1.0f);\n}\nSyncAll();\nif (me == 0) {\n    w.Clean();\n} else {\n    LocalTensor<float> a = w.inQue_.AllocTensor<float>();\n    DataCopy(a, w.y_, 256);\n    w.inQue_.FreeTensor(a);\n}", MIX_0_1, 2),
    "good_cleaned_in_time": Case("if (me == 1) {\n    w.y_.SetValue(5, 1.0f);\n    w.Clean();\n}\nSyncAll();\nif (me == 0) {\n    (void)w.y_.GetValue(5);\n    LocalTensor<float> a = w.inQue_.AllocTensor<float>();\n    DataCopy(a, w.y_, 256);\n    w.inQue_.FreeTensor(a);\n}", MIX_0_1, 2),
}  # fmt: skip

# Work has 2 * 1024 bytes of inQue_, 2 * 1024 of outQue_, 2048 of calcBuf_, side by side.
_TWO = "LocalTensor<float> a = w.inQue_.AllocTensor<float>(), b = w.inQue_.AllocTensor<float>();\nDuplicate(a, 1.0f, 256);\nDuplicate(b, 1.0f, 256);\nPipeBarrier<PIPE_V>();\n"
_FREE = "\nw.inQue_.FreeTensor(a);\nw.inQue_.FreeTensor(b);"
_OFFSETS = "const LocalTensor<uint32_t> offsets = w.c[256].ReinterpretCast<uint32_t>();\nDuplicate(offsets, uint32_t(@), 8);\nPipeBarrier<PIPE_V>();\nGather(w.c, a, offsets, 0, 8);"
_GLOBAL = "GlobalTensor<float> g;\ng.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y) + 256 * me, 256);\nw.CopyIn(0);\nw.Compute();\nLocalTensor<float> b = w.outQue_.DeQue<float>();\n"

BUFFERS = {
    "set_in_neighbour": Case(_TWO + "w.Order<HardEvent::V_S>();\na.SetValue(256, 1.0f);" + _FREE),
    "good_set": Case(_TWO + "w.Order<HardEvent::V_S>();\na.SetValue(255, 1.0f);" + _FREE),
    "get_in_neighbour": Case(_TWO + "w.Order<HardEvent::V_S>();\n(void)a[200].GetValue(100);" + _FREE),
    "good_get": Case(_TWO + "w.Order<HardEvent::V_S>();\n(void)a[200].GetValue(55);" + _FREE),
    "view_of_neighbour": Case(_TWO + "Adds(w.c, a[256], 1.0f, 64);" + _FREE),
    "cast_of_neighbour": Case(_TWO + "Adds(w.c.ReinterpretCast<half>(), a[128].ReinterpretCast<half>()[256], half(1.0f), 64);" + _FREE),
    "good_view": Case(_TWO + "Adds(w.c, a[192], 1.0f, 64);\nPipeBarrier<PIPE_V>();\nAdds(w.c.ReinterpretCast<half>(), a[128].ReinterpretCast<half>()[192], half(1.0f), 64);" + _FREE),
    "stride_to_neighbour": Case(_TWO + "Adds(w.c, a, 1.0f, uint64_t(64), 2, UnaryRepeatParams(1, 1, 8, 32));" + _FREE),
    "good_stride": Case(_TWO + "Adds(w.c, a, 1.0f, uint64_t(64), 2, UnaryRepeatParams(1, 1, 8, 24));" + _FREE),
    "gather_in_neighbour": Case(_TWO + _OFFSETS.replace("@", "1024") + _FREE),
    "good_gather": Case(_TWO + _OFFSETS.replace("@", "1020") + _FREE),
    "brcb_in_neighbour": Case(_TWO + "Brcb(w.c, a[256], 1, BrcbRepeatParams(1, 8));" + _FREE),
    "good_brcb": Case(_TWO + "Brcb(w.c, a[248], 1, BrcbRepeatParams(1, 8));" + _FREE),
    "mask_in_neighbour": Case(_TWO + "Compare(w.c.ReinterpretCast<uint8_t>(), a, a[256], CMPMODE::LT, 64);" + _FREE),
    "copy_to_neighbour": Case(_TWO + "w.Order<HardEvent::V_MTE2>();\nDataCopy(a[256], w.x_, 64);" + _FREE),
    "copy_rows_to_neighbour": Case(_TWO + "w.Order<HardEvent::V_MTE2>();\nDataCopyPad(a, w.x_, DataCopyExtParams(2, 32, 32, 31, 0), DataCopyPadExtParams<float>());" + _FREE),
    "good_copy_rows": Case(_TWO + "w.Order<HardEvent::V_MTE2>();\nDataCopyPad(a, w.x_, DataCopyExtParams(2, 32, 32, 30, 0), DataCopyPadExtParams<float>());" + _FREE),
    "part_of_next_buffer": Case("TBuf<TPosition::VECCALC> more;\npipe.InitBuffer(more, 1024);\nDuplicate(w.calcBuf_.GetWithOffset<float>(64, 2048), 1.0f, 64);"),
    "good_part": Case("TBuf<TPosition::VECCALC> more;\npipe.InitBuffer(more, 1024);\nDuplicate(w.calcBuf_.GetWithOffset<float>(64, 1792), 1.0f, 64);"),
    "freed_by_reset": Case("LocalTensor<float> c = w.c;\npipe.Reset();\npipe.InitBuffer(w.inQue_, 2, 1024);\npipe.InitBuffer(w.calcBuf_, 8192);\nDuplicate(c, 1.0f, 64);"),
    "queue_freed_by_reset": Case("pipe.Reset();\npipe.InitBuffer(w.calcBuf_, 8192);\nw.CopyIn(0);"),
    "good_reset": Case("pipe.Reset();\npipe.InitBuffer(w.inQue_, 2, 1024);\npipe.InitBuffer(w.outQue_, 2, 1024);\npipe.InitBuffer(w.calcBuf_, 8192);\nDuplicate(w.calcBuf_.Get<float>(), 1.0f, 64);\nw.Step(0);"),
    "given_out_again": Case("LocalTensor<float> a = w.inQue_.AllocTensor<float>(), old = a;\nw.inQue_.FreeTensor(a);\nw.inQue_.AllocTensor<float>();\na = w.inQue_.AllocTensor<float>();\nDuplicate(old, 1.0f, 64);\nw.inQue_.EnQue(old);\na = w.inQue_.DeQue<float>();\nw.inQue_.FreeTensor(old);"),
    "good_given_out_again": Case("LocalTensor<float> a = w.inQue_.AllocTensor<float>();\nw.inQue_.FreeTensor(a);\nw.inQue_.AllocTensor<float>();\na = w.inQue_.AllocTensor<float>();\nDuplicate(a, 1.0f, 64);\nw.inQue_.EnQue(a);\nLocalTensor<float> b = w.inQue_.DeQue<float>();\nPipeBarrier<PIPE_V>();\nDuplicate(a, 1.0f, 64);\nw.inQue_.FreeTensor(a);"),
    "neighbour_enqueued": Case("LocalTensor<float> a = w.inQue_.AllocTensor<float>();\nw.inQue_.AllocTensor<float>();\nw.inQue_.EnQue(a[256]);"),
    "static_past": Case("InitSocState();\nLocalTensor<float> a(TPosition::VECCALC, 0, 64), b(TPosition::VECCALC, 256, 64);\nDuplicate(b, 1.0f, 64);\nPipeBarrier<PIPE_V>();\nDuplicate(a, 1.0f, 72);\nPipeBarrier<PIPE_ALL>();", bare=True),
    "static_scalar_past": Case("InitSocState();\nLocalTensor<float> a(TPosition::VECCALC, 0, 60), b(TPosition::VECCALC, 256, 64);\na.SetValue(60, 1.0f);\nPipeBarrier<PIPE_ALL>();", bare=True),
    "allocator_past": Case("InitSocState();\nLocalMemAllocator<Hardware::UB> ub;\nLocalTensor<float> a = ub.Alloc<float, 64>(), b = ub.Alloc<float>(64);\nDuplicate(a[64], 1.0f, 64);\nPipeBarrier<PIPE_ALL>();", bare=True),
    "good_static_style": Case("InitSocState();\nLocalMemAllocator<Hardware::UB> ub;\nLocalTensor<float> a = ub.Alloc<float, 60>(), b = ub.Alloc<float>(64), c(TPosition::VECCALC, 0, 128), d(1024);\nDuplicate(a, 1.0f, uint64_t(64), 1, 1, 8);\nPipeBarrier<PIPE_V>();\nDuplicate(c[64], 1.0f, 64);\nPipeBarrier<PIPE_V>();\nb.SetSize(128);\nDuplicate(b, 1.0f, 128);\nDuplicate(d, 1.0f, 64);\nPipeBarrier<PIPE_ALL>();", bare=True),
    "two_pipes": Case("TPipe more;\nTBuf<TPosition::VECCALC> calc;\nmore.InitBuffer(calc, 1024);"),
    "good_pipes_in_turn": Case("for (uint32_t i = 0; i < 2; ++i) {\n    TPipe pipe;\n    Work w(pipe, x, y);\n    w.Step(i);\n    PipeBarrier<PIPE_ALL>();\n}\nTPipe first;\nfirst.Destroy();\nTPipe last;", bare=True),
    "static_beside_pipe": Case("LocalTensor<float> a(TPosition::VECCALC, 8192, 64);\nDuplicate(a, 1.0f, 64);"),
    "pipe_beside_static": Case("InitSocState();\nLocalTensor<float> a(TPosition::VECCALC, 8192, 64);\nDuplicate(a, 1.0f, 64);\nTPipe pipe;\nPipeBarrier<PIPE_ALL>();", bare=True),
    "global_past": Case(_GLOBAL + "DataCopy(g[64], b, 256);\nw.outQue_.FreeTensor(b);", VECTOR, 1),
    "global_rows_past": Case(_GLOBAL + "DataCopyPad(g, b, DataCopyExtParams(2, 128, 0, 1024, 0));\nw.outQue_.FreeTensor(b);", VECTOR, 1),
    "global_scalar_past": Case("GlobalTensor<float> g;\ng.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), 32);\n(void)g[16].GetValue(16);"),
    "global_fill_past": Case("GlobalTensor<float> g;\ng.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y), 32);\nFill(g, 40, 1.0f);"),
    "good_global": Case(_GLOBAL + "DataCopy(g, b, 256);\nw.outQue_.FreeTensor(b);\nGlobalTensor<float> r;\nr.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), 32);\n(void)r[16].GetValue(15);", VECTOR, 2),
}  # fmt: skip

CASES = {**LINES, **BUFFERS}
