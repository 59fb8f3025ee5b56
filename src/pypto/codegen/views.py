"""What the templates see: plain, typed, frozen. All is decided here; templates only print."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "ConstantView",
    "FieldView",
    "FlowView",
    "FunctionView",
    "HelperView",
    "KernelView",
    "MemoryView",
    "PlanView",
    "QueueView",
    "Statement",
    "TensorView",
    "WrapperView",
]


@dataclass(frozen=True, slots=True)
class Statement:
    """One line of a function. ``macro`` names the template macro that prints it.

    ``operands`` are C++ expressions in the order of the call; ``comment`` goes on lines before.
    """

    macro: str
    name: str = ""
    operands: tuple[str, ...] = ()
    type: str = ""
    comment: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FunctionView:
    name: str
    params: str
    statements: tuple[Statement, ...]

    @property
    def arguments(self) -> str:
        """What ``Process`` gives it: variables with the names of its parameters."""
        return ", ".join(param.split()[-1] for param in self.params.split(", ") if param)


@dataclass(frozen=True, slots=True)
class FieldView:
    """One field of the by-value argument struct."""

    type: str
    name: str
    comment: str


@dataclass(frozen=True, slots=True)
class ConstantView:
    type: str
    name: str
    value: str
    comment: str


@dataclass(frozen=True, slots=True)
class TensorView:
    """A global tensor member, ``start`` elements behind the pointer expression ``source``."""

    type: str
    member: str
    source: str
    start: str = ""


@dataclass(frozen=True, slots=True)
class QueueView:
    """A queue or buffer of on-chip memory."""

    type: str
    member: str
    size: str  # arguments of InitBuffer after the member


@dataclass(frozen=True, slots=True)
class HelperView:
    """A free function that stands for a few instructions.

    ``macro``: the template macro; ``lanes``: elements of a repeat; ``block``: of 32 bytes.
    ``swap``: the operand that lacks an axis comes first. ``neutral``: lanes to start from.
    """

    macro: str
    name: str
    op: str
    sign: str  # for comments
    type: str
    lanes: int
    block: int
    swap: bool
    neutral: str
    accumulates: bool
    integer: bool


@dataclass(frozen=True, slots=True)
class PlanView:
    name: str
    comment: tuple[str, ...]
    constants: tuple[ConstantView, ...]
    params: str  # of the constructor
    alone: bool  # each core runs all of it
    shared: bool  # its queues belong to an allocation made before
    computed: tuple[
        tuple[str, str, str], ...
    ]  # members that the constructor sets: type, name, value
    tensors: tuple[TensorView, ...]
    queues: tuple[QueueView, ...]
    process: str  # macro of the Process function
    total: str
    rows: str
    cols: str
    step: str
    width: str  # columns of a tile or strip
    align: str  # what the rows of a tile on chip are multiples of
    outer: tuple[str, ...]
    outer_product: str
    chunk_parallel: bool
    prepare: FunctionView | None
    release: tuple[str, ...]  # members freed at the end of Process
    head: FunctionView | None
    head_queue: bool
    tail: FunctionView | None
    steps: tuple[tuple[FunctionView, ...], ...]  # per phase: start?, copy in?, compute, copy out?
    members: tuple[tuple[str, str], ...]  # further (type, name)


@dataclass(frozen=True, slots=True)
class MemoryView:
    """Queues that the stages of one loop or branch share."""

    name: str
    comment: str
    queues: tuple[QueueView, ...]


@dataclass(frozen=True, slots=True)
class FlowView:
    """One line of the kernel function. ``macro`` names the template macro that prints ``text``;
    ``pad``: white space before it, beyond the function's own."""

    macro: str
    text: str
    pad: str


@dataclass(frozen=True, slots=True)
class KernelView:
    name: str
    header: tuple[str, ...]
    fields: tuple[FieldView, ...]
    functions: tuple[str, ...]  # of scalars
    helpers: tuple[HelperView, ...]
    memories: tuple[MemoryView, ...]
    plans: tuple[PlanView, ...]
    kind: str
    params: str
    tensors: tuple[TensorView, ...]  # whose elements the kernel function itself reads
    flow: tuple[FlowView, ...]


@dataclass(frozen=True, slots=True)
class WrapperView:
    """The CPU launch code of one kernel.

    ``ints``/``floats``: names bound to the call's values; ``assigns``: (field, expression);
    ``steps``: lines that choose step sizes; ``conditions``: preconditions in order.
    ``workspace``: (field of the offset, field of a core's bytes or "", bytes expression).
    ``any_blocks``: whether it may run on other numbers of blocks than the launch says, in C++.
    """

    symbol: str
    namespace: str
    source: str
    kernel: str
    prints: bool
    kind: str
    pointers: tuple[str, ...]
    bytes: tuple[str, ...]  # of the tensor behind each pointer, an expression
    element_bytes: tuple[int, ...]
    ints: tuple[str, ...]
    floats: tuple[str, ...]
    conditions: tuple[str, ...]
    assigns: tuple[tuple[str, str], ...]
    workspace: tuple[tuple[str, str, str], ...]
    any_blocks: str
    steps: tuple[Statement, ...]
    work: tuple[str, ...]  # nanoseconds of one core, an expression per stage
    traffic: str  # bytes moved, an expression
