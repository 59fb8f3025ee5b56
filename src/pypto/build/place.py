"""Where the cache lives: the wanted directory, or a private one where that cannot be used.

A directory is used only where nobody else can write: it holds binaries that this process loads.
"""

from __future__ import annotations

import os
import stat
import threading

from pypto.build.environment import environment
from pypto.build.files import hold, remove_tree, sweep, try_lock, unique_name
from pypto.error import BuildError, Diagnostic, PyptoGeneralError

__all__ = [
    "check_owner",
    "prepare_root",
    "private_root",
    "reason_of",
    "wanted_root",
    "warn_degraded",
]

ROOMS = ("entries", "manifests", "tools", "memo", "locks", "tmp", "failed")
"""The subdirectories of a cache."""

_PRIVATE_PREFIX = "pypto-private-"


def wanted_root() -> str | None:
    """The directory that the environment asks for; None without any home directory."""
    return environment().cache_dir


def check_owner(root: str) -> str | None:
    """Why ``root`` must not be used at all, or None. A missing directory is fine.

    Raises PyptoGeneralError where other users can write to it: that is a mistake of set-up that a
    silent fallback would hide. A directory that belongs to somebody else is merely not ours.
    """
    for path in (root, *(os.path.join(root, room) for room in ROOMS)):
        try:
            status = os.stat(path)
        except FileNotFoundError:
            if path == root:
                return None
            continue
        except OSError as error:
            return reason_of(error)
        if not stat.S_ISDIR(status.st_mode):
            return f"{path} is not a directory"
        sticky_own = status.st_mode & stat.S_ISVTX and status.st_uid == os.geteuid()
        if status.st_mode & 0o022 and not (sticky_own and path == root):
            raise PyptoGeneralError([_refusal(path, status.st_mode)])
        if status.st_uid not in (os.geteuid(), 0):
            return f"{path} belongs to user id {status.st_uid}"
    return None


def _refusal(path: str, mode: int) -> Diagnostic:
    return Diagnostic(
        PyptoGeneralError,
        PyptoGeneralError.default_code,
        f"The cache directory {path} can be written by other users, who could plant binaries there",
        expected="a directory that only you can write, such as mode 0700",
        got=f"mode {stat.S_IMODE(mode):04o}",
        help=f"run `chmod go-w '{path}'`, or set PYPTO_CACHE_DIR to a directory of your own.",
    )


def prepare_root(root: str) -> None:
    """Make ``root`` and its rooms, all of mode 0700 whatever the umask. Raises OSError."""
    os.makedirs(os.path.dirname(root), exist_ok=True)
    for path in (root, *(os.path.join(root, room) for room in ROOMS)):
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            if not os.path.isdir(path):
                raise
            continue
        os.chmod(path, 0o700)  # mkdir's mode is cut by the umask


def probe_root(root: str) -> None:
    """Write a small file to ``root`` and remove it: finds quotas of zero. Raises OSError."""
    path = os.path.join(root, "tmp", f"{unique_name()}.probe")
    try:
        with open(path, "xb") as file:
            file.write(bytes(16384))
    finally:
        if os.path.lexists(path):
            os.unlink(path)


class _Fallback:
    """What one process knows about its private directory; a forked child starts anew."""

    __slots__ = ("lock", "root", "warned")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.root: str | None = None
        self.warned = False


_fallbacks: dict[int, _Fallback] = {}


def _fallback() -> _Fallback:
    return _fallbacks.setdefault(os.getpid(), _Fallback())


def _make_private_root() -> str:
    import atexit
    import tempfile

    tried = []
    for base in dict.fromkeys((tempfile.gettempdir(), "/dev/shm", "/var/tmp")):
        path = os.path.join(base, f"{_PRIVATE_PREFIX}{unique_name()}")
        try:
            sweep(base, _PRIVATE_PREFIX)
            os.mkdir(path, 0o700)
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            hold(descriptor)  # until the process ends: what a killed process leaves is swept
            try_lock(descriptor)
            prepare_root(path)
            probe_root(path)
        except OSError as error:
            tried.append(f"{base}: {reason_of(error)}")
            _remove_private(path, os.getpid())
            continue
        atexit.register(_remove_private, path, os.getpid())
        return path
    raise BuildError(
        [
            Diagnostic(
                BuildError,
                BuildError.default_code,
                "There is no directory to build in",
                notes=tuple(tried),
                help="set PYPTO_CACHE_DIR or TMPDIR to a directory of your own with free space.",
            )
        ]
    )


def private_root() -> str:
    """The private directory of this process, mode 0700, removed at exit. Raises BuildError."""
    state = _fallback()
    with state.lock:
        if state.root is None:
            state.root = _make_private_root()
        return state.root


def existing_private_root() -> str | None:
    """The private directory of this process if it has one."""
    return _fallback().root


def _remove_private(path: str, pid: int) -> None:
    if os.getpid() == pid:
        try:
            remove_tree(path)
        except OSError:
            pass  # at exit nobody could act on it


def warn_degraded(root: str | None, reason: str) -> None:
    """Warn, once per process, that binaries will not be kept."""
    state = _fallback()
    with state.lock:
        if state.warned:
            return
        state.warned = True
    from pypto._warn import warn

    where = f"The cache directory {root}" if root is not None else "The pypto cache"
    warn(
        f"{where} cannot be used ({reason}); kernels are built in a private temporary directory "
        "and rebuilt in the next process. Set PYPTO_CACHE_DIR to a writable directory of your own.",
        RuntimeWarning,
    )


def reason_of(error: OSError) -> str:
    """An OSError as part of a sentence, with the path it names."""
    where = f": {error.filename}" if error.filename else ""
    return f"{error.strerror or error}{where}"
