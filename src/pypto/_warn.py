"""Warnings that point at the user's line; loaded when there is something to warn of."""

from __future__ import annotations

import sys
import warnings

__all__ = ["warn"]


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning whose place is the nearest caller outside this package."""
    frame, level = sys._getframe(0), 1
    while frame.f_back is not None and _is_own(frame.f_globals.get("__name__")):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_own(module: object) -> bool:
    return isinstance(module, str) and (module == "pypto" or module.startswith("pypto."))
