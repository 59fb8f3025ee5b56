"""Tensor IR: what a kernel means, before any decision on how to run it.

A kernel is a list of statements over values (SSA), buffers (mutable: the tensor parameters and
local tensors) and scalars. ``For`` and ``If`` hold lists of statements; a value is seen in the list
that defines it and in those inside. Sequential reading gives the meaning.

A tensor's ``shape`` is what the program states. How much of it holds elements is its valid shape
(``sizes``): a slice of 64 rows at a buffer's end may hold only 10. Operations work on the valid
part; what lies outside is undefined and never written to a buffer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pypto.error import Span
from pypto.ir.dtype import DataType
from pypto.ir.expr import Expr, Variable, apply, as_int, const

__all__ = [
    "Axes",
    "Buffer",
    "Carried",
    "Compute",
    "Dump",
    "For",
    "If",
    "Kernel",
    "Load",
    "LoadScalar",
    "Merge",
    "Operand",
    "Param",
    "Precondition",
    "Print",
    "Region",
    "Simple",
    "Statement",
    "Store",
    "TensorType",
    "Value",
    "along",
    "full_region",
    "operands_of",
    "root",
    "scalars_of",
    "start_of",
    "walk",
]

Shape: TypeAlias = tuple[Expr, ...]

_ZERO = const(0)

Axes: TypeAlias = tuple[int | None, ...]
"""Per axis of a value: the axis of the buffer that it runs along; None for an axis of size 1 that
the buffer does not have. The buffer's other axes have size 1 in the region."""


@dataclass(frozen=True, slots=True)
class TensorType:
    """dtype and sizes (elements) of a value or buffer.

    ``valid``: sizes of the part that holds elements, at most ``shape``; None: all of it.
    """

    dtype: DataType
    shape: Shape
    valid: Shape | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def sizes(self) -> Shape:
        """Sizes of the part that holds elements."""
        return self.shape if self.valid is None else self.valid

    def __str__(self) -> str:
        text = f"{self.dtype.short}[{','.join(str(s) for s in self.shape)}]"
        if self.valid is not None:
            text += f" valid [{','.join(str(s) for s in self.valid)}]"
        return text


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """The result of one statement. ``name`` is the Python name it was first given, if any."""

    id: int
    type: TensorType
    name: str | None = None

    def __str__(self) -> str:
        return f"%{self.id}"


Operand: TypeAlias = Value | Expr


@dataclass(frozen=True, slots=True, eq=False)
class Buffer:
    """Memory that statements read and write: a tensor parameter or a local tensor.

    ``param`` is the position in the kernel's signature, None for a local tensor. With ``base`` it
    is no memory of its own but another shape of ``base``'s, from its element ``offset`` on, row by
    row; or the same rows in another dtype, from its first element on.
    """

    name: str
    type: TensorType
    param: int | None
    span: Span
    base: Buffer | None = None
    offset: Expr = _ZERO

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Region:
    """A box of a buffer: ``offsets`` and ``sizes`` in elements per axis; step 1.

    It lies inside the buffer; where that is not so by construction, the sizes are clipped.
    """

    offsets: Shape
    sizes: Shape

    def covers(self, buffer: Buffer) -> bool:
        """True when the region is the whole buffer."""
        return self.sizes == buffer.type.shape and all(as_int(o) == 0 for o in self.offsets)


def root(buffer: Buffer) -> Buffer:
    """The buffer whose memory ``buffer`` is."""
    while buffer.base is not None:
        buffer = buffer.base
    return buffer


def start_of(buffer: Buffer) -> Expr:
    """The element of the memory at which ``buffer`` starts, counted in its own dtype."""
    start: Expr = _ZERO
    width = buffer.type.dtype.bytes
    here = buffer
    while here.base is not None:
        # Where widths differ, the wider elements start at multiples of their width.
        bytes = apply("mul", here.offset, here.base.type.dtype.bytes)
        start = apply("add", start, apply("floordiv", bytes, width))
        here = here.base
    return start


