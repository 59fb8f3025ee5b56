"""Compile Ascend C texts against the CPU twin and run them on the real CPU runtime library.

A test hands over one text with several kernels (``extern "C" __global__ ... void name(args)``) and
gets callables back. Arguments are passed as the kernel declares them: NumPy arrays and torch
tensors for ``GM_ADDR``, ctypes values for scalars and structures. The flags are those of the
product; all texts of a test run share one precompiled header and one object file of the twin per
kind of build, as kernels do. Build ``alone`` is the twin as headers and nothing else.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from filelock import FileLock

from pypto.target import get

Build = Literal["fast", "count", "checked", "shuffled", "naive", "assumed", "alone"]

PACKAGE: Final = Path(__file__).resolve().parents[2] / "src" / "pypto"
INCLUDE: Final = PACKAGE / "twin" / "include"
RUNTIME: Final = PACKAGE / "runtime"
COMPILER: Final = os.environ.get("CXX") or shutil.which("g++") or "c++"
FLAGS: Final = (
    "-std=c++17",
    "-O3",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
    "-fopenmp-simd",
    "-march=x86-64-v3",
    "-fPIC",
    "-fvisibility=hidden",
    "-ffunction-sections",
)

_KINDS: Final = {
    "count": ("-DPYPTO_TWIN_COUNT",),
    "checked": ("-DPYPTO_TWIN_CHECKED", "-O1", "-g1", "-fno-omit-frame-pointer"),
    "shuffled": ("-DPYPTO_TWIN_SHUFFLED", "-O1", "-g1", "-fno-omit-frame-pointer"),
    "naive": ("-DPYPTO_TWIN_NAIVE", "-O1"),
    # Every rule that the device does not state, taken the other way.
    "assumed": tuple(f"-DPYPTO_ASSUME_{name.upper()}=1" for name in get().assumptions),
}

VECTOR, CUBE, MIX_0_1, MIX_1_0, MIX_1_1, MIX_1_2 = range(6)
STREAM_STORES: Final = 1
COUNTERS: Final = 16
GM_TO_UB, UB_TO_GM, VECTOR_COUNT, COPY_COUNT, BARRIER_COUNT, SYNC_ALL_COUNT, UB_PEAK = range(7)

# Turns an array of pointers to argument values into a call of the kernel.
_ENTRY = """
namespace pypto_harness {
template <unsigned... index> struct Sequence {};
template <unsigned n, unsigned... index> struct Make : Make<n - 1, n - 1, index...> {};
template <unsigned... index> struct Make<0, index...> { using type = Sequence<index...>; };

struct Frame { const void* const* arguments; };
struct Memory { const char* name; uint8_t** pointer; uint64_t bytes; uint32_t element, workspace; };

template <auto* kernel> struct Entry;
template <typename... A, void (*kernel)(A...)> struct Entry<kernel> {
    template <unsigned... index>
    static void call(const void* const* arguments, Sequence<index...>)
    {
        kernel(*static_cast<const A*>(arguments[index])...);
    }
    static void stream(PyptoCore* core, const void* frame)
    {
        const pypto_twin::State state(core);
        call(static_cast<const Frame*>(frame)->arguments, typename Make<sizeof...(A)>::type{});
    }
};

inline void launch(const PyptoRuntime* runtime, const PyptoLaunch& what, const Memory* memory,
                   uint32_t count)
{
#if defined(PYPTO_TWIN_CHECKED) || defined(PYPTO_TWIN_SHUFFLED)
    pypto_twin::check::Argument arguments[16] = {};
    for (uint32_t i = 0; i < count; ++i) {
        arguments[i].name = memory[i].name;
        arguments[i].pointer = memory[i].pointer;
        arguments[i].bytes = memory[i].bytes;
        arguments[i].element = memory[i].element;
        arguments[i].workspace = memory[i].workspace != 0;
    }
#endif
#if defined(PYPTO_TWIN_CHECKED)
    pypto_twin::check::launch(runtime, &what, arguments, count);
#elif defined(PYPTO_TWIN_SHUFFLED)
    (void)runtime;
    pypto_twin::shuffle::launch(&what, arguments, count);
#else
    (void)memory, (void)count;
    runtime->launch(&what);
#endif
}
}  // namespace pypto_harness
#define PYPTO_HARNESS_ENTRY(name)                                                             \\
    extern "C" __attribute__((visibility("default"))) void name##_launch(                     \\
        const PyptoRuntime* runtime, const void* const* arguments, uint32_t blocks,           \\
        uint32_t kind, uint32_t flags, const pypto_harness::Memory* memory, uint32_t count)   \\
    {                                                                                         \\
        const pypto_harness::Frame frame{arguments};                                          \\
        const auto stream = &pypto_harness::Entry<&::name>::stream;                           \\
        const PyptoLaunch launch{stream, &frame, blocks, kind, flags, nullptr, nullptr};      \\
        pypto_harness::launch(runtime, launch, memory, count);                                \\
    }
