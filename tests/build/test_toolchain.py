"""Finding, telling apart and running the host compiler; binaries and what they depend on."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import pickle
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from pypto.build import isa, steps
from pypto.build.environment import read_environment
from pypto.build.kernel import BINARY, build_kernel, compile_kernel
from pypto.build.memo import Memo
from pypto.build.store import CacheStore
from pypto.build.toolchain import CompilerError, HostToolchain, find_host_toolchain
from pypto.error import BuildError, PyptoGeneralError

from .support import (
    KERNEL,
    TWIN_HEADER,
    WRAPPER,
    CountingCompiler,
    real_compiler,
    texts_of,
    toolchain_for,
    use_sources,
    write_script,
    write_sources,
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


def fake_compiler(path: Path, version: str, extra: str = "exit 0") -> Path:
    return write_script(
        path,
        f'case "$*" in\n*--version*) printf %s "{version}";;\n'
        "*-dumpmachine*) echo x86_64-linux-gnu;;\n"
        f"*-print-file-name*) echo libmvec.so;;\n*) {extra};;\nesac\n",
    )


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


def test_flags_keep_special_values_right(toolchain: HostToolchain) -> None:
    words = " ".join((*toolchain.flags, *toolchain.libraries))
    assert "native" not in words and "fast-math" not in words and "unsafe" not in words
    assert "-ffp-contract=off" in words


def run_kernel(path: str, name: str) -> tuple[list[float], int, str]:
    library = ctypes.CDLL(path)
    values = (ctypes.c_float * 5)(1, 2, 3, 4, 5)
    where = getattr(library, f"{name}_where")
    where.restype = ctypes.c_char_p
    counting = getattr(library, f"{name}_run")(values, ctypes.c_int64(5))
    return list(values), counting, where().decode()


@pytest.mark.parametrize("kind", ["fast", "counting"])
def test_a_kernel_runs(
    sources: Path, store: CacheStore, toolchain: HostToolchain, kind: str
) -> None:
    made = []

    def make() -> tuple[object, dict[str, object]]:
        made.append(kind)
        return texts_of("twice"), {"symbol": "twice_run"}

    entry = build_kernel(store, toolchain, KEY, "twice", make, kind)  # type: ignore[arg-type]
    again = build_kernel(store, toolchain, KEY, "twice", make, kind)  # type: ignore[arg-type]
    assert again == entry and len(made) == 1
    assert set(entry.files) == {"twice.cpp", "wrapper.cpp", BINARY}
    assert entry.data == {"symbol": "twice_run", "warnings": ""}
    values, counting, where = run_kernel(entry.path(BINARY), "twice")
    assert values == [2, 4, 6, 8, 10]
    assert counting == int(kind == "counting")
    assert where == "twin/kernel_operator.h"


def test_the_precompiled_header_is_used(
    sources: Path, store: CacheStore, toolchain: HostToolchain, tmp_path: Path
) -> None:
    if toolchain.kind != "gcc":
        pytest.skip("-H is a flag of GCC")
    shown = replace(toolchain, flags=(*toolchain.flags, "-H", "-Winvalid-pch"))
    texts = texts_of("twice")
    steps.precompiled_header(store, shown)
    printed = compile_kernel(store, shown, str(tmp_path), texts.sources, texts.wrapper)
    assert "! ./tools/prelude.h.gch" in printed or "! tools/prelude.h.gch" in printed
    assert "warning" not in printed


def test_binaries_are_equal_across_directories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    binaries = set()
    for name in ("short", "a much longer name, with ünicode = and spaces " + "x" * 100):
        root = tmp_path / name
        use_sources(write_sources(root / "package"), monkeypatch)
        store = CacheStore(str(root / "cache"))
        toolchain = toolchain_for(store, real_compiler())
        entry = build_kernel(store, toolchain, KEY, "k", lambda: (texts_of("k"), {}))
        tools = steps.prepare(store, toolchain)
        assert tools.launcher is not None
        paths = (entry.path(BINARY), tools.runtime_library, tools.launcher)
        contents = tuple(Path(path).read_bytes() for path in paths)
        assert all(str(tmp_path).encode() not in content for content in contents)
        binaries.add(contents)
        assert run_kernel(entry.path(BINARY), "k")[0] == [2, 4, 6, 8, 10]
    assert len(binaries) == 1


def test_shared_tools_are_made_once(
    sources: Path, store: CacheStore, compiler: CountingCompiler
) -> None:
    toolchain = compiler.toolchain(store)
    first = steps.prepare(store, toolchain, ("fast", "counting"))
    assert compiler.count("-o") == 7  # twins: two headers, two objects; library: 2; launcher
    assert compiler.count("c++-header") == 2
    assert compiler.count("support.cpp") == 2
    again = steps.prepare(CacheStore(store.wanted), toolchain, ("fast", "counting"))
    assert again == first
    assert compiler.count("-o") == 7
    assert ctypes.CDLL(first.runtime_library).pypto_runtime() == 42
    assert first.launcher is not None
    spec = importlib.util.spec_from_file_location("_pypto_launcher", first.launcher)
    assert spec is not None and spec.loader is not None
    assert importlib.util.module_from_spec(spec).__name__ == "_pypto_launcher"


def test_clang_reads_the_text(sources: Path, store: CacheStore, tmp_path: Path) -> None:
    """The commands for clang, run by whatever compiler there is."""
    script = write_script(
        tmp_path / "clang++",
        f'case "$*" in *--version*) echo "clang version 18.1.8";; *) exec {real_compiler()} "$@";; '
        "esac\n",
    )
    toolchain = toolchain_for(store, str(script))
    assert toolchain.kind == "clang"
    assert os.listdir(steps.precompiled_header(store, toolchain)).count("prelude.h") == 1
    entry = build_kernel(store, toolchain, KEY, "k", lambda: (texts_of("k"), {}))
    assert run_kernel(entry.path(BINARY), "k")[0] == [2, 4, 6, 8, 10]


def test_a_changed_twin_is_compiled_again(
    sources: Path, store: CacheStore, compiler: CountingCompiler
) -> None:
    toolchain = compiler.toolchain(store)
    before = steps.twin_digest(store.memo)
    steps.precompiled_header(store, toolchain)
    steps.runtime_library(store, toolchain)
    header = sources / "twin" / "include" / "kernel_operator.h"
    header.write_text(TWIN_HEADER + "// changed\n")
    assert steps.twin_digest(store.memo) != before
    steps.precompiled_header(store, toolchain)
    steps.runtime_library(store, toolchain)
    assert compiler.count("-x c++-header") == 2
    assert compiler.count("runtime/library/one.cpp") == 1


def test_a_damaged_precompiled_header_is_made_again(
    sources: Path, store: CacheStore, compiler: CountingCompiler, tmp_path: Path
) -> None:
    """Damage that neither size nor times show: the compiler stumbles over it, and we repair."""
    toolchain = compiler.toolchain(store)
    (header,) = (
        path
        for path in Path(steps.precompiled_header(store, toolchain)).iterdir()
        if path.suffix in (".gch", ".pch")
    )
    old = (1_600_000_000, 1_600_000_000)
    os.utime(header, old)
    steps.precompiled_header(store, toolchain)  # its state is in the memo now
    content = bytearray(header.read_bytes())
    content[len(content) // 8 :] = os.urandom(len(content) - len(content) // 8)
    header.write_bytes(content)
    os.utime(header, old)
    entry = build_kernel(store, toolchain, KEY, "k", lambda: (texts_of("k"), {}))
    assert run_kernel(entry.path(BINARY), "k")[0] == [2, 4, 6, 8, 10]
    assert compiler.count("-x c++-header") == 2


def failing(store: CacheStore, toolchain: HostToolchain) -> CompilerError:
    texts = replace(texts_of("k"), wrapper='#include "k.cpp"\nint x = undeclared;\n')
    with pytest.raises(CompilerError) as caught:
        build_kernel(store, toolchain, KEY, "k", lambda: (texts, {}))
    return caught.value


def test_a_kernel_that_does_not_compile(
    sources: Path, store: CacheStore, toolchain: HostToolchain
) -> None:
    error = failing(store, toolchain)
    text = str(error)
    assert text.startswith("ErrCode: F63001  The C++ compiler failed on kernel `k`: exit status 1")
    assert "| wrapper.cpp:2:9: error:" in text
    assert f"command   {toolchain.command[0]} -std=c++17" in text
    assert "wrapper.cpp:2:9: error:" in error.output
    assert f"source    {error.source}" in text
    assert error.source.startswith(str(store.wanted))
    assert sorted(os.listdir(error.source)) == ["k.cpp", "wrapper.cpp"]
    assert store.load(KEY) is None
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.source, copy.output) == (text, error.source, error.output)
    entry = build_kernel(store, toolchain, KEY, "k", lambda: (texts_of("k"), {}))
    assert entry.name == "k"


@pytest.mark.parametrize(
    ("extra", "missing"),
    [
        ("exit 0", "the twin (fast build): exit status 0, but it wrote no support.o"),
        (
            'case "$*" in *.gch) : > prelude.h.gch;; *support.o) : > support.o;; esac',
            "kernel `k`: exit status 0, but it wrote no kernel.so",
        ),
    ],
)
def test_a_compiler_that_writes_nothing(
    sources: Path, store: CacheStore, tmp_path: Path, extra: str, missing: str
) -> None:
    script = fake_compiler(tmp_path / "cxx", GNU_VERSION, extra)
    error = failing(store, toolchain_for(store, str(script)))
    assert str(error).splitlines()[0] == f"ErrCode: F63001  The C++ compiler failed on {missing}"
    assert "| (it printed nothing)" in str(error)


def test_an_undefined_symbol_is_found_at_build_time(
    sources: Path, store: CacheStore, toolchain: HostToolchain
) -> None:
    shown = 'extern "C" __attribute__((visibility("default")))'
    wrapper = f'extern "C" int nowhere();\n{shown} int run() {{ return nowhere(); }}\n'
    with pytest.raises(CompilerError, match="nowhere"):
        build_kernel(
            store, toolchain, KEY, "k", lambda: (replace(texts_of("k"), wrapper=wrapper), {})
        )


def test_failed_sources_do_not_pile_up(sources: Path, store: CacheStore, tmp_path: Path) -> None:
    script = fake_compiler(
        tmp_path / "cxx",
        GNU_VERSION,
        'case "$*" in *.gch) : > prelude.h.gch;; *support.o) : > support.o;; *) exit 1;; esac',
    )
    toolchain = toolchain_for(store, str(script))
    kept = {failing(store, toolchain).source for _ in range(20)}
    assert len(kept) == 20
    assert len(os.listdir(Path(store.wanted or "", "failed"))) == 16


def test_a_compiler_that_prints_ten_megabytes(
    sources: Path, store: CacheStore, tmp_path: Path
) -> None:
    flood = "yes 'error: too much' | head -c 10000000 >&2; exit 1"
    script = fake_compiler(tmp_path / "cxx", GNU_VERSION, flood)
    error = failing(store, toolchain_for(store, str(script)))
    assert len(str(error)) < 6000
    assert len(error.output) <= 65536
    assert "more bytes" in str(error)


def test_a_compiler_that_hangs_is_killed_with_its_children(
    sources: Path, store: CacheStore, tmp_path: Path
) -> None:
    alive = tmp_path / "alive"
    script = fake_compiler(tmp_path / "cxx", GNU_VERSION, f"(sleep 2; touch {alive}) & sleep 30")
    error = failing(store, toolchain_for(store, str(script), timeout=0.3))
    assert "stopped after 0.3 seconds (PYPTO_COMPILE_TIMEOUT sets the limit)" in str(error)
    time.sleep(2.2)
    assert not alive.exists()


def test_a_compiler_that_leaves_a_child_behind_does_not_block(
    sources: Path, store: CacheStore, tmp_path: Path
) -> None:
    script = fake_compiler(tmp_path / "cxx", GNU_VERSION, "sleep 20 & echo failed; exit 1")
    error = failing(store, toolchain_for(store, str(script)))
    assert error.output == "failed\n"


def test_foreign_include_paths_do_not_enter(
    sources: Path,
    store: CacheStore,
    toolchain: HostToolchain,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "stdint.h").write_text("#error foreign header\n")
    monkeypatch.setenv("CPATH", str(foreign))
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert build_kernel(store, toolchain, KEY, "k", lambda: (texts_of("k"), {})).name == "k"


def test_missing_python_header(
    sources: Path,
    store: CacheStore,
    toolchain: HostToolchain,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nowhere = {"include": str(tmp_path), "platinclude": str(tmp_path)}
    monkeypatch.setattr("sysconfig.get_paths", lambda: nowhere)
    with pytest.raises(BuildError, match=r"Python\.h is missing[\s\S]*apt install python3"):
        steps.launcher_module(store, toolchain)


@pytest.mark.parametrize("part", ["twin/include", "runtime/library", "runtime/launcher.c"])
def test_an_incomplete_installation_is_named(
    sources: Path, store: CacheStore, toolchain: HostToolchain, part: str
) -> None:
    path = sources / part
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(BuildError, match=f"This installation of pypto lacks {part}"):
        steps.prepare(store, toolchain)


@pytest.mark.parametrize("name", ["../k.cpp", "/tmp/k.cpp", "", "..", "twin", BINARY])
def test_a_text_cannot_be_written_elsewhere(
    store: CacheStore, toolchain: HostToolchain, tmp_path: Path, name: str
) -> None:
    with pytest.raises(ValueError, match="not a file name"):
        compile_kernel(store, toolchain, str(tmp_path), {name: KERNEL}, WRAPPER)


@pytest.mark.parametrize("define", ["PYPTO_TWIN_LINKED", "PYPTO_TWIN_SUPPORT", "PYPTO_TWIN_COUNT"])
def test_headers_compile_without_warnings(tmp_path: Path, define: str) -> None:
    """CXX may hold -Werror and all the warnings that there are."""
    source = tmp_path / "all.cpp"
    source.write_text('#include "kernel_operator.h"\n#include "pypto_launch.h"\n')
    strict = ["-std=c++17", "-fopenmp-simd", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    done = subprocess.run(
        [real_compiler(), *strict, f"-D{define}", f"-I{steps.TWIN}", str(source)],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
