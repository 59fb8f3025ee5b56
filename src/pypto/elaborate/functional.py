"""Built-ins that take or make functions, look attributes up, fold items, or print."""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

import libcst as cst

from pypto.elaborate import values as v
from pypto.elaborate.ancestors import make_super
from pypto.elaborate.arithmetic import apply_operator, truth
from pypto.elaborate.attributes import attribute, has_attribute
from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.intrinsics import refuse_tensor
from pypto.elaborate.iteration import deeper, iterate
from pypto.elaborate.machine import Argument, Frame
from pypto.elaborate.mutation import check_change
from pypto.elaborate.ordering import order_of
from pypto.elaborate.printing import print_values
from pypto.elaborate.scalars import as_number, python_call
from pypto.elaborate.values import Cursor, Item, Known, Partial, Scalar, Sequence, is_tensor, scalar
from pypto.error import FeTypeError, FeValueError, Span
from pypto.ir.expr import apply

__all__ = ["call_special"]

Arguments = list[Argument]
Keywords = dict[str, Argument]


def call_special(
    frame: Frame, callee: Known, positional: Arguments, keyword: Keywords, span: Span
) -> Item | None:
    """A call of one of the functions of this module; None for others and for plain values."""
    if not isinstance(callee.value, types.BuiltinFunctionType | types.FunctionType | type):
        return None  # looking it up would run its __hash__
    handler = _HANDLERS.get(callee.value)
    if handler is None:
        return None
    frame.use(callee, span)
    return handler(frame, positional, keyword, span)


def _expect(
    name: str, positional: Arguments, keyword: Keywords, span: Span, low: int, high: int
) -> None:
    if keyword:
        key, (_, place) = next(iter(keyword.items()))
        refuse(FeTypeError, f"{name} has no parameter '{key}'", place)
    if not low <= len(positional) <= high:
        wanted = str(low) if low == high else f"{low} to {high}"
        refuse(FeTypeError, f"{name} takes {wanted} arguments, got {len(positional)}", span)


def _source(frame: Frame, name: str, argument: Argument) -> Iterator[Item]:
    item, span = argument
    if is_tensor(item):
        refuse_tensor(name, item, span)
    source = iterate(frame, item, span)
    if source is None:
        refuse(
            FeTypeError, f"{name} needs a list, tuple or iterator known at compile time", span,
            got=v.describe(item),
        )  # fmt: skip
    return source


# --- functions of functions ---


def _map(frame: Frame, positional: Arguments, keyword: Keywords, span: Span) -> Item:
    _expect("map", positional, keyword, span, 2, 256)
    function, given = positional[0][0], positional[1:]
    sources = [_source(frame, "map", argument) for argument in given]
    depth = deeper([item for item, _ in given], span)
    rows = zip(*sources, strict=False)
    made = (frame.call(function, [(item, span) for item in row], {}, span) for row in rows)
    return Cursor(made, map, depth)


def _filter(frame: Frame, positional: Arguments, keyword: Keywords, span: Span) -> Item:
    _expect("filter", positional, keyword, span, 2, 2)
    function = positional[0][0]
    source = _source(frame, "filter", positional[1])

    def passes(item: Item) -> bool:
        if isinstance(function, Known) and function.value is None:
            return truth(frame, item, span)
        return truth(frame, frame.call(function, [(item, span)], {}, span), span)

    depth = deeper([positional[1][0]], span)
    return Cursor((item for item in source if passes(item)), filter, depth)


def _reduce(frame: Frame, positional: Arguments, keyword: Keywords, span: Span) -> Item:
    _expect("reduce", positional, keyword, span, 2, 3)
    function = positional[0][0]
    items = list(_source(frame, "reduce", positional[1]))
    if len(positional) == 3:
        items.insert(0, positional[2][0])
    if not items:
        refuse(FeTypeError, "reduce of no items needs a third argument", span)
    result = items[0]
    for item in items[1:]:
        result = frame.call(function, [(result, span), (item, span)], {}, span)
    return result


def _partial(frame: Frame, positional: Arguments, keyword: Keywords, span: Span) -> Item:
    if not positional:
        refuse(FeTypeError, "partial needs a function", span)
    (function, place), *given = positional
    if not isinstance(function, v.CALLABLE) and not (
        isinstance(function, Known) and callable(function.value)
    ):
        refuse(FeTypeError, "partial needs a function", place, got=v.describe(function))
    named = {key: item for key, (item, _) in keyword.items()}
    return Partial(function, tuple(item for item, _ in given), named)


