"""Room for walks over deep trees: long sums, long chains of operations, deep parentheses."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

__all__ = ["deep_recursion"]

_DEPTH = 20_000
_lock = threading.Lock()
_users = 0
_saved = 0


@contextlib.contextmanager
def deep_recursion() -> Iterator[None]:
    """Let the tree walks of a compilation go as deep as its kernel does.

    The limit is the interpreter's, so concurrent compilations share one raise and one restore.
    """
    global _users, _saved
    with _lock:
        if _users == 0:
            _saved = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_saved, _DEPTH))
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                sys.setrecursionlimit(_saved)
