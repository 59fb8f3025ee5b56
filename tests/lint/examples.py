"""For every rule: a text that breaks it and one that does not."""

from __future__ import annotations

from tests.lint.support import file, kernel

__all__ = ["EXAMPLES"]

_QUEUE = "TQue<TPosition::VECIN, 1> in;\npipe.InitBuffer(in, 2, 1024);\n"
_MIX = 'extern "C" __global__ __mix__(1, 2) void example(GM_ADDR x) '
_TILES = "for (uint32_t t = 0; t < %s; ++t) {\n    const uint32_t at = t * 64;\n"
_VECTOR, _CUBE = (f"if ASCEND_IS_{kind} {{\n%s\n}}\n" for kind in ("AIV", "AIC"))
_ALL = "SyncAll<false>();\n"
_MEET = "__aicore__ inline void Meet() { SyncAll<false>(); }\n"
_EMPTY = 'extern "C" __global__ __vector__ void example(GM_ADDR x) {}\n'
_FILL = _QUEUE + "LocalTensor<float> t = in.AllocTensor<float>();\nDataCopy(t, gx, 64);\n"
_USE = "Relu(b, t, 64);\n"
_LOOPED = (
    "TQue<TPosition::VECIN, 1> in;\n%sfor (int32_t i = 0; i < 4; ++i) {\n%s\n}\nin.HasIdleBuffer();"
)
_LISTS = (
    "LocalTensor<float> d[16], s[16];\n"
    "for (int32_t i = 0; i < 16; ++i) {\n    d[i] = b[i * 8];\n    s[i] = a[i * 8];\n}\n"
)
_ID = "event_t id = static_cast<event_t>(pipe.FetchEventID(HardEvent::V_S));\n"
_ALLOC = "pipe.AllocEventID<HardEvent::V_S>()"
_IDS = f"const TEventID ids[2] = {{{_ALLOC}, {_ALLOC}}};\n"
_IDS_LATER = f"TEventID ids[2];\nids[0] = {_ALLOC};\nids[1] = {_ALLOC};\n"
_ONE = f"const TEventID one = {_ALLOC};\n"
_EACH = "for (int32_t i = 0; i < 2; ++i) {\n%s\n}\n"
_RELEASE = (
    "__aicore__ inline void Release(TPipe& pipe, TEventID id)\n"
    "{\n    pipe.ReleaseEventID<HardEvent::V_S>(id);\n}\n"
    "__aicore__ inline void ReleaseAll(TPipe& pipe, const TEventID* ids)\n"
    "{\n    for (int32_t i = 0; i < 2; ++i) {\n"
    "        pipe.ReleaseEventID<HardEvent::V_S>(ids[i]);\n"
    "    }\n}\n"
)


def _queues(count: int) -> str:
    lines = [
        f"TQue<TPosition::VECIN, 1> q{i};\npipe.InitBuffer(q{i}, 2, 64);" for i in range(count)
    ]
    uses = [f"q{i}.HasIdleBuffer();" for i in range(count)]
    return "\n".join(lines + uses)


