"""The cache on disk: entries, tools, their locks and their repair.

``<root>/entries/<key[:2]>/<key>/`` holds one compiled kernel, ``<root>/tools/<key[:2]>/<key>/`` one
thing that all kernels share. Each is filled under a unique name in ``<root>/tmp`` and published by
one atomic rename, with a `meta.json` that holds checksums of all files. Anything that is not
exactly what was published counts as missing and is built again. Where the directory cannot be
written, the process goes on in a private one, with one warning.
"""

from __future__ import annotations

import errno
import functools
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from pypto.build import files, place
from pypto.build.memo import Memo, file_state
from pypto.build.record import (
    META,
    Damaged,
    Entry,
    describe_directory,
    read_entry,
    seal_record,
)
from pypto.error import BuildError, Diagnostic

__all__ = ["Builder", "CacheStore", "open_store"]

Builder = Callable[[str], Mapping[str, Any]]
"""Fills a new directory and returns JSON data to keep. Raises BuildError for its own failures and
OSError where the place is at fault (full, read-only)."""

Result = TypeVar("Result")

_FAILED_KEPT = 16
_TOOL_LIFETIME = 30 * 86400.0  # seconds


class CacheStore:
    """The cache under ``root``; None means that only a private directory is available.

    Safe to use from any number of threads and processes. Raises PyptoGeneralError where other users
    can write to ``root``.
    """

    __slots__ = ("_degraded", "_memo", "_prepared", "_unusable", "_wanted")

    def __init__(self, root: str | None) -> None:
        self._wanted = root
        self._prepared = False
        self._degraded = False
        # Why the wanted root is not used at all; it is then neither read nor written.
        self._unusable = "no home directory" if root is None else place.check_owner(root)
        readable = root is not None and self._unusable is None
        self._memo = Memo(os.path.join(root, "memo") if readable and root is not None else None)

    @property
    def memo(self) -> Memo:
        return self._memo

    @property
    def wanted(self) -> str | None:
        """The directory that was asked for."""
        return self._wanted

    def read_roots(self) -> tuple[str, ...]:
        """The roots to look into, wanted one first."""
        roots = []
        if self._wanted is not None and self._unusable is None:
            roots.append(self._wanted)
        if self._degraded or not roots:
            private = place.existing_private_root()
            if private is not None:
                roots.append(private)
        return tuple(roots)

    def write_root(self) -> str:
        """The root to write to: the wanted one, else the private one (with a warning)."""
        if self._wanted is not None and self._unusable is None and not self._degraded:
            if self._prepared:
                return self._wanted
            try:
                place.prepare_root(self._wanted)
                place.probe_root(self._wanted)
            except OSError as error:
                self.degrade(error)
            else:
                self._prepared = True
                files.sweep(os.path.join(self._wanted, "tmp"), "")
                return self._wanted
        if self._unusable is not None:
            place.warn_degraded(self._wanted, self._unusable)
        return place.private_root()

    def degrade(self, error: OSError) -> None:
        """Write to the private directory from now on; the wanted one is still read."""
        self._degraded = True
        place.warn_degraded(self._wanted, place.reason_of(error))

    # -- looking up ---------------------------------------------------------------------------

    def load(self, key: str) -> Entry | None:
        """The kernel entry of ``key`` with all checksums verified, or None."""
        return self._find("entries", key)

    def load_tool(self, key: str, *, thorough: bool = False) -> Entry | None:
        """The tool of ``key``, or None. Files whose state is unchanged since they were last
        hashed are not hashed again, unless ``thorough``."""
        return self._find("tools", key, thorough=thorough)

    def _find(self, room: str, key: str, *, thorough: bool = False) -> Entry | None:
        for root in self.read_roots():
            directory = entry_directory(root, room, key)
            try:
                entry = read_entry(directory, key)
                self.check_files(entry, use_memo=room == "tools" and not thorough)
            except (Damaged, OSError):
                continue  # counts as missing: get_or_build replaces it
            try:
                os.utime(directory)  # "last used", by which `pypto cache` lists and prunes
            except OSError:
                pass  # a read-only cache still serves
            return entry
        return None

    def check_files(self, entry: Entry, *, use_memo: bool) -> None:
        """Compare each file with its record. Raises Damaged or OSError."""
        for name, record in entry.files.items():
            path = os.path.join(entry.directory, name)
            state = file_state(path)
            if state[1] != record.size:
                raise Damaged(f"{name} has {state[1]} bytes instead of {record.size}")
            digest = self._memo.get("sha256", (state,)) if use_memo else None
            if digest is None:
                digest = files.file_digest(path)
                if use_memo:
                    self._memo.put("sha256", (state,), digest)
            if digest != record.sha256:
                raise Damaged(f"{name} has changed")

    # -- building -----------------------------------------------------------------------------

    def get_or_build(self, key: str, name: str, build: Builder) -> Entry:
        """The kernel entry of ``key``, made by ``build`` if there is none: once per key over all
        processes and threads. ``name`` is the kernel's, for listings."""
        return self._find("entries", key) or self._publish("entries", key, name, build)

    def get_or_build_tool(self, key: str, name: str, build: Builder) -> Entry:
        """The same for a tool."""
        return self._find("tools", key) or self._publish("tools", key, name, build)

    def _publish(self, room: str, key: str, name: str, build: Builder) -> Entry:
        return self.write(lambda root: self._publish_in(root, room, key, name, build))

    def write(self, action: Callable[[str], Result]) -> Result:
        """Run ``action`` with the root to write to, again where that turns out unusable.

        Raises what ``action`` raises, and BuildError where no directory has room.
        """
        renewed = False
        while True:
            root = self.write_root()
            try:
                return action(root)
            except OSError as error:
                if not files.is_place_error(error):
                    raise
                if isinstance(error, FileNotFoundError) and not renewed:
                    renewed = True  # somebody removed the cache directory while we were using it
                    self._renew(root)
                elif root == self._wanted:
                    self.degrade(error)
                else:
                    raise _no_room(root, error) from error

    def _renew(self, root: str) -> None:
        if root == self._wanted:
            self._prepared = False
        else:
            place.prepare_root(root)

    def _publish_in(self, root: str, room: str, key: str, name: str, build: Builder) -> Entry:
        with files.locked(os.path.join(root, "locks", f"{room}-{key}")):
            ready = self._find(room, key, thorough=True)
            if ready is not None:
                return ready  # made by the process or thread that held the lock before us
            with temporary_directory(root) as directory:
                data = build(directory)
                body = describe_directory(directory, key, name, data)
                with open(os.path.join(directory, META), "xb") as stream:
                    stream.write(seal_record(body))
                entry = self._move_in(root, room, key, directory)
        if room == "tools":
            _forget_old_tools(root)
        return entry

    def _move_in(self, root: str, room: str, key: str, directory: str) -> Entry:
        """Publish ``directory`` as the entry of ``key``, in place of damaged remains."""
        final = entry_directory(root, room, key)
        files.make_directory(os.path.dirname(final))
        while True:
            try:
                os.rename(directory, final)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                    raise
                # Damaged, or made meanwhile by a process that no lock could keep away.
                ready = self._find(room, key, thorough=True)
                if ready is not None:
                    return ready
                discard(root, final)
            else:
                return read_entry(final, key)

    def rebuild_tool(self, key: str) -> bool:
        """Remove the tool of ``key`` if a full check finds damage; True if it did."""
        if self.load_tool(key, thorough=True) is not None:
            return False
        for root in self.read_roots():
            try:
                with files.locked(os.path.join(root, "locks", f"tools-{key}")):
                    discard(root, entry_directory(root, "tools", key))
            except OSError as error:
                if not files.is_place_error(error):
                    raise
        return True

    def keep_failed(self, directory: str, label: str) -> str:
        """Move the sources of a failed build out of its temporary directory; where they are now.

        Only the last few are kept. Raises OSError.
        """
        room = os.path.join(self.write_root(), "failed")
        plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in label[:40])
        kept = os.path.join(room, f"{plain}-{files.unique_name()}")
        os.mkdir(kept, 0o700)
        with os.scandir(directory) as children:
            for child in children:
                if child.is_file(follow_symlinks=False):
                    os.rename(child.path, os.path.join(kept, child.name))
        with os.scandir(room) as children:
            by_age = sorted(children, key=lambda child: child.stat().st_mtime, reverse=True)
        for child in by_age[_FAILED_KEPT:]:
            files.remove_tree(child.path)
        return kept


