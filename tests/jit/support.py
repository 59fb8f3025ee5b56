"""Kernels of source text, watched from outside: compiler starts, opened files, cache entries."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

import pypto
from pypto.runtime.tools import PROCESS

HEADER = """\
import pypto
from pypto import Tensor as T, DT_FP32 as FP32
jit = pypto.frontend.jit
"""

_watchers: list[Watched] = []


@dataclass
class Watched:
    """What the process did while it was watched: programs started and files opened."""

    commands: list[tuple[str, ...]] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)

    @property
    def kernels(self) -> int:
        """Compilations of a kernel."""
        return sum("wrapper.cpp" in command for command in self.commands)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watchers or event not in ("subprocess.Popen", "open"):
        return
    for watched in tuple(_watchers):
        if event == "open":
            watched.opened.append(str(arguments[0]))
        else:
            watched.commands.append(tuple(map(str, arguments[1])))


sys.addaudithook(_hook)  # audit hooks stay: this one does nothing while nobody watches


@contextmanager
def watch() -> Iterator[Watched]:
    """Programs that are started and files that are opened inside, by any thread."""
    watched = Watched()
    _watchers.append(watched)
    try:
        yield watched
    finally:
        _watchers.remove(watched)


class Modules:
    """Makes modules of source text in a directory of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.count = 0

    def make(self, text: str, name: str | None = None, raw: bytes | None = None) -> Any:
        """A module with this text after :data:`HEADER`; its file is ``m1.py`` (``m2.py``, ...)."""
        self.count += 1
        name = name or f"m{self.count}"
        path = self.directory / f"{name}.py"
        path.write_bytes(raw if raw is not None else (HEADER + textwrap.dedent(text)).encode())
        return self.load(name)

    def load(self, name: str) -> Any:
        """The module of the file as it is now, anew."""
        path = self.directory / f"{name}.py"
        module = types.ModuleType(name)
        module.__file__ = str(path)
        before = sys.modules.get(name)
        sys.modules[name] = module  # dataclasses look their module up while they are made
        try:
            exec(compile(path.read_bytes(), str(path), "exec", dont_inherit=True), vars(module))
        finally:
            sys.modules.pop(name)
            if before is not None:
                sys.modules[name] = before
        return module

    def kernel(self, *lines: str, before: str = "") -> Any:
        """The kernel ``k(x, o)`` of 8 floats with these lines as its body."""
        head = "@jit\ndef k(x: T([8], FP32), o: T([8], FP32)):\n"
        return self.make(before + head + "".join(f"    {line}\n" for line in lines)).k


X = torch.arange(8.0)


def result(kernel: Any, *arguments: Any, x: torch.Tensor = X) -> torch.Tensor:
    """What a kernel ``k(x, o, ...)`` writes."""
    out = torch.full_like(x, float("nan"))
    assert kernel(x, out, *arguments) is None
    return out


def entries(cache: Path | None = None) -> set[str]:
    """Keys of the kernels in a cache, that of this process by default."""
    root = Path(PROCESS.lookup.store.write_root()) if cache is None else cache
    return {path.name for path in root.glob("entries/*/*")}


@dataclass(frozen=True)
class Place:
    """A directory with a cache of its own, which has the shared tools, and a counting compiler."""

    path: Path

    @property
    def cache(self) -> Path:
        return self.path / "cache"

    @property
    def log(self) -> Path:
        return self.path / "starts.log"

    @property
    def kernels(self) -> int:
        """Compilations of a kernel so far, counted by the compiler itself."""
        return self.starts("wrapper.cpp")

    def starts(self, word: str = "") -> int:
        if not self.log.exists():
            return 0
        return sum(word in line for line in self.log.read_text().splitlines())

    def environment(self, **variables: str) -> dict[str, str]:
        """This process's environment with the cache and compiler of the place."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("PYPTO_")}
        kept.update(PYPTO_CACHE_DIR=str(self.cache), CXX=str(self.path / "cxx"), **variables)
        return kept

    def start(self, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        """A Python process in the place."""
        return subprocess.Popen(
            [sys.executable, *arguments],
            cwd=self.path,
            env=self.environment(**variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **variables: str) -> str:
        """What the process printed; it must succeed and write nothing to stderr."""
        return finish(self.start(*arguments, **variables))


def finish(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, ""), out + err
    return out


def make_place(path: Path, tools: Path | None) -> Place:
    """A place in ``path``; ``tools``: a cache whose shared tools it gets, by hard links."""
    place = Place(path)
    place.cache.mkdir(mode=0o700)
    if tools is not None:
        shutil.copytree(tools / "tools", place.cache / "tools", copy_function=_link)
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    script = path / "cxx"
    script.write_text(f'#!/bin/sh\necho "$*" >> {place.log}\nexec {compiler} "$@"\n')
    script.chmod(0o755)
    os.utime(script, (1_700_000_000, 1_700_000_000))  # old enough to be remembered
    return place


def _link(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)
    return target


def refusal(kernel: Any, *arguments: Any, **named: Any) -> pypto.PyptoError:
    """The error of a call that no compiler may be started for."""
    with watch() as seen:
        try:
            kernel(*arguments, **named)
        except pypto.PyptoError as error:
            assert seen.kernels == 0
            return error
    raise AssertionError("the call was not refused")
