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
from pypto.runtime import cpu
from pypto.runtime.torch_bridge import connect

RUNTIME = Path(pypto.runtime.__file__).parent
FP32 = (2, 32)


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


@pytest.fixture(params=["dlpack", "attributes"])
def launcher(launcher_module: ModuleType, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The launcher, once a route of reading tensors."""
    route = request.param
    used = connect(launcher_module, route=route)
    if used != route:
        pytest.skip(f"this torch has no route {route}")
    yield launcher_module
    launcher_module.set_scope_variable(None)


class Kernels:
    """Makes variants of the hand-written kernels and dispatchers whose fallback records."""

    def __init__(self, launcher: Any, path: Path) -> None:
        self.launcher = launcher
        self.path = path
        self.runtime = cpu.load_runtime(path)

    def variant(self, symbol: str, params: tuple[Any, ...], **fields: Any) -> Any:
        binary = cpu.load(self.path, symbol)
        tensors = sum(spec[0] == "tensor" for spec in params)
        values: dict[str, Any] = {
            "entry": binary.address,
            "runtime": self.runtime.address,
            "owner": binary.owner,
            "params": params,
            "ints": (),
            "floats": (),
            "alias": tuple(range(tensors)),
            "written": (False,) * (tensors - 1) + (True,),
            "captures": (),
            "explain": explain,
        }
        return self.launcher.Variant(**(values | fields))

    def add(self, sizes: tuple[int, ...] = (-1,), **fields: Any) -> Any:
        """A variant of ``o = a + b`` over one-dimensional float32 tensors."""
        tensor = ("tensor", FP32, sizes)
        return self.variant("add_kernel", (tensor,) * 3, ints=(("size", 0, 0),), **fields)

    def dispatcher(
        self,
        *variants: Any,
        names: tuple[str, ...] = ("a", "b", "o"),
        defaults: dict[str, Any] | None = None,
    ) -> Any:
        made = self.launcher.Dispatcher("kernel", names, defaults or {}, fallback)
        for variant in variants:
            made.add(variant)
        return made


class Refused(Exception):
    """Raised by ``explain``: (code, args)."""


def explain(code: int, args: tuple[Any, ...]) -> None:
    raise Refused(code, args)


def fallback(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    return ("fallback", args, kwargs)


@pytest.fixture
def kernels(launcher: Any, built: Path) -> Kernels:
    return Kernels(launcher, built / "kernels.so")
