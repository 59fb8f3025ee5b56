"""What is compiled once per machine: runtime library, launcher, the twin (header and object).

Each is a tool of the cache, named by the digest of all that can change it. The compiler runs in a
fresh directory that reaches our sources through links with fixed names, so a command, and with it
the binary, is the same wherever package and cache are installed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from importlib.machinery import EXTENSION_SUFFIXES

import pypto
from pypto._record import Record
from pypto.build import assume
from pypto.build.key import digest_tree, entry_key
from pypto.build.memo import Memo
from pypto.build.store import CacheStore
from pypto.build.toolchain import HostToolchain, invoke
from pypto.error import BuildError, Diagnostic

__all__ = [
    "KINDS",
    "HeadersMissingError",
    "PreparedTools",
    "launcher_module",
    "precompiled_header",
    "prepare",
    "python_includes",
    "runtime_library",
    "twin_digest",
]

KINDS: dict[str, tuple[str, ...]] = {
    "fast": (),
    "counting": ("-DPYPTO_TWIN_COUNT",),
    # Places of findings are read from frame pointers and line tables.
    "checked": ("-DPYPTO_TWIN_CHECKED", "-O1", "-g1", "-fno-omit-frame-pointer"),
    "shuffled": ("-DPYPTO_TWIN_SHUFFLED", "-O1", "-g1", "-fno-omit-frame-pointer"),
    "naive": ("-DPYPTO_TWIN_NAIVE", "-O1"),
}
"""Builds of the twin and their flags."""

_PACKAGE = os.path.dirname(os.path.abspath(pypto.__file__))
TWIN = os.path.join(_PACKAGE, "twin", "include")
RUNTIME = os.path.join(_PACKAGE, "runtime")
_LIBRARY = os.path.join(RUNTIME, "library")

# The prelude, not the twin's own header, is precompiled: the include inside a kernel's text is
# then skipped by the header's guard, under whatever path it is found.
PRELUDE = "prelude.h"
_PRELUDE_TEXT = (
    '#define PYPTO_TWIN_LINKED\n#include "kernel_operator.h"\n#include "pypto_launch.h"\n'
)
# The functions that the prelude only declares. Each has a section of its own, so that a kernel gets
# those that it uses.
SUPPORT = "support.o"
_SUPPORT_SOURCE = "support.cpp"
_SUPPORT_TEXT = '#define PYPTO_TWIN_SUPPORT\n#include "kernel_operator.h"\n'
_SUPPORT_FLAGS = ("-ffunction-sections", "-c")
# A kernel calls the object's functions and has little of its own that is worth these passes, which
# duplicate code: without them long kernels compile in two thirds of the time.
_SPARED_PASSES = ("-fno-unswitch-loops", "-fno-ipa-cp-clone")


class HeadersMissingError(BuildError):
    """The launcher cannot be compiled: this Python came without its headers."""


class PreparedTools(Record):
    """Absolute paths of the shared tools. ``headers``: build kind to the directory of its prelude.

    ``launcher`` is None where it was not asked for.
    """

    runtime_library: str
    launcher: str | None
    headers: dict[str, str]


def twin_digest(memo: Memo) -> str:
    """Digest of the twin's headers and of the binary interface they include."""
    return digest_tree([("twin", TWIN), ("runtime", RUNTIME)], (".h",), memo)


def runtime_library(store: CacheStore, toolchain: HostToolchain) -> str:
    """Path of the CPU runtime library, compiled at the first use. Raises BuildError."""
    sources = _runtime_sources()
    compile_flags = ("-std=c++17", "-O2", "-fPIC", "-pthread", "-Iruntime", "-c")
    link_flags = ("-shared", "-pthread")
    name = "libpypto_runtime.so"
    key = entry_key(
        {
            "step": "runtime library",
            "toolchain": toolchain.identity,
            "flags": (compile_flags, link_flags),
            "text": digest_tree([("runtime", RUNTIME)], (".cpp", ".h"), store.memo),
        }
    )

    def build(directory: str) -> dict[str, str]:
        from concurrent.futures import ThreadPoolExecutor

        def call(*arguments: str) -> str:
            what = "the runtime library"
            return invoke(toolchain, arguments, cwd=directory, what=what, source=_LIBRARY)

        objects = [f"{source}.o" for source in sources]
        _link(RUNTIME, directory, "runtime")
        with (
            _cleared(directory, "runtime", *objects),
            ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool,
        ):
            compiled = [
                pool.submit(call, *compile_flags, f"runtime/library/{source}", "-o", result)
                for source, result in zip(sources, objects, strict=True)
            ]
            printed = "".join(future.result() for future in compiled)
            printed += call(*link_flags, *objects, "-o", name)
        return {"warnings": printed}

    return store.get_or_build_tool(key, "runtime library", build).path(name)


