"""A small twin and runtime of its own for each test, and a compiler that counts its starts."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from pypto.build import place
from pypto.build.store import CacheStore
from pypto.build.toolchain import HostToolchain

from .support import (
    CountingCompiler,
    Load,
    real_compiler,
    toolchain_for,
    use_sources,
    write_script,
    write_sources,
)


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = write_sources(tmp_path / "package")
    use_sources(root, monkeypatch)
    return root


@pytest.fixture(autouse=True)
def fresh_fallback() -> None:
    """Each test counts as a new process for the private directory and its warning."""
    place._fallbacks.clear()


@pytest.fixture
def store(tmp_path: Path) -> CacheStore:
    return CacheStore(str(tmp_path / "cache"))


@pytest.fixture
def compiler(tmp_path: Path) -> CountingCompiler:
    log = tmp_path / "starts.log"
    script = write_script(
        tmp_path / "counting-c++", f'echo "$*" >> "{log}"\nexec {real_compiler()} "$@"\n'
    )
    return CountingCompiler(script, log)


@pytest.fixture
def load(request: pytest.FixtureRequest) -> Load:
    """A little by default, always the same; with ``--stress`` all."""
    wanted = request.config.getoption("--stress")
    if wanted is None:
        return Load(processes=8, threads=4, rounds=20, seed=58)
    load = Load(processes=16, threads=16, rounds=200, seed=wanted or random.randrange(1, 2**32))
    print(load)
    return load


@pytest.fixture
def toolchain(store: CacheStore) -> HostToolchain:
    return toolchain_for(store, real_compiler())
