"""Records with a checksum: the `meta.json` of an entry or tool, and the rows of a manifest.

Values on the path of a warm start are records: making a dataclass costs half a millisecond more.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from typing import Any

from pypto._record import Record
from pypto.build.files import file_digest, read_file

__all__ = ["FORMAT", "META", "Damaged", "Entry", "FileRecord", "open_record", "seal_record"]

FORMAT = 1
"""Version of the layout on disk; a record of another version counts as missing."""

META = "meta.json"


class Damaged(Exception):
    """A record or file is not what was written. Never leaves the build room."""


class FileRecord(Record):
    """Size in bytes and SHA-256 (hex) of one file of an entry."""

    size: int
    sha256: str


class Entry(Record):
    """A published directory: its files (name relative to it) and the maker's own ``data`` (JSON).

    ``created`` is in seconds since 1970.
    """

    key: str
    name: str
    directory: str
    created: float
    files: Mapping[str, FileRecord]
    data: Mapping[str, Any]

    def path(self, file: str) -> str:
        """Absolute path of one of the entry's files. Raises KeyError for any other name."""
        if file not in self.files:
            raise KeyError(file)
        return os.path.join(self.directory, file)

    def read(self, file: str) -> bytes:
        """The bytes of one of the entry's files."""
        return read_file(self.path(file))


def seal_record(body: Mapping[str, Any]) -> bytes:
    """JSON bytes of ``body`` with format version and a checksum over both."""
    text = _canonical({**body, "format": FORMAT})
    checksum = hashlib.sha256(text).hexdigest()
    return b'{"checksum":"' + checksum.encode() + b'","record":' + text + b"}\n"


def open_record(data: bytes) -> dict[str, Any]:
    """The body of a sealed record. Raises Damaged for anything but an untouched record."""
    head, tail, width = b'{"checksum":"', b'","record":', 64
    start = len(head) + width + len(tail)
    text = data[start:-2]
    if (
        data[: len(head)] != head
        or data[len(head) + width : start] != tail
        or data[-2:] != b"}\n"
        or hashlib.sha256(text).hexdigest().encode() != data[len(head) : len(head) + width]
    ):
        raise Damaged("bad checksum")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Damaged("bad JSON") from error
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise Damaged("another format")
    return body


def _canonical(body: Mapping[str, Any]) -> bytes:
    # ensure_ascii also keeps lone surrogates (undecodable path bytes) printable
    return json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def describe_directory(
    directory: str, key: str, name: str, data: Mapping[str, Any]
) -> dict[str, Any]:
    """The body of `meta.json` for the files now in ``directory`` (links are not files)."""
    files = {}
    for relative in _walk(directory):
        path = os.path.join(directory, relative)
        files[relative] = {"size": os.stat(path).st_size, "sha256": file_digest(path)}
    return {"key": key, "name": name, "created": time.time(), "files": files, "data": dict(data)}


def _walk(directory: str, prefix: str = "") -> list[str]:
    found = []
    with os.scandir(os.path.join(directory, prefix)) as children:
        for child in children:
            relative = prefix + child.name
            if child.is_dir(follow_symlinks=False):
                found += _walk(directory, relative + "/")
            elif relative != META and child.is_file(follow_symlinks=False):
                found.append(relative)
    return sorted(found)


def read_entry(directory: str, key: str) -> Entry:
    """Read `meta.json`; the files are not looked at. Raises Damaged or FileNotFoundError."""
    body = open_record(read_file(os.path.join(directory, META)))
    try:
        if body["key"] != key:
            raise Damaged("the entry of another key")
        files = {
            str(file): FileRecord(int(record["size"]), str(record["sha256"]))
            for file, record in body["files"].items()
        }
        return Entry(
            key, str(body["name"]), directory, float(body["created"]), files, dict(body["data"])
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Damaged("incomplete record") from error
