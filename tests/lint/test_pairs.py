"""Texts that differ in one thing: one breaks a rule, its neighbour breaks none."""

from __future__ import annotations

import pytest

from tests.lint.support import file, found, kernel, shown

HELPER = "__aicore__ inline void "
FIRST = "__aicore__ inline bool First()\n{\n    %s\n}\n"
STAGE = """\
class Stage {
public:
    __aicore__ inline void Init() { first_ = %s * 8; }
    __aicore__ inline void Run()
    {
        if (first_ == 0) {
            SyncAll();
        }
    }

private:
    int64_t first_;
};
"""
WITHOUT_PIPE = """\
// no TPipe
%sextern "C" __global__ __vector__ void example(GM_ADDR x)
{
    %sInitSocState();
    SetFlag<HardEvent::V_S>(EVENT_ID6);
    WaitFlag<HardEvent::V_S>(EVENT_ID6);
}
"""
MEET = "if (First()) {\n    SyncAll();\n}"
MIX = "__mix__(0, 1)"

PAIRS = {
    # what it is: (broken, lawful, the rule that the first breaks)
    "flags 6 and 7 are those of a TPipe": (
        file(WITHOUT_PIPE % ("", "")),
        file(WITHOUT_PIPE % ("", "TPipe pipe;\n    ")),
        "sync-flag-id",
    ),
    "a TPipe of nobody": (
        file(WITHOUT_PIPE % (HELPER + "Unused(TPipe& pipe) {}\n", "")),
        file(
            WITHOUT_PIPE % (HELPER + "Used() { TPipe pipe; }\n", "Used();\n    "),
        ),
        "sync-flag-id",
    ),
    "an id that a function is given": (
        kernel(
            "Order(8);",
            before=HELPER + "Order(int32_t id)\n{\n    SetFlag<HardEvent::V_S>(id);\n"
            "    WaitFlag<HardEvent::V_S>(id);\n}\n",
        ),
        kernel(
            "Order(7);",
            before=HELPER + "Order(int32_t id)\n{\n    SetFlag<HardEvent::V_S>(id);\n"
            "    WaitFlag<HardEvent::V_S>(id);\n}\n",
        ),
        "sync-flag-id",
    ),
    "a mode with a name": (
        kernel(
            "const RoundMode m = RoundMode::CAST_ODD;\n"
            "LocalTensor<int32_t> i = buf.Get<int32_t>();\nCast(i, a, m, 64);"
        ),
        kernel(
            "const RoundMode m = RoundMode::CAST_RINT;\n"
            "LocalTensor<int32_t> i = buf.Get<int32_t>();\nCast(i, a, m, 64);"
        ),
        "rounding-mode",
    ),
    "a comparison with a name": (
        kernel(
            "constexpr CMPMODE m = CMPMODE::LT;\nLocalTensor<int32_t> i = buf.Get<int32_t>();\n"
            "LocalTensor<uint8_t> bits = buf.Get<uint8_t>();\n"
            "Compare(bits[4096], i, i[64], m, 64);"
        ),
        kernel(
            "constexpr CMPMODE m = CMPMODE::EQ;\nLocalTensor<int32_t> i = buf.Get<int32_t>();\n"
            "LocalTensor<uint8_t> bits = buf.Get<uint8_t>();\n"
            "Compare(bits[4096], i, i[64], m, 64);"
        ),
        "compare-mode",
    ),
    "a function of the core": (
        kernel(MEET, MIX, FIRST % "return GetBlockIdx() == 0;"),
        kernel(MEET, MIX, FIRST % "return GetBlockNum() == 1;"),
        "sync-all-parted",
    ),
    "a function that decides by the core": (
        kernel(
            MEET,
            MIX,
            FIRST % "const int64_t i = GetBlockIdx();\n    if (i > 3) {\n        return true;\n"
            "    }\n    return false;",
        ),
        kernel(
            MEET,
            MIX,
            FIRST % "const int64_t i = GetBlockNum();\n    if (i > 3) {\n        return true;\n"
            "    }\n    return false;",
        ),
        "sync-all-parted",
    ),
    "a member that differs between cores": (
        kernel("Stage stage;\nstage.Init();\nstage.Run();", MIX, STAGE % "GetBlockIdx()"),
        kernel("Stage stage;\nstage.Init();\nstage.Run();", MIX, STAGE % "GetBlockNum()"),
        "sync-all-parted",
    ),
    "a variable that one core sets": (
        kernel(
            "bool last = false;\nif (GetBlockIdx() == 3) {\n    last = true;\n}\n"
            "if (last) {\n    SyncAll();\n}",
            MIX,
        ),
        kernel(
            "bool last = false;\nif (GetBlockNum() == 3) {\n    last = true;\n}\n"
            "if (last) {\n    SyncAll();\n}",
            MIX,
        ),
        "sync-all-parted",
    ),
    "a case of one core": (
        kernel("switch (GetBlockIdx()) {\ncase 0:\n    SyncAll();\n}", MIX),
        kernel("switch (n) {\ncase 0:\n    SyncAll();\n}", MIX),
        "sync-all-parted",
    ),
    "auto": (kernel("auto q = 0.1;"), kernel("auto q = 0.1f;"), "double-arithmetic"),
    "constants in double": (
        kernel("float x = 2 * 1.5;"),
        kernel("float x = 2 * 1.5f;\nconstexpr float y = 2 * 1.5;"),
        "double-arithmetic",
    ),
    "the namespace of the host": (
        file("using namespace std;\n"),
        file("using namespace AscendC::Std;\n"),
        "standard-library",
    ),
    "a name of the host": (
        file("using std::swap;\n"),
        file("using std::int32_t;\n"),
        "standard-library",
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_pair(name: str) -> None:
    broken, lawful, rule = PAIRS[name]
    assert set(found(broken)) == {rule}, shown(broken)
    assert shown(lawful) == ""
