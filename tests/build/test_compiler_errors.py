"""Compilers that say little, and values of CXX that need another form."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from pypto.build.environment import read_environment
from pypto.build.memo import Memo
from pypto.build.toolchain import HostToolchain, find_host_toolchain
from pypto.error import BuildError

from .support import real_compiler, write_script

INSTALL = (
    "install a C++17 compiler (Debian, Ubuntu: `apt install g++`; Fedora, openEuler: "
    "`dnf install gcc-c++`), or set CXX to one."
)


def find(environ: dict[str, str]) -> HostToolchain:
    return find_host_toolchain(Memo(None), read_environment(environ))


def test_a_compiler_that_prints_nothing(tmp_path: Path) -> None:
    script = write_script(tmp_path / "cxx", "echo 'no licence' >&2\n")
    for cxx, command, shown in (
        (f"{script} -x", f"{script} -x --version", "| no licence"),
        ("/bin/sh -c true", "/bin/sh -c true --version", "| (it printed nothing)"),
    ):
        with pytest.raises(BuildError) as caught:
            find({"PATH": "", "CXX": cxx})
        assert str(caught.value) == (
            f"ErrCode: F63001  The C++ compiler {command.split()[0]} does not work: "
            "its version cannot be read\n"
            f"  command   {command}\n"
            f"  {shown}\n"
            f"  help: {INSTALL}"
        )


def test_noise_on_standard_error_does_not_matter(tmp_path: Path) -> None:
    """The dynamic loader warns there, for one, where LD_PRELOAD names no library."""
    quiet = write_script(tmp_path / "quiet", f'exec {real_compiler()} "$@"\n')
    noisy = write_script(
        tmp_path / "noisy", f'echo "ld.so: 1.2.3 ignored" >&2\nexec {real_compiler()} "$@"\n'
    )
    found = [find({"PATH": os.environ["PATH"], "CXX": str(one)}) for one in (quiet, noisy)]
    assert found[0].identity == found[1].identity
    assert "ld.so" not in found[1].version


def test_a_path_with_blanks_is_to_be_quoted(tmp_path: Path) -> None:
    place = tmp_path / "a place"
    place.mkdir()
    script = write_script(place / "g++", f'exec {real_compiler()} "$@"\n')
    for arguments in ("", " -O1"):
        with pytest.raises(BuildError) as caught:
            find({"PATH": "/nowhere", "CXX": f"{script}{arguments}"})
        advice = shlex.quote(f"'{script}'{arguments}")
        assert str(caught.value) == (
            "ErrCode: F63001  No C++ compiler found; kernels need one to run on the CPU\n"
            "  expected  the compiler that CXX names, else c++, g++ or clang++ on PATH\n"
            f"  got       CXX='{script}{arguments}'\n"
            f"  tried     {tmp_path}/a: no executable file\n"
            "  PATH      /nowhere\n"
            f"  help: CXX is split at blanks: quote the path in it: CXX={advice}"
        )
        assert find({"PATH": os.environ["PATH"], "CXX": f"'{script}'{arguments}"})


def test_a_quotation_that_does_not_end() -> None:
    with pytest.raises(BuildError) as caught:
        find({"PATH": "/nowhere", "CXX": "'g++"})
    assert caught.value.__suppress_context__ and caught.value.__cause__ is None
    assert str(caught.value).endswith("\n  help: close the quotation in CXX.")
