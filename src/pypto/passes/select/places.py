"""Where the values of a stage are while its instructions are selected."""

from __future__ import annotations

from collections.abc import Mapping

from pypto.ir.dtype import DataType
from pypto.ir.sizes import Sizes
from pypto.ir.tensor import Buffer, Load
from pypto.ir.tile import Form, Kind, Local, Slot
from pypto.ops.lowering import MASKS
from pypto.passes.draft import Draft, DraftBlock
from pypto.passes.space import Layout
from pypto.passes.stage import Node, Stage

__all__ = ["Places"]


class Places:
    """The locals of nodes, their kinds, and the draft that is made."""

    def __init__(
        self, stage: Stage, layout: Layout, form: Form, sizes: Sizes, kept: Mapping[Buffer, Slot]
    ) -> None:
        self.stage = stage
        self.kept = kept
        self.sizes = sizes
        self.layout = layout
        self.form = form
        self.draft = Draft(form, layout)
        self.places: list[dict[Node, Local]] = [{}]  # innermost last; phases push their own
        self.blocks_of: list[dict[Local, Local]] = [{}]
        self.users = stage.users()
        self.invariants: dict[Node, bool] = {}
        self.stored = {n: s.buffer.name for s, n in reversed(stage.stores)}  # first store's name
        self.homes: dict[Local, DraftBlock] = {}  # the block that loads or computes a local
        self.loaded: set[Local] = set()
        self.filled: set[Local] = set()  # single values that fill their block already

    def kind(self, node: Node) -> Kind:
        if node.op == "fill" and node not in self.stored:
            return Kind.ONE
        extent = self.layout.extent(node)
        if self.form == "tiles":
            return Kind.FULL
        if self.form in ("rows", "columns"):
            if extent.col:
                return Kind.FULL if extent.row else Kind.ROW
            return Kind.COL if extent.row else Kind.ONE
        return Kind.FULL if extent.col else Kind.ONE

    def walked(self, node: Node) -> bool:
        """Whether the node varies along what a tile is walked by: columns of a row, or rows."""
        if self.form == "columns":
            return self.kind(node) in (Kind.FULL, Kind.COL)
        return self.kind(node) is Kind.FULL

    def invariant(self, node: Node) -> bool:
        """True when the node is the same in all steps of a core, so one computation serves."""
        if node in self.stored:
            return False  # made in each step, in the output's memory
        if node.op == "fill":
            return True
        if self.form in ("chunks", "columns"):
            return False
        known = self.invariants.get(node)
        if known is None:
            extent = self.layout.extent(node)
            varies = extent.row if self.form == "rows" else extent.col
            known = not (varies or any(extent.outer)) and all(
                self.invariant(o) for o in node.operands if isinstance(o, Node)
            )
            self.invariants[node] = known
        return known

    def local(self, node: Node) -> Local:
        for scope in reversed(self.places):
            if node in scope:
                return scope[node]
        raise KeyError(str(node.value))

    def _new(self, node: Node) -> Local:
        name = node.value.name
        if name is None and isinstance(node.statement, Load):
            name = node.statement.buffer.name
        if name is None:
            name = self.stored.get(node, "t")
        dtype, kind = node.value.type.dtype, self.kind(node)
        if node.op in MASKS:
            return Local(name, DataType.DT_UINT16, kind.bits)
        return Local(name, DataType.DT_UINT8 if dtype == DataType.DT_BOOL else dtype, kind)

    def _keep(self, node: Node, local: Local, block: DraftBlock) -> Local:
        self.places[-1][node] = local
        self.homes.setdefault(local, block)
        return local

    def _reduced(self, node: Node) -> Local:
        (operand,) = (o for o in node.operands if isinstance(o, Node))
        return self.local(operand)
