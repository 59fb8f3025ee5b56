"""What a call must meet: preconditions, each of the calls that get to a place in the kernel."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, field

from pypto.elaborate.advice import for_store
from pypto.elaborate.blocks import Block
from pypto.elaborate.conditions import implying, negated, simplest
from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.values import Part
from pypto.error import DtypeError, ShapeError, Span
from pypto.ir.dtype import stored_dtypes
from pypto.ir.expr import Expr, apply, as_int, const, variables_of
from pypto.ir.ranges import Ranges
from pypto.ir.tensor import Buffer, Precondition, TensorType, Value
from pypto.ops.casts import cast_text
from pypto.ops.shapes import equality

__all__ = ["Requirements", "show_shape"]


def show_shape(shape: tuple[Expr, ...]) -> str:
    """``[4, x.shape[1]]``"""
    return f"[{', '.join(str(size) for size in shape)}]"


_TRUE = const(True)
_ASKED = "every call is asked, since only the running kernel knows whether it gets here"


@dataclass(slots=True, eq=False)
class Requirements:
    """The preconditions so far, and what they are asked of: the block that is open, and the blocks
    in which values were made."""

    block: Block = field(default_factory=Block)
    required: dict[Expr, Precondition] = field(default_factory=dict)
    made: dict[Value, Block] = field(default_factory=dict)

    @property
    def ranges(self) -> Ranges:
        """What is known of integers here."""
        return self.block.ranges

    def require(
        self,
        condition: Expr,
        message: str,
        span: Span,
        values: Iterable[Value] = (),
        block: Block | None = None,
    ) -> None:
        """Make ``condition`` a precondition of every call that gets here; the same one counts once.

        Of the way here counts what is known at launch: a call that runs a loop or takes a branch
        only because of elements must meet the condition, too, since a running kernel refuses
        nothing; the message then says so. ``values``: those whose sizes it
        compares; what was made in front of a branch has no other sizes inside. ``block``: here,
        the block that is open, one around it, or a side of the branch that has just ended.
        """
        here = block or self.block
        conditions = implying(here.ranges, condition)
        if conditions is None:
            text = str(simplest(condition))
            refuse(
                ShapeError,
                f"{message}, which cannot be proved: it depends on values that only the running "
                "kernel knows",
                span,
                got=text if len(text) <= 60 else None,
                help="use slices of constant length: x[i * T : (i + 1) * T]",
            )
        block = here.choice
        while block.outer is not None and not all(self.made[v].within(block) for v in values):
            block = block.outer.choice
        if any(variables_of(one.reached) for one in here.chain() if not block.within(one)):
            message = f"{message}; {_ASKED}"
        for one in conditions:
            self._require(block, one, message, span)

    def make_equal(self, a: TensorType, b: TensorType, what: str, span: Span, block: Block) -> bool:
        """Make two types equal by preconditions of what gets to ``block``; False: they differ in
        more than sizes that are known at launch."""
        if a.dtype != b.dtype or a.rank != b.rank:
            return False
        unequal = [(x, y) for x, y in zip(a.shape, b.shape, strict=True) if x != y]
        for x, y in unequal:
            known = as_int(x) is not None and as_int(y) is not None
            if known or implying(block.ranges, apply("eq", x, y)) is None:
                return False
        for x, y in unequal:
            self.require(apply("eq", x, y), f"{what}: {x} == {y} is needed", span, block=block)
        return True

    def refuse_here(self, message: str, span: Span) -> bool:
        """Refuse every call that gets here; False: whether one does is not known at launch."""
        block = self.block.choice
        if block.outer is None or any(map(variables_of, self.block.path())):
            return False
        self._require(block.outer.choice, negated(block.reached), message, span)
        return True

    def promise(self, condition: Expr, message: str, span: Span) -> bool:
        """Make ``condition`` a precondition of exactly those calls that get here; False: whether a
        call does, or the condition, is not known at launch."""
        implied = [condition] if not variables_of(condition) else implying(self.ranges, condition)
        if implied == []:
            return True
        if variables_of(condition) or any(map(variables_of, self.block.path())):
            return False
        self._require(self.block.choice, condition, message, span)
        return True

    def _require(self, at: Block, condition: Expr, message: str, span: Span) -> None:
        """Of the calls that get to ``at``."""
        if condition == _TRUE:
            return
        for block in self.block.chain() if self.block.within(at) else (at,):
            block.ranges = block.ranges.assume(condition)
            if block is at:
                break
        path = [one for one in dict.fromkeys(at.path()) if not variables_of(one)]
        if path:
            at.equal.append(condition)
            way = functools.reduce(lambda a, b: apply("and", a, b), path)
            condition = apply("or", negated(way), condition)
        if condition not in self.required:
            self.required[condition] = Precondition(condition, message, span)

    def check_store(self, part: Part, value: Value, span: Span) -> None:
        buffer = part.buffer
        if value.type.dtype != buffer.type.dtype:
            way = cast_text("value", value.type.dtype, buffer.type.dtype)
            refuse(
                DtypeError,
                f"'{buffer.name}' and the value stored into it have different dtypes",
                span,
                expected=str(buffer.type.dtype),
                got=str(value.type.dtype),
                help=f"cast the value: {way}" if way else None,
            )
        self.check_stored(buffer, span)
        sizes, shape = part.type.shape, value.type.shape
        unequal = []
        fits = len(shape) <= len(sizes)
        for size, given in zip(reversed(sizes), reversed(shape), strict=False):
            if size == given or as_int(given) == 1:
                continue
            if as_int(size) is not None and as_int(given) is not None:
                fits = False
            unequal.append((size, given))
        if not fits:
            refuse(
                ShapeError,
                f"the value does not fit into '{buffer.name}'",
                span,
                expected=f"shape {show_shape(sizes)}, or one that broadcasts to it",
                got=f"shape {show_shape(shape)}",
                help=for_store(buffer.name, [*map(as_int, sizes)], [*map(as_int, shape)]),
            )
        for size, given in unequal:
            message = f"storing into '{buffer.name}' needs {equality(given, size)}"
            self.require(apply("eq", given, size), message, span, [value])

    def check_stored(self, buffer: Buffer, span: Span) -> None:
        dtype = buffer.type.dtype
        if dtype in stored_dtypes:
            return
        name = dtype.torch_name
        refuse(
            DtypeError,
            f"storing into '{buffer.name}' does not take {dtype.absent}",
            span,
            expected=f"one of {', '.join(str(d) for d in sorted(stored_dtypes))}",
            got=f"{dtype} for '{buffer.name}'",
            help="a copy needs the bytes alone: annotate DT_UINT8 and pass x.view(torch.uint8)"
            if name is not None and dtype.bytes == 1
            else None,
        )
