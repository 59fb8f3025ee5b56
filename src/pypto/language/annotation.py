"""Annotations of tensor parameters: ``pypto.Tensor`` in all the forms of the contract.

``pypto.Tensor([4, pypto.DYNAMIC], pypto.DT_FP32)``, ``pypto.Tensor[[4, 8], pypto.DT_FP16]``, a bare
``pypto.Tensor`` and the rest make one :class:`TensorAnnotation`; whatever does not say something
definite about a tensor is refused when the annotation is written.
"""

from __future__ import annotations

import enum
import operator
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from pypto._record import Record
from pypto._spelling import nearest
from pypto.error import Diagnostic, FeError, FeNotImplementedError, FeTypeError, FeValueError
from pypto.ir.dtype import DataType
from pypto.language.status import StatusType, TileOpFormat
from pypto.language.symbolic import SymbolicScalar

__all__ = ["MAX_RANK", "Axis", "NamedAxis", "Tensor", "TensorAnnotation"]

MAX_RANK = 5
_MAX_SIZE = 2**63 - 1

_SHAPE_HELP = (
    "an axis is a size, pypto.DYNAMIC, pypto.STATIC, -1, pypto.frontend.dynamic('n') "
    "or, in last place, ..."
)
_DEVICE_FIELDS = ("data_ptr", "device", "ori_shape")
_FIELDS = ("shape", "dtype", "name", "format")


