"""Rows of manifests: damage, growth, strangers."""

from __future__ import annotations

import pytest

from pypto.build.manifest import ManifestRow, add_row, read_rows
from pypto.build.store import CacheStore

from .damage import DAMAGE, place_of

KEY = "a" * 64
OTHER = "b" * 64


def test_manifest_rows(store: CacheStore) -> None:
    first = ManifestRow([["global", "N", 2]], KEY)
    second = ManifestRow([["global", "N", 3]], OTHER)
    assert read_rows(store, KEY) == ()
    for row in (first, second, first):
        add_row(store, KEY, row)
    rows = read_rows(CacheStore(store.wanted), KEY)
    assert len(rows) == 2 and {row.entry for row in rows} == {KEY, OTHER}
    assert read_rows(store, OTHER) == ()


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_row_is_ignored_and_can_be_added_again(store: CacheStore, damage: str) -> None:
    row = ManifestRow({"long": list(range(100))}, KEY)
    add_row(store, KEY, row)
    add_row(store, KEY, ManifestRow(None, OTHER))
    directory = place_of(store, KEY, "manifests")
    for path in directory.iterdir():
        if path.stat().st_size > 300:
            DAMAGE[damage](path)
    assert read_rows(store, KEY) == (ManifestRow(None, OTHER),)
    add_row(store, KEY, row)
    assert len(read_rows(store, KEY)) == 2


def test_a_manifest_of_directories_does_not_grow_for_ever(store: CacheStore) -> None:
    directory = place_of(store, KEY, "manifests")
    for number in range(300):
        (directory / f"{number:03}.json" / "below").mkdir(parents=True)
    add_row(store, KEY, ManifestRow(1, KEY))
    assert len(list(directory.iterdir())) <= 256


def test_a_row_of_another_manifest_is_ignored(store: CacheStore) -> None:
    add_row(store, KEY, ManifestRow(1, KEY))
    place_of(store, OTHER, "manifests").parent.mkdir()
    place_of(store, KEY, "manifests").rename(place_of(store, OTHER, "manifests"))
    assert read_rows(store, OTHER) == ()


def test_a_manifest_does_not_grow_for_ever(store: CacheStore) -> None:
    for number in range(300):
        add_row(store, KEY, ManifestRow(number, KEY))
    assert 128 <= len(read_rows(store, KEY)) <= 256
