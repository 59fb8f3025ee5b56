"""Tracebacks of errors that a call of a kernel raises: the user's frames, none of the compiler's.

``PYPTO_TRACEBACK=full`` keeps them all, for work on pypto itself.
"""

from __future__ import annotations

import functools
import os
import types

from pypto.error import PyptoError

__all__ = ["full_tracebacks", "others", "outside"]

_PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")


@functools.cache
def full_tracebacks() -> bool:
    """Whether PYPTO_TRACEBACK asks for all frames; read once in a process."""
    return os.environ.get("PYPTO_TRACEBACK", "").strip().lower() == "full"


def outside(error: PyptoError) -> PyptoError:
    """``error`` without the frames it has passed; its causes keep the frames of others."""
    seen = {id(error)}
    inner: BaseException | None = error
    while inner is not None:
        if inner.__cause__ is None:
            inner.__suppress_context__ = True  # how the compiler found out is its own affair
        inner = inner.__cause__
        if inner is None or id(inner) in seen:
            break
        seen.add(id(inner))
        inner.__traceback__ = others(inner.__traceback__)
    return error.with_traceback(None)


def others(traceback: types.TracebackType | None) -> types.TracebackType | None:
    """``traceback`` without the frames of this package."""
    kept = []
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(_PACKAGE):
            kept.append(traceback)
        traceback = traceback.tb_next
    made: types.TracebackType | None = None
    for one in reversed(kept):
        made = types.TracebackType(made, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return made
