"""Touches of one memory, found by where they are.

Most touches of a long kernel are at constant distances from one another: they have the same offsets
but for a number. Such ones form a group, in which those near a place are found by bisection; what
one finds is checked by a proof, so finding too much is no mistake.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from pypto.ir.expr import Expr, apply, as_int, const, polynomial
from pypto.passes.touches import Scope, Touch

__all__ = ["Boxes", "Touched"]

_FEW = 8
"""A group of no more touches is not compared as a whole first."""

_Interval: TypeAlias = tuple[int, int | None]  # start, and end where it is known
_Kind: TypeAlias = tuple[object, ...]  # what touches of one group share


@dataclass(slots=True)
class _Axis:
    """Intervals along one axis, by their starts; numbers say which touch each is of."""

    starts: list[tuple[int, int]] = field(default_factory=list)
    longest: int | None = 0
    end: int | None = 0

    def add(self, interval: _Interval, number: int) -> None:
        start, end = interval
        if not self.starts:
            self.end = end
        insort(self.starts, (start, number))
        if end is None or self.longest is None or self.end is None:
            self.longest = self.end = None
        else:
            self.longest = max(self.longest, end - start)
            self.end = max(self.end, end)

    def near(self, interval: _Interval) -> tuple[int, int]:
        """From where to where those stand that may meet ``interval``."""
        start, end = interval
        first = 0
        if self.longest is not None:
            first = bisect_left(self.starts, (start - self.longest + 1, -1))
        last = len(self.starts) if end is None else bisect_left(self.starts, (end, -1))
        return first, last


@dataclass(slots=True)
class _Group:
    """Touches whose offsets differ by numbers."""

    touches: list[Touch]
    axes: list[_Axis]

    def add(self, touch: Touch, box: list[_Interval]) -> None:
        for axis, interval in zip(self.axes, box, strict=True):
            axis.add(interval, len(self.touches))
        self.touches.append(touch)

    def near(self, box: list[_Interval]) -> Iterable[Touch]:
        """Those that may meet ``box``: by the axis that fewest are near on."""
        if not self.axes:
            return self.touches
        found = [(axis, *axis.near(at)) for axis, at in zip(self.axes, box, strict=True)]
        axis, first, last = min(found, key=lambda one: one[2] - one[1])
        return [self.touches[number] for _, number in axis.starts[first:last]]

    def hull(self, box: list[_Interval]) -> Touch | None:
        """A touch that holds all of the group; ``box``: of its first touch."""
        first = self.touches[0]
        offsets: list[Expr] = []
        sizes: list[Expr] = []
        for axis, offset, (start, _) in zip(self.axes, first.offsets, box, strict=True):
            if axis.end is None:
                return None
            least = axis.starts[0][0]
            offsets.append(apply("add", offset, least - start))
            sizes.append(const(axis.end - least))
        return replace(first, offsets=tuple(offsets), sizes=tuple(sizes))


@dataclass(slots=True)
class Boxes:
    """A set of touches of one memory."""

    scope: Scope
    held: dict[Touch, None] = field(default_factory=dict)
    groups: dict[_Kind, _Group] = field(default_factory=dict)

    def add(self, touch: Touch) -> None:
        if touch in self.held:
            return
        self.held[touch] = None
        kind, box = self._placed(touch)
        group = self.groups.get(kind)
        if group is None:
            group = self.groups[kind] = _Group([], [_Axis() for _ in box])
        group.add(touch, box)

    def near(self, touch: Touch) -> Iterator[Touch]:
        """Every touch that may meet ``touch``, and some that do not."""
        kind, box = self._placed(touch)
        for other, group in self.groups.items():
            if other == kind:
                yield from group.near(box)
            elif len(group.touches) <= _FEW or self._meets(touch, group):
                yield from group.touches

    def _meets(self, touch: Touch, group: _Group) -> bool:
        hull = group.hull(self._placed(group.touches[0])[1])
        return hull is None or self.scope.meet(touch, hull)

    def _placed(self, touch: Touch) -> tuple[_Kind, list[_Interval]]:
        """The group of ``touch``, and its place in it."""
        found = self.scope.placed.get((touch.buffer, touch.offsets, touch.sizes))
        if found is None:
            found = self._place(touch)
            self.scope.placed[touch.buffer, touch.offsets, touch.sizes] = found
        return found

    def _place(self, touch: Touch) -> tuple[_Kind, list[_Interval]]:
        moving: list[object] = [touch.buffer]
        box: list[_Interval] = []
        for offset, size in zip(touch.offsets, touch.sizes, strict=True):
            terms = polynomial(offset)
            moving.append(frozenset((m, c) for m, c in terms.items() if m))
            start = terms.get((), 0)
            length = as_int(size)
            if length is None:
                length = self.scope.ranges.upper(size)
            box.append((start, None if length is None else start + max(length, 0)))
        return tuple(moving), box


@dataclass(slots=True)
class Touched:
    """Touches since the last wait. ``below``: what was touched before the block that this is of,
    until a wait in the block."""

    scope: Scope
    below: Touched | None = None
    held: dict[tuple[object, bool], Boxes] = field(
        default_factory=dict
    )  # by memory; written or not

    def above(self) -> Touched:
        """For a block that begins here."""
        return Touched(self.scope, self)

    def clear(self) -> None:
        """Behind a wait."""
        self.below = None
        self.held = {}

    def add(self, touches: Iterable[Touch]) -> None:
        for touch in touches:
            boxes = self.held.get((touch.memory, touch.writes))
            if boxes is None:
                boxes = self.held[touch.memory, touch.writes] = Boxes(self.scope)
            boxes.add(touch)

    def own(self) -> list[Touch]:
        """What was touched in this block."""
        return [touch for boxes in self.held.values() for touch in boxes.held]

    def near(self, touch: Touch, *, written: bool) -> Iterator[Touch]:
        """What may meet ``touch``; ``written``: of what writes."""
        here: Touched | None = self
        while here is not None:
            for writes in (True,) if written else (True, False):
                boxes = here.held.get((touch.memory, writes))
                if boxes is not None:
                    yield from boxes.near(touch)
            here = here.below
