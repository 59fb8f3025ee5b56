"""Ways in which a file of the cache can be damaged, or something else stand in its place."""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

from pypto.build.store import CacheStore


def place_of(store: CacheStore, key: str, room: str = "entries") -> Path:
    assert store.wanted is not None
    return Path(store.wanted, room, key[:2], key)


def flip(position: int) -> Callable[[Path], None]:
    def action(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[position % len(data)] ^= 1
        path.write_bytes(data)

    return action


def older_format(path: Path) -> None:
    """A record that is sound but of another version."""
    from pypto.build import record

    body = json.loads(path.read_bytes())["record"]
    real = record.FORMAT
    record.FORMAT = real - 1
    try:
        path.write_bytes(record.seal_record(body))
    finally:
        record.FORMAT = real


DAMAGE: dict[str, Callable[[Path], None]] = {
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-3]),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"\n"),
    "empty": lambda path: path.write_bytes(b""),
    "first byte": flip(0),
    "middle byte": flip(200),
    "last byte": flip(-1),
    "missing": lambda path: path.unlink(),
    "a directory": lambda path: (path.unlink(), path.mkdir()) and None,
    "dangling link": lambda path: (path.unlink(), path.symlink_to("nowhere")) and None,
    "a pipe that nobody writes": lambda path: (path.unlink(), os.mkfifo(path)) and None,
    "garbage": lambda path: path.write_bytes(b"{[\xff" * 40),
}


def obstruct(path: Path, how: str) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    if how == "file":
        path.write_text("not ours")
    elif how == "directory":
        (path / "below").mkdir(parents=True)
    elif how == "socket":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(os.path.relpath(path))
    else:
        path.symlink_to("nowhere/at all" if how == "dangling link" else path.parent.parent)
