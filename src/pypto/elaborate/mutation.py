"""Changes of compile-time objects inside run-time loops and branches.

The body of a run-time loop is evaluated once, and both sides of a run-time branch are: a list that
stood there before would change once, whatever happens on the device. What is made inside may.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from pypto.elaborate import values as v
from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.machine import Frame
from pypto.elaborate.values import Item
from pypto.error import FeTypeError, Span

__all__ = ["check_change", "objects_held", "parts_of"]


@contextlib.contextmanager
def objects_held(frame: Frame) -> Iterator[None]:
    """While the body of a run-time region is evaluated, what there is now stays as it is."""
    fixed, regions = frame.context.fixed, frame.context.regions
    fixed.append(_reachable(frame))
    regions.append(frame)
    try:
        yield
    finally:
        regions.pop()
        fixed.pop()


def check_change(frame: Frame, item: Item, span: Span) -> None:
    """Refuse a change of ``item`` if it was made before the run-time region it is changed in."""
    if not any(id(item) in held for held in frame.context.fixed):
        return
    refuse(
        FeTypeError,
        f"{v.describe(item)} made outside of a run-time loop or branch cannot be changed inside",
        span,
        help="the body is evaluated once: keep what changes in a number or a tensor, or make the "
        "object inside",
    )


def _reachable(frame: Frame) -> dict[int, Item]:
    """All objects that can change, by identity, that the functions being evaluated can reach."""
    found: dict[int, Item] = {}
    frames: set[int] = set()
    pending: list[Frame] = [frame]
    while pending:
        each = pending.pop()
        if id(each) in frames:
            continue
        frames.add(id(each))
        pending += [f for f in (each.caller, each.enclosing) if f is not None]
        _collect(each.locals.values(), found, pending)
    return found


def _collect(items: Iterable[Item], found: dict[int, Item], pending: list[Frame]) -> None:
    stack = list(items)
    while stack:
        item = stack.pop()
        if id(item) in found:
            continue
        if isinstance(item, v.Sequence | v.Mapping | v.Set | v.Instance | v.Cursor):
            found[id(item)] = item
        stack += parts_of(item)
        if isinstance(item, v.Closure):
            pending.append(item.frame)


def parts_of(item: Item) -> list[Item]:
    """The items that ``item`` holds."""
    if isinstance(item, v.Sequence):
        return item.items
    if isinstance(item, v.Mapping):
        return [*item.items.values()]
    if isinstance(item, v.Instance):
        return [*item.fields.values()]
    if isinstance(item, v.Closure):
        return [*item.defaults.values()]
    if isinstance(item, v.Partial):
        return [item.function, *item.positional, *item.keyword.values()]
    if isinstance(item, v.Bound | v.Method | v.Super):
        return [item.receiver]
    return [item.owner] if isinstance(item, v.View) else []
