"""Public names: lazy, complete, the same after every submodule was imported."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import pypto
from pypto.language.contract import FUNCTIONS, OPERATIONS
from pypto.ops.registry import operations

HEAVY = ("libcst", "jinja2", "numpy", "torch")


def _run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_loads_nothing() -> None:
    loaded = _run(
        "import sys; before = set(sys.modules); import pypto;"
        "print(*sorted(m for m in set(sys.modules) - before if m != '__future__'))"
    )
    assert loaded == "pypto"


def test_the_language_loads_nothing_heavy() -> None:
    code = (
        "import sys, pypto, pypto.frontend\n"
        "dir(pypto); pypto.Tensor[[4], pypto.DT_FP16]; pypto.set_host_options(compile_stage=1)\n"
        "pypto.loop; pypto.DYNAMIC; pypto.frontend.dynamic('n')\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules],"
        "pypto.target._table.cache_info().currsize)"
    )
    assert _run(code) == "[] 0", "no heavy module, no instruction table"


def test_names_after_importing_every_submodule() -> None:
    code = """
import importlib, pkgutil
import pypto
names = [n for n in dir(pypto) if not n.startswith("_")]
before = {n: getattr(pypto, n) for n in names}
for module in pkgutil.walk_packages(pypto.__path__, "pypto."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
for name, value in before.items():
    assert getattr(pypto, name) is value, name
public = {}
exec("from pypto import *", public)
assert {n for n in public if not n.startswith("__")} == set(names), set(names) ^ set(public)
from pypto import add, DT_FP32, jit
import pypto.frontend
assert pypto.frontend.jit is jit
assert set(pypto.frontend.__all__) <= set(dir(pypto.frontend))
print(len(names))
"""
    assert int(_run(code)) > 100


def test_rooms_are_known_and_carry_no_public_name() -> None:
    rooms = {m.name for m in pkgutil.iter_modules(pypto.__path__)}
    shared = {"distributed", "error", "experimental", "frontend"}  # public modules
    assert {r for r in rooms if not r.startswith("_")} <= pypto._ROOMS
    assert rooms & set(dir(pypto)) == shared & rooms


def test_unknown_names() -> None:
    for name in ("nothing", "_private", "codegen_"):
        assert not hasattr(pypto, name)
    with pytest.raises(AttributeError, match=r"^module 'pypto' has no attribute 'nothing'$"):
        _ = pypto.nothing


def test_names_of_the_contract_that_are_missing_say_so() -> None:
    missing = sorted((OPERATIONS | FUNCTIONS) - set(dir(pypto)))
    for name in missing:
        with pytest.raises(AttributeError, match=f"pypto.{name} is not implemented yet"):
            getattr(pypto, name)
    assert not set(missing) & set(operations())


def test_names_for_type_checkers_are_those_at_run_time() -> None:
    text = Path(pypto.__file__).read_text(encoding="utf-8")
    block = text.split("\nif TYPE_CHECKING:\n")[1].split("\ndef ")[0]
    declared = {line.rpartition(" as ")[2] for line in block.splitlines() if " as " in line}
    declared |= {line.split(" = ")[0].strip() for line in block.splitlines() if " = " in line}
    assert declared == {*pypto._MODULES, *pypto._MEMBERS}


def _mypy(directory: Path, text: str) -> list[str]:
    """What ``mypy --strict`` says about a user's file with ``text``."""
    user = directory / "user.py"
    user.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary",
               "--cache-dir", str(directory / "cache"), str(user)]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=directory,
        env={"MYPYPATH": str(Path(pypto.__file__).parents[1]), "PATH": ""},
    )  # fmt: skip
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if line.startswith("user.py")]


def test_a_user_file_type_checks(tmp_path: Path) -> None:
    found = _mypy(
        tmp_path,
        "import pypto\n"
        "from pypto import DT_FP16, DataType, RunMode, Tensor\n"
        "dtype: DataType = pypto.DT_FP32 if DT_FP16 else pypto.DT_BF16\n"
        "Mat = Tensor([4, pypto.DYNAMIC], dtype)\n"
        "def scale(x: Tensor, out: pypto.Tensor, alpha: float) -> None:\n"
        "    pypto.set_vec_tile_shapes(1, 64)\n"
        "    rows: int = x.shape[0]\n"
        "    out[:] = pypto.exp(x * alpha + rows).sum(-1)\n"
        "pypto.set_runtime_options(run_mode=RunMode.SIM)\n"
        "with pypto.options(vec_tile_shapes=[8, 64]):\n"
        "    stage: str = pypto.set_host_options.__name__\n"
        "pypto.set_host_options(compile_stage='all')\n",
    )
    assert len(found) == 1, found
    assert found[0].startswith('user.py:12: error: Argument "compile_stage"')


def test_decorated_kernels_type_check(tmp_path: Path) -> None:
    found = _mypy(
        tmp_path,
        "import pypto\n"
        "from pypto import RunMode, Tensor\n"
        "@pypto.frontend.jit\n"
        "def copy(x: Tensor, out: Tensor) -> None:\n"
        "    out[:] = x\n"
        "@pypto.jit(runtime_options={'run_mode': RunMode.SIM})\n"
        "def twice(x: Tensor, out: Tensor, n: int = 2) -> None:\n"
        "    out[:] = x * n\n"
        "memory: object = bytearray(4)\n"
        "copy(memory, memory)\n"
        "twice(memory, memory, n=3)\n",
    )
    assert found == []