class NamedAxis(str):
    """A dynamic axis with a name; axes of equal names have equal sizes at each call."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"pypto.frontend.dynamic({str(self)!r})"


Axis: TypeAlias = int | StatusType | NamedAxis


class TensorAnnotation(Record):
    """What an annotation says about a tensor argument.

    ``shape``: per axis a size, ``DYNAMIC``/``DYN`` (``-1`` reads back as ``DYNAMIC``), ``STATIC``
    or a name; None when nothing is said, not even the rank. ``open``: further axes may follow, all
    static (always so when ``shape`` is None). ``dtype`` and ``format``: None takes the call's.
    """

    shape: tuple[Axis, ...] | None = None
    open: bool = True
    dtype: DataType | None = None
    format: TileOpFormat | None = None
    name: str = ""

    @property
    def rank(self) -> int | None:
        """Number of axes; None when the annotation leaves it open."""
        return None if self.shape is None or self.open else len(self.shape)

    def __str__(self) -> str:
        parts = []
        if self.shape is not None:
            axes = [repr(axis) for axis in self.shape] + ["..."] * self.open
            parts.append(f"[{', '.join(axes)}]")
        if self.dtype is not None:
            parts.append(repr(self.dtype) if parts else f"dtype={self.dtype!r}")
        if self.format is not None:
            parts.append(f"format=pypto.TileOpFormat.{self.format.name}")
        if self.name:
            parts.append(f"name={self.name!r}")
        return f"pypto.Tensor({', '.join(parts)})"


class Tensor(TensorAnnotation):
    """A tensor parameter, in annotations; a local tensor, inside a kernel.

    ``Tensor(shape, dtype)``: ``shape`` is a list or tuple of sizes, ``pypto.DYNAMIC`` (or ``-1``),
    ``pypto.STATIC``, named axes, and ``...`` in last place for any further static axes. A dtype
    left out is taken from the call. ``Tensor[shape, dtype]`` sorts its arguments by type; there a
    dtype left out is ``DT_FP32``. Raises FeTypeError or FeValueError for anything else.
    """

    __slots__ = ()

    def __init__(
        self,
        shape: object = None,
        dtype: DataType | None = None,
        name: str = "",
        format: TileOpFormat | None = None,
        data_ptr: object = None,
        device: object = None,
        ori_shape: object = None,
    ) -> None:
        for field, value in zip(_DEVICE_FIELDS, (data_ptr, device, ori_shape), strict=True):
            if value is not None:
                _refuse_device_field(field)
        if isinstance(shape, int) and isinstance(dtype, int) and not isinstance(dtype, enum.Enum):
            _refuse_type(
                "the shape of a tensor annotation must be a list or tuple",
                "list or tuple of axes",
                shape,
                help=f"write pypto.Tensor([{shape}, {dtype}], pypto.DT_FP32)",
            )
        if dtype is not None and not isinstance(dtype, DataType):
            _refuse_dtype(dtype)
        if not isinstance(name, str):
            _refuse_type("the name of a tensor annotation must be a string", "str", name)
        if format is not None and not isinstance(format, TileOpFormat):
            _refuse_type("the format must be a pypto.TileOpFormat", "TileOpFormat", format)
        axes, is_open = (None, True) if shape is None else _axes(shape)
        super().__init__(axes, is_open, dtype, format, name)

    def __class_getitem__(cls, arguments: object) -> Tensor:
        fields: dict[str, Any] = {}
        for value in arguments if isinstance(arguments, tuple) else (arguments,):
            for field, found in _sort(value):
                if field in fields:
                    _refuse_value(f"the annotation gives its {field} twice", got=repr(found))
                fields[field] = found
        fields.setdefault("dtype", DataType.DT_FP32)
        return cls(**fields)

    def __repr__(self) -> str:
        return str(self)

    if TYPE_CHECKING:
        # What a tensor can do inside a kernel is decided by the compiler; to a type checker that
        # reads a kernel's body, operators give tensors and attributes give anything.
        shape: Any

        def __getattr__(self, name: str) -> Any: ...

    def __getitem__(self, key: Any) -> Tensor:
        _only_in_kernel("x[...]")

    def __setitem__(self, key: Any, value: Any) -> None:
        _only_in_kernel("x[...] = value")

    def __add__(self, other: Any) -> Tensor:
        _only_in_kernel("+")

    def __radd__(self, other: Any) -> Tensor:
        _only_in_kernel("+")

    def __sub__(self, other: Any) -> Tensor:
        _only_in_kernel("-")

    def __rsub__(self, other: Any) -> Tensor:
        _only_in_kernel("-")

    def __mul__(self, other: Any) -> Tensor:
        _only_in_kernel("*")

    def __rmul__(self, other: Any) -> Tensor:
        _only_in_kernel("*")

    def __truediv__(self, other: Any) -> Tensor:
        _only_in_kernel("/")

    def __rtruediv__(self, other: Any) -> Tensor:
        _only_in_kernel("/")

    def __floordiv__(self, other: Any) -> Tensor:
        _only_in_kernel("//")

    def __mod__(self, other: Any) -> Tensor:
        _only_in_kernel("%")

    def __pow__(self, other: Any) -> Tensor:
        _only_in_kernel("**")

    def __matmul__(self, other: Any) -> Tensor:
        _only_in_kernel("@")

    def __neg__(self) -> Tensor:
        _only_in_kernel("unary -")

    def __pos__(self) -> Tensor:
        _only_in_kernel("unary +")

    def __lt__(self, other: Any) -> Tensor:
        _only_in_kernel("<")

    def __le__(self, other: Any) -> Tensor:
        _only_in_kernel("<=")

    def __gt__(self, other: Any) -> Tensor:
        _only_in_kernel(">")

    def __ge__(self, other: Any) -> Tensor:
        _only_in_kernel(">=")


def _axes(shape: object) -> tuple[tuple[Axis, ...] | None, bool]:
    """The axes of ``shape`` and whether more may follow; no axes at all: any rank."""
    if not isinstance(shape, (list, tuple)):
        _refuse_type(
            "the shape of a tensor annotation must be a list or tuple",
            "list or tuple of axes",
            shape,
            help=f"write pypto.Tensor([{shape!r}], ...)" if isinstance(shape, int) else None,
        )
    axes: list[Axis] = []
    for index, item in enumerate(shape):
        if item is Ellipsis:
            if index != len(shape) - 1:
                _refuse_value(
                    "... must be the last item of a shape",
                    expected="... in last place",
                    got=f"... at index {index} of {len(shape)} items",
                    help="write pypto.STATIC or pypto.DYNAMIC for the axes before",
                )
            return (tuple(axes) or None), True
        axes.append(_axis(item, index))
    if len(axes) > MAX_RANK:
        _refuse_value(
            f"a tensor has at most {MAX_RANK} axes",
            expected=f"a shape of 1 to {MAX_RANK} axes",
            got=f"{len(axes)} axes",
        )
    return (tuple(axes), False) if axes else (None, True)


def _axis(item: object, index: int) -> Axis:
    if isinstance(item, StatusType):
        return item
    if isinstance(item, SymbolicScalar):
        if item.is_concrete():
            item = item.concrete()
        elif item.name is not None:
            return NamedAxis(item.name)
        else:
            _refuse_value(
                f"axis {index} of the shape is an expression over sizes",
                expected="a size or a name",
                got=str(item),
                help="give the axis a name of its own; sizes are related inside the kernel",
            )
    if isinstance(item, NamedAxis):
        return item
    size = _size(item)
    if size is None:
        _refuse_type(f"axis {index} of the shape is no axis", "an axis", item, help=_SHAPE_HELP)
    if size == -1:
        return StatusType.DYNAMIC
    if not 0 <= size <= _MAX_SIZE:
        _refuse_value(
            f"axis {index} of the shape is {'negative' if size < 0 else 'too large'}",
            expected="a size of 0 or more in 64 bits, or -1 for a dynamic axis",
            got=str(size),
            help=_SHAPE_HELP,
        )
    return size


def _size(item: object) -> int | None:
    """``item`` as an int when it is one; a bool, a dtype or another enumerator is none."""
    if isinstance(item, (bool, enum.Enum)):
        return None
    try:
        return operator.index(item)  # type: ignore[arg-type]
    except TypeError:
        return None


def _sort(value: object) -> list[tuple[str, object]]:
    """Field and value of one argument of ``Tensor[...]``, told by its type."""
    if isinstance(value, (list, tuple)):
        return [("shape", value)]
    if isinstance(value, DataType):
        return [("dtype", value)]
    if isinstance(value, TileOpFormat):
        return [("format", value)]
    if isinstance(value, str):
        return [("name", value)]
    if isinstance(value, dict):
        for key in value:
            _check_field(key)
        return list(value.items())
    if isinstance(value, (int, StatusType)) or value is Ellipsis:
        _refuse_type(
            "the shape in pypto.Tensor[...] stands in brackets of its own",
            "pypto.Tensor[[sizes], dtype]",
            value,
            help="write pypto.Tensor[[4, 8], pypto.DT_FP32]",
        )
    if _looks_like_dtype(value):
        _refuse_dtype(value)
    _refuse_type(
        "pypto.Tensor[...] cannot tell what this argument means",
        "a list (shape), DataType, TileOpFormat, str (name) or dict",
        value,
    )


def _check_field(key: object) -> None:
    if key in _DEVICE_FIELDS:
        _refuse_device_field(str(key))
    if key not in _FIELDS:
        near = nearest(str(key), _FIELDS)
        _refuse_value(
            f"a tensor annotation has no field {key!r}",
            expected=f"one of {', '.join(_FIELDS)}",
            help=f"did you mean '{near}'?" if near else None,
        )


def _looks_like_dtype(value: object) -> bool:
    return type(value).__name__.endswith(("dtype", "DType")) or (
        isinstance(value, type) and (value.__module__ == "numpy" or value in (float, int, bool))
    )


def _refuse_dtype(value: object) -> NoReturn:
    from pypto.language.dtype_names import suggestion

    _refuse_type(
        "the dtype of a tensor annotation must be a pypto.DataType",
        "pypto.DT_FP32, pypto.DT_FP16, ...",
        value,
        help=suggestion(value),
    )


def _refuse_device_field(field: str) -> NoReturn:
    message = f"'{field}' describes memory, which an annotation does not have"
    raise FeNotImplementedError(
        [Diagnostic(FeNotImplementedError, "F00005", message, help=f"leave '{field}' out")]
    )


def _only_in_kernel(what: str) -> NoReturn:
    message = f"'{what}' on a pypto.Tensor has a meaning only inside a kernel"
    help = "call the kernel with torch tensors; pypto.Tensor describes a parameter"
    raise FeError([Diagnostic(FeError, "F00007", message, help=help)])


def _refuse_type(message: str, expected: str, got: object, help: str | None = None) -> NoReturn:
    found = f"{got!r} ({type(got).__name__})"
    raise FeTypeError([Diagnostic(FeTypeError, "F00001", message, None, expected, found, help)])


def _refuse_value(
    message: str, *, expected: str | None = None, got: str | None = None, help: str | None = None
) -> NoReturn:
    raise FeValueError([Diagnostic(FeValueError, "F00002", message, None, expected, got, help)])
