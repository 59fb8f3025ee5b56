"""What an operation is: signature, type rule, torch meaning, dtypes, lowering."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NoReturn

from pypto._spelling import nearest
from pypto.error import Diagnostic, DtypeError, FeTypeError, PyptoError, Span
from pypto.ir.dtype import DataType
from pypto.ir.expr import Expr
from pypto.ir.tensor import Compute, TensorType, Value
from pypto.ops.casts import cast_to_one_of

if TYPE_CHECKING:
    from pypto.ops.lowering import Lowering

__all__ = ["REQUIRED", "OpCall", "OpParam", "OpSpec"]


class _Required:
    def __repr__(self) -> str:
        return "<required>"


REQUIRED = _Required()
# What parameters are called in NumPy and torch.
_OTHER_NAMES = {"axis": "dim", "keepdims": "keepdim", "a": "input", "x": "input", "b": "other"}
_QUOTED = 40  # characters of source text that a message repeats

ParamKind = Literal[
    "tensor", "operand", "int", "bool", "dtype", "enum", "dims",
    "tensors", "sizes", "number", "text",
]  # fmt: skip


def _shown(default: object) -> str:
    """A default as a person writes it."""
    if isinstance(default, enum.Enum):
        return f"pypto.{type(default).__name__}.{default.name}"
    return repr(default) if isinstance(default, str) else str(default)


@dataclass(frozen=True, slots=True)
class OpParam:
    """One parameter of an operation.

    ``tensor``: a tensor. ``operand``: a tensor or an int/float scalar (compile time or run time).
    The rest are compile-time values; ``enum`` names its class in ``type``. ``dims``: an int or a
    sequence of ints. ``tensors``, ``sizes``: lists of tensors, of ints; ``number``: an int or a
    float; ``text``: a string. ``value``: the meaning depends on the value of a float scalar, so
    that a float parameter of the kernel becomes part of the specialisation here.
    """

    name: str
    kind: ParamKind
    default: object = REQUIRED
    type: type | None = None
    value: bool = False


@dataclass(frozen=True, slots=True)
class OpCall:
    """One use of an operation in a kernel, as its type rule sees it.

    ``args`` maps every parameter name to a :class:`Value` (tensor), an :class:`Expr` (scalar) or a
    Python value (the compile-time kinds).
    """

    spec: OpSpec
    args: Mapping[str, Value | Expr | object]
    span: Span
    arg_spans: Mapping[str, Span] = field(default_factory=dict)
    required: list[tuple[Expr, str]] = field(default_factory=list)

    def require(self, condition: Expr, message: str) -> None:
        """Make ``condition``, which cannot be proved here, a precondition of every call."""
        self.required.append((condition, message))

    def scalar(self, name: str) -> Expr | None:
        """The scalar operand ``name``; None when it is a tensor."""
        value = self.args[name]
        return value if isinstance(value, Expr) else None

    def tensor(self, name: str) -> TensorType:
        """Type of the tensor operand ``name``."""
        value = self.args[name]
        assert isinstance(value, Value)
        return value.type

    def tensors(self) -> list[tuple[str, TensorType]]:
        """Name and type of every tensor operand, in signature order."""
        return [(n, v.type) for n, v in self.args.items() if isinstance(v, Value)]

    def text(self, name: str) -> str:
        """The source text of argument ``name`` as messages quote it; ``…`` when it is long."""
        span = self.arg_spans.get(name, self.span)
        text = span.text()
        short = span.line == span.end_line and 0 < len(text) <= _QUOTED
        return text if short and span != self.span else "…"

    def fail(
        self,
        cls: type[PyptoError],
        message: str,
        *,
        code: str | None = None,
        expected: str | None = None,
        got: str | None = None,
        help: str | None = None,
        arg: str | None = None,
    ) -> NoReturn:
        """Raise ``cls`` at this call (at argument ``arg`` when given)."""
        span = self.arg_spans.get(arg, self.span) if arg else self.span
        raise cls([Diagnostic(cls, code or cls.default_code, message, span, expected, got, help)])

    def check_dtype(self, name: str) -> DataType:
        """The dtype of operand ``name``; refuse it when the operation does not take it."""
        dtype = self.tensor(name).dtype
        if dtype not in self.spec.dtypes:
            allowed = ", ".join(str(d) for d in sorted(self.spec.dtypes))
            way = cast_to_one_of(self.text(name), dtype, self.spec.dtypes)
            self.fail(
                DtypeError,
                f"{self.spec.name} does not take {dtype.absent}",
                expected=f"one of {allowed}",
                got=f"{dtype} for '{name}'",
                help=f"cast the operand: {way}" if way else None,
                arg=name,
            )
        return dtype


@dataclass(frozen=True, slots=True)
class OpSpec:
    """An operation, complete. ``torch`` is its meaning, an expression over the parameter names.

    ``infer`` gives the result type or raises; ``lower`` rewrites one use into the primitive
    operations that instructions exist for; None where the front end makes loads and stores of the
    operation (``elaborate/movement.py``). ``dtypes`` is what the first tensor operand may be on
    Atlas A2/A3. ``tolerance`` maps a dtype to the allowed (relative, absolute) error against
    ``torch``; a dtype left out must match exactly.
    """

    name: str
    group: str
    params: tuple[OpParam, ...]
    dtypes: frozenset[DataType]
    infer: Callable[[OpCall], TensorType]
    lower: Callable[[Lowering, Compute], Value] | None
    torch: str
    doc: str
    method: bool = False
    receiver: str | None = None  # the parameter that the tensor of a method is; None: the first
    operator: str | None = None
    inplace: str | None = None  # the parameter that the result is written to
    # The axis of the result that each axis of a tensor operand is, None: it is not in the result.
    # Where there is no such function, axes are counted from the last one.
    places: Callable[[OpCall, str], tuple[int | None, ...]] | None = None
    notes: tuple[str, ...] = ()
    tolerance: Mapping[DataType, tuple[float, float]] = field(default_factory=dict)

    def bind(
        self, positional: tuple[object, ...], keyword: Mapping[str, object], span: Span
    ) -> dict[str, object]:
        """Arguments by parameter name, defaults filled in; refuse what does not fit by name."""

        def refuse(message: str, help: str = "") -> NoReturn:
            help = f"{help} {self.usage}" if help else self.usage
            raise FeTypeError([Diagnostic(FeTypeError, "F00001", message, span, help=help)])

        names = [p.name for p in self.params]
        if len(positional) > len(names):
            refuse(f"{self.name} takes {len(names)} arguments, got {len(positional)}")
        bound = dict(zip(names, positional, strict=False))
        for name, value in keyword.items():
            if name not in names:
                refuse(f"{self.name} has no parameter '{name}'", self._meant(name))
            if name in bound:
                refuse(f"{self.name} got '{name}' twice")
            bound[name] = value
        for param in self.params:
            if param.name not in bound:
                if isinstance(param.default, _Required):
                    refuse(f"{self.name} misses the argument '{param.name}'")
                bound[param.name] = param.default
        return {name: bound[name] for name in names}

    def _meant(self, name: str) -> str:
        """What a parameter ``name``, which there is not, was meant to be; "" for no idea."""
        if name == "out":
            return "store the result: o[:] ="
        meant = _OTHER_NAMES.get(name, name)
        names = [p.name for p in self.params]
        near = meant if meant in names else nearest(meant, names)
        return f"did you mean '{near}'?" if near else ""

    @property
    def usage(self) -> str:
        """The signature as a person writes it."""
        shown = (
            p.name if isinstance(p.default, _Required) else f"{p.name}={_shown(p.default)}"
            for p in self.params
        )
        return f"pypto.{self.name}({', '.join(shown)})"
