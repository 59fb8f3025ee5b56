"""Kernels of source text, and places with a cache and a counting compiler of their own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import pypto
from pypto.build.store import CacheStore
from pypto.runtime.tools import PROCESS
from tests.jit.support import Modules, Place, make_place


@pytest.fixture(scope="session", autouse=True)
def _compiler() -> None:
    if not any(map(shutil.which, ("c++", "g++", "clang++"))):
        pytest.skip("no C++ compiler on PATH")


@pytest.fixture(scope="package", autouse=True)
def _own_cache(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Kernels of these tests go to a cache that no other process of the run writes to."""
    root = tmp_path_factory.mktemp("cache")
    for name in ("tools", "memo"):
        (root / name).symlink_to(tools / name)
    lookup = PROCESS.lookup
    shared, lookup.store = lookup.store, CacheStore(str(root))
    yield
    lookup.store = shared


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Modules:
    """Modules in a directory of their own, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    return Modules(tmp_path)


@pytest.fixture(scope="session")
def tools() -> Path:
    """A cache that has the shared tools."""
    from pypto.build.steps import prepare
    from pypto.build.store import open_store
    from pypto.build.toolchain import find_host_toolchain

    store = open_store()
    prepare(store, find_host_toolchain(store.memo))
    return Path(os.environ["PYPTO_CACHE_DIR"])


@pytest.fixture
def place(tmp_path: Path, tools: Path) -> Place:
    return make_place(tmp_path, tools)


@pytest.fixture
def options() -> Iterator[Callable[[], None]]:
    """Global options go back to their defaults afterwards."""
    yield pypto.reset_options
    pypto.reset_options()
