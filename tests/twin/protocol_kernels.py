# ruff: noqa: E501 (lines of the C++ texts)
"""Kernels that break the rules of queues, flags, cores, caches and global memory, and some that keep
them just so. Those named ``good...`` break none."""

from __future__ import annotations

from dataclasses import dataclass

from .harness import CUBE, MIX_0_1, MIX_1_1, MIX_1_2, VECTOR

_KINDS = {
    VECTOR: "__vector__",
    CUBE: "__cube__",
    MIX_0_1: "__mix__(0, 1)",
    MIX_1_1: "__mix__(1, 1)",
    MIX_1_2: "__mix__(1, 2)",
}

_HEAD = """
using namespace AscendC;

// Adds 1 to tiles of 256 elements, one after another, as a hand-written kernel would.
class Work {
public:
    __aicore__ inline Work(TPipe& pipe, GM_ADDR x, GM_ADDR y) : pipe_(pipe)
    {
        x_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));
        y_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y));
        pipe.InitBuffer(inQue_, 2, 1024);
        pipe.InitBuffer(outQue_, 2, 1024);
        pipe.InitBuffer(calcBuf_, 2048);
        c = calcBuf_.Get<float>();
    }
    __aicore__ inline void CopyIn(uint32_t tile)
    {
        LocalTensor<float> a = inQue_.AllocTensor<float>();
        DataCopy(a, x_[tile * 256], 256);
        inQue_.EnQue(a);
    }
    __aicore__ inline void Compute()
    {
        LocalTensor<float> a = inQue_.DeQue<float>();
        LocalTensor<float> b = outQue_.AllocTensor<float>();
        Adds(b, a, 1.0f, 256);
        inQue_.FreeTensor(a);
        outQue_.EnQue(b);
    }
    __aicore__ inline void CopyOut(uint32_t tile)
    {
        LocalTensor<float> b = outQue_.DeQue<float>();
        DataCopy(y_[tile * 256], b, 256);
        outQue_.FreeTensor(b);
    }
    __aicore__ inline void Step(uint32_t tile)
    {
        CopyIn(tile);
        Compute();
        CopyOut(tile);
    }
    template <HardEvent event>
    __aicore__ inline void Order()
    {
        const TEventID id = pipe_.FetchEventID(event);
        SetFlag<event>(id);
        WaitFlag<event>(id);
    }
    __aicore__ inline void Clean()
    {
        DataCacheCleanAndInvalid<float, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(y_);
    }

    TPipe& pipe_;
    GlobalTensor<float> x_;
    GlobalTensor<float> y_;
    TQue<TPosition::VECIN, 1> inQue_;
    TQue<TPosition::VECOUT, 1> outQue_;
    TBuf<TPosition::VECCALC> calcBuf_;
    LocalTensor<float> c;
};
#define BEGIN TPipe pipe; Work w(pipe, x, y); const uint32_t me = static_cast<uint32_t>(GetBlockIdx()); (void)me;
"""


@dataclass(frozen=True, slots=True)
class Case:
    """``body``: statements of a kernel of the arguments ``x`` and ``y``; ``bare``: without Work."""

    body: str
    kind: int = VECTOR
    blocks: int = 1
    bare: bool = False


