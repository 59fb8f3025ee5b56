"""Tensor IR: what a kernel means, before any decision on how to run it.

A kernel is a straight list of statements over values (SSA) and buffers (mutable: the tensor
parameters and local tensors). Sequential reading gives the meaning; elements of a value outside
its region are undefined. Loops and branches join this level together with their front end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pypto.error import Span
from pypto.ir.dtype import DataType
from pypto.ir.expr import Const, Expr, as_int, const

__all__ = [
    "Buffer",
    "Compute",
    "Kernel",
    "Load",
    "Operand",
    "Param",
    "Precondition",
    "Region",
    "Statement",
    "Store",
    "TensorType",
    "Value",
    "full_region",
]

Shape: TypeAlias = tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class TensorType:
    """dtype and sizes (elements) of a value or buffer."""

    dtype: DataType
    shape: Shape

    @property
    def rank(self) -> int:
        return len(self.shape)

    def __str__(self) -> str:
        return f"{self.dtype.short}[{','.join(str(s) for s in self.shape)}]"


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

    ``param`` is the position in the kernel's signature, None for a local tensor.
    """

    name: str
    type: TensorType
    param: int | None
    span: Span

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Region:
    """A box of a buffer: ``offsets`` and ``sizes`` in elements per axis; step 1."""

    offsets: Shape
    sizes: Shape

    def covers(self, buffer: Buffer) -> bool:
        """True when the region is the whole buffer."""
        return self.sizes == buffer.type.shape and all(as_int(o) == 0 for o in self.offsets)


def full_region(buffer: Buffer) -> Region:
    """The region that is all of ``buffer``."""
    return Region(tuple(const(0) for _ in buffer.type.shape), buffer.type.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """``result`` = the elements of ``region`` of ``buffer`` now."""

    result: Value
    buffer: Buffer
    region: Region
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """``region`` of ``buffer`` = ``value``; sizes equal, or 1 where the value broadcasts."""

    buffer: Buffer
    region: Region
    value: Value
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


Statement: TypeAlias = Load | Store | Compute


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
    locals: tuple[Buffer, ...] = ()

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        return tuple(p.buffer for p in self.params if p.buffer is not None) + self.locals


def print_kernel(kernel: Kernel) -> str:
    """Stable text of ``kernel``; positions are relative to the functions' ``def`` lines."""
    out = [f"kernel {kernel.name}({', '.join(_param(p) for p in kernel.params)})"]
    out += [f"  local {b.name}: {b.type}" for b in kernel.locals]
    out += [f"  require {p.condition}" for p in kernel.preconditions]
    lines = [(_statement(s), s.span.relative) for s in kernel.body]
    width = max((len(text) for text, _ in lines), default=0)
    out += [f"  {text:<{width}}  @{where}" for text, where in lines]
    return "\n".join(out) + "\n"


def _param(param: Param) -> str:
    if param.buffer is not None:
        use = [word for flag, word in ((param.read, "read"), (param.written, "write")) if flag]
        return f"{param.name}: {param.buffer.type} {'+'.join(use) or 'unused'}"
    if param.kind == "constant":
        return f"{param.name} = {param.value!r}"
    return f"{param.name}: {param.kind}"


def _region(buffer: Buffer, region: Region) -> str:
    if region.covers(buffer):
        return f"{buffer.name}[:]"
    spans = (f"{o}:+{s}" for o, s in zip(region.offsets, region.sizes, strict=True))
    return f"{buffer.name}[{', '.join(spans)}]"


def _statement(statement: Statement) -> str:
    if isinstance(statement, Load):
        return f"{statement.result} = load {_region(statement.buffer, statement.region)}"
    if isinstance(statement, Store):
        return f"store {_region(statement.buffer, statement.region)}, {statement.value}"
    parts = [str(a) for a in statement.args]
    parts += [f"{name}={_attr(value)}" for name, value in statement.attrs]
    text = f"{statement.result} = {statement.op} {', '.join(parts)} : {statement.result.type}"
    if statement.tile is not None:
        text += f" tile ({','.join(str(t) for t in statement.tile)})"
    return text


def _attr(value: object) -> str:
    if isinstance(value, Const):
        return str(value)
    return getattr(value, "name", None) or repr(value)
