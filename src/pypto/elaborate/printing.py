"""The text of compile-time values: f-strings, and ``print`` while a kernel is compiled."""

from __future__ import annotations

from pypto.elaborate import values as v
from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.iteration import items_of
from pypto.elaborate.machine import Argument, Frame
from pypto.elaborate.scalars import number
from pypto.elaborate.values import Item, Known, Scalar, is_tensor
from pypto.error import FeNotImplementedError, FeTypeError, Span

__all__ = ["print_values", "value_with_text"]

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
    """``print(...)`` of values that are known now: shown once for each compilation."""
    options = {"sep": " ", "end": "\n"}
    for key, (item, place) in keyword.items():
        if key not in options:
            refuse(
                FeTypeError, f"print in a kernel has no parameter '{key}'", place,
                help="it writes to standard output while the kernel is compiled",
            )  # fmt: skip
        value = frame.python(item, place, f"'{key}' of print")
        if value is not None and not isinstance(value, str):
            refuse(FeTypeError, f"'{key}' of print is a string", place)
        options[key] = options[key] if value is None else value
    texts = []
    for item, place in positional:
        _refuse_run_time(frame, item, place)
        texts.append(str(value_with_text(frame, item, place, "print")))
    frame.context.printed.append(options["sep"].join(texts) + options["end"])
    return Known(None)


def _refuse_run_time(frame: Frame, item: Item, span: Span) -> None:
    """Tensors and run-time numbers, also inside lists, are known only on the device."""
    if is_tensor(item) or isinstance(item, Scalar):
        what = "a tensor" if is_tensor(item) else "a value that is known only when the kernel runs"
        refuse(
            FeNotImplementedError, f"printing {what} is not available in this version", span,
            got=v.describe(item),
            help="write it into a tensor parameter and print that after the call; print in a "
            "kernel shows what is known while compiling",
        )  # fmt: skip
    if isinstance(item, v.Sequence | v.Mapping):
        for part in items_of(frame, item, span) or ():
            _refuse_run_time(frame, part, span)
        if isinstance(item, v.Mapping):
            for part in item.items.values():
                _refuse_run_time(frame, part, span)
