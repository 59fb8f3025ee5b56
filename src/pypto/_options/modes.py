"""Values of options that have names of their own."""

from __future__ import annotations

import enum

__all__ = ["CompStage", "PassConfigKey", "RunMode"]


class RunMode(enum.IntEnum):
    """Where a kernel runs: on the device, or on the CPU through the twin."""

    NPU = 0
    SIM = 1


class CompStage(enum.IntEnum):
    """The stage after which compilation stops. All but ``ALL_COMPLETE`` skip the launch."""

    ALL_COMPLETE = 0
    TENSOR_GRAPH = 1
    TILE_GRAPH = 2
    EXECUTE_GRAPH = 3
    CODEGEN_INSTRUCTION = 4
    CODEGEN_BINARY = 5


class PassConfigKey(enum.Enum):
    """What can be configured for one pass."""

    KEY_DUMP_GRAPH = "dump_graph"
