"""What element types are called in torch, NumPy and Python, for messages."""

from __future__ import annotations

from pypto._spelling import nearest
from pypto.ir.dtype import DataType

__all__ = ["meant_dtype", "suggestion"]

_D = DataType

# What torch calls it comes first: its users write these.
_OTHER_NAMES = {
    "float": _D.DT_FP32, "half": _D.DT_FP16, "double": _D.DT_DOUBLE, "single": _D.DT_FP32,
    "bf16": _D.DT_BF16, "f16": _D.DT_FP16, "f32": _D.DT_FP32, "f64": _D.DT_DOUBLE,
    "f2": _D.DT_FP16, "f4": _D.DT_FP32, "f8": _D.DT_DOUBLE, "fp64": _D.DT_DOUBLE,
    "char": _D.DT_INT8, "short": _D.DT_INT16, "int": _D.DT_INT32, "long": _D.DT_INT64,
    "longlong": _D.DT_INT64, "intc": _D.DT_INT32, "byte": _D.DT_UINT8, "ubyte": _D.DT_UINT8,
    "ushort": _D.DT_UINT16, "uint": _D.DT_UINT32, "uintc": _D.DT_UINT32, "ulong": _D.DT_UINT64,
    "i1": _D.DT_INT8, "i2": _D.DT_INT16, "i4": _D.DT_INT32, "i8": _D.DT_INT64,
    "i16": _D.DT_INT16, "i32": _D.DT_INT32, "i64": _D.DT_INT64,
    "u1": _D.DT_UINT8, "u2": _D.DT_UINT16, "u4": _D.DT_UINT32, "u8": _D.DT_UINT64,
    "u16": _D.DT_UINT16, "u32": _D.DT_UINT32, "u64": _D.DT_UINT64,
    "bool_": _D.DT_BOOL, "boolean": _D.DT_BOOL, "int_": _D.DT_INT64, "float_": _D.DT_DOUBLE,
    "float8_e8m0fnu": _D.DT_FP8E8M0, "float4_e2m1fn_x2": _D.DT_FP4_E2M1X2,
}  # fmt: skip

# What torch.zeros(1, dtype=cls) has.
_CLASSES = {float: _D.DT_FP32, int: _D.DT_INT64, bool: _D.DT_BOOL}


def meant_dtype(value: object) -> DataType | None:
    """The dtype that ``value`` is in torch, NumPy or Python, or is nearly the name of."""
    if isinstance(value, type) and value in _CLASSES:
        return _CLASSES[value]
    if not (isinstance(value, str | type) or type(value).__name__.endswith(("dtype", "DType"))):
        return None
    text = value if isinstance(value, str) else getattr(value, "__name__", str(value))
    name = text.strip().lower().rpartition(".")[2].removeprefix("dt_").lstrip("<>=|")
    known = dict(_OTHER_NAMES)
    for dtype in DataType:
        known[dtype.short] = dtype
        if dtype.torch_name is not None:
            known[dtype.torch_name] = dtype
    if name in known:
        return known[name]
    near = nearest(name, known)
    return known[near] if near else None


def suggestion(value: object) -> str | None:
    """``did you mean pypto.DT_FP32?``; None when ``value`` is like no dtype."""
    meant = meant_dtype(value)
    return None if meant is None else f"did you mean {meant!r}?"
