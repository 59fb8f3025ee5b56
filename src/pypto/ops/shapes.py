"""Shape rules shared by the operations: broadcasting and axes."""

from __future__ import annotations

from collections.abc import Sequence

from pypto.error import DtypeError, FeTypeError, FeValueError, ShapeError
from pypto.ir.dtype import DataType
from pypto.ir.expr import Expr, apply, as_int, const
from pypto.ir.tensor import TensorType, Value
from pypto.ops.casts import cast_text, wider
from pypto.ops.spec import OpCall

__all__ = ["axes", "axis", "broadcast", "same_dtype", "show"]

MAX_RANK = 5


_READABLE = 60  # characters of a condition that a person reads at a glance


def equality(a: Expr, b: Expr) -> str:
    """What "needs" in a message: ``x.shape[0] == 4``, or that sizes are equal, where it is long."""
    text = f"{a} == {b}"
    return text if len(text) <= _READABLE else "equal sizes"


def show(shape: Sequence[Expr]) -> str:
    """``[4, x.shape[1]]``"""
    return f"[{', '.join(str(s) for s in shape)}]"


def broadcast(call: OpCall, *names: str) -> tuple[Expr, ...]:
    """The common shape of the tensor operands ``names``, as NumPy and torch broadcast.

    Sizes that are not provably equal and not 1 become a precondition when one of them is known
    only at the call; two different constants are an error.
    """
    shapes = [
        (n, v.type.shape) for n in names if isinstance(v := call.args[n], Value)
    ]  # scalars have no shape
    rank = max(len(shape) for _, shape in shapes)
    if rank > MAX_RANK:
        call.fail(
            ShapeError,
            f"{call.spec.name} takes at most rank {MAX_RANK}",
            code="FC0002",
            got=f"rank {rank}",
        )
    result: list[Expr] = []
    for position in range(rank):
        size: Expr = const(1)
        for name, shape in shapes:
            index = position - (rank - len(shape))
            if index >= 0:
                size = _join(call, shapes, name, index, size, shape[index])
        result.append(size)
    return tuple(result)


def _join(
    call: OpCall,
    shapes: Sequence[tuple[str, Sequence[Expr]]],
    name: str,
    index: int,
    size: Expr,
    other: Expr,
) -> Expr:
    if as_int(other) == 1 or size == other:
        return size
    if as_int(size) == 1:
        return other
    if as_int(size) is not None and as_int(other) is not None:
        call.fail(
            ShapeError,
            f"{call.spec.name}: shapes {' and '.join(show(s) for _, s in shapes)} do not broadcast",
            expected="equal sizes, or 1",
            got=f"{size} and {other} for axis {index} of '{name}'",
            help=None
            if len({len(shape) for _, shape in shapes}) == 1
            else "shapes are compared from their last axes; keepdim=True keeps an axis that a "
            "reduction would drop",
        )
    call.require(
        apply("eq", size, other),
        f"{call.spec.name} needs {equality(size, other)} "
        "(annotate an axis of size 1 as 1 to broadcast)",
    )
    return size if as_int(size) is not None else other


def same_dtype(call: OpCall, first: str, second: str) -> None:
    """Refuse tensor operands of two dtypes: nothing is promoted silently."""
    if call.scalar(first) is not None or call.scalar(second) is not None:
        return
    a, b = call.tensor(first).dtype, call.tensor(second).dtype
    if a == b:
        return
    target = wider(a, b)
    casts = [
        (name, text)
        for name, dtype in ((first, a), (second, b))
        if dtype != target and (text := cast_text(call.text(name), dtype, target))
    ]
    call.fail(
        DtypeError,
        f"{call.spec.name}: operands have different dtypes",
        expected="one dtype",
        got=f"{a} for '{first}' and {b} for '{second}'",
        help=f"cast to the wider dtype: {' and '.join(text for _, text in casts)}",
        arg=casts[0][0] if len(casts) == 1 else None,
    )


def scalar_fits(call: OpCall, tensor: TensorType, name: str) -> None:
    """Refuse a float scalar beside an integer tensor."""
    scalar = call.scalar(name)
    if scalar is not None and scalar.kind == "float" and not tensor.dtype.is_float:
        other = next(n for n, _ in call.tensors())
        way = cast_text(call.text(other), tensor.dtype, DataType.DT_FP32)
        call.fail(
            FeTypeError,
            f"{call.spec.name}: a float scalar does not combine with a {tensor.dtype} tensor",
            expected="an int",
            got=str(scalar),
            help=f"use an int, or cast the tensor: {way}" if way else "use an int",
            arg=name,
        )


def axes(call: OpCall, name: str, rank: int) -> tuple[int, ...]:
    """The axis argument ``name``, one or several, as 0..rank-1 in order; all of them where it names
    none."""
    value = call.args[name]
    if value is None or value == ():
        return tuple(range(rank))
    given = value if isinstance(value, tuple | list) else (value,)
    found = [_axis(call, name, one, rank) for one in given]
    if len(set(found)) < len(found):
        call.fail(
            FeValueError,
            f"{call.spec.name}: '{name}' names an axis twice",
            expected="different axes",
            got=str(value),
            arg=name,
        )
    return tuple(sorted(found))


def axis(call: OpCall, name: str, rank: int) -> int:
    """The axis argument ``name`` as 0..rank-1."""
    value = call.args[name]
    if isinstance(value, tuple | list) and len(value) == 1:
        value = value[0]
    return _axis(call, name, value, rank)


def _axis(call: OpCall, name: str, value: object, rank: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        call.fail(
            FeTypeError,
            f"{call.spec.name}: '{name}' must be one axis",
            expected="an int",
            got=repr(value),
            arg=name,
        )
    if not -rank <= value < rank:
        call.fail(
            FeValueError,
            f"{call.spec.name}: '{name}' is out of range",
            code="FC0000",
            expected=f"{-rank} … {rank - 1}",
            got=str(value),
            arg=name,
        )
    return value % rank
