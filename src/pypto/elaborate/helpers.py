"""Helpers: plain Python functions that a kernel calls are evaluated in its place."""

from __future__ import annotations

import inspect
import types
from dataclasses import replace

from pypto.elaborate import values as v
from pypto.elaborate.binding import bind_arguments
from pypto.elaborate.captures import Path, Unreadable, path_text, step_value
from pypto.elaborate.checking import check
from pypto.elaborate.closures import lent_names, own_names
from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.inlining import check_depth, run
from pypto.elaborate.lambdas import parse_lambda
from pypto.elaborate.machine import Frame
from pypto.elaborate.parse import ParsedFunction, parse
from pypto.elaborate.scopes import Parameters
from pypto.elaborate.source import KernelSource
from pypto.elaborate.tensors import Argument, check_format
from pypto.elaborate.values import Closure, Item, Known
from pypto.error import DtypeError, FeTypeError, PyptoError, ShapeError, Span
from pypto.ir.expr import as_int
from pypto.language.annotation import TensorAnnotation
from pypto.language.builtin import annotation_of
from pypto.language.function import Function

__all__ = ["call_closure", "call_helper", "parse_helper"]


def call_helper(
    frame: Frame,
    callee: Known,
    positional: list[Argument],
    keyword: dict[str, Argument],
    span: Span,
) -> Item:
    """Evaluate the body of ``callee`` with these arguments; its return value."""
    if callee.origin is None:
        refuse(
            FeTypeError,
            "a kernel cannot call a function that came as the value of a parameter",
            span,
            help="make it a global or an attribute of one; a change of it is noticed then",
        )
    frame.use(callee, span)
    marked = isinstance(callee.value, Function)
    function = callee.value.function if isinstance(callee.value, Function) else callee.value
    assert isinstance(function, types.FunctionType)
    _check_callable(frame, function, callee.origin, span)
    parsed = parse_helper(frame, function, span)
    arguments = _bind(function, callee.origin, positional, keyword, span)
    if marked:
        _check_annotations(frame, function, arguments, span)
    # A function that calls itself is the one it was: its reads need no second path.
    active = frame.context.active.get(function)
    inner = Frame(
        frame.context, parsed, {name: item for name, (item, _) in arguments.items()},
        origin=active[0] if active else callee.origin, caller=frame, call_span=span,
        place=frame.place,
    )  # fmt: skip
    return run(inner, parsed.node.body)


def call_closure(
    frame: Frame,
    callee: Closure,
    positional: list[Argument],
    keyword: dict[str, Argument],
    span: Span,
) -> Item:
    """Evaluate the body of a function or lambda that stands in a kernel or helper."""
    home, node = callee.frame, callee.node
    check_depth(frame, node, callee.name, span)
    parameters = Parameters.of_tree(node.params)
    arguments = bind_arguments(
        callee.name, parameters, callee.defaults.get, positional, keyword, span
    )
    inner = Frame(
        frame.context, home.parsed, {name: item for name, (item, _) in arguments.items()},
        origin=home.origin, caller=frame, call_span=span, place=frame.place,
        enclosing=home, own=own_names(node), function=node,
    )  # fmt: skip
    with lent_names(inner, node, span):
        return run(inner, node.body)


def _check_callable(frame: Frame, function: types.FunctionType, path: Path, span: Span) -> None:
    name = path_text(path).rpartition(" -> ")[2]
    code = function.__code__
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        refuse(
            FeTypeError, f"a kernel cannot call the generator or async function '{name}'", span,
            help="return a tuple or list instead",
        )  # fmt: skip
    check_depth(frame, function, name, span)


def parse_helper(frame: Frame, function: types.FunctionType, span: Span) -> ParsedFunction:
    """The parsed text of ``function``; what it may not use is reported once."""
    context = frame.context
    known = context.parsed.get(function)
    if known is not None:
        return known
    try:
        source, label = KernelSource.of(function), context.label(function)
        is_lambda = function.__name__ == "<lambda>"
        parsed = parse_lambda(source, label) if is_lambda else parse(source, label)
    except PyptoError as error:
        raise type(error)([replace(d, span=d.span or span) for d in error.diagnostics]) from None
    context.parsed[function] = parsed
    place = frame.place or span
    notes = (f"in '{parsed.text.label}', called at {span.location}", *frame.call_notes())
    for diagnostic in check(parsed, helper=True):
        context.collector.add(diagnostic, place, notes)
    return parsed


def _bind(
    function: types.FunctionType,
    origin: Path,
    positional: list[Argument],
    keyword: dict[str, Argument],
    span: Span,
) -> dict[str, Argument]:
    """Arguments by parameter name; defaults are captured reads."""

    def default(name: str) -> Item | None:
        try:
            found = step_value(function, ("default", name))
        except Unreadable:
            return None
        return Known(found, (*origin, ("default", name)))

    parameters = Parameters.of_code(function.__code__)
    return bind_arguments(function.__name__, parameters, default, positional, keyword, span)


def _check_annotations(
    frame: Frame, function: types.FunctionType, arguments: dict[str, Argument], span: Span
) -> None:
    """Tensor parameters of a ``@pypto.frontend.function`` must be what they are annotated as."""
    from pypto.elaborate.annotations import evaluate_annotation

    for name, (item, place) in arguments.items():
        annotation = annotation_of(evaluate_annotation(function, name))
        if annotation is None:
            continue
        what = f"'{name}' of the function '{function.__name__}'"
        if not isinstance(item, v.Tensor):
            refuse(
                FeTypeError, f"{what} must be a tensor", place, expected=str(annotation),
                got=v.describe(item),
            )  # fmt: skip
        _check_tensor(what, annotation, item, place)


def _check_tensor(what: str, annotation: TensorAnnotation, item: v.Tensor, place: Span) -> None:
    got = v.describe(item)
    if annotation.format is not None:
        check_format(annotation.format, what, place)
    if annotation.dtype is not None and annotation.dtype != item.type.dtype:
        refuse(DtypeError, f"{what} has another dtype", place, expected=str(annotation), got=got)
    shape = annotation.shape
    if shape is None:
        return
    fits = len(shape) <= item.type.rank if annotation.open else len(shape) == item.type.rank
    if fits:
        for axis, size in zip(shape, item.type.shape, strict=False):
            known = as_int(size)
            if isinstance(axis, int) and known is not None and axis != known:
                fits = False
    if not fits:
        refuse(ShapeError, f"{what} has another shape", place, expected=str(annotation), got=got)
