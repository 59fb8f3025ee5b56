"""Stages: the tile spaces of a kernel, and the values that are computed in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from pypto.ir.expr import Expr, as_int
from pypto.ir.tensor import Buffer, Compute, Load, Store, Value
from pypto.ops.lowering import REDUCE, SHAPING
from pypto.passes.access import access_of

__all__ = ["Axis", "Key", "Mapped", "Mark", "Node", "Stage"]


@dataclass(slots=True, eq=False)
class Axis:
    """One axis of a stage's domain."""

    size: Expr


Mapped: TypeAlias = tuple[Axis | None, ...]
Key: TypeAlias = tuple[Value, Mapped]  # a stage computes a value once per mapping


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A value computed (or loaded) in a stage; ``axes`` maps its axes to the domain.

    ``depth``: how many reductions must run one after another before it is there.
    """

    value: Value
    axes: Mapped
    statement: Load | Compute
    operands: tuple[Node | Expr, ...] = ()
    depth: int = 0

    @property
    def op(self) -> str:
        """The operation; ``load`` for what comes from memory."""
        return self.statement.op if isinstance(self.statement, Compute) else "load"

    @property
    def reduces(self) -> bool:
        return self.op in REDUCE

    @property
    def present(self) -> frozenset[Axis]:
        return frozenset(a for a in self.axes if a is not None)


@dataclass(frozen=True, slots=True)
class Mark:
    """A stage's state before something was tried. Lists of axes are replaced, never changed."""

    axes: list[Axis]
    reduced: Axis | None
    nodes: int
    stores: int
    strided: int


@dataclass(slots=True, eq=False)
class Stage:
    """One tile space and what is computed in it, operands before users.

    ``guards``: sizes of 0 or 1 that are no axes of the space: with one of 0 there is nothing to do.
    ``order``: its position among the stages.
    """

    axes: list[Axis] = field(default_factory=list)
    reduced: Axis | None = None
    guards: frozenset[Expr] = frozenset()
    nodes: list[Node] = field(default_factory=list)
    index: dict[Key, Node] = field(default_factory=dict)
    stores: list[tuple[Store, Node]] = field(default_factory=list)
    written: dict[Buffer, list[tuple[Store, Node]]] = field(default_factory=dict)  # by memory
    loading: list[Node] = field(default_factory=list)
    # Accesses whose neighbours along their innermost axis lie apart in memory.
    strided: list[tuple[Node, Load | Store]] = field(default_factory=list)
    order: int = 0

    def add(self, node: Node) -> None:
        self.nodes.append(node)
        self.index[(node.value, node.axes)] = node
        if isinstance(node.statement, Load):
            self.loading.append(node)
            if not _unit(node, node.statement):
                self.strided.append((node, node.statement))

    def write(self, memory: Buffer, store: Store, node: Node) -> None:
        self.stores.append((store, node))
        self.written.setdefault(memory, []).append(self.stores[-1])
        if not _unit(node, store):
            self.strided.append((node, store))

    def mark(self) -> Mark:
        return Mark(self.axes, self.reduced, len(self.nodes), len(self.stores), len(self.strided))

    def undo(self, mark: Mark) -> None:
        """Be again what the stage was at ``mark``."""
        self.axes, self.reduced = mark.axes, mark.reduced
        del self.strided[mark.strided :]
        while len(self.nodes) > mark.nodes:
            node = self.nodes.pop()
            del self.index[(node.value, node.axes)]
            if isinstance(node.statement, Load):
                self.loading.pop()
        while len(self.stores) > mark.stores:
            last = self.stores.pop()
            memory = next(m for m, stores in self.written.items() if stores[-1] is last)
            self.written[memory].pop()
            if not self.written[memory]:
                del self.written[memory]

    def fitting(self, wanted: Sequence[Expr]) -> Sequence[Axis] | None:
        """The axes of the domain that a store of sizes ``wanted`` runs over, if it fits."""
        sizes = [a.size for a in self.axes]
        if sizes == list(wanted):
            return self.axes
        rest = [a for a in self.axes if a is not self.reduced]
        if self.reduced is not None and [a.size for a in rest] == list(wanted):
            return rest
        if self.reduced is None and sizes and sizes == list(wanted)[:-1]:
            # A further inner axis: what is there already becomes one value per row. A single
            # value has no row of its own: in a loop over the new axis it would be stored by every
            # step, and by none when that axis is empty.
            self.axes = [*self.axes, Axis(wanted[-1])]
            return self.axes
        return None

    @property
    def columnwise(self) -> bool:
        """Whether it reduces along an axis that has others inside: rows are added up."""
        return self.reduced is not None and self.reduced is not self.axes[-1]

    def accesses(self) -> list[tuple[Node, Load | Store]]:
        """Every load and store, with the node whose axes it has."""
        loads: list[tuple[Node, Load | Store]] = [
            (n, n.statement) for n in self.loading if isinstance(n.statement, Load)
        ]
        return loads + [(node, store) for store, node in self.stores]

    def strides(self, node: Node, statement: Load | Store) -> dict[Axis, Expr]:
        """Elements of memory per step along each axis of the domain that an access has."""
        found = zip(node.axes, access_of(statement).strides, strict=True)
        return {axis: stride for axis, stride in found if axis is not None}

    def neighbours(self, node: Node, statement: Load | Store) -> Axis | None:
        """The axis along which elements of an access lie side by side in memory, if it has one."""
        found = zip(node.axes, access_of(statement).strides, strict=True)
        return next((a for a, stride in found if a is not None and as_int(stride) == 1), None)

    def across(self) -> Axis | None:
        """The axis along which elements of all strided accesses lie side by side, if they agree."""
        found = {self.neighbours(*access) for access in self.strided}
        return found.pop() if len(found) == 1 else None

    def turns(self) -> bool:
        """Whether some accesses lie side by side along another axis than others, so that tiles are
        transposed on chip."""
        across = self.across()
        if across is None:
            return False
        strides = [self.strides(*access).get(across) for access in self.accesses()]
        return any(stride is not None and as_int(stride) != 1 for stride in strides)

    def even(self) -> bool:
        """Whether every value but scalars varies along all axes, one element after the other."""
        axes = frozenset(self.axes)
        return self.reduced is None and all(
            n.op == "fill" or (n.present == axes and n.op not in SHAPING) for n in self.nodes
        )

    def loads(self) -> list[Load]:
        return [n.statement for n in self.loading if isinstance(n.statement, Load)]

    def users(self) -> dict[Node, list[Node]]:
        """The nodes that each node is an operand of."""
        users: dict[Node, list[Node]] = {}
        for node in self.nodes:
            for operand in node.operands:
                if isinstance(operand, Node):
                    users.setdefault(operand, []).append(node)
        return users


def _unit(node: Node, statement: Load | Store) -> bool:
    """Whether neighbours along the innermost axis of an access are neighbours in memory."""
    strides = access_of(statement).strides
    inner = [stride for axis, stride in zip(node.axes, strides, strict=True) if axis is not None]
    return not inner or as_int(inner[-1]) == 1
