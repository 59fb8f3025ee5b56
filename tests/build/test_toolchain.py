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

from pypto.build import steps
from pypto.build.kernel import BINARY, build_kernel, compile_kernel
from pypto.build.store import CacheStore
from pypto.build.toolchain import CompilerError, HostToolchain
from pypto.error import BuildError

from .support import (
    KERNEL,
    TWIN_HEADER,
    WRAPPER,
    CountingCompiler,
    fake_compiler,
    real_compiler,
    texts_of,
    toolchain_for,
    use_sources,
    write_script,
    write_sources,
)

KEY = "c" * 64

GNU_VERSION = "g++ (Debian 12.2.0-14) 12.2.0\nCopyright (C) 2022 Free Software Foundation, Inc.\n"


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
    assert str(error).endswith(
        "help: give it more time: set PYPTO_COMPILE_TIMEOUT to a larger number of seconds."
    )
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
