"""Flags, queues and sums of buffers on the paths of a kernel."""

from __future__ import annotations

import pytest

from tests.lint.support import file, found, kernel, shown

ORDER = """\
template <HardEvent E> __aicore__ inline void Order(TPipe& pipe)
{
    event_t id = static_cast<event_t>(pipe.FetchEventID(E));
    SetFlag<E>(id);
    WaitFlag<E>(id);
}
"""
QUEUE = "TQue<TPosition::VECIN, 1> in;\npipe.InitBuffer(in, 2, 1024);\nLocalTensor<float> t;\n"
SET, WAIT = "SetFlag<HardEvent::V_MTE2>(EVENT_ID0);\n", "WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);\n"
ALLOC, ENQUE = "t = in.AllocTensor<float>();\n", "in.EnQue(t);\n"
DEQUE, FREE = "t = in.DeQue<float>();\n", "in.FreeTensor(t);\n"
STAGE = """\
class Stage {
public:
    __aicore__ inline Stage(TPipe& pipe, uint32_t bytes) { pipe.InitBuffer(que_, 2, %s); }
    __aicore__ inline void Process()
    {
        for (int32_t i = 0; i < 4; ++i) {
            Fill();
            Use();
        }
    }

private:
    static constexpr uint32_t kBytes = 48 * 1024;
    __aicore__ inline void Fill()
    {
        LocalTensor<float> t = que_.AllocTensor<float>();
        que_.EnQue(t);
    }
    __aicore__ inline void Use()
    {
        LocalTensor<float> t = que_.DeQue<float>();
        %s
    }
    TQue<TPosition::VECIN, 1> que_;
};
"""
GOOD = STAGE % ("kBytes", "que_.FreeTensor(t);")


def loop(body: str, head: str = "for (uint32_t i = 0; i < n; ++i)") -> str:
    return f"{head} {{\n{body}}}\n"


def when(condition: str, body: str) -> str:
    return f"if ({condition}) {{\n{body}}}\n"


QUIET = {
    "a helper with an event as template argument": kernel(
        "Order<HardEvent::V_S>(pipe);\nOrder<HardEvent::S_V>(pipe);", before=ORDER
    ),
    "a flag that is set one iteration ahead": kernel(SET + loop(WAIT + SET) + WAIT),
    "a flag that depends on the iteration": kernel(
        loop(when("i > 0", WAIT) + when("i + 1 < n", SET))
    ),
    "two buffers in turn, by index": kernel(
        "event_t ids[2] = {EVENT_ID0, EVENT_ID1};\n"
        + SET
        + SET.replace("ID0", "ID1")
        + loop(WAIT.replace("EVENT_ID0", "ids[i % 2]") + SET.replace("EVENT_ID0", "ids[i % 2]"))
        + WAIT
        + WAIT.replace("ID0", "ID1")
    ),
    "two buffers in turn, by a variable": kernel(
        "int32_t id = 0;\n" + SET + loop(WAIT.replace("EVENT_ID0", "id") + "id ^= 1;\n")
    ),
    "ids as arguments": kernel(
        "Set(EVENT_ID3);\nWaitFor(3);",
        before="__aicore__ inline void Set(int32_t a) { SetFlag<HardEvent::V_S>(a); }\n"
        "__aicore__ inline void WaitFor(int32_t b) { WaitFlag<HardEvent::V_S>(b); }\n",
    ),
    "one condition, asked twice": kernel(when("n > 7", SET) + when("n > 7", WAIT)),
    "a helper that returns early, before it takes anything": kernel(
        "Use(in, n);\nin.HasIdleBuffer();".replace("Use", QUEUE + "Use"),
        before="__aicore__ inline void Use(TQue<TPosition::VECIN, 1>& q, uint32_t n)\n{\n"
        "    if (n == 0) {\n        return;\n    }\n"
        "    LocalTensor<float> t = q.AllocTensor<float>();\n    q.FreeTensor(t);\n}\n",
    ),
    "an iteration that is left before it takes anything": kernel(
        QUEUE + loop("if (i == 3) {\ncontinue;\n}\n" + ALLOC + FREE)
    ),
    "a loop that fills and one that empties": kernel(
        QUEUE + loop(ALLOC + ENQUE) + loop(DEQUE + FREE)
    ),
    "a tensor that goes round twice": kernel(QUEUE + ALLOC + ENQUE + DEQUE + ENQUE + DEQUE + FREE),
    "a queue under a switch": kernel(
        QUEUE + "switch (n) {\ncase 0:\n" + ALLOC + "break;\ndefault:\nbreak;\n}\n"
    ),
    "stages one after the other, each with the whole memory": kernel(
        "pipe.Reset();\nStage(pipe, n).Process();\npipe.Reset();\nStage(pipe, n).Process();",
        before=GOOD,
    ),
    "one of two stages": kernel(
        "if (n > 4) {\n    Stage(pipe, n).Process();\n} else {\n    Stage(pipe, n).Process();\n}",
        before=GOOD,
    ),
    "objects with names": kernel("Stage stage(pipe, n);\nstage.Process();", before=GOOD),
    "sizes that only a launch knows": kernel(
        "Stage a1(pipe, n);\nStage a2(pipe, n);\na1.Process();\na2.Process();",
        before=STAGE % ("bytes", "que_.FreeTensor(t);"),
    ),
    "a file without a kernel": file(STAGE % ("bytes", "")),
}

