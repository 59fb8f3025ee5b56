"""What ``sorted``, ``list.sort``, ``min`` and ``max`` compare their items by."""

from __future__ import annotations

from typing import Any

from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.machine import Argument, Frame
from pypto.elaborate.values import Deferred, Item, Known
from pypto.error import FeTypeError, Span

__all__ = ["order_of"]


def order_of(
    frame: Frame, items: list[Item], keyword: dict[str, Argument], name: str, span: Span
) -> tuple[list[Any], bool]:
    """What ``items`` are compared by, and whether in reverse."""
    items = [item.settle(span) if isinstance(item, Deferred) else item for item in items]
    reverse = False
    key: Item | None = None
    for option, (item, place) in keyword.items():
        if option == "key":
            key = item
        elif option == "reverse" and name in ("sorted", "sort"):
            reverse = bool(frame.python(item, place, name))
        else:
            refuse(FeTypeError, f"{name} has no parameter '{option}'", place)
    if key is None or (isinstance(key, Known) and key.value is None):
        return [frame.python(item, span, f"{name}(...)") for item in items], reverse
    made = [frame.call(key, [(item, span)], {}, span) for item in items]
    return [frame.python(item, span, f"the key of {name}(...)") for item in made], reverse
