"""Comprehensions and generator expressions: loops at compile time, in a scope of their own."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from pypto.elaborate import values as v
from pypto.elaborate.arithmetic import truth
from pypto.elaborate.assignments import assign, bind
from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.iteration import deeper, iterate
from pypto.elaborate.machine import Frame, identifier
from pypto.elaborate.scalars import python_call
from pypto.elaborate.scopes import target_names
from pypto.elaborate.values import Cursor, Item, Mapping, Sequence, is_tensor
from pypto.error import FeTypeError

__all__ = ["dict_comprehension", "generator", "list_comprehension", "set_comprehension", "walrus"]


def list_comprehension(frame: Frame, node: cst.ListComp) -> Item:
    """``[... for ... in ...]``"""
    inner, steps, _ = _open(frame, node)
    return Sequence([inner.evaluate(node.elt) for _ in steps], True)


def set_comprehension(frame: Frame, node: cst.SetComp) -> Item:
    """``{... for ... in ...}``, of values that are known at compile time."""
    inner, steps, _ = _open(frame, node)
    span = frame.span(node.elt)
    parts = [inner.python(inner.evaluate(node.elt), span, "an item of a set") for _ in steps]
    return v.Set(python_call(set, span, parts))


def dict_comprehension(frame: Frame, node: cst.DictComp) -> Item:
    """``{key: value for ... in ...}``; keys are known at compile time."""
    inner, steps, _ = _open(frame, node)
    items: dict[object, Item] = {}
    for _ in steps:
        key = inner.known(node.key, "a key of a dict")
        python_call(hash, frame.span(node.key), key)
        items[key] = inner.evaluate(node.value)
    return Mapping(items)


def generator(frame: Frame, node: cst.GeneratorExp) -> Item:
    """``(... for ... in ...)``: evaluated item by item, when they are asked for."""
    inner, steps, first = _open(frame, node)
    depth = deeper([first], frame.span(node))
    return Cursor((inner.evaluate(node.elt) for _ in steps), _Generator, depth)


class _Generator:
    """Names generator expressions in messages."""


_Generator.__name__ = "a generator expression"


def _open(
    frame: Frame, node: cst.ListComp | cst.SetComp | cst.DictComp | cst.GeneratorExp
) -> tuple[Frame, Iterator[None], Item]:
    """The scope of a comprehension, its steps, and what it runs over, evaluated outside of it."""
    names: set[str] = set()
    part: cst.CompFor | None = node.for_in
    while part is not None:
        names.update(target_names(part.target))
        part = part.inner_for_in
    inner = frame.inside(frozenset(names))
    first = frame.evaluate(node.for_in.iter)
    return inner, _steps(inner, node.for_in, _items(frame, node.for_in, first)), first


def _items(frame: Frame, node: cst.CompFor, iterated: Item) -> Iterator[Item]:
    span = frame.span(node.iter)
    items = None if is_tensor(iterated) else iterate(frame, iterated, span)
    if items is None:
        help = "make a list of it outside the kernel: list(...)"
        if isinstance(iterated, v.Loop):
            help = "write a for statement: a loop on the device makes no list"
        elif is_tensor(iterated):
            help = "operations take the whole tensor"
        refuse(
            FeTypeError,
            "a comprehension runs over range(...), lists, tuples and dicts known at compile time",
            span,
            got=v.describe(iterated),
            help=help,
        )
    return items


def _steps(inner: Frame, node: cst.CompFor, items: Iterator[Item]) -> Iterator[None]:
    """Each combination that passes the conditions; its names are set in ``inner``."""
    span = inner.span(node.iter)
    for item in items:
        inner.count(span)
        assign(inner, node.target, item, span, "loop variable")
        if not all(truth(inner, inner.evaluate(c.test), inner.span(c.test)) for c in node.ifs):
            continue
        nested = node.inner_for_in
        if nested is None:
            yield
        else:
            yield from _steps(inner, nested, _items(inner, nested, inner.evaluate(nested.iter)))


def walrus(frame: Frame, node: cst.NamedExpr) -> Item:
    """``(name := value)``: of the function around, also from inside a comprehension."""
    assert isinstance(node.target, cst.Name)
    name = identifier(node.target)
    frame.hint = (node.value, name)
    item = frame.evaluate(node.value)
    frame.hint = None
    home = frame
    while home.comprehension:
        assert home.enclosing is not None
        home = home.enclosing
    bind(home, name, item, frame.span(node.target))
    return item
