"""Tile IR: how a kernel runs on cores, tile by tile, in planned on-chip memory.

A program is a list of stages. A stage has one or two *plans* (a row that fits on-chip memory, or
chunks of a row) behind a uniform condition; a plan is one class of the generated Ascend C: a tile
space, buffers with addresses and lifetimes, and blocks of copies and instructions.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pypto.error import Span
from pypto.ir.dtype import DataType
from pypto.ir.expr import Expr
from pypto.ir.tensor import Buffer, Param, Precondition

__all__ = [
    "Area",
    "Barrier",
    "Block",
    "Copy",
    "Form",
    "Instr",
    "Kind",
    "Local",
    "Phase",
    "Plan",
    "Program",
    "Slot",
    "Space",
    "TileStage",
]


class Kind(enum.Enum):
    """What a local holds of one step, and so how many elements it has.

    A step covers ``rows`` rows of ``cols`` columns; a row takes ``pitch`` elements.
    """

    FULL = "full"  # rows x pitch
    COL = "col"  # one value a row
    ROW = "row"  # one row of values, the same for all rows
    ONE = "one"  # one value
    COL_BLOCKS = "col_blocks"  # one 32-byte block a row, filled with the row's value
    ONE_BLOCKS = "one_blocks"  # one value filling blocks
    FOLD = "fold"  # 256 bytes a row
    FOLD_TWICE = "fold_twice"  # 512 bytes a row
    BYTES = "bytes"  # scratch of a library function, as large as a FULL of its dtype


Form: TypeAlias = Literal["run", "rows", "chunks"]


class Area(enum.Enum):
    """Where in on-chip memory a slot lies."""

    IN = "in"  # VECIN queue, loaded each step
    OUT = "out"  # VECOUT queue, stored each step
    HEAD = "head"  # VECIN queue, loaded once a tile (chunks)
    TAIL = "tail"  # VECOUT queue, stored once a tile (chunks)
    CONST = "const"  # VECIN queue, loaded once a core
    CALC = "calc"  # VECCALC buffer


@dataclass(slots=True, eq=False)
class Slot:
    """A planned range of an area: ``offset`` and ``bytes`` are filled in by ``plan_memory``.

    ``phase``: whose queue buffers it lies in. A queue's buffers serve all phases in turn.
    """

    area: Area
    kind: Kind
    dtype: DataType
    phase: int = 0
    offset: int = 0
    bytes: int = 0


@dataclass(slots=True, eq=False)
class Local:
    """A local tensor: a typed view of a slot. Several locals may share one slot in turn."""

    name: str
    dtype: DataType
    kind: Kind
    slot: Slot | None = None

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

    ``outer`` are the outer axes that the buffer has (True) or broadcasts over (False).
    """

    local: Local
    buffer: Buffer
    kind: Kind
    outer: tuple[bool, ...]
    has_row: bool
    has_col: bool
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Copies in, instructions and barriers, copies out; once per step (or tile, or core).

    ``free_after``: index into ``body`` after which the slot copied in is free again.
    """

    loads: tuple[Copy, ...] = ()
    body: tuple[Instr | Barrier, ...] = ()
    stores: tuple[Copy, ...] = ()
    free_after: int = 0

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

    ``step_max``: elements of a FULL local; ``rows_max``: rows of a step; ``align``: elements that a
    row's pitch is a multiple of; ``unit``: elements of the user's tile after merging.
    ``areas``: bytes of one buffer of each area; ``depth``: buffers of the step's queues.
    ``bytes_per_element``/``cost``: on-chip bytes and CPU cost per element, for the step size.
    """

    form: Form
    space: Space
    step_max: int
    rows_max: int
    align: int
    unit: int
    cols_max: int | None  # largest row that the plan takes; None: any
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
        double = self.areas.get(Area.IN, 0) + self.areas.get(Area.OUT, 0)
        single = sum(b for a, b in self.areas.items() if a not in (Area.IN, Area.OUT))
        return double * self.depth + single


@dataclass(frozen=True, slots=True, eq=False)
class TileStage:
    """One stage: its plans (the first whose ``cols_max`` holds the row runs), and whether all
    cores must have finished the stages before it."""

    plans: tuple[Plan, ...]
    sync: bool
    lines: tuple[Span, ...]  # the statements that it computes, in order


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A whole kernel: stages in order, one launch."""

    name: str
    params: tuple[Param, ...]
    stages: tuple[TileStage, ...]
    workspace: tuple[Buffer, ...]
    preconditions: tuple[Precondition, ...]
    tile: tuple[int, ...] | None
    span: Span
    notes: tuple[str, ...] = field(default=())

    @property
    def kind(self) -> str:
        """Kernel kind: vector cores that synchronise need the scheduler."""
        return "__mix__(0, 1)" if any(s.sync for s in self.stages) else "__vector__"
