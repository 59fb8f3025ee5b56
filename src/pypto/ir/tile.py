"""Tile IR: how a kernel runs on cores, tile by tile, in planned on-chip memory.

A program is a list of stages, loops, branches and waits, which every core runs. A stage has one or
two *plans* (a row that fits on-chip memory, or chunks of a row) behind a uniform condition; a plan
is one class of the generated Ascend C: a tile space, buffers with addresses and lifetimes, and
blocks of copies and instructions.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pypto.error import Span
from pypto.ir.dtype import DataType
from pypto.ir.expr import Expr, Variable, apply, as_int, const
from pypto.ir.tensor import Buffer, Carried, Merge, Param, Precondition

__all__ = [
    "Area",
    "Barrier",
    "Block",
    "Copy",
    "Form",
    "Instr",
    "Kind",
    "Local",
    "LoopRange",
    "Phase",
    "Plan",
    "PrintTensor",
    "PrintText",
    "Program",
    "ReadScalar",
    "Shared",
    "Slot",
    "Space",
    "TileBranch",
    "TileLoop",
    "TileNode",
    "TileStage",
    "Wait",
    "total_bytes",
    "walk_nodes",
]


class Kind(enum.Enum):
    """What a local holds of one step, and so how many elements it has.

    A step covers ``rows`` rows of ``cols`` columns; a row takes ``pitch`` elements.
    """

    __hash__ = object.__hash__  # members are one of a kind; Enum's own is a Python function

    FULL = "full"  # rows x pitch
    COL = "col"  # one value a row
    ROW = "row"  # one row of values, the same for all rows
    ONE = "one"  # one value
    TURNED = "turned"  # cols x rows: a FULL as it lies in memory whose rows run the other way
    COL_BLOCKS = "col_blocks"  # one 32-byte block a row, filled with the row's value
    ONE_BLOCKS = "one_blocks"  # one value filling blocks
    FOLD = "fold"  # 256 bytes a row
    FOLD_TWICE = "fold_twice"  # 512 bytes a row
    ONE_TOTALS = "one_totals"  # two repeats: a running total, and what its roundings have lost
    PIECES = "pieces"  # two pieces of a row of running totals: 64 segments of 32 elements each
    BYTES = "bytes"  # scratch of a library function, as large as a FULL of its dtype
    FULL_BITS = "full_bits"  # a bit for each element of a FULL, COL, ROW or ONE
    COL_BITS = "col_bits"
    ROW_BITS = "row_bits"
    ONE_BITS = "one_bits"

    @property
    def bits(self) -> Kind:
        """What holds a bit for each element of this."""
        return Kind(f"{self.value}_bits")

    @property
    def elements(self) -> Kind:
        """Of which elements this holds the bits; itself when it holds elements."""
        return Kind(self.value.removesuffix("_bits"))


Form: TypeAlias = Literal["run", "rows", "chunks", "columns", "tiles"]


class Area(enum.Enum):
    """Where in on-chip memory a slot lies."""

    __hash__ = object.__hash__  # members are one of a kind; Enum's own is a Python function

    IN = "in"  # VECIN queue, loaded each step
    OUT = "out"  # VECOUT queue, stored each step
    HEAD = "head"  # VECIN queue, loaded once a tile (chunks)
    TAIL = "tail"  # VECOUT queue, stored once a tile (chunks)
    CONST = "const"  # VECIN queue, loaded once a core
    CALC = "calc"  # VECCALC buffer
    KEPT = "kept"  # VECCALC buffer that outlives stages: local tensors of a loop


@dataclass(slots=True, eq=False)
class Slot:
    """A planned range of an area: ``offset`` and ``bytes`` are filled in by ``plan_memory``.

    ``phase``: whose queue buffers it lies in. A queue's buffers serve all phases in turn.
    ``others``: kinds of locals that it holds as well, in turn; it is as long as the longest.
    """

    area: Area
    kind: Kind
    dtype: DataType
    phase: int = 0
    offset: int = 0
    bytes: int = 0
    others: tuple[tuple[Kind, DataType], ...] = ()


@dataclass(slots=True, eq=False)
class Local:
    """A local tensor: a typed view of a slot. Several locals may share one slot in turn.

    ``of``: another local whose very bits this one shows in another dtype of the same width.
    """

    name: str
    dtype: DataType
    kind: Kind
    slot: Slot | None = None
    of: Local | None = None

    @property
    def base(self) -> Local:
        """The local whose bits these are."""
        return self if self.of is None else self.of.base

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False)
class Instr:
    """One vector instruction, or one helper made of a few.

    ``form`` names the template macro that prints it, ``name`` the Ascend C function or the helper.
    ``extent`` says how many elements it works on. ``scratch`` is written without being a result.
    """

    form: str
    name: str
    dst: Local
    srcs: tuple[Local, ...]
    extent: Kind
    span: Span
    scalars: tuple[Expr, ...] = ()
    attrs: tuple[str, ...] = ()
    scratch: tuple[Local, ...] = ()
    in_place: bool = True  # dst may be the very memory of a source of the same shape

    @property
    def reads(self) -> tuple[Local, ...]:
        return self.srcs

    @property
    def writes(self) -> tuple[Local, ...]:
        return (self.dst, *self.scratch)


@dataclass(frozen=True, slots=True)
class Barrier:
    """``PipeBarrier<PIPE_V>()``: what follows depends on what went before."""


@dataclass(frozen=True, slots=True, eq=False)
class Copy:
    """A copy between global memory and a local: ``rows`` x ``cols`` elements, or one run.

    ``offset``: of the first element in the buffer's memory; ``strides``: elements per step along
    the outer axes, the rows and the columns, None where the buffer broadcasts. ``dense``: strides
    are the products of the sizes that the buffer has, so it is walked as one run.
    """

    local: Local
    buffer: Buffer
    kind: Kind
    offset: Expr
    strides: tuple[Expr | None, ...]
    dense: bool
    span: Span

    @property
    def outer(self) -> tuple[bool, ...]:
        """Which outer axes the buffer has."""
        return tuple(s is not None for s in self.strides[:-2])

    @property
    def has_row(self) -> bool:
        return self.strides[-2] is not None

    @property
    def has_col(self) -> bool:
        return self.strides[-1] is not None


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Copies in, instructions and barriers, copies out; once per step (or tile, or core).

    ``free_after``: index into ``body`` after which the slot copied in is free again. ``kept``:
    locals that are parts of kept memory, and which parts; nothing is copied for them.
    """

    loads: tuple[Copy, ...] = ()
    body: tuple[Instr | Barrier, ...] = ()
    stores: tuple[Copy, ...] = ()
    free_after: int = 0
    kept: tuple[Copy, ...] = ()

    @property
    def empty(self) -> bool:
        return not (self.loads or self.body or self.stores)