"""


class _RuntimeTable(ctypes.Structure):
    _fields_ = (
        ("abi_version", ctypes.c_uint32),
        ("workers", ctypes.c_uint32),
        ("l1_bytes", ctypes.c_uint64),
        ("l2_bytes", ctypes.c_uint64),
        ("llc_bytes", ctypes.c_uint64),
        ("launch", ctypes.c_void_p),
        ("workspace", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint64)),
        ("blocks", ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_double)),
    )


class _Memory(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("pointer", ctypes.c_void_p),
        ("bytes", ctypes.c_uint64),
        ("element", ctypes.c_uint32),
        ("workspace", ctypes.c_uint32),
    )


class Runtime:
    """One loaded copy of the CPU runtime library with its own pool."""

    def __init__(self, path: Path, workers: int) -> None:
        saved = os.environ.get("PYPTO_NUM_THREADS")
        os.environ["PYPTO_NUM_THREADS"] = str(workers)
        try:
            self.library = ctypes.CDLL(str(path))
            self.library.pypto_runtime.restype = ctypes.POINTER(_RuntimeTable)
            self.table = self.library.pypto_runtime()
        finally:
            if saved is None:
                del os.environ["PYPTO_NUM_THREADS"]
            else:
                os.environ["PYPTO_NUM_THREADS"] = saved
        assert self.table.contents.workers == workers

    def counters(self, *, reset: bool = True) -> list[int]:
        """Counters of all launches since the last reset, by ``PyptoCounter``."""
        out = (ctypes.c_uint64 * COUNTERS)()
        self.library.pypto_runtime_counters(out, ctypes.c_int32(int(reset)))
        return list(out)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A compiled kernel; calling it launches it and returns when every stream has ended."""

    name: str
    entry: Any
    runtime: Runtime
    library: Any
    path: Path
    parameters: tuple[str, ...]

    def report(self) -> list[tuple[str, ...]]:
        """What the checked build has found since the last call, tab-separated fields."""
        take = self.library.pypto_check_report
        take.restype = ctypes.c_char_p
        return [tuple(line.split("\t")) for line in take().decode().splitlines()]

    def __call__(
        self, *arguments: object, blocks: int = 1, kind: int = VECTOR, flags: int = 0
    ) -> None:
        values = [_value(argument) for argument in arguments]
        names = (*self.parameters, *("argument" for _ in values[len(self.parameters) :]))
        memory = [
            (name.encode(), ctypes.addressof(value), *size, name == "workspace")
            for name, value, size in zip(names, values, map(_bytes, arguments), strict=True)
            if size is not None
        ]
        pointers = (ctypes.c_void_p * max(len(values), 1))(*map(ctypes.addressof, values))
        self.entry(
            self.runtime.table,
            pointers,
            ctypes.c_uint32(blocks),
            ctypes.c_uint32(kind),
            ctypes.c_uint32(flags),
            (_Memory * max(len(memory), 1))(*(_Memory(*row) for row in memory)),
            ctypes.c_uint32(len(memory)),
        )


def _value(argument: object) -> Any:
    if isinstance(argument, np.ndarray):
        return ctypes.c_void_p(argument.ctypes.data)
    if hasattr(argument, "data_ptr"):
        return ctypes.c_void_p(argument.data_ptr())
    return argument


def _bytes(argument: Any) -> tuple[int, int] | None:
    """Bytes of memory from the address that is passed, of contiguous arrays and tensors only, and
    of an element; None where it is no pointer."""
    if isinstance(argument, np.ndarray) or hasattr(argument, "data_ptr"):
        return int(argument.nbytes), int(argument.itemsize)
    return None


_numbers = itertools.count()  # of the files of this process, whatever harness makes them


