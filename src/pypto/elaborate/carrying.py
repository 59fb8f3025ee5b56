"""Names, and places of objects, that a run-time loop changes, as iterations hand them on.

The body is read once. Before that, each name that it assigns gets a deferred value: who reads it
before it is assigned gets what the iteration before has left. Lists, tuples, dicts and objects are
handed on place by place. A guess that turns out wrong (a number that becomes a float, a local
tensor that is replaced and not written, an object that the body changes or replaces) is recorded,
and the kernel is read again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from pypto.elaborate.carried import Places, Slot
from pypto.elaborate.diagnostics import Decide, refuse
from pypto.elaborate.exits import RETURN, VALUE
from pypto.elaborate.heap import Change, Held
from pypto.elaborate.joining import (
    common_kind,
    is_partial,
    refuse_partial,
    same,
    settled,
    way,
)
from pypto.elaborate.scalars import number
from pypto.elaborate.structures import (
    Structure,
    differ,
    fill,
    is_mutable,
    is_structure,
    like,
    place,
    places,
    resolved,
    words,
)
from pypto.elaborate.values import POISON, Deferred, Instance, Item, Known
from pypto.error import FeError, FeTypeError, Span
from pypto.ir.expr import Expr, const
from pypto.ir.tensor import Carried

__all__ = ["Carrier"]


@dataclass(slots=True, eq=False)
class Carrier(Places):
    """The names that one loop assigns, and the objects that it changes.

    ``objects``: places of objects that stood there before, by object and place.
    """

    names: dict[str, Slot] = field(default_factory=dict)
    held: Held = field(default_factory=lambda: Held({}))
    objects: dict[int, dict[object, Slot]] = field(default_factory=dict)
    joined: dict[tuple[int, int], Structure] = field(default_factory=dict)  # behind the loop
    entered: list[tuple[Slot, Item]] = field(default_factory=list)  # structures, and the last ones
    bound: dict[str, Span] = field(default_factory=dict)  # where names were set before
    started: int = 0

    def start(self, assigned: list[str], held: Held) -> None:
        """Inside the body: names that have a value before the loop get a deferred one."""
        self.held, self.bound = held, dict(self.frame.bound)
        for label in assigned:
            before = self.frame.locals.get(label)
            slot = self.names[label] = self._slot(label, (label,), before)
            if before is not None:
                self._prepare(slot)
                assert slot.deferred is not None
                self.frame.locals[label] = slot.deferred
        for item, label in held.objects.values():
            if is_structure(item) and is_mutable(item):
                self._prepare_places(item, label, held)
        self.started = self.frame.context.kin.time

    def _slot(self, label: str, key: tuple[object, ...], before: Item | None) -> Slot:
        return Slot(label, key, before, unwritten=self.frame.context.builder.holds_nothing(before))

    def _prepare_places(self, item: Structure, label: str, held: Held) -> None:
        """The places of ``item`` that the body changes get a deferred value, as names do."""
        contents = places(item)
        found: dict[object, Slot] = {}
        for key, one in contents.items():
            slot = self._slot(place(label, item, key), ("object", label, key), one)
            if self._decided(slot) is not None:
                self._prepare(slot)
                found[key] = slot
        if found:
            for region in self.frame.context.held:
                region.note(item, self.draft.span)
            held.note(item, self.draft.span)
            self.objects[id(item)] = found
            fill(item, {key: (found[key].deferred or one) if key in found else one
                        for key, one in contents.items()})  # fmt: skip

    def ends(self, away: Expr) -> None:
        """The loop ends where ``away`` is true at the end of an iteration."""
        builder, draft = self.frame.context.builder, self.draft
        what = "whether control leaves the loop"
        inner = builder.variable("left", "bool", draft.body, what, draft.span)
        result = builder.variable("left", "bool", draft.around, what, draft.span)
        draft.until = Carried(inner, const(False), away, result)
        if RETURN in self.frame.locals:
            self.names[RETURN] = Slot(RETURN, (RETURN,), Known(False))
            self.names[VALUE] = Slot(VALUE, (VALUE,), None, free=True)

    def end(self) -> None:
        """Behind the loop: each name, and each place of an object, gets its value there."""
        held, changes = self.held, self.held.take()
        behind: dict[str, Item] = {}
        for label, slot in self.names.items():
            self._set_at(slot, self.frame.bound.get(label))
            item = self._leave(slot, self.frame.locals.pop(label, None))
            if item is not None:
                behind[label] = item
        contents = [(c.item, self._contents(c)) for c in changes.values()]
        if self.wrong:
            self._decide_around()
            raise Decide(self.wrong)
        self._check_entered(held)
        self.closed = True
        self.frame.locals.update(behind)
        for item, found in contents:
            fill(item, found)

    def _set_at(self, slot: Slot, place: Span | None) -> None:
        if place is not None and place is not self.bound.get(slot.label):
            slot.set_at = place
            for part in slot.parts.values():
                self._set_at(part, place)

    # --- into an iteration ---

    def _prepare(self, slot: Slot) -> None:
        """Give ``slot`` the value that it has at the start of an iteration, where it is read."""
        before = resolved(slot.before)
        if not is_structure(before):
            slot.deferred = Deferred(lambda span: self._enter(slot, span))
            if self._decided(slot.at_once):
                slot.deferred.settle(self.draft.span)
            return
        if not is_mutable(before) or self._decided(slot) == "structure":
            slot.made = self._opened(slot, before)
        inner = slot.made or before

        def read(span: Span) -> Item:
            if isinstance(slot.before, Deferred):
                slot.before.settle(span)
            return inner

        slot.deferred = Deferred(read, inner=inner)

    def _opened(self, slot: Slot, before: Structure) -> Structure:
        """The structure that iterations hand on place by place, at the start of one."""
        for key, one in places(before).items():
            part = self._slot(place(slot.label, before, key), (*slot.key, key), one)
            part.optimistic = True
            slot.parts[key] = part
            self._prepare(part)
        found = {key: part.deferred for key, part in slot.parts.items()}
        made = like(before, {key: one for key, one in found.items() if one is not None})
        if is_mutable(before):
            self.frame.context.kin.join(made, slot.label, self.draft.span, before)
        return made

    # --- behind the loop ---

    def _leave(self, slot: Slot, last: Item | None) -> Item | None:
        """What ``slot`` has behind the loop; ``last``: at the end of an iteration."""
        if is_partial(last) and slot.before is None and not slot.free:
            return refuse_partial(slot.label, self.draft.span)
        if last is slot.deferred and not slot.read:
            return slot.before
        last, found = settled(last), resolved(last)
        if is_structure(found) and not is_partial(last):
            return self._leave_structure(slot, found)
        if same(last, slot.before) and not (slot.read and slot.carries):
            return slot.before
        if last is None:
            return None if slot.before is None else self._gone(slot)
        if not slot.read:
            slot.left = True
            return Deferred(lambda span: self._join(slot, last, span))
        return self._join(slot, last, self.draft.span)

    def _leave_structure(self, slot: Slot, last: Structure) -> Item:
        before, kin = resolved(slot.before), self.frame.context.kin
        if last is before and not slot.carries:
            return slot.before or last
        # A branch may have taken it over as one of its sides, without reading what it holds.
        read = slot.read or (is_structure(before) and bool(kin.of(before) & kin.of(last)))
        if read and slot.made is None and is_structure(before) and not differ(before, last):
            self._open(slot, before, last)
            return last
        if before is not None and (read or not self._runs()) and way(before, last) is None:
            if read:
                self._refuse_types(slot, last, self.draft.span)
            return Deferred(lambda span: self._refuse_types(slot, last, span))
        entered = slot.made is not None and way(before, last) is not None
        if before is None and not (self.runs or slot.free):
            return Deferred(lambda span: self._refuse_unset(slot, last, span))
        if not entered:
            before = before if is_structure(before) and not self._runs() else None
            if before is None and id(last) in self.held.objects:
                return last
        made = self._behind(slot, before if is_structure(before) else None, last, entered)
        if is_structure(before) and entered:
            old = places(before)
            if all(same(one, old[key]) for key, one in places(made).items()):
                return slot.before or made  # only read
        if entered and is_mutable(last):
            self.entered.append((slot, last))
        return made

    def _behind(
        self, slot: Slot, before: Structure | None, last: Structure, entered: bool
    ) -> Structure:
        """The structure behind the loop, of those before it and at the end of an iteration."""
        known = self.joined.get((id(before), id(last)))
        if known is not None and not entered:
            return known
        old = {} if before is None else places(before)
        now = self._now(last)
        found: dict[object, Item] = {}
        for key, one in now.items():
            label = place(slot.label, last, key)
            part = slot.parts.get(key) if entered else None
            if part is None:
                part = self._slot(label, (*slot.key, key), old.get(key))
                part.free, part.set_at = slot.free, slot.set_at
            item = self._leave(part, one)
            found[key] = one if item is None else item
        made = like(last, found)
        sources = [last] if before is None else [before, last]
        if is_mutable(last):
            self.frame.context.kin.join(made, slot.label, self.draft.span, *sources)
        return self.joined.setdefault((id(before), id(last)), made)

    def _now(self, item: Structure) -> dict[object, Item]:
        """What ``item`` holds at the end of an iteration."""
        change = self.held.changes.get(id(item))
        return places(item) if change is None else change.after

    def _open(self, slot: Slot, before: Structure, last: Structure) -> None:
        """The body puts another object in the place of one that it reads."""
        self._correct(slot, "structure")
        now = self._now(last)
        for key, one in places(before).items():
            a, b = resolved(one), resolved(now[key])
            if a is not b and is_structure(a) and is_structure(b) and not differ(a, b):
                self._open(self._slot("", (*slot.key, key), a), a, b)

    # --- objects that stood there before ---

    def _contents(self, change: Change) -> dict[object, Item]:
        """What an object that the body has changed holds behind the loop."""
        item, label = change.item, change.label
        before, after = change.before, change.after
        lost = [key for key in before if key not in after]
        if lost or (not isinstance(item, Instance) and [*before] != [*after]):
            fill(item, dict.fromkeys(after, POISON))
            self._refuse_places(label, item, change)
        slots = self.objects.get(id(item), {})
        found: dict[object, Item] = {}
        for key, one in after.items():
            old = before.get(key)
            slot = slots.get(key)
            if slot is None:
                slot = self._slot(place(label, item, key), ("object", label, key), old)
                if old is not None and not same(one, old):
                    self._correct(slot, self._how(slot, old, one))
                    continue
            self._set_at(slot, change.span)
            left = self._leave(slot, one)
            assert left is not None
            found[key] = left
        return found

    def _how(self, slot: Slot, old: Item, last: Item) -> str:
        """The decision about a place that has ``old`` before the loop and ``last`` at its end."""
        a, b = resolved(old), resolved(last)
        if is_structure(a) and is_structure(b) and not differ(a, b):
            self._open(slot, a, b)
            return "structure"
        x, y = (None if one is None else number(one) for one in (a, b))
        return common_kind(x, y) if x is not None and y is not None else "changed"

    def _decide_around(self) -> None:
        """Loops around change the same places of objects that stood there before them, too."""
        for region in self.frame.context.held:
            if region.loop is None:
                continue
            for which, change in self.held.changes.items():
                outer = region.objects.get(which)
                for key in change.before:
                    inner = (self.number, "object", change.label, key)
                    if outer is not None and inner in self.wrong:
                        around = (region.loop, "object", outer[1], key)
                        if around not in self.frame.context.decided:
                            self.wrong[around] = self.wrong[inner]

    def _check_entered(self, held: Held) -> None:
        """Refuse changes of objects that iterations hand on, where another name has the same one:
        what each name has is handed on by itself."""
        kin = self.frame.context.kin
        made = [slot.made for slot, _ in self.entered]
        sources = [kin.of(last) for _, last in self.entered if is_structure(last)]
        every = [kin.of(one) | more for one, more in zip(made, sources, strict=True) if one]
        for at, (slot, _) in enumerate(self.entered):
            own = kin.of(slot.made) if slot.made is not None else frozenset()
            shared = [
                which for which, (item, _) in held.objects.items()
                if is_structure(item) and kin.of(item) & (every[at] - own)
            ]  # fmt: skip
            twins = [made[i] for i, one in enumerate(every) if i != at and one & every[at]]
            if not shared and not twins:
                continue
            for which in (id(slot.made), *map(id, twins), *shared):
                change = kin.changed_since(which, self.started)
                if change is not None:
                    self._refuse_shared(slot, change)

    # --- what cannot be carried ---

    def _refuse_shared(self, slot: Slot, change: Span) -> NoReturn:
        refuse(
            FeError,
            f"an iteration changes the object that '{slot.label}' may share with another name",
            change,
            code="F00007",
            notes=(f"the loop is at {self.draft.span.location}",),
            help=f"let '{slot.label}' be an object of its own: make a new one in each iteration",
        )

    def _refuse_places(self, label: str, item: Structure, change: Change) -> NoReturn:
        refuse(
            FeTypeError,
            f"the run-time loop changes which items '{label}' has",
            change.span,
            expected=f"{words(like(item, change.before))}, as before the loop",
            got=f"{words(like(item, change.after))} at the end of an iteration",
            notes=(f"the loop is at {self.draft.span.location}",),
            help="give it all of its items before the loop, or make it inside; the items may "
            "change from iteration to iteration",
        )
