"""Run a compiler: bounded output, bounded time, no orphans."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Completed", "run"]

OUTPUT_LIMIT = 64 * 1024
"""Bytes of output kept; the rest is read, counted and dropped."""

_GRACE = 1.0
"""Seconds to wait for the end of the output once the program itself has ended."""

# Variables that would let headers or settings from outside into the result.
_DROPPED = (
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "OBJC_INCLUDE_PATH",
    "DEPENDENCIES_OUTPUT",
    "SUNPRO_DEPENDENCIES",
    "CCC_OVERRIDE_OPTIONS",
    "LANGUAGE",
)


@dataclass(frozen=True, slots=True)
class Completed:
    """How a program ended. ``status`` is negative for a signal, None for a time-out."""

    status: int | None
    output: str
    dropped: int

    @property
    def ok(self) -> bool:
        return self.status == 0


def compiler_environment(temporary: str | None) -> dict[str, str]:
    """The environment of a compiler: messages in the C locale, temporary files in ``temporary``."""
    environ = {name: value for name, value in os.environ.items() if name not in _DROPPED}
    environ["LC_ALL"] = "C"
    if temporary is not None:
        environ["TMPDIR"] = temporary
    return environ


def run(
    command: Sequence[str],
    *,
    cwd: str | None,
    timeout: float,
    environ: Mapping[str, str] | None = None,
) -> Completed:
    """Run ``command`` in a process group of its own and return its merged output.

    After ``timeout`` seconds, or on an exception such as KeyboardInterrupt, the whole group is
    killed. Raises OSError where the program cannot be started.
    """
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=compiler_environment(cwd) if environ is None else environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None
    kept, dropped, finished = bytearray(), 0, False
    try:
        kept, dropped, finished = _collect(process, time.monotonic() + timeout)
    finally:
        if not finished:
            _kill_group(process)
        process.stdout.close()
        process.wait()
    status = process.returncode if finished else None
    return Completed(status, kept.decode("utf-8", "replace"), dropped)


def _collect(process: subprocess.Popen[bytes], deadline: float) -> tuple[bytearray, int, bool]:
    """Read until the end of the output; False where the deadline came first."""
    assert process.stdout is not None
    kept, dropped = bytearray(), 0
    descriptor = process.stdout.fileno()
    ended: float | None = None  # when the program itself was seen to have ended
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while True:
            now = time.monotonic()
            if now >= deadline:
                return kept, dropped, False
            if not selector.select(min(deadline - now, 0.25)):
                # Nothing to read: a background child may hold the pipe although the program ended.
                if ended is None and process.poll() is not None:
                    ended = now
                if ended is not None and now - ended > _GRACE:
                    return kept, dropped, True
                continue
            chunk = os.read(descriptor, 65536)
            if not chunk:
                break
            room = max(0, OUTPUT_LIMIT - len(kept))
            kept += chunk[:room]
            dropped += len(chunk) - min(room, len(chunk))
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return kept, dropped, False
    return kept, dropped, True


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # the whole group has ended by itself
