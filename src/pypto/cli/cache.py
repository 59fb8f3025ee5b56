"""``pypto cache``: what the cache of kernels holds, whether it is sound, and clearing it."""

from __future__ import annotations

import argparse
import sys
import time

from pypto.build import inspect
from pypto.build.store import CacheStore, open_store

__all__ = ["cache_command"]

_KEY_SHOWN = 12
"""Digits of a key that are shown; 8 are enough to name an entry."""


def cache_command(parsed: argparse.Namespace) -> int:
    """Do ``parsed.action``; the exit code."""
    store = open_store()
    if parsed.action == "info":
        return _info(store)
    if parsed.action == "list":
        return _list(store)
    if parsed.action == "verify":
        return _verify(store)
    return _remove(store, parsed.name, everything=parsed.all)


def _info(store: CacheStore) -> int:
    found = inspect.info(store)
    print(f"directory  {found.root or 'none: there is no home directory'}")
    print(f"kernels    {found.entries}, {_size(found.entry_bytes)}")
    print(f"tools      {found.tools}, {_size(found.tool_bytes)}")
    print(f"lookups    {found.manifest_rows}")
    return 0


def _list(store: CacheStore) -> int:
    from rich.table import Table
    from rich.text import Text

    from pypto.cli.output import console

    entries = sorted(inspect.list_entries(store), key=lambda one: (-one.last_used, one.name))
    table = Table(box=None, pad_edge=False)
    for heading in ("kernel", "key", "size", "created", "last used"):
        table.add_column(heading, justify="right" if heading == "size" else "left", no_wrap=True)
    for entry in entries:
        table.add_row(
            Text(entry.name),
            entry.key[:_KEY_SHOWN],
            _size(entry.size),
            _moment(entry.created),
            _moment(entry.last_used),
        )
    # Not cut to a width where the reader is a program.
    shown = console()
    if not shown.is_terminal:
        shown.width = 10_000
    if entries:
        shown.print(table)
    print(f"{len(entries)} kernel{'s' if len(entries) != 1 else ''}")
    return 0


def _verify(store: CacheStore) -> int:
    problems = inspect.verify(store)
    for problem in problems:
        print(f"{problem.room} {problem.name}: {problem.reason}")
    if problems:
        print(f"{len(problems)} damaged; each is built again when it is needed next")
        return 1
    print("everything is as it was written")
    return 0


def _remove(store: CacheStore, names: list[str], *, everything: bool) -> int:
    if everything == bool(names):
        print("pypto cache rm: name some kernels or keys, or say --all", file=sys.stderr)
        return 2
    wanted: list[str | None] = [None] if everything else [*names]
    counts = [inspect.remove(store, name) for name in wanted]
    unknown = [name for name, count in zip(names, counts, strict=False) if count == 0]
    for name in unknown:
        print(f"pypto cache rm: nothing in the cache is called {name}", file=sys.stderr)
    removed = sum(counts)
    print(f"removed {removed} kernel{'s' if removed != 1 else ''}")
    return 1 if unknown else 0


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
