"""Element types: names, sizes and how each target spells them."""

from __future__ import annotations

import enum

__all__ = ["DataType", "float_dtypes", "integer_dtypes", "stored_dtypes"]


class DataType(enum.IntEnum):
    """Element type of a tensor. Members are also module attributes ``pypto.DT_*``."""

    DT_INT4 = 0
    DT_INT8 = 1
    DT_INT16 = 2
    DT_INT32 = 3
    DT_INT64 = 4
    DT_FP8 = 5
    DT_FP16 = 6
    DT_FP32 = 7
    DT_BF16 = 8
    DT_HF4 = 9
    DT_HF8 = 10
    DT_UINT8 = 11
    DT_UINT16 = 12
    DT_UINT32 = 13
    DT_UINT64 = 14
    DT_BOOL = 15
    DT_DOUBLE = 16
    DT_FP8E4M3 = 17
    DT_FP8E5M2 = 18
    DT_FP8E8M0 = 19
    DT_FP4_E2M1X2 = 20
    DT_FP4_E1M2X2 = 21
    DT_FP4_E2M1 = 22
    DT_FP4_E1M2 = 23
    DT_BOTTOM = 24

    @property
    def bytes(self) -> int:
        """Bytes of one element in memory."""
        return _BYTES.get(self, 1)

    @property
    def short(self) -> str:
        """Lower-case short name, as in dumps: ``fp32``, ``int8``."""
        return self.name[3:].lower()

    @property
    def torch_name(self) -> str | None:
        """Name of the dtype in ``torch``; None when torch has none."""
        return _TORCH.get(self)

    @property
    def cpp(self) -> str:
        """Type name in Ascend C. Only stored dtypes have one."""
        return _CPP[self]

    @property
    def is_float(self) -> bool:
        return self in float_dtypes

    @property
    def is_integer(self) -> bool:
        """True for signed and unsigned integers; not for bool."""
        return self in integer_dtypes

    @property
    def absent(self) -> str:
        """The dtype and why operations here do not take it, for messages."""
        if self in _LATER:
            return f"{self}, which exists on Ascend 950 only"
        return f"{self} on this target"

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"pypto.{self.name}"


_D = DataType

_BYTES = {
    _D.DT_INT16: 2, _D.DT_UINT16: 2, _D.DT_FP16: 2, _D.DT_BF16: 2,
    _D.DT_INT32: 4, _D.DT_UINT32: 4, _D.DT_FP32: 4,
    _D.DT_INT64: 8, _D.DT_UINT64: 8, _D.DT_DOUBLE: 8,
}  # fmt: skip

_TORCH = {
    _D.DT_INT8: "int8", _D.DT_INT16: "int16", _D.DT_INT32: "int32", _D.DT_INT64: "int64",
    _D.DT_UINT8: "uint8", _D.DT_UINT16: "uint16", _D.DT_UINT32: "uint32", _D.DT_UINT64: "uint64",
    _D.DT_FP16: "float16", _D.DT_BF16: "bfloat16", _D.DT_FP32: "float32", _D.DT_DOUBLE: "float64",
    _D.DT_BOOL: "bool", _D.DT_FP8E4M3: "float8_e4m3fn", _D.DT_FP8E5M2: "float8_e5m2",
}  # fmt: skip

_CPP = {
    _D.DT_INT8: "int8_t", _D.DT_INT16: "int16_t", _D.DT_INT32: "int32_t", _D.DT_INT64: "int64_t",
    _D.DT_UINT8: "uint8_t", _D.DT_UINT16: "uint16_t", _D.DT_UINT32: "uint32_t",
    _D.DT_UINT64: "uint64_t", _D.DT_FP16: "half", _D.DT_BF16: "bfloat16_t", _D.DT_FP32: "float",
    _D.DT_DOUBLE: "double", _D.DT_BOOL: "uint8_t",  # no instruction takes bool
}  # fmt: skip

# No instruction of Atlas A2 and A3 knows them.
_LATER = frozenset(
    {
        _D.DT_FP8E4M3, _D.DT_FP8E5M2, _D.DT_FP8E8M0, _D.DT_HF8,
        _D.DT_FP4_E2M1X2, _D.DT_FP4_E1M2X2, _D.DT_FP4_E2M1, _D.DT_FP4_E1M2,
    }
)  # fmt: skip

float_dtypes = frozenset({_D.DT_FP16, _D.DT_BF16, _D.DT_FP32, _D.DT_DOUBLE})
integer_dtypes = frozenset(
    {
        _D.DT_INT8, _D.DT_INT16, _D.DT_INT32, _D.DT_INT64,
        _D.DT_UINT8, _D.DT_UINT16, _D.DT_UINT32, _D.DT_UINT64,
    }
)  # fmt: skip
#: What a kernel can read from memory and write to it. The others, of 8 bits and less, belong to
#: later chips, and the 4-bit ones lie packed.
stored_dtypes = frozenset(_CPP)
