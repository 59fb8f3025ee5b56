"""The order of a kernel's stages: what all cores run together, what each runs alone, what waits.

Straight statements become stages. A loop whose iterations are independent is shared by the cores;
any other loop is run by all of them together, stage by stage. A wait stands exactly where an access
to global memory needs what another one did before; loops are walked until nothing is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from pypto.ir.expr import variables_of
from pypto.ir.ranges import Ranges
from pypto.ir.sizes import Sizes
from pypto.ir.tensor import Buffer, For, If, Kernel, LoadScalar, Simple, Statement, root
from pypto.ir.tile import Wait
from pypto.passes.fuse import fuse
from pypto.passes.stage import Stage
from pypto.passes.touches import Scope, Touch, touch_of, touches_of

__all__ = ["Branch", "Item", "Loop", "Part", "Read", "Schedule", "schedule", "stages_of"]

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
    """Loops over ``body``; several are one range, shared by the cores."""

    loops: tuple[For, ...]
    over_cores: bool
    body: list[Item]


@dataclass(slots=True, eq=False)
class Branch:
    branch: If
    then: list[Item]
    other: list[Item]


@dataclass(slots=True, eq=False)
class Read:
    load: LoadScalar
    touch: Touch


Item: TypeAlias = Part | Loop | Branch | Read | Wait


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """The items of a kernel in order, and the local tensors that each core has for itself."""

    body: list[Item]
    private: frozenset[Buffer]
    ranges: Ranges  # what is known of the kernel's variables


def schedule(kernel: Kernel, sizes: Sizes, same: Mapping[Buffer, Buffer]) -> Schedule:
    """How ``kernel`` runs on the cores."""
    conditions = [p.condition for p in kernel.preconditions]
    made = _Scheduler(sizes, dict(same), Scope.of(kernel.body, conditions))
    items = made.block(kernel.body, alone=False)
    items = _Waits(made.scope, made.private).run(items)
    return Schedule(items, frozenset(made.private), made.scope.ranges)


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
            items += self._stages(run, alone)
            run = []
            if isinstance(statement, For):
                items.append(self._loop(statement, alone))
            elif isinstance(statement, If):
                then = self.block(statement.then, alone=alone)
                items.append(Branch(statement, then, self.block(statement.other, alone=alone)))
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
        return any(True for _ in _parts(body)) and (trips is None or trips >= SHARED_TRIPS)

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
        for relation in (-1, 1):
            others = self.scope.elsewhere(involved, loop, relation)
            for touch in involved:
                for other in others:
                    if (touch.writes or other.writes) and self.scope.meet(touch, other):
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
        elif isinstance(item, Read):
            yield item.touch


def _waits(items: list[Item]) -> int:
    """How many waits there are."""
    return sum(isinstance(item, Wait) for item in _walk(items))


_State: TypeAlias = dict[Buffer, dict[Touch, None]]  # touches since the last wait, by memory


def _joined(state: _State, touches: Iterable[Touch]) -> _State:
    """``state`` and ``touches``."""
    found = {memory: dict(held) for memory, held in state.items()}
    for touch in touches:
        found.setdefault(touch.memory, {})[touch] = None
    return found


def _all(state: _State) -> list[Touch]:
    return [touch for held in state.values() for touch in held]


@dataclass(frozen=True, slots=True)
class _Open:
    """What was touched since the last wait: of all cores, and of each core for itself."""

    cores: _State
    core: _State

    def joined(self, touches: Iterable[Touch]) -> _Open:
        touches = list(touches)
        return _Open(_joined(self.cores, touches), _joined(self.core, touches))

    def either(self, other: _Open) -> _Open:
        return _Open(_joined(self.cores, _all(other.cores)), _joined(self.core, _all(other.core)))


_NOTHING = _Open({}, {})


@dataclass(slots=True)
class _Waits:
    """Inserts waits. ``alone``: in a loop that the cores share, where each waits for itself only.

    A core's own copies in are complete before it can store what depends on them, and vector
    instructions run in order: where one core meets itself it waits only for what it has stored.
    """

    scope: Scope
    private: set[Buffer]
    alone: bool = False

    def run(self, items: list[Item]) -> list[Item]:
        return self._block(items, _NOTHING)[0]

    def _block(self, items: list[Item], state: _Open) -> tuple[list[Item], _Open]:
        """``items`` with the waits that they need after ``state``, and the state behind them."""
        out: list[Item] = []
        for item in items:
            if isinstance(item, Wait):
                out.append(item)
                state = _NOTHING if item is Wait.CORES else _Open(state.cores, {})
            elif isinstance(item, Part | Read):
                touches = item.touches if isinstance(item, Part) else [item.touch]
                state = self._before(touches, state, out).joined(touches)
                out.append(item)
            elif isinstance(item, Branch):
                then, first = self._block(item.then, state)
                other, second = self._block(item.other, state)
                out.append(Branch(item.branch, then, other))
                state = first.either(second)
            elif item.over_cores and not self.alone:
                state = self._shared(item, state, out)
            else:
                state = self._loop(item, state, out)
        return out, state

    def _before(self, touches: list[Touch], state: _Open, out: list[Item]) -> _Open:
        """Wait if ``touches`` need what was done in ``state``; what is open then."""
        if not self.alone and self._any_conflict(touches, state.cores, own=False):
            out.append(Wait.CORES)
            return _NOTHING
        if self._any_conflict(touches, state.core, own=True):
            out.append(Wait.CORE)
            return _Open(state.cores, {})
        return state

    def _any_conflict(self, touches: list[Touch], state: _State, *, own: bool) -> bool:
        """Whether a touch meets an earlier one of the same core (``own``) or of another."""
        for new in touches:
            for old in state.get(new.memory, ()):
                one_core = self.alone or (new.owner is not None and new.owner == old.owner)
                if one_core is not own or not (new.writes or old.writes):
                    continue
                if (old.writes or not own) and self.scope.meet(new, old):
                    return True
        return False

    def _shared(self, item: Loop, state: _Open, out: list[Item]) -> _Open:
        """A loop that the cores share, as one step of all of them."""
        touches = list(_touches(item.body))
        for loop in item.loops:
            touches = self.scope.elsewhere(touches, loop, 0)
        touches = [replace(touch, owner=None) for touch in touches]
        state = self._before(touches, state, out)
        inside = _Waits(self.scope, self.private, alone=True)
        out.append(Loop(item.loops, True, inside._repeated(item, _NOTHING)[0]))
        return state.joined(touches)

    def _loop(self, item: Loop, state: _Open, out: list[Item]) -> _Open:
        body, behind = self._repeated(item, _NOTHING)
        again, both = self._block(body, state.either(behind))
        if _waits(again) > _waits(body):
            # Once before the loop, not in each iteration for what was done before the first.
            state = self._before(list(_touches(body)), state, out)
        else:
            behind = both
        out.append(Loop(item.loops, item.over_cores, body))
        left = _Open(
            _joined({}, self._any(item, behind.cores)), _joined({}, self._any(item, behind.core))
        )
        return state.either(left)

    def _repeated(self, item: Loop, state: _Open) -> tuple[list[Item], _Open]:
        """The body with all waits that its repetition needs, and the state at its end."""
        body, behind = self._block(item.body, state)
        while True:
            earlier = _Open(
                _joined({}, self._earlier(item, behind.cores)),
                _joined({}, self._earlier(item, behind.core)),
            )
            again, behind = self._block(body, state.either(earlier))
            if _waits(again) == _waits(body):
                return again, behind
            body = again

    def _earlier(self, item: Loop, state: _State) -> list[Touch]:
        """What iterations before left. Those of a shared loop meet in a core's own memory only."""
        touches = _all(state)
        if item.over_cores:
            return [t for t in touches if t.memory in self.private]
        return self.scope.elsewhere(touches, item.loops[0], -1)

    def _any(self, item: Loop, state: _State) -> list[Touch]:
        touches = _all(state)
        for loop in item.loops:
            touches = self.scope.elsewhere(touches, loop, 0)
        return touches
