"""What an expression of a kernel is worth while it is elaborated.

A *known* Python object, a *scalar* that is known at launch, a tensor (an SSA value, or a buffer
that is read where it is used), a tuple/list/dict/set made in the kernel, a view or iterator of one,
or a method of one of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import libcst as cst

from pypto.elaborate.captures import Path
from pypto.error import Span
from pypto.ir.expr import Const, Expr
from pypto.ir.tensor import Axes, Buffer, Region, TensorType, Value

if TYPE_CHECKING:
    from pypto.elaborate.machine import Frame

__all__ = [
    "CALLABLE",
    "POISON",
    "Bound",
    "Closure",
    "Cursor",
    "Deferred",
    "Instance",
    "Item",
    "Known",
    "Loop",
    "Mapping",
    "Method",
    "Part",
    "Partial",
    "Poison",
    "Scalar",
    "Sequence",
    "Set",
    "Super",
    "Tensor",
    "Text",
    "View",
    "describe",
    "is_frozen",
    "is_tensor",
    "number_text",
    "scalar",
    "tensor_type",
]


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A Python object. ``origin``: the captured read it comes from, None when made here."""

    value: object
    origin: Path | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Scalar:
    """A number or truth value that is known when the kernel is launched, or when it runs.

    ``element``: where it was read, for operations that take tensors.
    """

    expr: Expr
    element: Part | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """A string with numbers in it that only a call or the running kernel knows, to be printed."""

    parts: tuple[str | Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A part of a buffer that is read where it is used, and can be written.

    ``region``: what of it lies inside the buffer. ``axes``: per axis of the part that of the
    buffer; None for an axis of size 1 that the buffer does not have.
    """

    buffer: Buffer
    region: Region
    axes: Axes
    type: TensorType
    name: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """``pypto.loop(...)``, to be run by a ``for`` statement. ``factors``: of unrolling, falling."""

    start: Expr
    stop: Expr
    step: Expr
    parallel: bool
    name: str | None
    factors: tuple[int, ...] | None
    pairs: bool  # yields the index and the factor
    span: Span


@dataclass(slots=True, eq=False)
class Deferred:
    """A value that a loop or branch gives its name only where the name is read.

    ``make`` returns it, or refuses at the place of the reading. ``partial``: where ``break`` or
    ``continue`` has left a side of a branch, the name may have none. ``inner``: the list, dict or
    object that it will be, which is there before it is read.
    """

    make: Callable[[Span], Item]
    found: Item | None = None
    partial: bool = False
    inner: Item | None = None

    def settle(self, span: Span) -> Item:
        if self.found is None:
            found = self.make(span)
            self.found = found.settle(span) if isinstance(found, Deferred) else found
        return self.found


@dataclass(slots=True, eq=False)
class Sequence:
    """A tuple or list made in the kernel; its items may be tensors.

    ``shape``: it is the shape of a tensor, which equals a list and a tuple of the same sizes.
    """

    items: list[Item]
    mutable: bool
    shape: bool = False
    kind: Known | None = None  # the class of a named tuple


@dataclass(slots=True, eq=False)
class Mapping:
    """A dict made in the kernel; its keys are known."""

    items: dict[object, Item]


@dataclass(slots=True, eq=False)
class Set:
    """A set made in the kernel; its items are known."""

    items: set[object]


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """``owner.keys()``, ``owner.values()`` or ``owner.items()``: it follows the dict's changes."""

    owner: Mapping
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Cursor:
    """The iterator that ``maker`` (``zip``, say) or a generator expression made: it runs once.

    ``source`` reads the lists as they are when it gets there. ``depth``: iterators in iterators.
    """

    source: Iterator[Item]
    maker: Any
    depth: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """``receiver.name``, to be called."""

    receiver: Item
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A function or lambda that stands in the text of the function evaluated by ``frame``.

    Its free names are read in ``frame`` when it is called, as Python does.
    """

    name: str
    node: cst.FunctionDef | cst.Lambda
    frame: Frame
    defaults: dict[str, Item]


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """A method with Python source, and the object that it belongs to."""

    function: Known
    receiver: Item


@dataclass(frozen=True, slots=True, eq=False)
class Partial:
    """``functools.partial(function, ...)`` made in the kernel."""

    function: Item
    positional: tuple[Item, ...]
    keyword: dict[str, Item]


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """An object of a user's class that the kernel made; its attributes may be tensors."""

    kind: Known
    fields: dict[str, Item]

    @property
    def cls(self) -> type:
        assert isinstance(self.kind.value, type)
        return self.kind.value

    @property
    def frozen(self) -> bool:
        """A dataclass whose attributes are set once."""
        return is_frozen(self.cls)


@dataclass(frozen=True, slots=True, eq=False)
class Super:
    """``super()``: ``receiver``, of class ``order``, as the classes behind ``after`` see it."""

    after: type
    order: Known
    receiver: Item


@dataclass(frozen=True, slots=True, eq=False)
class Poison:
    """The value of something that an error has been reported for."""


POISON = Poison()

Tensor: TypeAlias = Value | Buffer | Part

Item: TypeAlias = (
    Known
    | Scalar
    | Text
    | Tensor
    | Sequence
    | Mapping
    | Set
    | View
    | Cursor
    | Method
    | Closure
    | Loop
    | Deferred
    | Bound
    | Partial
    | Instance
    | Super
    | Poison
)


def is_frozen(kind: type) -> bool:
    """Whether ``kind`` is a frozen dataclass."""
    parameters = getattr(kind, "__dataclass_params__", None)
    return parameters is not None and bool(parameters.frozen)


CALLABLE = (Method, Closure, Bound, Partial)
"""Items that are functions."""


def scalar(expr: Expr) -> Known | Scalar:
    """``expr`` as an item: known when it is a constant."""
    return Known(expr.value) if isinstance(expr, Const) else Scalar(expr)


def is_tensor(item: Item | None) -> TypeGuard[Tensor]:
    return isinstance(item, Tensor)


def tensor_type(item: Tensor) -> TensorType:
    return item.type


def number_text(value: int) -> str:
    """An int for messages, whatever its length: Python writes no more than 4300 digits."""
    return str(value) if value.bit_length() < 200 else f"an int of {value.bit_length()} bits"


_READABLE = 60  # characters of an expression that a person reads at a glance


def text_of(item: Scalar, span: Span) -> str:
    """A run-time number that stands at ``span``, as its value or as its text says it best."""
    text = str(item.expr)
    return text if item.element is None and len(text) <= _READABLE else span.text()


def described_type(type: TensorType) -> str:
    """``fp32[8,64]``, and along which axes it may hold fewer elements; for messages."""
    shape = ",".join(str(size) for size in type.shape)
    text = f"{type.dtype.short}[{shape}]"
    if type.valid is None:
        return text
    axes = [
        axis
        for axis, (size, valid) in enumerate(zip(type.shape, type.valid, strict=True))
        if size != valid
    ]
    named = " and ".join(str(axis) for axis in axes)
    return f"{text}, valid in part along axis {named}" if axes else text


def describe(item: Item) -> str:
    """What ``item`` is, for messages."""
    if isinstance(item, Known):
        if isinstance(item.value, type):
            return f"the class {item.value.__name__}"
        kind = type(item.value).__name__
        try:
            text = repr(item.value)
        except Exception:  # a user's __repr__ fails, or an int has thousands of digits
            return f"a value of type {kind}"
        return f"{text if len(text) <= 60 else text[:57] + '...'} ({kind})"
    if isinstance(item, Scalar):
        text = str(item.expr)
        if item.element is not None or len(text) > _READABLE:
            return f"a run-time {item.expr.kind}"
        return f"the run-time {item.expr.kind} {text}"
    if isinstance(item, Tensor):
        return f"a tensor {described_type(item.type)}"
    if isinstance(item, Sequence):
        if item.kind is not None:
            return f"a named tuple {item.kind.value.__name__}"  # type: ignore[attr-defined]
        return f"a {'list' if item.mutable else 'tuple'} of {len(item.items)}"
    if isinstance(item, Mapping):
        return f"a dict of {len(item.items)}"
    if isinstance(item, Set):
        return f"a set of {len(item.items)}"
    if isinstance(item, View):
        return f"the {item.name} of a dict of {len(item.owner.items)}"
    if isinstance(item, Loop):
        return "the run-time loop pypto.loop(...)"
    if isinstance(item, Cursor):
        return f"the iterator of {item.maker.__name__}(...)"
    if isinstance(item, Closure):
        return "a lambda" if item.name == "<lambda>" else f"the function {item.name}"
    if isinstance(item, Bound):
        return f"the method {item.function.value.__name__}"  # type: ignore[attr-defined]
    if isinstance(item, Partial):
        return "a functools.partial"
    if isinstance(item, Instance):
        return f"an object of the class {item.cls.__name__}"
    if isinstance(item, Text):
        return "a text with run-time numbers"
    if isinstance(item, Super):
        return "super()"
    return f"the method {item.name}" if isinstance(item, Method) else "an unknown value"
