"""Helpers of the build tests: small sources, a counting compiler, forked children."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from pypto.build import place, steps
from pypto.build.environment import read_environment
from pypto.build.files import remove_tree
from pypto.build.kernel import KernelTexts
from pypto.build.store import CacheStore
from pypto.build.toolchain import HostToolchain, find_host_toolchain

TWIN_HEADER = """
#ifndef TWIN_H
#define TWIN_H
#include <stdint.h>
namespace twin {
inline const char* where() { return __FILE__; }
#ifdef PYPTO_TWIN_COUNT
inline int counting() { return 1; }
#else
inline int counting() { return 0; }
#endif
}
#endif
"""

KERNEL = """
#include "kernel_operator.h"
namespace NAME {
inline int run(float* values, int64_t count) {
    for (int64_t i = 0; i < count; ++i) values[i] = values[i] * 2.0f;
    return twin::counting();
}
}
"""

WRAPPER = """
#include "NAME.cpp"
#define SHOWN extern "C" __attribute__((visibility("default")))
SHOWN int NAME_run(float* values, int64_t count) { return NAME::run(values, count); }
SHOWN const char* NAME_where() { return twin::where(); }
"""


def texts_of(name: str) -> KernelTexts:
    return KernelTexts(
        {f"{name}.cpp": KERNEL.replace("NAME", name)}, WRAPPER.replace("NAME", name), {}
    )


def write_sources(root: Path) -> Path:
    """A tree like the package's: twin/include and runtime."""
    (root / "twin" / "include").mkdir(parents=True)
    (root / "twin" / "include" / "kernel_operator.h").write_text(TWIN_HEADER)
    (root / "twin" / "include" / "pypto_launch.h").write_text("#pragma once\n")
    (root / "runtime" / "library").mkdir(parents=True)
    (root / "runtime" / "abi.h").write_text("#define ANSWER 42\n")
    (root / "runtime" / "library" / "one.cpp").write_text(
        '#include "abi.h"\nextern "C" int pypto_runtime() { return ANSWER; }\n'
    )
    (root / "runtime" / "launcher.c").write_text(
        "#include <Python.h>\n"
        'static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, "_pypto_launcher"};\n'
        "PyMODINIT_FUNC PyInit__pypto_launcher(void) { return PyModule_Create(&def); }\n"
    )
    return root


def use_sources(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "TWIN", str(root / "twin" / "include"))
    monkeypatch.setattr(steps, "RUNTIME", str(root / "runtime"))
    monkeypatch.setattr(steps, "_LIBRARY", str(root / "runtime" / "library"))


@dataclass(frozen=True)
class Load:
    """How much a stress test does, and the seed of its choices."""

    processes: int
    threads: int
    rounds: int
    seed: int


@dataclass(frozen=True)
class CountingCompiler:
    """A script that notes its arguments and then runs the real compiler."""

    path: Path
    log: Path

    def count(self, *words: str) -> int:
        """Starts whose command line holds all ``words``."""
        if not self.log.exists():
            return 0
        lines = self.log.read_text().splitlines()
        return sum(all(word in line for word in words) for line in lines)

    def toolchain(self, store: CacheStore, timeout: float = 120.0) -> HostToolchain:
        return toolchain_for(store, str(self.path), timeout)


def write_script(path: Path, body: str) -> Path:
    path.write_text("#!/bin/sh\n" + body)
    path.chmod(0o755)
    os.utime(path, (1_700_000_000, 1_700_000_000))  # old enough for the memo
    return path


def toolchain_for(store: CacheStore, cxx: str | None, timeout: float = 120.0) -> HostToolchain:
    environ = {"PATH": os.environ["PATH"], "PYPTO_COMPILE_TIMEOUT": str(timeout)}
    if cxx is not None:
        environ["CXX"] = cxx
    return find_host_toolchain(store.memo, read_environment(environ))


def real_compiler() -> str:
    for name in ("g++", "c++", "clang++"):
        path = shutil.which(name)
        if path is not None:
            return path
    pytest.skip("no C++ compiler on PATH")


def fork(action: Callable[[], object]) -> tuple[int, int]:
    """Run ``action`` in a forked child; (its pid, a descriptor that gives its pickled answer)."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    status = 1
    try:
        os.close(reader)
        answer = pickle.dumps(action())
        with os.fdopen(writer, "wb") as stream:
            stream.write(answer)
        private = place.existing_private_root()
        if private is not None:
            remove_tree(private)  # os._exit runs no exit handlers
        status = 0
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
    finally:
        os._exit(status)


def join(child: tuple[int, int]) -> object:
    pid, reader = child
    with os.fdopen(reader, "rb") as stream:
        answer = stream.read()
    _, status = os.waitpid(pid, 0)
    assert status == 0, f"the child ended with status {status}"
    return pickle.loads(answer)


def kill_after(child: tuple[int, int], seconds: float) -> bool:
    """Whether ``child`` was killed: False when it had ended by then."""
    pid, reader = child
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(reader)
    return os.WIFSIGNALED(status)


def fake_compiler(path: Path, version: str, extra: str = "exit 0") -> Path:
    return write_script(
        path,
        f'case "$*" in\n*--version*) printf %s "{version}";;\n'
        "*-dumpmachine*) echo x86_64-linux-gnu;;\n"
        f"*-print-file-name*) echo libmvec.so;;\n*) {extra};;\nesac\n",
    )
