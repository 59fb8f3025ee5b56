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
using Queue = TQue<TPosition::VECIN, 1>;
struct Pair { LocalTensor<float> s; };
__aicore__ inline LocalTensor<float> Take(Queue& q) { return q.AllocTensor<float>(); }
__aicore__ inline LocalTensor<float> Next(Queue& q) { return q.DeQue<float>(); }
__aicore__ inline LocalTensor<float> Fetch(Queue& q, const GlobalTensor<float>& g)
{
    LocalTensor<float> s = Take(q);
    DataCopy(s, g, 64);
    q.EnQue(s);
    return Next(q);
}
__aicore__ inline Pair Both(Queue& q, const GlobalTensor<float>& g) { return {Fetch(q, g)}; }
"""
BUSY = "other.HasIdleBuffer();\n"
LOAD = "{0} = {1}.AllocTensor<float>();\nDataCopy({0}, gx, 64);\n{1}.EnQue({0});\n"
TAKE, FREE = "{0} = {1}.DeQue<float>();\n", "{1}.FreeTensor({0});\n"
T_IN = LOAD.format("t", "in") + TAKE.format("t", "in")
U_IN = LOAD.format("u", "in") + TAKE.format("u", "in")
U_OTHER = LOAD.format("u", "other") + TAKE.format("u", "other")
FETCH, OTHER = (
    f"LocalTensor<float> {name} = Fetch({queue}, gx);\n"
    for name, queue in (("v", "in"), ("w", "other"))
)
FREE_V, FREE_W = FREE.format("v", "in"), FREE.format("w", "other")
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
    "an iteration frees twice what a function returned": (
        text(BUSY, T_IN, loop(FETCH, "Relu(b, v, 64);\n", FREE_V, FREE_V), FREE_T),
        text(BUSY, loop(FETCH, "Relu(b, v, 64);\n", FREE_V)),
    ),
    "what a function returned is used after FreeTensor": (
        text(BUSY, loop(FETCH, FREE_V, "Relu(b, v, 64);\n")),
        text(BUSY, loop(FETCH, "Relu(b, v[8], 64);\n", "Free(in, v);\n")),
    ),
    "a function returned it before the loop": (
        text(BUSY, FETCH, T_IN, loop("Relu(b, v, 64);\n", FREE_V), FREE_T),
        text(BUSY, loop("auto v = Fetch(in, gx);\nRelu(b, v, 64);\n", FREE_V)),
    ),
    "functions take from two queues": (
        text(loop(FETCH, OTHER, "Add(b, v, w, 64);\n", FREE_V, "Relu(b, v, 64);\n", FREE_W)),
        text(loop(FETCH, OTHER, "Add(b, v, w, 64);\n", FREE_V, FREE_W)),
    ),
    "a variable is assigned what a function returned": (
        text(BUSY, loop("t = Fetch(in, gx);\n", FREE_T, "Relu(b, t, 64);\n")),
        text(BUSY, loop("t = Fetch(in, gx);\nRelu(b, t, 64);\n", FREE_T)),
    ),
    "a function allocates, and one takes": (
        text(
            BUSY,
            loop("u = Take(in);\nDataCopy(u, gx, 64);\nin.EnQue(u);\nRelu(b, u, 64);\n"),
            loop("u = Next(in);\n", FREE_U),
        ),
        text(
            BUSY,
            loop(
                "u = Take(in);\nDataCopy(u, gx, 64);\nin.EnQue(u);\nu = Next(in);\n",
                "Relu(b, u, 64);\n",
                FREE_U,
            ),
        ),
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


@pytest.mark.parametrize(
    "lines",
    [
        "LocalTensor<float> kept[2];\nkept[0] = Fetch(in, gx);\nLocalTensor<float> v = kept[0];\n",
        "u = Fetch(in, gx);\nt = u;\nLocalTensor<float> v = t;\n",
        "LocalTensor<float> v = n > 1 ? Fetch(in, gx) : Fetch(in, gy);\n",
        "LocalTensor<float> v = Fetch(in, gx).ReinterpretCast<float>();\n",
        "Pair p = Both(in, gx);\nLocalTensor<float> v = p.s;\n",
    ],
)
def test_tensors_that_are_not_followed_are_not_decided(lines: str) -> None:
    lawful = shown(text(BUSY, loop(lines, "Relu(b, v, 64);\n", FREE_V)))
    assert "sync-stale-tensor" not in lawful


ANY = """\
template <typename Q> __aicore__ inline LocalTensor<float> AnyTake(Q& q)
{
    return q.template AllocTensor<float>();
}
template <typename Q> __aicore__ inline LocalTensor<float> AnyNext(Q& q)
{
    return q.template DeQue<float>();
}
"""
ANY_LOAD = "LocalTensor<float> v = AnyTake(in);\nDataCopy(v, gx, 64);\nin.EnQue(v);\n"
ANY_STORE = "w = AnyTake(out);\nRelu(w, v, 64);\nout.EnQue(w);\nw = AnyNext(out);\n"


def test_templates_take_from_queues_of_any_type() -> None:
    queue = "TQue<TPosition::VECOUT, 1> out;\npipe.InitBuffer(out, 2, 1024);\n"
    store = queue + "LocalTensor<float> w;\n"
    steps = [ANY_LOAD, "v = AnyNext(in);\n", ANY_STORE, FREE_V, "DataCopy(gx, w, 64);\n"]
    free = FREE.format("w", "out")
    for freed, expected in ((free, []), ("", ["sync-unpaired-queue"])):
        lines = "".join((QUEUES, BUSY, store, loop(*steps, freed)))
        assert found(kernel(lines, before=USES + ANY)) == expected


def test_one_fault_is_told_once() -> None:
    assert found(text(BUSY, T_IN, FREE_T, FREE_T)) == ["sync-unpaired-queue"]
