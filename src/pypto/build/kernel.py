"""From the text of a kernel to its binary."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from pypto._record import Record
from pypto.build import steps
from pypto.build.files import is_place_error
from pypto.build.record import Entry
from pypto.build.store import CacheStore
from pypto.build.toolchain import CompilerError, HostToolchain, invoke

__all__ = ["BINARY", "WRAPPER", "KernelTexts", "build_kernel", "compile_kernel"]

BINARY = "kernel.so"
WRAPPER = "wrapper.cpp"

_ATTEMPTS = 4


class KernelTexts(Record):
    """What is compiled: ``sources`` (file name to Ascend C text) and the ``wrapper`` that includes
    them. ``extra`` are files kept beside them, such as dumps of the levels."""

    sources: Mapping[str, str]
    wrapper: str
    extra: Mapping[str, str]


def build_kernel(
    store: CacheStore,
    toolchain: HostToolchain,
    key: str,
    name: str,
    make_texts: Callable[[], tuple[KernelTexts, Mapping[str, object]]],
    kind: str = "fast",
) -> Entry:
    """The entry of ``key``; if missing, compile what ``make_texts`` returns and publish it.

    ``make_texts`` runs under the lock of ``key``, once over all processes; the mapping it returns
    becomes ``Entry.data``. Raises BuildError (CompilerError where the compiler failed).
    """

    def build(directory: str) -> Mapping[str, object]:
        texts, data = make_texts()
        for file, text in texts.extra.items():
            _write(directory, file, text)
        warnings = compile_kernel(
            store, toolchain, directory, texts.sources, texts.wrapper, kind, name=name
        )
        return {**data, "warnings": warnings}

    return store.get_or_build(key, name, build)


def compile_kernel(
    store: CacheStore,
    toolchain: HostToolchain,
    directory: str,
    sources: Mapping[str, str],
    wrapper: str,
    kind: str = "fast",
    *,
    name: str = "kernel",
) -> str:
    """Write the texts to ``directory`` and compile them to :data:`BINARY` there.

    Returns the compiler's warnings. The binary depends on texts, toolchain, twin and ``kind`` only.
    Raises CompilerError, with the texts moved to where the message says, and OSError where the file
    system is at fault.
    """
    for file, text in sources.items():
        _write(directory, file, text)
    _write(directory, WRAPPER, wrapper)
    for _ in range(_ATTEMPTS - 1):
        try:
            return _compile(store, toolchain, directory, kind, name)
        except CompilerError as error:
            # Perhaps the precompiled header or the object was removed under the compiler's feet,
            # or is damaged in a way that its size and time do not show.
            if not store.rebuild_tool(steps.header_key(store, toolchain, kind)):
                raise _with_kept_source(store, directory, name, error) from None
    return _compile(store, toolchain, directory, kind, name)


def _compile(
    store: CacheStore, toolchain: HostToolchain, directory: str, kind: str, name: str
) -> str:
    prelude = steps.precompiled_header(store, toolchain, kind)
    links = {"twin": steps.TWIN, "tools": prelude}
    arguments = (
        *steps.kernel_flags(toolchain, kind),
        *(
            "-include",
            f"tools/{steps.PRELUDE}",
            "-Itwin",
            "-pipe",
            "-shared",
            WRAPPER,
            f"tools/{steps.SUPPORT}",
            "-Wl,--gc-sections",
            "-o",
            BINARY,
        ),
        *steps.kernel_libraries(toolchain, kind),
    )
    for link, target in links.items():
        os.symlink(target, os.path.join(directory, link))
    try:
        return invoke(toolchain, arguments, cwd=directory, what=f"kernel `{name}`")
    finally:
        for link in links:
            os.unlink(os.path.join(directory, link))


def _write(directory: str, file: str, text: str) -> None:
    if os.path.basename(file) != file or file in ("", ".", "..", "twin", "tools", BINARY):
        raise ValueError(f"not a file name for a kernel's text: {file!r}")
    with open(os.path.join(directory, file), "w", encoding="utf-8", newline="\n") as stream:
        stream.write(text)


def _with_kept_source(
    store: CacheStore, directory: str, name: str, error: CompilerError
) -> CompilerError:
    """The same error, naming the place where the texts are now."""
    try:
        kept = store.keep_failed(directory, name)
    except OSError as problem:
        if not is_place_error(problem):
            raise
        return error  # the compiler's failure is the news, not that its input could not be kept
    return error.moved(kept)
