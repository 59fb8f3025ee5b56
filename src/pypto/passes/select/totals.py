"""Instructions for running totals."""

from __future__ import annotations

from pypto.error import Span
from pypto.ir.tensor import Compute
from pypto.ir.tile import Instr, Kind, Local
from pypto.ops.lowering import axis_of
from pypto.passes.draft import DraftBlock
from pypto.passes.select.reductions import Reductions, add_part, neutral, rounds, with_lost
from pypto.passes.stage import Node

__all__ = ["Totals"]

SCANS = {"scan_sum": "Sum", "scan_prod": "Prod"}


class Totals(Reductions):
    """Adds running totals."""

    def _scan(self, node: Node, use: Compute, block: DraftBlock) -> None:
        """Totals of all elements up to each. From step to step goes what the last one came to."""
        source = self._reduced(node)
        if node.axes[axis_of(use)] is None:
            self._keep(node, source, block)
            return
        dst = self._keep(node, self._new(node), block)
        stem = SCANS[use.op]
        if self.form == "columns":
            self._scan_rows(source, dst, stem, use.span, block)
            return
        state = Local("state", source.dtype, Kind.ONE_TOTALS)
        work = Local("piece", source.dtype, Kind.PIECES)
        if self.form == "chunks":
            self._start(block).instrs.append(
                Instr("neutral", "Duplicate", state, (), Kind.ONE_TOTALS, use.span, attrs=(stem,))
            )
        part = "chunk" if self.form == "chunks" else "row"
        block.instrs.append(
            Instr(
                "scan", f"{stem}Along{part.title()}", dst, (source,), dst.kind, use.span,
                attrs=(stem, part), scratch=(state, work), in_place=False,
            )
        )  # fmt: skip

    def _start(self, step: DraftBlock) -> DraftBlock:
        """What runs before the steps that ``step`` is the block of."""
        return next(phase.start for phase in self.draft.phases if phase.step is step)

    def _scan_rows(
        self, source: Local, dst: Local, stem: str, span: Span, block: DraftBlock
    ) -> None:
        """Down the rows of a strip. The rows of a step are summed apart, as in :meth:`_sum_apart`,
        and what stands before them is added to them all."""

        def local(name: str) -> Local:
            return Local(name, source.dtype, Kind.ROW)

        def last(to: Local) -> Instr:
            return Instr("last_row", "DataCopy", to, (dst,), Kind.FULL, span, in_place=False)

        start, total = self._start(block).instrs, local("total")
        start.append(neutral(total, stem, span))
        if not rounds(stem, source.dtype):
            block.instrs += [
                Instr(
                    "scan_down", f"{stem}Down", dst, (source, total), Kind.FULL, span, attrs=(stem,)
                ),
                last(total),
            ]  # fmt: skip
            return
        zero, lost, before, part, next = map(local, ("zero", "lost", "before", "part", "next"))
        start += [neutral(x, stem, span) for x in (zero, lost, before)]
        block.instrs += [
            Instr("scan_down", f"{stem}Down", dst, (source, zero), Kind.FULL, span, attrs=(stem,)),
            last(part),
            Instr("with_row", "AddRow", dst, (dst, before), Kind.FULL, span, attrs=("Add", "left")),
            *add_part(total, part, next, lost, span),
            *with_lost(before, total, lost, before, span),
        ]
