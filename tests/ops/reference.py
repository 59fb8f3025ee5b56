"""What a kernel's text means: the same text evaluated with torch, with bounds on the error.

Every operation is evaluated by the ``torch`` expression of its ``OpSpec`` and rounded to its dtype.
Each value carries a bound of its absolute error (FP64, elementwise), 0 where only exact operations
made it; there the kernel must agree to the bit. A bound of inf marks what is not defined (a float
out of an integer's range) or what an earlier error may have pushed anywhere.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any

import torch

import pypto
from pypto.error import SourceText, Span
from pypto.ir.expr import const
from pypto.ir.tensor import TensorType, Value
from pypto.ops import registry
from pypto.ops.spec import REQUIRED, OpCall, OpSpec

_F64 = torch.float64
_SPAN = Span(SourceText("k", "k.py", 1, ("def k(): ...",)), 1, 0, 1, 1)
_EPSILON = {torch.float32: 2.0**-23, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}
_MONOTONE = {"exp", "log", "sqrt", "rsqrt", "sigmoid", "tanh", "relu", "neg", "abs"}
_EXACT_OPS = {"neg", "abs", "relu", "maximum", "minimum", "amax", "amin", "where", "clip"}
_SIGNED_ZEROS = {"div", "reciprocal", "rsqrt", "pow"}


class Ref:
    """A tensor in a kernel: ``value``, bound of its ``error``, whether zeros' signs are certain."""

    def __init__(
        self, value: torch.Tensor, error: torch.Tensor | None = None, zeros: bool = True
    ) -> None:
        self.value = value
        self.error = torch.zeros(value.shape, dtype=_F64) if error is None else error
        self.zeros = zeros

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.value.shape)

    @property
    def dtype(self) -> Any:
        return _from_torch(self.value.dtype)

    def __setitem__(self, key: object, value: Ref | float) -> None:
        assert key == slice(None)
        if not isinstance(value, Ref):
            value = Ref(torch.full((1,), value, dtype=self.value.dtype))
        self.value = value.value.expand(self.shape).clone()
        self.error = value.error.expand(self.shape).clone()
        self.zeros = value.zeros

    def __getitem__(self, key: object) -> Ref:
        assert key == slice(None)
        return self

    def move(self, value: Ref) -> None:
        self[:] = value

    def __getattr__(self, name: str) -> Callable[..., Ref]:
        spec = registry.method(name)
        if spec is None:
            raise AttributeError(name)
        place = [p.name for p in spec.params].index(spec.receiver) if spec.receiver else 0
        return lambda *args, **kwargs: evaluate(spec, (*args[:place], self, *args[place:]), kwargs)

    def __iadd__(self, other: Any) -> Ref:
        self[:] = evaluate(registry.get("add"), (self, other), {})
        return self


def _operator(name: str, swap: bool) -> Callable[[Ref, Any], Ref]:
    def method(self: Ref, other: Any) -> Ref:
        return evaluate(registry.get(name), (other, self) if swap else (self, other), {})

    return method


