"""Remove statements whose results nothing needs: values, stores, scalars, loops and branches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from pypto.ir.expr import Expr, Variable, const, variables_of
from pypto.ir.tensor import (
    Buffer,
    Dump,
    For,
    If,
    Kernel,
    Load,
    LoadScalar,
    Print,
    Statement,
    Store,
    Value,
    root,
    scalars_of,
    start_of,
    walk,
)

__all__ = ["eliminate_dead", "read_in", "written_in"]


def written_in(body: tuple[Statement, ...], same: Mapping[Buffer, Buffer]) -> set[Buffer]:
    """Memory that ``body`` or what is in it writes."""
    return {same[s.buffer] for s in walk(body) if isinstance(s, Store)}


def read_in(body: tuple[Statement, ...], same: Mapping[Buffer, Buffer]) -> set[Buffer]:
    """Memory that ``body`` or what is in it reads."""
    return {same[s.buffer] for s in walk(body) if isinstance(s, Load | LoadScalar | Dump)}


def _writes_nothing(store: Store) -> bool:
    """A region without elements, of a tensor that has some: ``o[2:2] = ...``."""
    return const(0) in store.region.sizes and const(0) not in store.buffer.type.shape


def eliminate_dead(kernel: Kernel, same: Mapping[Buffer, Buffer]) -> Kernel:
    """``kernel`` without dead statements."""
    while True:
        # What a dead load in a loop reads looks needed until the load is gone.
        count = sum(1 for _ in walk(kernel.body))
        kernel = replace(kernel, body=_Backward(same).block(kernel.body, set()))
        nested = any(isinstance(s, For | If) for s in kernel.body)
        if not nested or sum(1 for _ in walk(kernel.body)) == count:
            return kernel


@dataclass(slots=True)
class _Backward:
    """A walk from the end: what is needed behind the place that it has reached."""

    same: Mapping[Buffer, Buffer]
    live: set[Value] = field(default_factory=set)
    used: set[Variable] = field(default_factory=set)
    loaded: set[Buffer] = field(default_factory=set)  # memory that a kept later statement reads

    def block(self, body: tuple[Statement, ...], overwritten: set[Buffer]) -> tuple[Statement, ...]:
        """``body`` without what is dead. ``overwritten``: memory that is written whole behind it
        and not read in between."""
        kept: list[Statement] = []
        for statement in reversed(body):
            found = self._statement(statement, overwritten)
            if found is not None:
                kept.append(found)
        return tuple(reversed(kept))

    def _statement(self, statement: Statement, overwritten: set[Buffer]) -> Statement | None:
        if isinstance(statement, For):
            return self._for(statement, overwritten)
        if isinstance(statement, If):
            return self._if(statement, overwritten)
        if isinstance(statement, Store):
            memory = self.same[statement.buffer]
            if memory in overwritten or _writes_nothing(statement):
                return None
            if root(statement.buffer).param is None and memory not in self.loaded:
                return None
            if statement.region.covers(statement.buffer) and statement.buffer.base is None:
                overwritten.add(memory)
            self.live.add(statement.value)
        elif isinstance(statement, LoadScalar):
            if statement.result not in self.used:
                return None
            self._read(self.same[statement.buffer], overwritten)
        elif isinstance(statement, Dump):
            self._read(self.same[statement.buffer], overwritten)
        elif isinstance(statement, Print):
            pass
        elif statement.result not in self.live:
            return None
        elif isinstance(statement, Load):
            self._read(self.same[statement.buffer], overwritten)
        else:
            self.live.update(a for a in statement.args if isinstance(a, Value))
        if isinstance(statement, Load | Store | LoadScalar | Dump):
            self._mention((*statement.buffer.type.shape, start_of(statement.buffer)))
        self._mention(scalars_of(statement))
        return statement

    def _read(self, memory: Buffer, overwritten: set[Buffer]) -> None:
        overwritten.discard(memory)
        self.loaded.add(memory)

    def _mention(self, exprs: Iterable[Expr]) -> None:
        for expr in exprs:
            self.used |= variables_of(expr)

    def _for(self, loop: For, overwritten: set[Buffer]) -> Statement | None:
        self.loaded |= read_in(loop.body, self.same)
        self._mention(c.next for c in loop.scalars)
        body = self.block(loop.body, set())
        overwritten -= read_in(body, self.same)
        needed = tuple(c for c in loop.carried if {c.result, c.inner} & self.used)
        if not body and not any(c.result in self.used for c in loop.scalars):
            return None
        kept = replace(loop, body=body, carried=needed, locals=_mentioned(loop.locals, body))
        self._mention(scalars_of(kept))
        return kept

    def _if(self, branch: If, overwritten: set[Buffer]) -> Statement | None:
        merges = tuple(m for m in branch.merges if m.result in self.used)
        self._mention(e for m in merges for e in (m.then, m.other))
        then, other = (
            self.block(branch.then, set(overwritten)),
            self.block(branch.other, set(overwritten)),
        )
        if not then and not other and not merges:
            return None
        overwritten -= read_in((*then, *other), self.same)
        kept = replace(branch, then=then, other=other, merges=merges)
        self._mention(scalars_of(kept))
        return kept


def _mentioned(buffers: tuple[Buffer, ...], body: tuple[Statement, ...]) -> tuple[Buffer, ...]:
    used = {s.buffer for s in walk(body) if isinstance(s, Load | Store | LoadScalar | Dump)}
    bases = {root(b) for b in used}
    return tuple(b for b in buffers if b in used or b in bases)
