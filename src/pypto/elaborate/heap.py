"""Objects that can change: what run-time regions change of them, and which may be one object.

The body of a loop, and each side of a branch, is evaluated on the objects that stand there; what it
has changed is taken down here, so that the region can carry or merge it place by place.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pypto.elaborate.structures import Structure, fill, places
from pypto.elaborate.values import Item
from pypto.error import Span

__all__ = ["Change", "Held", "Kin"]


@dataclass(slots=True, eq=False)
class Change:
    """One object that a region has changed: what it held before, and where it changed last."""

    item: Structure
    label: str
    before: dict[object, Item]
    span: Span
    after: dict[object, Item] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Held:
    """A run-time region being read. ``objects``: those that it found, and what they are called.

    ``loop``: which of the kernel's run-time loops it is the body of.
    """

    objects: dict[int, tuple[Item, str]]
    loop: int | None = None
    changes: dict[int, Change] = field(default_factory=dict)

    def note(self, item: Structure, span: Span) -> None:
        """``item`` is about to change at ``span``."""
        if id(item) in self.objects:
            label = self.objects[id(item)][1]
            change = self.changes.setdefault(id(item), Change(item, label, places(item), span))
            change.span = span

    def take(self) -> dict[int, Change]:
        """The changes, each object being as it was before."""
        for change in self.changes.values():
            change.after = places(change.item)
            fill(change.item, change.before)
        return self.changes


@dataclass(frozen=True, slots=True, eq=False)
class _Joined:
    item: Structure
    label: str
    region: Span


@dataclass(slots=True, eq=False)
class Kin:
    """Which objects may be one: what a loop or branch joins stands for either of its sources.

    An object is known by the ids of those that it may be, of itself where it is no other.
    """

    sources: dict[int, frozenset[int]] = field(default_factory=dict)
    members: dict[int, list[_Joined]] = field(default_factory=dict)
    touched: dict[int, tuple[int, Span]] = field(default_factory=dict)  # last changes
    kept: list[Structure] = field(default_factory=list)  # ids stay those of these objects
    time: int = 0

    def of(self, item: Structure) -> frozenset[int]:
        return self.sources.get(id(item), frozenset((id(item),)))

    def join(self, made: Structure, label: str, region: Span, *sources: Structure) -> None:
        """``made`` stands for one of ``sources``."""
        self.kept += [made, *sources]
        self.sources[id(made)] = frozenset().union(*map(self.of, sources))
        for source in (made, *sources):
            for one in self.of(source):
                members = self.members.setdefault(one, [])
                if not any(known.item is source for known in members):
                    members.append(_Joined(source, label, region))

    def others(self, item: Structure) -> list[_Joined]:
        """The other objects that may be ``item``."""
        found: dict[int, _Joined] = {}
        for one in self.of(item):
            for known in self.members.get(one, ()):
                if known.item is not item:
                    found.setdefault(id(known.item), known)
        return [*found.values()]

    def touch(self, item: Structure, span: Span) -> None:
        self.time += 1
        self.kept.append(item)
        self.touched[id(item)] = (self.time, span)

    def changed_since(self, which: int, time: int) -> Span | None:
        """Where the object of this id was changed after ``time``; None: nowhere."""
        at, span = self.touched.get(which, (0, None))
        return span if at > time else None
