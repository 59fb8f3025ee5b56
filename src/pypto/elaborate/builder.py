"""Tensor IR under construction: statements in order, and what is known about each buffer."""

from __future__ import annotations

from dataclasses import dataclass, field

from pypto.elaborate.diagnostics import refuse
from pypto.error import DtypeError, FeValueError, ShapeError, Span
from pypto.ir.dtype import stored_dtypes
from pypto.ir.expr import Expr, apply, as_int
from pypto.ir.tensor import (
    Buffer,
    Compute,
    Load,
    Operand,
    Precondition,
    Region,
    Statement,
    Store,
    TensorType,
    Value,
    full_region,
)
from pypto.ops.casts import cast_text

__all__ = ["Builder", "show_shape"]


def show_shape(shape: tuple[Expr, ...]) -> str:
    """``[4, x.shape[1]]``"""
    return f"[{', '.join(str(size) for size in shape)}]"


MAX_STATEMENTS = 10_000
"""Operations, loads and stores of one kernel; a C++ compiler needs some 5 ms for each."""


@dataclass(slots=True, eq=False)
class Builder:
    """Appends statements; keeps the vector tile in force and who has read and written what.

    ``memory``: class numbers of the tensor parameters; those of one number are the same memory.
    """

    body: list[Statement] = field(default_factory=list)
    required: dict[Expr, Precondition] = field(default_factory=dict)
    locals: list[Buffer] = field(default_factory=list)
    read: set[Buffer] = field(default_factory=set)
    written: set[Buffer] = field(default_factory=set)
    tile: tuple[int, ...] | None = None
    tile_span: Span | None = None
    loaded: dict[Buffer, Value] = field(default_factory=dict)
    memory: dict[Buffer, int] = field(default_factory=dict)
    count: int = 0

    def value(self, type: TensorType, name: str | None = None) -> Value:
        """A new SSA value."""
        made = Value(self.count, type, name)
        self.count += 1
        return made

    def load(self, buffer: Buffer, span: Span) -> Value:
        """All of ``buffer``, which is written, as it is now; read again only after a write."""
        self.read.add(buffer)
        known = self.loaded.get(buffer)
        if known is None:
            known = self.value(buffer.type, buffer.name)
            self.body.append(Load(known, buffer, full_region(buffer), span))
            self.loaded[buffer] = known
        return known

    def store(self, buffer: Buffer, value: Value, span: Span) -> None:
        """All of ``buffer`` = ``value``; refuses another dtype or a shape that does not fit."""
        region = full_region(buffer)
        self._check_store(buffer, region, value, span)
        self.body.append(Store(buffer, region, value, span))
        place = self.memory.get(buffer)
        for other in [*self.loaded]:
            if other is buffer or (place is not None and self.memory.get(other) == place):
                del self.loaded[other]
        self.written.add(buffer)

    def compute(
        self,
        op: str,
        args: tuple[Operand, ...],
        attrs: tuple[tuple[str, object], ...],
        type: TensorType,
        span: Span,
        name: str | None,
    ) -> Value:
        if len(self.body) >= MAX_STATEMENTS:
            refuse(
                FeValueError,
                f"a kernel of more than {MAX_STATEMENTS} operations takes too long to compile",
                span,
                help="a loop over range(...) is unrolled: every step adds its operations; use "
                "fewer steps, or several kernels",
            )
        result = self.value(type, name)
        self.body.append(Compute(result, op, args, attrs, self.tile, span, self.tile_span))
        return result

    def require(self, condition: Expr, message: str, span: Span) -> None:
        """Make ``condition`` a precondition of every call; the same one counts once."""
        if condition not in self.required:
            self.required[condition] = Precondition(condition, message, span)

    def _check_store(self, buffer: Buffer, region: Region, value: Value, span: Span) -> None:
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
        self._check_stored(buffer, span)
        sizes, shape = region.sizes, value.type.shape
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
            )
        for size, given in unequal:
            message = f"storing into '{buffer.name}' needs {given} == {size}"
            self.require(apply("eq", given, size), message, span)

    def _check_stored(self, buffer: Buffer, span: Span) -> None:
        dtype = buffer.type.dtype
        if dtype in stored_dtypes:
            return
        name = dtype.torch_name
        refuse(
            DtypeError,
            f"storing into '{buffer.name}' does not take {dtype} on this target",
            span,
            expected=f"one of {', '.join(str(d) for d in sorted(stored_dtypes))}",
            got=f"{dtype} for '{buffer.name}'",
            help="a copy needs the bytes alone: annotate DT_UINT8 and pass x.view(torch.uint8)"
            if name is not None and dtype.bytes == 1
            else None,
        )
