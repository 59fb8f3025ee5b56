"""Quantization: numbers as 8-bit integers and a scale for each row or column, and back."""

from __future__ import annotations

from collections.abc import Callable

from pypto.error import DtypeError, FeValueError, ShapeError
from pypto.ir.dtype import DataType
from pypto.ir.expr import apply, as_int, const
from pypto.ir.tensor import Compute, TensorType, Value
from pypto.ops.lowering import F16, F32, I8, I16, U8, Lowering
from pypto.ops.numerics import Real, of_float
from pypto.ops.shapes import axis, broadcast, equality, show
from pypto.ops.spec import OpCall, OpParam, OpSpec

__all__ = ["SPECS"]

_RESULTS = {"quantize": (I8, U8), "dequantize": (F32,)}


def _infer(call: OpCall) -> TensorType:
    call.check_dtype("input")
    shape = broadcast(call, "input")  # the rank limit
    at = axis(call, "axis", len(shape))
    if at < len(shape) - 2:
        call.fail(
            FeValueError,
            f"{call.spec.name}: 'axis' must be one of the last two",
            expected="-1" if len(shape) == 1 else "-1 or -2",
            got=str(call.args["axis"]),
            arg="axis",
        )
    for name in ("scale", "zero_points"):
        if call.args[name] is not None:
            _check_factors(call, name, at)
    target, targets = call.args["otype"], _RESULTS[call.spec.name]
    assert isinstance(target, DataType)
    if target not in targets:
        call.fail(
            DtypeError,
            f"{call.spec.name} does not give {target.absent}",
            expected=" or ".join(map(str, targets)),
            got=str(target),
            arg="otype",
        )
    return TensorType(target, shape)


def _check_factors(call: OpCall, name: str, at: int) -> None:
    """``name`` is FP32, with the shape of the input without the axis ``at``."""
    given = call.tensor(name)
    if given.dtype != F32:
        call.fail(
            DtypeError,
            f"{call.spec.name}: '{name}' does not take {given.dtype.absent}",
            expected="DT_FP32",
            got=str(given.dtype),
            arg=name,
        )
    shape = call.tensor("input").shape
    wanted = (*shape[:at], *shape[at + 1 :]) or (const(1),)
    pairs = list(zip(given.shape, wanted, strict=False))
    if given.rank != len(wanted) or any(
        a != b and None not in (as_int(a), as_int(b)) for a, b in pairs
    ):
        kept = (*shape[:at], const(1), *shape[at + 1 :])
        call.fail(
            ShapeError,
            f"{call.spec.name}: '{name}' must have the axes of 'input' but the quantised one",
            expected=f"shape {show(wanted)}",
            got=f"shape {show(given.shape)}",
            help="a reduction drops its axis with keepdim=False"
            if len(kept) > 1 and given.shape == kept
            else None,
            arg=name,
        )
    for have, want in pairs:
        if have != want:
            message = f"{call.spec.name}: '{name}' needs {equality(have, want)}"
            call.require(apply("eq", have, want), message)


def _places(call: OpCall, name: str) -> tuple[int | None, ...]:
    rank = call.tensor("input").rank
    at = axis(call, "axis", rank)
    if name == "input":
        return tuple(range(rank))
    return tuple(n for n in range(rank) if n != at) or (None,)


def _parts(build: Lowering, use: Compute) -> tuple[Real, Real, Real | None]:
    """The input, the scale and the zero points, these along the axes of the input."""
    a, *factors = (arg for arg in use.args if isinstance(arg, Value))
    at = use.attr("axis")
    assert isinstance(at, int)
    if a.type.rank > 1:
        factors = [build.unsqueeze(one, at % a.type.rank) for one in factors]
    scale, *zeros = (Real(build, one) for one in factors)
    return of_float(build, a), scale, zeros[0] if zeros else None


def _lower_quantize(build: Lowering, use: Compute) -> Value:
    x, scale, zeros = _parts(build, use)
    scaled = x * scale
    number = scaled if zeros is None else scaled + zeros
    # Rounded once; from there on the casts saturate: what FP16 does not hold is out of range, too.
    whole = build.cast(build.cast(number.value, I16, "RINT"), F16, "RINT")
    return build.cast(whole, use.result.type.dtype, "RINT")


def _lower_dequantize(build: Lowering, use: Compute) -> Value:
    x, scale, zeros = _parts(build, use)
    return ((x if zeros is None else x + zeros) * scale).value


def _spec(
    name: str,
    dtypes: frozenset[DataType],
    lower: Callable[[Lowering, Compute], Value],
    torch: str,
    doc: str,
    *notes: str,
) -> OpSpec:
    params = (
        OpParam("input", "tensor"), OpParam("scale", "tensor"), OpParam("otype", "dtype"),
        OpParam("axis", "int"), OpParam("zero_points", "tensor", None),
    )  # fmt: skip
    return OpSpec(
        name, "quantization", params, dtypes, _infer, lower, torch, doc, method=True,
        notes=(
            *notes,
            "`axis` is one of the last two; `scale` and `zero_points` are DT_FP32 and have the "
            "other axes, or shape [1] where there are none.",
        ),
        places=_places,
    )  # fmt: skip


_SCALE = "(scale.unsqueeze(axis) if input.dim() > 1 else scale)"
_ZEROS = (
    "(0 if zero_points is None else "
    "zero_points.unsqueeze(axis) if input.dim() > 1 else zero_points)"
)

SPECS: tuple[OpSpec, ...] = (
    _spec(
        "quantize", frozenset({F32}), _lower_quantize,
        f"torch.round(input * {_SCALE} + {_ZEROS})"
        ".nan_to_num(0.0).clamp(torch.iinfo(otype).min, torch.iinfo(otype).max).to(otype)",
        "Input times scale plus zero points, rounded half to even and clamped to the range of "
        "`otype`.",
        "`otype` is DT_INT8 (-128 ... 127) or DT_UINT8 (0 ... 255).",
        "The input is multiplied by `scale`: pass 127 / amax, not amax / 127.",
        "NaN becomes 0.",
    ),
    _spec(
        "dequantize", frozenset({I8, U8, I16}), _lower_dequantize,
        f"(input.float() + {_ZEROS}) * {_SCALE}",
        "Input plus zero points, times scale, in FP32.",
        "`otype` is DT_FP32.",
        "What `quantize` has made is undone by 1 / scale and -zero_points.",
    ),
)  # fmt: skip
