"""Tensors of queues, from AllocTensor to FreeTensor, on the paths of a kernel."""

from __future__ import annotations

import pytest

from tests.lint.support import found, kernel, shown

QUEUES = """\
TQue<TPosition::VECIN, 1> in, other;
pipe.InitBuffer(in, 2, 1024);
pipe.InitBuffer(other, 2, 1024);
LocalTensor<float> t, u;
"""
USES = """\
__aicore__ inline void Use(LocalTensor<float> s) { Relu(s, s, 64); }
__aicore__ inline void Free(TQue<TPosition::VECIN, 1>& q, LocalTensor<float> s)
{
    q.FreeTensor(s);
}
"""
BUSY = "other.HasIdleBuffer();\n"
LOAD = "{0} = {1}.AllocTensor<float>();\nDataCopy({0}, gx, 64);\n{1}.EnQue({0});\n"
TAKE, FREE = "{0} = {1}.DeQue<float>();\n", "{1}.FreeTensor({0});\n"
T_IN = LOAD.format("t", "in") + TAKE.format("t", "in")
U_IN = LOAD.format("u", "in") + TAKE.format("u", "in")
U_OTHER = LOAD.format("u", "other") + TAKE.format("u", "other")
FREE_T, FREE_U = FREE.format("t", "in"), FREE.format("u", "in")


def text(*parts: str) -> str:
    return kernel("".join((QUEUES, *parts)), before=USES)


def loop(*parts: str) -> str:
    return "".join(("for (uint32_t i = 0; i < n; ++i) {\n", *parts, "}\n"))


PAIRS = {
    # what happens: (broken, lawful)
    "one of two tensors is freed twice": (
        text(BUSY, T_IN, U_IN, FREE_T, FREE_T),
        text(BUSY, T_IN, U_IN, FREE_T, FREE_U),
    ),
    "tensors go back to each other's queue": (
        text(T_IN, U_OTHER, FREE.format("t", "other"), FREE.format("u", "in")),
        text(T_IN, U_OTHER, FREE.format("u", "other"), FREE.format("t", "in")),
    ),
    "a function frees a tensor to another queue": (
        text(T_IN, U_OTHER, "Free(other, t);\nFree(in, u);\n"),
        text(T_IN, U_OTHER, "Free(in, t);\nFree(other, u);\n"),
    ),
    "a function uses what was freed": (
        text(BUSY, T_IN, FREE_T, "Use(t);\n"),
        text(BUSY, T_IN, "Use(t);\n", FREE_T),
    ),
    "a part is used after the whole was freed": (
        text(BUSY, T_IN, "LocalTensor<float> part = u[8];\n", FREE_T, "Relu(b, t[8], 8);\n"),
        text(BUSY, T_IN, "Relu(b, t[8], 8);\n", FREE_T),
    ),
    "a view is used after its tensor was freed": (
        text(
            BUSY,
            "LocalTensor<float> s = in.AllocTensor<float>();\nLocalTensor<float> w = s[8];\n",
            FREE.format("s", "in"),
            "Relu(b, w, 8);\n",
        ),
        text(
            BUSY,
            "LocalTensor<float> s = in.AllocTensor<float>();\nLocalTensor<float> w = s[8];\n",
            "Relu(b, w, 8);\n",
            FREE.format("s", "in"),
        ),
    ),
    "an element is read after FreeTensor": (
        text(BUSY, T_IN, FREE_T, "float f = t.GetValue(0);\n"),
        text(BUSY, T_IN, "float f = t.GetValue(0);\n", FREE_T),
    ),
    "an iteration uses what the last one freed": (
        text(BUSY, T_IN, T_IN, loop("Relu(b, t, 64);\n", FREE_T)),
        text(BUSY, loop(T_IN, "Relu(b, t, 64);\n", FREE_T)),
    ),
    "a tensor is used while it is in its queue": (
        text(BUSY, LOAD.format("t", "in"), "Relu(b, t, 64);\n", TAKE.format("t", "in"), FREE_T),
        text(BUSY, LOAD.format("t", "in"), TAKE.format("u", "in"), "Relu(b, u, 64);\n", FREE_U),
    ),
    "a copy that nothing waits for": (
        text(BUSY, "t = in.AllocTensor<float>();\nDataCopy(t, gx, 64);\nRelu(b, t, 64);\n", FREE_T),
        text(BUSY, "t = in.AllocTensor<float>();\nRelu(t, a, 64);\nRelu(b, t, 64);\n", FREE_T),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_pair(name: str) -> None:
    broken, lawful = PAIRS[name]
    assert "sync-stale-tensor" in found(broken), shown(broken)
    assert shown(lawful) == ""


def test_what_depends_on_the_iteration_is_not_decided() -> None:
    last = "if (i + 1 == n) {\n" + FREE_T + "}\n"
    assert shown(text(BUSY, T_IN, loop("Relu(b, t, 64);\n", last))) == ""


def test_one_fault_is_told_once() -> None:
    assert found(text(BUSY, T_IN, FREE_T, FREE_T)) == ["sync-unpaired-queue"]
