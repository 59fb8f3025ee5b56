"""Between Python objects and the evaluator's values."""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable
from typing import Any

from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.values import Item, Known, Mapping, Scalar, Sequence
from pypto.error import FeTypeError, FeValueError, PyptoError, Span
from pypto.ir.expr import Const, Expr, apply, const
from pypto.language.symbolic import SymbolicScalar

__all__ = ["as_number", "from_python", "number", "python_call"]


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
    """A Python object made at compile time as an item; lists and dicts may be changed later."""
    if type(value) is list:
        return Sequence([from_python(part) for part in value], True)
    if type(value) is dict:
        return Mapping({key: from_python(part) for key, part in value.items()})
    return Known(value)


def python_call(function: Callable[..., Any], span: Span, *args: Any, **kwargs: Any) -> Any:
    """``function`` of Python values at compile time; what it raises is an error at ``span``."""
    try:
        return function(*args, **kwargs)
    except PyptoError:
        raise
    except TypeError as error:
        refuse(FeTypeError, f"TypeError: {error}", span)
    except (ArithmeticError, LookupError, ValueError, AttributeError, NotImplementedError) as error:
        refuse(FeValueError, f"{type(error).__name__}: {error}", span)