def _runtime_sources() -> list[str]:
    try:
        sources = sorted(name for name in os.listdir(_LIBRARY) if name.endswith(".cpp"))
    except FileNotFoundError:
        sources = []
    if not sources:
        raise _broken_installation(os.path.join("runtime", "library", "*.cpp"))
    return sources


def launcher_module(store: CacheStore, toolchain: HostToolchain) -> str:
    """Path of the launcher extension module for this Python, compiled at the first use.

    Raises BuildError, also where the header of this Python is not installed.
    """
    source = os.path.join(RUNTIME, "launcher.c")
    if not os.path.isfile(source):
        raise _broken_installation(os.path.join("runtime", "launcher.c"))
    suffix = EXTENSION_SUFFIXES[0]
    name = f"_pypto_launcher{suffix}"
    flags = ("-x", "c", "-std=gnu11", "-O2", "-fPIC", "-shared")
    digest = digest_tree([("runtime", RUNTIME)], (".c", ".h"), store.memo)
    python = (sys.implementation.name, *sys.version_info[:3], suffix, sys.abiflags)
    key = entry_key(
        {
            "step": "launcher",
            "toolchain": toolchain.identity,
            "flags": flags,
            "text": digest,
            "python": python,
        }
    )

    def build(directory: str) -> dict[str, str]:
        includes = python_includes()
        _link(RUNTIME, directory, "runtime")
        links = [f"python{number}" for number in range(len(includes))]
        for link, include in zip(links, includes, strict=True):
            _link(include, directory, link)
        arguments = [*flags, "-Iruntime", *(f"-I{link}" for link in links)]
        with _cleared(directory, "runtime", *links):
            printed = invoke(
                toolchain,
                (*arguments, "runtime/launcher.c", "-o", name),
                cwd=directory,
                what="the launcher",
                source=RUNTIME,
            )
        return {"warnings": printed}

    return store.get_or_build_tool(key, "launcher", build).path(name)


def python_includes() -> list[str]:
    """Directories of the headers of this Python. Raises HeadersMissingError without Python.h."""
    import sysconfig  # reads a file of a hundred kilobytes: not on the path of a warm kernel

    paths = sysconfig.get_paths()
    includes = list(dict.fromkeys((paths["include"], paths["platinclude"])))
    if not any(os.path.isfile(os.path.join(path, "Python.h")) for path in includes):
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise HeadersMissingError(
            [
                Diagnostic(
                    HeadersMissingError,
                    BuildError.default_code,
                    "Python.h is missing; the launcher of kernels is compiled against it",
                    expected=f"Python.h of Python {version} in {' or '.join(includes)}",
                    help="install the headers of this Python (Debian, Ubuntu: `apt install "
                    f"python{version}-dev`, or python3-dev; Fedora, openEuler: python3-devel).",
                )
            ]
        )
    return [path for path in includes if os.path.isdir(path)]


def kind_flags(kind: str) -> tuple[str, ...]:
    """Flags of a build of the twin: a name of :data:`KINDS` and assumptions (:mod:`assume`)."""
    base, assumptions = assume.split(kind)
    return (*KINDS[base], *assume.flags(assumptions))


def kernel_flags(toolchain: HostToolchain, kind: str) -> tuple[str, ...]:
    """Flags of a kernel's compilation, and therefore of the precompiled header."""
    spared = _SPARED_PASSES if toolchain.kind == "gcc" else ()
    return (*toolchain.flags, *spared, *kind_flags(kind))


def kernel_libraries(toolchain: HostToolchain, kind: str) -> tuple[str, ...]:
    """What a kernel is linked with. The checker and the scheduler of the shuffled build are written
    with the C++ library."""
    if assume.split(kind)[0] not in ("checked", "shuffled"):
        return toolchain.libraries
    return (*(word for word in toolchain.libraries if word != "-nostdlib"), "-lstdc++")


