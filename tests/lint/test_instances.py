"""Functions of a text are checked with the arguments of their calls."""

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
HELPER = "__aicore__ inline void "
TYPED = "template <typename T> " + HELPER
ROOT = TYPED + "Root(const LocalTensor<T>& t, int32_t n)\n{\n    Sqrt(t, t, n);\n}\n"
TAKE = "LocalTensor<%s> t = buf.Get<%s>();\n"
SHIFT = HELPER + "Shift(LocalTensor<float> t, uint32_t at)\n{\n    Relu(t[at], t, 64);\n}\n"
STAGE = """\
template <typename T, int32_t N> class Stage {
public:
    __aicore__ inline void Process(const LocalTensor<T>& t) { Root(t); }

private:
    __aicore__ inline void Root(const LocalTensor<T>& t) { Sqrt(t[N], t[N], 64); }
};
"""
CHOSEN = """\
template <typename T> __aicore__ inline void Root(const LocalTensor<T>& t)
{
    if constexpr (sizeof(T) == 4) {
        %s(t, t, 64);
    } else {
        Sqrt(t, t, 64);
    }
}
"""

PAIRS = {
    # what is followed: (broken, lawful, the rule that the first breaks)
    "a type that a tensor tells": (
        kernel(TAKE % ("int32_t", "int32_t") + "Root(t, 64);", before=ROOT),
        kernel(TAKE % ("half", "half") + "Root(t, 64);", before=ROOT),
        "operand-type",
    ),
    "a type that is written": (
        kernel(
            "Fill<int32_t>(buf);",
            before=TYPED + "Fill(TBuf<TPosition::VECCALC>& buf)\n{\n"
            "    LocalTensor<T> t = buf.Get<T>();\n    Sqrt(t, t, 64);\n}\n",
        ),
        kernel(
            "Fill<half>(buf);",
            before=TYPED + "Fill(TBuf<TPosition::VECCALC>& buf)\n{\n"
            "    LocalTensor<T> t = buf.Get<T>();\n    Sqrt(t, t, 64);\n}\n",
        ),
        "operand-type",
    ),
    "a type through two templates": (
        kernel(
            TAKE % ("int16_t", "int16_t") + "Outer(t);",
            before=ROOT + TYPED + "Outer(const LocalTensor<T>& u)\n{\n    Root<T>(u, 64);\n}\n",
        ),
        kernel(
            TAKE % ("half", "half") + "Outer(t);",
            before=ROOT + TYPED + "Outer(const LocalTensor<T>& u)\n{\n    Root<T>(u, 64);\n}\n",
        ),
        "operand-type",
    ),
    "a type of a class": (
        kernel(
            TAKE % ("int32_t", "int32_t") + "Stage<int32_t, 64> stage;\nstage.Process(t);",
            before=STAGE,
        ),
        kernel(TAKE % ("half", "half") + "Stage<half, 64> stage;\nstage.Process(t);", before=STAGE),
        "operand-type",
    ),
    "a constant of a class": (
        kernel("Stage<float, 2048> stage;\nstage.Process(a);", before=STAGE),
        kernel("Stage<float, 1984> stage;\nstage.Process(a);", before=STAGE),
        "operand-bounds",
    ),
    "the branch that a type chooses": (
        kernel("Root(a);", before=CHOSEN % "Not"),
        kernel(TAKE % ("half", "half") + "Root(t);", before=CHOSEN % "Not"),
        "operand-type",
    ),
    "an event of the other kind of core": (
        kernel("Order<HardEvent::M_FIX>(pipe);", before=ORDER),
        kernel("Order<HardEvent::MTE2_V>(pipe);", before=ORDER),
        "sync-event",
    ),
    "an event through two templates": (
        kernel(
            "Twice<HardEvent::MTE1_M>(pipe);",
            before=ORDER
            + "template <HardEvent E> "
            + HELPER
            + "Twice(TPipe& p)\n{\n    Order<E>(p);\n    Order<E>(p);\n}\n",
        ),
        kernel(
            "Twice<HardEvent::V_MTE3>(pipe);",
            before=ORDER
            + "template <HardEvent E> "
            + HELPER
            + "Twice(TPipe& p)\n{\n    Order<E>(p);\n    Order<E>(p);\n}\n",
        ),
        "sync-event",
    ),
    "a pipe": (
        kernel(
            "Wait<PIPE_S>();",
            before="template <pipe_t P> " + HELPER + "Wait()\n{\n    PipeBarrier<P>();\n}\n",
        ),
        kernel(
            "Wait<PIPE_MTE3>();",
            before="template <pipe_t P> " + HELPER + "Wait()\n{\n    PipeBarrier<P>();\n}\n",
        ),
        "sync-event",
    ),
    "a rounding mode": (
        kernel(
            TAKE % ("half", "half") + "To<RoundMode::CAST_RINT>(b, t);",
            before="template <RoundMode M> "
            + HELPER
            + "To(LocalTensor<float> d, LocalTensor<half> s)\n{\n    Cast(d, s, M, 64);\n}\n",
        ),
        kernel(
            TAKE % ("half", "half") + "To<RoundMode::CAST_NONE>(b, t);",
            before="template <RoundMode M> "
            + HELPER
            + "To(LocalTensor<float> d, LocalTensor<half> s)\n{\n    Cast(d, s, M, 64);\n}\n",
        ),
        "rounding-mode",
    ),
    "a repeat": (
        kernel(
            "Many(a, b, 256);",
            before=HELPER + "Many(LocalTensor<float> d, LocalTensor<float> s, int32_t repeats)\n{\n"
            "    Add(d, s, d, 64, repeats, {1, 1, 1, 0, 0, 0});\n}\n",
        ),
        kernel(
            "Many(a, b, 255);",
            before=HELPER + "Many(LocalTensor<float> d, LocalTensor<float> s, int32_t repeats)\n{\n"
            "    Add(d, s, d, 64, repeats, {1, 1, 1, 0, 0, 0});\n}\n",
        ),
        "immediate-range",
    ),
    "a default argument": (
        kernel(
            "Many(a);",
            before=HELPER + "Many(LocalTensor<float> d, int32_t r = 256)\n{\n"
            "    Add(d, d[64], d, 64, r, {1, 1, 1, 0, 0, 0});\n}\n",
        ),
        kernel(
            "Many(a, 4);",
            before=HELPER + "Many(LocalTensor<float> d, int32_t r = 256)\n{\n"
            "    Add(d, d[64], d, 64, r, {1, 1, 1, 0, 0, 0});\n}\n",
        ),
        "immediate-range",
    ),
    "a constant that a condition rules out": (
        kernel(
            "Many(a, 256);",
            before=HELPER
            + "Many(LocalTensor<float> d, int32_t r)\n{\n    if (r > 256) {\n        return;\n"
            "    }\n    Add(d, d[64], d, 64, r, {1, 1, 1, 0, 0, 0});\n}\n",
        ),
        kernel(
            "Many(a, 256);",
            before=HELPER
            + "Many(LocalTensor<float> d, int32_t r)\n{\n    if (r > 255) {\n        return;\n"
            "    }\n    Add(d, d[64], d, 64, r, {1, 1, 1, 0, 0, 0});\n}\n",
        ),
        "immediate-range",
    ),
    "a constant that is counted down": (
        kernel(
            "Many(a, 300);",
            before=HELPER + "Many(LocalTensor<float> d, int32_t r)\n{\n    while (false) {\n"
            "        d.GetSize();\n    }\n    Add(d, d[64], d, 64, r, {1, 1, 1, 0, 0, 0});\n}\n",
        ),
        kernel(
            "Many(a, 300);",
            before=HELPER
            + "Many(LocalTensor<float> d, int32_t r)\n{\n    while (r > 255) {\n        r -= 255;\n"
            "    }\n    Add(d, d[64], d, 64, r, {1, 1, 1, 0, 0, 0});\n}\n",
        ),
        "immediate-range",
    ),
    "the end of a buffer": (
        kernel("Root(b[512], 513);", before=ROOT),
        kernel("Root(b[512], 512);", before=ROOT),
        "operand-bounds",
    ),
    "an offset that is no block": (
        kernel("Root(a[4], 64);", before=ROOT),
        kernel("Root(a[8], 64);", before=ROOT),
        "operand-alignment",
    ),
    "an offset behind the end": (
        kernel("Shift(a, 2048);", before=SHIFT),
        kernel("Shift(a, 1984);", before=SHIFT),
        "operand-bounds",
    ),
    "operands that overlap": (
        kernel("Shift(a, 8);", before=SHIFT),
        kernel("Shift(a, 64);", before=SHIFT),
        "operand-overlap",
    ),
    "two parameters of one buffer": (
        kernel(
            "To(a, a[8]);",
            before=HELPER
            + "To(LocalTensor<float> d, LocalTensor<float> s)\n{\n    Relu(d, s, 64);\n}\n",
        ),
        kernel(
            "To(a, b[8]);",
            before=HELPER
            + "To(LocalTensor<float> d, LocalTensor<float> s)\n{\n    Relu(d, s, 64);\n}\n",
        ),
        "operand-overlap",
    ),
    "one name for different offsets": (
        kernel(
            "for (uint32_t i = 0; i < n; ++i) {\n    To(a[i * 8], a[i * 8]);\n}",
            before=HELPER
            + "To(LocalTensor<float> d, LocalTensor<float> s)\n{\n    Sigmoid(d, s, 64);\n}\n",
        ),
        kernel(
            "const uint32_t i = n;\nTo(a[i * 8], a, 9);",
            before=HELPER + "To(LocalTensor<float> d, LocalTensor<float> s, uint32_t i)\n{\n"
            "    Sigmoid(d, s[i * 8], 64);\n}\n",
        ),
        "operand-overlap",
    ),
    "one of two overloads": (
        kernel(
            TAKE % ("int32_t", "int32_t") + "Root(t);",
            before=HELPER
            + "Root(LocalTensor<float> t)\n{\n    Sqrt(t, t, 64);\n}\n"
            + TYPED
            + "Root(LocalTensor<T> t)\n{\n    Sqrt(t, t, 64);\n}\n",
        ),
        kernel(
            TAKE % ("int32_t", "int32_t") + "Root(t);",
            before=TYPED
            + "Root(T t)\n{\n}\n"
            + HELPER
            + "Root(LocalTensor<float> t)\n{\n    Sqrt(t, t, 64);\n}\n",
        ),
        "operand-type",
    ),
    "a result of a template": (
        kernel(
            "LocalTensor<int32_t> i = buf.Get<int32_t>();\nauto t = Same<int32_t>(i);\n"
            "Sqrt(t, t, 64);",
            before="template <typename T> __aicore__ inline LocalTensor<T> Same(LocalTensor<T> t)"
            "\n{\n    return t;\n}\n",
        ),
        kernel(
            "auto t = Same(a);\nSqrt(t, t, 64);",
            before="template <typename T> __aicore__ inline LocalTensor<T> Same(LocalTensor<T> t)"
            "\n{\n    return t;\n}\n",
        ),
        "operand-type",
    ),
    "a cross-core flag": (
        kernel(
            "Go(11);",
            "__mix__(0, 1)",
            HELPER + "Go(uint16_t id)\n{\n    CrossCoreSetFlag<0, PIPE_MTE3>(id);\n"
            "    CrossCoreWaitFlag(id);\n}\n",
        ),
        kernel(
            "Go(10);",
            "__mix__(0, 1)",
            HELPER + "Go(uint16_t id)\n{\n    CrossCoreSetFlag<0, PIPE_MTE3>(id);\n"
            "    CrossCoreWaitFlag(id);\n}\n",
        ),
        "sync-flag-number",
    ),
    "a flag that a template numbers": (
        kernel(
            "Set<1>();\nWait<2>();",
            before="template <int32_t I> "
            + HELPER
            + "Set()\n{\n    SetFlag<HardEvent::V_S>(I);\n}\ntemplate <int32_t I> "
            + HELPER
            + "Wait()\n{\n    WaitFlag<HardEvent::V_S>(I);\n}\n",
        ),
        kernel(
            "Set<1>();\nWait<1>();",
            before="template <int32_t I> "
            + HELPER
            + "Set()\n{\n    SetFlag<HardEvent::V_S>(I);\n}\ntemplate <int32_t I> "
            + HELPER
            + "Wait()\n{\n    WaitFlag<HardEvent::V_S>(I);\n}\n",
        ),
        "sync-unpaired-flag",
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_arguments_are_followed(name: str) -> None:
    broken, lawful, rule = PAIRS[name]
    assert set(found(broken)) == {rule}, shown(broken)
    assert shown(lawful) == ""


def test_the_call_is_named() -> None:
    text = kernel(TAKE % ("int32_t", "int32_t") + "Root(t, 64);", before=ROOT)
    line = text.split("\n").index("    Root(t, 64);") + 1
    assert f"called in line {line} with T = int32_t, n = 64, t = buf" in shown(text)


def test_a_function_that_calls_itself_comes_to_an_end() -> None:
    text = file(HELPER + "Down(int32_t n)\n{\n    Down(n + 1);\n}\n")
    call = 'extern "C" __global__ __vector__ void example(GM_ADDR x) { Down(0); }\n'
    assert found(text + call) == ["recursion"]
