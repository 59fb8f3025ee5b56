"""Values repeated over the rows or columns that they lack, and constants."""

from __future__ import annotations

from pypto.error import Span
from pypto.ir.dtype import DataType
from pypto.ir.expr import Expr, apply, const
from pypto.ir.tensor import Compute
from pypto.ir.tile import Instr, Kind, Local
from pypto.passes.draft import DraftBlock
from pypto.passes.select.places import Places
from pypto.passes.stage import Node

__all__ = ["Spreading", "cast"]


def cast(dst: Local, src: Local, mode: str, span: Span) -> Instr:
    same_size = src.dtype.bytes == dst.dtype.bytes
    return Instr(
        "cast", "Cast", dst, (src,), dst.kind, span, attrs=(mode,), in_place=same_size
    )  # fmt: skip


def _filling(dst: Local, extent: Kind, scalar: Expr, span: Span) -> Instr:
    """``dst`` full of ``scalar``. Duplicate takes 2 and 4 bytes: single bytes are written in pairs,
    8 bytes in halves."""
    form, name = "fill", "Duplicate"
    scalars: tuple[Expr, ...] = (scalar,)
    if dst.dtype.bytes == 1:
        form, scalars = "fill_bytes", (apply("mul", apply("mod", scalar, 256), 257),)
    elif dst.dtype.bytes == 8:
        form, name = "fill_halves", "FillHalves"
        scalars = (scalar, apply("floordiv", scalar, 1 << 32))
    return Instr(form, name, dst, (), extent, span, scalars)


