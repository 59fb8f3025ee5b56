"""Enumerations of the public contract, beside :class:`pypto.DataType` and the option values."""

from __future__ import annotations

import enum

from pypto.language.status import SatStatus, StatusType, TileOpFormat

__all__ = [
    "AtomicRMWMode",
    "AtomicType",
    "CachePolicy",
    "CastMode",
    "ConvReLuType",
    "DequantScaleRoundingMode",
    "LogBaseType",
    "LogLevel",
    "OpType",
    "OutType",
    "PrecisionType",
    "ReLuType",
    "ReduceMode",
    "SatStatus",
    "SaturationMode",
    "ScatterMode",
    "StatusType",
    "TileOpFormat",
    "TopKAlgo",
    "TransMode",
]


class CastMode(enum.IntEnum):
    """Rounding of a cast."""

    CAST_NONE = 0
    CAST_RINT = 1
    CAST_ROUND = 2
    CAST_FLOOR = 3
    CAST_CEIL = 4
    CAST_TRUNC = 5
    CAST_ODD = 6


class SaturationMode(enum.IntEnum):
    """What a cast does with a value outside the target type: wrap, or take the nearest."""

    OFF = 0
    ON = 1


class PrecisionType(enum.IntEnum):
    """Precision of an operation; A2/A3 have one for each operation and ignore it."""

    INTRINSIC = 0
    HIGH_PRECISION = 1


class OpType(enum.IntEnum):
    """A comparison."""

    EQ = 0
    NE = 1
    LT = 2
    LE = 3
    GT = 4
    GE = 5


class OutType(enum.IntEnum):
    """Result of a comparison: a byte or a bit for each element."""

    BOOL = 0
    BIT = 1


class ReduceMode(enum.IntEnum):
    """How partial results are combined in global memory."""

    ATOMIC_ADD = 0


class ScatterMode(enum.IntEnum):
    """How a scattered value meets the one that is there: replaces, adds, multiplies."""

    NONE = 0
    ADD = 1
    MULTIPLY = 2


class ReLuType(enum.IntEnum):
    """Activation applied to a matrix product."""

    NO_RELU = 0
    RELU = 1


class ConvReLuType(enum.IntEnum):
    """Activation applied to a convolution."""

    NO_RELU = 0
    RELU = 1


class TransMode(enum.IntEnum):
    """Number format of matrix inputs (not on A2/A3)."""

    CAST_NONE = 0
    CAST_RINT = 1
    CAST_ROUND = 2


class TopKAlgo(enum.IntEnum):
    """Algorithm of top-k."""

    MERGE_SORT = 0
    RADIX_SELECT = 1


class CachePolicy(enum.IntEnum):
    """How the L2 cache treats a tensor."""

    PREFETCH = 0
    NONE_CACHEABLE = 1


class LogBaseType(enum.IntEnum):
    """Base of a logarithm."""

    LOG_E = 0
    LOG_2 = 1
    LOG_10 = 2


class DequantScaleRoundingMode(enum.IntEnum):
    """Rounding of a dequantisation scale."""

    ROUND_UP = 0
    ROUND_DOWN = 1


class AtomicType(enum.IntEnum):
    """A write to shared memory: plain or added."""

    SET = 0
    ADD = 1


class AtomicRMWMode(enum.IntEnum):
    """A read-modify-write of global memory."""

    ADD = 0
    MIN = 1
    MAX = 2


class LogLevel(enum.IntEnum):
    """Severity of a log record."""

    DEBUG = 0
    INFO = 1
    WARN = 2
    ERROR = 3
    FATAL = 4
    EVENT = 5
