"""What the parts of a kernel read and write in global memory, and whether two of them can meet.

A touch is a box of a buffer. Its place may depend on loops' indices; two touches in different
iterations are compared by giving the variables of one of them other names, within the same bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pypto.ir.expr import Expr, Variable, apply, as_int, const, variables_of
from pypto.ir.ranges import Ranges
from pypto.ir.sizes import substitute
from pypto.ir.tensor import (
    Buffer,
    Dump,
    For,
    If,
    Load,
    LoadScalar,
    Shape,
    Statement,
    Store,
    start_of,
)
from pypto.passes.access import access_of
from pypto.passes.stage import Stage

__all__ = ["Scope", "Touch", "touch_of", "touches_of"]


@dataclass(frozen=True, slots=True)
class Touch:
    """A box of ``buffer``, whose memory is that of ``memory``, read or written.

    ``owner``: says which core touches which element of it; two touches of one owner that meet do so
    on one core. None: nothing is known. ``scalar``: by the scalar unit.
    """

    memory: Buffer
    buffer: Buffer
    offsets: Shape
    sizes: Shape
    writes: bool
    owner: object = None
    scalar: bool = False

    @property
    def variables(self) -> set[Variable]:
        return set().union(*(variables_of(e) for e in (*self.offsets, *self.sizes)))


def touch_of(access: Load | Store | LoadScalar | Dump, same: Mapping[Buffer, Buffer]) -> Touch:
    """What ``access`` reads or writes."""
    memory = same.get(access.buffer, access.buffer)
    if isinstance(access, LoadScalar):
        ones = tuple(const(1) for _ in access.index)
        return Touch(memory, access.buffer, access.index, ones, False, scalar=True)
    region = access.region
    writes, scalar = isinstance(access, Store), isinstance(access, Dump)
    return Touch(memory, access.buffer, region.offsets, region.sizes, writes, scalar=scalar)


def touches_of(stage: Stage, same: Mapping[Buffer, Buffer]) -> list[Touch]:
    """What ``stage`` reads and writes, each box once."""
    fixed = not any(variables_of(axis.size) for axis in stage.axes)
    found: dict[Touch, None] = {}
    for node, statement in stage.accesses():
        touch = touch_of(statement, same)
        access = access_of(statement)
        if fixed and not variables_of(access.offset):
            # A stage that runs again gives each core the same part of its space, and that the same
            # elements of what does not move.
            touch = replace(touch, owner=(id(stage), node.axes, access))
        found.setdefault(touch)
    return list(found)


@dataclass(slots=True)
class Scope:
    """All loops of a kernel: the bounds of their indices, and which variables a body defines."""

    ranges: Ranges = field(default_factory=Ranges)
    loops: dict[Variable, For] = field(default_factory=dict)
    inside: dict[Variable, set[Variable]] = field(default_factory=dict)  # by a loop's index
    next_id: int = 0
    placed: dict[object, Any] = field(default_factory=dict)  # of boxes.py: where touches are

    @staticmethod
    def of(body: tuple[Statement, ...], known: Iterable[Expr]) -> Scope:
        """The loops of a kernel's ``body``. ``known``: conditions that hold in every call."""
        scope = Scope()
        if any(isinstance(statement, For | If) for statement in body):
            for condition in known:
                scope.ranges = scope.ranges.assume(condition)
        scope._enter(body)
        return scope

    def _enter(self, body: tuple[Statement, ...]) -> None:
        for statement in body:
            for variable in _defined_here(statement):
                self.next_id = max(self.next_id, variable.id + 1)
            if isinstance(statement, For):
                self.loops[statement.index] = statement
                self.inside[statement.index] = defined_in(statement.body)
                self.ranges = self.ranges.enter(
                    statement.index, statement.start, statement.stop, statement.step
                )
                self._enter(statement.body)
            elif isinstance(statement, If):
                self._enter(statement.then)
                self._enter(statement.other)

    def fresh(self, name: str) -> Variable:
        """A variable that no part of the kernel has."""
        self.next_id += 1
        return Variable(f"{name}'", self.next_id)

    def meet(self, a: Touch, b: Touch) -> bool:
        """Whether ``a`` and ``b`` may share an element."""
        if a.memory is not b.memory:
            return False
        if a.buffer is not b.buffer and a.buffer.type.shape != b.buffer.type.shape:
            return True
        if a.buffer.type.dtype.bytes != b.buffer.type.dtype.bytes:
            return True
        if a.buffer is not b.buffer and start_of(a.buffer) != start_of(b.buffer):
            return True
        return not any(
            self._apart(at, size, other) or self._apart(other, length, at)
            for at, size, other, length in zip(a.offsets, a.sizes, b.offsets, b.sizes, strict=True)
        )

    def _apart(self, start: Expr, size: Expr, other: Expr) -> bool:
        """Whether what starts at ``start`` ends before ``other``."""
        first, extent, second = as_int(start), as_int(size), as_int(other)
        if first is not None and extent is not None and second is not None:
            return first + extent <= second
        return self.ranges.at_most(apply("add", start, size), other)

    def elsewhere(self, touches: Iterable[Touch], loop: For, relation: int) -> list[Touch]:
        """``touches`` as they are in another iteration of ``loop``: an earlier one (``relation``
        -1), a later one (1) or any (0)."""
        inside = self.inside[loop.index]
        found: list[Touch] = []
        names: dict[Expr, Expr] = {}
        if relation:
            apart = self.fresh("d")
            self.ranges = self.ranges.know(apart, const(0), None)
            distance = apply("mul", loop.step, apply("add", apart, const(1)))
            names[loop.index] = apply("add" if relation > 0 else "sub", loop.index, distance)
        else:
            names[loop.index] = self._renamed(loop, names)
        for touch in touches:
            for variable in sorted(touch.variables & inside, key=lambda v: v.id):
                self._rename(variable, names)
            found.append(_moved(touch, names))
        return found

    def _rename(self, variable: Variable, names: dict[Expr, Expr]) -> None:
        if variable in names:
            return
        loop = self.loops.get(variable)
        if loop is None:
            names[variable] = self.fresh(variable.name)
            return
        bounds = set().union(*(variables_of(e) for e in (loop.start, loop.stop, loop.step)))
        for outer in sorted(bounds, key=lambda v: v.id):
            if outer in self.loops and outer not in names and self._inside(outer, names):
                self._rename(outer, names)
        names[variable] = self._renamed(loop, names)

    def _inside(self, variable: Variable, names: Mapping[Expr, Expr]) -> bool:
        """Whether a loop whose index has another name is around that of ``variable``."""
        return any(
            isinstance(outer, Variable) and outer in self.loops and variable in self.inside[outer]
            for outer in names
        )

    def _renamed(self, loop: For, names: Mapping[Expr, Expr]) -> Variable:
        """Another name for the index of ``loop``, with the same bounds."""
        name = self.fresh(loop.index.name)
        bounds = (substitute(e, dict(names)) for e in (loop.start, loop.stop, loop.step))
        self.ranges = self.ranges.enter(name, *bounds)
        return name

    def trips(self, loop: For) -> int | None:
        """How often ``loop`` runs, where that is a constant."""
        bounds = [as_int(e) for e in (loop.start, loop.stop, loop.step)]
        if loop.until is not None or None in bounds:
            return None
        start, stop, step = (b or 0 for b in bounds)
        return len(range(start, stop, step))


def _moved(touch: Touch, names: dict[Expr, Expr]) -> Touch:
    return replace(
        touch,
        offsets=tuple(substitute(e, names) for e in touch.offsets),
        sizes=tuple(substitute(e, names) for e in touch.sizes),
    )


def _defined_here(statement: Statement) -> list[Variable]:
    if isinstance(statement, LoadScalar):
        return [statement.result]
    if isinstance(statement, If):
        return [m.result for m in statement.merges]
    if isinstance(statement, For):
        carried = statement.scalars
        return [statement.index, *(v for c in carried for v in (c.inner, c.result))]
    return []


def defined_in(body: tuple[Statement, ...]) -> set[Variable]:
    """Every variable that ``body`` or what is in it defines."""
    found: set[Variable] = set()
    for statement in body:
        found.update(_defined_here(statement))
        if isinstance(statement, For):
            found |= defined_in(statement.body)
        elif isinstance(statement, If):
            found |= defined_in(statement.then) | defined_in(statement.other)
    return found