def _forget_old_tools(root: str) -> None:
    """Remove tools unused for a month: each version of twin and compiler leaves megabytes."""
    oldest = time.time() - _TOOL_LIFETIME
    for key, path in published(root, "tools"):
        try:
            if os.stat(path).st_mtime < oldest:
                with files.locked(os.path.join(root, "locks", f"tools-{key}")):
                    discard(root, path)
        except OSError:
            continue  # housekeeping; the next process tries again


def published(root: str, room: str) -> Iterator[tuple[str, str]]:
    """(key, directory) of all that is in a room; not what somebody else put there."""
    for prefix in listed(os.path.join(root, room)):
        for key in listed(os.path.join(root, room, prefix)):
            if _is_key(key) and key[:2] == prefix:
                yield key, os.path.join(root, room, prefix, key)


def listed(path: str) -> list[str]:
    """The names in a directory, none where it is not made yet, removed, or closed to us."""
    try:
        return sorted(os.listdir(path))
    except OSError:
        return []


@functools.cache
def open_store() -> CacheStore:
    """The store of this process. Raises PyptoGeneralError where others can write to it."""
    return CacheStore(place.wanted_root())


def entry_directory(root: str, room: str, key: str) -> str:
    """``<root>/<room>/<key[:2]>/<key>``. Raises ValueError for anything but a plain digest."""
    if not _is_key(key):
        raise ValueError(f"not a key: {key!r}")
    return os.path.join(root, room, key[:2], key)


def _is_key(name: str) -> bool:
    return name.isascii() and name.isalnum() and len(name) >= 8


@contextmanager
def temporary_directory(root: str) -> Iterator[str]:
    """A new directory in ``<root>/tmp``, locked while in use; removed unless renamed away."""
    path = os.path.join(root, "tmp", files.unique_name())
    os.mkdir(path, 0o700)
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    files.hold(descriptor)
    try:
        files.try_lock(descriptor)
        yield path
    finally:
        files.remove_tree(path)
        files.release(descriptor)


def discard(root: str, path: str) -> bool:
    """Move ``path`` aside in one step, then remove it; False where there is none."""
    grave = os.path.join(root, "tmp", files.unique_name())
    try:
        os.rename(path, grave)
    except FileNotFoundError:
        return False
    except PermissionError:
        os.chmod(path, 0o700)  # a directory closed to ourselves cannot change its parent
        os.rename(path, grave)
    try:
        files.remove_tree(grave)
    except OSError:
        pass  # out of the way already; a later process sweeps it
    return True


def _no_room(root: str, error: OSError) -> BuildError:
    return BuildError(
        [
            Diagnostic(
                BuildError,
                BuildError.default_code,
                f"Cannot write a compiled kernel to {root}: {place.reason_of(error)}",
                help="free some space, or set PYPTO_CACHE_DIR to a directory with free space.",
            )
        ]
    )
