"""F-strings and ``print``: while a kernel is compiled; of run-time numbers and tensors on the
device."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pypto.elaborate import values as v
from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.machine import Argument, Frame
from pypto.elaborate.mutation import parts_of
from pypto.elaborate.scalars import number
from pypto.elaborate.tensors import check_written, part_of_buffer
from pypto.elaborate.values import Item, Known, Part, Scalar, is_tensor
from pypto.elaborate.views import linear
from pypto.error import FeNotImplementedError, FeTypeError, Span
from pypto.ir.dtype import stored_dtypes
from pypto.ir.expr import Expr, as_int, symbols_of, variables_of
from pypto.ir.tensor import Buffer, Dump, Print, root

__all__ = ["formatted", "joined_text", "print_values", "runs", "value_with_text"]

_PLAIN = (str, bytes, int, float, complex, tuple, list, dict, set, frozenset, range, type(None))


def value_with_text(frame: Frame, item: Item, span: Span, purpose: str) -> object:
    """The Python value of ``item``, of which ``str`` and ``repr`` run no user's code."""
    if isinstance(item, v.Cursor):
        help = "make a list of it first: list(...)"
        refuse(FeTypeError, "an iterator has no text", span, got=v.describe(item), help=help)
    value = frame.python(item, span, purpose)
    if isinstance(value, tuple | list | set | frozenset):
        for part in value:
            value_with_text(frame, Known(part), span, purpose)
    elif isinstance(value, dict):
        for key, part in value.items():
            value_with_text(frame, Known(key), span, purpose)
            value_with_text(frame, Known(part), span, purpose)
    elif not isinstance(value, _PLAIN) and not _has_plain_text(value):
        refuse(
            FeTypeError, "the text of this object runs its code", span,
            expected=f"numbers, strings, tuples or dtypes in {purpose}",
            got=v.describe(Known(value)),
        )  # fmt: skip
    return value


def _has_plain_text(value: object) -> bool:
    """Members of enumerations, NumPy's numbers and torch's dtypes."""
    kind = type(value)
    torch_dtype = (kind.__module__, kind.__name__) == ("torch", "dtype")
    return hasattr(kind, "_value_") or torch_dtype or number(Known(value)) is not None


def print_values(
    frame: Frame, positional: list[Argument], keyword: dict[str, Argument], span: Span
) -> Item:
    """``print(...)``: of known values once for each compilation, of others on the device. The
    elements of tensors follow the text, which has their types."""
    options = {"sep": " ", "end": "\n"}
    for key, (item, place) in keyword.items():
        if key not in options:
            refuse(
                FeTypeError, f"print in a kernel has no parameter '{key}'", place,
                help="it writes to standard output",
            )  # fmt: skip
        value = frame.python(item, place, f"'{key}' of print")
        if value is not None and not isinstance(value, str):
            refuse(
                FeTypeError, f"'{key}' of print is a string", place,
                expected="a string or None", got=v.describe(Known(value)),
            )  # fmt: skip
        options[key] = options[key] if value is None else value
    parts: list[str | Expr] = []
    tensors: list[Part] = []
    for at, (item, place) in enumerate(positional):
        parts += [options["sep"]] * (at > 0)
        parts += text_of(frame, item, place, str, "print", tensors)
    joined = joined_text([*parts, options["end"]])
    builder = frame.context.builder
    if not tensors and all(isinstance(part, str) for part in joined):
        frame.context.printed.append("".join(map(str, joined)))
        return Known(None)
    if joined:
        builder.append(Print(joined, span))
    for part in tensors:
        builder.append(Dump(part.buffer, part.region, span))
    return Known(None)


def joined_text(parts: Iterable[str | Expr]) -> tuple[str | Expr, ...]:
    """``parts`` with texts that follow each other as one."""
    found: list[str | Expr] = []
    for part in parts:
        last = found[-1] if found else None
        if isinstance(part, str) and isinstance(last, str):
            found[-1] = last + part
        elif part != "":
            found.append(part)
    return tuple(found)


