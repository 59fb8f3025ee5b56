"""Tensors that a kernel makes: ``pypto.tensor``, ``zeros``, ``ones`` and ``full``."""

from __future__ import annotations

from collections.abc import Sequence as Items

from pypto.elaborate import values as v
from pypto.elaborate.arithmetic import operand
from pypto.elaborate.binding_builtins import bind_builtin
from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.iteration import items_of
from pypto.elaborate.machine import Frame
from pypto.elaborate.scalars import number
from pypto.elaborate.tensors import Argument, check_format, write
from pypto.elaborate.values import Item, Known, Scalar, Sequence
from pypto.elaborate.views import narrowed
from pypto.error import FeTypeError, FeValueError, Span
from pypto.ir.dtype import DataType
from pypto.ir.expr import Expr, const, symbols_of, variables_of
from pypto.ir.tensor import Buffer, TensorType
from pypto.language import builtin
from pypto.language.builtin import Builtin
from pypto.language.dtype_names import meant_dtype, suggestion
from pypto.language.element import Element
from pypto.language.status import TileOpFormat

__all__ = ["MAX_RANK", "MAX_SIZE", "filled_tensor", "is_int", "local_tensor"]

MAX_RANK = 5
MAX_SIZE = 2**63 - 1

Arguments = list[Argument]
Keywords = dict[str, Argument]


def is_int(item: Item) -> bool:
    """Whether ``item`` is an int, of any size, now or at launch."""
    expr = number(item)
    return expr is not None and expr.kind == "int"


def local_tensor(
    frame: Frame, positional: Arguments, keyword: Keywords, span: Span, name: str | None
) -> Item:
    given = bind_builtin(
        builtin.tensor, positional, keyword, span, ("shape", "dtype"), ("name", "format")
    )
    shape_item, shape_span = given["shape"]
    parts = items_of(frame, shape_item, shape_span)
    if parts is None:
        refuse(
            FeTypeError, "the shape of a local tensor is a list or tuple of sizes", shape_span,
            got=v.describe(shape_item), help="pypto.tensor([4, 64], pypto.DT_FP32)",
        )  # fmt: skip
    if not 1 <= len(parts) <= MAX_RANK:
        refuse(FeValueError, f"a tensor has 1 to {MAX_RANK} axes, got {len(parts)}", shape_span)
    sizes: list[Expr] = []
    for index, part in enumerate(parts):
        where = f"the size of the local tensor in axis {index}"
        if not is_int(part):
            refuse(
                FeTypeError, f"{where} is no int", shape_span, got=v.describe(part),
                help=_sizes_help(parts),
            )  # fmt: skip
        if isinstance(part, Known):
            size = int(frame.use(part, shape_span))
            if not 0 <= size <= MAX_SIZE:
                problem = "negative" if size < 0 else "too large"
                refuse(
                    FeValueError, f"{where} is {problem}", shape_span,
                    expected="a size of 0 or more in 64 bits", got=v.number_text(size),
                )  # fmt: skip
        expr = operand(frame, part, shape_span)
        assert expr is not None  # an int of 64 bits
        if isinstance(part, Scalar):
            expr = _size(frame, part, shape_span)
        sizes.append(expr)
    dtype = frame.python(*given["dtype"], "the dtype of a local tensor")
    if not isinstance(dtype, DataType):
        refuse(
            FeTypeError, "the dtype of a local tensor is a pypto dtype", given["dtype"][1],
            expected="pypto.DT_FP32, pypto.DT_FP16, ...", got=v.describe(Known(dtype)),
            help=suggestion(dtype),
        )  # fmt: skip
    if "format" in given:
        _check_format(frame, given["format"])
    builder = frame.context.builder
    label = _label(frame, given, name)
    return builder.local(label, TensorType(dtype, tuple(sizes)), span)


def _sizes_help(parts: Items[Item]) -> str:
    """How sizes are given; a dtype among them goes by name."""
    last = parts[-1]
    meant = meant_dtype(last.value) if isinstance(last, Known) else None
    if isinstance(last, Known) and isinstance(last.value, DataType):
        meant = last.value
    if meant is not None:
        return f"the dtype goes by its name: dtype={meant!r}"
    return "a shape is a list of sizes: [16, 64]"


def _check_format(frame: Frame, argument: Argument) -> None:
    item, span = argument
    format = frame.python(item, span, "the format of a local tensor")
    if format is not None and not isinstance(format, TileOpFormat):
        refuse(
            FeTypeError, "the format of a local tensor is a pypto.TileOpFormat", span,
            expected="pypto.TileOpFormat.TILEOP_ND", got=v.describe(Known(format)),
        )  # fmt: skip
    check_format(format or TileOpFormat.TILEOP_ND, "a local tensor", span)


def _size(frame: Frame, item: Scalar, span: Span) -> Expr:
    """A size over dynamic sizes stays an expression; scalar arguments in it become known."""
    if variables_of(item.expr) or any(symbol.axis is None for symbol in symbols_of(item.expr)):
        value = frame.python(item, span, "the size of a tensor")
        return const(int(value))
    return item.expr


def _label(frame: Frame, given: dict[str, Argument], name: str | None) -> str:
    text = frame.python(*given["name"], "the name of a tensor") if "name" in given else ""
    return text if isinstance(text, str) and text.isidentifier() else (name or "local")


def _check_sign(frame: Frame, value: Item, dtype: Argument, span: Span) -> None:
    kind = frame.python(*dtype, "the dtype of a local tensor")
    unsigned = isinstance(kind, DataType) and kind.name.startswith("DT_UINT")
    negative = isinstance(value, Known) and is_int(value) and int(frame.use(value, span)) < 0
    if unsigned and negative:
        refuse(
            FeValueError, f"full: {kind} holds no negative number", span, expected="0 or more",
            got=v.describe(value),
        )  # fmt: skip


def filled_tensor(
    frame: Frame,
    function: Builtin,
    positional: Arguments,
    keyword: Keywords,
    span: Span,
    name: str | None,
) -> Item:
    """``zeros(2, 3)``, ``ones([2, 3], dtype=...)`` or ``full([2, 3], value, dtype)``."""
    if function is builtin.full:
        names = ("size", "fill_value", "dtype")
        given = bind_builtin(function, positional, keyword, span, names, ("valid_shape",))
        value = given["fill_value"][0]
        if isinstance(value, Known) and isinstance(value.value, Element):
            value = Known(value.value.value)
        _check_sign(frame, value, given["dtype"], given["fill_value"][1])
        if number(value) is None and not isinstance(value, v.Tensor | v.Poison):
            refuse(
                FeTypeError, "full: 'fill_value' must be a number", given["fill_value"][1],
                expected="a number", got=v.describe(value), help=function.usage,
            )  # fmt: skip
    else:
        given = bind_builtin(function, [], keyword, span, (), ("dtype", "size"))
        sizes: Argument = (Sequence([item for item, _ in positional], False), span)
        listed = len(positional) == 1 and not is_int(positional[0][0])
        given.setdefault("size", positional[0] if listed else sizes)
        given.setdefault("dtype", (Known(DataType.DT_FP32), span))
        value = Known(1 if function is builtin.ones else 0)
    made = local_tensor(frame, [given["size"], given["dtype"]], {}, span, name)
    assert isinstance(made, Buffer)
    write(frame, made, value, span, made.name)
    return narrowed(frame, made, given["valid_shape"]) if "valid_shape" in given else made
