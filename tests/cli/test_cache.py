"""``pypto cache``: exact output on a cache made by hand."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pypto.build.store import CacheStore, entry_directory
from pypto.cli import cache, main

FIRST, SECOND = "1" * 64, "2" * 64


def _fill(directory: str) -> Mapping[str, Any]:
    (Path(directory) / "kernel.so").write_bytes(b"x" * 2048)
    return {}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CacheStore:
    """A cache with the kernels ``add`` (used last) and ``mul``."""
    made = CacheStore(str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "open_store", lambda: made)
    for number, (key, name) in enumerate([(SECOND, "mul"), (FIRST, "add")]):
        made.get_or_build(key, name, _fill)
        moment = 1_000_000_000 + 3600 * number
        os.utime(entry_directory(str(tmp_path / "cache"), "entries", key), (moment, moment))
    return made


def test_info(store: CacheStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "info"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"directory  {store.wanted}"
    assert lines[1].startswith("kernels    2, ") and lines[1].endswith(" KiB")
    assert lines[2:] == ["tools      0, 0 B", "lookups    0"]


def test_list_shows_last_used_first(store: CacheStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "list"]) == 0
    heading, first, second, total = capsys.readouterr().out.splitlines()
    assert heading.split() == ["kernel", "key", "size", "created", "last", "used"]
    assert first.split()[:2] == ["add", FIRST[:12]]
    assert second.split()[:2] == ["mul", SECOND[:12]]
    used = time.strftime("%Y-%m-%d %H:%M", time.localtime(1_000_003_600))
    assert first.rstrip().endswith(used)
    assert total == "2 kernels"


def test_verify(store: CacheStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "verify"]) == 0
    assert capsys.readouterr().out == "everything is as it was written\n"
    entry = store.load(FIRST)
    assert entry is not None
    Path(entry.path("kernel.so")).write_bytes(b"short")
    assert main(["cache", "verify"]) == 1
    assert capsys.readouterr().out == (
        f"entries {FIRST}: kernel.so has 5 bytes instead of 2048\n"
        "1 damaged; each is built again when it is needed next\n"
    )


def test_remove_by_name_and_key(store: CacheStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "rm", "add"]) == 0
    assert capsys.readouterr().out == "removed 1 kernel\n"
    assert store.load(FIRST) is None and store.load(SECOND) is not None
    assert main(["cache", "rm", SECOND[:8]]) == 0
    assert store.load(SECOND) is None


def test_remove_unknown(store: CacheStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "rm", "add", "nobody"]) == 1
    printed = capsys.readouterr()
    assert printed.err == "pypto cache rm: nothing in the cache is called nobody\n"
    assert printed.out == "removed 1 kernel\n"


def test_remove_all(store: CacheStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "rm", "--all"]) == 0
    assert capsys.readouterr().out == "removed 2 kernels\n"
    assert main(["cache", "list"]) == 0
    assert capsys.readouterr().out == "0 kernels\n"


@pytest.mark.parametrize("arguments", [["rm"], ["rm", "add", "--all"]])
def test_remove_needs_a_choice(
    store: CacheStore, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert main(["cache", *arguments]) == 2
    assert capsys.readouterr().err == "pypto cache rm: name some kernels or keys, or say --all\n"
    assert store.load(FIRST) is not None


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (3 << 20, "3.0 MiB"), (5 << 30, "5.0 GiB")],
)
def test_sizes(count: int, text: str) -> None:
    assert cache._size(count) == text