QUEUES = {
    "good_queue": Case("for (uint32_t i = 0; i < 4; ++i) {\n    w.Step(i);\n}"),
    "good_prefetch": Case(
        "w.CopyIn(0);\nw.Compute();\nw.CopyIn(1);\nw.CopyOut(0);\nw.Compute();\nw.CopyOut(1);"
    ),
    "no_free_buffer": Case(
        "w.Step(0);\nfor (uint32_t i = 0; i < 3; ++i) {\n    w.inQue_.AllocTensor<float>();\n}"
    ),
    "nothing_queued": Case("w.CopyIn(0);\nw.Compute();\nw.Compute();"),
    "too_deep": Case(
        "w.CopyIn(0);\nw.CopyIn(1);\nw.Compute();\nw.CopyOut(0);\nw.Compute();\nw.CopyOut(1);"
    ),
    "other_queue": Case(
        "LocalTensor<float> b = w.outQue_.AllocTensor<float>();\nw.inQue_.EnQue(b);"
    ),
    "a_tbuf": Case("w.inQue_.FreeTensor(w.c);"),
    "enqueued_twice": Case(
        "LocalTensor<float> a = w.inQue_.AllocTensor<float>();\nDataCopy(a, w.x_, 256);\nw.inQue_.EnQue(a);\nw.inQue_.EnQue(a);\nw.inQue_.DeQue<float>();\nw.inQue_.DeQue<float>();"
    ),
    "never_allocated": Case(
        "LocalTensor<float> a = w.inQue_.AllocTensor<float>();\nw.inQue_.FreeTensor(a);\nw.inQue_.EnQue(a);\nw.inQue_.DeQue<float>();"
    ),
    "freed_in_queue": Case(
        "LocalTensor<float> a = w.inQue_.AllocTensor<float>();\nDataCopy(a, w.x_, 256);\nw.inQue_.EnQue(a);\nw.inQue_.FreeTensor(a);"
    ),
    "freed_twice": Case(
        "LocalTensor<float> a = w.inQue_.AllocTensor<float>();\nw.inQue_.FreeTensor(a);\nw.inQue_.FreeTensor(a);"
    ),
    "used_after_free": Case(
        "LocalTensor<float> a = w.inQue_.AllocTensor<float>();\nw.inQue_.FreeTensor(a);\nDataCopy(a[64], w.x_, 64);"
    ),
    "used_in_queue": Case(
        "LocalTensor<float> a = w.inQue_.AllocTensor<float>();\nw.inQue_.EnQue(a);\nDataCopy(a, w.x_, 256);\nw.inQue_.DeQue<float>();"
    ),
    "left_in_queue": Case("w.CopyIn(0);"),
    "left_at_reset": Case("w.CopyIn(0);\npipe.Reset();"),
    "good_events": Case(
        "TQue<TPosition::VECIN, 1> a, b;\npipe.InitBuffer(a, 4, 32);\npipe.InitBuffer(b, 4, 32);\nfor (uint32_t i = 0; i < 4; ++i) {\n    a.AllocTensor<float>();\n    b.AllocTensor<float>();\n}"
    ),
    "nine_events": Case(
        "TQue<TPosition::VECIN, 1> a, b;\npipe.InitBuffer(a, 4, 32);\npipe.InitBuffer(b, 5, 32);\nfor (uint32_t i = 0; i < 4; ++i) {\n    a.AllocTensor<float>();\n    b.AllocTensor<float>();\n}\nb.AllocTensor<float>();"
    ),
    "too_many_buffers": Case(
        "TBuf<TPosition::VECCALC> more;\nfor (uint32_t i = 0; i < 60; ++i) {\n    pipe.InitBuffer(more, 32);\n}"
    ),
    "no_memory_left": Case("TBuf<TPosition::VECCALC> more;\npipe.InitBuffer(more, 196608);"),
}

