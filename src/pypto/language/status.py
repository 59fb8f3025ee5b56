"""The enumerations that annotations are written with, apart from the others: making an enumeration
costs time, and every program that decorates a kernel loads these."""

from __future__ import annotations

import enum

__all__ = ["SatStatus", "StatusType", "TileOpFormat"]


class TileOpFormat(enum.IntEnum):
    """Storage order of a tensor: row-major, or the cube's fractal order (not available yet)."""

    TILEOP_ND = 0
    TILEOP_NZ = 1


class StatusType(enum.Enum):
    """What an axis of an annotation is when it is not a number.

    ``DYN`` and ``DYNAMIC`` mean the same: the size may change from call to call without a new
    compilation. ``STATIC``: each size has a compilation of its own.
    """

    DYN = "dyn"
    DYNAMIC = "dynamic"
    STATIC = "static"

    @property
    def is_dynamic(self) -> bool:
        return self is not StatusType.STATIC

    def __repr__(self) -> str:
        return f"pypto.{self.name}"


class SatStatus(enum.IntEnum):
    """Whether conditions over symbolic scalars can hold together."""

    SAT = 0
    UNSAT = 1
    UNKNOWN = 2
