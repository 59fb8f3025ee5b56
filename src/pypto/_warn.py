"""Warnings that point at the user's line; loaded when there is something to warn of."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator

__all__ = ["of_the_command", "warn"]

_in_command = 0


@contextlib.contextmanager
def of_the_command() -> Iterator[None]:
    """Warnings issued inside have no line of a user's: they concern the command itself."""
    global _in_command
    _in_command += 1
    try:
        yield
    finally:
        _in_command -= 1


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning whose place is the nearest caller outside this package."""
    frame, level = sys._getframe(0), 1
    while not _in_command and frame.f_back is not None and _is_own(frame.f_globals.get("__name__")):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_own(module: object) -> bool:
    return isinstance(module, str) and (module == "pypto" or module.startswith("pypto."))
