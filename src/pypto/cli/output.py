"""What the command writes to: a terminal of some width, a file, a pipe whose reader may go."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["abandon", "console", "of_output"]

_WIDTH = 80
"""Characters of a line where nobody says how many there are."""

_FULL = frozenset(
    {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF, errno.ENXIO}
)


def console(*, soft_wrap: bool = False) -> Console:
    """Where tables and coloured text go. Of no width (``COLUMNS=0``) it would show nothing."""
    from rich.console import Console

    made = Console(highlight=False, soft_wrap=soft_wrap)
    if made.width < 1:
        made.width = _WIDTH
    return made


def of_output(error: OSError) -> bool:
    """Whether ``error`` is that of writing to an open stream: it names no file."""
    return error.filename is None and error.errno in _FULL


def abandon(error: OSError) -> None:
    """Say why standard output takes no more, and drop the rest.

    Nothing is said where the reader has gone (``pypto cache list | head``): nobody wants the rest.
    """
    if not isinstance(error, BrokenPipeError):
        print(f"pypto: the output cannot be written: {error.strerror}", file=sys.stderr)
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())  # what is still in the buffer goes there at exit
        os.close(nothing)
    except (OSError, ValueError):
        pass  # no stream of the operating system: a test's, a notebook's
