"""Manifests: what a probe key leads to.

``<root>/manifests/<probe[:2]>/<probe>/`` holds one file per row: the captured reads of an
elaboration and the key of the entry that it led to. A row's file is named by its content, so adding
needs no lock and adding again changes nothing. A damaged row is skipped.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any

from pypto._record import Record
from pypto.build import files
from pypto.build.record import Damaged, open_record, seal_record
from pypto.build.store import CacheStore, entry_directory
from pypto.error import BuildError

__all__ = ["ManifestRow", "add_row", "read_rows"]

_MAX_ROWS = 256
"""A value that differs on each call would otherwise let a manifest grow for ever."""


class ManifestRow(Record):
    """``reads``: JSON that `elaborate.captures` wrote. ``entry``: the key it led to."""

    reads: Any
    entry: str


def read_rows(store: CacheStore, probe: str) -> tuple[ManifestRow, ...]:
    """All undamaged rows of ``probe``, in an order that depends on their contents only."""
    found: dict[str, ManifestRow] = {}
    for root in store.read_roots():
        directory = entry_directory(root, "manifests", probe)
        try:
            names = os.listdir(directory)
        except OSError:
            continue  # no manifest yet, or not readable: the kernel is elaborated
        for name in names:
            if name in found or not name.endswith(".json"):
                continue
            row = read_row(os.path.join(directory, name), probe)
            if row is not None:
                found[name] = row
    return tuple(found[name] for name in sorted(found))


def read_row(path: str, probe: str) -> ManifestRow | None:
    """The row of one file, None where it is damaged or of another manifest."""
    try:
        body = open_record(files.read_file(path))
    except (Damaged, OSError):
        return None
    if body.get("probe") != probe or not isinstance(body.get("entry"), str):
        return None
    return ManifestRow(body.get("reads"), body["entry"])


def add_row(store: CacheStore, probe: str, row: ManifestRow) -> None:
    """Add ``row``, if there is room. Raises TypeError where ``row.reads`` is no JSON.

    Losing a row costs one elaboration, never a wrong answer: nothing that is wrong with the place
    takes down the call, whose binary is there.
    """
    record = seal_record({"probe": probe, "entry": row.entry, "reads": row.reads})
    name = hashlib.sha256(record).hexdigest()[:32] + ".json"
    try:
        store.write(lambda root: _add_in(entry_directory(root, "manifests", probe), name, record))
    except (BuildError, OSError):
        return


def _add_in(directory: str, name: str, record: bytes) -> None:
    files.make_directory(directory)
    files.write_atomically(os.path.join(directory, name), record)
    files.prune_oldest(directory, _MAX_ROWS)
