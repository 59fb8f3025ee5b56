"""A local memo: facts of a file's state to something computed from it.

It answers "what is the digest of these files" and "which compiler is this" without reading files or
starting programs. The state is (path, size, mtime, inode); it never enters a cache key. A record is
one small file with a checksum; a damaged one is treated as missing.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable

from pypto.build.files import prune_oldest, read_file, write_atomically
from pypto.build.place import prepare_root

__all__ = ["FileState", "Memo", "file_state"]

FileState = tuple[str, int, int, int]

_MAX_RECORDS = 1024

_RACY = 2_000_000_000
"""Nanoseconds: a file changed this recently may change again without a visible trace."""


def file_state(path: str) -> FileState:
    """(path, size, mtime in ns, inode), links followed. Raises OSError."""
    status = os.stat(path)
    return path, status.st_size, status.st_mtime_ns, status.st_ino


class Memo:
    """Records in ``directory``, the room of that name in a cache; none at all where it is None."""

    __slots__ = ("_directory",)

    def __init__(self, directory: str | None) -> None:
        self._directory = directory

    def get(self, topic: str, states: Iterable[FileState]) -> str | None:
        """The text stored for these states, or None."""
        path = self._path(topic, states)
        if path is None:
            return None
        try:
            data = read_file(path)
        except OSError:
            return None
        checksum, newline, text = data.partition(b"\n")
        if not newline or hashlib.sha256(text).hexdigest().encode() != checksum:
            return None
        try:
            return text.decode()
        except UnicodeDecodeError:
            return None

    def put(self, topic: str, states: Iterable[FileState], text: str) -> None:
        """Store ``text``. Does nothing where a state is too fresh to be trusted.

        A memo that cannot be written only costs time, so a failure to write is not an error.
        """
        states = tuple(states)
        path = self._path(topic, states)
        newest = max((state[2] for state in states), default=0)
        if path is None or newest > time.time_ns() - _RACY:
            return
        data = text.encode()
        try:
            if not os.path.isdir(os.path.dirname(path)):
                prepare_root(os.path.dirname(os.path.dirname(path)))
            write_atomically(path, hashlib.sha256(data).hexdigest().encode() + b"\n" + data)
            prune_oldest(os.path.dirname(path), _MAX_RECORDS)
        except OSError:
            return

    def _path(self, topic: str, states: Iterable[FileState]) -> str | None:
        if self._directory is None:
            return None
        facts = [f"{size} {mtime} {inode} {path}" for path, size, mtime, inode in states]
        text = "\0".join([topic, *facts])
        digest = hashlib.sha256(os.fsencode(text))
        return os.path.join(self._directory, digest.hexdigest())