class Harness:
    """Builds into ``root``, which the processes of a parallel test run may share."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._runtimes: dict[int, Runtime] = {}

    def runtime(self, workers: int = 2) -> Runtime:
        """The runtime library with ``workers`` threads; a copy of its own per number."""
        if workers not in self._runtimes:
            original = self._once("runtime.so", self._compile_runtime)
            copy = self.root / f"runtime-{workers}-{os.getpid()}-{next(_numbers)}.so"
            shutil.copy(original, copy)
            self._runtimes[workers] = Runtime(copy, workers)
        return self._runtimes[workers]

    def compile(
        self,
        text: str,
        names: Sequence[str],
        *,
        build: Build = "fast",
        workers: int = 2,
        extra: Sequence[str] = (),
    ) -> dict[str, Kernel]:
        """Compile ``text`` (after ``#include "kernel_operator.h"``) and load the kernels named."""
        stem = self.root / f"text-{os.getpid()}-{next(_numbers)}"
        entries = "".join(f"PYPTO_HARNESS_ENTRY({name})\n" for name in names)
        stem.with_suffix(".cpp").write_text(
            f'#include "kernel_operator.h"\n{_ENTRY}\n#line 1 "text"\n{text}\n{entries}'
        )
        header = self._once(f"{build}/kernel_operator.h.gch", self._compile_header, build)
        objects = []
        if build != "alone":
            objects.append(str(self._once(f"{build}/twin.o", self._compile_object, build)))
        _run(
            *self._command(build),
            *extra,
            "-iquote",
            str(header.parent),
            "-iquote",
            str(INCLUDE),
            "-shared",
            str(stem.with_suffix(".cpp")),
            *objects,
            "-Wl,--gc-sections,-z,defs",
            "-o",
            str(stem.with_suffix(".so")),
        )
        library = ctypes.CDLL(str(stem.with_suffix(".so")))
        runtime = self.runtime(workers)
        kernels = {}
        for name in names:
            entry = library[f"{name}_launch"]
            entry.restype = None
            path = stem.with_suffix(".so")
            kernels[name] = Kernel(name, entry, runtime, library, path, _parameters(text, name))
        return kernels

    def with_workers(self, kernels: dict[str, Kernel], workers: int) -> dict[str, Kernel]:
        """The same binaries on the runtime library with another number of threads."""
        runtime = self.runtime(workers)
        return {name: replace(kernel, runtime=runtime) for name, kernel in kernels.items()}

    @staticmethod
    def _command(build: Build) -> tuple[str, ...]:
        kind = _KINDS.get(build, ())
        return (COMPILER, *FLAGS, *kind, *(("-DPYPTO_TWIN_LINKED",) if build != "alone" else ()))

    def _compile_header(self, target: Path, build: Build) -> None:
        source = INCLUDE / "kernel_operator.h"
        _run(*self._command(build), "-x", "c++-header", str(source), "-o", str(target))
        # where a text's own, second include is looked for; the header's guard skips its contents
        (target.parent / "kernel_operator.h").symlink_to(source)

    def _compile_object(self, target: Path, build: Build) -> None:
        command = [word for word in self._command(build) if word != "-DPYPTO_TWIN_LINKED"]
        source = INCLUDE / "kernel_operator.h"
        _run(*command, "-DPYPTO_TWIN_SUPPORT", "-x", "c++", "-c", str(source), "-o", str(target))

    @staticmethod
    def _compile_runtime(target: Path) -> None:
        sources = sorted(str(path) for path in (RUNTIME / "library").glob("*.cpp"))
        shared = ("-shared", "-fPIC", "-fvisibility=hidden", "-pthread")
        _run(
            COMPILER, "-O2", "-std=c++17", "-Wall", "-Wextra", *shared, *sources, "-o", str(target)
        )

    def _once(self, name: str, make: Any, *arguments: object) -> Path:
        """Path of a file that all processes of the run share, made by the first that needs it."""
        target = self.root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{target}.lock"):
            if not target.exists():
                partial = target.with_name(f"partial-{os.getpid()}-{target.name}")
                make(partial, *arguments)
                partial.rename(target)
        return target


def _parameters(text: str, name: str) -> tuple[str, ...]:
    """Names of the parameters of kernel ``name``, as far as its head is written out."""
    head = re.search(rf"\b{name}\(([^)]*)\)", text)
    return tuple(re.findall(r"(\w+)\s*(?:,|$)", head[1])) if head is not None else ()


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}\n{done.stderr[:4000]}")
