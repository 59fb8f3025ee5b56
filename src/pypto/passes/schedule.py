"""The order of a kernel's stages: what all cores run together, what each runs alone, what waits.

Straight statements become stages. A loop whose iterations are independent is shared by the cores;
any other loop is run by all of them together, stage by stage. A wait stands exactly where an access
to global memory needs what another one did before; loops are walked until nothing is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from pypto.ir.expr import variables_of
from pypto.ir.ranges import Ranges
from pypto.ir.sizes import Sizes
from pypto.ir.tensor import (
    Buffer,
    Dump,
    For,
    If,
    Kernel,
    LoadScalar,
    Print,
    Simple,
    Statement,
    root,
)
from pypto.ir.tile import Wait
from pypto.passes.boxes import Touched
from pypto.passes.fuse import fuse
from pypto.passes.memory import NOTHING, Keeping
from pypto.passes.stage import Stage
from pypto.passes.touches import Scope, Touch, touch_of, touches_of

__all__ = ["Branch", "Item", "Loop", "Part", "Read", "Schedule", "Shown", "schedule", "stages_of"]

SHARED_TRIPS = 8
"""A loop of fewer iterations is not worth sharing: every stage in it has more tiles."""


@dataclass(slots=True, eq=False)
class Part:
    """One stage. ``alone``: in a loop that the cores share."""

    stage: Stage
    alone: bool
    touches: list[Touch]


@dataclass(slots=True, eq=False)
class Loop:
    """Loops over ``body``; several are one range, shared by the cores. ``keeping``: what stays on
    chip in it."""

    loops: tuple[For, ...]
    over_cores: bool
    body: list[Item]
    keeping: Keeping = NOTHING


@dataclass(slots=True, eq=False)
class Branch:
    branch: If
    then: list[Item]
    other: list[Item]


@dataclass(slots=True, eq=False)
class Read:
    load: LoadScalar
    touch: Touch


@dataclass(slots=True, eq=False)
class Shown:
    """A tensor that is printed, from global memory."""

    dump: Dump
    touch: Touch


Item: TypeAlias = Part | Loop | Branch | Read | Print | Shown | Wait


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """The items of a kernel in order, and the local tensors that each core has for itself."""

    body: list[Item]
    private: frozenset[Buffer]
    scope: Scope

    @property
    def ranges(self) -> Ranges:
        """What is known of the kernel's variables."""
        return self.scope.ranges

    def shared_loops(self) -> list[Loop]:
        """The loops that the cores share."""
        return [loop for loop in _loops(self.body) if loop.over_cores]

    def waited(self) -> list[Item]:
        """The items with the waits that they need, when loops keep on chip what they say."""
        kept = {m for loop in self.shared_loops() for m in loop.keeping.slots}
        scalars = any(isinstance(item, Read | Shown) for item in _walk(self.body))
        return _Waits(self.scope, self.private, kept, scalars).run(self.body)


def schedule(kernel: Kernel, sizes: Sizes, same: Mapping[Buffer, Buffer]) -> Schedule:
    """How ``kernel`` runs on the cores."""
    conditions = [p.condition for p in kernel.preconditions]
    made = _Scheduler(sizes, dict(same), Scope.of(kernel.body, conditions))
    items = made.block(kernel.body, alone=False)
    return Schedule(items, frozenset(made.private), made.scope)


def stages_of(items: list[Item]) -> Iterator[Stage]:
    """Every stage of ``items``, in program order."""
    return (part.stage for part in _parts(items))


