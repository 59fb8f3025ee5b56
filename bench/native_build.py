"""Compiles the hand-written limits with the host compiler, into a directory of this process."""

from __future__ import annotations

import ctypes
import functools
import importlib.machinery
import importlib.util
import os
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

__all__ = ["limits", "raw_call"]

_SOURCES = Path(__file__).parent / "native"


@functools.cache
def _directory() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="pypto-bench-")  # removed at exit


def _compile(source: str, output: str, *flags: str) -> str:
    path = os.path.join(_directory().name, output)
    chosen = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++") or "clang++"
    command = [*shlex.split(chosen), "-O3", "-march=native", "-fPIC", "-shared", *flags]
    subprocess.run([*command, str(_SOURCES / source), "-o", path], check=True)
    return path


@functools.cache
def limits() -> ctypes.CDLL:
    """The functions of ``native/limits.cpp``. Raises CalledProcessError where it does not build."""
    flags = ("-std=c++17", "-fopenmp", "-fno-math-errno", "-fno-trapping-math", "-lmvec", "-lm")
    library = ctypes.CDLL(_compile("limits.cpp", "limits.so", *flags))
    pointers = [ctypes.c_void_p] * 3
    for name, sizes in (
        ("triad", 1),
        ("add", 1),
        ("add_small", 1),
        ("gelu_bias", 2),
        ("softmax", 2),
    ):
        function = getattr(library, name)
        function.argtypes = [*pointers, *([ctypes.c_int64] * sizes)]
        function.restype = None
    return library


@functools.cache
def raw_call() -> Any:
    """The extension module of ``native/raw_call.c``."""
    include = sysconfig.get_paths()["include"]
    path = _compile("raw_call.c", "raw_call.so", "-x", "c", "-std=gnu11", f"-I{include}")
    loader = importlib.machinery.ExtensionFileLoader("raw_call", path)
    spec = importlib.util.spec_from_loader("raw_call", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
