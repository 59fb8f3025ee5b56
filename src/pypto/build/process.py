"""Run a compiler: bounded output, bounded time, no orphans."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO

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
    """How a program ended. ``status`` is negative for a signal, None for a time-out.

    ``output``: what it printed; ``errors``: its standard error where that was asked for apart.
    ``dropped``: bytes beyond the limit.
    """

    status: int | None
    output: str
    dropped: int
    errors: str = ""

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
    apart: bool = False,
) -> Completed:
    """Run ``command`` in a process group of its own and return its merged output.

    ``apart``: standard error is not merged into the output. After ``timeout`` seconds, or on an
    exception such as KeyboardInterrupt, the whole group is killed. Raises OSError where the program
    cannot be started.
    """
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=compiler_environment(cwd) if environ is None else environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if apart else subprocess.STDOUT,
        start_new_session=True,
    )
    pipes = [pipe for pipe in (process.stdout, process.stderr) if pipe is not None]
    texts, finished = [_Text() for _ in pipes], False
    try:
        finished = _collect(
            process, dict(zip(pipes, texts, strict=True)), time.monotonic() + timeout
        )
    finally:
        if not finished:
            _kill_group(process)
        for pipe in pipes:
            pipe.close()
        process.wait()
    status = process.returncode if finished else None
    dropped = sum(text.dropped for text in texts)
    return Completed(status, str(texts[0]), dropped, str(texts[1]) if apart else "")


class _Text:
    """What came through one pipe, up to the limit."""

    __slots__ = ("_kept", "dropped")

    def __init__(self) -> None:
        self._kept = bytearray()
        self.dropped = 0

    def add(self, chunk: bytes) -> None:
        room = max(0, OUTPUT_LIMIT - len(self._kept))
        self._kept += chunk[:room]
        self.dropped += len(chunk) - min(room, len(chunk))

    def __str__(self) -> str:
        return self._kept.decode("utf-8", "replace")


def _collect(
    process: subprocess.Popen[bytes], texts: Mapping[IO[bytes], _Text], deadline: float
) -> bool:
    """Read all pipes until their ends; False where the deadline came first."""
    ended: float | None = None  # when the program itself was seen to have ended
    with selectors.DefaultSelector() as selector:
        for pipe, text in texts.items():
            selector.register(pipe, selectors.EVENT_READ, text)
        while selector.get_map():
            now = time.monotonic()
            if now >= deadline:
                return False
            ready = selector.select(min(deadline - now, 0.25))
            if not ready:
                # Nothing to read: a background child may hold the pipe although the program ended.
                if ended is None and process.poll() is not None:
                    ended = now
                if ended is not None and now - ended > _GRACE:
                    return True
            for key, _ in ready:
                chunk = os.read(key.fd, 65536)
                if chunk:
                    key.data.add(chunk)
                else:
                    selector.unregister(key.fileobj)
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # the whole group has ended by itself
