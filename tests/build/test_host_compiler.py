"""Finding the host compiler, telling one from another."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from pypto.build import isa
from pypto.build.environment import read_environment
from pypto.build.memo import Memo
from pypto.build.store import CacheStore
from pypto.build.toolchain import HostToolchain, find_host_toolchain
from pypto.error import BuildError, PyptoGeneralError

from .support import (
    CountingCompiler,
    fake_compiler,
    toolchain_for,
    write_script,
)

KEY = "c" * 64

GNU_VERSION = "g++ (Debian 12.2.0-14) 12.2.0\nCopyright (C) 2022 Free Software Foundation, Inc.\n"


def find(environ: dict[str, str]) -> HostToolchain:
    return find_host_toolchain(Memo(None), read_environment(environ))


def test_no_compiler(tmp_path: Path) -> None:
    with pytest.raises(BuildError) as caught:
        find({"PATH": str(tmp_path)})
    assert str(caught.value) == (
        "ErrCode: F63001  No C++ compiler found; kernels need one to run on the CPU\n"
        "  expected  the compiler that CXX names, else c++, g++ or clang++ on PATH\n"
        "  got       CXX is not set\n"
        "  tried     c++: not on PATH\n"
        "  tried     g++: not on PATH\n"
        "  tried     clang++: not on PATH\n"
        f"  PATH      {tmp_path}\n"
        "  help: install a C++17 compiler (Debian, Ubuntu: `apt install g++`; Fedora, openEuler: "
        "`dnf install gcc-c++`), or set CXX to one."
    )


@pytest.mark.parametrize(
    ("cxx", "tried"),
    [
        ("no-such-compiler -O2", "no-such-compiler: not on PATH"),
        ("/no/such/compiler", "/no/such/compiler: no executable file"),
        ("'g++", "CXX cannot be split into words: No closing quotation"),
        ("/tmp", "/tmp: no executable file"),
    ],
)
def test_cxx_that_names_nothing(cxx: str, tried: str) -> None:
    with pytest.raises(BuildError) as caught:
        find({"PATH": os.environ["PATH"], "CXX": cxx})
    assert f"  tried     {tried}\n" in str(caught.value)
    assert "got       CXX=" in str(caught.value)


@pytest.mark.parametrize("flag", ["-ffast-math", "-Ofast", "-ffinite-math-only"])
def test_fast_math_is_refused(flag: str) -> None:
    """Even at link time it would flush small numbers to zero in the whole process."""
    with pytest.raises(BuildError, match=f"CXX holds {flag}, which would change NaN"):
        find({"PATH": os.environ["PATH"], "CXX": f"g++ {flag}"})


def test_cxx_comes_before_path_and_may_hold_arguments(tmp_path: Path) -> None:
    fake_compiler(tmp_path / "c++", GNU_VERSION)
    mine = fake_compiler(tmp_path / "my compiler", GNU_VERSION.replace("12.2.0", "13.1.0"))
    on_path = find({"PATH": str(tmp_path)})
    chosen = find({"PATH": str(tmp_path), "CXX": f"'{mine}' -m64 --sysroot='/a b'"})
    assert on_path.command == (str(tmp_path / "c++"),)
    assert chosen.command == (str(mine), "-m64", "--sysroot=/a b")
    assert (on_path.major, chosen.major) == (12, 13)
    assert on_path.identity != chosen.identity


@pytest.mark.parametrize(
    ("version", "kind", "major"),
    [
        (GNU_VERSION, "gcc", 12),
        ("c++ (GCC) 9.3.1 20200408 (Red Hat 9.3.1-2)\n", "gcc", 9),
        ("g++-14 (Ubuntu 14.2.0-4ubuntu2) 14.2.0\n", "gcc", 14),
        ("Debian clang version 16.0.6 (15~deb12u1)\nTarget: x86_64\n", "clang", 16),
        ("clang version 18.1.8\nInstalledDir: /usr/bin\n", "clang", 18),
        ("Apple clang version 15.0.0 (clang-1500.3.9.4)\n", "clang", 15),
    ],
)
def test_kind_and_version(tmp_path: Path, version: str, kind: str, major: int) -> None:
    found = find({"PATH": "", "CXX": str(fake_compiler(tmp_path / "cxx", version))})
    assert (found.kind, found.major) == (kind, major)


def test_identity_does_not_depend_on_the_place(tmp_path: Path) -> None:
    clang = "clang version 18.1.8\nInstalledDir: DIR\n"
    found = set()
    for number in (1, 2):
        directory = tmp_path / str(number)
        directory.mkdir()
        gnu = fake_compiler(
            directory / f"g++-{number}", GNU_VERSION.replace("g++", f"g++-{number}")
        )
        found.add(find({"PATH": "", "CXX": str(gnu)}).identity)
        llvm = fake_compiler(directory / "clang++", clang.replace("DIR", str(directory)))
        found.add(find({"PATH": "", "CXX": str(llvm)}).identity)
    assert len(found) == 2


def test_identity_depends_on_version_and_arguments(tmp_path: Path) -> None:
    script = fake_compiler(tmp_path / "g++", GNU_VERSION)
    cxx = {"PATH": "", "CXX": str(script)}
    found = {find(cxx).identity, find({**cxx, "CXX": f"{script} -m64"}).identity}
    fake_compiler(script, GNU_VERSION.replace("12.2.0", "12.3.0"))
    os.utime(script)
    found.add(find(cxx).identity)  # the compiler was replaced between two calls
    assert len(found) == 3


def test_a_compiler_behind_a_launcher_is_looked_at(tmp_path: Path, store: CacheStore) -> None:
    behind = fake_compiler(tmp_path / "g++", GNU_VERSION)
    launcher = write_script(tmp_path / "ccache", 'exec "$@"\n')
    cxx = f"{launcher} {behind}"
    before = toolchain_for(store, cxx)
    assert before.command == (str(launcher), str(behind))
    fake_compiler(behind, GNU_VERSION.replace("12.2.0", "12.10.0"))
    assert toolchain_for(CacheStore(store.wanted), cxx).identity != before.identity


def test_a_warm_process_does_not_start_the_compiler(
    compiler: CountingCompiler, store: CacheStore
) -> None:
    first = compiler.toolchain(store)
    assert compiler.count() == 3
    again = toolchain_for(CacheStore(store.wanted), str(compiler.path), 121.0)
    assert compiler.count() == 3
    assert replace(again, timeout=first.timeout) == first


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("echo broken >&2; exit 3", "exit status 3"),
        ("kill -SEGV $$", "killed by signal 11"),
        ("echo hello", "its version cannot be read"),
        ("true", "its version cannot be read"),
        ("echo", "its version cannot be read"),
        ("sleep 30", "stopped after 0.2 seconds"),
    ],
)
def test_a_compiler_that_does_not_work(tmp_path: Path, body: str, reason: str) -> None:
    script = write_script(tmp_path / "cxx", body + "\n")
    with pytest.raises(BuildError) as caught:
        find({"PATH": os.environ["PATH"], "CXX": str(script), "PYPTO_COMPILE_TIMEOUT": "0.2"})
    assert f"The C++ compiler {script} does not work: {reason}" in str(caught.value)


@pytest.mark.parametrize("text", ["x", "-1", "0", "nan", "inf"])
def test_a_bad_timeout_is_refused(text: str) -> None:
    with pytest.raises(PyptoGeneralError, match="PYPTO_COMPILE_TIMEOUT must be a positive number"):
        read_environment({"PYPTO_COMPILE_TIMEOUT": text})


def test_instruction_sets_by_name() -> None:
    v3 = "flags : " + " ".join(sorted(isa._X86_V3))
    assert isa.isa_from_cpuinfo("x86_64", v3) == "x86-64-v3"
    assert isa.isa_from_cpuinfo("x86_64", v3.replace(" fma", "")) == "x86-64-v2"
    assert isa.isa_from_cpuinfo("x86_64", v3 + " avx512f") == "x86-64-v3"
    assert isa.isa_from_cpuinfo("x86_64", "flags : " + " ".join(isa._X86_V4)) == "x86-64-v4"
    assert isa.isa_from_cpuinfo("x86_64", "") == "x86-64"
    neoverse = "Features : fp asimd atomics fphp asimdhp asimdrdm sve"
    assert isa.isa_from_cpuinfo("aarch64", neoverse) == "armv8.2-a+fp16"
    assert isa.isa_from_cpuinfo("aarch64", neoverse + " bf16") == "armv8.2-a+fp16+bf16"
    assert isa.isa_from_cpuinfo("aarch64", "Features : fp asimd") == "armv8-a"
    assert isa.isa_from_cpuinfo("riscv64", "") == ""
    assert isa.march_flags("x86-64-v3", "gcc", 11) == ("-march=x86-64-v3",)
    assert "-mavx2" in isa.march_flags("x86-64-v3", "gcc", 10)
