"""Copies between global memory and a stage: loads, stores, and what stays on chip."""

from __future__ import annotations

from collections.abc import Sequence

from pypto.error import Span
from pypto.ir.dtype import DataType
from pypto.ir.expr import Expr, apply, as_int, const
from pypto.ir.tensor import Load, Store, root
from pypto.ir.tile import Copy, Instr, Kind, Local, Slot
from pypto.passes.access import access_of
from pypto.passes.draft import DraftBlock
from pypto.passes.select.places import Places
from pypto.passes.stage import Node

__all__ = ["Copies"]


def _turn(dst: Local, src: Local, span: Span) -> Instr:
    """``dst`` = ``src`` transposed. Elements of 8 bytes are gathered in halves."""
    scratch: tuple[Local, ...] = ()
    if src.dtype.bytes == 8:
        scratch = (Local("offsets", DataType.DT_INT32, Kind.FULL),)
    return Instr("turn", "Turn", dst, (src,), Kind.FULL, span, scratch=scratch, in_place=False)


class Copies(Places):
    """Adds loads, stores and what kept memory takes."""

    def _copy(self, local: Local, node: Node, statement: Load | Store) -> Copy:
        strides = self.layout.strides(self.stage.strides(node, statement))
        kind = local.kind if local.kind is Kind.TURNED else self.kind(node)
        dense = self.form != "tiles" and self._dense(strides)
        return Copy(
            local, statement.buffer, kind, access_of(statement).offset, strides, dense,
            statement.span,
        )  # fmt: skip

    def _across(self, node: Node, statement: Load | Store) -> bool:
        """Whether an access goes through memory along the rows of the space: what lies side by side
        is a column. Kept memory is not walked so: the plan says so in the end."""
        if self.form != "tiles" or root(statement.buffer) in self.kept:
            return False
        stride = self.layout.strides(self.stage.strides(node, statement))[-1]
        return stride is not None and as_int(stride) != 1

    def _turned_load(self, node: Node, load: Load, block: DraftBlock) -> None:
        local = self._keep(node, self._new(node), block)
        across = Local(f"{local.name}_across", local.dtype, Kind.TURNED)
        self.homes[across] = block
        block.loads.append(self._copy(across, node, load))
        block.instrs.append(_turn(local, across, load.span))

    def _dense(self, strides: tuple[Expr | None, ...]) -> bool:
        """Whether each stride is the product of the sizes behind it."""
        space = self.layout.space
        expected: Expr = const(1)
        pairs = zip(strides, (*space.outer, space.rows, space.cols), strict=True)
        for stride, size in reversed(list(pairs)):
            if stride is None:
                continue
            if not self.sizes.equal(stride, expected):
                return False
            expected = apply("mul", expected, size)
        return True

    def _stores(self, stores: Sequence[tuple[Store, Node]], block: DraftBlock) -> None:
        """All ``stores`` of a block. What was in kept memory before one of them overwrites it, and
        is stored by a later one, is copied first: two accumulators may change places."""
        overwritten: set[Slot] = set()
        for store, node in stores:
            local, slot = self.local(node), self.kept.get(root(store.buffer))
            if local.base in self.loaded and local.base.slot in overwritten:
                moved = Local(local.name, local.dtype, local.kind)
                block.instrs.append(
                    Instr(
                        "move", "DataCopy", moved, (local,), local.kind, store.span, in_place=False
                    )
                )
                self._keep(node, moved, block)
            if slot is not None:
                overwritten.add(slot)
        for store, node in stores:
            self._store(store, node, block)

    def _store(self, store: Store, node: Node, block: DraftBlock) -> None:
        local = self.local(node)
        slot = self.kept.get(root(store.buffer))
        if slot is not None:
            if local.base.slot is slot and local.base in self.loaded:
                return  # it is there
            if not self._made_in(local, slot, store, node, block):
                moved = Local(store.buffer.name, local.dtype, local.kind, slot)
                block.instrs.append(
                    Instr("keep", "Keep", moved, (local,), local.kind, store.span, in_place=False)
                )
                local = moved
            block.kept.append(self._copy(local, node, store))
            return
        if self._across(node, store):
            across = Local(store.buffer.name, local.dtype, Kind.TURNED)
            block.instrs.append(_turn(across, local, store.span))
            block.stores.append(self._copy(across, node, store))
            return
        shown = local.of is not None and self.homes[local.base] is not block
        held = local.base in self.loaded or local.base.slot is not None
        if held or shown or block is self.draft.tail:
            # What was loaded, kept, or made before the block, moves to the output queue's memory.
            moved = Local(store.buffer.name, local.dtype, local.kind)
            block.instrs.append(
                Instr("move", "DataCopy", moved, (local,), local.kind, store.span, in_place=False)
            )
            local = moved
        block.stores.append(self._copy(local, node, store))

    def _made_in(
        self, local: Local, slot: Slot, store: Store, node: Node, block: DraftBlock
    ) -> bool:
        """Give ``local`` the kept memory of ``slot`` if it can be made there: it is stored nowhere
        else, and nothing needs what is there when it is made."""
        stored = local.slot is not None or any(copy.local.base is local for copy in block.stores)
        if (
            stored
            or local.of is not None
            or sum(other is node for _, other in self.stage.stores) > 1
        ):
            return False
        makers = [n for n, instr in enumerate(block.instrs) if instr.dst is local]
        if len(makers) != 1:
            return False
        maker, later = block.instrs[makers[0]], block.instrs[makers[0] + 1 :]
        if any(x.base.slot is slot for instr in later for x in (*instr.reads, *instr.writes)):
            return False
        held = [x for x in maker.reads if x.base.slot is slot]
        if any(not maker.in_place or x.kind is not local.kind for x in held):
            return False
        local.slot, local.name = slot, store.buffer.name
        return True
