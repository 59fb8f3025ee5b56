"""What keeps a file or directory from being used, as part of a sentence for a person."""

from __future__ import annotations

import errno
import os
import stat

from pypto.error import Diagnostic, PyptoGeneralError

__all__ = ["absolute", "directory_problem", "reason"]


def absolute(path: str, origin: str) -> str:
    """``path`` from the root on. ``origin`` is the variable that names it, for the message.

    Raises PyptoGeneralError where the working directory is gone.
    """
    try:
        return os.path.abspath(path)
    except OSError:
        message = f"{origin} names {path} in the working directory, which was removed"
        help = "change to another directory, or name the path from / on."
        code = PyptoGeneralError.default_code
        raise PyptoGeneralError([Diagnostic(PyptoGeneralError, code, message, help=help)]) from None


def directory_problem(path: str) -> str | None:
    """Why no files can be written into the directory ``path``, which is made; None: they can."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        return reason(path, error)
    if not os.access(path, os.W_OK | os.X_OK):
        return os.strerror(errno.EACCES)
    return None


def reason(path: str, error: OSError) -> str:
    """Why ``error`` came of an attempt to use ``path``: the part of it that is to blame."""
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        part = _no_directory(path)
        if part is not None:
            return f"{part} is not a directory"
    if error.errno == errno.EISDIR:
        return f"{path} is a directory"
    if error.errno == errno.ELOOP:
        return "its symbolic links lead in a circle"
    return error.strerror or str(error)


def _no_directory(path: str) -> str | None:
    """The first part of ``path`` that is there and is no directory; None: no such part."""
    parts = [path]
    while (above := os.path.dirname(parts[-1].rstrip(os.sep))) and above != parts[-1]:
        parts.append(above)
    for part in reversed(parts):
        try:
            mode = os.stat(part).st_mode
        except OSError:
            if os.path.islink(part):
                return part
            continue
        if not stat.S_ISDIR(mode):
            return part
    return None