FLAGS = {
    "good_flags": Case(
        "w.Order<HardEvent::V_S>();\nconst TEventID id = pipe.AllocEventID<HardEvent::S_V>();\nSetFlag<HardEvent::S_V>(id);\nWaitFlag<HardEvent::S_V>(id);\npipe.ReleaseEventID<HardEvent::S_V>(id);"
    ),
    "good_static": Case(
        "InitSocState();\nLocalTensor<float> a(TPosition::VECCALC, 0, 64);\nDuplicate(a, 1.0f, 64);\nSetFlag<HardEvent::V_S>(EVENT_ID5);\nWaitFlag<HardEvent::V_S>(EVENT_ID5);\nPipeBarrier<PIPE_ALL>();",
        bare=True,
    ),
    "good_static_forms": Case(
        "InitSocState();\nLocalTensor<float> a(TPosition::VECCALC, 0, 64);\nLocalTensor<float> b(TPosition::VECCALC, 256, 64);\nDuplicate(a, 1.0f, 64);\nPipeBarrier<PIPE_V>();\nWholeReduceMax<float>(b, a, 64, 1, 1, 1, 8);\nPipeBarrier<PIPE_V>();\nReduceSum<float>(a, b, b[32], uint64_t(2), 1, 8);\nPipeBarrier<PIPE_ALL>();",
        bare=True,
    ),
    "good_left_modes": Case("SetMaskCount();\nSetAtomicAdd<float>();"),
    "static_reduce": Case(
        "InitSocState();\nLocalTensor<float> a(TPosition::VECCALC, 0, 64);\nLocalTensor<float> b(TPosition::VECCALC, 256, 64);\nDuplicate(a, 1.0f, 64);\nPipeBarrier<PIPE_V>();\nReduceMax<float>(b, a, b[32], 64);\nPipeBarrier<PIPE_ALL>();",
        bare=True,
    ),
    "static_library": Case(
        "InitSocState();\nLocalTensor<float> a(TPosition::VECCALC, 0, 64);\nLocalTensor<float> b(TPosition::VECCALC, 256, 64);\nDuplicate(a, 1.0f, 64);\nPipeBarrier<PIPE_V>();\nTanh<float>(b, a, LocalTensor<uint8_t>(TPosition::VECCALC, 512, 256), 64);\nPipeBarrier<PIPE_ALL>();",
        bare=True,
    ),
    "static_sync": Case(
        "InitSocState();\nSyncAll();\nPipeBarrier<PIPE_ALL>();", MIX_0_1, bare=True
    ),
    "wait_first": Case(
        "const TEventID id = pipe.FetchEventID(HardEvent::MTE2_V);\nDuplicate(w.c, 1.0f, 64);\nWaitFlag<HardEvent::MTE2_V>(id);\nSetFlag<HardEvent::MTE2_V>(id);"
    ),
    "wait_before_all": Case(
        "const TEventID id = pipe.FetchEventID(HardEvent::MTE2_V);\nWaitFlag<HardEvent::MTE2_V>(id);\nPipeBarrier<PIPE_ALL>();\nSetFlag<HardEvent::MTE2_V>(id);\nWaitFlag<HardEvent::MTE2_V>(id);"
    ),
    "wait_before_scalar": Case(
        "const TEventID id = pipe.FetchEventID(HardEvent::MTE2_V);\nWaitFlag<HardEvent::MTE2_V>(id);\nw.Order<HardEvent::V_S>();\nSetFlag<HardEvent::MTE2_V>(id);\nWaitFlag<HardEvent::MTE2_V>(id);"
    ),
    "waited_twice": Case(
        "const TEventID id = pipe.FetchEventID(HardEvent::MTE2_V);\nWaitFlag<HardEvent::MTE2_V>(id);\nWaitFlag<HardEvent::MTE2_V>(id);"
    ),
    "no_such_id": Case("SetFlag<HardEvent::V_S>(8);"),
    "own_id": Case("SetFlag<HardEvent::V_S>(EVENT_ID3);\nWaitFlag<HardEvent::V_S>(EVENT_ID3);"),
    "released_id": Case(
        "const TEventID id = pipe.AllocEventID<HardEvent::V_S>();\npipe.ReleaseEventID<HardEvent::V_S>(id);\nSetFlag<HardEvent::V_S>(id);\nWaitFlag<HardEvent::V_S>(id);"
    ),
    "released_twice": Case(
        "const TEventID id = pipe.AllocEventID<HardEvent::V_S>();\npipe.ReleaseEventID<HardEvent::V_S>(id);\npipe.ReleaseEventID<HardEvent::V_S>(id);"
    ),
    "released_set": Case(
        "const TEventID id = pipe.AllocEventID<HardEvent::V_S>();\nSetFlag<HardEvent::V_S>(id);\npipe.ReleaseEventID<HardEvent::V_S>(id);"
    ),
    "no_id_left": Case(
        "for (uint32_t i = 0; i < 9; ++i) {\n    pipe.AllocEventID<HardEvent::V_S>();\n}"
    ),
    "library_id": Case(
        "SetFlag<HardEvent::V_S>(EVENT_ID6);\nWaitFlag<HardEvent::V_S>(EVENT_ID6);", bare=True
    ),
    "left_set": Case(
        "const TEventID id = pipe.FetchEventID(HardEvent::V_S);\nSetFlag<HardEvent::V_S>(id);"
    ),
    "set_twice": Case(
        "const TEventID id = pipe.FetchEventID(HardEvent::V_S);\nSetFlag<HardEvent::V_S>(id);\nSetFlag<HardEvent::V_S>(id);\nWaitFlag<HardEvent::V_S>(id);"
    ),
    "never_set": Case(
        "const TEventID id = pipe.FetchEventID(HardEvent::V_S);\nWaitFlag<HardEvent::V_S>(id);"
    ),
    "cube_event": Case(
        "const TEventID id = pipe.FetchEventID(HardEvent::M_FIX);\nSetFlag<HardEvent::M_FIX>(id);"
    ),
    "no_init": Case(
        "LocalTensor<float> a(TPosition::VECCALC, 0, 64);\nDuplicate(a, 1.0f, 64);\nPipeBarrier<PIPE_ALL>();",
        bare=True,
    ),
    "no_last_barrier": Case(
        "InitSocState();\nLocalTensor<float> a(TPosition::VECCALC, 0, 64);\nDuplicate(a, 1.0f, 64);",
        bare=True,
    ),
}