@dataclass(slots=True)
class _Scheduler:
    sizes: Sizes
    same: dict[Buffer, Buffer]
    scope: Scope
    private: set[Buffer] = field(default_factory=set)

    def block(self, body: tuple[Statement, ...], *, alone: bool) -> list[Item]:
        items: list[Item] = []
        run: list[Simple] = []
        for statement in body:
            if isinstance(statement, Simple):
                run.append(statement)
                continue
            if isinstance(statement, Print):
                items.append(statement)  # of scalars, which are there: no stage is cut for it
                continue
            items += self._stages(run, alone)
            run = []
            if isinstance(statement, For):
                items.append(self._loop(statement, alone))
            elif isinstance(statement, If):
                then = self.block(statement.then, alone=alone)
                items.append(Branch(statement, then, self.block(statement.other, alone=alone)))
            elif isinstance(statement, Dump):
                items.append(Shown(statement, touch_of(statement, self.same)))
            else:
                items.append(Read(statement, touch_of(statement, self.same)))
        return items + self._stages(run, alone)

    def _stages(self, run: list[Simple], alone: bool) -> list[Item]:
        stages = fuse(run, self.sizes, self.same, self.scope) if run else []
        return [Part(s, alone, touches_of(s, self.same)) for s in stages]

    def _loop(self, loop: For, alone: bool) -> Loop:
        body = self.block(loop.body, alone=alone)
        if alone or not self._worth_sharing(loop, body):
            return Loop((loop,), False, body)
        if not self._independent(loop, body):
            return Loop((loop,), False, body)
        loops: tuple[For, ...] = (loop,)
        while len(body) == 1 and isinstance(body[0], Loop) and self._joins(loops, body[0]):
            loops, body = (*loops, *body[0].loops), body[0].body
        for part in _parts(body):
            part.alone = True
        for inner in _loops(body):
            inner.over_cores = False
        touched = {t.memory for t in _touches(body)}
        self.private |= {m for m in touched if self._own(m, loop, body)}
        return Loop(loops, True, body)

    def _worth_sharing(self, loop: For, body: list[Item]) -> bool:
        trips = self.scope.trips(loop)
        enough = trips is None or trips >= SHARED_TRIPS or loop.parallel
        return enough and any(True for _ in _parts(body))

    def _joins(self, loops: tuple[For, ...], inner: Loop) -> bool:
        """Whether ``inner``, independent too, can be one range with ``loops`` around it."""
        indices = {loop.index for loop in loops}
        bounds = {
            v
            for one in inner.loops
            for e in (one.start, one.stop, one.step)
            for v in variables_of(e)
        }
        if bounds & indices:
            return False
        return self._independent(inner.loops[0], inner.body)

    def _independent(self, loop: For, body: list[Item]) -> bool:
        """Whether the iterations of ``loop`` may run in any order, at the same time."""
        if loop.scalars:
            return False
        touches = list(_touches(body))
        written = {t.memory for t in touches if t.writes}
        shared = {m for m in written if not self._own(m, loop, body)}
        if not shared or loop.parallel:
            return True
        involved = [t for t in touches if t.memory in shared]
        involved = list(dict.fromkeys(replace(t, owner=None) for t in involved))
        for relation in (-1, 1):
            others = Touched(self.scope)
            others.add(self.scope.elsewhere(involved, loop, relation))
            for touch in involved:
                near = others.near(touch, written=not touch.writes)
                if any(self.scope.meet(touch, other) for other in near):
                    return False
        return True

    def _own(self, memory: Buffer, loop: For, body: list[Item]) -> bool:
        """Whether each iteration has ``memory`` for itself."""
        if memory.param is not None:
            return False
        inner = [loop, *(one for item in _loops(body) for one in item.loops)]
        if any(memory in one.locals for one in inner):
            return True
        # Handed over between stages of one block: written before it is read.
        return not any(memory is root(b) for b in self.same)


def _walk(items: list[Item]) -> Iterator[Item]:
    """Every item, and those in loops and branches, in program order."""
    for item in items:
        yield item
        if isinstance(item, Loop):
            yield from _walk(item.body)
        elif isinstance(item, Branch):
            yield from _walk(item.then)
            yield from _walk(item.other)


def _parts(items: list[Item]) -> Iterator[Part]:
    return (item for item in _walk(items) if isinstance(item, Part))


def _loops(items: list[Item]) -> Iterator[Loop]:
    return (item for item in _walk(items) if isinstance(item, Loop))


def _touches(items: list[Item]) -> Iterator[Touch]:
    for item in _walk(items):
        if isinstance(item, Part):
            yield from item.touches
        elif isinstance(item, Read | Shown):
            yield item.touch


def _waits(items: list[Item]) -> int:
    """How many waits there are."""
    return sum(isinstance(item, Wait) for item in _walk(items))


@dataclass(slots=True)
class _Open:
    """What was touched since the last wait: of all cores, and of each core for itself."""

    cores: Touched
    core: Touched

    @staticmethod
    def nothing(scope: Scope) -> _Open:
        return _Open(Touched(scope), Touched(scope))

    def above(self) -> _Open:
        """For a block that begins here."""
        return _Open(self.cores.above(), self.core.above())

    def add(self, touches: list[Touch]) -> None:
        self.cores.add(touches)
        self.core.add(touches)

    def wait(self, kind: Wait) -> None:
        """Behind a wait."""
        self.core.clear()
        if kind is Wait.CORES:
            self.cores.clear()

    def behind(self, *sides: _Open) -> None:
        """Behind a block of which one side was run."""
        _either(self.cores, [side.cores for side in sides])
        _either(self.core, [side.core for side in sides])


def _either(state: Touched, sides: list[Touched]) -> None:
    if all(side.below is None for side in sides):
        state.clear()  # all sides have waited
    for side in sides:
        state.add(side.own())