def _fibers_digest(memo: Memo) -> str:
    """Digest of what the shuffled build takes from the runtime library's sources."""
    return digest_tree([("runtime", _LIBRARY)], (".cpp", ".h"), memo)


def header_key(store: CacheStore, toolchain: HostToolchain, kind: str) -> str:
    return entry_key(
        {
            "step": "twin",
            "toolchain": toolchain.identity,
            "flags": kernel_flags(toolchain, kind),
            "text": twin_digest(store.memo),
            "fibers": _fibers_digest(store.memo) if assume.split(kind)[0] == "shuffled" else "",
            "prelude": _PRELUDE_TEXT,
            "support": (_SUPPORT_TEXT, _SUPPORT_FLAGS),
        }
    )


def precompiled_header(store: CacheStore, toolchain: HostToolchain, kind: str = "fast") -> str:
    """Directory of the twin's ``kind`` build, made at the first use: the prelude, its compiled form
    and the object file :data:`SUPPORT` that kernels are linked with.

    Only GCC gets a compiled form: clang writes the absolute paths of the headers into it and looks
    for them again, so it could not be moved to its place; it reads the text each time.
    """
    if not os.path.isfile(os.path.join(TWIN, "kernel_operator.h")):
        raise _broken_installation(os.path.join("twin", "include", "kernel_operator.h"))

    def build(directory: str) -> dict[str, str]:
        from concurrent.futures import ThreadPoolExecutor

        for name, text in ((PRELUDE, _PRELUDE_TEXT), (_SUPPORT_SOURCE, _SUPPORT_TEXT)):
            with open(os.path.join(directory, name), "x", encoding="ascii") as stream:
                stream.write(text)
        support = (*toolchain.flags, *kind_flags(kind), *_SUPPORT_FLAGS)
        outputs = [(*support, "-Itwin", _SUPPORT_SOURCE, "-o", SUPPORT)]
        if toolchain.kind == "gcc":
            header = (*kernel_flags(toolchain, kind), "-Itwin", "-x", "c++-header")
            outputs.append((*header, PRELUDE, "-o", PRELUDE + ".gch"))

        def call(arguments: tuple[str, ...]) -> str:
            return invoke(
                toolchain,
                arguments,
                cwd=directory,
                what=f"the twin ({kind} build)",
                source=TWIN,
            )

        _link(TWIN, directory, "twin")
        with (
            _cleared(directory, "twin", _SUPPORT_SOURCE),
            ThreadPoolExecutor(max_workers=len(outputs)) as pool,
        ):
            return {"warnings": "".join(pool.map(call, outputs))}

    key = header_key(store, toolchain, kind)
    return store.get_or_build_tool(key, f"twin, {kind} build", build).directory


def prepare(
    store: CacheStore,
    toolchain: HostToolchain,
    kinds: Iterable[str] = ("fast",),
    *,
    launcher: bool = True,
) -> PreparedTools:
    """Make all shared tools, in parallel where they are missing. Raises the first BuildError.

    With ``launcher`` False the launcher is left out, for machines without Python's headers.
    """
    from concurrent.futures import ThreadPoolExecutor  # not on the path of a warm kernel

    with ThreadPoolExecutor(max_workers=4) as pool:
        headers = {kind: pool.submit(precompiled_header, store, toolchain, kind) for kind in kinds}
        library = pool.submit(runtime_library, store, toolchain)
        module = pool.submit(launcher_module, store, toolchain) if launcher else None
        return PreparedTools(
            library.result(),
            module.result() if module is not None else None,
            {kind: future.result() for kind, future in headers.items()},
        )


def _link(target: str, directory: str, name: str) -> None:
    os.symlink(target, os.path.join(directory, name))


class _cleared:
    """Removes links and intermediate files once the compiler has run and succeeded."""

    __slots__ = ("_directory", "_names")

    def __init__(self, directory: str, *names: str) -> None:
        self._directory = directory
        self._names = names

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for name in self._names if kind is None else ():
            os.unlink(os.path.join(self._directory, name))


def _broken_installation(missing: str) -> BuildError:
    return BuildError(
        [
            Diagnostic(
                BuildError,
                BuildError.default_code,
                f"This installation of pypto lacks {missing}",
                got=f"the package in {_PACKAGE}",
                help="reinstall pypto.",
            )
        ]
    )
