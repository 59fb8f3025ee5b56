"""The launcher and the runtime library: built where they are missing, loaded once a process.

The launcher is a compiled module. Where it cannot be compiled, for want of Python's headers, or
where ``PYPTO_LAUNCHER=python`` asks for it, :mod:`plain_launcher` takes its place.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from pypto import _options
from pypto.build import steps
from pypto.build.toolchain import CompilerError
from pypto.error import FeValueError, PyptoWarning
from pypto.runtime import cpu
from pypto.runtime.lookup import Lookup
from pypto.runtime.torch_bridge import connect

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["PROCESS", "Process", "plain_launcher_wanted"]


class Process:
    """What all kernels of the process share: the cache, the launcher, the runtime library."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # of the tools
        self._lookup_lock = threading.Lock()
        self._lookup: Lookup | None = None
        self._launcher: Any = None
        self._runtime: cpu.Runtime | None = None
        self._started: dict[str, Future[Any]] | None = None

    @property
    def lookup(self) -> Lookup:
        with self._lookup_lock:
            if self._lookup is None:
                self._lookup = Lookup(before_build=self.start)
            return self._lookup

    @property
    def launcher(self) -> Any:
        """The launcher module, once something has needed it; else None."""
        return self._launcher

    def start(self, kind: str) -> None:
        """Begin to build all shared tools that are missing, beside the caller, who goes on to build
        a kernel. Errors come back where the tool is needed; nothing is built twice."""
        with self._lock:
            if self._started is not None or self._launcher is not None:
                return
            from concurrent.futures import ThreadPoolExecutor  # not on the path of a warm kernel

            store, toolchain = self.lookup.store, self.lookup.toolchain
            # The header first: the caller waits for it, and then has a kernel to compile.
            pool = ThreadPoolExecutor(max_workers=3, thread_name_prefix="pypto-tools")
            self._started = {
                "header": pool.submit(steps.precompiled_header, store, toolchain, kind),
                "launcher": pool.submit(_launcher_path, self.lookup),
                "runtime": pool.submit(steps.runtime_library, store, toolchain),
            }
            pool.shutdown(wait=False)

    def forget_threads(self) -> None:
        """In a forked child: what other threads of the parent held or had begun is not there."""
        self._lock, self._lookup_lock = threading.RLock(), threading.Lock()
        self._started = None

    def tools(self) -> tuple[Any, cpu.Runtime]:
        """The launcher module and the runtime library. Raises BuildError."""
        lookup = self.lookup
        with self._lock:
            if self._launcher is None or self._runtime is None:
                started = self._started
                try:
                    if started is not None:
                        module = started["launcher"].result()
                        library = started["runtime"].result()
                    else:
                        module = _launcher_path(lookup)
                        library = steps.runtime_library(lookup.store, lookup.toolchain)
                finally:
                    self._started = None  # after a failure the next call tries again
                self._runtime = cpu.load_runtime(library)
                self._launcher = _connected(module)
            return self._launcher, self._runtime


def plain_launcher_wanted() -> bool:
    """Whether PYPTO_LAUNCHER asks for the launcher in plain Python. FeValueError for a value that
    is neither ``c``, the default, nor ``python``."""
    value = os.environ.get("PYPTO_LAUNCHER") or "c"
    if value not in ("c", "python"):
        raise FeValueError(f"PYPTO_LAUNCHER must be c or python, got {value!r}")
    return value == "python"


def _launcher_path(lookup: Lookup) -> str | None:
    """The compiled launcher; None, with a warning unless that was asked for, where the plain one
    has to do. Raises BuildError for what keeps kernels from being compiled as well."""
    if plain_launcher_wanted():
        return None
    try:
        return steps.launcher_module(lookup.store, lookup.toolchain)
    except (steps.HeadersMissingError, CompilerError) as error:
        from pypto._warn import warn

        if isinstance(error, CompilerError):
            advice = f"It printed: {error.output.strip()[:500] or 'nothing'}"
        else:
            advice = (
                "Install the headers of this Python (Debian, Ubuntu: python3-dev; Fedora, "
                "openEuler: python3-devel)."
            )
        warn(
            f"{error.diagnostics[0].message}. Kernels run all the same, but a call takes tens of "
            f"microseconds more; PYPTO_LAUNCHER=python silences this warning. {advice}",
            PyptoWarning,
        )
        return None


def _connected(path: str | None) -> Any:
    """The launcher module at ``path`` (None: the plain one), told about torch and the options."""
    launcher: Any
    if path is None:
        from pypto.runtime import plain_launcher as launcher
    else:
        launcher = _loaded(path)
    connect(launcher)
    launcher.set_scope_variable(_options.SCOPE_SERIAL)
    _options.on_global_change(launcher.bump_epoch)
    return launcher


def _loaded(path: str) -> Any:
    import importlib.machinery
    import importlib.util

    loader = importlib.machinery.ExtensionFileLoader("_pypto_launcher", path)
    spec = importlib.util.spec_from_loader("_pypto_launcher", loader)
    assert spec is not None
    launcher = importlib.util.module_from_spec(spec)
    loader.exec_module(launcher)
    return launcher


PROCESS = Process()
os.register_at_fork(after_in_child=PROCESS.forget_threads)
