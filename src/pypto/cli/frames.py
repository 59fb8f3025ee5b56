"""Tracebacks of programs that the command runs or imports: their own frames alone; and warnings."""

from __future__ import annotations

import contextlib
import importlib
import os
import runpy
import sys
import traceback
import warnings
from collections.abc import Iterator
from types import TracebackType
from typing import TextIO

from pypto._traceback import full_tracebacks, others
from pypto._warn import of_the_command
from pypto.error import PyptoError

__all__ = ["plain_warnings", "show_exception"]

_HERE = os.path.dirname(os.path.abspath(__file__))
_PACKAGE = os.path.join(os.path.dirname(_HERE), "")
_IMPORTLIB = os.path.dirname(os.path.abspath(importlib.__file__))
_FROZEN = ("<frozen runpy>", "<frozen importlib.")


def show_exception(error: BaseException) -> None:
    """Print ``error`` as Python would, without the frames that led to the program.

    Of errors that pypto raises on purpose its own frames are left out as well, unless
    PYPTO_TRACEBACK=full asks for them.
    """
    shown = error.with_traceback(_own_frames(error.__traceback__))
    if not full_tracebacks():
        _leave_out_pypto(shown)
    sys.stdout.flush()
    traceback.print_exception(shown)


def _own_frames(frames: TracebackType | None) -> TracebackType | None:
    """``frames`` without those of this command, ``runpy`` and ``importlib`` at its beginning."""
    while frames is not None and _leads_there(frames.tb_frame.f_code.co_filename):
        frames = frames.tb_next
    return frames


def _leads_there(file: str) -> bool:
    return (
        file.startswith(_FROZEN)
        or file == runpy.__file__
        or os.path.dirname(file) in (_HERE, _IMPORTLIB)
    )


def _leave_out_pypto(error: BaseException) -> None:
    """Drop pypto's frames from the errors of pypto in the chain of ``error``."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        waiting += [one.__cause__, one.__context__]
        if isinstance(one, PyptoError):
            one.__traceback__ = others(one.__traceback__)


@contextlib.contextmanager
def plain_warnings() -> Iterator[None]:
    """Show pypto's own warnings as text alone: they concern the command, no line of pypto."""
    with warnings.catch_warnings(), of_the_command():
        usual = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if filename.startswith(_PACKAGE):
                print(f"pypto: {message}", file=sys.stderr)
            else:
                usual(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield
