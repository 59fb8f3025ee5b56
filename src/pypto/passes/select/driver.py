"""Which node of a stage goes into which block of its plan."""

from __future__ import annotations

from collections.abc import Mapping

from pypto.ir.sizes import Sizes
from pypto.ir.tensor import Buffer, Load, root
from pypto.ir.tile import Form, Slot
from pypto.ops.lowering import IOTA, REDUCE, SCAN
from pypto.passes.draft import Draft, DraftBlock, DraftPhase
from pypto.passes.select.copies import Copies
from pypto.passes.select.elementwise import STRIDED, Elementwise
from pypto.passes.select.totals import Totals
from pypto.passes.space import Layout
from pypto.passes.stage import Node, Stage

__all__ = ["select"]


def select(
    stage: Stage, layout: Layout, form: Form, sizes: Sizes, kept: Mapping[Buffer, Slot]
) -> Draft:
    """The blocks of ``stage`` in ``form``. ``kept``: memory that is on chip, and where."""
    return _Selector(stage, layout, form, sizes, kept).run()


class _Selector(Copies, Elementwise, Totals):
    """The driver: which node goes into which block."""

    def run(self) -> Draft:
        if self.form in ("chunks", "columns"):
            self._passes()
        else:
            phase = DraftPhase()
            self.draft.phases.append(phase)
            for node in self.stage.nodes:
                block = self.draft.prologue if self.invariant(node) else phase.step
                self._node(node, block)
            self._stores(self.stage.stores, phase.step)
        return self.draft

    def _passes(self) -> None:
        stored = [n for _, n in self.stage.stores if self.walked(n)]
        reduced = [n for n in self.stage.nodes if n.reduces]
        last = max([n.depth for n in stored] + [n.depth - 1 for n in reduced], default=0)
        for node in self.stage.nodes:
            if not self.walked(node) and node.depth == 0:
                block = self.draft.prologue if self.invariant(node) else self.draft.head
                self._node(node, block)
        for level in range(last + 1):
            self._phase(level, reduced, stored if level == last else [])
        behind = [(store, node) for store, node in self.stage.stores if not self.walked(node)]
        self._stores(behind, self.draft.tail)

    def _phase(self, level: int, reduced: list[Node], stored: list[Node]) -> None:
        phase = DraftPhase()
        self.draft.phases.append(phase)
        here = dict.fromkeys(n for n in reduced if n.depth == level + 1)
        needed = self._needed([o for n in here for o in n.operands if isinstance(o, Node)] + stored)
        self.places.append({})
        self.blocks_of.append({})
        for node in self.stage.nodes:
            if node in needed and self.walked(node):
                self._node(node, phase.step)
            elif node in here:
                self._accumulate(node, phase)
        for store, node in self.stage.stores:
            if node in stored:
                self._store(store, node, phase.step)
        self.places.pop()
        self.blocks_of.pop()
        for node in self.stage.nodes:
            ready = node.depth == level + 1 and not node.reduces
            if ready and not self.walked(node):
                self._node(node, phase.finish)

    def _needed(self, roots: list[Node]) -> set[Node]:
        seen: set[Node] = set()
        work = list(roots)
        while work:
            node = work.pop()
            if node not in seen:
                seen.add(node)
                work.extend(o for o in node.operands if isinstance(o, Node) and self.walked(o))
        return seen

    def _node(self, node: Node, block: DraftBlock) -> None:
        statement = node.statement
        if isinstance(statement, Load) and self._across(node, statement):
            self._turned_load(node, statement, block)
        elif isinstance(statement, Load):
            local = self._keep(node, self._new(node), block)
            self.loaded.add(local)
            local.slot = self.kept.get(root(statement.buffer))
            copies = block.loads if local.slot is None else block.kept
            copies.append(self._copy(local, node, statement))
        elif statement.op in REDUCE:
            self._reduce(node, statement, block)
        elif statement.op == "fill":
            self._fill(node, statement, block)
        elif statement.op in IOTA:
            self._iota(node, block)
        elif statement.op in SCAN:
            self._scan(node, statement, block)
        elif statement.op in ("expand", "squeeze", "unsqueeze"):
            self._expand(node, statement, block)
        elif statement.op in STRIDED:
            self._strided(node, statement, block)
        elif statement.op == "view":
            self._view(node, statement, block)
        else:
            self._elementwise(node, statement, block)
