"""How far a setting reaches: tile shapes and options that a kernel sets between its statements.

They hold for what follows, as any statement does, and no further than the run-time region they are
set in: which iteration was the last, or which side of a branch ran, only the device knows. Options
of other families describe the kernel as a whole; where they are set makes no difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pypto._options import Options
from pypto.elaborate.machine import Frame

__all__ = ["settings_held"]

_FAMILIES = ("pass_options", "operation_options", "tile_options")
"""What is set for statements, not for kernels."""


@contextmanager
def settings_held(frame: Frame) -> Iterator[None]:
    """What is set inside ends behind it: an iteration of a run-time loop, a side of a branch."""
    context = frame.context
    tile, options = (context.builder.tile, context.builder.tile_span), context.options
    try:
        yield
    finally:
        context.builder.tile, context.builder.tile_span = tile
        context.options = _restored(context.options, options)


def _restored(now: Options, before: Options) -> Options:
    """``now`` with those options of statements that were in force before."""
    if now == before:
        return now
    kept = {name: value for name, value in now.given if not _of_statements(name)}
    again = {name: value for name, value in before.given if _of_statements(name)}
    return Options.of(kept | again)


def _of_statements(name: str) -> bool:
    return name.partition(".")[0] in _FAMILIES
