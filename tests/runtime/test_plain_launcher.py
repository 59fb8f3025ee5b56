"""When the launcher in plain Python is used; what it shares with the compiled one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from types import ModuleType

import pytest

from pypto.build.steps import RUNTIME
from pypto.error import FeValueError
from pypto.runtime import plain_launcher
from pypto.runtime.tools import plain_launcher_wanted

PROGRAM = """
import sysconfig, warnings, torch
if {hidden}:
    real = sysconfig.get_paths
    nowhere = {{"include": "/nowhere", "platinclude": "/nowhere"}}
    sysconfig.get_paths = lambda *args: {{**real(*args), **nowhere}}
import pypto

@pypto.frontend.jit
def kernel(x: pypto.Tensor(), out: pypto.Tensor(), n: int):
    pypto.set_vec_tile_shapes(64)
    out[:] = x + n

x, out = torch.arange(64.0), torch.zeros(64)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for n in range(3):
        kernel(x, out, n)
        assert out.tolist() == [i + n for i in range(64)]
print([w.category.__name__ for w in caught], "python3-dev" in str([w.message for w in caught]))
print(type(kernel._target).__module__, kernel._target.fallbacks, out._version)
try:
    kernel(x)
except pypto.PyptoError as error:
    frames, traceback = 0, error.__traceback__
    while traceback is not None:
        frames, traceback = frames + 1, traceback.tb_next
    print(type(error).__name__, frames)
"""


def run(tmp_path_factory: pytest.TempPathFactory, *, hidden: bool, asked: bool) -> list[str]:
    """Lines that the program prints in a process without a compiled launcher in its cache."""
    root = tmp_path_factory.mktemp("plain")
    script = root / "program.py"
    script.write_text(PROGRAM.format(hidden=hidden))
    environ = {**os.environ, "PYPTO_CACHE_DIR": str(root / "cache")}
    if asked:
        environ["PYPTO_LAUNCHER"] = "python"
    done = subprocess.run(
        [sys.executable, str(script)], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not list((root / "cache").rglob("_pypto_launcher*"))
    return done.stdout.splitlines()


def test_without_headers_with_a_warning(tmp_path_factory: pytest.TempPathFactory) -> None:
    assert run(tmp_path_factory, hidden=True, asked=False) == [
        "['PyptoWarning'] True",
        "pypto.runtime.plain_launcher 0 3",
        "RtTypeError 2",
    ]


def test_asked_for_without_a_warning(tmp_path_factory: pytest.TempPathFactory) -> None:
    lines = run(tmp_path_factory, hidden=False, asked=True)
    assert lines[:2] == ["[] False", "pypto.runtime.plain_launcher 0 3"]


def test_words_of_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, wanted in (("", False), ("c", False), ("python", True)):
        monkeypatch.setenv("PYPTO_LAUNCHER", text)
        assert plain_launcher_wanted() is wanted
    monkeypatch.setenv("PYPTO_LAUNCHER", "rust")
    with pytest.raises(FeValueError, match="PYPTO_LAUNCHER must be c or python, got 'rust'"):
        plain_launcher_wanted()


def test_numbers_of_the_compiled_launcher(launcher_module: ModuleType) -> None:
    for name in ("ABI_VERSION", "RELEASE_GIL_ABOVE", "MAX_RANK", "MAX_VARIANTS"):
        assert getattr(plain_launcher, name) == getattr(launcher_module, name), name
    with open(os.path.join(RUNTIME, "pypto_abi.h"), encoding="ascii") as header:
        version = re.search(r"#define PYPTO_ABI_VERSION (\d+)u", header.read())
    assert version is not None and int(version[1]) == plain_launcher.ABI_VERSION
