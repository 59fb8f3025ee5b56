"""A pause of Python's garbage collector while modules are loaded."""

from __future__ import annotations

import gc

__all__ = ["CollectorPause"]


class CollectorPause:
    """Inside the block the cyclic collector does not run, if it ran before.

    Loading a module makes many objects that stay, and each full collection looks at all objects of
    the process: with torch loaded that is most of the time the import of a large package takes.
    """

    __slots__ = ("_was_enabled",)

    def __enter__(self) -> None:
        self._was_enabled = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._was_enabled:
            gc.enable()
