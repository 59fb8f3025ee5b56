"""The target and its instruction table."""

from __future__ import annotations

import pytest

from pypto import DataType, target
from pypto.error import FeKeyError, FeValueError
from pypto.ir.dtype import float_dtypes, integer_dtypes

D = DataType
CHIP = target.get()


def test_chips() -> None:
    assert (CHIP.name, CHIP.npu_arch) == ("ascend910b", "dav-2201")
    assert target.get("Ascend910B") is not None
    names = {version: target.get(version).name for version in ("", "Ascend910B3", "ASCEND910_9392")}
    assert names == {"": "ascend910b", "Ascend910B3": "ascend910b3",
                     "ASCEND910_9392": "ascend910_9392"}  # fmt: skip
    for version in ("", "ascend910b1", "ascend910b4", "ascend910_93", "ascend910_9362"):
        chip = target.get(version)
        assert chip.vector_cores == 2 * chip.cube_cores and chip.cube_cores in (20, 24)
        hash(chip)
    with pytest.raises(FeValueError) as caught:
        target.get("Ascend910C3")
    assert "help: did you mean 'ascend910b3'?" in str(caught.value)


def test_memories() -> None:
    sizes = {m.name: (m.bytes, m.budget, m.core) for m in CHIP.memories.values()}
    assert sizes == {
        "UB": (196608, 188160, "AIV"),
        "L1": (524288, 524032, "AIC"),
        "L0A": (65536, 65536, "AIC"),
        "L0B": (65536, 65536, "AIC"),
        "L0C": (131072, 131072, "AIC"),
        "C2": (1024, 1024, "AIC"),
        "C2PIPE2GM": (2048, 2048, "AIC"),
    }
    assert CHIP.ub_budget == 188160 and CHIP.memories["UB"].align == 32
    assert CHIP.limits["queues"]["buffers_per_position"] == 8


def test_every_instruction_is_consistent() -> None:
    assert len(CHIP.instructions) == 239
    kinds = {target.type_name(d) for d in float_dtypes | integer_dtypes} | {"bool", "int4"}
    for name, row in CHIP.instructions.items():
        assert row.name == name and row.forms
        assert {t for types in row.dtypes for t in types} <= kinds, name
        for operand in row.operands:
            letter = operand.type or ""
            if letter[:1] == "T" and letter[1:].isdigit() and row.dtypes:
                assert int(letter[1:]) < max(len(types) for types in row.dtypes), name
        if row.group.startswith("vector"):
            assert set(row.params) <= set(CHIP.param_structs)
    with pytest.raises(FeKeyError, match="did you mean 'WholeReduceSum'"):
        CHIP.instruction("WholeReduceSums")


@pytest.mark.parametrize(
    ("name", "dtypes", "taken"),
    [
        ("Add", (D.DT_FP32,), True),
        ("Add", (D.DT_FP16,), True),
        ("Add", (D.DT_INT32,), True),
        ("Add", (D.DT_BF16,), False),
        ("Add", (D.DT_INT8,), False),
        ("Div", (D.DT_INT32,), False),
        ("Add", ("half",), True),
        ("Cast", (D.DT_FP32, D.DT_BF16), True),
        ("Cast", (D.DT_BF16, D.DT_FP16), False),
        ("Compare", (D.DT_UINT8, D.DT_FP32), True),
        ("Compare", (D.DT_FP32,), False),
    ],
)
def test_takes(name: str, dtypes: tuple[DataType | str, ...], taken: bool) -> None:
    assert CHIP.takes(name, *dtypes) is taken


def test_casts_and_comparisons() -> None:
    assert CHIP.cast_modes(D.DT_BF16, D.DT_FP32) == ("CAST_NONE",)
    assert "CAST_RINT" in CHIP.cast_modes(D.DT_FP32, D.DT_BF16)
    assert CHIP.cast_modes(D.DT_BF16, D.DT_FP16) == ()
    assert CHIP.cast_modes(D.DT_FP8, D.DT_FP32) == ()
    for dst, src in CHIP.instruction("Cast").dtypes:
        modes = CHIP.cast_modes(src, dst)
        assert modes and set(modes) <= set(CHIP.enums["RoundMode"]), (src, dst)
    assert CHIP.compare_modes(D.DT_INT32) == ("EQ",)
    assert set(CHIP.compare_modes(D.DT_FP16)) == set(CHIP.enums["CMPMODE"])
    assert CHIP.compare_modes(D.DT_INT16) == ()
