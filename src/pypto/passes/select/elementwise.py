"""Instructions for operations of elements."""

from __future__ import annotations

from pypto.ir.dtype import DataType
from pypto.ir.expr import Expr
from pypto.ir.tensor import Compute
from pypto.ir.tile import Instr, Kind, Local
from pypto.ops.lowering import BITWISE, PAIR, SELECTS
from pypto.passes.draft import DraftBlock
from pypto.passes.select.spread import Spreading, cast
from pypto.passes.stage import Node

__all__ = ["STRIDED", "Elementwise"]

COUNTED = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "max": "Max", "min": "Min",
    "adds": "Adds", "muls": "Muls", "maxs": "Maxs", "mins": "Mins",
    "shl": "ShiftLeft", "shr": "ShiftRight",
    "abs": "Abs", "exp": "Exp", "ln": "Ln", "sqrt": "Sqrt", "relu": "Relu",
}  # fmt: skip
LIBRARY = {"tanh": "Tanh", "sigmoid": "Sigmoid", "power": "Power", "powers": "Power"}
STRIDED = {"add", "sub", "mul", "div", "max", "min"}
LOGIC = {
    "mask_and": "And", "mask_or": "Or", "mask_not": "Not",
    "bit_and": "And", "bit_or": "Or", "bit_not": "Not",
}  # fmt: skip
STRIDED = {"add", "sub", "mul", "div", "max", "min"}
LOGIC = {
    "mask_and": "And", "mask_or": "Or", "mask_not": "Not",
    "bit_and": "And", "bit_or": "Or", "bit_not": "Not",
}  # fmt: skip
LOGIC = {
    "mask_and": "And", "mask_or": "Or", "mask_not": "Not",
    "bit_and": "And", "bit_or": "Or", "bit_not": "Not",
}  # fmt: skip
_COMMUTES = {"add", "mul", "max", "min"}
_I32 = DataType.DT_INT32


class Elementwise(Spreading):
    """Adds operations of elements."""

    def _strided(self, node: Node, use: Compute, block: DraftBlock) -> None:
        """A binary operation whose operands may lack rows or columns."""
        a, b = (self.local(o) for o in node.operands if isinstance(o, Node))
        dst = self._keep(node, self._new(node), block)
        name = COUNTED[use.op]
        if a.kind is dst.kind and b.kind is dst.kind:
            block.instrs.append(Instr("count", name, dst, (a, b), dst.kind, use.span))
            return
        if {a.kind, b.kind} == {Kind.COL, Kind.ROW} or dst.kind not in (a.kind, b.kind):
            wide = Local(a.name, a.dtype, dst.kind)
            self._spread(a, wide, block, use.span)
            a = wide
            if b.kind is dst.kind:
                block.instrs.append(Instr("count", name, dst, (a, b), dst.kind, use.span))
                return
        left = a.kind is dst.kind
        full, other = (a, b) if left else (b, a)
        form, suffix = "with_row", "Row"
        if other.kind is not Kind.ROW:
            form, suffix = ("with_col", "Col") if other.kind is Kind.COL else ("with_one", "One")
            other = self._blocks(other, block, use.span)
        helper = f"{name}{suffix}" if left or use.op in _COMMUTES else f"{suffix}{name}"
        order = "left" if left or use.op in _COMMUTES else "right"
        block.instrs.append(
            Instr(form, helper, dst, (full, other), dst.kind, use.span, attrs=(name, order))
        )

    def _view(self, node: Node, use: Compute, block: DraftBlock) -> None:
        """Another local with the memory of the operand: no instruction."""
        (source,) = self._operands(node, self.kind(node), block, use.span)
        local = self._new(node)
        local.of = source
        self._keep(node, local, block)

    def _elementwise(self, node: Node, use: Compute, block: DraftBlock) -> None:
        kind, span = self.kind(node), use.span
        srcs = tuple(self._operands(node, kind, block, span))
        scalars = tuple(a for a in use.args if isinstance(a, Expr))
        dst = self._keep(node, self._new(node), block)
        if use.op in LIBRARY:
            scratch = Local("tmp", DataType.DT_UINT8, Kind.BYTES)
            made = Instr(
                "library", LIBRARY[use.op], dst, srcs, kind, span, scalars, scratch=(scratch,),
                in_place=False,
            )  # fmt: skip
        elif use.op == "cast":
            made = cast(dst, srcs[0], str(use.attr("mode")), span)
        elif use.op in ("low_half", "flip_sign"):
            name = "LowHalf" if use.op == "low_half" else "FlipSign"
            made = Instr(use.op, name, dst, srcs, kind, span, scalars, in_place=False)
        elif use.op in ("compare", "compares"):
            name = "Compare" if use.op == "compare" else "Compares"
            attrs = (str(use.attr("mode")),)
            made = Instr(use.op, name, dst, srcs, kind, span, scalars, attrs)
        elif use.op in PAIR:
            words = Local("words", DataType.DT_UINT8, Kind.BYTES)
            made = Instr("pair", "Pair", dst, srcs, kind, span, scratch=(words,), in_place=False)
        elif use.op == "gcd":
            steps = (str(use.attr("steps")),)
            work = tuple(
                Local(name, dtype, kind)
                for name, dtype in (("y", _I32), ("q", _I32), ("d", DataType.DT_FP32))
            )
            made = Instr("gcd", "Gcd", dst, srcs, kind, span, (), steps, work, in_place=False)
        elif use.op in SELECTS:
            made = Instr(use.op, "Select", dst, srcs, kind, span, scalars)
        elif use.op in LOGIC:
            form = "bits" if use.op in BITWISE else "mask"
            made = Instr(form, LOGIC[use.op], dst, srcs, kind, span)
        else:
            made = Instr("count", COUNTED[use.op], dst, srcs, kind, span, scalars)
        block.instrs.append(made)
