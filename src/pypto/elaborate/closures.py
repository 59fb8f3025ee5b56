"""Functions and lambdas that stand in a kernel or helper: closures over the names around them.

A call has the names that its function declares ``nonlocal`` as its own while it runs, and gives
them back at its end: run-time regions of the function merge them as they merge its other names.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import libcst as cst

from pypto.elaborate.assignments import bind
from pypto.elaborate.diagnostics import Poisoned, refuse
from pypto.elaborate.joining import same
from pypto.elaborate.machine import Frame, identifier
from pypto.elaborate.names import normal
from pypto.elaborate.parse import children
from pypto.elaborate.scopes import Parameters, assigned_names
from pypto.elaborate.values import Closure, Item
from pypto.error import FeTypeError, Span, UnsupportedSyntaxError

__all__ = ["define", "lent_names", "make_lambda", "nonlocal_names", "own_names", "refuse_outer"]


def define(frame: Frame, node: cst.FunctionDef) -> None:
    """``def name(...):`` inside a function; its decorators and defaults are evaluated now."""
    if node.asynchronous is not None:
        raise Poisoned  # reported by the check of its syntax
    name = identifier(node.name)
    decorators = [(frame.evaluate(d.decorator), frame.span(d)) for d in node.decorators]
    made: Item = Closure(name, node, frame, _defaults(frame, node))
    for decorator, span in reversed(decorators):
        made = frame.call(decorator, [(made, span)], {}, span)
    bind(frame, name, made, frame.span(node.name), "function")


def make_lambda(frame: Frame, node: cst.Lambda) -> Item:
    """The value of a lambda expression."""
    return Closure("<lambda>", node, frame, _defaults(frame, node))


def _defaults(frame: Frame, node: cst.FunctionDef | cst.Lambda) -> dict[str, Item]:
    parameters = node.params
    every = (*parameters.posonly_params, *parameters.params, *parameters.kwonly_params)
    return {
        identifier(param.name): frame.evaluate(param.default)
        for param in every
        if param.default is not None
    }


def own_names(node: cst.FunctionDef | cst.Lambda) -> frozenset[str]:
    """The names that a call has: those that Python makes local, and those it sets around it."""
    return frozenset((*Parameters.of_tree(node.params).every, *assigned_names(node.body)))


# --- nonlocal ---


def _declared(node: cst.CSTNode) -> Iterator[str]:
    """The names that ``nonlocal`` statements in ``node`` declare, but not in functions inside."""
    if isinstance(node, cst.Nonlocal):
        yield from (normal(part.name.value) for part in node.names)
    for child in children(node):
        if not isinstance(child, cst.FunctionDef | cst.Lambda):
            yield from _declared(child)


def nonlocal_names(frame: Frame) -> frozenset[str]:
    """The names that some function in the text of ``frame`` declares: calls may change them."""
    known, function = frame.context.nonlocals, frame.parsed.function
    if function not in known:
        text = frame.parsed.text.lines
        mentioned = any("nonlocal" in line for line in text)  # hardly ever; the walk takes long
        known[function] = frozenset(_all_declared(frame.parsed.node.body) if mentioned else ())
    return known[function]


def _all_declared(node: cst.CSTNode) -> Iterator[str]:
    if isinstance(node, cst.Nonlocal):
        yield from _declared(node)
    for child in children(node):
        yield from _all_declared(child)


@contextmanager
def lent_names(inner: Frame, node: cst.FunctionDef | cst.Lambda, span: Span) -> Iterator[None]:
    """While ``inner`` runs, a call of ``node``, it has the names that it sets around it."""
    home = inner.enclosing
    names = sorted(set(_declared(node.body)) & inner.own)
    if home is None or not names:
        yield
        return
    holders = {name: home.scope_of(name) for name in names}
    for name, holder in holders.items():
        if holder.enclosing is None and name in holder.parsed.function.__code__.co_freevars:
            refuse_outer(name, span)
    before = {name: holder.locals.get(name) for name, holder in holders.items()}
    inner.locals |= {name: item for name, item in before.items() if item is not None}
    for name, holder in holders.items():
        holder.lent[name] = inner
    try:
        yield
    finally:
        for name, holder in holders.items():
            del holder.lent[name]
    for name, holder in holders.items():
        item = inner.locals.get(name)
        if same(item, before[name]):
            continue
        _check_regions(inner, holder, name, span)
        if item is None:
            holder.locals.pop(name, None)
        else:
            bind(holder, name, item, span)


def refuse_outer(name: str, span: Span) -> NoReturn:
    """A variable of the Python function that the kernel or helper stands in."""
    refuse(
        UnsupportedSyntaxError,
        f"a kernel may not rebind '{name}', a variable of the function around it",
        span,
        help="pass the value as a parameter",
    )


def _check_regions(inner: Frame, holder: Frame, name: str, span: Span) -> None:
    """The run-time regions that are open between the function that has ``name`` and the call that
    has set it would not merge it."""
    for region in inner.context.regions:
        frame = region
        while frame.comprehension and frame.enclosing is not None:
            frame = frame.enclosing
        inside: Frame | None = frame
        while inside is not None and inside is not holder:
            inside = inside.caller
        if inside is holder and region is not holder:
            refuse(
                FeTypeError,
                f"'{name}' of '{holder.name}' is set inside a run-time loop or branch of "
                f"'{region.name}'",
                span,
                help="return the new value, and assign it where the name belongs",
            )