@dataclass(frozen=True, slots=True, eq=False)
class Phase:
    """One pass over the columns: ``start`` before, ``step`` per chunk, ``finish`` after."""

    start: Block
    step: Block
    finish: Block


@dataclass(frozen=True, slots=True)
class Space:
    """The tile space of a stage after axes were merged: ``outer`` x ``rows`` x ``cols``.

    ``axes`` counts the axes of the kernel's view that the space stands for, for messages.
    """

    outer: tuple[Expr, ...]
    rows: Expr
    cols: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """One way to run a stage.

    ``step_max``: elements of a FULL local; ``rows_max``: rows of a step; ``pitch``: elements from a
    row to the next on chip, None where that is chosen at launch; ``align``: what it is a multiple
    of; ``unit``: elements of the user's tile after merging; ``bound``: the longest row, and
    ``rows_bound``: how many there are at most, from what is known at launch; ``groups_bound``: how
    often the outer axes repeat rows and columns.
    ``row_granule``: what the rows of a step are a multiple of, except for the last step.
    ``areas``: bytes of one buffer of each area; ``depth``: buffers of the step's queues.
    ``bytes_per_element``/``cost``: on-chip bytes and CPU cost per element, for the step size.
    """

    form: Form
    space: Space
    bound: Expr
    rows_bound: Expr
    groups_bound: Expr
    step_max: int
    rows_max: int
    align: int
    pitch: int | None
    unit: int
    cols_max: int | None  # largest row that the plan takes, most columns of a strip; None: any
    row_granule: int
    parallel_chunks: bool
    prologue: Block
    head: Block
    phases: tuple[Phase, ...]
    tail: Block
    areas: dict[Area, int]
    depth: int
    bytes_per_element: int
    bytes_per_row: int
    cost: float

    def locals(self) -> list[Local]:
        """Every local of the plan, in order of first use, once."""
        seen: dict[Local, None] = {}
        for block in self.blocks():
            for copy in block.loads:
                seen.setdefault(copy.local)
            for item in block.body:
                if isinstance(item, Instr):
                    for local in (*item.srcs, *item.scratch, item.dst):
                        seen.setdefault(local)
        return list(seen)

    def blocks(self) -> list[Block]:
        inner = [b for p in self.phases for b in (p.start, p.step, p.finish)]
        return [self.prologue, self.head, *inner, self.tail]

    @property
    def total_bytes(self) -> int:
        return total_bytes(self.areas, self.depth)


@dataclass(frozen=True, slots=True, eq=False)
class TileStage:
    """One stage and its plans: the first whose ``cols_max`` holds the row runs.

    ``alone``: each core runs all of it by itself, inside a loop that the cores share.
    ``shared``: its buffers are those of the program's shared allocation of this number; None: its
    own, made when it starts. ``elements``: of all its runs together, roughly, from what is known at
    launch. ``guard``: what must hold for it to run; None: nothing.
    """

    plans: tuple[Plan, ...]
    lines: tuple[Span, ...]  # the statements that it computes, in order
    elements: Expr
    alone: bool = False
    shared: int | None = None
    guard: Expr | None = None


