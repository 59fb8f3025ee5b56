"""What `pypto cache` shows and removes. Safe while other processes use the cache."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from pypto.build import files
from pypto.build.manifest import read_row
from pypto.build.record import Damaged, read_entry
from pypto.build.store import CacheStore, discard, entry_directory, listed, published
from pypto.error import PyptoGeneralError

__all__ = ["CacheInfo", "EntryInfo", "Problem", "info", "list_entries", "prune", "remove", "verify"]

_PREFIX = 8
"""Characters of a key that are enough to name an entry."""


@dataclass(frozen=True, slots=True)
class EntryInfo:
    """One kernel entry. ``size`` in bytes, times in seconds since 1970."""

    name: str
    key: str
    size: int
    created: float
    last_used: float


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """The cache as a whole. ``root`` is None where there is no cache; sizes in bytes."""

    root: str | None
    entries: int
    entry_bytes: int
    tools: int
    tool_bytes: int
    manifest_rows: int


@dataclass(frozen=True, slots=True)
class Problem:
    """Something damaged: ``room`` is entries, tools or manifests; ``name`` a key or row."""

    room: str
    name: str
    reason: str


def info(store: CacheStore) -> CacheInfo:
    """Count what is in the cache."""
    entries = list(list_entries(store))
    tools = [_size(path) for _, path in _directories(store, "tools")]
    rows = sum(1 for _ in _rows(store))
    return CacheInfo(
        store.wanted,
        len(entries),
        sum(entry.size for entry in entries),
        len(tools),
        sum(tools),
        rows,
    )


def list_entries(store: CacheStore) -> tuple[EntryInfo, ...]:
    """All entries with readable metadata, by name and key."""
    found = []
    for key, path in _directories(store, "entries"):
        try:
            entry = read_entry(path, key)
            used = os.stat(path).st_mtime
        except (Damaged, OSError):
            continue  # `verify` names these; or removed meanwhile
        found.append(EntryInfo(entry.name, key, _size(path), entry.created, used))
    return tuple(sorted(found, key=lambda one: (one.name, one.key)))


def remove(store: CacheStore, what: str | None = None) -> int:
    """Remove the entries whose key (8 characters or more) or kernel name is ``what``.

    None removes everything, tools and manifests included. Returns how many entries went. Raises
    PyptoGeneralError where the cache cannot be written.
    """
    chosen = []
    names = {one.key: one.name for one in list_entries(store)}
    for key, _ in _directories(store, "entries"):
        by_key = what is not None and len(what) >= _PREFIX and key.startswith(what)
        if what is None or by_key or names.get(key) == what:
            chosen.append(key)
    try:
        count = sum(_remove_one(store, "entries", key) for key in chosen)
        if what is None:
            for key, _ in _directories(store, "tools"):
                _remove_one(store, "tools", key)
            for root in store.read_roots():
                _empty_rooms(root)
    except OSError as error:
        raise _not_removed(store, error) from error
    return count


def _not_removed(store: CacheStore, error: OSError) -> PyptoGeneralError:
    return PyptoGeneralError(
        f"Cannot remove from the cache {store.wanted}: {error.strerror}: {error.filename}"
    )


def prune(store: CacheStore, older_than: float) -> int:
    """Remove entries and tools that were last used more than ``older_than`` seconds ago.

    Returns how many entries went. Raises PyptoGeneralError as :func:`remove`.
    """
    limit = time.time() - older_than
    count = 0
    for room in ("entries", "tools"):
        for key, path in list(_directories(store, room)):
            try:
                if os.stat(path).st_mtime < limit:
                    count += _remove_one(store, room, key) and room == "entries"
            except FileNotFoundError:
                continue  # removed meanwhile
            except OSError as error:
                raise _not_removed(store, error) from error
    return count


def _remove_one(store: CacheStore, room: str, key: str) -> bool:
    removed = False
    for root in store.read_roots():
        if os.path.lexists(entry_directory(root, room, key)):
            with files.locked(os.path.join(root, "locks", f"{room}-{key}")):
                removed |= discard(root, entry_directory(root, room, key))
    return removed


def _empty_rooms(root: str) -> None:
    # Of entries and tools only what is no entry and no tool is left by now.
    for room in ("entries", "tools", "manifests", "failed", "memo"):
        for child in listed(os.path.join(root, room)):
            discard(root, os.path.join(root, room, child))


def verify(store: CacheStore) -> tuple[Problem, ...]:
    """Check everything against its checksums, reading every file."""
    found = []
    for room in ("entries", "tools"):
        for key, path in _directories(store, room):
            try:
                store.check_files(read_entry(path, key), use_memo=False)
            except Damaged as damage:
                found.append(Problem(room, key, str(damage)))
            except OSError as error:
                if os.path.isdir(path):  # else removed meanwhile
                    found.append(Problem(room, key, f"{error.strerror}: {error.filename}"))
    for probe, path in _rows(store):
        if read_row(path, probe) is None and os.path.exists(path):
            name = f"{probe}/{os.path.basename(path)}"
            found.append(Problem("manifests", name, "damaged or of another format"))
    return tuple(found)


def _directories(store: CacheStore, room: str) -> Iterator[tuple[str, str]]:
    """(key, directory) of all that is in a room."""
    for root in store.read_roots():
        yield from published(root, room)


def _rows(store: CacheStore) -> Iterator[tuple[str, str]]:
    """(probe key, file) of all rows of all manifests."""
    for probe, path in _directories(store, "manifests"):
        for name in listed(path):
            if name.endswith(".json"):
                yield probe, os.path.join(path, name)


def _size(path: str) -> int:
    total = 0
    for child in listed(path):
        try:
            total += os.lstat(os.path.join(path, child)).st_size
        except FileNotFoundError:
            continue
    return total
