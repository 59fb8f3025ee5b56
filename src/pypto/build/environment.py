"""The environment variables that the build room obeys, read once per process."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping

from pypto._paths import absolute
from pypto._record import Record
from pypto.error import PyptoGeneralError

__all__ = ["DEFAULT_TIMEOUT", "Environment", "environment", "read_environment"]

DEFAULT_TIMEOUT = 300.0
"""Seconds that one compiler run may take."""


class Environment(Record):
    """A snapshot: where the cache is, which compiler to use, how long it may run.

    ``cache_dir`` is absolute, or None where no home directory is known. ``timeout`` is in seconds.
    """

    cache_dir: str | None
    cxx: str | None
    path: str
    timeout: float


def read_environment(environ: Mapping[str, str]) -> Environment:
    """Read the variables from ``environ``. An empty variable counts as unset.

    Raises PyptoGeneralError for a time-out that is no number of seconds, and for a relative cache
    directory where the working directory is gone.
    """
    return Environment(
        cache_dir=_cache_dir(environ),
        cxx=environ.get("CXX", "").strip() or None,
        path=environ.get("PATH", os.defpath),
        timeout=_timeout(environ),
    )


@functools.cache
def environment() -> Environment:
    """The snapshot of this process, taken at the first use."""
    return read_environment(os.environ)


def _cache_dir(environ: Mapping[str, str]) -> str | None:
    home = environ.get("HOME") or _home_of_user()
    chosen = environ.get("PYPTO_CACHE_DIR")
    if chosen:
        if home is not None and (chosen == "~" or chosen.startswith("~/")):
            chosen = home + chosen[1:]
        return absolute(chosen, "PYPTO_CACHE_DIR")
    base = environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):  # the XDG rule: a relative path is invalid and ignored
        return os.path.join(os.path.normpath(base), "pypto")
    if home is None or not os.path.isabs(home):
        return None
    return os.path.join(os.path.normpath(home), ".cache", "pypto")


def _home_of_user() -> str | None:
    import pwd  # only without HOME

    try:
        return pwd.getpwuid(os.getuid()).pw_dir or None
    except KeyError:  # a user without an entry, as in many containers
        return None


def _timeout(environ: Mapping[str, str]) -> float:
    text = environ.get("PYPTO_COMPILE_TIMEOUT", "")
    if not text:
        return DEFAULT_TIMEOUT
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.0 < seconds < float("inf"):
        raise PyptoGeneralError(
            f"PYPTO_COMPILE_TIMEOUT must be a positive number of seconds, got {text!r}."
        )
    return seconds