CORES = {
    "good_sync": Case(
        "w.Step(me);\nSyncAll();\nw.CopyIn(2 - me);\nw.Compute();\nw.CopyOut(2 - me);", MIX_0_1, 3
    ),
    "good_cross": Case(
        "if (me == 0) {\n    CrossCoreSetFlag<0, PIPE_MTE3>(3);\n    CrossCoreWaitFlag(3);\n} else {\n    CrossCoreSetFlag<0, PIPE_MTE3>(3);\n    CrossCoreWaitFlag(3);\n}",
        MIX_0_1,
        3,
    ),
    "good_hand_over": Case(
        "if ASCEND_IS_AIV {\n    TPipe pipe;\n    Work w(pipe, x, y);\n    w.Step(static_cast<uint32_t>(GetBlockIdx()));\n    CrossCoreSetFlag<2, PIPE_MTE3>(4);\n}\nif ASCEND_IS_AIC {\n    CrossCoreWaitFlag(4);\n}",
        MIX_1_2,
        2,
        bare=True,
    ),
    "good_soft": Case(
        "GlobalTensor<int32_t> flags;\nflags.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(y) + 2048, 16);\nw.Step(me);\nSyncAll(flags, w.c.ReinterpretCast<int32_t>());\nw.Step(1 - me);",
        VECTOR,
        2,
    ),
    "soft_without_zeros": Case(
        "GlobalTensor<int32_t> flags;\nflags.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(x));\nSyncAll(flags, w.c.ReinterpretCast<int32_t>());",
        VECTOR,
        2,
    ),
    "soft_too_small": Case(
        "GlobalTensor<int32_t> flags;\nflags.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(y), 8);\nSyncAll(flags, w.c.ReinterpretCast<int32_t>());",
        VECTOR,
        2,
    ),
    "sync_in_vector": Case("SyncAll();", VECTOR, 2),
    "sync_of_all": Case("SyncAll<false>();", MIX_0_1, 2),
    "sync_on_cube": Case("TPipe pipe;\nSyncAll<true>();", MIX_1_1, 2, bare=True),
    "one_never_syncs": Case("if (me != 1) {\n    SyncAll();\n}", MIX_0_1, 4),
    "one_syncs_more": Case("SyncAll();\nif (me < 2) {\n    SyncAll();\n}", MIX_0_1, 4),
    "two_barriers": Case(
        "TPipe pipe;\nif ASCEND_IS_AIV {\n    SyncAll<true>();\n    SyncAll<false>();\n}\nif ASCEND_IS_AIC {\n    SyncAll<false>();\n    SyncAll<false>();\n}",
        MIX_1_1,
        1,
        bare=True,
    ),
    "sync_or_wait": Case(
        "if (me == 0) {\n    SyncAll();\n} else {\n    CrossCoreWaitFlag(2);\n}", MIX_0_1, 2
    ),
    "cross_not_set": Case(
        "if (me == 0) {\n    CrossCoreSetFlag<0, PIPE_MTE3>(5);\n} else {\n    CrossCoreSetFlag<0, PIPE_MTE3>(5);\n    CrossCoreWaitFlag(5);\n    CrossCoreWaitFlag(5);\n}",
        MIX_0_1,
        2,
    ),
    "cross_not_awaited": Case(
        "CrossCoreSetFlag<0, PIPE_MTE3>(6);\nif (me == 0) {\n    CrossCoreWaitFlag(6);\n}",
        MIX_0_1,
        3,
    ),
    "cross_set_by_one": Case(
        "if (me == 1) {\n    CrossCoreSetFlag<0, PIPE_MTE3>(7);\n}", MIX_0_1, 2
    ),
    "cross_full": Case(
        "for (uint32_t i = 0; i < 16; ++i) {\n    if ASCEND_IS_AIV {\n        CrossCoreSetFlag<2, PIPE_MTE3>(0);\n    }\n}\nfor (uint32_t i = 0; i < 16; ++i) {\n    if ASCEND_IS_AIC {\n        CrossCoreWaitFlag(0);\n    }\n}",
        MIX_1_1,
        1,
        bare=True,
    ),
    "cross_ids": Case(
        "CrossCoreSetFlag<0, PIPE_MTE3>(16);\nCrossCoreWaitFlag(16);\nCrossCoreSetFlag<0, PIPE_MTE3>(12);\nCrossCoreWaitFlag(12);",
        MIX_0_1,
        1,
    ),
    "cross_mode": Case("CrossCoreSetFlag<2, PIPE_MTE3>(1);", MIX_0_1, 1),
    "cross_in_vector": Case("CrossCoreSetFlag<0, PIPE_MTE3>(1);\nCrossCoreWaitFlag(1);", VECTOR, 1),
    "vector_on_cube": Case(
        "InitSocState();\nLocalTensor<float> a(TPosition::VECCALC, 0, 64);\nDuplicate(a, 1.0f, 64);\nPipeBarrier<PIPE_ALL>();",
        MIX_1_1,
        1,
        bare=True,
    ),
    "cube_on_vector": Case(
        "InitSocState();\nLocalTensor<half> a(TPosition::A2, 0, 256), b(TPosition::A1, 0, 256);\nLoadData(a, b, LoadData2DParams{0, 1, 1, 0, 0, false, 0});",
        VECTOR,
        1,
        bare=True,
    ),
    "refused": Case(
        "TPipe pipe;\nif (GetBlockIdx() == 0) {\n    ascendc_assert(block_num == 1);\n}\nSyncAll();",
        MIX_0_1,
        2,
        bare=True,
    ),
}