LOUD = {
    "a loop that sets and never waits": (kernel(loop(SET)), ["sync-unpaired-flag"]),
    "a loop that waits for what was set once": (kernel(SET + loop(WAIT)), ["sync-unpaired-flag"]),
    "a flag of another event": (
        kernel(SET + "WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);\n"),
        ["sync-unpaired-flag", "sync-unpaired-flag"],
    ),
    "a flag with another id": (
        kernel(SET + "WaitFlag<HardEvent::V_MTE2>(EVENT_ID1);\n"),
        ["sync-unpaired-flag", "sync-unpaired-flag"],
    ),
    "other ids as arguments": (
        kernel(
            "Set(EVENT_ID3);\nWaitFor(4);",
            before="__aicore__ inline void Set(int32_t a) { SetFlag<HardEvent::V_S>(a); }\n"
            "__aicore__ inline void WaitFor(int32_t b) { WaitFlag<HardEvent::V_S>(b); }\n",
        ),
        ["sync-unpaired-flag", "sync-unpaired-flag"],
    ),
    "a helper that does not wait": (
        kernel("Order<HardEvent::V_S>(pipe);", before=ORDER.replace("    WaitFlag<E>(id);\n", "")),
        ["sync-unpaired-flag"],
    ),
    "a return between": (
        kernel(QUEUE + ALLOC + when("n == 0", "return;\n") + FREE),
        ["sync-unpaired-queue"],
    ),
    "a tensor not freed in a method": (
        kernel("Stage(pipe, n).Process();", before=STAGE % ("kBytes", "")),
        ["sync-unpaired-queue"],
    ),
    "an iteration that is left with a tensor": (
        kernel(QUEUE + loop(ALLOC + "if (i == 3) {\ncontinue;\n}\n" + FREE)),
        ["sync-unpaired-queue"],
    ),
    "a queue that is given up with a tensor in it": (
        kernel(QUEUE + ALLOC + ENQUE + "pipe.Reset();\n"),
        ["sync-unpaired-queue"],
    ),
    "two stages at once": (
        kernel("Stage a1(pipe, n);\nStage a2(pipe, n);\na1.Process();\na2.Process();", before=GOOD),
        ["buffer-over-budget"],
    ),
}


@pytest.mark.parametrize("name", QUIET)
def test_nothing_is_found(name: str) -> None:
    assert shown(QUIET[name]) == ""


@pytest.mark.parametrize("name", LOUD)
def test_found(name: str) -> None:
    text, rules = LOUD[name]
    assert found(text) == rules, shown(text)
