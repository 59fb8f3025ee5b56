"""A loop that accumulates along an axis it does not mix is run by one core for each part of it.

``for j: acc[:] = acc + x[:, j]`` needs nothing of another row for a row. Cut into strips of rows,
with a loop over the strips around it, each strip's accumulators are small and its core's own: they
stay on chip, and no core waits for another. The statements before and behind the loop that go by
the same rows are cut with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from pypto.ir.expr import Expr, Variable, apply, as_int, const, variables_of
from pypto.ir.sizes import Sizes
from pypto.ir.tensor import (
    Buffer,
    Compute,
    Dump,
    For,
    If,
    Kernel,
    Load,
    LoadScalar,
    Operand,
    Print,
    Region,
    Simple,
    Statement,
    Store,
    TensorType,
    Value,
    operands_of,
    root,
    scalars_of,
    walk,
)
from pypto.passes.hoist import accumulates
from pypto.passes.strip_axes import Axes, Mixed
from pypto.passes.touches import Scope, defined_in

__all__ = ["interchange"]


def interchange(kernel: Kernel, same: dict[Buffer, Buffer], sizes: Sizes) -> Kernel:
    """``kernel`` with its accumulating loops in strips, where they go by an axis. Adds the local
    tensors of a strip to ``same``."""
    if not any(isinstance(s, For) and accumulates(s) for s in kernel.body):
        return kernel
    pass_ = _Interchange(kernel, same, sizes)
    return replace(kernel, body=tuple(pass_.body()), locals=tuple(pass_.kept()))


@dataclass(slots=True)
class _Interchange:
    kernel: Kernel
    same: dict[Buffer, Buffer]
    sizes: Sizes
    replaced: set[Buffer] = field(default_factory=set)  # local tensors that strips have instead

    def kept(self) -> Iterator[Buffer]:
        return (b for b in self.kernel.locals if b not in self.replaced)

    def body(self) -> Iterator[Statement]:
        body = self.kernel.body
        position = 0
        while position < len(body):
            end = position
            while end < len(body) and isinstance(body[end], Simple | For):
                end += 1
            yield from self._run(body, position, end)
            if end < len(body):
                yield body[end]
            position = end + 1

    def _run(self, body: Sequence[Statement], first: int, last: int) -> Iterator[Statement]:
        """Straight statements and loops: cut as a whole if they can be, else loop by loop."""
        loops = [n for n in range(first, last) if self._worth(body[n])]
        done = first
        for position, loop in enumerate(loops):
            if loop < done:
                continue
            behind = loops[position + 1] if position + 1 < len(loops) else last
            for start, end in _ways(done, loop, behind, last):
                strip = self._strip(body, start, end)
                if strip is not None:
                    yield from body[done:start]
                    yield strip
                    done = end
                    break
        yield from body[done:last]

    def _worth(self, statement: Statement) -> bool:
        return isinstance(statement, For) and accumulates(statement) and not statement.parallel

    def _strip(self, body: Sequence[Statement], start: int, end: int) -> For | None:
        part = tuple(body[start:end])
        rest = [*walk(tuple(body[:start])), *walk(tuple(body[end:]))]
        inside = {s.result for s in walk(part) if isinstance(s, Load | Compute)}
        scalars = defined_in(part)
        for statement in rest:
            if any(value in inside for value in operands_of(statement)):
                return None
            if any(variables_of(scalar) & scalars for scalar in scalars_of(statement)):
                return None
        for axis_of in _candidates(part):
            try:
                axes = Axes(part, self.same, self.sizes, *axis_of)
                axes.find()
                length = axes.length()
            except Mixed:
                continue
            outside = {
                self.same[s.buffer] for s in rest if isinstance(s, Load | LoadScalar | Store | Dump)
            }
            strips = _Strips(self.kernel, axes, length, self.same, outside)
            loop = strips.loop(part)
            self.replaced |= strips.local.keys()
            return loop
        return None


def _ways(first: int, loop: int, behind: int, last: int) -> dict[tuple[int, int], None]:
    """From where to where statements may be cut together, most of them first. ``behind``: the next
    loop."""
    ends = ((first, last), (first, behind), (first, loop + 1), (loop, behind), (loop, loop + 1))
    return dict.fromkeys(ends)


def _candidates(part: tuple[Statement, ...]) -> Iterator[tuple[Expr, int]]:
    """Axes of what loops accumulate in: their size, and how many are behind, outermost first."""
    seen: dict[tuple[Expr, int], None] = {}
    for statement in walk(part):
        if isinstance(statement, For):
            for store in walk(statement.body):
                if isinstance(store, Store) and root(store.buffer).param is None:
                    shape = store.buffer.type.shape
                    for axis, size in enumerate(shape):
                        if as_int(size) != 1:
                            seen.setdefault((size, len(shape) - 1 - axis))
    return iter(sorted(seen, key=lambda found: -found[1]))


class _Strips:
    """Writes the statements of a part for one strip."""

    def __init__(
        self,
        kernel: Kernel,
        axes: Axes,
        length: int,
        same: dict[Buffer, Buffer],
        outside: set[Buffer],
    ) -> None:
        scope = Scope.of(kernel.body, ())
        self.axes = axes
        self.length = length
        self.same = same
        self.index = Variable("strip", scope.next_id)
        self.start = apply("mul", self.index, length)
        known = as_int(axes.size)
        left = apply("sub", axes.size, self.start)
        whole = known is not None and known % length == 0
        self.held: Expr = const(length) if whole else apply("min", length, left)
        self.local: dict[Buffer, Buffer] = {}
        for memory, axis in axes.buffers.items():
            if memory.param is None and memory not in outside:
                self.local[memory] = self._small(memory, axis)
        made = [s.result.id for s in walk(kernel.body) if isinstance(s, Load | Compute)]
        self.next_id = 1 + max(made, default=0)
        self.renamed: dict[Value, Value] = {}

    def loop(self, part: tuple[Statement, ...]) -> For:
        trips = apply("floordiv", apply("add", self.axes.size, self.length - 1), self.length)
        loops = [s for s in walk(part) if isinstance(s, For)]
        inner = {buffer for one in loops for buffer in one.locals}
        own = (small for memory, small in self.local.items() if memory not in inner)
        body = tuple(self._statement(s) for s in part)
        return For(
            self.index, const(0), trips, const(1), body, loops[0].span, locals=tuple(own),
            parallel=True, strip=self.length,
        )  # fmt: skip

    def _small(self, memory: Buffer, axis: int) -> Buffer:
        shape = list(memory.type.shape)
        shape[axis] = const(self.length)
        buffer = replace(memory, type=TensorType(memory.type.dtype, tuple(shape)))
        self.same[buffer] = buffer
        return buffer

    def _statement(self, statement: Statement) -> Statement:
        if isinstance(statement, For):
            locals_ = tuple(self.local.get(buffer, buffer) for buffer in statement.locals)
            body = tuple(map(self._statement, statement.body))
            return replace(statement, body=body, locals=locals_)
        if isinstance(statement, If):
            then = tuple(map(self._statement, statement.then))
            other = tuple(map(self._statement, statement.other))
            return replace(statement, then=then, other=other)
        if isinstance(statement, LoadScalar | Print | Dump):
            return statement
        if isinstance(statement, Compute):
            args = tuple(map(self._operand, statement.args))
            return replace(statement, result=self._value(statement.result), args=args)
        if isinstance(statement, Load):
            axis = self.axes.values[statement.result]
            if axis is None:
                return statement
            rank = len(statement.buffer.type.shape)
            of = statement.axes
            position = axis + rank - statement.result.type.rank if of is None else of[axis]
            assert position is not None
            buffer, region = self._cut(statement.buffer, statement.region, position)
            return replace(
                statement, result=self._value(statement.result), buffer=buffer, region=region
            )
        return self._store(statement)

    def _operand(self, operand: Operand) -> Operand:
        return self.renamed.get(operand, operand) if isinstance(operand, Value) else operand

    def _store(self, store: Store) -> Store:
        axis = self.axes.buffers[self.same[store.buffer]]
        buffer, region = self._cut(store.buffer, store.region, axis)
        shape = store.shape
        if shape is not None:
            of_part = list(range(len(shape))) if store.axes is None else list(store.axes)
            stated = list(shape)
            stated[of_part.index(axis)] = const(self.length)
            shape = tuple(stated)
        else:
            shape = self._stated(store, region, axis)
        value = self.renamed.get(store.value, store.value)
        return replace(store, buffer=buffer, region=region, value=value, shape=shape)

    def _stated(self, store: Store, region: Region, axis: int) -> tuple[Expr, ...]:
        """What is stated of the part that is stored: a strip's length along the axis."""
        sizes = list(region.sizes)
        sizes[axis] = const(self.length)
        if store.axes is None:
            return tuple(sizes)
        return tuple(const(1) if a is None else sizes[a] for a in store.axes)

    def _cut(self, buffer: Buffer, region: Region, axis: int) -> tuple[Buffer, Region]:
        """The strip's part of ``buffer``: all of its own, or where it lies in a whole one."""
        offsets, sizes = list(region.offsets), list(region.sizes)
        sizes[axis] = self.held
        own = self.local.get(self.same[buffer])
        offsets[axis] = const(0) if own is not None else self.start
        return own or buffer, Region(tuple(offsets), tuple(sizes))

    def _value(self, value: Value) -> Value:
        axis = self.axes.values[value]
        if axis is None:
            return value
        shape, sizes = list(value.type.shape), list(value.type.sizes)
        shape[axis], sizes[axis] = const(self.length), self.held
        valid = tuple(sizes) if sizes != shape else None
        copy = Value(self.next_id, TensorType(value.type.dtype, tuple(shape), valid), value.name)
        self.next_id += 1
        self.renamed[value] = copy
        return copy
