"""Many processes and threads on one cache, and processes that are killed at any point."""

from __future__ import annotations

import hashlib
import os
import random
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from pypto.build import files, inspect, steps
from pypto.build.kernel import BINARY, build_kernel
from pypto.build.manifest import ManifestRow, add_row, read_rows
from pypto.build.store import CacheStore
from pypto.build.toolchain import HostToolchain

from .support import CountingCompiler, Load, fork, join, kill_after, texts_of


def key_of(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()


def build_number(store: CacheStore, toolchain: HostToolchain, number: int) -> str:
    """Build kernel ``number`` and add its row; the digest of its binary."""
    name = f"k{number}"
    entry = build_kernel(store, toolchain, key_of(number), name, lambda: (texts_of(name), {}))
    add_row(store, key_of(0), ManifestRow(number, entry.key))
    return hashlib.sha256(entry.read(BINARY)).hexdigest()


def in_threads(action: Callable[[int], str], count: int = 4) -> list[str]:
    answers: list[str] = []
    threads = [threading.Thread(target=lambda n=n: answers.append(action(n))) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def swarm(
    root: str | None, compiler: CountingCompiler, load: Load, pick: Callable[[int, int], int]
) -> set[str]:
    """All processes at once, with ``pick(process, thread)`` as the kernel to build; the digests
    of all binaries."""

    def work(process: int) -> list[str]:
        store = CacheStore(root)
        toolchain = compiler.toolchain(store)
        return in_threads(
            lambda thread: build_number(store, toolchain, pick(process, thread)), load.threads
        )

    children = [fork(lambda process=process: work(process)) for process in range(load.processes)]
    digests: list[str] = []
    for child in children:
        answer = join(child)
        assert isinstance(answer, list) and len(answer) == load.threads
        digests += answer
    return set(digests)


@pytest.mark.stress
def test_one_key_is_compiled_once(
    sources: Path, store: CacheStore, compiler: CountingCompiler, load: Load
) -> None:
    digests = swarm(store.wanted, compiler, load, lambda process, thread: 1)
    assert compiler.count("wrapper.cpp") == 1
    assert compiler.count("c++-header") == 1
    assert len(digests) == 1
    assert inspect.verify(store) == ()
    assert len(read_rows(store, key_of(0))) == 1


@pytest.mark.stress
def test_each_of_several_keys_is_compiled_once(
    sources: Path, store: CacheStore, compiler: CountingCompiler, load: Load
) -> None:
    keys = load.processes
    swarm(store.wanted, compiler, load, lambda process, thread: (process + thread) % keys)
    assert compiler.count("wrapper.cpp") == keys
    assert compiler.count("c++-header") == 1
    assert len(inspect.list_entries(store)) == keys
    assert inspect.verify(store) == ()
    assert len(read_rows(store, key_of(0))) == keys
    root = Path(store.wanted or "")
    assert os.listdir(root / "tmp") == [] and os.listdir(root / "locks") == []


def test_tools_are_compiled_once(
    sources: Path, store: CacheStore, compiler: CountingCompiler
) -> None:
    def work() -> str:
        mine = CacheStore(store.wanted)
        return steps.prepare(mine, compiler.toolchain(mine)).runtime_library

    children = [fork(work) for _ in range(4)]
    assert len({join(child) for child in children}) == 1
    assert compiler.count("-o") == 5  # twin: header, object; library: object, link; launcher


@pytest.mark.stress
def test_killed_processes_leave_no_wrong_state(
    sources: Path,
    store: CacheStore,
    compiler: CountingCompiler,
    load: Load,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """kill -9 at a random point; the next process finds a sound cache or none."""
    rng = random.Random(load.seed)
    root = store.wanted

    def work(number: int) -> str:
        mine = CacheStore(root)
        return build_number(mine, compiler.toolchain(mine), number)

    numbers, killed, longest = range(load.rounds), 0, 0.15
    for number in numbers:
        if kill_after(fork(lambda number=number: work(number)), rng.uniform(0.0, longest)):
            killed, longest = killed + 1, longest * 1.05
        else:  # some end first on any machine, so the kills reach all points of a build
            longest /= 1.15
        assert inspect.verify(store) == ()
    finished = len(inspect.list_entries(store))
    print(f"{killed} of {load.rounds} processes killed, {finished} entries were published")
    digests = [join(fork(lambda number=number: work(number))) for number in numbers]
    assert inspect.verify(store) == ()
    assert len(inspect.list_entries(store)) == load.rounds
    assert len(read_rows(store, key_of(0))) == load.rounds
    clean = CacheStore(str(root) + "-clean")
    for number in numbers[:: load.rounds // 4]:  # what survived is what a quiet cache holds
        assert build_number(clean, compiler.toolchain(clean), number) == digests[number]
    monkeypatch.setattr(files, "_SWEEP_AFTER", 0.0)
    CacheStore(root).write_root()
    assert os.listdir(Path(str(root), "tmp")) == []


def test_a_lock_dies_with_its_owner(store: CacheStore) -> None:
    path = os.path.join(store.write_root(), "locks", "x")
    ready, signal_ready = os.pipe()

    def hold() -> None:
        with files.locked(path):
            os.write(signal_ready, b"x")
            threading.Event().wait(60)

    child = fork(hold)
    assert os.read(ready, 1) == b"x"
    waiter = threading.Thread(target=kill_after, args=(child, 0.05))
    waiter.start()
    with files.locked(path):
        pass
    waiter.join()
    os.close(ready)
    os.close(signal_ready)


def test_a_forked_child_does_not_keep_its_parents_lock(store: CacheStore) -> None:
    path = os.path.join(store.write_root(), "locks", "x")
    release, signal_release = os.pipe()
    with files.locked(path):
        child = fork(lambda: os.read(release, 1))
    with files.locked(path):  # the child is alive and has the old lock's file open no more
        os.write(signal_release, b"x")
    assert join(child) == b"x"
    os.close(release)
    os.close(signal_release)


def test_a_file_system_without_locks(store: CacheStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results stay right; only work may be doubled."""

    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(files.fcntl, "flock", refuse)
    runs: list[str] = []

    def build(directory: str) -> dict[str, object]:
        runs.append(directory)
        Path(directory, "kernel.so").write_text("same")
        return {}

    in_threads(lambda _: store.get_or_build(key_of(1), "k", build).key)
    assert 1 <= len(runs) <= 4
    assert inspect.verify(store) == ()
    assert os.listdir(Path(store.wanted or "", "tmp")) == []


def test_locks_exclude_threads(store: CacheStore) -> None:
    path = os.path.join(store.write_root(), "locks", "x")
    inside, most = 0, 0

    def work(_: int) -> str:
        nonlocal inside, most
        for _ in range(50):
            with files.locked(path):
                inside += 1
                most = max(most, inside)
                inside -= 1
        return ""

    in_threads(work)
    assert most == 1
    assert not os.path.exists(path)


def test_removal_while_others_build(
    sources: Path, store: CacheStore, compiler: CountingCompiler
) -> None:
    root = store.wanted

    def build() -> list[str]:
        mine = CacheStore(root)
        toolchain = compiler.toolchain(mine)
        return [build_number(mine, toolchain, number % 3) for number in range(6)]

    children = [fork(build) for _ in range(3)]
    for _ in range(30):
        inspect.remove(CacheStore(root))
    answers = [join(child) for child in children]
    assert all(answer == answers[0] for answer in answers)
    assert inspect.verify(store) == ()
