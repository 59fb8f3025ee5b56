"""How much of a result holds elements, when operands are only partly valid."""

from __future__ import annotations

from collections.abc import Callable

from pypto.ir.expr import Expr, apply, as_int, product_of
from pypto.ir.tensor import TensorType
from pypto.ops.spec import OpCall

__all__ = ["held_along", "partly_valid"]


def partly_valid(
    call: OpCall, type: TensorType, smaller: Callable[[Expr, Expr], Expr]
) -> TensorType:
    """``type``, the result of ``call``, with its valid sizes: per axis the smallest one.

    ``smaller`` gives the smaller one of two sizes. A reduced axis is not seen in the result.
    """
    sizes = [*type.shape]
    for name, operand in call.tensors():
        places = call.spec.places and call.spec.places(call, name)
        for axis, size in enumerate(operand.sizes):
            at = places[axis] if places else _result_axis(call, axis, operand.rank, type.rank)
            if operand.valid is None or at is None:
                continue
            if as_int(operand.shape[axis]) == 1 and as_int(type.shape[at]) != 1:
                # Repeated along the result's axis: none where it has no element itself.
                sizes[at] = apply("mul", sizes[at], size)
                continue
            sizes[at] = size if sizes[at] == operand.shape[axis] else smaller(sizes[at], size)
    valid = tuple(sizes)
    return type if valid == type.shape else TensorType(type.dtype, type.shape, valid)


def _result_axis(call: OpCall, axis: int, rank: int, result: int) -> int | None:
    """Where ``axis`` of an operand of ``rank`` axes is in the result; None: it is reduced."""
    if "keepdim" not in call.args:
        return axis + result - rank
    reduced = _reduced(call, rank)
    if axis in reduced:
        return None
    if call.args["keepdim"]:
        return axis
    return axis - sum(dim < axis for dim in reduced)


def held_along(call: OpCall) -> Expr | None:
    """How many elements there are along an axis of one that is reduced; None: just that one."""
    if "keepdim" not in call.args:
        return None
    tensor = call.tensor("input")
    held = [
        tensor.sizes[axis]
        for axis in sorted(_reduced(call, tensor.rank))
        if as_int(tensor.shape[axis]) == 1 and as_int(tensor.sizes[axis]) != 1
    ]
    return product_of(tuple(held)) if held else None


def _reduced(call: OpCall, rank: int) -> set[int]:
    """The axes of an operand of ``rank`` axes that ``call`` reduces."""
    given = call.args["dim"]
    dims = given if isinstance(given, tuple | list) else (given,)
    return {dim % rank for dim in dims if isinstance(dim, int)} or set(range(rank))