EXAMPLES: dict[str, list[tuple[str, str]]] = {
    # rule: (breaks it, does not)
    "kernel-entry": [
        (
            file("__global__ __vector__ void example(GM_ADDR x) {}\n"),
            file("template <typename T> __global__ __vector__ void example(__gm__ T* x) {}\n"),
        ),
        (file('extern "C" __global__ void example(GM_ADDR x) {}\n'), file(_EMPTY)),
        (
            file("extern __global__ __vector__ void example(GM_ADDR x) {}\n"),
            file(f'extern "C" {{\n{_EMPTY}}}\n__schedmode__(1) {_EMPTY}'),
        ),
        (
            file('extern "C" __global__ __vector__ int example(GM_ADDR x) { return 0; }\n'),
            file(_EMPTY),
        ),
        (
            file('extern "C" __global__ __mix__(2, 1) void example(GM_ADDR x) {}\n'),
            file('extern "C" __global__ __mix__(1, 2) void example(GM_ADDR x) {}\n'),
        ),
        (
            file('extern "C" __global__ __aicore__ void example(GM_ADDR x) {}\n'),
            file(
                'extern "C" __global__ __aicore__ void example(GM_ADDR x)\n'
                "{\n    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);\n}\n"
            ),
        ),
    ],
    "kernel-argument": [
        (
            file('extern "C" __global__ __vector__ void example(float* x) {}\n'),
            file('extern "C" __global__ __vector__ void example(__gm__ float* x, int64_t n) {}\n'),
        ),
        (
            file(
                "struct Args { uint32_t n; float* p; };\n"
                'extern "C" __global__ __vector__ void example(GM_ADDR x, Args args) {}\n'
            ),
            file(
                "struct Size { uint32_t n; };\nstruct Args { Size size; float f; };\n"
                'extern "C" __global__ __vector__ void example(GM_ADDR x, Args args) {}\n'
            ),
        ),
        *(
            (
                file(
                    f"{around} {{\nstruct Args {{ float* p; }};\n}};\nstruct Other {{\n"
                    "struct Args { uint32_t n; };\n};\n"
                    'extern "C" __global__ __vector__ void example(GM_ADDR x, Op::Args args) {}\n'
                ),
                file(
                    f"{around} {{\nenum class Mode {{ A }};\nstruct Size {{ uint32_t n; }};\n"
                    "struct Args { Op::Size size; Size rows; Op::Mode mode; };\n};\n"
                    "struct Other {\nstruct Args { float* p; };\n};\n"
                    'extern "C" __global__ __vector__ void example(GM_ADDR x, Op::Args args) {}\n'
                ),
            )
            for around in ("namespace Op", "struct Op", "namespace detail::Op")
        ),
    ],
    "pipe-member": [
        (
            file("class Stage {\n    TPipe pipe_;\n};\n"),
            file("class Stage {\n    TPipe* pipe_;\n};\n"),
        ),
    ],
    "sync-all-kind": [
        (kernel("SyncAll<true>();"), kernel("SyncAll<true>();", "__mix__(0, 1)")),
        (
            kernel("SyncAll<false>();", "__mix__(0, 1)"),
            file(_MIX + "{ SyncAll<false>(); }\n"),
        ),
        (
            file(_MIX + "{ SyncAll<true>(); }\n"),
            file(
                'extern "C" __global__ __mix__(1, 2) void example(GM_ADDR x)\n'
                "{\n    if ASCEND_IS_AIV {\n        SyncAll<true>();\n    }\n}\n"
            ),
        ),
        (
            file(
                "__aicore__ inline void Meet() { SyncAll(); }\n"
                'extern "C" __global__ __vector__ void example(GM_ADDR x) { Meet(); }\n'
            ),
            file("__aicore__ inline void Meet() { SyncAll(); }\n"),
        ),
        (
            file(f"{_MIX}{{ {_VECTOR % _ALL} }}\n"),
            file(f"{_MIX}{{ {_VECTOR % _ALL}{_CUBE % _ALL} }}\n"),
        ),
        (
            file(f"{_MIX}{{ {_VECTOR % (_ALL * 2)} else {{ {_ALL} }} }}\n"),
            file(f"{_MIX}{{ {_VECTOR % (_ALL * 2)} else {{ {_ALL * 2} }} }}\n"),
        ),
        (
            file(f"{_MEET}{_MIX}{{ {_ALL}{_VECTOR % 'Meet();'}{_CUBE % 'Meet();Meet();'} }}\n"),
            file(f"{_MEET}{_MIX}{{ {_ALL}{_VECTOR % 'Meet();Meet();'}{_CUBE % (_ALL * 2)} }}\n"),
        ),
        (
            file(f"{_MIX}{{ {_VECTOR % (_ALL + 'return;')} {_ALL * 2} }}\n"),
            file(f"{_MIX}{{ {_VECTOR % (_ALL + 'return;')} {_ALL} }}\n"),
        ),
        (
            file(f"{_MIX}{{ {_CUBE % f'for (int i = 0; i < 4; ++i) {{ {_ALL} }}'} }}\n"),
            file(
                f"{_MIX}{{ {_VECTOR % (_ALL * 4)}"
                f"{_CUBE % f'for (int i = 0; i < 4; ++i) {{ {_ALL} }}'} }}\n"
            ),
        ),
    ],
    "sync-all-parted": [
        (
            kernel("if (GetBlockIdx() == 0) {\n    SyncAll<true>();\n}", "__mix__(0, 1)"),
            kernel("if (n == 0) {\n    SyncAll<true>();\n}", "__mix__(0, 1)"),
        ),
        (
            kernel(
                "for (int64_t i = GetBlockIdx(); i < n; i += GetBlockNum()) {\n    Meet();\n}",
                "__mix__(0, 1)",
                "__aicore__ inline void Meet() { SyncAll<true>(); }\n",
            ),
            kernel(
                "for (int64_t i = 0; i < n; i += GetBlockNum()) {\n    Meet();\n}",
                "__mix__(0, 1)",
                "__aicore__ inline void Meet() { SyncAll<true>(); }\n",
            ),
        ),
        (
            kernel(
                "const int64_t first = GetBlockIdx() * 8;\nif (first >= n) {\n    return;\n}\n"
                "SyncAll<true>();",
                "__mix__(0, 1)",
            ),
            kernel(
                "const int64_t first = GetBlockIdx() * 8;\n"
                "if (first < n) {\n    Relu(b, a, 8);\n}\n"
                "SyncAll<true>();",
                "__mix__(0, 1)",
            ),
        ),
    ],
    "sync-flag-number": [
        (
            kernel("CrossCoreSetFlag<0, PIPE_MTE3>(11);\nCrossCoreWaitFlag(4);", "__mix__(0, 1)"),
            kernel("CrossCoreSetFlag<0, PIPE_MTE3>(4);\nCrossCoreWaitFlag(4);", "__mix__(0, 1)"),
        ),
    ],
    "sync-event": [
        (
            kernel("SetFlag<HardEvent::M_FIX>(EVENT_ID0);\nWaitFlag<HardEvent::M_FIX>(EVENT_ID0);"),
            kernel("SetFlag<HardEvent::V_S>(EVENT_ID0);\nWaitFlag<HardEvent::V_S>(EVENT_ID0);"),
        ),
        (kernel("PipeBarrier<PIPE_S>();"), kernel("PipeBarrier<PIPE_V>();")),
    ],
    "wrong-core": [
        (
            kernel("Mmad(a, b, b, MmadParams());"),
            file(
                'extern "C" __global__ __cube__ void example(GM_ADDR x)\n{\n'
                "    LocalTensor<float> c;\n    LocalTensor<half> a;\n"
                "    Mmad(c, a, a, MmadParams());\n}\n"
            ),
        ),
        (
            kernel("Relu(b, a, 64);", "__mix__(1, 2)"),
            kernel("if ASCEND_IS_AIV {\n    Relu(b, a, 64);\n}", "__mix__(1, 2)"),
        ),
        (
            kernel("if ASCEND_IS_AIV {\n    return;\n}\nRelu(b, a, 64);", "__mix__(1, 2)"),
            kernel("if ASCEND_IS_AIC {\n    return;\n}\nRelu(b, a, 64);", "__mix__(1, 2)"),
        ),
    ],
    "sync-unpaired-cross-flag": [
        (
            kernel("CrossCoreSetFlag<0, PIPE_MTE3>(4);\nCrossCoreWaitFlag(3);", "__mix__(0, 1)"),
            kernel("CrossCoreSetFlag<0, PIPE_MTE3>(4);\nCrossCoreWaitFlag(4);", "__mix__(0, 1)"),
        ),
    ],
    "sync-unpaired-flag": [
        (
            kernel(_ID + "SetFlag<HardEvent::V_S>(id);\nfloat m = a.GetValue(0);"),
            kernel(_ID + "SetFlag<HardEvent::V_S>(id);\nWaitFlag<HardEvent::V_S>(id);"),
        ),
        (
            kernel(_ID + "WaitFlag<HardEvent::V_S>(id);"),
            kernel("TQueSync<PIPE_V, PIPE_S> pair;\npair.SetFlag(0);\npair.WaitFlag(0);"),
        ),
        (
            kernel(
                _ID
                + "if (n > 7) {\n    SetFlag<HardEvent::V_S>(id);\n}\nWaitFlag<HardEvent::V_S>(id);"
            ),
            kernel(
                _ID + "if (n > 7) {\n    SetFlag<HardEvent::V_S>(id);\n}\n"
                "Relu(b, a, n);\nif (n > 7) {\n    WaitFlag<HardEvent::V_S>(id);\n}"
            ),
        ),
    ],
    "sync-unpaired-queue": [
        (
            kernel(
                _QUEUE + "LocalTensor<float> t = in.AllocTensor<float>();\nDataCopy(t, gx, 64);"
            ),
            kernel(_QUEUE + "LocalTensor<float> t = in.AllocTensor<float>();\nin.FreeTensor(t);"),
        ),
        (
            kernel(_QUEUE + "LocalTensor<float> t = in.AllocTensor<float>();\nin.EnQue(t);"),
            kernel(
                _QUEUE + "LocalTensor<float> t = in.AllocTensor<float>();\nin.EnQue(t);\n"
                "t = in.DeQue<float>();\nin.FreeTensor(t);"
            ),
        ),
        (
            kernel(_QUEUE + "LocalTensor<float> t = in.DeQue<float>();\nin.FreeTensor(t);"),
            kernel(_QUEUE + "in.HasIdleBuffer();"),
        ),
    ],
    "sync-stale-tensor": [
        (
            kernel(_FILL + "in.EnQue(t);\nt = in.DeQue<float>();\nin.FreeTensor(t);\n" + _USE),
            kernel(_FILL + "in.EnQue(t);\nt = in.DeQue<float>();\n" + _USE + "in.FreeTensor(t);"),
        ),
        (
            kernel(_FILL + "in.EnQue(t);\n" + _USE + "t = in.DeQue<float>();\nin.FreeTensor(t);"),
            kernel(
                _FILL + "in.EnQue(t);\nLocalTensor<float> u = in.DeQue<float>();\n"
                "Relu(b, u, 64);\nin.FreeTensor(u);"
            ),
        ),
        (
            kernel(_FILL + _USE + "in.FreeTensor(t);"),
            kernel(
                "TQue<TPosition::VECCALC, 1> in;\npipe.InitBuffer(in, 1, 1024);\n"
                "LocalTensor<float> t = in.AllocTensor<float>();\n" + _USE + "in.FreeTensor(t);"
            ),
        ),
    ],
    "sync-queue-depth": [
        (
            kernel(
                "TQue<TPosition::VECIN, 1> in;\npipe.InitBuffer(in, 1, 1024);\n"
                "LocalTensor<float> s = in.AllocTensor<float>();\n"
                "LocalTensor<float> t = in.AllocTensor<float>();\n"
                "in.FreeTensor(s);\nin.FreeTensor(t);"
            ),
            kernel(
                _QUEUE + "LocalTensor<float> s = in.AllocTensor<float>();\n"
                "LocalTensor<float> t = in.AllocTensor<float>();\n"
                "in.FreeTensor(s);\nin.FreeTensor(t);"
            ),
        ),
    ],
    "sync-unreleased-event": [
        (
            kernel("TEventID id = pipe.AllocEventID<HardEvent::V_S>();"),
            kernel(
                "TEventID id = pipe.AllocEventID<HardEvent::V_S>();\n"
                "pipe.ReleaseEventID<HardEvent::V_S>(id);"
            ),
        ),
        (
            kernel(_IDS + "pipe.ReleaseEventID<HardEvent::V_S>(ids[0]);"),
            kernel(_IDS + _EACH % "pipe.ReleaseEventID<HardEvent::V_S>(ids[i]);"),
        ),
        (
            kernel(_IDS + _ONE + _EACH % "pipe.ReleaseEventID<HardEvent::V_S>(ids[i]);"),
            kernel(
                _IDS
                + _ONE
                + "pipe.ReleaseEventID<HardEvent::V_S>(one);\n"
                + _EACH % "const TEventID id = ids[i];\npipe.ReleaseEventID<HardEvent::V_S>(id);"
            ),
        ),
        (
            kernel(_IDS_LATER + _EACH % "pipe.ReleaseEventID<HardEvent::V_S>(ids[0]);"),
            kernel(_IDS_LATER + _EACH % "pipe.ReleaseEventID<HardEvent::V_S>(ids[i]);"),
        ),
        (
            kernel(_IDS + "Release(pipe, ids[0]);", before=_RELEASE),
            kernel(_IDS + _EACH % "Release(pipe, ids[i]);", before=_RELEASE),
        ),
        (
            kernel(_IDS + _ONE + "ReleaseAll(pipe, ids);", before=_RELEASE),
            kernel(_IDS + "ReleaseAll(pipe, ids);", before=_RELEASE),
        ),
    ],
    "sync-flag-id": [
        (
            kernel("SetFlag<HardEvent::V_S>(8);\nWaitFlag<HardEvent::V_S>(8);"),
            kernel("SetFlag<HardEvent::V_S>(7);\nWaitFlag<HardEvent::V_S>(7);"),
        ),
        (
            file(
                'extern "C" __global__ __vector__ void example(GM_ADDR x)\n{\n    InitSocState();\n'
                "    SetFlag<HardEvent::V_S>(EVENT_ID6);\n"
                "    WaitFlag<HardEvent::V_S>(EVENT_ID6);\n}\n"
            ),
            file(
                'extern "C" __global__ __vector__ void example(GM_ADDR x)\n{\n    InitSocState();\n'
                "    SetFlag<HardEvent::V_S>(EVENT_ID5);\n"
                "    WaitFlag<HardEvent::V_S>(EVENT_ID5);\n}\n"
            ),
        ),
    ],
    "buffer-over-budget": [
        (
            kernel(
                "TBuf<TPosition::VECCALC> big;\npipe.InitBuffer(big, 180000);\nbig.Get<float>();"
            ),
            kernel(
                "TBuf<TPosition::VECCALC> big;\npipe.InitBuffer(big, 179968);\nbig.Get<float>();"
            ),
        ),
        (
            file(
                'extern "C" __global__ __cube__ void example(GM_ADDR x)\n{\n    TPipe pipe;\n'
                "    TQue<TPosition::A2, 1> left;\n    pipe.InitBuffer(left, 3, 32 * 1024);\n"
                "    left.HasIdleBuffer();\n}\n"
            ),
            file(
                'extern "C" __global__ __cube__ void example(GM_ADDR x)\n{\n    TPipe pipe;\n'
                "    TQue<TPosition::A2, 1> left;\n    pipe.InitBuffer(left, 2, 32 * 1024);\n"
                "    left.HasIdleBuffer();\n}\n"
            ),
        ),
    ],
    "buffer-count": [(kernel(_queues(5)), kernel(_queues(4)))],
    "buffer-size": [
        (
            kernel("TBuf<TPosition::VECCALC> odd;\npipe.InitBuffer(odd, 100);\nodd.Get<float>();"),
            kernel(
                "TBuf<TPosition::VECCALC> odd;\n"
                "pipe.InitBuffer(odd, 25 * 4 + 28);\nodd.Get<float>();"
            ),
        ),
    ],
    "buffer-repeated": [
        (
            kernel(_LOOPED % ("", "    pipe.InitBuffer(in, 2, 1024);")),
            kernel(_LOOPED % ("", "    pipe.Reset();\n    pipe.InitBuffer(in, 2, 1024);")),
        ),
        (
            kernel(_LOOPED % ("pipe.InitBuffer(in, 2, 1024);\n", "    TPipe other;")),
            kernel(
                _LOOPED % ("", "    if (i == 0) {\n        pipe.InitBuffer(in, 2, 1024);\n    }")
            ),
        ),
        (
            kernel(
                "for (int32_t i = 0; i < 4; ++i) {\n    Make();\n}",
                before="__aicore__ inline void Make() { TPipe other; }\n",
            ),
            kernel("Make();", before="__aicore__ inline void Make() { TPipe other; }\n"),
        ),
    ],
    "buffer-shared": [
        (
            kernel("LocalTensor<float> c = buf.Get<float>();\nAdd(c, a, c, 64);"),
            kernel("LocalTensor<float> c = buf.Get<float>();\nRelu(c, c, 64);"),
        ),
        (
            kernel(
                "LocalTensor<float> c = buf.Get<float>(256);\n"
                "LocalTensor<float> d = buf.GetWithOffset<float>(256, 512);\nRelu(d, c, 64);"
            ),
            kernel(
                "LocalTensor<float> c = buf.Get<float>(256);\n"
                "LocalTensor<float> d = buf.GetWithOffset<float>(256, 1024);\nRelu(d, c, 64);"
            ),
        ),
        (
            kernel("LocalTensor<float> c = buf.Get<float>();\nRelu(c, a, 64);\nRelu(b, a, 64);"),
            kernel("LocalTensor<half> h = buf.Get<half>();\nRelu(h, h, 64);\nRelu(b, a, 64);"),
        ),
    ],
    "buffer-unused": [
        (
            kernel("TBuf<TPosition::VECCALC> spare;\npipe.InitBuffer(spare, 64);"),
            kernel(
                "TBuf<TPosition::VECCALC> spare;\npipe.InitBuffer(spare, 64);\nspare.Get<half>();"
            ),
        ),
    ],
    "buffer-uninitialised": [
        (
            kernel("TBuf<TPosition::VECCALC> spare;\nRelu(spare.Get<float>(), a, 8);"),
            kernel(
                "TBuf<TPosition::VECCALC> spare;\nMake(pipe, spare);\n"
                "Relu(spare.Get<float>(), a, 8);",
                before="__aicore__ inline void Make(TPipe& pipe, TBuf<TPosition::VECCALC>& buf)\n"
                "{\n    pipe.InitBuffer(buf, 64);\n}\n",
            ),
        ),
    ],
    "offset-32-bit": [
        (
            kernel("for (uint32_t r = 0; r < n; ++r) {\n    DataCopy(a, gx[r * n], 64);\n}"),
            kernel(
                "for (uint32_t r = 0; r < n; ++r) {\n    DataCopy(a, gx[(uint64_t)r * n], 64);\n}"
            ),
        ),
        (
            kernel("const int64_t at = n * n;\ngx.SetValue(at + 1, 0.0f);"),
            kernel("const int64_t at = n % 1024 * 1024;\ngx.SetValue(at + 1, 0.0f);"),
        ),
        (
            kernel(_TILES % "n" + "    DataCopy(a, gx[at], 64);\n}"),
            kernel(_TILES % "(n + 63) / 64" + "    DataCopy(a, gx[at], 64);\n}"),
        ),
    ],
    "argument-count": [
        (kernel("Add(b, a, a);"), kernel("Add(b, a, a, 64);")),
        (kernel("Duplicate(a, 0.0f, 64, 1);"), kernel("Duplicate(a, 0.0f, 64, 1, 1, 8);")),
    ],
    "template-count": [(kernel("PipeBarrier();"), kernel("PipeBarrier<PIPE_V>();"))],
    "operand-type": [
        (
            kernel(
                "LocalTensor<bfloat16_t> h = a.ReinterpretCast<bfloat16_t>();\nAdd(h, h, h, 64);"
            ),
            kernel("LocalTensor<half> h = a.ReinterpretCast<half>();\nAdd(h, h, h, 64);"),
        ),
        (
            kernel("Cast(a.ReinterpretCast<int8_t>(), b, RoundMode::CAST_RINT, 64);"),
            kernel("Cast(a.ReinterpretCast<half>(), b, RoundMode::CAST_RINT, 64);"),
        ),
    ],
    "rounding-mode": [
        (
            kernel("Cast(a.ReinterpretCast<bfloat16_t>(), b, RoundMode::CAST_NONE, 64);"),
            kernel("Cast(a.ReinterpretCast<bfloat16_t>(), b, RoundMode::CAST_RINT, 64);"),
        ),
    ],
    "compare-mode": [
        (
            kernel(
                "LocalTensor<int32_t> i = a.ReinterpretCast<int32_t>();\n"
                "Compare(b.ReinterpretCast<uint8_t>(), i, i, CMPMODE::LT, 64);"
            ),
            kernel("Compare(b.ReinterpretCast<uint8_t>(), a, a, CMPMODE::LT, 64);"),
        ),
    ],
    "immediate-range": [
        (
            kernel(
                _LISTS
                + "TransDataTo5HD<float>(d, s, TransDataTo5HDParams(false, false, 1, 16, 0));"
            ),
            kernel(
                _LISTS + "TransDataTo5HD<float>(d, s, TransDataTo5HDParams(false, false, 1, 0, 0));"
            ),
        ),
        (
            kernel("Add(b, a, b, 64, 256, BinaryRepeatParams(1, 1, 1, 0, 0, 0));"),
            kernel("Add(b, a, b, 64, 255, BinaryRepeatParams(1, 1, 1, 0, 0, 0));"),
        ),
        (
            kernel("Add(b, a, a, 65, 1, BinaryRepeatParams());"),
            kernel("Add(b, a, a, 64, 1, BinaryRepeatParams());"),
        ),
        (
            kernel("Add(b, a, a, 64, 1, BinaryRepeatParams{1, 1, 1, 256, 8, 8});"),
            kernel("Add(b, a, a, 64, 1, BinaryRepeatParams{1, 1, 1, 255, 8, 8});"),
        ),
        (
            kernel(
                "constexpr uint32_t kRows = 5000;\n"
                "DataCopyPad(gy, a, DataCopyExtParams(kRows, 64, 0, 0, 0));"
            ),
            kernel(
                "constexpr uint32_t kRows = 4095;\n"
                "DataCopyPad(gy, a, DataCopyExtParams(kRows, 64, 0, 0, 0));"
            ),
        ),
        (kernel("DataCopy(a, gx, 63);"), kernel("DataCopy(a, gx, 64);")),
        (
            kernel(
                "LocalTensor<int16_t> i = a.ReinterpretCast<int16_t>();\nShiftLeft(i, i, 17, n);"
            ),
            kernel(
                "LocalTensor<int16_t> i = a.ReinterpretCast<int16_t>();\nShiftLeft(i, i, 16, n);"
            ),
        ),
        (
            kernel("Duplicate(a, 0.0f, 64, 1, 1, 256);"),
            kernel("Duplicate(a, 0.0f, 64, 1, 1, 255);"),
        ),
        (
            kernel("UnaryRepeatParams step;\nstep.dstBlkStride = 0;\nExp(b, a, 64, 4, step);"),
            kernel("UnaryRepeatParams step;\nstep.dstBlkStride = 1;\nExp(b, a, 64, 4, step);"),
        ),
    ],
    "operand-alignment": [
        (kernel("Relu(b, a[3], 64);"), kernel("Relu(b, a[8], 64);")),
        (
            kernel("const LocalTensor<half> h = a[4].ReinterpretCast<half>();\nExp(h, h, 64);"),
            kernel("const LocalTensor<half> h = a[8].ReinterpretCast<half>();\nExp(h, h, 64);"),
        ),
        (
            kernel("WholeReduceMax<float>(b[1], a, 64, 4, 1, 1, 8);"),
            kernel("WholeReduceMax<float>(b[2], a, 64, 4, 1, 1, 8);"),
        ),
    ],
    "operand-overlap": [
        (kernel("Tanh<float, false>(a, a, n);"), kernel("Tanh<float, false>(b, a, n);")),
        (
            kernel("Cast(a, a.ReinterpretCast<half>(), RoundMode::CAST_NONE, n);"),
            kernel("Cast(a, b.ReinterpretCast<half>(), RoundMode::CAST_NONE, n);"),
        ),
        (kernel("Add(a[8], a, b, 64);"), kernel("Add(a[64], a, b, 64);")),
    ],
    "operand-bounds": [
        (kernel("Relu(b[1024], a, n);"), kernel("Relu(b[1016], a, n);")),
        (
            kernel(
                "Twice(b[1024]);",
                before="__aicore__ inline void Twice(const LocalTensor<float>& t) {}\n",
            ),
            kernel("ReduceMax<float>(b[1016], a, a, 1024, false);"),
        ),
        (kernel("Relu(b, a[1024], 1025);"), kernel("Relu(b, a[1024], 1024);")),
        (
            kernel("Cast(a.ReinterpretCast<half>(), b, RoundMode::CAST_RINT, 1088);"),
            kernel("Cast(a.ReinterpretCast<half>(), b, RoundMode::CAST_RINT, 1024);"),
        ),
    ],
    "unknown-call": [
        (kernel("Subs(b, a, 1.0f, 64);"), kernel("Adds(b, a, -1.0f, 64);")),
        (kernel("a.Resize(4);"), kernel("a.SetSize(4);")),
    ],
    "unknown-type": [
        (kernel("Tensor<float> t;"), kernel("LocalTensor<float> t;")),
    ],
    "unknown-name": [
        (
            kernel("Cast(a.ReinterpretCast<half>(), b, RoundMode::CAST_HYBRID, 64);"),
            kernel("Cast(a.ReinterpretCast<half>(), b, RoundMode::CAST_ODD, 64);"),
        ),
        (kernel("Relu(b, a, count);"), kernel("Relu(b, a, n);")),
    ],
    "dynamic-allocation": [
        (kernel("int* p = new int[8];"), kernel("int p[8];")),
        (kernel("void* p = malloc(64);"), kernel("TBuf<TPosition::VECCALC>* p = &buf;")),
    ],
    "double-arithmetic": [
        (kernel("const float f = n * 0.5;"), kernel("const float f = n * 0.5f;")),
        (kernel("double sum = 0;"), kernel("constexpr float third = 1.0 / 3.0;")),
        (
            kernel("const float f = static_cast<double>(n);"),
            kernel("LocalTensor<double> wide = a.ReinterpretCast<double>();"),
        ),
    ],
    "standard-library": [
        (file("#include <vector>\n" + _EMPTY), file('#include "sizes.h"\n' + _EMPTY)),
        (kernel("memset(nullptr, 0, 4);"), kernel("Duplicate(a, 0.0f, 64);")),
        (
            kernel("const uint32_t m = std::max(n, 8u);"),
            kernel("const uint32_t m = n > 8 ? n : 8;"),
        ),
    ],
    "variable-length-array": [
        (kernel("float v[n];"), kernel("constexpr int32_t most = 4;\nfloat v[most * 2];")),
        (
            kernel("const uint32_t m = n * 2;\nfloat v[m + 1];"),
            kernel(
                "Sort<8>(a);",
                before="template <int32_t N> __aicore__ inline void Sort(LocalTensor<float> t)\n"
                "{\n    float v[N * 2];\n}\n",
            ),
        ),
    ],
    "exception": [
        (kernel("throw 1;"), kernel("return;")),
        (kernel("try {\n    Relu(b, a, n);\n} catch (...) {\n}"), kernel("Relu(b, a, n);")),
    ],
    "virtual-function": [
        (
            file("class Stage {\n    virtual __aicore__ inline void Process() {}\n};\n"),
            file("class Stage {\n    __aicore__ inline void Process() {}\n};\n"),
        ),
    ],
    "rtti": [
        (
            kernel("auto* p = dynamic_cast<TPipe*>(&pipe);"),
            kernel("auto* p = static_cast<TPipe*>(&pipe);"),
        ),
    ],
    "mutable-static": [
        (file("int32_t calls = 0;\n" + _EMPTY), file("constexpr int32_t calls = 0;\n" + _EMPTY)),
        (kernel("static int32_t calls = 0;"), kernel("int32_t calls = 0;")),
    ],
    "recursion": [
        (
            file(
                "__aicore__ inline int Fib(int n) { return n < 2 ? n : Fib(n - 1) + Fib(n - 2); }\n"
            ),
            file("__aicore__ inline int Twice(int n) { return n + n; }\n"),
        ),
        (
            file(
                "__aicore__ inline int Odd(int n);\n"
                "__aicore__ inline int Even(int n) { return n == 0 ? 1 : Odd(n - 1); }\n"
                "__aicore__ inline int Odd(int n) { return n == 0 ? 0 : Even(n - 1); }\n"
            ),
            file(
                "__aicore__ inline int One(int n) { return n; }\n"
                "__aicore__ inline int Two(int n) { return One(n) + One(n); }\n"
            ),
        ),
    ],
    "missing-aicore": [
        (
            file("inline int Twice(int n) { return n + n; }\n"),
            file("constexpr int Twice(int n) { return n + n; }\n"),
        ),
    ],
    "preprocessor": [
        (file("#ifdef FAST\n#endif\n" + _EMPTY), file("#define TILE 2048\n" + _EMPTY)),
        (file("#define TWICE(x) ((x) + (x))\n" + _EMPTY), file("#define TILE (-1)\n" + _EMPTY)),
    ],
    "unreadable": [
        (kernel("Relu(b, a, ;"), kernel("Relu(b, a, n);")),
    ],
    "unknown-rule": [
        (
            kernel("Relu(b, a, n);  // lint: off argument-cuont"),
            kernel("Relu(b, a, n);  // lint: off argument-count"),
        ),
    ],
}
