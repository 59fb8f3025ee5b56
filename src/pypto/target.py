"""What the compiler knows of a chip: cores, memories and which instruction takes which types.

The instruction table is package data (``data/instructions.json``) and is read at first use.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pypto._record import Record
from pypto._spelling import nearest
from pypto.error import Diagnostic, FeKeyError, FeValueError
from pypto.ir.dtype import DataType

__all__ = ["DEFAULT", "Instruction", "Memory", "Operand", "Target", "canonical_name", "get"]

DEFAULT = "ascend910b"

_ARCH = "dav-2201"

# Cube cores of each chip; every cube core has two vector cores. A launch asks the device itself:
# these are for planning, and the family names stand for the smallest chip of the family.
_CUBE_CORES = {
    "ascend910b": 20, "ascend910b1": 24, "ascend910b2": 24, "ascend910b2c": 24, "ascend910b3": 20,
    "ascend910b4": 20, "ascend910b4-1": 20,
    "ascend910_93": 20, "ascend910_9362": 20, "ascend910_9372": 20, "ascend910_9381": 24,
    "ascend910_9382": 24, "ascend910_9391": 24, "ascend910_9392": 24,
}  # fmt: skip


class Memory(Record):
    """One on-chip memory of one core. ``budget`` is what a plan may use; bytes throughout.

    ``align`` is the alignment of an allocation; ``core`` is AIV (vector) or AIC (cube).
    ``facts`` has further alignments and reserved parts by name.
    """

    name: str
    bytes: int
    budget: int
    align: int
    core: str
    facts: Mapping[str, int]


class Operand(Record):
    """One operand of an instruction.

    ``type``: T0, T1, ... (an element of a dtype tuple) or a fixed type name. ``align``: bytes, or
    a Python expression over S, the size of the operand's type; None when nothing is required.
    """

    role: str
    space: str | None
    type: str | None
    align: int | str | None


class Instruction(Record, eq=False):
    """One row of the instruction table.

    ``dtypes``: the tuples (T0, T1, ...) it takes, as table names (``half``, ``float``, ``bf16``,
    ``int32``, ...). ``forms``: call text and the state it leaves behind, by form. ``facts``: the
    whole row as read, with counts, overlap rules, scratch sizes, strides and notes.
    """

    name: str
    group: str
    core: str
    pipe: str
    operands: tuple[Operand, ...]
    dtypes: tuple[tuple[str, ...], ...]
    params: tuple[str, ...]
    forms: Mapping[str, Mapping[str, Any]]
    note: str
    facts: Mapping[str, Any]


class _Table(Record, eq=False):
    instructions: Mapping[str, Instruction]
    casts: Mapping[tuple[str, str], tuple[str, ...]]
    compares: Mapping[str, tuple[str, ...]]
    memories: Mapping[str, Memory]
    limits: Mapping[str, Any]
    enums: Mapping[str, Mapping[str, int]]
    structs: Mapping[str, Mapping[str, Any]]
    assumptions: Mapping[str, Mapping[str, Any]]


class Target(Record):
    """One chip. ``cube_cores`` and ``vector_cores`` count cores; sizes are bytes."""

    name: str
    npu_arch: str
    cube_cores: int
    vector_cores: int

    @property
    def memories(self) -> Mapping[str, Memory]:
        """On-chip memories by name: UB, L1, L0A, L0B, L0C, C2, C2PIPE2GM."""
        return _table().memories

    @property
    def ub_budget(self) -> int:
        """Bytes of UB that a plan may use."""
        return self.memories["UB"].budget

    @property
    def limits(self) -> Mapping[str, Any]:
        """Limits of instructions, queues, events and launches, by name."""
        return _table().limits

    @property
    def enums(self) -> Mapping[str, Mapping[str, int]]:
        """Enumerations of the instruction set: RoundMode, CMPMODE, SELMODE."""
        return _table().enums

    @property
    def param_structs(self) -> Mapping[str, Mapping[str, Any]]:
        """Fields of the parameter structs, in constructor order."""
        return _table().structs

    @property
    def assumptions(self) -> Mapping[str, Mapping[str, Any]]:
        """Rules of the device that nothing documents: choices (what torch does first), the
        instructions and operations whose results depend on them, by name."""
        return _table().assumptions

    @property
    def instructions(self) -> Mapping[str, Instruction]:
        """The whole table, by name."""
        return _table().instructions

    def instruction(self, name: str) -> Instruction:
        """The row of ``name``; FeKeyError with the nearest name when there is none."""
        table = _table().instructions
        found = table.get(name)
        if found is None:
            near = nearest(name, table)
            message = f"{self.npu_arch} has no instruction '{name}'"
            help = f"did you mean '{near}'?" if near else None
            raise FeKeyError([Diagnostic(FeKeyError, "F00006", message, help=help)])
        return found

    def takes(self, name: str, *dtypes: DataType | str) -> bool:
        """True when instruction ``name`` takes ``dtypes`` as (T0, T1, ...), destination first."""
        return tuple(type_name(d) for d in dtypes) in self.instruction(name).dtypes

    def cast_modes(self, src: DataType | str, dst: DataType | str) -> tuple[str, ...]:
        """Rounding modes of ``Cast`` from ``src`` to ``dst`` (``CAST_RINT``, ...); none: ()."""
        return _table().casts.get((type_name(src), type_name(dst)), ())

    def compare_modes(self, dtype: DataType | str) -> tuple[str, ...]:
        """Comparisons of ``Compare`` for sources of ``dtype`` (``LT``, ...); none: ()."""
        return _table().compares.get(type_name(dtype), ())


def canonical_name(soc_version: str) -> str:
    """Name of the chip that ``soc_version`` means; "" is the default.

    Case does not matter. FeValueError with the nearest name for a chip that is not known.
    """
    name = soc_version.strip().lower() or DEFAULT
    if name not in _CUBE_CORES:
        near = nearest(name, _CUBE_CORES)
        raise FeValueError(
            [
                Diagnostic(
                    FeValueError,
                    "F00002",
                    f"soc_version '{soc_version}' is not a chip that pypto compiles for",
                    expected=f"one of {', '.join(sorted(_CUBE_CORES))}",
                    got=repr(soc_version),
                    help=f"did you mean '{near}'?" if near else None,
                )
            ]
        )
    return name


@functools.cache
def get(soc_version: str = "") -> Target:
    """The target of ``soc_version``; "" is the default. FeValueError when it is not known."""
    name = canonical_name(soc_version)
    cores = _CUBE_CORES[name]
    return Target(name, _ARCH, cores, 2 * cores)


def type_name(dtype: DataType | str) -> str:
    """``dtype`` as the instruction table calls it; a table name is given back."""
    if isinstance(dtype, str):
        return dtype
    return _TYPE_NAMES.get(dtype, dtype.short)


_D = DataType
_TYPE_NAMES = {
    _D.DT_FP16: "half", _D.DT_FP32: "float", _D.DT_DOUBLE: "double", _D.DT_BOOL: "uint8",
}  # fmt: skip


@functools.cache
def _table() -> _Table:
    import json
    import pkgutil

    data = pkgutil.get_data("pypto", "data/instructions.json")
    if data is None:
        raise FileNotFoundError("pypto/data/instructions.json is missing from the installation")
    raw = json.loads(data)
    rows = (_instruction(row) for row in raw["instructions"])
    return _Table(
        MappingProxyType({row.name: row for row in rows}),
        MappingProxyType(
            {
                (c["src"], c["dst"]): tuple(f"CAST_{mode}" for mode in c["modes"])
                for c in raw["cast"]
            }
        ),
        MappingProxyType({c["src"]: tuple(c["modes"]) for c in raw["compare"]}),
        MappingProxyType(_memories(raw["limits"]["memory"])),
        MappingProxyType(raw["limits"]),
        MappingProxyType(raw["enums"]),
        MappingProxyType(raw["param_structs"]),
        MappingProxyType(raw["assumptions"]),
    )


def _instruction(row: dict[str, Any]) -> Instruction:
    return Instruction(
        row["name"],
        row["group"],
        row["core"],
        row["pipe"],
        tuple(
            Operand(o["role"], o.get("space"), o.get("type"), o.get("align"))
            for o in row.get("operands", ())
        ),
        tuple(tuple(types) for types in row.get("dtypes", ())),
        tuple(row.get("params", ())),
        MappingProxyType(row["forms"]),
        row.get("note", ""),
        MappingProxyType(row),
    )


def _memories(raw: dict[str, Any]) -> dict[str, Memory]:
    memories = {}
    for name, facts in raw.items():
        if "bytes" not in facts:
            continue  # global memory has no size of its own
        size = facts["bytes"]
        memories[name] = Memory(
            name,
            size,
            facts.get("plan_for", size),
            facts["align"],
            facts["core"],
            MappingProxyType({k: v for k, v in facts.items() if isinstance(v, int)}),
        )
    return memories