RACES = {
    "good_stages": Case("w.Step(me);\nSyncAll();\nw.Step(1 - me);", MIX_0_1, 2),
    "same_tile": Case(
        "for (uint32_t i = 2 * me; i < 2 * me + 3; ++i) {\n    w.Step(i);\n}", VECTOR, 2
    ),
    "no_sync": Case(
        "w.CopyIn(me);\nw.Compute();\nw.CopyOut(me);\nw.Order<HardEvent::MTE3_MTE2>();\nLocalTensor<float> a = w.inQue_.AllocTensor<float>();\nDataCopy(a, w.y_[(1 - me) * 256], 256);\nw.inQue_.FreeTensor(a);",
        MIX_0_1,
        2,
    ),
    "update": Case(
        "LocalTensor<float> a = w.inQue_.AllocTensor<float>();\nDataCopy(a, w.y_, 256);\nw.inQue_.EnQue(a);\nw.Compute();\nw.CopyOut(0);",
        VECTOR,
        2,
    ),
    "good_atomic": Case("SetAtomicAdd<float>();\nw.Step(0);\nSetAtomicNone();", VECTOR, 3),
    "atomic_and_plain": Case(
        "if (me == 0) {\n    SetAtomicAdd<float>();\n}\nw.Step(0);\nSetAtomicNone();", VECTOR, 2
    ),
    "no_barrier": Case(
        "for (uint32_t i = me; i < 12; i += 4) {\n    w.CopyIn(i);\n    Duplicate(w.c, 1.0f, 128);\n    Adds(w.c, w.c, 1.0f, 64);\n    PipeBarrier<PIPE_V>();\n    w.Compute();\n    w.CopyOut(i);\n}",
        VECTOR,
        4,
    ),
    "past_x": Case("w.CopyIn(16);\nw.Compute();\nw.CopyOut(0);"),
    "before_y": Case(
        "w.CopyIn(0);\nw.Compute();\nLocalTensor<float> b = w.outQue_.DeQue<float>();\nDataCopy(w.y_[static_cast<uint64_t>(-8)], b, 256);\nw.outQue_.FreeTensor(b);"
    ),
    "far_away": Case("w.CopyIn(1000000);"),
}