for _name, _spec in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div")):
    setattr(Ref, f"__{_name}__", _operator(_spec, False))
    setattr(Ref, f"__r{_name}__", _operator(_spec, True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Ref, f"__{_name}__", _operator(_name, False))
for _name, _spec in (
    ("floordiv", "floor_div"), ("mod", "remainder"), ("and", "bitwise_and"), ("or", "bitwise_or"),
    ("xor", "bitwise_xor"), ("lshift", "bitwise_left_shift"), ("rshift", "bitwise_right_shift"),
):  # fmt: skip
    setattr(Ref, f"__{_name}__", _operator(_spec, False))
    setattr(Ref, f"__r{_name}__", _operator(_spec, True))
Ref.__pow__ = _operator("pow", False)
Ref.__neg__ = lambda self: evaluate(registry.get("neg"), (self,), {})


def _from_torch(dtype: torch.dtype) -> Any:
    return next(d for d in pypto.DataType if d.torch_name and getattr(torch, d.torch_name) == dtype)


def evaluate(spec: OpSpec, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Ref:
    """One operation on Refs and numbers."""
    bound = {p.name: p.default for p in spec.params if p.default is not REQUIRED}
    bound |= dict(zip([p.name for p in spec.params], args, strict=False)) | dict(kwargs)
    operands = [bound[p.name] for p in spec.params if p.kind in ("tensor", "operand")]
    value = meaning(spec, bound)
    if spec.name == "cast" and bound["input"].dtype == bound["dtype"]:
        source = bound["input"]
        return Ref(source.value, source.error, source.zeros)
    refs = [o for o in operands if isinstance(o, Ref)]
    zeros = all(r.zeros for r in refs)
    zeros &= spec.name not in ("maximum", "minimum", "amax", "amin", "clip")
    error = _propagate(spec, bound, value)
    if error is None:
        return Ref(value, None, zeros)
    if spec.tolerance:
        zeros = False
    return Ref(value, error, zeros)


def meaning(spec: OpSpec, bound: Mapping[str, Any]) -> torch.Tensor:
    """The torch expression of ``spec`` over ``bound`` (Refs, numbers, compile-time values)."""
    values: dict[str, Any] = {"torch": torch}
    narrow = _sixteen_bits(spec, bound)
    if narrow is not None:
        wide = {n: Ref(v.value.float()) if isinstance(v, Ref) else v for n, v in bound.items()}
        return meaning(spec, wide).to(narrow)
    refs = [item.value for item in bound.values() if isinstance(item, Ref)]
    # Torch's own functions are off by a unit in places, by many in long sums; FP64 is not.
    precise = refs[0].is_floating_point() and _precise(spec)
    for name, item in bound.items():
        if isinstance(item, Ref):
            value = item.value
            values[name] = value.double() if precise else _known(value)
            if spec.group == "division" and not value.dtype.is_floating_point:
                # No result overflows in INT64; torch refuses a divisor of zero.
                zero = (value == 0) if _divides(spec) and name == "other" else 0
                values[name] = value.long() + zero
        elif item is not None and any(p.name == name and p.kind == "operand" for p in spec.params):
            values[name] = _number(item, refs[-1].dtype)
            if _divides(spec) and name == "other" and not item and isinstance(item, int):
                values[name] = torch.tensor(1)
        elif isinstance(item, pypto.DataType):
            values[name] = getattr(torch, item.torch_name or "")
        else:
            values[name] = item
    if spec.name == "pow" and isinstance(bound["other"], float):
        # The exponent is FP32; torch takes it as FP64 where its vectors end.
        values["other"] = torch.tensor(bound["other"], dtype=torch.float32).item()
    result: torch.Tensor = eval(_text(spec), values)
    # Bounds of errors are computed in FP64, whatever the operation takes.
    if refs[-1].dtype != _F64 and (precise or result.dtype in (torch.int64, _F64)):
        kinds = [_from_torch(v.dtype) for v in refs]
        result = result.to(getattr(torch, result_dtype(spec, kinds, bound).torch_name or ""))
    return result.reshape(result.shape or (1,))


def _divides(spec: OpSpec) -> bool:
    return spec.group == "division" and spec.name != "gcd"


def _precise(spec: OpSpec) -> bool:
    return (bool(spec.tolerance) and spec.name != "pow") or spec.name == "sqrt"


def _known(value: torch.Tensor) -> torch.Tensor:
    """As a dtype that torch computes with: it has few operations on unsigned integers."""
    return value.long() if value.dtype in (torch.uint16, torch.uint32) else value


def result_dtype(spec: OpSpec, dtypes: list[Any], bound: Mapping[str, Any]) -> Any:
    """The dtype of the result for tensors of these dtypes, by the operation's own type rule."""
    left = iter(dtypes)
    kinds = {p.name: p.kind for p in spec.params}
    args = {
        name: Value(0, TensorType(next(left), (const(8),)))
        if isinstance(item, Ref)
        else const(type(+item)(1))
        if isinstance(item, int | float) and kinds.get(name) == "operand"
        else item
        for name, item in bound.items()
    }
    if spec.name in ("argmax", "argmin"):
        return pypto.DT_INT32
    if spec.name == "cumsum" and not dtypes[0].is_float:
        return pypto.DT_INT64
    if spec.group in ("reduction",) or spec.name == "softmax":
        return dtypes[0]
    return spec.infer(OpCall(spec, args, _SPAN)).dtype


def _sixteen_bits(spec: OpSpec, bound: Mapping[str, Any]) -> torch.dtype | None:
    """The dtype of a 16-bit float beside a number. Torch's own kernels round the number first in
    some operations and not in others; here it never is: FP32, then one rounding."""
    if _divides(spec):
        # Torch divides in 16 bits; here it is done in FP32.
        first = next(x.value.dtype for x in bound.values() if isinstance(x, Ref))
        return first if first in (torch.float16, torch.bfloat16) else None
    beside = spec.params[0].kind == "operand" or spec.name == "pow"
    if spec.group != "arithmetic" or not beside:
        return None
    operands = [bound["input"], bound["other"]]
    dtypes = [x.value.dtype for x in operands if isinstance(x, Ref)]
    narrow = len(dtypes) == 1 and dtypes[0] in (torch.float16, torch.bfloat16)
    return dtypes[0] if narrow else None


def _number(value: float, dtype: torch.dtype) -> torch.Tensor:
    # A 0-d tensor takes part as a Python number does, and where torch wants a tensor, too.
    if dtype in (torch.uint16, torch.uint32) and isinstance(value, int):
        value %= torch.iinfo(dtype).max + 1
    if isinstance(value, bool):
        return torch.tensor(value)
    kind = _F64 if isinstance(value, float) else torch.int64
    return torch.tensor(value, dtype=kind)


def _text(spec: OpSpec) -> str:
    # Softmax says FP32 itself.
    return spec.torch.replace("input.float()", "input.double()")


# --- error bounds ---


def _propagate(spec: OpSpec, bound: Mapping[str, Any], value: torch.Tensor) -> torch.Tensor | None:
    """Bound of the error of one operation; None when it and its operands are exact."""
    operands = [bound[p.name] for p in spec.params if p.kind in ("tensor", "operand")]
    a, b = operands[0], operands[1] if len(operands) > 1 else None
    errors = [x.error for x in operands if isinstance(x, Ref)]
    doubtful = _doubtful(spec, a, b)
    tolerance = spec.tolerance.get(_from_torch(value.dtype))
    if spec.name in ("sum", "prod", "cumsum") and not value.dtype.is_floating_point:
        tolerance = None
    if spec.name == "pow" and not value.dtype.is_floating_point:
        tolerance = None
    inherited = any(bool((e != 0).any()) for e in errors)
    if tolerance is None and not inherited and doubtful is None:
        return None
    error = torch.zeros(value.shape, dtype=_F64)
    if inherited:
        error = error + _inherit(spec, bound, value)
        if spec.name not in _EXACT_OPS:
            error = torch.where(error > 0, error + _ulp(value), error)
    if tolerance is not None:
        error = error + _allowed(spec, bound, value, tolerance)
    if doubtful is not None:
        error = torch.where(doubtful, torch.inf, error)
    return torch.where(error.isnan(), torch.inf, error)


def _doubtful(spec: OpSpec, a: Any, b: Any) -> torch.Tensor | None:
    """Where the result is not defined, or hangs on the sign of a zero that is not certain."""
    if spec.name in ("atan2", "copysign", "signbit") or _divides(spec):
        unsure = [(x.value == 0) for x in (a, b) if isinstance(x, Ref) and not x.zeros]
        shapes = [x.value.shape for x in (a, b) if isinstance(x, Ref)]
        found = torch.zeros(torch.broadcast_shapes(*shapes), dtype=torch.bool)
        for where in unsure:
            found = found | where
        return found | _no_quotient(a, b) if _divides(spec) else found
    if spec.name in ("sin", "cos", "tan"):
        return ~(a.value.double().abs() <= 65504) & a.value.isfinite()
    if spec.name == "cast" and a.value.dtype.is_floating_point:
        # Torch leaves floats outside an integer's range to the machine.
        return None if b is not None else _outside(a)
    if spec.name in _SIGNED_ZEROS:
        divisor = b if spec.name == "div" else a
        if isinstance(divisor, Ref) and not divisor.zeros:
            other = a.value if isinstance(a, Ref) else torch.zeros(1)
            return (divisor.value == 0).expand(
                torch.broadcast_shapes(divisor.value.shape, other.shape)
            )
    return None


def _no_quotient(a: Any, b: Any) -> torch.Tensor:
    """Where a division has no particular result: an integer by zero, a float's large quotient."""
    x, y = (v.value if isinstance(v, Ref) else torch.tensor(v) for v in (a, b))
    if not (x.is_floating_point() or y.is_floating_point()):
        return (y == 0).expand(torch.broadcast_shapes(x.shape, y.shape))
    quotient = x.double() / y.double()
    return x.isfinite() & (y != 0) & (quotient.abs() >= 2.0**44)


def _outside(a: Ref) -> torch.Tensor | None:
    outside = ~(a.value.double().abs() < 2.0**31)
    return outside if bool(outside.any()) else None


def _ulp(value: torch.Tensor) -> torch.Tensor:
    """One unit in the last place of a float ``value``; an error in an integer may be anything."""
    if not value.dtype.is_floating_point:
        return torch.full(value.shape, torch.inf, dtype=_F64)
    tiny = torch.finfo(value.dtype).smallest_normal
    scale = value.double().abs().clamp(min=tiny)
    return torch.where(scale.isinf(), torch.inf, scale * _EPSILON[value.dtype])


def _allowed(
    spec: OpSpec, bound: Mapping[str, Any], value: torch.Tensor, tolerance: tuple[float, float]
) -> torch.Tensor:
    relative, absolute = tolerance
    scale = value.double().abs()
    if spec.name in ("prod", "cumprod"):
        # Every product is rounded, however they are grouped.
        relative = max(relative, bound["input"].shape[bound["dim"]] * 2.0**-24)
    if spec.name == "sum":
        # Order of summation: relative to the sum of magnitudes.
        scale = bound["input"].value.double().abs().sum(bound["dim"], bound["keepdim"])
        scale = scale.reshape(value.shape)
    elif spec.name == "cumsum":
        scale = bound["input"].value.double().abs().cumsum(bound["dim"])
    allowed = relative * scale + absolute
    if spec.name == "sum":
        allowed = torch.where(scale == 0, 0.0, allowed)
    # inf and NaN must be exact unless a finite sum may overflow by its order.
    edge = value.double().abs() > 0.98 * torch.finfo(value.dtype).max
    if spec.name == "sum":
        edge |= scale > 0.98 * torch.finfo(value.dtype).max  # where a part of the sum overflows
    finite = torch.where(value.isfinite() & edge, torch.inf, allowed)
    infinite = torch.where(scale.isfinite(), torch.inf, 0.0)
    if spec.name == "sum":
        # By the order, finite elements may reach the other infinity before they meet this one.
        part = bound["input"].value.double().abs()
        part = torch.where(part.isfinite(), part, 0.0).sum(bound["dim"], bound["keepdim"])
        unsure = part.reshape(value.shape) > 0.98 * torch.finfo(torch.float32).max
        infinite = torch.where(unsure, torch.inf, infinite)
    return torch.where(value.isfinite(), finite, infinite)


def _inherit(spec: OpSpec, bound: Mapping[str, Any], value: torch.Tensor) -> torch.Tensor:
    operands = [bound[p.name] for p in spec.params if p.kind in ("tensor", "operand")]
    if spec.group in _UNCERTAIN or spec.name in _JUMPING or len(operands) > 2:
        return _uncertain(spec, operands, value)
    a, b = operands[0], operands[1] if len(operands) > 1 else None
    if spec.name in ("add", "sub", "mul", "div", "maximum", "minimum") or (
        spec.name == "pow" and isinstance(b, Ref)
    ):
        return _of_two(spec, a, b, value)
    x, e = a.value.double(), a.error
    if spec.name in ("sum", "amax", "amin"):
        dim, keep = bound["dim"], bound["keepdim"]
        worst = e.sum(dim, keep) if spec.name == "sum" else e.amax(dim, keep)
        return worst.reshape(value.shape)
    if spec.name in ("cumsum", "cumprod"):
        certain = spec.name == "cumsum"
        return (
            e.cumsum(bound["dim"])
            if certain
            else torch.where(e > 0, torch.inf, e).cumsum(bound["dim"])
        )
    if spec.name in ("prod", "argmax", "argmin"):
        some = (e != 0).double().amax(bound["dim"], bound["keepdim"]).reshape(value.shape)
        return torch.where(some > 0, torch.inf, 0.0)
    if spec.name == "softmax":
        return (e.amax(bound["dim"], keepdim=True) * 2).expm1() * value.double() + torch.zeros_like(
            e
        )
    if spec.name == "cast":
        if not value.dtype.is_floating_point:
            return torch.where(e > 0, torch.inf, 0.0)
        return e
    if spec.name in ("sin", "cos"):
        return e
    low, high = (meaning(spec, {**bound, "input": Ref(v)}).double() for v in (x - e, x + e))
    middle = meaning(spec, {**bound, "input": Ref(x)}).double()
    worst = torch.maximum((low - middle).abs(), (high - middle).abs())
    # Functions with a pole or an extremum at zero are not bounded by their ends across it.
    across = (x.abs() <= e) & (e > 0)
    if spec.name in ("reciprocal", "rsqrt", "pow"):
        worst = torch.where(across, torch.inf, worst)
    worst = torch.where(across & (spec.name == "abs"), e, worst)
    return torch.where(e > 0, torch.where(worst.isnan(), torch.inf, worst), 0.0)


_JUMPING = ("atan2", "copysign", "hypot", "expand_exp_dif", "tan", "cosh", "acosh", "lrelu")
_UNCERTAIN = ("comparison", "logical", "predicate", "selection", "bitwise", "division")


def _uncertain(spec: OpSpec, operands: list[Any], value: torch.Tensor) -> torch.Tensor:
    """Of operations that jump: any value where an operand's error could make it another one."""
    shape = value.shape
    pairs = [
        (x.value.double().expand(shape), x.error.expand(shape))
        if isinstance(x, Ref)
        else (torch.full(shape, float(x or 0.0), dtype=_F64), torch.zeros(shape, dtype=_F64))
        for x in operands
    ]
    errors = torch.stack([e for _, e in pairs])
    if spec.name == "where":
        (condition, unsure), (_, ea), (_, eb) = pairs
        return torch.where(unsure > 0, torch.inf, torch.where(condition != 0, ea, eb))
    if spec.name == "clip":
        return errors.amax(0)
    close = (errors > 0).any(0)
    if spec.group == "comparison":
        (x, ex), (y, ey) = pairs
        close &= ~((x - y).abs() > ex + ey) & ~((x.isnan() | y.isnan()) & (ex + ey == 0))
    return torch.where(close, torch.inf, 0.0)


def _of_two(spec: OpSpec, a: Any, b: Any, value: torch.Tensor) -> torch.Tensor:
    (x, ex), (y, ey) = (
        (v.value.double(), v.error)
        if isinstance(v, Ref)
        else (torch.tensor(float(v), dtype=_F64), torch.tensor(0.0, dtype=_F64))
        for v in (a, b)
    )
    if spec.name in ("add", "sub"):
        error = ex + ey
    elif spec.name == "mul":
        error = x.abs() * ey + y.abs() * ex + ex * ey
    elif spec.name == "div":
        rest = y.abs() - ey
        error = torch.where(rest > 0, (ex + (x / y).abs() * ey) / rest, torch.inf)
    elif spec.name == "pow":
        error = torch.where((ex > 0) | (ey > 0), torch.inf, 0.0)
    else:
        error = torch.maximum(ex, ey)
    clean = (ex == 0) & (ey == 0)
    error = torch.where(clean, 0.0, error).expand(value.shape)
    near = value.double().abs() + error > 0.98 * (
        torch.finfo(value.dtype).max if value.dtype.is_floating_point else torch.inf
    )
    return torch.where((error > 0) & near, torch.inf, error)


# --- whole kernels ---


def _apply(spec: OpSpec, /, *args: Any, **kwargs: Any) -> Ref:
    return evaluate(spec, args, kwargs)


def _builtin_tensor(shape: list[int], dtype: Any, *names: object) -> Ref:
    return Ref(torch.zeros(shape, dtype=getattr(torch, dtype.torch_name)))


def interpret(function: types.FunctionType, values: tuple[Any, ...]) -> list[Ref | Any]:
    """Run ``function`` as Python on copies of ``values``; equal tensors stay one. Returns the
    parameters after it."""
    shim = types.SimpleNamespace(
        tensor=_builtin_tensor,
        set_vec_tile_shapes=lambda *sizes: None,
        **{d.name: d for d in pypto.DataType},
        PrecisionType=pypto.PrecisionType,
        CastMode=pypto.CastMode,
        SaturationMode=pypto.SaturationMode,
        **{n: functools.partial(_apply, registry.get(n)) for n in registry.names()},
    )
    seen: dict[int, Ref] = {}
    args = [
        seen.setdefault(id(v), Ref(v.clone())) if isinstance(v, torch.Tensor) else v for v in values
    ]
    names = {**function.__globals__, "pypto": shim}
    copy = types.FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    copy(*args)
    return args


def difference(name: str, got: torch.Tensor, want: Ref) -> str | None:
    """Why ``got`` is not what ``want`` allows; None when it is."""
    value, error = want.value, want.error
    assert got.shape == value.shape and got.dtype == value.dtype
    a, b = got.double(), value.double()
    exact = (got == value) | (got.isnan() & value.isnan())
    if want.zeros and value.dtype.is_floating_point:
        exact &= (got.signbit() == value.signbit()) | (value != 0)
    close = exact | ((a - b).abs() <= error) | (error == torch.inf)
    if bool(close.all()):
        return None
    bad = torch.nonzero(~close)
    first = tuple(int(i) for i in bad[0])
    return (
        f"{name}{list(first)} is {got[first].item()!r}, expected {value[first].item()!r} "
        f"+- {error[first].item():.3g}; {len(bad)} of {got.numel()} elements differ"
    )


def signature_text(function: types.FunctionType) -> str:
    """``name(parameters)`` for messages."""
    return f"{function.__name__}{inspect.signature(function)}"
