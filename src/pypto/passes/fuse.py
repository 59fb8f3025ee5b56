"""Stage formation: which operations share one tile loop.

Every stage has a *domain*, a list of axes from outer to inner. A value is computed in a stage under
a mapping of its own axes to domain axes (None: size 1 there, the value broadcasts). The pass walks
the stores in program order and pulls what each needs into the latest stage when the domains agree,
else into a new one. Elementwise work is pulled wherever it is needed; a value that cannot be
computed under the mapping asked for (a reduction along another axis, memory overwritten since) is
made by an earlier stage and handed over through global memory. So is one that too many reductions
must precede where rows may be long: a stage takes such rows in chunks, in one pass per reduction,
and each pass computes anew what the passes before it have computed.
"""

from __future__ import annotations

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
from pypto.ops.lowering import REDUCE
from pypto.passes.access import access_of, store_sizes
from pypto.passes.stage import Axis, Key, Mapped, Node, Stage
from pypto.passes.touches import Scope, touch_of

__all__ = ["fuse"]

_MAX_DEPTH = 6  # reductions one after another along rows that may need chunks
_SHORT_ROW = 2048  # elements; rows up to here fit in on-chip memory whole


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
        stage = Stage()
        self.stages.append(stage)
        while not self._try(store, stage):
            pass  # each failure has handed one more value over through memory

    def _try(self, store: Store, stage: Stage) -> bool:
        """Pull ``store`` into ``stage``; False when it does not go (a new stage: try again)."""
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
            axes = _fitting(stage, wanted) if stage.guards == guards else None
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
        """True when a store already in the stage writes the same memory: order must be kept."""
        return self.same[store.buffer] in stage.written

    def _check_loads(self, stage: Stage) -> None:
        """Every load of memory that the stage writes must read just what its own tile writes."""
        self._check_strides(stage)
        for node in stage.loading:
            assert isinstance(node.statement, Load)
            found = stage.written.get(self.same[node.statement.buffer])
            if found is None:
                continue
            store, target = found
            same_place = self._equal(node.statement, store) and node.axes == target.axes
            if not same_place and not self._meet(node.statement, store):
                continue
            if not same_place or not set(stage.axes) - {stage.reduced} <= node.present:
                raise _Conflict(node.value)

    def _meet(self, load: Load, store: Store) -> bool:
        """Whether ``load`` may read something that ``store`` writes."""
        return self.scope.meet(touch_of(load, self.same), touch_of(store, self.same))

    def _check_strides(self, stage: Stage) -> None:
        """A tensor whose innermost neighbours lie apart in memory takes a row of the space for each
        element: only where the space has no axis inside that one."""
        for node in stage.strided:
            if stage.reduced is not None or stage.axes[-1] not in node.present:
                raise _Conflict(node.value)

    def _equal(self, load: Load, store: Store) -> bool:
        """True when both start at the same element and go on in the same way, by the sizes known to
        be equal. How far they go is for the stage's space to say."""
        a, b = access_of(load), access_of(store)
        if len(a.strides) != len(b.strides):
            return False
        pairs = [(a.offset, b.offset), *zip(a.strides, b.strides, strict=True)]
        return all(self.sizes.equal(x, y) for x, y in pairs)

    def _readable(self, load: Load, stage: Stage) -> bool:
        """True when at ``stage`` the memory of ``load`` holds what the load must read."""
        if load not in self.version:
            return True  # handed over: written once
        memory, seen = self.same[load.buffer], 0
        for earlier in self.stages:
            if earlier is stage:
                break
            seen += memory in earlier.written
        return seen == self.version[load]

    def _statement(self, value: Value, stage: Stage) -> Load | Compute:
        """What makes ``value`` at ``stage``: a load if an earlier stage has handed it over."""
        handed = self.handed.get(value)
        if handed is not None:
            load, producer = handed
            if self.stages.index(producer) < self.stages.index(stage):
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
        if length is None or length > _SHORT_ROW:
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
        return _Open(value, axes, statement, self._operands(statement, axes))

    def _operands(self, use: Compute, axes: Mapped) -> tuple[Key | Expr, ...]:
        operands: list[Key | Expr] = []
        for argument in use.args:
            if isinstance(argument, Expr):
                operands.append(argument)
                continue
            shape = argument.type.shape
            if use.op == "squeeze":
                mapped: Mapped = (*axes, None)
            elif use.op == "trail":
                mapped = axes[: len(shape)]
            else:
                mapped = axes[len(axes) - len(shape) :]
            mapped = tuple(
                None if as_int(self.sizes.canonical(s)) == 1 else a
                for a, s in zip(mapped, shape, strict=True)
            )
            operands.append((argument, mapped))
        return tuple(operands)

    def _reduced(self, use: Compute, axes: Mapped, stage: Stage) -> Key:
        """The operand of a reduction, its last axis mapped to the axis reduced along."""
        (operand,) = use.args
        assert isinstance(operand, Value)
        size = self.sizes.canonical(operand.type.sizes[-1])
        outer = axes[:-1]
        inner = stage.reduced
        if inner is None:
            inner = self._reduced_axis(stage, outer, size)
        elif not self.sizes.equal(inner.size, size) or inner in outer:
            inner = None
        if inner is None:
            raise _Conflict(use.result)
        stage.reduced = inner
        return operand, (*outer, inner)

    def _reduced_axis(self, stage: Stage, outer: Mapped, size: Expr) -> Axis | None:
        """The innermost axis of the domain as the one to reduce along; a new one when none fits."""
        last = stage.axes[-1] if stage.axes else None
        if last is not None and last not in outer and self.sizes.equal(last.size, size):
            return last
        if last is None or last in outer:
            inner = Axis(size)
            stage.axes = [*stage.axes, inner]
            return inner
        return None

    # --- values that go through memory ---

    def _hand_over(self, value: Value, before: Stage) -> None:
        """Compute ``value`` in a stage of its own that runs before ``before``."""
        statement = self.made[value]
        position = self.stages.index(before)
        if isinstance(statement, Load):
            position = min(position, self._first_overwrite(statement))
        whole = TensorType(value.type.dtype, value.type.shape)
        buffer = Buffer(f"w{len(self.handed)}", whole, None, statement.span)
        self.same[buffer] = buffer
        stage = Stage()
        self.stages.insert(position, stage)
        region = Region(full_region(buffer).offsets, value.type.sizes)
        store = Store(buffer, region, value, statement.span, None, value.type.shape)
        tail, self.stages = self.stages[position + 1 :], self.stages[: position + 1]
        while not self._try(store, stage):
            pass
        self.stages += tail
        copy = Value(self._id(), value.type, value.name)
        load = Load(copy, buffer, region, statement.span)
        self.handed[value] = (load, stage)

    def _first_overwrite(self, load: Load) -> int:
        memory, seen = self.same[load.buffer], 0
        for position, stage in enumerate(self.stages):
            seen += memory in stage.written
            if seen > self.version.get(load, 0):
                return position
        return len(self.stages)

    def _id(self) -> int:
        self.next_id += 1
        return self.next_id


def _reduces(statement: Load | Compute) -> bool:
    return isinstance(statement, Compute) and statement.op in REDUCE


def _fitting(stage: Stage, wanted: Sequence[Expr]) -> Sequence[Axis] | None:
    """The axes of the domain that a store of sizes ``wanted`` runs over, if it fits the stage."""
    sizes = [a.size for a in stage.axes]
    if sizes == list(wanted):
        return stage.axes
    if stage.reduced is not None and sizes[:-1] == list(wanted):
        return stage.axes[:-1]
    if stage.reduced is None and sizes and sizes == list(wanted)[:-1]:
        # A further inner axis: what is there already becomes one value per row. A single value
        # has no row of its own: in a loop over the new axis it would be stored by every step, and
        # by none when that axis is empty.
        stage.axes = [*stage.axes, Axis(wanted[-1])]
        return stage.axes
    return None