CACHES = {
    "good_cache": Case("if (me == 0) {\n    w.y_.SetValue(0, 2.0f);\n    w.Clean();\n}\nSyncAll();\nif (me == 1) {\n    w.y_.SetValue(64, w.y_.GetValue(0));\n    w.Clean();\n}", MIX_0_1, 2),
    "good_uncached": Case("__gm__ int32_t* const flag = reinterpret_cast<__gm__ int32_t*>(y);\nif (me == 0) {\n    w.Step(4);\n    w.Order<HardEvent::MTE3_S>();\n    WriteGmByPassDCache<int32_t>(flag, 7);\n} else if (ReadGmByPassDCache<int32_t>(flag) == 7) {\n    w.Order<HardEvent::S_MTE2>();\n    LocalTensor<float> a = w.inQue_.AllocTensor<float>();\n    DataCopy(a, w.y_[4 * 256], 256);\n    w.inQue_.FreeTensor(a);\n}", MIX_0_1, 2),
    "stale": Case("const float before = w.y_.GetValue(0);\nw.Order<HardEvent::S_MTE3>();\nw.CopyIn(0);\nw.Compute();\nw.CopyOut(0);\nw.Order<HardEvent::MTE3_S>();\nconst float after = w.y_.GetValue(3);\n(void)before, (void)after;"),
    "good_invalidated": Case("const float before = w.y_.GetValue(0);\nw.Order<HardEvent::S_MTE3>();\nw.CopyIn(0);\nw.Compute();\nw.CopyOut(0);\nw.Order<HardEvent::MTE3_S>();\nw.Clean();\nconst float after = w.y_.GetValue(3);\n(void)before, (void)after;"),
    "stale_of_other": Case("if (me == 1) {\n    (void)w.y_.GetValue(0);\n}\nSyncAll();\nif (me == 0) {\n    w.y_.SetValue(1, 1.0f);\n    w.Clean();\n}\nSyncAll();\nif (me == 1) {\n    (void)w.y_.GetValue(1);\n}", MIX_0_1, 2),
    "not_cleaned": Case("w.y_.SetValue(5, 1.0f);\nw.Order<HardEvent::S_MTE2>();\nLocalTensor<float> a = w.inQue_.AllocTensor<float>();\nDataCopy(a, w.y_, 256);\nw.inQue_.FreeTensor(a);\nw.Clean();"),
    "read_elsewhere": Case("if (me == 0) {\n    w.y_.SetValue(5, 1.0f);\n}\nSyncAll();\nif (me == 1) {\n    (void)w.y_.GetValue(5);\n}\nSyncAll();\nw.Clean();", MIX_0_1, 2),
    "never_cleaned": Case("w.y_.SetValue(5, 1.0f);"),
    "shared_line": Case("w.y_.SetValue(me, 1.0f);\nSyncAll();\nw.Clean();", MIX_0_1, 2),
    "under_a_copy": Case("w.y_.SetValue(257, 1.0f);\nw.CopyIn(0);\nw.Compute();\nLocalTensor<float> b = w.outQue_.DeQue<float>();\nw.Order<HardEvent::S_MTE3>();\nDataCopy(w.y_[8], b, 256);\nw.outQue_.FreeTensor(b);\nw.Clean();"),
}  # fmt: skip

CASES = {**QUEUES, **FLAGS, **CORES, **RACES, **CACHES}


def text(cases: dict[str, Case] = CASES, beside: str = "") -> str:
    """The C++ text of the kernels; ``beside``: functions of theirs."""
    parts = [_HEAD + beside]
    for name, case in cases.items():
        head = f'extern "C" __global__ {_KINDS[case.kind]} void {name}(GM_ADDR x, GM_ADDR y)\n'
        begin = "(void)x, (void)y;" if case.bare else "BEGIN"
        body = f"{begin}\n{case.body}".replace("\n", "\n    ")
        parts.append(f"{head}{{\n    {body}\n}}\n")
    return "\n".join(parts)
