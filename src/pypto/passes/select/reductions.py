"""Instructions for reductions, within a row or of rows to one."""

from __future__ import annotations

from pypto.error import Span
from pypto.ir.dtype import DataType
from pypto.ir.expr import Expr, as_int, const
from pypto.ir.tensor import Compute
from pypto.ir.tile import Instr, Kind, Local
from pypto.passes.draft import DraftBlock, DraftPhase
from pypto.passes.select.places import Places
from pypto.passes.stage import Node

__all__ = ["SUMMED_ROWS", "Reductions", "add_part", "neutral", "rounds", "with_lost"]

REDUCTION = {
    "reduce_sum": "Sum", "reduce_prod": "Prod", "reduce_max": "Max", "reduce_min": "Min",
}  # fmt: skip
SUMMED = 64 * 64  # elements of a row that are summed lane by lane: 64 roundings
SUMMED_ROWS = 32  # rows that are summed one after another: 32 roundings


def lanes(dtype: DataType) -> int:
    """Elements of one repeat of a vector instruction: 256 bytes."""
    return 256 // dtype.bytes


class Reductions(Places):
    """Adds reductions."""

    def _fold(self, stem: str, source: Local) -> Local:
        """A repeat for each row; twice as much where lanes are then paired up."""
        across = crosses_lanes(stem, source.dtype)
        return Local("fold", source.dtype, Kind.FOLD if across else Kind.FOLD_TWICE)

    def _reduce(self, node: Node, use: Compute, block: DraftBlock) -> None:
        source = self._reduced(node)
        dst = self._keep(node, self._new(node), block)
        cols = as_int(self.layout.space.cols)
        stem = REDUCTION[use.op]
        across = crosses_lanes(stem, source.dtype)
        direct = across and cols is not None and cols <= lanes(source.dtype)
        form = "direct"
        scratch: tuple[Local, ...] = ()
        if not direct:
            form, scratch = "fold" if across else "pairs", (self._fold(stem, source),)
            if rounds(stem, source.dtype) and (cols is None or cols > SUMMED):
                form, scratch = "groups", (*scratch, Local("part", source.dtype, Kind.ONE_BLOCKS))
        block.instrs.append(
            Instr(
                "reduce", f"{stem}Rows", dst, (source,), source.kind, use.span,
                attrs=(stem, form), scratch=scratch, in_place=False,
            )
        )  # fmt: skip

    def _accumulate(self, node: Node, phase: DraftPhase) -> None:
        """A reduction in passes: neutral lanes, then each step, then what these come to.
        Beside the lanes of a sum stand those of what its roundings have lost."""
        if self.form == "columns":
            self._accumulate_rows(node, phase)
            return
        use = node.statement
        assert isinstance(use, Compute)
        source = self._reduced(node)
        stem = REDUCTION[use.op]
        loses = rounds(stem, source.dtype)
        fold = Local("fold", source.dtype, Kind.FOLD_TWICE) if loses else self._fold(stem, source)
        extent = Kind.FOLD_TWICE if loses else Kind.FOLD
        attrs = (stem, "two_sum") if loses else (stem,)
        phase.start.instrs.append(
            Instr("neutral", "Duplicate", fold, (), extent, use.span, attrs=(stem,))
        )
        phase.step.instrs.append(
            Instr(
                "accumulate", f"Fold{stem}", fold, (source, fold), Kind.FULL, use.span,
                attrs=attrs, scratch=_parts(source.dtype) if loses else (),
            )
        )  # fmt: skip
        dst = self._new(node)
        self.places[0][node] = dst
        self.homes[dst] = phase.finish
        if not crosses_lanes(stem, source.dtype):
            attrs = (stem, "pairs")
        phase.finish.instrs.append(
            Instr(
                "finish", f"Finish{stem}", dst, (fold,), Kind.ONE, use.span, attrs=attrs,
                scratch=_parts(source.dtype) if loses else (), in_place=False,
            )
        )  # fmt: skip

    def _accumulate_rows(self, node: Node, phase: DraftPhase) -> None:
        """A reduction of rows to one: they are added to what is there, each where it stands."""
        use = node.statement
        assert isinstance(use, Compute)
        source = self._reduced(node)
        stem = REDUCTION[use.op]
        dst = self._new(node)
        self.places[0][node] = dst
        self.homes[dst] = phase.finish
        rows = as_int(self.layout.space.rows)
        if rounds(stem, source.dtype) and (rows is None or rows > SUMMED_ROWS):
            self._sum_apart(source, dst, phase, use.span)
            return
        phase.start.instrs.append(neutral(dst, stem, use.span))
        phase.step.instrs.append(_rows_into(dst, source, stem, use.span))

    def _sum_apart(self, source: Local, dst: Local, phase: DraftPhase, span: Span) -> None:
        """The rows of each step are summed apart and added to the sum of those before."""
        lost, part, next, total = (
            Local(name, source.dtype, Kind.ROW) for name in ("lost", "part", "next", "total")
        )
        phase.start.instrs += [neutral(dst, "Sum", span), neutral(lost, "Sum", span)]
        phase.step.instrs += [
            neutral(part, "Sum", span),
            _rows_into(part, source, "Sum", span),
            *add_part(dst, part, next, lost, span),
        ]
        phase.finish.instrs += with_lost(total, dst, lost, dst, span)


def add_part(total: Local, part: Local, next: Local, lost: Local, span: Span) -> list[Instr]:
    """Add the row ``part`` to ``total``, and what that rounds off to ``lost``: with next = total +
    part it is part - (next - total)."""
    return [
        _row("Add", next, total, part, span=span),
        _row("Sub", total, next, total, span=span),
        _row("Sub", part, part, total, span=span),
        _row("Add", lost, lost, part, span=span),
        _row("Adds", total, next, span=span, scalars=(const(0.0),)),
    ]


def with_lost(whole: Local, total: Local, lost: Local, dst: Local, span: Span) -> list[Instr]:
    """``dst`` = total + lost, by way of ``whole``. What is not finite has lost NaN: there it is the
    total itself."""
    numbers = Local("numbers", DataType.DT_UINT16, Kind.ROW_BITS)
    return [
        _row("Add", whole, total, lost, span=span),
        Instr("compare", "Compare", numbers, (whole, whole), Kind.ROW, span, attrs=("EQ",)),
        Instr("select", "Select", dst, (numbers, whole, total), Kind.ROW, span),
    ]


def _row(name: str, dst: Local, *of: Local, span: Span, scalars: tuple[Expr, ...] = ()) -> Instr:
    return Instr("count", name, dst, of, Kind.ROW, span, scalars)


def neutral(dst: Local, stem: str, span: Span) -> Instr:
    return Instr("neutral", "Duplicate", dst, (), Kind.ROW, span, attrs=(stem,))


def _rows_into(dst: Local, source: Local, stem: str, span: Span) -> Instr:
    """Each row of a step to ``dst``, a row."""
    name = f"{stem}Into"
    return Instr("accumulate_rows", name, dst, (source, dst), Kind.FULL, span, attrs=(stem,))


def crosses_lanes(stem: str, dtype: DataType) -> bool:
    """Whether an instruction reduces the lanes of a repeat to one value."""
    return stem != "Prod" and dtype.is_float


def rounds(stem: str, dtype: DataType) -> bool:
    """Whether a reduction rounds, so that long ones need care."""
    return stem == "Sum" and dtype.is_float


def _parts(dtype: DataType) -> tuple[Local, ...]:
    return (Local("part", dtype, Kind.FOLD_TWICE),)
