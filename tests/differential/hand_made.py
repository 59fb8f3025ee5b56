"""Short ways to write Tensor IR by hand, for tests of what reads it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from pypto.error import SourceText, Span
from pypto.ir.dtype import DataType
from pypto.ir.expr import Expr, Symbol, Variable, const
from pypto.ir.tensor import (
    Axes,
    Buffer,
    Compute,
    Kernel,
    Load,
    Param,
    Region,
    Statement,
    Store,
    TensorType,
    Value,
    full_region,
)

F32, I32 = DataType.DT_FP32, DataType.DT_INT32
SPAN = Span(SourceText("k", "k.py", 1, ("def k(): ...",)), 1, 0, 1, 1)
Size = Expr | int
Box = Sequence[tuple[Size, Size]]  # per axis: offset and size

_numbers = itertools.count()


def expr(value: Size) -> Expr:
    return value if isinstance(value, Expr) else const(value)


def buffer(name: str, *shape: Size, dtype: DataType = F32, **rest: Any) -> Buffer:
    """A local tensor; ``param`` makes it one of a call, ``base`` a view."""
    rest = {"param": None, **rest}
    return Buffer(name, TensorType(dtype, tuple(map(expr, shape))), span=SPAN, **rest)


def variable(name: str, kind: Any = "int") -> Variable:
    return Variable(name, next(_numbers), kind)


def value(*shape: Size, dtype: DataType = F32, valid: Sequence[Size] | None = None) -> Value:
    limits = None if valid is None else tuple(map(expr, valid))
    return Value(next(_numbers), TensorType(dtype, tuple(map(expr, shape)), limits))


def region(source: Buffer, box: Box | None) -> Region:
    if box is None:
        return full_region(source)
    return Region(tuple(expr(o) for o, _ in box), tuple(expr(s) for _, s in box))


def load(result: Value, source: Buffer, box: Box | None = None, axes: Axes | None = None) -> Load:
    return Load(result, source, region(source, box), SPAN, axes)


def store(target: Buffer, source: Value, box: Box | None = None, axes: Axes | None = None) -> Store:
    return Store(target, region(target, box), source, SPAN, axes)


def compute(result: Value, op: str, *args: Value | Size, **attrs: object) -> Compute:
    operands = tuple(a if isinstance(a, Value) else expr(a) for a in args)
    return Compute(result, op, operands, tuple(attrs.items()), None, SPAN)


def size_of(name: str, param: int, axis: int) -> Symbol:
    return Symbol(f"{name}.shape[{axis}]", param, axis)


def kernel(
    params: Sequence[Buffer | str], *body: Statement, locals: Sequence[Buffer] = ()
) -> Kernel:
    """``params``: tensor parameters, and names of int parameters."""
    made = tuple(
        Param(p, index, "int", None) if isinstance(p, str) else Param(p.name, index, "tensor", p)
        for index, p in enumerate(params)
    )
    return Kernel("k", made, tuple(body), (), SPAN, tuple(locals))
