"""What two ways to the same place have in common: types of values that loops and branches join."""

from __future__ import annotations

from pypto.elaborate import values as v
from pypto.elaborate.blocks import Block
from pypto.elaborate.builder import Builder
from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.mutation import parts_of
from pypto.elaborate.scalars import as_number, number
from pypto.elaborate.values import Deferred, Item, Known, Part, Scalar, Sequence
from pypto.error import FeValueError, Span
from pypto.ir.dtype import DataType
from pypto.ir.expr import Expr, Kind, apply
from pypto.ir.tensor import Buffer, Value

__all__ = [
    "as_kind",
    "common_kind",
    "in_words",
    "is_partial",
    "refuse_partial",
    "remedy",
    "same",
    "sees",
    "settled",
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
    if isinstance(a, Sequence) and isinstance(b, Sequence) and not (a.mutable or b.mutable):
        return len(a.items) == len(b.items) and all(map(same, a.items, b.items))
    return False


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
    expr = number(item) if item is not None else None
    if expr is not None:
        return {"bool": "a truth value", "int": "an int", "float": "a float"}[expr.kind]
    return "nothing" if item is None else v.describe(item)
