"""What a loop, an unpacking or a built-in draws items from: lists, dicts, views and iterators.

As in Python, who loops over a list sees what is appended on the way, an iterator of ``zip(...)``
runs once, and a dict that changes its size under a loop is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pypto.elaborate import values as v
from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.digests import LIMIT, Undigestible, digest
from pypto.elaborate.dunders import call_special_method, has_special_method
from pypto.elaborate.machine import Frame
from pypto.elaborate.mutation import check_change
from pypto.elaborate.scalars import python_call
from pypto.elaborate.values import Cursor, Item, Known, Mapping, Sequence, View
from pypto.error import FeValueError, Span

__all__ = [
    "MAX_LENGTH", "deeper", "is_iterable", "items_of", "iterate", "iterator", "part_at", "parts_of",
    "read_outline",
]  # fmt: skip

MAX_LENGTH = 1 << 20
"""Items of a range or of a repeated list at compile time."""

_MAX_DEPTH = 100
_KNOWN = (list, tuple, range, str, dict, set, frozenset, bytes)


def is_iterable(item: Item) -> bool:
    """Whether :func:`iterate` finds items in ``item``."""
    if isinstance(item, Known) and isinstance(item.value, _KNOWN):
        return True
    made = isinstance(item, Sequence | Mapping | v.Set | View | Cursor)
    return made or has_special_method(item, "__iter__")


def items_of(frame: Frame, item: Item, span: Span) -> list[Item] | None:
    """The items that are there now; None when there are none to see. Uses an iterator up."""
    source = iterate(frame, item, span)
    return None if source is None else list(source)


def iterate(frame: Frame, item: Item, span: Span) -> Iterator[Item] | None:
    """Python's ``iter(item)``: follows changes of a list on the way; None for no iterable."""
    if isinstance(item, Cursor):
        check_change(frame, item, span)  # it is used up
        return item.source
    if isinstance(item, Sequence):
        return _read(iter(item.items), span)
    if isinstance(item, Mapping | v.Set):
        return _draw(map(Known, item.items), span)
    if isinstance(item, View):
        return _draw(_read(map(_SHOWN[item.name], item.owner.items.items()), span), span)
    if isinstance(item, Known) and isinstance(item.value, _KNOWN):
        return iter(parts_of(item, _known(frame, item, span)))  # nothing may change them
    made = call_special_method(frame, item, "__iter__", [], span)
    return None if made is None else iterate(frame, made, span)


def parts_of(owner: Known, value: Any) -> list[Item]:
    """The items of ``value``, which is ``owner``'s; those that are no plain values by their path.

    Functions are called and objects read by way of it.
    """
    if owner.origin is None or not isinstance(value, list | tuple):
        return [Known(part) for part in value]
    return [part_at(owner, at, part) for at, part in enumerate(value)]


def part_at(owner: Known, key: Any, part: object) -> Known:
    """``part``, which is ``owner[key]``."""
    plain = isinstance(part, _PLAIN) or type(key) not in (int, str, bool, type(None))
    if owner.origin is None or plain:
        return Known(part)
    return Known(part, (*owner.origin, ("item", key)))


_PLAIN = (int, float, complex, str, bytes, range, type(None))


def _known(frame: Frame, item: Known, span: Span) -> Any:
    value = read_outline(frame, item, span)
    if isinstance(value, range) and len(value) > MAX_LENGTH:
        refuse(FeValueError, f"{value!r} is too long for compile time", span)
    return value


def read_outline(frame: Frame, item: Known, span: Span) -> Any:
    """The object of ``item``, of which only the length or the keys are read where that is all
    that can be: its items are objects, read where they are used."""
    value = item.value
    if item.origin is not None and isinstance(value, list | tuple | dict):
        try:
            digest(value)
        except Undigestible:
            if len(value) <= LIMIT and type(value) in (list, tuple, dict):
                frame.use(frame.step(item, ("outline", None), span), span)
                return value
    return frame.use(item, span)


def _read(source: Iterator[Item], span: Span) -> Iterator[Item]:
    """The items of a list, which are read when they are drawn."""
    for item in source:
        yield item.settle(span) if isinstance(item, v.Deferred) else item


_SHOWN: dict[str, Callable[[tuple[object, Item]], Item]] = {
    "keys": lambda pair: Known(pair[0]),
    "values": lambda pair: pair[1],
    "items": lambda pair: Sequence([Known(pair[0]), pair[1]], False),
}


def _draw(source: Iterator[Item], span: Span) -> Iterator[Item]:
    """The items of a dict or set; one whose size changes on the way is refused at ``span``."""
    while True:
        try:
            item = next(source)
        except StopIteration:
            return
        except RecursionError:
            raise
        except RuntimeError as error:
            text = span.text()
            help = f"loop over a copy: list({text if text.isprintable() else '...'})"
            refuse(FeValueError, f"RuntimeError: {error}", span, help=help)
        yield item


def iterator(
    frame: Frame,
    maker: Any,
    positional: list[tuple[Item, Span]],
    keyword: dict[str, tuple[Item, Span]],
    span: Span,
) -> Cursor | None:
    """``zip(...)``, ``enumerate(...)`` or ``reversed(...)``; None where Python has none."""
    options = {key: frame.python(item, at, maker.__name__) for key, (item, at) in keyword.items()}
    given = positional
    if maker is enumerate and len(positional) == 2:
        options["start"] = frame.python(*positional[1], "enumerate")
        given = positional[:1]
    if not all(is_iterable(item) for item, _ in given) or (maker is not zip and len(given) != 1):
        return None
    if maker is reversed:
        backward = None if options else _backward(frame, *given[0])
        return None if backward is None else Cursor(backward, maker)
    depth = deeper([item for item, _ in given], span)
    sources = [iterate(frame, item, place) for item, place in given]
    made = python_call(maker, span, *sources, **options)
    if maker is enumerate:
        return Cursor((Sequence([Known(at), item], False) for at, item in made), maker, depth)
    return Cursor(_rows(made, span), maker, depth)


def deeper(inner: list[Item], span: Span) -> int:
    """How many iterators there are in one another in one that draws from ``inner``."""
    depth = 1 + max((item.depth for item in inner if isinstance(item, Cursor)), default=0)
    if depth > _MAX_DEPTH:
        help = "make a list of the inner ones: list(...)"
        refuse(FeValueError, f"more than {_MAX_DEPTH} iterators in one another", span, help=help)
    return depth


def _rows(source: Iterator[tuple[Item, ...]], span: Span) -> Iterator[Item]:
    """The rows of a zip, which with ``strict`` finds lengths that differ at its end."""
    while True:
        try:
            row = next(source)
        except StopIteration:
            return
        except ValueError as error:
            refuse(FeValueError, f"ValueError: {error}", span)
        yield Sequence(list(row), False)


def _backward(frame: Frame, item: Item, span: Span) -> Iterator[Item] | None:
    """``reversed(item)``; None where Python has none."""
    if isinstance(item, Sequence):
        return _read(reversed(item.items), span)
    if isinstance(item, Mapping):
        return _draw(map(Known, reversed(item.items)), span)
    if isinstance(item, View):
        shown = map(_SHOWN[item.name], reversed(item.owner.items.items()))
        return _draw(_read(shown, span), span)
    if isinstance(item, Known) and not isinstance(item.value, set | frozenset):
        return reversed(parts_of(item, _known(frame, item, span)))
    return None
