"""What names and values are behind a run-time branch, of what its two sides give them.

A value is merged where it is read behind the branch. Numbers become one variable; tensors of one
dtype and shape go through a local tensor that both sides store; lists, dicts and objects with the
same places are merged place by place; other things must be the same.

An object that stood there before the branch stays itself: what it holds is merged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pypto.elaborate import values as v
from pypto.elaborate.exits import (
    BREAK,
    CONTINUE,
    RETURN,
    VALUE,
)
from pypto.elaborate.heap import Change
from pypto.elaborate.joining import (
    is_partial,
    same,
    settled,
    way,
)
from pypto.elaborate.merged import Sides
from pypto.elaborate.structures import (
    Structure,
    fill,
    is_structure,
    like,
    place,
    places,
    resolved,
)
from pypto.elaborate.values import POISON, Deferred, Instance, Item, Known
from pypto.error import Span

__all__ = ["HIDDEN", "Branch", "Side"]

HIDDEN = (BREAK, CONTINUE, RETURN)


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """What one side of a branch leaves: names, and the objects that it has changed.

    ``existed``: the objects that it found.
    """

    names: dict[str, Item]
    bound: dict[str, Span] = field(default_factory=dict)  # where it sets names
    changes: dict[int, Change] = field(default_factory=dict)
    existed: Mapping[int, tuple[Item, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Branch(Sides):
    """One branch: what its names and objects have behind it."""

    sides: list[Side] = field(default_factory=list)
    changed: dict[int, Change] = field(default_factory=dict)  # by some side
    made: dict[tuple[int, int], Structure] = field(default_factory=dict)  # of two structures

    # --- names ---

    def end(self, *sides: Side) -> None:
        """Give names and objects what they have behind the branch; of one side: it alone runs."""
        self.sides.extend(sides)
        self.bound.extend(side.bound for side in sides)
        for side in sides:
            self.frame.bound.update(side.bound)
        self._merge_objects(*sides)
        names = [side.names for side in sides]
        merged = self._merge(names[0], names[1] if len(names) > 1 else None)
        self.frame.locals.clear()
        self.frame.locals.update(merged)

    def _merge_objects(self, then: Side, other: Side | None = None) -> None:
        """Let the objects that stood there before hold what the sides leave in them."""
        changes = {**(other.changes if other else {}), **then.changes}
        self.changed.update(changes)
        merged: list[tuple[Structure, dict[object, Item]]] = []
        for change in changes.values():
            item, label = change.item, change.label
            a = self.contents(then, item)
            if other is None:
                merged.append((item, {key: self.only(place(label, item, key), one)
                                      for key, one in a.items()}))  # fmt: skip
                continue
            b = self.contents(other, item)
            if not isinstance(item, Instance) and [*a] != [*b]:
                fill(item, dict.fromkeys(a if len(a) > len(b) else b, POISON))
                self._refuse_places(label, item, a, b, change.span)
            merged.append((item, {
                key: self.place(place(label, item, key), a.get(key), b.get(key))
                for key in dict.fromkeys((*a, *b))
            }))  # fmt: skip
        for item, contents in merged:
            fill(item, contents)

    def place(self, label: str, a: Item | None, b: Item | None) -> Item:
        """What a place has behind the branch that has ``a`` and ``b`` at the ends of the sides."""
        kept = settled(a) if same(a, b) else None
        return self.deferred(label, a, b) if kept is None else kept

    def _merge(self, then: dict[str, Item], other: dict[str, Item] | None) -> dict[str, Item]:
        """The names behind the branch; without ``other`` only ``then`` ever runs."""
        found: dict[str, Item] = {}
        if other is None:
            return {name: self.only(name, item) for name, item in then.items()}
        for name in dict.fromkeys((*then, *other)):
            a, b = then.get(name), other.get(name)
            if name in HIDDEN:
                a, b = a or Known(False), b or Known(False)
            kept = settled(a) if same(a, b) else None
            partial = is_partial(a) or is_partial(b)
            for side, (item, names) in enumerate(((a, then), (b, other))):
                skips = self.leaves[side] and (BREAK in names or CONTINUE in names)
                partial = partial or (item is None and skips and name != VALUE)
            if kept is None or partial:
                found[name] = self.deferred(name, a, b)
                found[name].partial = partial  # type: ignore[union-attr]
            else:
                found[name] = kept
        return found

    def only(self, name: str, item: Item) -> Item:
        """The value behind the branch of a name that has ``item`` on the side that runs."""
        if isinstance(item, Deferred):
            if item.found is not None:
                return self.only(name, item.found)
            inner = resolved(item)
            inner = self._only(name, inner) if is_structure(inner) else None
            return Deferred(lambda span: self.kept(name, item.settle(span), span), inner=inner)
        if is_structure(item):
            return self._only(name, item)
        if self.sees(item):
            return item
        return Deferred(lambda span: self.kept(name, item, span))

    def _only(self, name: str, item: Structure) -> Item:
        if self.existed(item) or self.sees(item):
            return item
        return self.structure(name, *self._sided(item)) or item

    def contents(self, side: Side, item: Structure) -> dict[object, Item]:
        """What ``item`` holds at the end of ``side``."""
        if id(item) in side.changes:
            return side.changes[id(item)].after
        change = self.changed.get(id(item))
        return places(item) if change is None else change.before

    def _sided(self, item: Item) -> tuple[Item | None, Item | None]:
        return (None, item) if self.leaves[0] else (item, None)

    def kept(self, name: str, item: Item, span: Span) -> Item:
        if is_structure(item):
            return self._only(name, item)
        if self.sees(item):
            return item
        return self.named(name, *self._sided(item), span)

    def deferred(self, name: str, then: Item | None, other: Item | None) -> Deferred:
        inner = self.structure(name, then, other)
        return Deferred(lambda span: self.named(name, then, other, span), inner=inner)

    # --- structures ---

    def existed(self, item: Item) -> bool:
        """Whether ``item`` stood there before the branch."""
        return any(id(item) in side.existed for side in self.sides)

    def structure(self, label: str, then: Item | None, other: Item | None) -> Structure | None:
        """The structure that holds, place by place, what those of the two sides do; None: there is
        none. What it holds is merged where it is read."""
        a, b = resolved(then), resolved(other)
        some = a if a is not None else b
        if not is_structure(some) or way(a, b) != "structure":
            return None
        if a is b or (None in (a, b) and self.existed(some)):
            return some
        known = self.made.get((id(a), id(b)))
        if known is not None:
            return known
        contents = [
            self.contents(side, item) if is_structure(item) else {}
            for side, item in zip(self._both(), (a, b), strict=True)
        ]
        label = label.strip("<>")
        made = like(some, {
            key: self._part(place(label, some, key), *(one.get(key) for one in contents))
            for key in places(some)
        })  # fmt: skip
        self.made[id(a), id(b)] = made
        sources = [item for item in (a, b) if is_structure(item)]
        self.frame.context.kin.join(made, label, self.draft.span, *sources)
        return made

    def _both(self) -> list[Side]:
        return [*self.sides, Side({})][:2]

    def _part(self, label: str, then: Item | None, other: Item | None) -> Item:
        if same(then, other):
            return settled(then) or POISON

        def read(span: Span) -> Item:
            joined = self.join(label, then, other, span)
            if joined is None:
                self.refuse_types(label, settled(then), settled(other), span)
            return joined

        return Deferred(read, inner=self.structure(label, then, other))

    def named(self, name: str, then: Item | None, other: Item | None, span: Span) -> Item:
        """The value of ``name`` behind the branch, read at ``span``."""
        for side, item in enumerate((then, other)):
            # What follows is not reached from a side that control leaves.
            if item is None and name != VALUE and not self.leaves[side]:
                self._refuse_unset(name, side == 0, span)
        joined = self.join(name.strip("<>"), then, other, span)
        if joined is None:
            self.refuse_types(name, settled(then), settled(other), span)
        return joined

    # --- values ---

    def join(self, name: str, then: Item | None, other: Item | None, span: Span) -> Item | None:
        """One value for both sides, None when there is none; a side without one does not count."""
        then = then.settle(span) if isinstance(then, Deferred) else then
        other = other.settle(span) if isinstance(other, Deferred) else other
        if same(then, other):
            return then
        if isinstance(then, v.Poison) or isinstance(other, v.Poison):
            return v.POISON
        how = way(then, other)
        if how == "number":
            return self._join_numbers(name, then, other, span)
        if how == "tensor":
            return self._join_tensors(name, then, other, span)
        if how == "structure":
            return self.structure(name, then, other)
        some = then if then is not None else other
        if how == "object" and some is not None and not self.sees(some):
            self._refuse_contents(name, some, span)
        return some if how == "object" else None
