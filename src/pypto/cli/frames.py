"""Tracebacks of programs that the command runs or imports: their own frames alone."""

from __future__ import annotations

import os
import sys
import traceback
from types import TracebackType

__all__ = ["show_exception"]

_HERE = os.path.dirname(os.path.abspath(__file__))
_PASSED = ("runpy", "importlib")


def show_exception(error: BaseException) -> None:
    """Print ``error`` as Python would, without the frames that led to the program."""
    shown = error.with_traceback(_own_frames(error.__traceback__))
    sys.stdout.flush()
    traceback.print_exception(shown)


def _own_frames(frames: TracebackType | None) -> TracebackType | None:
    """``frames`` without those of this command, ``runpy`` and ``importlib`` at its beginning."""
    while frames is not None:
        file = frames.tb_frame.f_code.co_filename
        if os.path.dirname(file) != _HERE and not any(name in file for name in _PASSED):
            return frames
        frames = frames.tb_next
    return None