def _callable(frame: Frame, positional: Arguments, keyword: Keywords, span: Span) -> Item:
    _expect("callable", positional, keyword, span, 1, 1)
    item = positional[0][0]
    if isinstance(item, v.Instance):
        return Known(hasattr(item.cls, "__call__"))  # noqa: B004  of the class, not of an object
    return Known(isinstance(item, v.CALLABLE) or (isinstance(item, Known) and callable(item.value)))


# --- items in order ---


def _sorted(frame: Frame, positional: Arguments, keyword: Keywords, span: Span) -> Item:
    if len(positional) != 1:
        refuse(FeTypeError, f"sorted takes one list, got {len(positional)} arguments", span)
    items = list(_source(frame, "sorted", positional[0]))
    keys, reverse = order_of(frame, items, keyword, "sorted", span)
    order = python_call(sorted, span, range(len(items)), key=keys.__getitem__, reverse=reverse)
    return Sequence([items[at] for at in order], True)


def _choose(function: Any) -> Any:
    """``min`` or ``max`` of items that Python compares itself, or by a key."""
    name = function.__name__

    def choose(frame: Frame, positional: Arguments, keyword: Keywords, span: Span) -> Item | None:
        if not keyword and not _holds_objects(positional):
            return None
        keyword = dict(keyword)
        default = keyword.pop("default", None)
        if len(positional) == 1:
            items = list(_source(frame, name, positional[0]))
        elif default is not None or not positional:
            refuse(FeTypeError, f"{name} takes a default together with one list", span)
        else:
            items = [item for item, _ in positional]
        if not items:
            if default is not None:
                return default[0]
            refuse(FeValueError, f"ValueError: {name}() iterable argument is empty", span)
        if not keyword and any(isinstance(item, Scalar) for item in items):
            return frame.call(Known(function), [(item, span) for item in items], {}, span)
        keys, _ = order_of(frame, items, keyword, name, span)
        at: int = python_call(function, span, range(len(items)), key=keys.__getitem__)
        return items[at]

    return choose


def _holds_objects(positional: Arguments) -> bool:
    """Whether an item is a list or dict made here: the result is that same object."""
    items = [item for item, _ in positional]
    if len(items) == 1:
        items = items[0].items if isinstance(items[0], Sequence) else []
    return any(isinstance(item, Sequence | v.Mapping | v.Set) for item in items)


def _sum(frame: Frame, positional: Arguments, keyword: Keywords, span: Span) -> Item:
    given = [*positional, *(keyword[key] for key in keyword if key == "start")]
    keyword = {key: argument for key, argument in keyword.items() if key != "start"}
    _expect("sum", given, keyword, span, 1, 2)
    items = list(_source(frame, "sum", given[0]))
    result: Item = given[1][0] if len(given) == 2 else Known(0)
    if isinstance(result, Known) and isinstance(result.value, str | bytes):
        refuse(FeTypeError, "TypeError: sum() can't sum strings [use ''.join(seq) instead]", span)
    for item in items:
        result = apply_operator(frame, cst.Add, result, item, span)
    return result


def _quantifier(decides: bool) -> Any:
    """``any`` (an item that is true decides) or ``all`` (one that is false)."""
    name = "any" if decides else "all"

    def quantifier(frame: Frame, positional: Arguments, keyword: Keywords, span: Span) -> Item:
        _expect(name, positional, keyword, span, 1, 1)
        conditions = []
        for item in _source(frame, name, positional[0]):
            if isinstance(item, Scalar):
                expr = item.expr
                conditions.append(expr if expr.kind == "bool" else apply("ne", expr, 0))
            elif truth(frame, item, span) is decides:
                return Known(decides)
        if not conditions:
            return Known(not decides)
        joined = conditions[0]
        for condition in conditions[1:]:
            joined = apply("or" if decides else "and", joined, condition)
        return scalar(joined)

    return quantifier


def _iter(frame: Frame, positional: Arguments, keyword: Keywords, span: Span) -> Item:
    _expect("iter", positional, keyword, span, 1, 1)
    item = positional[0][0]
    if isinstance(item, Cursor):
        return item
    return Cursor(_source(frame, "iter", positional[0]), iter, deeper([item], span))


def _next(frame: Frame, positional: Arguments, keyword: Keywords, span: Span) -> Item:
    _expect("next", positional, keyword, span, 1, 2)
    item, place = positional[0]
    if not isinstance(item, Cursor):
        refuse(
            FeTypeError, "next needs an iterator", place, got=v.describe(item),
            help="make one: iter(...)",
        )  # fmt: skip
    check_change(frame, item, span)
    for found in item.source:
        return found
    if len(positional) == 2:
        return positional[1][0]
    refuse(FeValueError, "StopIteration: the iterator has no item left", span)