class Wait(enum.Enum):
    """What must be complete before what follows starts."""

    CORES = "all cores"  # everything on every core
    CORE = "all pipes"  # everything on this core
    VECTOR = "vector pipe"  # vector instructions of this core


@dataclass(frozen=True, slots=True, eq=False)
class LoopRange:
    """The values of one loop's index, as Python's ``range``."""

    index: Variable
    start: Expr
    stop: Expr
    step: Expr

    @property
    def trips(self) -> Expr:
        """How many values the index takes."""
        step = as_int(self.step)
        if step is None or step > 0:
            length, by = apply("sub", self.stop, self.start), self.step
        else:
            length, by = apply("sub", self.start, self.stop), const(-step)
        rounded = apply("floordiv", apply("sub", apply("add", length, by), 1), by)
        return apply("max", 0, rounded)


@dataclass(frozen=True, slots=True, eq=False)
class TileLoop:
    """``body`` for each value of the index. ``over_cores``: iterations are independent, and each
    core runs a share of them; several ``ranges`` are then one range, the last one innermost.
    ``strip``: how much of an axis an iteration takes, where the passes made the loop."""

    ranges: tuple[LoopRange, ...]
    body: tuple[TileNode, ...]
    over_cores: bool
    span: Span
    carried: tuple[Carried, ...] = ()
    until: Carried | None = None
    strip: int | None = None

    @property
    def scalars(self) -> tuple[Carried, ...]:
        """Every scalar that iterations hand on, the one that ends the loop last."""
        return self.carried if self.until is None else (*self.carried, self.until)


@dataclass(frozen=True, slots=True, eq=False)
class TileBranch:
    """``then`` if ``condition`` else ``other``; all cores decide alike unless each runs alone."""

    condition: Expr
    then: tuple[TileNode, ...]
    other: tuple[TileNode, ...]
    merges: tuple[Merge, ...]
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class ReadScalar:
    """``result`` = the element of ``buffer``'s memory at ``offset``, in elements of ``dtype``.
    ``written``: the kernel writes that memory, so that the scalar unit's cache may be stale.
    ``limit``: the element must be one of 0 ... ``limit - 1``; None: it may be any."""

    result: Variable
    buffer: Buffer
    dtype: DataType
    offset: Expr
    written: bool
    span: Span
    limit: Expr | None = None


@dataclass(frozen=True, slots=True, eq=False)
class PrintText:
    """Texts and numbers for the standard output: of the core that runs the iteration of a loop that
    is shared, else of the first one."""

    parts: tuple[str | Expr, ...]
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class PrintTensor:
    """``count`` elements of ``dtype`` in ``buffer``'s memory from ``offset`` on, by the core that
    prints texts. ``written``: the kernel writes that memory."""

    buffer: Buffer
    dtype: DataType
    offset: Expr
    count: Expr
    written: bool
    span: Span


TileNode: TypeAlias = (
    TileStage | TileLoop | TileBranch | ReadScalar | PrintText | PrintTensor | Wait
)


def walk_nodes(body: tuple[TileNode, ...]) -> Iterator[TileNode]:
    """Every node of ``body`` and of the loops and branches in it, in program order."""
    for node in body:
        yield node
        if isinstance(node, TileLoop):
            yield from walk_nodes(node.body)
        elif isinstance(node, TileBranch):
            yield from walk_nodes(node.then)
            yield from walk_nodes(node.other)


@dataclass(frozen=True, slots=True)
class Shared:
    """Buffers that the stages of one loop or branch share: bytes of one buffer of each area, and
    how many of them a step's queues have."""

    areas: dict[Area, int]
    depth: int

    @property
    def total_bytes(self) -> int:
        return total_bytes(self.areas, self.depth)


def total_bytes(areas: Mapping[Area, int], depth: int) -> int:
    """On-chip bytes of buffers of these sizes, ``depth`` of those that a step uses."""
    return sum(b * (depth if a in (Area.IN, Area.OUT) else 1) for a, b in areas.items())


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A whole kernel, one launch. ``workspace``: local tensors in global memory, with their number
    of elements from what is known at launch; ``private``: those that each core has for itself."""

    name: str
    params: tuple[Param, ...]
    body: tuple[TileNode, ...]
    workspace: Mapping[Buffer, Expr]
    preconditions: tuple[Precondition, ...]
    tile: tuple[int, ...] | None
    span: Span
    notes: tuple[str, ...] = field(default=())
    shared: tuple[Shared, ...] = ()
    private: frozenset[Buffer] = frozenset()

    @property
    def stages(self) -> tuple[TileStage, ...]:
        """All stages, in program order."""
        return tuple(n for n in walk_nodes(self.body) if isinstance(n, TileStage))

    @property
    def kind(self) -> str:
        """Kernel kind: vector cores that synchronise need the scheduler."""
        waits = any(n is Wait.CORES for n in walk_nodes(self.body))
        return "__mix__(0, 1)" if waits else "__vector__"
