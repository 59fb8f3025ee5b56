"""Stage formation: which operations share one tile loop.

Every stage has a *domain*, a list of axes from outer to inner. A value is computed in a stage under
a mapping of its own axes to domain axes (None: size 1 there, the value broadcasts). The pass walks
the stores in program order and pulls what each needs into the latest stage when the domains agree,
else into a new one. Elementwise work is pulled wherever it is needed; a value that cannot be
computed under the mapping asked for (a reduction along another axis, memory overwritten since) is
made by an earlier stage and handed over through global memory. So is one that too many reductions
must precede where rows may be long: a stage takes such rows in chunks, in one pass per reduction,
and each pass computes anew what the passes before it have computed. And so is one that a stage
would compute again with much before it (``recompute``).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pypto.ir.expr import Expr, as_int, const
from pypto.ir.sizes import Sizes
from pypto.ir.tensor import (
    Buffer,
    Compute,
    Load,
    Region,
    Simple,
    Store,
    TensorType,
    Value,
    full_region,
)
from pypto.ops.lowering import REDUCE, SCAN, axis_of
from pypto.passes.access import access_of, store_sizes
from pypto.passes.recompute import Computed
from pypto.passes.stage import Axis, Key, Mapped, Node, Stage
from pypto.passes.touches import Scope, touch_of

__all__ = ["fuse"]

_MAX_DEPTH = 6  # reductions one after another along rows that may need chunks
_SHORT_ROW = 2048  # elements; rows up to here fit in on-chip memory whole
_STORES = 4  # a stage with fewer stores also stores what later stages need of it


@dataclass(frozen=True, slots=True)
class _Open:
    """A node that waits for its operands."""

    value: Value
    axes: Mapped
    statement: Load | Compute
    operands: tuple[Key | Expr, ...]

    def missing(self, stage: Stage) -> Key | None:
        """The first operand that ``stage`` has no node for."""
        for operand in self.operands:
            if not isinstance(operand, Expr) and operand not in stage.index:
                return operand
        return None

    def node(self, stage: Stage) -> Node:
        nodes = tuple(o if isinstance(o, Expr) else stage.index[o] for o in self.operands)
        depth = max((n.depth for n in nodes if isinstance(n, Node)), default=0)
        depth += _reduces(self.statement)
        return Node(self.value, self.axes, self.statement, nodes, depth)


class _Conflict(Exception):
    """``value`` cannot be computed in the stage under the mapping asked for."""

    def __init__(self, value: Value) -> None:
        super().__init__(str(value))
        self.value = value


_PARTS = 4
"""Parts of one tensor that a stage stores at most: halves and quarters that are computed together.
Each has loads of its own, which on-chip memory must hold."""


def fuse(
    body: Sequence[Simple], sizes: Sizes, same: Mapping[Buffer, Buffer], scope: Scope
) -> list[Stage]:
    """The stages of ``body``, in the order they must run."""
    return _Fusion(body, sizes, same, scope).run()


class _Fusion:
    def __init__(
        self,
        body: Sequence[Simple],
        sizes: Sizes,
        same: Mapping[Buffer, Buffer],
        scope: Scope,
    ) -> None:
        self.scope = scope
        self.sizes = sizes
        self.same = dict(same)
        self.body = body
        self.made: dict[Value, Load | Compute] = {
            s.result: s for s in body if not isinstance(s, Store)
        }
        self.version: dict[Load, int] = {}  # stores to the load's memory before it
        self.stages: list[Stage] = []
        self.writers: dict[Buffer, list[Stage]] = {}  # of each memory, in order
        self.computed = Computed()
        self.handed: dict[Value, tuple[Load, Stage]] = {}  # through memory; who computes them
        self.spread: dict[Store, Value] = {}
        self.next_id = 1 + max((v.id for v in self.made), default=0)

    def run(self) -> list[Stage]:
        written: dict[Buffer, int] = {}
        for statement in self.body:
            if isinstance(statement, Load):
                self.version[statement] = written.get(self.same[statement.buffer], 0)
            elif isinstance(statement, Store):
                memory = self.same[statement.buffer]
                self._store(statement)
                written[memory] = written.get(memory, 0) + 1
        return self.stages

    # --- stores ---

    def _store(self, store: Store) -> None:
        if self.stages and self._try(store, self.stages[-1]):
            return
        stage = self._insert(len(self.stages))
        while not self._try(store, stage):
            pass  # each failure has handed one more value over through memory

    def _insert(self, position: int) -> Stage:
        """A new stage at ``position``."""
        stage = Stage()
        self.stages.insert(position, stage)
        for order in range(position, len(self.stages)):
            self.stages[order].order = order
        return stage

    def _try(self, store: Store, stage: Stage, *, shorten: bool = True) -> bool:
        """Pull ``store`` into ``stage``; False when it does not go (a new stage: try again).
        ``shorten``: values that it would compute again with much before them are loaded instead."""
        fresh = not stage.axes and not stage.nodes
        before = stage.mark()
        mapping = self._map_store(store, stage)
        if mapping is None or (not fresh and self._hazard(store, stage)):
            stage.undo(before)
            return False
        try:
            node = self._place(self._spread(store), mapping, stage)
            stage.write(self.same[store.buffer], store, node)
            self._check_loads(stage)
        except _Conflict as conflict:
            stage.undo(before)
            if fresh:
                self._hand_over(conflict.value, stage)
            return False
        again = self.computed.again(stage, before.nodes, node) if shorten else []
        if again:
            stage.undo(before)
            for value in again:
                self._share(value, stage)
            return self._try(store, stage)
        self.computed.add(stage, before.nodes)
        self.writers.setdefault(self.same[store.buffer], []).append(stage)
        return True

    def _map_store(self, store: Store, stage: Stage) -> Mapped | None:
        shape = [self.sizes.canonical(s) for s in store_sizes(store)]
        single = self._single(store)
        long = [i for i, one in enumerate(single) if not one]
        wanted = [shape[i] for i in long]
        # Where one element is stated there may be none.
        guards = frozenset(
            s for s, one in zip(shape, single, strict=True) if one and as_int(s) != 1
        )
        if not stage.axes and not stage.nodes:
            stage.axes = [Axis(s) for s in wanted]
            stage.guards = guards
            axes: Sequence[Axis] | None = stage.axes
        else:
            axes = stage.fitting(wanted) if stage.guards == guards else None
        if axes is None:
            return None
        mapping: list[Axis | None] = [None] * len(shape)
        for position, axis in zip(long, axes, strict=True):
            mapping[position] = axis
        return tuple(mapping)

    def _single(self, store: Store) -> list[bool]:
        """Per axis of a store's part: whether it is stated to have one element."""
        shape = store_sizes(store) if store.shape is None else store.shape
        return [as_int(self.sizes.canonical(size)) == 1 for size in shape]

    def _spread(self, store: Store) -> Value:
        """The value stored, expanded to the region's shape where it broadcasts."""
        if store in self.spread:
            return self.spread[store]
        value, sizes = store.value, store_sizes(store)
        have = (const(1),) * (len(sizes) - value.type.rank) + value.type.shape
        spread = [
            as_int(self.sizes.canonical(h)) == 1 and not single
            for h, single in zip(have, self._single(store), strict=True)
        ]
        if value.type.rank == len(sizes) and not any(spread):
            self.spread[store] = value
            return value
        shape = tuple(s if wide else h for wide, s, h in zip(spread, sizes, have, strict=True))
        result = Value(self._id(), TensorType(value.type.dtype, shape), value.name)
        self.made[result] = Compute(result, "expand", (value,), (), None, store.span)
        self.spread[store] = result
        return result

    # --- hazards ---

    def _hazard(self, store: Store, stage: Stage) -> bool:
        """True when a store already in the stage may write the same elements: order is kept."""
        touch = touch_of(store, self.same)
        before = stage.written.get(self.same[store.buffer], ())
        if len(before) >= _PARTS:
            return True
        return any(self.scope.meet(touch, touch_of(other, self.same)) for other, _ in before)

    def _check_loads(self, stage: Stage) -> None:
        """Every load of memory that the stage writes must read just what its own tile writes."""
        self._check_strides(stage)
        for node in stage.loading:
            assert isinstance(node.statement, Load)
            for store, target in stage.written.get(self.same[node.statement.buffer], ()):
                same_place = self._equal(node.statement, store) and node.axes == target.axes
                if not same_place and not self._meet(node.statement, store):
                    continue
                if not same_place or not set(stage.axes) - {stage.reduced} <= node.present:
                    raise _Conflict(node.value)

    def _meet(self, load: Load, store: Store) -> bool:
        """Whether ``load`` may read something that ``store`` writes."""
        return self.scope.meet(touch_of(load, self.same), touch_of(store, self.same))

    def _check_strides(self, stage: Stage) -> None:
        """Tensors whose innermost neighbours lie apart in memory: where they lie side by side along
        another axis, the same for all, tiles are transposed on chip, if every value has them whole.
        Else each element takes a row of the space: only where that has no axis inside this one."""
        across = stage.across()
        turns = stage.turns()
        for node, access in stage.strided:
            if across is None:
                alone = stage.neighbours(node, access) is None
                bad = not alone or stage.axes[-1] not in node.present
            else:
                bad = turns and not stage.even()
            if bad or stage.reduced is not None:
                raise _Conflict(node.value)

    def _equal(self, load: Load, store: Store) -> bool:
        """True when both start at the same element and go on in the same way, by the sizes known to
        be equal. How far they go is for the stage's space to say."""
        a, b = access_of(load), access_of(store)
        if a.width != b.width or len(a.strides) != len(b.strides):
            return False
        pairs = [(a.offset, b.offset), *zip(a.strides, b.strides, strict=True)]
        return all(self.sizes.equal(x, y) for x, y in pairs)

    def _readable(self, load: Load, stage: Stage) -> bool:
        """True when at ``stage`` the memory of ``load`` holds what the load must read."""
        if load not in self.version:
            return True  # handed over: written once
        writers = self.writers.get(self.same[load.buffer], [])
        return bisect_left(writers, stage.order, key=_order) == self.version[load]

    def _statement(self, value: Value, stage: Stage) -> Load | Compute:
        """What makes ``value`` at ``stage``: a load if an earlier stage has handed it over."""
        handed = self.handed.get(value)
        if handed is not None:
            load, producer = handed
            if producer.order < stage.order:
                return load
        return self.made[value]

    # --- placing values ---

    def _place(self, value: Value, axes: Mapped, stage: Stage) -> Node:
        """The node of ``value`` in ``stage``, made after those it needs. Not recursive: a chain
        is as deep as the kernel is long."""
        goal = (value, axes)
        work = [] if goal in stage.index else [self._open(value, axes, stage)]
        while work:
            missing = work[-1].missing(stage)
            if missing is None:
                node = work.pop().node(stage)
                self._check_depth(node, stage)
                stage.add(node)
            else:
                work.append(self._open(*missing, stage))
        return stage.index[goal]

    def _check_depth(self, node: Node, stage: Stage) -> None:
        """Hand over what a reduction reads, rather than have one pass too many over the rows."""
        if node.depth <= _MAX_DEPTH or stage.reduced is None or not node.reduces:
            return
        length = as_int(self.sizes.canonical(stage.reduced.size))
        if length is None or length > _SHORT_ROW or stage.columnwise:
            (operand,) = node.operands
            assert isinstance(operand, Node)
            raise _Conflict(operand.value)

    def _open(self, value: Value, axes: Mapped, stage: Stage) -> _Open:
        """What ``value`` needs at ``stage``; a reduction claims its axis of the domain here."""
        statement = self._statement(value, stage)
        if isinstance(statement, Load):
            if not self._readable(statement, stage):
                raise _Conflict(value)
            return _Open(value, axes, statement, ())
        if _reduces(statement):
            return _Open(value, axes, statement, (self._reduced(statement, axes, stage),))
        if statement.op in SCAN:
            self._scanned(statement, axes, stage)
        return _Open(value, axes, statement, self._operands(statement, axes))

    def _scanned(self, use: Compute, axes: Mapped, stage: Stage) -> None:
        """Have ``stage`` walk along the axis of running totals, in order."""
        at = axis_of(use)
        axis = axes[at]
        if axis is None:
            return  # one element: it is the total
        walked = stage.reduced is None or stage.reduced is axis
        if not walked or not _between(axis, axes[:at], axes[at + 1 :], stage):
            raise _Conflict(use.result)
        stage.reduced = axis

    def _operands(self, use: Compute, axes: Mapped) -> tuple[Key | Expr, ...]:
        operands: list[Key | Expr] = []
        for argument in use.args:
            if isinstance(argument, Expr):
                operands.append(argument)
                continue
            shape = argument.type.shape
            if use.op == "squeeze":
                dropped = axis_of(use)
                mapped: Mapped = (*axes[:dropped], None, *axes[dropped:])
            elif use.op == "unsqueeze":
                inserted = axis_of(use)
                mapped = (*axes[:inserted], *axes[inserted + 1 :])
            else:
                mapped = axes[len(axes) - len(shape) :]
            mapped = tuple(
                None if as_int(self.sizes.canonical(s)) == 1 else a
                for a, s in zip(mapped, shape, strict=True)
            )
            operands.append((argument, mapped))
        return tuple(operands)

    def _reduced(self, use: Compute, axes: Mapped, stage: Stage) -> Key:
        """The operand of a reduction, with the axis of the domain that is reduced along."""
        (operand,) = use.args
        assert isinstance(operand, Value)
        at = axis_of(use)
        size = self.sizes.canonical(operand.type.sizes[at])
        before, behind = axes[:at], axes[at + 1 :]
        inner = stage.reduced
        if inner is None:
            inner = self._reduced_axis(stage, before, behind, size)
        elif not self.sizes.equal(inner.size, size):
            inner = None
        if inner is None or not _between(inner, before, behind, stage):
            raise _Conflict(use.result)
        stage.reduced = inner
        return operand, (*before, inner, *behind)

    def _reduced_axis(
        self, stage: Stage, before: Mapped, behind: Mapped, size: Expr
    ) -> Axis | None:
        """The axis of the domain between those of ``before`` and ``behind`` as the one to reduce
        along; a new one where there is none."""
        first = 1 + max((stage.axes.index(a) for a in before if a is not None), default=-1)
        last = min((stage.axes.index(a) for a in behind if a is not None), default=len(stage.axes))
        free = stage.axes[first:last]
        if not free:
            inner = Axis(size)
            stage.axes = [*stage.axes[:first], inner, *stage.axes[first:]]
            return inner
        fitting = [a for a in free if self.sizes.equal(a.size, size)]
        if last == len(stage.axes):
            fitting = [a for a in fitting if a is stage.axes[-1]]
        return fitting[-1] if fitting else None

    # --- values that go through memory ---

    def _share(self, value: Value, before: Stage) -> None:
        """Store ``value`` where it is computed, for ``before`` and later stages to load."""
        store, load = self._handing(value)
        producer = self.computed.last[value]
        room = len(producer.stores) < _STORES
        if room and self._try(store, producer, shorten=False):
            self.handed[value] = (load, producer)
        else:
            self._hand_over(value, before)

    def _hand_over(self, value: Value, before: Stage) -> None:
        """Compute ``value`` in a stage of its own that runs before ``before``."""
        statement = self.made[value]
        position = before.order
        if isinstance(statement, Load):
            position = min(position, self._first_overwrite(statement))
        store, load = self._handing(value)
        stage = self._insert(position)
        while not self._try(store, stage, shorten=False):
            pass
        self.handed[value] = (load, stage)

    def _handing(self, value: Value) -> tuple[Store, Load]:
        """A store of ``value`` into memory of its own, and a load from there."""
        span = self.made[value].span
        # In sizes that are equal to one number by a precondition: where that is 1, what lies behind
        # has neighbours there that the value's own memory may have further apart.
        shape = tuple(self.sizes.canonical(size) for size in value.type.shape)
        whole = TensorType(value.type.dtype, shape)
        buffer = Buffer(f"w{len(self.handed)}", whole, None, span)
        self.same[buffer] = buffer
        region = Region(full_region(buffer).offsets, value.type.sizes)
        store = Store(buffer, region, value, span, None, value.type.shape)
        return store, Load(Value(self._id(), value.type, value.name), buffer, region, span)

    def _first_overwrite(self, load: Load) -> int:
        """The position of the stage that first writes the memory of ``load`` behind it."""
        writers = self.writers.get(self.same[load.buffer], [])[self.version.get(load, 0) :]
        return writers[0].order if writers else len(self.stages)

    def _id(self) -> int:
        self.next_id += 1
        return self.next_id


def _order(stage: Stage) -> int:
    return stage.order


def _between(axis: Axis, before: Mapped, behind: Mapped, stage: Stage) -> bool:
    """Whether ``axis`` lies between axes of the domain, none of them it; a value that is reduced
    along an outer axis varies along the innermost one."""
    at = stage.axes.index(axis)
    present = (*(a for a in before if a is not None), *(a for a in behind if a is not None))
    if at != len(stage.axes) - 1 and stage.axes[-1] not in present:
        return False
    return all(stage.axes.index(a) < at for a in before if a is not None) and all(
        stage.axes.index(a) > at for a in behind if a is not None
    )


def _reduces(statement: Load | Compute) -> bool:
    return isinstance(statement, Compute) and statement.op in REDUCE
