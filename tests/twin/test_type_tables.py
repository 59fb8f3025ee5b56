"""Each instruction takes the types of the instruction table at compile time, and no others.

One text has a function for each instruction and each combination of types; the compiler must name
the lines of all that the table does not have, and of no other.
"""

from __future__ import annotations

import itertools
import re
import subprocess

from pypto.target import Instruction, get

from .harness import COMPILER, FLAGS, INCLUDE

_CPP = {
    "half": "half", "float": "float", "bf16": "bfloat16_t", "int8": "int8_t", "uint8": "uint8_t",
    "int16": "int16_t", "uint16": "uint16_t", "int32": "int32_t", "uint32": "uint32_t",
    "int64": "int64_t", "uint64": "uint64_t", "double": "double", "bool": "bool", "int4": "int4b_t",
}  # fmt: skip

_GROUPS = {
    "vector-binary", "vector-ternary", "vector-unary", "vector-scalar", "vector-fused-cast", "cast",
    "fill", "move-ub", "compare", "select", "gather", "reduce", "adv-math", "adv-activation",
    "move", "atomic",
}  # fmt: skip

_NOT_IN_THE_TWIN = {
    "CastDequant", "Digamma", "Lgamma", "Axpy(adv)", "FasterGeluV2", "SoftMax", "SimpleSoftMax",
    "SoftMax(no sum/max)", "LogSoftMax", "DataCopy(nz2nd UB->GM)", "DataCopy(L1->C2 convert)",
}  # fmt: skip

# Their types depend on where the operands lie, so they are refused when they run; LoadData and its
# like have tests of their own; SetPadValue sets a register.
_AT_RUN_TIME = {
    "DataCopy(nd2nz GM->L1)", "DataCopy(L1->C2)", "DataCopy(L1->C2PIPE2GM)", "SetPadValue",
    "LoadData2D(L1->L0)", "LoadData2D(GM->L1)", "Fill(L1/L0)",
}  # fmt: skip

_ARGUMENTS = {
    "count": "64",
    "mask": "uint64_t(8)",
    "repeat": "uint8_t(1)",
    "roundMode": "RoundMode::CAST_RINT",
    "cmpMode": "CMPMODE::EQ",
    "pattern": "uint8_t(1)",
    "countMode": "false",
    "srcBaseBytes": "0u",
    "dstBlkStride": "1",
    "dstRepStride": "1",
    "srcBlkStride": "1",
    "srcRepStride": "1",
    "taylorLevel": "10",
    "isReuseSource": "false",
    "beta": "1.0f",
    "BrcbRepeatParams": "BrcbRepeatParams()",
    "GatherRepeatParams": "GatherRepeatParams()",
    "GatherMaskParams": "GatherMaskParams()",
    "CopyRepeatParams": "CopyRepeatParams()",
    "BinaryRepeatParams": "BinaryRepeatParams()",
    "UnaryRepeatParams": "UnaryRepeatParams()",
    "DataCopyExtParams": "DataCopyExtParams()",
    "cfg{isLastAxis = true}": "sums",
    "CumSumInfo{outter, inner}": "CumSumInfo{1, 8}",
}

_HEAD = """#include "kernel_operator.h"
using namespace AscendC;
template <typename T> LocalTensor<T>& t();
template <typename T> GlobalTensor<T> g();
template <typename T> T s();
uint64_t kept;
constexpr CumSumConfig sums{true, false, false, CumSumAlgorithm::CUMSUM_ALGORITHM_LINEBYLINE};
"""


def _call(row: Instruction, types: tuple[str, ...]) -> str:
    """A call of ``row`` in its first form, T0, T1, ... being ``types``."""
    call = next(iter(row.forms.values()))["call"].replace("[, order]", "")
    values = {f"T{k}": _CPP[name] for k, name in enumerate(types)}
    values |= {"DataCopyPadExtParams": "DataCopyPadExtParams"}
    for operand in row.operands:
        kind = operand.type or ""
        cpp = values.get(kind) or _CPP[kind]
        maker = {"scalar": "s", "GM": "g"}.get(operand.space or "", "t")
        values[operand.role] = f"{maker}<{cpp}>()"
    values |= {
        "bits": values.get("mask", ""),
        "lastRow": values.get("dst1", ""),
        "first": values.get("scalar", ""),
    }
    if row.group == "gather":  # of GatherMask, where it counts lanes; of Gather in the repeat form
        values["mask"] = "0u"
    for name, text in _ARGUMENTS.items():
        values.setdefault(name, text)
    call = call.replace("DataCopyPadExtParams<T0>", "DataCopyPadExtParams<T0>()")
    words = sorted(values, key=len, reverse=True)
    pattern = "|".join(rf"(?<![\w:]){re.escape(word)}(?![\w:])" for word in words)
    return re.sub(pattern, lambda match: values[match[0]], call)


def _rows() -> list[Instruction]:
    skipped = _NOT_IN_THE_TWIN | _AT_RUN_TIME
    rows = get().instructions.values()
    return [r for r in rows if r.group in _GROUPS and r.dtypes and r.name not in skipped]


def _refused(calls: list[str]) -> set[str]:
    """Those of ``calls`` whose lines the compiler names."""
    text = _HEAD + "".join(f"void f{k}() {{ {call}; }}\n" for k, call in enumerate(calls))
    first = _HEAD.count("\n") + 1
    done = subprocess.run(
        [COMPILER, *FLAGS, "-O0", "-w", "-fsyntax-only", "-fmax-errors=0", "-iquote", str(INCLUDE),
         "-x", "c++", "-"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    return {calls[int(line) - first] for line in re.findall(r"<stdin>:(\d+):", done.stderr)}


def test_the_headers_have_the_types_of_the_table() -> None:
    lawful, unlawful = set(), set()
    for row in _rows():
        for types in itertools.product(_CPP, repeat=len(row.dtypes[0])):
            (lawful if types in row.dtypes else unlawful).add(_call(row, types))
    lawful, unlawful = lawful - unlawful, unlawful - lawful  # DataCopy has many paths
    assert len(lawful) > 300 and len(unlawful) > 3000
    refused = _refused(sorted(lawful | unlawful))
    assert sorted(refused & lawful) == []
    # Instructions share code, and the compiler names the first that reaches an assertion: the
    # others are tried again without it.
    left = unlawful - refused
    while left:
        refused = _refused(sorted(left))
        assert refused, f"taken, and not in the table: {sorted(left)[:20]}"
        left -= refused


def test_nothing_is_left_out() -> None:
    """What these tests leave out is in the table."""
    assert _NOT_IN_THE_TWIN | _AT_RUN_TIME <= get().instructions.keys()
    headers = "".join(path.read_text(encoding="utf-8") for path in INCLUDE.glob("*.h"))
    missing = {"CastDequant", "Digamma", "Lgamma", "FasterGeluV2", "SimpleSoftMax", "LogSoftMax"}
    assert [name for name in missing if re.search(rf"\b{name}\(", headers)] == []
