"""What names a kernel may use: the instruction table, and what it does not list.

The table (``data/instructions.json``) has the instructions. Types with their methods, functions of
the scalar unit, names of enumerations and built-in variables are listed here.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from pypto._record import Record
from pypto.target import Instruction, Target

__all__ = [
    "CONSTANTS",
    "ENTRIES",
    "ENUMS",
    "FUNCTIONS",
    "METHODS",
    "NAMES_OF_TYPES",
    "Form",
    "Interface",
    "element",
    "interface",
]

_INT = "int64_t"

FUNCTIONS: Mapping[str, tuple[int, int, str]] = {
    # name: fewest and most arguments, type of the result
    "GetBlockNum": (0, 0, _INT),
    "GetBlockIdx": (0, 0, _INT),
    "GetSubBlockIdx": (0, 0, _INT),
    "GetSubBlockNum": (0, 0, _INT),
    "GetTaskRatio": (0, 0, _INT),
    "GetTaskRation": (0, 0, _INT),
    "GetSystemCycle": (0, 0, _INT),
    "GetDataBlockSizeInBytes": (0, 0, _INT),
    "printf": (1, 99, ""),
    "PRINTF": (1, 99, ""),
    "DumpTensor": (3, 4, ""),
    "ascendc_assert": (1, 99, ""),
    "KERNEL_TASK_TYPE_DEFAULT": (1, 1, ""),
    "GetSysWorkSpacePtr": (0, 0, "GM_ADDR"),
    "SetSysWorkSpace": (1, 1, ""),
    "DataCacheCleanAndInvalid": (1, 1, ""),
    "IBSet": (4, 5, ""),
    "IBWait": (4, 5, ""),
    "SetPadValue": (1, 1, ""),
    "DisableDmaAtomic": (0, 0, ""),
    "SyncAll": (0, 3, ""),
    "AtomicAdd": (2, 2, ""),
    "AtomicMax": (2, 2, ""),
    "AtomicMin": (2, 2, ""),
    "AtomicCas": (3, 3, ""),
    "AtomicExch": (2, 2, ""),
    "GetReduceRepeatSumSpr": (0, 0, ""),
    "GetReduceRepeatMaxMinSpr": (1, 2, ""),
    "GetSortLen": (1, 1, "uint32_t"),
    "GetSortOffset": (1, 1, "uint32_t"),
    "GetMrgSortResult": (4, 4, ""),
    "CastDeq": (3, 5, ""),
    "Cast": (1, 6, ""),
    "ToBfloat16": (1, 1, "bfloat16_t"),
    "ToFloat": (1, 1, "float"),
    "ScalarCast": (1, 1, ""),
    "GetBitCount": (1, 1, _INT),
    "CountLeadingZero": (1, 1, _INT),
    "GetSFFValue": (1, 1, _INT),
    "CeilDivision": (2, 2, "int32_t"),
    "ReadGmByPassDCache": (1, 1, ""),
    "WriteGmByPassDCache": (2, 2, ""),
    "SetLoadDataRepeat": (1, 1, ""),
    "Fill": (2, 3, ""),
    "InitConstValue": (2, 2, ""),
    "InitOutput": (2, 3, ""),
    "InitGlobalMemory": (3, 3, ""),
    "ArithProgression": (4, 4, ""),
    "ConfusionTranspose": (5, 5, ""),
    "Transpose": (2, 5, ""),
    "REGIST_MATMUL_OBJ": (3, 4, ""),
    "MATMUL_OBJ": (3, 4, ""),
    "min": (2, 2, ""),
    "max": (2, 2, ""),
}
"""Functions that the instruction table does not hold, or not in every form."""

_QUEUE = frozenset(
    """AllocTensor FreeTensor EnQue DeQue VacantInQue HasTensorInQue GetTensorCountInQue
    HasIdleBuffer FreeAllEvent""".split()
)

METHODS: Mapping[str, frozenset[str]] = {
    "TPipe": frozenset(
        "InitBuffer AllocEventID ReleaseEventID FetchEventID Init Destroy Reset".split()
    ),
    "TQue": _QUEUE,
    "TQueBind": _QUEUE,
    "TBuf": frozenset(("Get", "GetWithOffset")),
    "LocalTensor": frozenset(
        """GetValue SetValue GetSize SetSize GetPosition SetBufferLen ReinterpretCast GetPhyAddr
        SetShapeInfo GetShapeInfo""".split()
    ),
    "GlobalTensor": frozenset(
        """SetGlobalBuffer GetValue SetValue GetSize GetPhyAddr SetL2CacheHint SetShapeInfo
        GetShapeInfo""".split()
    ),
    "TQueSync": frozenset(("SetFlag", "WaitFlag")),
    "LocalMemAllocator": frozenset(("Alloc", "GetCurAddr")),
    "Matmul": frozenset(
        """SetTensorA SetTensorB SetBias SetTail SetOrgShape IterateAll Iterate GetTensorC End
        Init""".split()
    ),
}
"""Types with the methods that they have."""

_OTHER_TYPES = frozenset(
    """GM_ADDR TEventID event_t ShapeInfo MrgSortSrcList TransposeParamsExt CumSumConfig CumSumInfo
    SoftMaxTiling SoftMaxShapeInfo LogSoftMaxTiling LayerNormTiling RmsNormTiling SumParams
    MeanParams TopkTiling TopKInfo DequantParams PadParams PadTiling ConfusionTransposeTiling
    FixpipeConfig MatmulType MatmulConfig TCubeTiling LoadDataRepeatParam VdeqInfo
    DataCopyEnhancedParams DataCopyCO12DstParams SliceInfo DataCopyPadParams
    BroadcastTiling""".split()
)

ENUMS: Mapping[str, frozenset[str]] = {
    "MaskMode": frozenset(("NORMAL", "COUNTER")),
    "ReduceType": frozenset(("SUM", "MAX", "MIN")),
    "ReduceOrder": frozenset(
        """ORDER_VALUE_INDEX ORDER_INDEX_VALUE ORDER_ONLY_VALUE ORDER_ONLY_INDEX""".split()
    ),
    "CacheLine": frozenset(("SINGLE_CACHE_LINE", "ENTIRE_DATA_CACHE")),
    "CubeFormat": frozenset(("ND", "NZ")),
    "HF32Mode": frozenset(("ENABLE", "DISABLE")),
    "HF32TransMode": frozenset(("NEAREST_ZERO", "NEAREST_EVEN")),
    "Hardware": frozenset(("UB", "L1", "L0A", "L0B", "L0C", "BIAS", "FIXBUF")),
    "QuantMode_t": frozenset(
        """NoQuant F322F16 F322BF16 QF322B8_PRE VQF322B8_PRE DEQF16 VDEQF16 REQ8 VREQ8""".split()
    ),
}
"""Enumerations of which all names are known; the table has more."""

_OPEN_ENUMS = frozenset(
    """pipe_t CacheMode CacheRwMode DcciDst CumSumAlgorithm TopKMode DeQuantMode TransposeType
    FmatrixMode Pattern::Reduce""".split()
)

ENTRIES: Mapping[str, frozenset[str]] = {
    "KERNEL_TYPE_AIV_ONLY": frozenset(("AIV",)),
    "KERNEL_TYPE_AIC_ONLY": frozenset(("AIC",)),
    "KERNEL_TYPE_MIX_AIV_1_0": frozenset(("AIV", "mix")),
    "KERNEL_TYPE_MIX_AIC_1_0": frozenset(("AIC", "mix")),
    "KERNEL_TYPE_MIX_AIC_1_1": frozenset(("AIV", "AIC", "mix")),
    "KERNEL_TYPE_MIX_AIC_1_2": frozenset(("AIV", "AIC", "mix")),
}
"""The kinds of the older kernel mark: which cores run it; ``mix`` where cores may synchronise."""

CONSTANTS: Mapping[str, str] = {
    "block_idx": _INT,
    "block_num": _INT,
    "sub_block_idx": _INT,
    "INFINITY": "float",
    "NAN": "float",
    "MASK_PLACEHOLDER": "uint64_t",
    "DEFAULT_BLK_NUM": "int32_t",
    "nullptr": "",
    "this": "",
    "CFG_ROW_MAJOR": "FixpipeConfig",
    "CFG_NZ": "FixpipeConfig",
    "CFG_NORM": "MatmulConfig",
    "ASCEND_IS_AIV": "bool",
    "ASCEND_IS_AIC": "bool",
    "ASCENDC_CUBE_ONLY": "",
    **dict.fromkeys(ENTRIES, ""),
    **{f"EVENT_ID{n}": "event_t" for n in range(8)},
    **{f"PIPE_{p}": "pipe_t" for p in ("S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX", "ALL")},
}
"""Variables and constants that need no declaration, with their types."""


class Form(Record):
    """One way to call an instruction: the roles of its arguments, some of them optional.

    ``fewest``: how many must be given. ``templates``: how many template arguments nothing can
    deduce.
    """

    row: Instruction
    roles: tuple[str, ...]
    fewest: int
    templates: int


class Interface(Record, eq=False):
    """All callable names: forms of the instructions by name, and enumerations."""

    forms: Mapping[str, tuple[Form, ...]]
    open: frozenset[str]
    enums: Mapping[str, frozenset[str]]
    events: Mapping[str, frozenset[str]]


NAMES_OF_TYPES = frozenset(METHODS) | _OTHER_TYPES | frozenset(ENUMS) | _OPEN_ENUMS


@functools.cache
def interface(target: Target) -> Interface:
    """The interface of ``target``."""
    forms: dict[str, list[Form]] = {}
    unlisted: set[str] = set()
    for row in target.instructions.values():
        if row.group in ("queue", "scalar") or row.name.startswith(("TPipe.", "TQueSync")):
            continue
        for form in row.forms.values():
            name, found = _form(row, str(form["call"]))
            if found is None:
                unlisted.add(name)
            else:
                forms.setdefault(name, []).append(found)
    events = target.instructions["SetFlag"].facts["events"]
    enums: dict[str, frozenset[str]] = dict(ENUMS)
    enums |= {name: frozenset(values) for name, values in target.enums.items()}
    positions = {p for names in target.limits["positions"].values() for p in names}
    enums["TPosition"] = enums["QuePosition"] = frozenset(positions | {"LCM", "MAX"})
    enums["HardEvent"] = frozenset(e for names in events.values() for e in names)
    enums["MemDsbT"] = frozenset(target.instructions["DataSyncBarrier"].facts["values"])
    return Interface(
        {name: tuple(found) for name, found in forms.items()},
        frozenset(unlisted),
        enums,
        {core: frozenset(names) for core, names in events.items()},
    )


# The library's functions take the scratch buffer and the count or leave them out.
_LIBRARY = ("adv-math", "adv-activation", "adv-reduce", "adv-quant", "adv-norm", "adv-shape")


def _form(row: Instruction, call: str) -> tuple[str, Form | None]:
    head, _, rest = call.partition("(")
    name, _, templates = head.partition("<")
    if name.rpartition(".")[0] or " " in name:
        return row.name, None
    optional = rest.count("[,")
    inside = _split(rest.rpartition(")")[0].replace("[,", ",").replace("order]", "order"))
    if inside == ["..."]:
        return name, None
    needed = 0
    if row.group in ("sync", "atomic") and name != "SyncAll":
        needed = len(_split(templates.removesuffix(">")))
    left_out = ("true", "false", "usedCores")
    fewest = len(inside) - optional - sum(text in left_out for text in inside)
    if row.group.startswith(_LIBRARY):
        fewest -= sum(text in ("tmp", "count") for text in inside)
    roles = [text.rpartition(")")[2].partition("[")[0] or text for text in inside]
    if row.name == "ShiftRight" and "repeat" in roles:
        roles.append("roundEn")
    return name, Form(row, tuple(roles), fewest, needed)


def _split(text: str) -> list[str]:
    """``text`` at its outermost commas."""
    parts, depth, current = [], 0, ""
    for character in text:
        if character == "," and depth == 0:
            parts.append(current.strip())
            current = ""
            continue
        depth += (character in "(<{") - (character in ")>}")
        current += character
    return [*parts, current.strip()] if current.strip() else parts


def element(name: str) -> str | None:
    """What the instruction table calls the C++ type ``name``; None for no element type."""
    return _ELEMENTS.get(name)


_ELEMENTS = {
    "half": "half",
    "float": "float",
    "double": "double",
    "bool": "bool",
    "bfloat16_t": "bf16",
    "int4b_t": "int4",
    **{f"{s}int{b}_t": f"{s}int{b}" for s in ("", "u") for b in (8, 16, 32, 64)},
    "int": "int32",
    "unsigned": "uint32",
}
