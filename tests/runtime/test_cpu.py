"""Loading of binaries, and the launcher's view of torch."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from pypto.error import BuildError
from pypto.ir.dtype import DataType
from pypto.runtime import cpu
from pypto.runtime.torch_bridge import DLPACK_DTYPES, connect, torch_dtype


def test_load(built: Path) -> None:
    path = built / "kernels.so"
    first, second = cpu.load(path, "add_kernel"), cpu.load(str(path), "scale_kernel")
    assert first.address != second.address != 0
    runtime = cpu.load_runtime(path)
    assert runtime.address != 0 and runtime.workers == 1


@pytest.mark.parametrize(
    ("name", "symbol", "message"),
    [
        ("kernels.so", "no_kernel", "has no kernel 'no_kernel'"),
        ("missing.so", "add_kernel", "cannot load the binary"),
        ("broken.so", "add_kernel", "cannot load the binary"),
    ],
)
def test_load_refuses(built: Path, name: str, symbol: str, message: str) -> None:
    (built / "broken.so").write_bytes(b"no library")
    with pytest.raises(BuildError, match=message):
        cpu.load(built / name, symbol)


def test_load_runtime_refuses(built: Path) -> None:
    with pytest.raises(BuildError, match=r"has no no_runtime\(\)"):
        cpu.load_runtime(built / "kernels.so", "no_runtime")


def test_relative_paths(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(built)
    assert cpu.load("kernels.so", "add_kernel").address != 0


def test_dlpack_dtypes_are_those_of_torch() -> None:
    for dtype, (code, bits) in DLPACK_DTYPES.items():
        name = torch_dtype(dtype)
        assert name is not None and name.itemsize * 8 == bits
        assert code in (0, 1, 2, 4, 6, 10, 12)
    assert {d for d in DataType if d.torch_name is not None} == set(DLPACK_DTYPES)
    assert torch_dtype(DataType.DT_INT4) is None


class Recorder:
    """Records what a launcher is told."""

    def init(self, *args: Any) -> str:
        self.args = args
        return "recorded"


def test_connect(launcher_module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    assert connect(launcher_module) in ("dlpack", "attributes")
    assert connect(launcher_module, route="attributes") == "attributes"
    with pytest.raises(ValueError, match="route"):
        connect(launcher_module, route="numpy")
    with pytest.raises(TypeError):
        launcher_module.init((3,), None, {}, None, None, None, None)
    with pytest.raises(ValueError, match="PyCapsule"):
        launcher_module.init((torch.Tensor,), 3, {}, None, None, None, None)
    with pytest.raises(TypeError, match="forward_levels"):
        launcher_module.init((torch.Tensor,), None, {}, None, None, None, 3)


@pytest.mark.parametrize("kind", ["direct", "public", "single"])
def test_version_increments(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """All generations of torch's function for the version counter."""
    direct = torch._C._increment_version

    def single(tensor: torch.Tensor) -> None:
        if not isinstance(tensor, torch.Tensor):
            raise TypeError("a tensor expected")
        direct((tensor,))

    if kind != "direct":
        monkeypatch.delattr(torch._C, "_increment_version")
        public = single if kind == "single" else direct
        monkeypatch.setattr(torch.autograd.graph, "increment_version", public)
    recorder = Recorder()
    with torch.device("meta"):  # what the user has chosen for new tensors
        assert connect(recorder) == "recorded"
    increment = recorder.args[4]
    x, y = torch.zeros(1), torch.zeros(1)
    increment((x, y))
    increment((x,))
    assert (x._version, y._version) == (2, 1)
    with torch.inference_mode():
        made = torch.zeros(1)
    increment((made,))