class Spreading(Places):
    """Adds values that are repeated, constants and positions."""

    def _fill(self, node: Node, use: Compute, block: DraftBlock) -> None:
        local = self._keep(node, self._new(node), block)
        users = self.users.get(node, [])
        if node not in self.stored and all(
            u.op == "expand" and self.kind(u) is not local.kind for u in users
        ):
            return  # each user is a Duplicate of its own
        (scalar,) = use.args
        assert isinstance(scalar, Expr)
        extent = local.kind
        if local.kind is Kind.ONE:
            extent = Kind.ONE_BLOCKS
            self.filled.add(local)
        block.instrs.append(_filling(local, extent, scalar, use.span))

    def _iota(self, node: Node, block: DraftBlock) -> None:
        """The index along the only axis that the node has: from where the step begins."""
        local = self._keep(node, self._new(node), block)
        kind, span = local.kind, node.statement.span
        if kind is Kind.ONE:
            names = [*(f"axis{n}" for n in range(len(self.layout.space.outer))), "row"]
            groups = zip(names, self.layout.groups[:-1], strict=False)
            start = next((name for name, group in groups if group[0] in node.axes), "0")
            self.filled.add(local)
            block.instrs.append(
                Instr("iota", "Duplicate", local, (), Kind.ONE_BLOCKS, span, attrs=(start,))
            )
            return
        walked = {
            ("run", Kind.FULL): "begin", ("chunks", Kind.FULL): "col", ("rows", Kind.COL): "row",
            ("columns", Kind.COL): "row", ("columns", Kind.ROW): "col",
        }  # fmt: skip
        start = walked.get((self.form, kind), "0")
        block.instrs.append(Instr("iota", "CreateVecIndex", local, (), kind, span, attrs=(start,)))

    def _expand(self, node: Node, use: Compute, block: DraftBlock) -> None:
        (source,) = (o for o in node.operands if isinstance(o, Node))
        if self.kind(source) is self.kind(node):
            self._keep(node, self.local(source), block)
            return
        local = self._keep(node, self._new(node), block)
        if isinstance(source.statement, Compute) and source.statement.op == "fill":
            scalar = source.statement.args[0]
            assert isinstance(scalar, Expr)
            block.instrs.append(_filling(local, local.kind, scalar, use.span))
            return
        self._spread(self.local(source), local, block, use.span)

    def _spread(self, source: Local, dst: Local, block: DraftBlock, span: Span) -> None:
        """``dst`` = ``source`` repeated over the rows or columns that it lacks."""
        if source.kind is Kind.ROW:
            block.instrs.append(Instr("spread_row", "SpreadRow", dst, (source,), dst.kind, span))
            return
        if source.dtype.bytes == 1:
            self._spread_bytes(source, dst, block, span)
            return
        if source.dtype.bytes == 8:
            offsets = Local("offsets", DataType.DT_INT64, dst.kind)
            block.instrs.append(
                Instr(
                    "spread_halves", "SpreadHalves", dst, (source,), dst.kind, span,
                    attrs=(source.kind.value,), scratch=(offsets,), in_place=False,
                )
            )  # fmt: skip
            return
        blocks = self._blocks(source, block, span)
        form = "spread_col" if source.kind is Kind.COL else "spread_one"
        name = "SpreadCol" if source.kind is Kind.COL else "SpreadOne"
        block.instrs.append(Instr(form, name, dst, (blocks,), dst.kind, span, in_place=False))

    def _spread_bytes(self, source: Local, dst: Local, block: DraftBlock, span: Span) -> None:
        """By way of FP16, which holds every 8-bit integer: Brcb and Copy take no single bytes."""
        half = Local(f"{source.name}_half", DataType.DT_FP16, source.kind)
        wide = Local(f"{dst.name}_half", DataType.DT_FP16, dst.kind)
        self.homes[half] = block
        block.instrs.append(cast(half, source, "NONE", span))
        self._spread(half, wide, block, span)
        block.instrs.append(cast(dst, wide, "RINT", span))

    def _blocks(self, local: Local, block: DraftBlock, span: Span) -> Local:
        """``local`` (one value a row, or one) with each value filling 32-byte blocks."""
        for scope in reversed(self.blocks_of):
            if local in scope:
                return scope[local]
        if local in self.filled:
            return local
        home = self.homes[local]
        kind = Kind.COL_BLOCKS if local.kind is Kind.COL else Kind.ONE_BLOCKS
        blocks = Local(f"{local.name}_blocks", local.dtype, kind)
        home.instrs.append(
            Instr("brcb", "Brcb", blocks, (local,), local.kind, span, in_place=False)
        )
        # Made outside the phase's own loop, the blocks serve later phases, too.
        self.blocks_of[-1 if home is block else 0][local] = blocks
        return blocks

    def _operands(self, node: Node, kind: Kind, block: DraftBlock, span: Span) -> list[Local]:
        """The operands of an elementwise operation, repeated to the extent of its result."""
        found: list[Local] = []
        for operand in node.operands:
            if not isinstance(operand, Node):
                continue
            source = self.local(operand)
            if source.kind.elements is not kind:
                source = self._repeated(operand, source, kind, block, span)
            found.append(source)
        return found

    def _repeated(
        self, node: Node, source: Local, kind: Kind, block: DraftBlock, span: Span
    ) -> Local:
        if source.kind.elements is not source.kind:
            return self._repeated_mask(source, kind, block, span)
        wide = Local(source.name, source.dtype, kind)
        if isinstance(node.statement, Compute) and node.op == "fill":
            (scalar,) = node.statement.args
            assert isinstance(scalar, Expr)
            block.instrs.append(_filling(wide, kind, scalar, span))
        else:
            self._spread(source, wide, block, span)
        return wide

    def _repeated_mask(self, mask: Local, kind: Kind, block: DraftBlock, span: Span) -> Local:
        """By way of FP16: bits are not repeated by any instruction."""
        half = DataType.DT_FP16
        one = Local(f"{mask.name}_one", half, mask.kind.elements)
        number = Local(f"{mask.name}_half", half, mask.kind.elements)
        wide = Local(f"{mask.name}_half", half, kind)
        bits = Local(mask.name, mask.dtype, kind.bits)
        zero = const(0.0)
        self.homes[number] = block
        block.instrs.append(_filling(one, one.kind, const(1.0), span))
        block.instrs.append(
            Instr("selects", "Select", number, (mask, one), one.kind, span, (zero,))
        )
        self._spread(number, wide, block, span)
        block.instrs.append(
            Instr("compares", "Compares", bits, (wide,), kind, span, (zero,), ("NE",))
        )
        return bits
