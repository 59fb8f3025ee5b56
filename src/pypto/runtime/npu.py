"""The NPU back end: what it needs on a machine, and the refusal that names what is missing."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Collection
from typing import NoReturn

from pypto._options.modes import RunMode
from pypto.error import Diagnostic, PyptoRtError

__all__ = ["missing_for_npu", "refuse_npu"]


class NpuUnavailableError(PyptoRtError, RuntimeError):
    """A kernel was asked to run on an NPU that is not usable."""

    default_code = "F00003"


def missing_for_npu() -> list[str]:
    """What this machine lacks for launching on an NPU, most basic first."""
    missing = []
    home = os.environ.get("ASCEND_HOME_PATH")
    if not home:
        missing.append("CANN: ASCEND_HOME_PATH is not set (source its set_env.sh)")
    elif not os.path.isdir(home):
        missing.append(f"CANN: ASCEND_HOME_PATH names {home}, which does not exist")
    if importlib.util.find_spec("torch_npu") is None:
        missing.append("torch_npu: the package is not installed")
    return missing


def refuse_npu(mode: RunMode | None, devices: Collection[str]) -> NoReturn:
    """Raise the error for a call that would have to run on an NPU."""
    missing = missing_for_npu()
    asked = "run_mode is NPU" if mode is not None else "the tensors are on an NPU"
    if mode is not None and devices and "npu" not in devices:
        missing.append(f"tensors on an NPU: they are on {', '.join(sorted(devices))}")
    missing.append("the NPU launcher: this version compiles for and runs on the CPU twin only")
    raise NpuUnavailableError(
        [
            Diagnostic(
                NpuUnavailableError,
                "F00003",
                f"{asked}, but no NPU can be used here",
                expected="CANN, torch_npu and a device",
                got="missing:",
                notes=tuple(f"- {m}" for m in missing),
                help="run on the CPU twin: runtime_options={'run_mode': pypto.RunMode.SIM}, "
                "or PYPTO_RUN_MODE=sim",
            )
        ]
    )