@dataclass(slots=True)
class _Waits:
    """Inserts waits. ``alone``: in a loop that the cores share, where each waits for itself only.

    A core's own copies in are complete before it can store what depends on them, and vector
    instructions run in order: where one core meets itself it waits only for what it has stored, and
    for what its scalar unit has read.
    """

    scope: Scope
    private: Set[Buffer]
    kept: Set[Buffer]  # on chip: no access to it goes to global memory
    scalars: bool  # whether the scalar unit reads anything
    alone: bool = False

    def run(self, items: list[Item]) -> list[Item]:
        return self._block(items, _Open.nothing(self.scope))

    def _block(self, items: list[Item], state: _Open) -> list[Item]:
        """``items`` with the waits that they need after ``state``, which is then that behind."""
        out: list[Item] = []
        for item in items:
            if isinstance(item, Print):
                out.append(item)
            elif isinstance(item, Wait):
                out.append(item)
                state.wait(item)
            elif isinstance(item, Part | Read | Shown):
                touches = self._touches([item])
                self._before(touches, state, out)
                state.add(touches)
                out.append(item)
            elif isinstance(item, Branch):
                first, second = state.above(), state.above()
                then, other = self._block(item.then, first), self._block(item.other, second)
                out.append(Branch(item.branch, then, other))
                state.behind(first, second)
            elif item.over_cores and not self.alone:
                self._shared(item, state, out)
            else:
                self._loop(item, state, out)
        return out

    def _touches(self, items: list[Item]) -> list[Touch]:
        """What ``items`` touch in global memory."""
        return [touch for touch in _touches(items) if touch.memory not in self.kept]

    def _before(self, touches: list[Touch], state: _Open, out: list[Item]) -> None:
        """Wait if ``touches`` need what was done in ``state``."""
        if not self.alone and self._any_conflict(touches, state.cores, own=False):
            out.append(Wait.CORES)
            state.wait(Wait.CORES)
        elif self._any_conflict(touches, state.core, own=True):
            out.append(Wait.CORE)
            state.wait(Wait.CORE)

    def _any_conflict(self, touches: list[Touch], state: Touched, *, own: bool) -> bool:
        """Whether a touch meets an earlier one of the same core (``own``) or of another."""
        for new in touches:
            for old in state.near(new, written=not new.writes or (own and not self.scalars)):
                one_core = self.alone or (new.owner is not None and new.owner == old.owner)
                if own and not (old.writes or old.scalar):
                    continue
                if one_core is own and self.scope.meet(new, old):
                    return True
        return False

    def _shared(self, item: Loop, state: _Open, out: list[Item]) -> None:
        """A loop that the cores share, as one step of all of them."""
        touches = [replace(touch, owner=None) for touch in self._touches(item.body)]
        touches = self._any(item, list(dict.fromkeys(touches)))
        self._before(touches, state, out)
        inside = replace(self, alone=True)
        out.append(replace(item, body=inside._repeated(item)[0]))
        state.add(touches)

    def _loop(self, item: Loop, state: _Open, out: list[Item]) -> None:
        body, behind = self._repeated(item)
        both = state.above()
        both.cores.add(behind.cores.own())
        both.core.add(behind.core.own())
        again = self._block(body, both)
        if _waits(again) > _waits(body):
            # Once before the loop, not in each iteration for what was done before the first.
            self._before(self._touches(body), state, out)
        else:
            behind = both
        out.append(replace(item, body=body))
        state.cores.add(self._any(item, behind.cores.own()))
        state.core.add(self._any(item, behind.core.own()))

    def _repeated(self, item: Loop) -> tuple[list[Item], _Open]:
        """The body with all waits that its repetition needs, and the state at its end."""
        behind = _Open.nothing(self.scope)
        body = self._block(item.body, behind)
        while True:
            state = _Open.nothing(self.scope)
            state.cores.add(self._earlier(item, behind.cores.own()))
            state.core.add(self._earlier(item, behind.core.own()))
            again, behind = self._block(body, state), state
            if _waits(again) == _waits(body):
                return again, behind
            body = again

    def _earlier(self, item: Loop, touches: list[Touch]) -> list[Touch]:
        """What iterations before left. Those of a shared loop meet in a core's own memory only."""
        if item.over_cores:
            return [t for t in touches if t.memory in self.private]
        return self.scope.elsewhere(touches, item.loops[0], -1)

    def _any(self, item: Loop, touches: list[Touch]) -> list[Touch]:
        """``touches`` of an iteration as those of any iteration."""
        for loop in item.loops:
            touches = self.scope.elsewhere(touches, loop, 0)
        return touches
