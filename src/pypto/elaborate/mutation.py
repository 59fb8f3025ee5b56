"""Changes of compile-time objects inside run-time loops and branches.

The body of a run-time loop is evaluated once, and both sides of a run-time branch are. What they
change of lists, dicts and objects that stood there before is carried and merged place by place
(:mod:`heap`); sets and iterators have no places, and stay as they are.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import NoReturn

from pypto.elaborate import values as v
from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.heap import Held
from pypto.elaborate.machine import Frame
from pypto.elaborate.structures import Structure, fill, is_structure, place, places, resolved
from pypto.elaborate.values import Deferred, Item
from pypto.error import FeError, FeTypeError, Span

__all__ = ["check_change", "objects_held", "parts_of"]


@contextlib.contextmanager
def objects_held(frame: Frame, loop: int | None = None) -> Iterator[Held]:
    """While the body of a run-time region is evaluated, its changes of objects are noted."""
    held, regions = frame.context.held, frame.context.regions
    made = Held(_reachable(frame), loop)
    held.append(made)
    regions.append(frame)
    try:
        yield made
    finally:
        regions.pop()
        held.pop()


def check_change(frame: Frame, item: Item, span: Span, places_too: bool = False) -> None:
    """``item`` is about to change; ``places_too``: also which places it has.

    Refused for what was made before the run-time region that it is changed in and has no places.
    """
    held = frame.context.held
    if not is_structure(item):
        if any(id(item) in region.objects for region in held):
            _refuse_outside(item, span)
        return
    kin = frame.context.kin
    for region in held:
        region.note(item, span)
    kin.touch(item, span)
    others = kin.others(item)
    if not others:
        return
    reached = _reachable(frame) if places_too else {}
    for other in others:
        if places_too and id(other.item) in reached:
            _refuse_other(other.item, other.label, other.region, span, span)
        _tear(frame, other.item, other.label, other.region, span)


def _tear(frame: Frame, other: Structure, label: str, region: Span, change: Span) -> None:
    """``other`` may have changed: what it holds is unknown from here on."""

    def torn(span: Span) -> Item:
        _refuse_other(other, label, region, change, span)

    for one in frame.context.held:
        one.note(other, change)
    fill(other, {key: Deferred(torn) for key in places(other)})


def _refuse_outside(item: Item, span: Span) -> NoReturn:
    refuse(
        FeTypeError,
        f"{v.describe(item)} made outside of a run-time loop or branch cannot be changed inside",
        span,
        help="the body is evaluated once: keep what changes in a number or a tensor, or make the "
        "object inside",
    )


def _refuse_other(other: Structure, label: str, region: Span, change: Span, span: Span) -> NoReturn:
    refuse(
        FeError,
        f"{v.describe(other)} may or may not be the object that '{label}' is since the run-time "
        "loop or branch, and one of the two was changed",
        span,
        code="F00007",
        notes=(
            f"the loop or branch is at {region.location}", f"the change is at {change.location}",
        ),
        help=f"let '{label}' be an object of its own: make a new one instead of changing it, or "
        "copy it before the loop or branch",
    )  # fmt: skip


def _reachable(frame: Frame) -> dict[int, tuple[Item, str]]:
    """All objects that can change, by identity, that the functions being evaluated can reach."""
    found: dict[int, tuple[Item, str]] = {}
    frames: set[int] = set()
    pending: list[Frame] = [frame]
    while pending:
        each = pending.pop()
        if id(each) in frames:
            continue
        frames.add(id(each))
        pending += [f for f in (each.caller, each.enclosing) if f is not None]
        _collect(each.locals, found, pending)
    return found


def _collect(
    names: dict[str, Item], found: dict[int, tuple[Item, str]], pending: list[Frame]
) -> None:
    stack: list[tuple[Item | None, str]] = [(item, name) for name, item in names.items()]
    seen: set[int] = set()
    while stack:
        item, label = stack.pop()
        item = resolved(item)
        if item is None or id(item) in found or id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, Structure | v.Set | v.Cursor):
            found[id(item)] = (item, label)
        if is_structure(item):
            stack += [(one, place(label, item, key)) for key, one in places(item).items()]
        else:
            stack += [(one, label) for one in parts_of(item)]
        if isinstance(item, v.Closure):
            pending.append(item.frame)


def parts_of(item: Item) -> Iterable[Item]:
    """The items that ``item`` holds."""
    if is_structure(item):
        return places(item).values()
    if isinstance(item, v.Closure):
        return item.defaults.values()
    if isinstance(item, v.Partial):
        return [item.function, *item.positional, *item.keyword.values()]
    if isinstance(item, v.Bound | v.Method | v.Super):
        return [item.receiver]
    return [item.owner] if isinstance(item, v.View) else []
