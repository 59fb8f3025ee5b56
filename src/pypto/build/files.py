"""Small file primitives: unique names, atomic writes, checksums, advisory locks, removal."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = [
    "file_digest",
    "is_place_error",
    "locked",
    "make_directory",
    "prune_oldest",
    "read_file",
    "remove_tree",
    "sweep",
    "try_lock",
    "unique_name",
    "write_atomically",
]

_UNUSABLE = frozenset(
    {
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.ENOSPC,
        errno.EDQUOT,
        errno.ENOTDIR,
        errno.EISDIR,
        errno.EEXIST,
        errno.ENAMETOOLONG,
        errno.ELOOP,
        errno.EIO,
        errno.ESTALE,
        errno.ENOENT,
        errno.EMLINK,
        errno.EFBIG,
    }
)
_SWEEP_AFTER = 60.0  # seconds: younger directories may not be locked yet
_SWEEP_UNLOCKABLE_AFTER = 86400.0  # seconds, where the file system has no locks

_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP})

# Descriptors of locks held by this process. A forked child shares the open file and would keep the
# lock after its parent's death, so it closes them at once.
_held: set[int] = set()


def _forget_locks_of_parent() -> None:
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_forget_locks_of_parent)


def is_place_error(error: OSError) -> bool:
    """True where the place (not the caller) is at fault: read-only, full, forbidden, vanished."""
    return error.errno in _UNUSABLE


def unique_name() -> str:
    """A name that no other process or thread makes: process id and 64 random bits."""
    return f"{os.getpid()}-{os.urandom(8).hex()}"


def write_atomically(path: str, data: bytes) -> None:
    """Write ``data`` to a new file beside ``path`` and rename it there, over whatever is there.

    Raises OSError.
    """
    temporary = f"{path}.{unique_name()}.tmp"
    try:
        with open(temporary, "xb") as file:
            file.write(data)
        try:
            os.replace(temporary, path)
        except IsADirectoryError:  # no file of ours: damage, which counts as missing
            remove_tree(path)
            os.replace(temporary, path)
    except BaseException:
        try:
            os.unlink(temporary)
        except OSError:
            pass  # never made, or already renamed: the first error is the one to report
        raise


def make_directory(path: str) -> None:
    """Make ``path`` and the directory above it, in place of files that stand there; no error where
    they are there. Raises OSError."""
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
    except (FileExistsError, NotADirectoryError, FileNotFoundError):
        for one in (os.path.dirname(path), path):
            if os.path.lexists(one) and not os.path.isdir(one):
                os.unlink(one)
        os.makedirs(path, mode=0o700, exist_ok=True)


def read_file(path: str) -> bytes:
    """The bytes of a file; of a pipe that stands in its place those that are there, without waiting
    for a writer. Raises OSError."""
    with open(path, "rb", opener=_open_waiting_for_nobody) as file:
        return file.read() or b""


def _open_waiting_for_nobody(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def file_digest(path: str) -> str:
    """SHA-256 of a file's bytes, in hex. Raises OSError."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remove_tree(path: str) -> None:
    """Remove a directory with all it holds; what is already gone is fine. Raises OSError.

    A link goes, not what it leads to.
    """
    try:
        if os.path.islink(path):
            os.unlink(path)
            return
        with os.scandir(path) as entries:
            children = list(entries)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        os.unlink(path)
        return
    for child in children:
        if child.is_dir(follow_symlinks=False):
            remove_tree(child.path)
        else:
            try:
                os.unlink(child.path)
            except FileNotFoundError:
                pass  # another process sweeps the same tree
    try:
        os.rmdir(path)
    except FileNotFoundError:
        pass  # likewise


def prune_oldest(directory: str, limit: int) -> None:
    """Where ``directory`` has more than ``limit`` files, remove the older half. Raises OSError."""
    if len(os.listdir(directory)) <= limit:
        return
    ages = []
    with os.scandir(directory) as children:
        for child in children:
            try:
                ages.append((child.stat(follow_symlinks=False).st_mtime_ns, child.path))
            except FileNotFoundError:
                continue  # another process prunes too
    for _, path in sorted(ages)[: len(ages) // 2]:
        remove_tree(path)


def sweep(directory: str, prefix: str) -> None:
    """Remove children of ``directory`` (with ``prefix``) that are ours and whose owner is dead.

    A living owner holds the lock of its directory. This is housekeeping: whatever cannot be looked
    at or removed is left to the next process.
    """
    try:
        with os.scandir(directory) as children:
            found = [
                (child.path, child.stat(follow_symlinks=False))
                for child in children
                if child.name.startswith(prefix)
            ]
    except OSError:
        return
    for path, status in found:
        # The absolute difference: a file from the future is as suspicious as an old one.
        age = abs(time.time() - status.st_mtime)
        if age < _SWEEP_AFTER or status.st_uid != os.geteuid() or stat.S_ISLNK(status.st_mode):
            continue
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            free = try_lock(descriptor)
            if free or (free is None and age > _SWEEP_UNLOCKABLE_AFTER):
                remove_tree(path)
        except OSError:
            continue
        finally:
            os.close(descriptor)


def try_lock(descriptor: int) -> bool | None:
    """Take an exclusive lock without waiting; None where the file system has no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return None
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True


def hold(descriptor: int) -> None:
    """Note that ``descriptor`` carries a lock of this process (see the fork rule above)."""
    _held.add(descriptor)


def release(descriptor: int) -> None:
    """Close a descriptor that was given to :func:`hold`; its lock goes with it."""
    # A fork between hold and release happens in the parent only; the child has forgotten it.
    if descriptor in _held:
        _held.discard(descriptor)
        os.close(descriptor)


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Hold the lock of ``path`` against all processes and threads; it dies with its owner.

    The kernel keeps the lock (flock), so a killed owner leaves nothing stale. The file is unlinked
    on release; a waiter that finds its file replaced starts again. On a file system without locks
    the body runs unlocked: results stay right, as publishing is atomic, only work may be doubled.
    """
    descriptor = _acquire(path)
    try:
        yield
    finally:
        if descriptor in _held:
            try:
                os.unlink(path)
            except OSError:
                pass  # the directory was removed or made read-only: only the empty file stays
            release(descriptor)


def _acquire(path: str) -> int:
    while True:
        descriptor = _open_lock(path)
        hold(descriptor)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            except OSError as error:
                if error.errno in _NO_LOCKS:
                    return descriptor
                raise
            if _same_file(descriptor, path):
                return descriptor
        except BaseException:
            release(descriptor)
            raise
        release(descriptor)


def _open_lock(path: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, flags, 0o600)
    except OSError:
        if not os.path.lexists(path) or stat.S_ISREG(os.lstat(path).st_mode):
            raise
        remove_tree(path)  # a directory, a link, a socket: nobody holds that
        return os.open(path, flags, 0o600)


def _same_file(descriptor: int, path: str) -> bool:
    ours = os.fstat(descriptor)
    try:
        theirs = os.stat(path)
    except FileNotFoundError:
        return False
    return (ours.st_ino, ours.st_dev) == (theirs.st_ino, theirs.st_dev)
