"""What two ways to the same place have in common: types of values that loops and branches join."""

from __future__ import annotations

from typing import Literal

from pypto.elaborate import values as v
from pypto.elaborate.blocks import Block
from pypto.elaborate.builder import Builder
from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.mutation import parts_of
from pypto.elaborate.scalars import as_number, number
from pypto.elaborate.structures import differ, is_mutable, is_structure, places, words
from pypto.elaborate.values import Deferred, Item, Known, Part, Scalar
from pypto.error import FeValueError, Span
from pypto.ir.dtype import DataType
from pypto.ir.expr import Expr, Kind, apply
from pypto.ir.tensor import Buffer, Value

__all__ = [
    "as_kind",
    "common_kind",
    "identifier_of",
    "in_words",
    "is_partial",
    "refuse_partial",
    "remedy",
    "same",
    "sees",
    "settled",
    "way",
]

_ORDER: tuple[Kind, ...] = ("bool", "int", "float")


def settled(item: Item | None) -> Item | None:
    """``item``, or what it has turned out to be."""
    while isinstance(item, Deferred) and item.found is not None:
        item = item.found
    return item


def is_partial(item: Item | None) -> bool:
    """Whether ``break`` or ``continue`` may have kept a name from getting its value."""
    return isinstance(item, Deferred) and item.partial


def refuse_partial(name: str, loop: Span) -> Deferred:
    """What a name that is partial at the end of a loop has behind it."""

    def refused(span: Span) -> Item:
        refuse(
            FeValueError,
            f"'{name}' may have no value here: break or continue may come before it is set",
            span,
            notes=(f"the loop is at {loop.location}",),
            help=f"give '{name}' a value before the loop",
        )

    return Deferred(refused)


def same(a: Item | None, b: Item | None) -> bool:
    """Whether it makes no difference which of the two a name has."""
    a, b = settled(a), settled(b)
    if a is b:
        return True
    if isinstance(a, Known) and isinstance(b, Known):
        return _equal(a.value, b.value)
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return a.expr == b.expr
    if isinstance(a, Part) and isinstance(b, Part):
        return (a.buffer, a.region, a.axes, a.type) == (b.buffer, b.region, b.axes, b.type)
    if is_structure(a) and is_structure(b) and not (is_mutable(a) or is_mutable(b) or differ(a, b)):
        other = places(b)
        return all(same(one, other[key]) for key, one in places(a).items())
    return False


Way = Literal["number", "tensor", "structure", "object"]


def way(*sides: Item | None) -> Way | None:
    """How values of two ways to one place become one, None: not at all.

    Numbers become one number, tensors of one type one tensor, structures of the same places one
    structure; a side that has no value (None) does not count, and anything else must be alone.
    """
    items = [settled(item) for item in sides if item is not None]
    if all(v.is_tensor(item) for item in items):
        return "tensor"
    structures = [item for item in items if is_structure(item)]
    if len(structures) == len(items):
        return None if any(differ(structures[0], one) for one in structures) else "structure"
    if all(item is not None and number(item) is not None for item in items):
        return "number"
    return "object" if len(items) == 1 else None


def identifier_of(label: str) -> str:
    """A name for the variable or local tensor of what the text calls ``label``."""
    letters = [letter if letter.isalnum() else "_" for letter in label]
    name = "_".join(part for part in "".join(letters).split("_") if part)
    return name if name and name.isidentifier() else "item"


def sees(builder: Builder, item: Item, block: Block) -> bool:
    """Whether ``item`` means in ``block`` what it means where it was made."""
    if isinstance(item, Deferred):
        return item.found is not None and sees(builder, item.found, block)
    if isinstance(item, Value):
        return block.within(builder.made[item])
    if isinstance(item, Buffer):
        return item.param is not None or any(item in one.locals for one in block.chain())
    if isinstance(item, Part):
        sizes = (*item.region.offsets, *item.region.sizes, *item.type.shape, *item.type.sizes)
        return sees(builder, item.buffer, block) and all(map(block.sees, sizes))
    if isinstance(item, Scalar):
        element = item.element
        return block.sees(item.expr) and (element is None or sees(builder, element, block))
    return all(sees(builder, part, block) for part in parts_of(item))


def _equal(a: object, b: object) -> bool:
    """Equal objects of plain types; others by identity."""
    if a is b:
        return True
    if type(a) is not type(b) or not isinstance(a, bool | int | float | str | bytes | DataType):
        return False
    return repr(a) == repr(b)  # -0.0 is not 0.0, and nan is nan


def common_kind(a: Expr, b: Expr) -> Kind:
    """The kind that holds both, as Python's arithmetic mixes them."""
    return max(a.kind, b.kind, key=_ORDER.index)


def as_kind(expr: Expr, kind: Kind) -> Expr:
    """``expr`` as a number of a kind that holds it."""
    if expr.kind == kind:
        return expr
    expr = as_number(expr)
    return apply("to_float", expr) if kind == "float" else expr


def remedy(give: str, name: str | None, a: Item | None, b: Item | None) -> str | None:
    """What makes one kind of two values, of ``name`` if they have one; ``give``: how to."""
    a, b = settled(a), settled(b)
    if v.is_tensor(a) and v.is_tensor(b):
        if a.type.dtype != b.type.dtype:
            return f"cast one of the two: pypto.cast(..., pypto.{a.type.dtype})"
        other = f"use another name than '{name}' for one of the two, or " if name else ""
        return f"{other}write both into parts of one local tensor: pypto.tensor(shape, dtype)"
    for item, other_item in ((a, b), (b, a)):
        expr = number(item) if item is not None else None
        nothing = isinstance(other_item, Known) and other_item.value is None
        if v.is_tensor(item):
            shape = f"[{', '.join(map(str, item.type.shape))}]"
            if nothing:
                zeros = f"pypto.zeros({shape}, pypto.{item.type.dtype})"
                return f"{give} a tensor instead of None: {zeros}"
            if other_item is not None and number(other_item) is not None:
                full = f"pypto.full({shape}, number, pypto.{item.type.dtype})"
                return f"make a tensor of the number: {full}"
        elif expr is not None and nothing:
            return f"{give} a number instead of None"
    return None


def in_words(item: Item | None) -> str:
    """What kind of thing ``item`` is, for messages: the values of numbers do not matter there."""
    item = settled(item)
    if is_structure(item):
        return words(item)
    expr = number(item) if item is not None else None
    if expr is not None:
        return {"bool": "a truth value", "int": "an int", "float": "a float"}[expr.kind]
    return "nothing" if item is None else v.describe(item)