def full_region(buffer: Buffer) -> Region:
    """The region that is all of ``buffer``."""
    return Region(tuple(const(0) for _ in buffer.type.shape), buffer.type.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """``result`` = the elements of ``region`` of ``buffer`` now.

    ``axes``: where the result's axes lie in the buffer; None: the same axes in the same order.
    """

    result: Value
    buffer: Buffer
    region: Region
    span: Span
    axes: Axes | None = None
    access: object = field(default=None, init=False, repr=False)  # kept by passes/access.py


@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """``region`` of ``buffer`` = ``value``; sizes equal, or 1 where the value broadcasts.

    Where the region is smaller, the value's first elements along that axis are written.

    ``axes``: where the axes of the part lie in the buffer, of which the value's are the last; None:
    all axes of the buffer. ``shape``: what is stated of the part along them; None: the region's
    sizes.
    """

    buffer: Buffer
    region: Region
    value: Value
    span: Span
    axes: Axes | None = None
    shape: Shape | None = None
    access: object = field(default=None, init=False, repr=False)  # kept by passes/access.py


@dataclass(frozen=True, slots=True, eq=False)
class LoadScalar:
    """``result`` = the element of ``buffer`` at ``index`` now. ``limit``: it must be one of 0 ...
    ``limit - 1``, as the kernel makes sure when it runs; None: it may be any number."""

    result: Variable
    buffer: Buffer
    index: Shape
    span: Span
    limit: Expr | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Print:
    """Write texts and numbers, one after the other, to the standard output of the process."""

    parts: tuple[str | Expr, ...]
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Dump:
    """Write the elements of ``region`` of ``buffer``, which lie in one piece, to the standard
    output of the process."""

    buffer: Buffer
    region: Region
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Compute:
    """``result`` = operation ``op`` of the registry applied to ``args``.

    ``args`` are the tensor and scalar operands in the order of the operation's signature; a scalar
    is an :class:`Expr`. ``attrs`` are its compile-time arguments by name (axis, dtype, mode).
    ``tile`` is the vector tile in force, None when none was set.
    """

    result: Value
    op: str
    args: tuple[Operand, ...]
    attrs: tuple[tuple[str, object], ...]
    tile: tuple[int, ...] | None
    span: Span
    tile_span: Span | None = None  # the set_vec_tile_shapes call

    def attr(self, name: str) -> object:
        return dict(self.attrs)[name]


@dataclass(frozen=True, slots=True, eq=False)
class Carried:
    """A scalar that goes from one iteration of a loop to the next.

    ``inner``: its value in an iteration; ``initial``: in the first one; ``next``: what the
    iteration hands on; ``result``: its value behind the loop.
    """

    inner: Variable
    initial: Expr
    next: Expr
    result: Variable


@dataclass(frozen=True, slots=True, eq=False)
class For:
    """``body`` for ``index`` = ``start``, ``start + step``, … before ``stop``; ``step`` is not 0.

    ``locals``: local tensors that an iteration makes for itself, and its views of buffers.
    ``until``: a carried truth value that ends the loop before the next iteration. ``parallel``: the
    program says that iterations are independent. Bounds are those at the loop's start. ``strip``:
    how much of an axis an iteration takes, where a pass made the loop.
    """

    index: Variable
    start: Expr
    stop: Expr
    step: Expr
    body: tuple[Statement, ...]
    span: Span
    carried: tuple[Carried, ...] = ()
    locals: tuple[Buffer, ...] = ()
    until: Carried | None = None
    parallel: bool = False
    name: str | None = None
    strip: int | None = None

    @property
    def scalars(self) -> tuple[Carried, ...]:
        """Every scalar that iterations hand on, the one that ends the loop last."""
        return self.carried if self.until is None else (*self.carried, self.until)


@dataclass(frozen=True, slots=True, eq=False)
class Merge:
    """``result`` = ``then`` or ``other``, by the branch that was taken."""

    result: Variable
    then: Expr
    other: Expr


@dataclass(frozen=True, slots=True, eq=False)
class If:
    """``then`` if ``condition`` (a truth value) else ``other``."""

    condition: Expr
    then: tuple[Statement, ...]
    other: tuple[Statement, ...]
    span: Span
    merges: tuple[Merge, ...] = ()


Simple: TypeAlias = Load | Store | Compute
Statement: TypeAlias = Simple | LoadScalar | Print | Dump | For | If


def walk(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """Every statement of ``body`` and of the loops and branches in it, in program order."""
    for statement in body:
        yield statement
        if isinstance(statement, For):
            yield from walk(statement.body)
        elif isinstance(statement, If):
            yield from walk(statement.then)
            yield from walk(statement.other)


def operands_of(statement: Statement) -> list[Value]:
    """Every value that ``statement`` itself uses."""
    if isinstance(statement, Store):
        return [statement.value]
    if isinstance(statement, Compute):
        return [a for a in statement.args if isinstance(a, Value)]
    return []


def along(sizes: Shape, axes: Axes | None, rank: int) -> Shape:
    """Sizes of a region along the last ``rank`` of ``axes``, None for those of the buffer."""
    if axes is None:
        return sizes[len(sizes) - rank :]
    return tuple(const(1) if a is None else sizes[a] for a in axes[len(axes) - rank :])


def scalars_of(statement: Statement) -> Iterator[Expr]:
    """Every scalar expression that ``statement`` itself holds, without the lists in it."""
    if isinstance(statement, Load | Store | Dump):
        yield from (*statement.region.offsets, *statement.region.sizes)
    elif isinstance(statement, LoadScalar):
        yield from statement.index
        if statement.limit is not None:
            yield statement.limit
    elif isinstance(statement, Print):
        yield from (part for part in statement.parts if isinstance(part, Expr))
    elif isinstance(statement, Compute):
        yield from (a for a in statement.args if isinstance(a, Expr))
        yield from (*statement.result.type.shape, *statement.result.type.sizes)
    elif isinstance(statement, For):
        yield from (statement.start, statement.stop, statement.step)
        for carried in statement.scalars:
            yield from (carried.initial, carried.next)
    else:
        yield statement.condition
        for merge in statement.merges:
            yield from (merge.then, merge.other)


@dataclass(frozen=True, slots=True, eq=False)
class Param:
    """One parameter of the kernel.

    ``constant``: its value was needed at compile time (or is no number) and is part of the key.
    ``int``/``float``: passed at each call.
    """

    name: str
    index: int
    kind: Literal["tensor", "int", "float", "constant"]
    buffer: Buffer | None
    value: object = None  # of a constant
    written: bool = False  # tensor parameters
    read: bool = False


@dataclass(frozen=True, slots=True)
class Precondition:
    """A condition over sizes and scalar arguments that each call must meet."""

    condition: Expr
    message: str
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """One kernel, helpers inlined, compile-time branches taken."""

    name: str
    params: tuple[Param, ...]
    body: tuple[Statement, ...]
    preconditions: tuple[Precondition, ...]
    span: Span  # of the ``def``
    locals: tuple[Buffer, ...] = ()  # local tensors and views made outside loops

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """All of them, those that loops make for each iteration, too."""
        inner = [b for s in walk(self.body) if isinstance(s, For) for b in s.locals]
        return (*(p.buffer for p in self.params if p.buffer is not None), *self.locals, *inner)
