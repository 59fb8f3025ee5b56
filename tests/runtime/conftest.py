"""Builds the launcher and the hand-written kernels once a session."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import pypto.runtime
from pypto.runtime import plain_launcher
from pypto.runtime.torch_bridge import connect

from .launching import Kernels

RUNTIME = Path(pypto.runtime.__file__).parent


def compiler() -> str:
    found = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    assert found, "these tests need a C compiler"
    return found


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory of the built libraries."""
    where = tmp_path_factory.mktemp("launcher")
    include = sysconfig.get_paths()["include"]
    sources = {
        "_pypto_launcher.so": RUNTIME / "launcher.c",
        "kernels.so": Path(__file__).parent / "kernels.c",
    }
    for name, source in sources.items():
        command = [compiler(), "-O2", "-shared", "-fPIC", "-Wall", "-Werror"]
        command += [f"-I{include}", f"-I{RUNTIME}", str(source), "-o", str(where / name)]
        subprocess.run(command, check=True)
    return where


@pytest.fixture(scope="session")
def launcher_module(built: Path) -> ModuleType:
    path = built / "_pypto_launcher.so"
    spec = importlib.util.spec_from_file_location("_pypto_launcher", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=["dlpack", "attributes", "plain"])
def launcher(launcher_module: ModuleType, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The C launcher, once a route of reading tensors, and the one in plain Python."""
    if request.param == "plain":
        connect(plain_launcher)
        yield plain_launcher
        plain_launcher.set_scope_variable(None)
        return
    used = connect(launcher_module, route=request.param)
    if used != request.param:
        pytest.skip(f"this torch has no route {request.param}")
    yield launcher_module
    launcher_module.set_scope_variable(None)


@pytest.fixture
def kernels(launcher: Any, built: Path) -> Kernels:
    return Kernels(launcher, built / "kernels.so")
