"""Tensor IR under construction: statements in order, and what is known about each buffer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NoReturn

from pypto.elaborate.blocks import Block, Draft, OpenFor, OpenIf, Turn, finish
from pypto.elaborate.copies import Copies
from pypto.elaborate.diagnostics import OverLimit, refuse
from pypto.elaborate.requirements import Requirements
from pypto.elaborate.values import Part, Tensor
from pypto.error import ShapeError, Span
from pypto.ir.bounds import upper_bound
from pypto.ir.dtype import DataType
from pypto.ir.expr import Expr, Kind, Variable, apply, as_int, const, variables_of
from pypto.ir.ranges import Ranges
from pypto.ir.tensor import (
    Buffer,
    Compute,
    Load,
    LoadScalar,
    Operand,
    Region,
    Statement,
    Store,
    TensorType,
    Value,
    full_region,
    root,
)

__all__ = ["Builder", "whole"]


def whole(buffer: Buffer) -> Part:
    """All of ``buffer`` as a part of it."""
    return Part(buffer, full_region(buffer), (*range(buffer.type.rank),), buffer.type, buffer.name)


def _full(type: TensorType) -> TensorType:
    return TensorType(type.dtype, type.shape)


def _holding(buffer: Buffer, value: Value) -> Part:
    """The part of ``buffer`` that ``value`` fills."""
    region = Region(full_region(buffer).offsets, value.type.sizes)
    return Part(buffer, region, (*range(buffer.type.rank),), value.type, value.name)


_TRUE = const(True)
_ZERO = const(0)

MAX_STATEMENTS = 10_000
"""Operations, loads and stores of one kernel; a C++ compiler needs some 5 ms for each."""

MAX_COPIES = 4 * MAX_STATEMENTS
"""Loads, stores and operations together."""


@dataclass(frozen=True, slots=True, eq=False)
class _Marks:
    locals: int
    statements: int
    read: set[Buffer]
    written: set[Buffer]


@dataclass(slots=True, eq=False)
class Builder(Requirements):
    """Appends statements; keeps the vector tile in force and who has read and written what.

    ``memory``: class numbers of the tensor parameters; those of one number are the same memory.
    ``loaded``: whole buffers whose elements are at hand, for each block that is open.
    """

    read: set[Buffer] = field(default_factory=set)
    written: set[Buffer] = field(default_factory=set)
    tile: tuple[int, ...] | None = None
    tile_span: Span | None = None
    loaded: list[dict[Buffer, Value]] = field(default_factory=lambda: [{}])
    memory: dict[Buffer, int] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)  # of local tensors and variables
    numbers: dict[str, int] = field(default_factory=dict)  # the last one behind each name
    held: dict[Value, list[tuple[Buffer, Block]]] = field(default_factory=dict)  # see `kept`
    count: int = 0  # values
    variables: int = 0
    loops: dict[Expr, Turn] = field(default_factory=dict)  # those being read, by index
    origins: dict[Variable, tuple[str, Span]] = field(default_factory=dict)
    results: dict[Value, str] = field(default_factory=dict)  # of operations, and their places
    statements: int = 0
    appended: int = 0
    copies: Copies = field(init=False)

    def __post_init__(self) -> None:
        self.copies = Copies(self._memory, self.made)

    # --- blocks ---

    @contextmanager
    def inside(self, block: Block) -> Iterator[None]:
        """Append to ``block``."""
        outer = self.block
        # What was loaded before a loop may be overwritten by an iteration before this one.
        known = {} if block.locals is not outer.locals else dict(self.loaded[-1])
        self.block = block
        self.loaded.append(known)
        try:
            yield
        finally:
            self.loaded.pop()
            self.block = outer

    def nested(self, ranges: Ranges, reached: Expr, *, loop: bool) -> Block:
        """A block inside the one that is open; a loop's has local tensors of its own."""
        around = self.block
        return Block(
            around, locals=[] if loop else around.locals, ranges=ranges, depth=around.depth + 1,
            reached=reached,
        )  # fmt: skip

    def append(self, statement: Draft) -> None:
        self.block.body.append(statement)
        self.appended += 1
        if self.appended > MAX_COPIES:
            self._too_long(f"{MAX_COPIES} loads and stores", statement.span)
        if isinstance(statement, OpenFor | OpenIf):
            statement.closed = self.copies.time

    def marks(self) -> _Marks:
        """What :meth:`forget` goes back to."""
        return _Marks(len(self.block.locals), self.statements, set(self.read), set(self.written))

    def forget(self, block: Block, marks: _Marks) -> None:
        """Drop what stands in ``block``: no call gets to its end."""
        block.first.clear()
        block.body.clear()
        if block.locals is self.block.locals:
            del self.block.locals[marks.locals :]
        self.statements, self.read, self.written = marks.statements, marks.read, marks.written

    def finish(self) -> tuple[Statement, ...]:
        """The statements of the kernel."""
        return finish(self.block)

    # --- values, variables, buffers ---

    def value(self, type: TensorType, name: str | None = None, block: Block | None = None) -> Value:
        """A new SSA value of ``block``; None: of the one that is open."""
        made = Value(self.count, type, name)
        self.made[made] = block or self.block
        self.count += 1
        return made

    def variable(self, name: str, kind: Kind, block: Block, what: str, span: Span) -> Variable:
        """A new variable of ``block``; ``what`` and ``span`` say to messages what it is."""
        made = Variable(self.label(name), self.variables, kind)
        self.variables += 1
        self.origins[made] = (what, span)
        block.variables.add(made)
        return made

    def label(self, name: str) -> str:
        """``name``, or the next free one like it, for a variable or local tensor."""
        label, number = name, self.numbers.get(name, 1)
        while label in self.names:
            number += 1
            label = f"{name}_{number}"
        self.numbers[name] = number
        self.names.add(label)
        return label

    def local(
        self,
        name: str,
        type: TensorType,
        span: Span,
        block: Block | None = None,
        base: Buffer | None = None,
        offset: Expr = _ZERO,
    ) -> Buffer:
        """A new local tensor, or view of ``base``, of the loop (or kernel) around the block."""
        block = block or self.block
        sizes = tuple(self._local_size(size, name, span, block, base) for size in type.shape)
        type = TensorType(type.dtype, sizes)
        made = Buffer(self.label(name), type, None, span, base, offset)
        block.locals.append(made)
        return made

    def _local_size(
        self, size: Expr, name: str, span: Span, block: Block, base: Buffer | None
    ) -> Expr:
        """``size``, or a bound of it that is known at launch, when the memory is made."""
        if not variables_of(size):
            return size
        if base is not None and block.loop.outer is not None and block.loop.sees(size):
            return size
        bound = None if base is not None else upper_bound(size, self.ranges)
        if bound is None:
            refuse(
                ShapeError, f"the size of '{name}' has no bound that is known at launch", span,
                got=str(size), help="use slices of constant length: x[i * T : (i + 1) * T]",
            )  # fmt: skip
        return bound

    # --- statements ---

    def load(self, buffer: Buffer, span: Span) -> Value:
        """All of ``buffer``, which is written, as it is now; read again only after a write."""
        self.read.add(buffer)
        known = self.loaded[-1].get(buffer)
        if known is None:
            known = self.value(buffer.type, buffer.name)
            self.append(Load(known, buffer, full_region(buffer), span))
            self.loaded[-1][buffer] = known
        return known

    def load_part(self, part: Part, span: Span) -> Value:
        """The elements of ``part``, which is written, as they are now."""
        self.read.add(root(part.buffer))
        made = self.value(part.type, part.name)
        same = part.axes == (*range(part.buffer.type.rank),)
        self.append(Load(made, part.buffer, part.region, span, None if same else part.axes))
        return made

    def element(
        self,
        buffer: Buffer,
        index: tuple[Expr, ...],
        span: Span,
        name: str | None,
        limit: Expr | None = None,
    ) -> Variable:
        """The element of ``buffer`` at ``index`` as it is now, one of 0 ... ``limit - 1``."""
        self.read.add(root(buffer))
        dtype = buffer.type.dtype
        kind: Kind = "float" if dtype.is_float else "int"
        if dtype is DataType.DT_BOOL:
            kind = "bool"
        what = f"an element of '{buffer.name}', read"
        label = name or f"{buffer.name}_element"
        made = self.variable(label, kind, self.block, what, span)
        self.append(LoadScalar(made, buffer, index, span, limit))
        return made

    def store(self, buffer: Buffer, value: Value, span: Span) -> None:
        """All of ``buffer`` = ``value``; refuses another dtype or a shape that does not fit."""
        self.store_part(whole(buffer), value, span)

    def store_part(self, part: Part, value: Value, span: Span) -> None:
        """``part`` = ``value``, whose rank is at most that of the part."""
        buffer = part.buffer
        self.check_store(part, value, span)
        sizes = [*part.region.sizes]
        rank = value.type.rank
        axes = part.axes[len(part.axes) - rank :]
        stated = part.type.shape[len(part.axes) - rank :]
        for axis, size, given, have in zip(
            axes, stated, value.type.shape, value.type.sizes, strict=True
        ):
            # Sizes that are stated are equal, by proof or as a precondition.
            repeated = as_int(given) == 1 and as_int(size) != 1
            if axis is not None and repeated and as_int(have) != 1:
                sizes[axis] = apply("mul", sizes[axis], have)  # nothing is repeated to nothing
            elif axis is not None and not repeated and (have != given or sizes[axis] != size):
                sizes[axis] = self.smaller(sizes[axis], have)
        region = Region(part.region.offsets, tuple(sizes))
        every = part.axes == (*range(buffer.type.rank),)
        self.append(
            Store(buffer, region, value, span, None if every else part.axes, part.type.shape)
        )
        self.overwritten(buffer, span)

    def kept(self, value: Value, span: Span) -> Part:
        """A local tensor that holds ``value``, stored once on the way here."""
        for buffer, block in self.held.get(value, ()):
            if self.block.within(block):
                return _holding(buffer, value)
        made = self.local(value.name or "local", _full(value.type), span)
        self.store_part(_holding(made, value), value, span)
        self.held.setdefault(value, []).append((made, self.block))
        return _holding(made, value)

    def holds_nothing(self, item: object) -> bool:
        """Whether ``item`` is a local tensor, or part of one, that is not written yet."""
        if not isinstance(item, Buffer | Part):
            return False
        buffer = root(item.buffer if isinstance(item, Part) else item)
        return buffer.param is None and buffer not in self.written

    def copied(self, item: Tensor, buffer: Buffer, span: Span) -> list[Draft]:
        """Statements that copy a tensor into the local ``buffer``, wherever they are put."""
        statements: list[Draft] = []
        self.written.add(buffer)
        if not isinstance(item, Value):
            part = whole(item) if isinstance(item, Buffer) else item
            self.read.add(root(part.buffer))
            item, load = self.read_back(part.buffer, part.type, part.name, span, part)
            statements.append(load)
        held = _holding(buffer, item)
        statements.append(Store(buffer, held.region, item, span, None, item.type.shape))
        return statements

    def read_back(
        self,
        buffer: Buffer,
        type: TensorType,
        name: str | None,
        span: Span,
        part: Part | None = None,
        block: Block | None = None,
    ) -> tuple[Value, Load]:
        """A value of ``type`` from the start of ``buffer`` (or of ``part``), and its statement,
        which will stand in ``block`` (None: in the one that is open)."""
        made = self.value(type, name, block)
        region = Region(full_region(buffer).offsets, type.sizes)
        if part is None or part.axes == (*range(buffer.type.rank),):
            return made, Load(made, buffer, part.region if part else region, span)
        return made, Load(made, buffer, part.region, span, part.axes)

    def smaller(self, a: Expr, b: Expr) -> Expr:
        """The smaller one of two sizes."""
        if self.ranges.at_most(a, b):
            return a
        return b if self.ranges.at_most(b, a) else apply("min", a, b)

    def overwritten(self, buffer: Buffer, span: Span) -> None:
        """``buffer`` has other elements from here on."""
        place = self._memory(buffer)
        for known in self.loaded:
            for other in [*known]:
                if self._memory(other) == place:
                    del known[other]
        self.written.add(root(buffer))
        self.copies.write(root(buffer), self.block, span)

    def _memory(self, buffer: Buffer) -> object:
        """What is the same for buffers that are the same memory."""
        return self.memory.get(root(buffer), root(buffer))

    def compute(
        self,
        op: str,
        args: tuple[Operand, ...],
        attrs: tuple[tuple[str, object], ...],
        type: TensorType,
        span: Span,
        name: str | None,
    ) -> Value:
        self.statements += 1
        if self.statements > MAX_STATEMENTS:
            self._too_long(f"{MAX_STATEMENTS} operations", span)
        result = self.value(type, name)
        self.results[result] = f"{span.location}-{span.end_line}:{span.end_column}"
        self.append(Compute(result, op, args, attrs, self.tile, span, self.tile_span))
        return result

    def _too_long(self, what: str, span: Span) -> NoReturn:
        raise OverLimit(
            f"a kernel of more than {what} takes too long to compile",
            span,
            "a loop over range(...) is unrolled: every step adds its operations; use fewer steps, "
            "or several kernels",
        )
