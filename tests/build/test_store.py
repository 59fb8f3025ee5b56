"""Entries, manifests and tools on disk: publishing, damage, listing, removal."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from pypto.build import inspect
from pypto.build import store as store_module
from pypto.build.manifest import ManifestRow, add_row, read_rows
from pypto.build.record import META
from pypto.build.store import CacheStore
from pypto.error import PyptoGeneralError

from .damage import DAMAGE, flip, obstruct, older_format, place_of

KEY = "a" * 64
OTHER = "b" * 64


class Maker:
    """A builder that counts its runs."""

    def __init__(self, content: bytes = b"binary" * 100) -> None:
        self.content = content
        self.runs = 0

    def __call__(self, directory: str) -> dict[str, object]:
        self.runs += 1
        Path(directory, "kernel.so").write_bytes(self.content)
        Path(directory, "kernel.cpp").write_text("text")
        return {"symbol": "k", "sizes": [1, 2]}


def test_an_entry_is_built_once_and_found_again(store: CacheStore) -> None:
    maker = Maker()
    assert store.load(KEY) is None
    entry = store.get_or_build(KEY, "add", maker)
    again = CacheStore(store.wanted).get_or_build(KEY, "add", maker)
    assert maker.runs == 1
    assert again == entry
    assert entry.read("kernel.so") == maker.content
    assert entry.data == {"symbol": "k", "sizes": [1, 2]}
    assert set(entry.files) == {"kernel.so", "kernel.cpp"}
    assert os.listdir(Path(store.wanted or "", "tmp")) == []
    assert os.listdir(Path(store.wanted or "", "locks")) == []


def test_a_failing_builder_leaves_nothing(store: CacheStore) -> None:
    def fail(directory: str) -> dict[str, object]:
        Path(directory, "half").write_text("x")
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        store.get_or_build(KEY, "add", fail)
    assert store.load(KEY) is None
    assert os.listdir(Path(store.wanted or "", "tmp")) == []
    assert store.get_or_build(KEY, "add", Maker()).name == "add"


@pytest.mark.parametrize("file", ["kernel.so", "kernel.cpp", META])
@pytest.mark.parametrize("damage", DAMAGE)
def test_any_damage_leads_to_a_rebuild(store: CacheStore, file: str, damage: str) -> None:
    maker = Maker()
    store.get_or_build(KEY, "add", maker)
    DAMAGE[damage](place_of(store, KEY) / file)
    assert store.load(KEY) is None
    assert [problem.name for problem in inspect.verify(store)] == [KEY]
    entry = store.get_or_build(KEY, "add", maker)
    assert maker.runs == 2
    assert entry.read("kernel.so") == maker.content
    assert inspect.verify(store) == ()


def test_every_single_flipped_byte_of_the_record_is_seen(store: CacheStore) -> None:
    store.get_or_build(KEY, "add", Maker())
    path = place_of(store, KEY) / META
    sound = path.read_bytes()
    for position in range(len(sound)):
        path.write_bytes(sound[:position] + bytes([sound[position] ^ 0x20]) + sound[position + 1 :])
        assert store.load(KEY) is None, position
    path.write_bytes(sound)
    assert store.load(KEY) is not None


def test_an_older_format_is_rebuilt(store: CacheStore) -> None:
    maker = Maker()
    store.get_or_build(KEY, "add", maker)
    older_format(place_of(store, KEY) / META)
    store.get_or_build(KEY, "add", maker)
    assert maker.runs == 2


def test_swapped_entries_are_rebuilt(store: CacheStore) -> None:
    one, two = Maker(b"one"), Maker(b"two")
    store.get_or_build(KEY, "one", one)
    store.get_or_build(OTHER, "two", two)
    first, second, spare = place_of(store, KEY), place_of(store, OTHER), place_of(store, "c" * 64)
    spare.parent.mkdir()
    first.rename(spare)
    second.rename(first)
    spare.rename(second)
    assert store.load(KEY) is None and store.load(OTHER) is None
    assert store.get_or_build(KEY, "one", one).read("kernel.so") == b"one"
    assert store.get_or_build(OTHER, "two", two).read("kernel.so") == b"two"


def test_swapped_files_are_rebuilt(store: CacheStore) -> None:
    store.get_or_build(KEY, "one", Maker(b"one"))
    store.get_or_build(OTHER, "two", Maker(b"two"))
    os.rename(place_of(store, KEY) / "kernel.so", place_of(store, OTHER) / "kernel.so")
    assert store.load(KEY) is None and store.load(OTHER) is None


def test_an_entry_that_is_a_file_is_replaced(store: CacheStore) -> None:
    path = place_of(store, KEY)
    path.parent.mkdir(parents=True)
    path.write_text("in the way")
    assert store.get_or_build(KEY, "add", Maker()).name == "add"


def test_a_stale_lock_file_does_not_block(store: CacheStore) -> None:
    store.write_root()
    Path(store.wanted or "", "locks", f"entries-{KEY}").write_text("99999")
    assert store.get_or_build(KEY, "add", Maker()).name == "add"


def test_a_clock_in_the_future_does_no_harm(store: CacheStore) -> None:
    maker = Maker()
    store.get_or_build(KEY, "add", maker)
    future = time.time() + 10**8
    for path in (place_of(store, KEY), *place_of(store, KEY).iterdir()):
        os.utime(path, (future, future))
    CacheStore(store.wanted).get_or_build(KEY, "add", maker)
    assert maker.runs == 1


def test_threads_build_once(store: CacheStore) -> None:
    maker = Maker()
    found = []
    barrier = threading.Barrier(8)

    def work() -> None:
        barrier.wait()
        found.append(store.get_or_build(KEY, "add", maker))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert maker.runs == 1
    assert len(found) == 8 and len({entry.directory for entry in found}) == 1


def test_a_cache_removed_while_in_use_is_made_again(store: CacheStore) -> None:
    from pypto.build.files import remove_tree

    store.get_or_build(KEY, "add", Maker())
    remove_tree(store.wanted or "")
    assert store.get_or_build(OTHER, "add", Maker()).name == "add"
    assert inspect.info(store).entries == 1


def test_tools_are_hashed_again_only_after_a_change(
    store: CacheStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = Maker()
    store.get_or_build_tool(KEY, "tool", maker)
    for path in place_of(store, KEY, "tools").iterdir():
        os.utime(path, (1_600_000_000, 1_600_000_000))
    hashed: list[str] = []
    real = store_module.files.file_digest
    monkeypatch.setattr(
        store_module.files, "file_digest", lambda path: hashed.append(path) or real(path)
    )
    for _ in range(3):
        assert CacheStore(store.wanted).load_tool(KEY) is not None
    assert len(hashed) == 2
    flip(5)(place_of(store, KEY, "tools") / "kernel.so")
    store.get_or_build_tool(KEY, "tool", maker)
    assert maker.runs == 2


def test_temporary_directories_of_the_dead_are_swept(
    store: CacheStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = store.write_root()
    orphan = Path(root, "tmp", "1-dead")
    orphan.mkdir()
    (orphan / "half").write_text("x")
    with store_module.temporary_directory(root) as alive:
        for path in (orphan, Path(alive)):
            os.utime(path, (1_600_000_000, 1_600_000_000))
        CacheStore(root).write_root()
        assert not orphan.exists()
        assert os.path.isdir(alive)


@pytest.mark.parametrize("how", ["file", "directory", "socket", "dangling link", "link"])
@pytest.mark.parametrize(
    "where",
    [
        f"manifests/{KEY[:2]}",
        f"manifests/{KEY[:2]}/{KEY}",
        f"entries/{KEY[:2]}",
        f"entries/{KEY[:2]}/{KEY}",
        f"tools/{KEY[:2]}/{KEY}",
        f"locks/entries-{KEY}",
        f"locks/tools-{KEY}",
    ],
)
@pytest.mark.filterwarnings("error")
def test_what_stands_in_the_way_is_replaced(
    store: CacheStore, monkeypatch: pytest.MonkeyPatch, where: str, how: str
) -> None:
    root = Path(store.wanted or "")
    store.write_root()
    (root / "keep").write_text("not below any room")
    monkeypatch.chdir(root)
    obstruct(root / where, how)
    for _ in range(2):
        fresh = CacheStore(store.wanted)
        fresh.get_or_build(KEY, "add", Maker())
        fresh.get_or_build_tool(KEY, "tool", Maker())
        add_row(fresh, KEY, ManifestRow(1, KEY))
    assert store.load(KEY) is not None and store.load_tool(KEY) is not None
    assert read_rows(store, KEY) == (ManifestRow(1, KEY),)
    assert (root / "keep").exists()
    assert inspect.verify(store) == ()


def test_a_damaged_record_of_the_memo_is_written_again(tmp_path: Path, store: CacheStore) -> None:
    store.write_root()
    states = [("file", 1, 2, 3)]
    store.memo.put("topic", states, "text")
    (record,) = Path(store.wanted or "", "memo").iterdir()
    obstruct(record, "directory")
    assert store.memo.get("topic", states) is None
    store.memo.put("topic", states, "text")
    assert store.memo.get("topic", states) == "text"


def test_strangers_in_the_cache_are_no_entries(store: CacheStore) -> None:
    store.get_or_build(KEY, "add", Maker())
    room = place_of(store, KEY).parent
    (room / "notes.txt").write_text("what is this")
    (room / "cc").mkdir()
    (room.parent / "stray").write_text("and this")
    assert len(inspect.list_entries(store)) == 1 and inspect.verify(store) == ()
    assert inspect.remove(store) == 1
    assert list(room.parent.iterdir()) == []


def test_listing_and_removal(store: CacheStore) -> None:
    assert inspect.list_entries(store) == ()
    assert inspect.remove(store) == 0
    keys = [letter * 64 for letter in "abcd"]
    for key, name in zip(keys, ("add", "add", "mul", "sub"), strict=True):
        store.get_or_build(key, name, Maker())
    store.get_or_build_tool(KEY, "tool", Maker())
    add_row(store, KEY, ManifestRow(1, KEY))
    listed = inspect.list_entries(store)
    assert [(one.name, one.key) for one in listed] == [
        ("add", keys[0]),
        ("add", keys[1]),
        ("mul", keys[2]),
        ("sub", keys[3]),
    ]
    assert all(one.size > 600 and one.created <= one.last_used + 1 for one in listed)
    summary = inspect.info(store)
    assert (summary.entries, summary.tools, summary.manifest_rows) == (4, 1, 1)
    assert summary.entry_bytes == sum(one.size for one in listed)
    assert inspect.remove(store, "nothing") == 0
    assert inspect.remove(store, "add") == 2
    assert inspect.remove(store, keys[2][:8]) == 1
    assert [one.name for one in inspect.list_entries(store)] == ["sub"]
    assert inspect.remove(store) == 1
    summary = inspect.info(store)
    assert (summary.entries, summary.tools, summary.manifest_rows) == (0, 0, 0)


def test_pruning_by_last_use(store: CacheStore) -> None:
    for key in (KEY, OTHER):
        store.get_or_build(key, "add", Maker())
        store.get_or_build_tool(key, "tool", Maker())
    assert inspect.prune(store, 3600.0) == 0
    for room in ("entries", "tools"):
        os.utime(place_of(store, KEY, room), (1_600_000_000, 1_600_000_000))
    assert inspect.prune(store, 3600.0) == 1
    assert [one.key for one in inspect.list_entries(store)] == [OTHER]
    assert inspect.info(store).tools == 1


def test_tools_unused_for_a_month_go_when_a_new_one_comes(store: CacheStore) -> None:
    for key in (KEY, OTHER):
        store.get_or_build_tool(key, "tool", Maker())
    for key in (KEY, OTHER):
        age = time.time() - (31 if key == KEY else 29) * 86400
        os.utime(place_of(store, key, "tools"), (age, age))
    store.get_or_build_tool("c" * 64, "tool", Maker())
    assert store.load_tool(KEY) is None and store.load_tool(OTHER) is not None


def test_loading_notes_the_use(store: CacheStore) -> None:
    store.get_or_build(KEY, "add", Maker())
    os.utime(place_of(store, KEY), (1_600_000_000, 1_600_000_000))
    assert inspect.list_entries(store)[0].last_used == 1_600_000_000
    store.load(KEY)
    assert inspect.list_entries(store)[0].last_used > 1_700_000_000


@pytest.mark.parametrize("key", ["", "short", "../../../etc", "a/b" * 30, "é" * 64])
def test_a_key_that_is_no_digest_is_refused(store: CacheStore, key: str) -> None:
    with pytest.raises(ValueError, match="not a key"):
        store.load(key)


def test_removal_from_a_closed_cache_is_an_error(
    store: CacheStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.get_or_build(KEY, "add", Maker())

    def refuse(*_: object) -> bool:
        raise PermissionError(13, "Permission denied", "x")

    monkeypatch.setattr(inspect, "discard", refuse)
    with pytest.raises(PyptoGeneralError, match="Cannot remove from the cache"):
        inspect.remove(store)
