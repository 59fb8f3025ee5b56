"""Elements that another tensor names: the front end makes loops over the names, a copy for each."""

from __future__ import annotations

from pypto.error import DtypeError, ShapeError
from pypto.ir.dtype import DataType, stored_dtypes
from pypto.ir.tensor import TensorType
from pypto.ops.shapes import MAX_RANK, axis, show
from pypto.ops.spec import OpCall, OpParam, OpSpec

__all__ = ["SPECS"]

_INDICES = (DataType.DT_INT32, DataType.DT_INT64)


def _infer_select(call: OpCall) -> TensorType:
    dtype = call.check_dtype("input")
    tensor, index = call.tensor("input"), call.tensor("index")
    if index.dtype not in _INDICES:
        call.fail(
            DtypeError,
            f"index_select: 'index' does not take {index.dtype.absent}",
            expected=" or ".join(map(str, _INDICES)),
            got=str(index.dtype),
            arg="index",
        )
    dim = axis(call, "dim", tensor.rank)
    if index.rank > 2:
        call.fail(
            ShapeError, "index_select: 'index' has 1 or 2 axes", code="FC0002",
            got=show(index.shape), arg="index",
        )  # fmt: skip
    shape = (*tensor.shape[:dim], *index.shape, *tensor.shape[dim + 1 :])
    if len(shape) > MAX_RANK:
        call.fail(
            ShapeError, f"index_select gives at most rank {MAX_RANK}", code="FC0002",
            got=f"rank {len(shape)}",
        )  # fmt: skip
    return TensorType(dtype, shape)


SPECS: tuple[OpSpec, ...] = (
    OpSpec(
        "index_select", "indexing",
        (OpParam("input", "tensor"), OpParam("dim", "int"), OpParam("index", "tensor")),
        stored_dtypes, _infer_select, None,
        "torch.index_select(input, dim, index.flatten())"
        ".unflatten(dim % input.dim(), index.shape)",
        "The slices of an axis that the elements of `index` name, one after the other; an index of "
        "two axes puts both in place of the axis.",
        method=True,
        notes=(
            "`index` is DT_INT32 or DT_INT64. What it names must be there: 0 or more, and less "
            "than the size of the axis. An `ascendc_assert` ends the kernel where it is not; in "
            "the checked twin that is a VerifyError.",
            "A slice is one copy: along the first axis of one piece of memory, along the last one "
            "of single elements.",
        ),
    ),
)  # fmt: skip
