"""Between Python objects and the evaluator's values."""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.machine import Frame
from pypto.elaborate.values import Item, Known, Mapping, Scalar, Sequence, Set
from pypto.error import FeTypeError, FeValueError, PyptoError, Span
from pypto.ir.expr import Const, Expr, apply, const
from pypto.language.symbolic import SymbolicScalar

__all__ = ["as_number", "dict_of", "from_python", "number", "part_of", "python_call"]


def number(item: Item) -> Expr | None:
    """``item`` as a scalar expression; None when it is no int, float or bool.

    NumPy scalars count as the Python number of the same value; members of pypto's enumerations (a
    dtype, for one) are no numbers.
    """
    if isinstance(item, Scalar):
        return item.expr
    if not isinstance(item, Known):
        return None
    value = item.value
    if isinstance(value, SymbolicScalar) and value.is_concrete():
        return const(value.concrete())
    if isinstance(value, enum.Enum) and type(value).__module__.startswith("pypto."):
        return None
    if isinstance(value, bool):
        return const(value)
    if isinstance(value, int):
        return const(int(value))
    if isinstance(value, float):
        return const(float(value))
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.number | numpy.bool_):
        plain = value.item()
        return const(plain) if isinstance(plain, bool | int | float) else None
    return None


def as_number(expr: Expr) -> Expr:
    """Python counts True as 1 in arithmetic."""
    if expr.kind != "bool":
        return expr
    if isinstance(expr, Const):
        return const(int(expr.value))
    return apply("select", expr, const(1), const(0))


def from_python(value: object) -> Item:
    """A Python object made at compile time as an item; lists, dicts and sets may change later."""
    if type(value) is list:
        return Sequence([from_python(part) for part in value], True)
    if type(value) is dict:
        return Mapping({key: from_python(part) for key, part in value.items()})
    if type(value) is set:
        return Set(set(value))
    return Known(value)


def part_of(value: object, made: bool) -> Item:
    """What was taken out of an object made outside: its own parts stay as they are.

    ``made``: ``value`` itself is new, as a slice or copy is; its items are not.
    """
    if made and type(value) is list:
        return Sequence([Known(part) for part in value], True)
    if made and type(value) is dict:
        return Mapping({key: Known(part) for key, part in value.items()})
    return from_python(value) if made else Known(value)


def python_call(function: Callable[..., Any], span: Span, *args: Any, **kwargs: Any) -> Any:
    """``function`` of Python values at compile time; what it raises is an error at ``span``."""
    try:
        return function(*args, **kwargs)
    except PyptoError as error:
        if any(one.span is None for one in error.diagnostics):
            placed = [replace(one, span=one.span or span) for one in error.diagnostics]
            raise type(error)(placed) from error
        raise
    except TypeError as error:
        refuse(FeTypeError, f"TypeError: {error}", span)
    except (ArithmeticError, LookupError, ValueError, AttributeError, NotImplementedError) as error:
        refuse(FeValueError, f"{type(error).__name__}: {error}", span)


# --- containers ---


def dict_of(frame: Frame, item: Item, span: Span) -> dict[object, Item] | None:
    """The items of a dict by key; None when it is none."""
    if isinstance(item, Mapping):
        return item.items
    if isinstance(item, Known) and isinstance(item.value, dict):
        return {key: Known(part) for key, part in frame.use(item, span).items()}
    return None