# --- decorators of nested functions ---


def _same_function(frame: Frame, positional: Arguments, keyword: Keywords, span: Span) -> Item:
    """What only keeps results or names: a function is evaluated where it is called."""
    if not positional:
        refuse(FeTypeError, "a decorator takes the function below it", span)
    return positional[0][0]


def _wraps(frame: Frame, positional: Arguments, keyword: Keywords, span: Span) -> Item:
    _expect("functools.wraps", positional, keyword, span, 1, 1)
    return Partial(Known(functools.update_wrapper), (), {})


def _cached(frame: Frame, positional: Arguments, keyword: Keywords, span: Span) -> Item:
    """``@functools.lru_cache`` and ``@functools.lru_cache(maxsize=...)``."""
    function = positional[0][0] if positional else Known(None)
    if isinstance(function, v.CALLABLE):
        return function
    return Partial(Known(functools.cache), (), {})


# --- attributes ---


def _getattr(frame: Frame, positional: Arguments, keyword: Keywords, span: Span) -> Item:
    _expect("getattr", positional, keyword, span, 2, 3)
    name = _attribute_name(frame, positional[1])
    owner = positional[0][0]
    if len(positional) == 3 and not has_attribute(frame, owner, name, span):
        return positional[2][0]
    return attribute(frame, owner, name, span)


def _hasattr(frame: Frame, positional: Arguments, keyword: Keywords, span: Span) -> Item:
    _expect("hasattr", positional, keyword, span, 2, 2)
    name = _attribute_name(frame, positional[1])
    return Known(has_attribute(frame, positional[0][0], name, span))


def _replace(frame: Frame, positional: Arguments, keyword: Keywords, span: Span) -> Item:
    """``dataclasses.replace(owner, name=value)``: a new object, made by the class of ``owner``."""
    _expect("dataclasses.replace", positional, {}, span, 1, 1)
    owner, place = positional[0]
    held = owner.cls if isinstance(owner, v.Instance) else None
    if isinstance(owner, Known) and not isinstance(owner.value, type):
        held = type(owner.value)
    if held is None or not dataclasses.is_dataclass(held):
        refuse(
            FeTypeError, "replace() takes an object of a dataclass", place, got=v.describe(owner)
        )
    given = dict(keyword)
    for field in dataclasses.fields(held):
        if field.init:
            if field.name not in given:
                given[field.name] = (attribute(frame, owner, field.name, span), span)
        elif field.name in given:
            refuse(
                FeValueError, f"'{field.name}' is a field that __init__ does not take",
                given[field.name][1],
            )  # fmt: skip
    return frame.call(attribute(frame, owner, "__class__", span), [], given, span)


def _attribute_name(frame: Frame, argument: Argument) -> str:
    name = frame.python(*argument, "the name of an attribute")
    if not isinstance(name, str):
        refuse(
            FeTypeError, "the name of an attribute is a string", argument[1],
            got=v.describe(Known(name)),
        )  # fmt: skip
    return name


# --- numbers ---


def _divmod(frame: Frame, positional: Arguments, keyword: Keywords, span: Span) -> Item | None:
    if keyword or len(positional) != 2 or not any(isinstance(i, Scalar) for i, _ in positional):
        return None
    a, b = positional[0][0], positional[1][0]
    parts = [apply_operator(frame, sign, a, b, span) for sign in (cst.FloorDivide, cst.Modulo)]
    return Sequence(parts, False)


def _bool(frame: Frame, positional: Arguments, keyword: Keywords, span: Span) -> Item | None:
    if keyword or len(positional) != 1:
        return None
    item = positional[0][0]
    if not isinstance(item, Scalar):
        return Known(truth(frame, item, span))
    if item.expr.kind == "bool":
        return item
    return scalar(apply("ne", as_number(item.expr), 0))


_HANDLERS: dict[Any, Callable[[Frame, Arguments, Keywords, Span], Item | None]] = {
    all: _quantifier(False),
    any: _quantifier(True),
    bool: _bool,
    dataclasses.replace: _replace,
    callable: _callable,
    divmod: _divmod,
    filter: _filter,
    functools.cache: _same_function,
    functools.lru_cache: _cached,
    functools.partial: _partial,
    functools.reduce: _reduce,
    functools.update_wrapper: _same_function,
    functools.wraps: _wraps,
    getattr: _getattr,
    hasattr: _hasattr,
    iter: _iter,
    map: _map,
    max: _choose(max),
    min: _choose(min),
    next: _next,
    print: print_values,
    sorted: _sorted,
    sum: _sum,
    super: make_super,
}