def text_of(
    frame: Frame,
    item: Item,
    span: Span,
    shown: Callable[[Any], str],
    purpose: str,
    tensors: list[Part] | None = None,
) -> list[str | Expr]:
    """What ``shown`` (``str`` or ``repr``) gives for ``item``; run-time numbers stay numbers, and
    tensors are their types and go to ``tensors`` (None: there is no text of one)."""
    if isinstance(item, v.Deferred):
        item = item.settle(span)
    if isinstance(item, v.Text):
        return [*item.parts]
    if isinstance(item, Scalar):
        return [item.expr]
    if is_tensor(item) and tensors is None:
        frame.python(item, span, purpose)
    elif is_tensor(item):
        assert tensors is not None
        tensors.append(_in_one_piece(frame, item, span))
        found: list[str | Expr] = [f"{item.type.dtype.short}["]
        for at, size in enumerate(item.type.sizes):
            found += [", "] * (at > 0)
            found.append(size if as_int(size) is None else str(size))
        return [*found, "]"]
    if isinstance(item, v.Sequence | v.Mapping) and runs(item):
        return _listed(frame, item, span, purpose, tensors)
    return [shown(value_with_text(frame, item, span, purpose))]


def _in_one_piece(frame: Frame, tensor: v.Tensor, span: Span) -> Part:
    """``tensor`` in memory, row by row without gaps: a part that has some is copied."""
    if tensor.type.dtype not in stored_dtypes:
        refuse(
            FeNotImplementedError,
            f"the device cannot print a tensor of {tensor.type.dtype.absent}", span,
            expected=f"one of {', '.join(str(d) for d in sorted(stored_dtypes))}",
            help="pass its bytes as DT_UINT8, and print those",
        )  # fmt: skip
    builder = frame.context.builder
    if isinstance(tensor, Buffer | Part):
        check_written(frame, tensor, span)
    part = part_of_buffer(frame, tensor, span)
    if linear(part) is None:
        part = builder.kept(builder.load_part(part, span), span)
    if linear(part) is None:
        refuse(
            FeNotImplementedError, "a tensor whose rows are valid in part cannot be printed", span,
            got=v.describe(tensor), help="print its rows one by one: t[i]",
        )  # fmt: skip
    builder.read.add(root(part.buffer))
    return part


def runs(item: Item) -> bool:
    """Whether ``item`` holds what is not known now."""
    runs_itself = is_tensor(item) or isinstance(item, Scalar | v.Text | v.Deferred)
    return runs_itself or any(map(runs, parts_of(item)))


def _listed(
    frame: Frame,
    item: v.Sequence | v.Mapping,
    span: Span,
    purpose: str,
    tensors: list[Part] | None,
) -> list[str | Expr]:
    """A list, tuple or dict as Python writes it."""
    if isinstance(item, v.Mapping):
        texts = [
            [f"{key!r}: ", *text_of(frame, part, span, repr, purpose, tensors)]
            for key, part in item.items.items()
        ]
    else:
        texts = [text_of(frame, part, span, repr, purpose, tensors) for part in item.items]
    ends = "{}" if isinstance(item, v.Mapping) else "[]" if item.mutable else "()"
    last = ",)" if ends == "()" and len(texts) == 1 else ends[1]
    found: list[str | Expr] = [ends[0]]
    for at, text in enumerate(texts):
        found += [*([", "] * (at > 0)), *text]
    return [*found, last]


_SPECS = {"int": ("", "d"), "float": ("", "f"), "bool": ("",)}


def formatted(frame: Frame, item: Item, spec: str, span: Span) -> list[str | Expr]:
    """A run-time number in an f-string: as the device's printf can write it."""
    if isinstance(item, Scalar) and spec not in _SPECS[item.expr.kind]:
        kind, text = item.expr.kind, span.text()
        if not variables_of(item.expr) and all(s.axis is None for s in symbols_of(item.expr)):
            frame.need(item, span, f"the format '{spec}'")  # the values of parameters give it
        allowed = " or ".join(repr(one) if one else "none" for one in _SPECS[item.expr.kind])
        refuse(
            FeNotImplementedError,
            f"the device cannot print a run-time {kind} in the format '{spec}'",
            span, expected=f"the format {allowed}", got=f"the run-time {kind} {text}",
            help=f"write {{{text}}}, or store the number and print it outside the kernel",
        )  # fmt: skip
    if spec and not isinstance(item, Scalar):
        refuse(
            FeTypeError,
            "a text with run-time numbers takes no format",
            span,
            got=repr(spec),
            help="write the numbers into one f-string, each with its format",
        )
    return text_of(frame, item, span, str, "an f-string")
