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
PAD = """\
DataCopyPadExtParams<float> pad{true, 0, %d, 0};
DataCopyPad(a, gx, DataCopyExtParams{1, %d, 0, 0, 0}, pad);
"""
MEET = "if (First()) {\n    SyncAll();\n}"
MIX = "__mix__(0, 1)"

MEETING = "__aicore__ inline void Meet() { SyncAll<false>(); }\n"
TWO_KERNELS = "".join(
    f'extern "C" __global__ __mix__(1, 2) void {name}(GM_ADDR x)\n'
    "{\n    if ASCEND_IS_AIV {\n        %s\n    } else {\n        %s\n    }\n}\n"
    for name in ("first", "second")
)

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
    "one of two kernels lets one kind of core alone meet": (
        file(MEETING + TWO_KERNELS % ("Meet();", "Meet();", "Meet();", "")),
        file(MEETING + TWO_KERNELS % ("Meet();", "Meet();", "Meet();", "Meet();")),
        "sync-all-kind",
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
    "repeats behind the end": (
        kernel("Adds(b, b, 1.0f, 64, 17, {1, 1, 8, 8});"),
        kernel("Adds(b, b, 1.0f, 64, 16, {1, 1, 8, 8});"),
        "operand-bounds",
    ),
    "repeats behind the end, by a variable": (
        kernel("const UnaryRepeatParams p{1, 1, 8, 8};\nAdds(b, a, 1.0f, 64, 17, p);"),
        kernel("UnaryRepeatParams p;\np.dstRepStride = 0;\nAdds(b, a, 1.0f, 64, 17, p);"),
        "operand-bounds",
    ),
    "repeats of a mask that ends early": (
        kernel("Adds(b, b, 1.0f, 9, 17, {1, 1, 8, 8});"),
        kernel("Adds(b, a, 1.0f, 8, 17, {1, 1, 7, 7});"),
        "operand-bounds",
    ),
    "strides as arguments": (
        kernel("Duplicate(b, 0.0f, 64, 17, 1, 8);"),
        kernel("Duplicate(b, 0.0f, 64, 16, 1, 8);"),
        "operand-bounds",
    ),
    "a stride of blocks": (
        kernel("Adds(b, b, 1.0f, 64, 1, {19, 19, 8, 8});"),
        kernel("Adds(b, b, 1.0f, 64, 1, {18, 18, 8, 8});"),
        "operand-bounds",
    ),
    "a repeat that reads what another wrote": (
        kernel("Adds(a, a, 1.0f, 64, 4, {1, 1, 0, 0});"),
        kernel("Add(a, b, a, 64, 4, {1, 1, 1, 0, 8, 0});"),
        "operand-overlap",
    ),
    "a stride without a struct": (
        kernel("Adds(b, a, 1.0f, 64, 4, {0, 1, 8, 8});"),
        kernel("Adds(b, a, 1.0f, 64, 4, {1, 0, 8, 8});"),
        "immediate-range",
    ),
    "strides that nobody sets": (
        kernel("CopyRepeatParams p;\nCopy(b, a, 64, 4, p);"),
        kernel("CopyRepeatParams p;\np.dstStride = 1;\np.srcStride = 1;\nCopy(b, a, 64, 4, p);"),
        "immediate-range",
    ),
    "no stride of Copy": (
        kernel("Copy(b, a, 64, 4, {0, 1, 8, 8});"),
        kernel("Copy(b, a, 64, 4, {1, 1, 8, 8});"),
        "immediate-range",
    ),
    "no stride of Duplicate": (
        kernel("Duplicate(b, 0.0f, 64, 16, 0, 8);"),
        kernel("Duplicate(b, 0.0f, 64, 16, 1, 8);"),
        "immediate-range",
    ),
    "padding of nine elements": (
        kernel(PAD % (9, 4)),
        kernel(PAD % (8, 4)),
        "immediate-range",
    ),
    "padding without a struct": (
        kernel("DataCopyPad(a, gx, {1, 4, 0, 0, 0}, {true, 9, 0, 0});"),
        kernel("DataCopyPad(a, gx, {1, 4, 0, 0, 0}, {true, 8, 0, 0});"),
        "immediate-range",
    ),
    "parts of elements": (
        kernel(PAD % (8, 6)),
        kernel(PAD % (8, 8)),
        "immediate-range",
    ),
    "a view that is larger than its buffer": (
        kernel("LocalTensor<float> c = buf.Get<float>(2049);"),
        kernel("LocalTensor<float> c = buf.Get<float>(2048);"),
        "operand-bounds",
    ),
    "a view that ends behind its buffer": (
        kernel("LocalTensor<float> c = buf.GetWithOffset<float>(1024, 4128);"),
        kernel("LocalTensor<float> c = buf.GetWithOffset<float>(1024, 4096);"),
        "operand-bounds",
    ),
    "an operand behind a view": (
        kernel("LocalTensor<float> c = buf.GetWithOffset<float>(1024, 4096);\nRelu(c, c, 1025);"),
        kernel("LocalTensor<float> c = buf.GetWithOffset<float>(1024, 4096);\nRelu(c, c, 1024);"),
        "operand-bounds",
    ),
    "views that share bytes": (
        kernel(
            "LocalTensor<float> c = buf.GetWithOffset<float>(1024, 4096);\nRelu(c, a[1000], 64);"
        ),
        kernel(
            "LocalTensor<float> c = buf.GetWithOffset<float>(1024, 4096);\nRelu(c, a[960], 64);"
        ),
        "operand-overlap",
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_pair(name: str) -> None:
    broken, lawful, rule = PAIRS[name]
    assert set(found(broken)) == {rule}, shown(broken)
    assert shown(lawful) == ""
