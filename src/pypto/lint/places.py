"""Where tensors lie: the buffer, and how many bytes behind its start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto._record import Record
from pypto.lint import nodes
from pypto.lint.match import size_of
from pypto.lint.nodes import Expr
from pypto.lint.scope import Variable
from pypto.lint.site import BUFFERS

if TYPE_CHECKING:
    from pypto.lint.context import Context

__all__ = [
    "Place",
    "buffer_of",
    "is_followed",
    "is_this",
    "is_view",
    "note_source",
    "place_of",
    "root_of",
    "taken_from",
]

_MAKERS = frozenset(("AllocTensor", "DeQue", "Get", "GetWithOffset"))


class Place(Record, eq=False):
    """Bytes from the start of a TBuf, or of a tensor that is no part of one.

    ``more``: an offset that is not constant, as text.
    """

    base: Variable
    offset: int
    more: str


def place_of(walk: Context, value: Expr) -> Place | None:
    """Where the tensor ``value`` begins; None where that is not known."""
    if isinstance(value, nodes.Name):
        made = walk.find(value.name)
        if made is None or made.dims or made.changes:
            return None
        if made.place is not None:
            return made.place
        if made.kind == "local" and made.init is not None and taken_from(made.init) is None:
            return place_of(walk, made.init)
        return Place(made, 0, "")
    if isinstance(value, nodes.Index):
        inner = place_of(walk, value.base)
        return None if inner is None else _behind(walk, value, inner)
    if isinstance(value, nodes.Call) and isinstance(value.callee, nodes.Member):
        if value.callee.name == "ReinterpretCast":
            return place_of(walk, value.callee.base)
        made = Variable("", "local", None, value.at, init=value)
        note_source(walk, made)
        return made.place
    return None


def buffer_of(walk: Context, value: Expr) -> Variable | None:
    """The queue or buffer that ``value`` names; None for that of another object."""
    if isinstance(value, nodes.Member) and not is_this(value.base):
        return None
    made = walk.field_of(value)
    if made is None or made.dims:
        return None
    return made.buffer or made


def is_followed(place: Place) -> bool:
    """Whether a place means the same in the function that is given the tensor."""
    return place.base.kind in ("local", "field")


def note_source(walk: Context, made: Variable) -> None:
    """Note where a tensor lies that was just declared, while its buffer is in scope."""
    taken = None if made.init is None else taken_from(made.init)
    if taken is None or not isinstance(taken.callee, nodes.Member):
        return
    buffer = buffer_of(walk, taken.callee.base)
    owner = walk.type(taken.callee.base)
    if buffer is None or owner is None:
        return
    if owner.name != "TBuf":
        made.buffer = buffer if owner.name in BUFFERS and not taken.args else None
    elif taken.callee.name == "Get":
        made.place = Place(buffer, 0, "")
    elif taken.callee.name == "GetWithOffset" and len(taken.args) == 2:
        offset = walk.fold(taken.args[1])
        if isinstance(offset, int):
            made.place = Place(buffer, offset, "")
        else:
            made.place = Place(buffer, 0, f"[{walk.instance_number}:{walk.text(taken.args[1])}B]")


def _behind(walk: Context, value: nodes.Index, inner: Place) -> Place:
    index = walk.fold(value.index)
    size = size_of(walk.type(value.base))
    if isinstance(index, int) and size:
        return Place(inner.base, inner.offset + index * size, inner.more)
    # A name stands for something else in every function and every call of one.
    text = f"{walk.instance_number}:{walk.text(value.index)}"
    return Place(inner.base, inner.offset, f"{inner.more}[{text}]")


def taken_from(init: Expr) -> nodes.Call | None:
    """The call of ``queue.DeQue()``, ``buffer.Get()`` or their like that ``init`` is."""
    if isinstance(init, nodes.Call) and isinstance(init.callee, nodes.Member):
        return init if init.callee.name in _MAKERS else None
    return None


def root_of(walk: Context, value: Expr) -> Variable | None:
    """The variable of the tensor that ``value`` is a part or another view of."""
    if isinstance(value, nodes.Index):
        return root_of(walk, value.base)
    if isinstance(value, nodes.Call) and isinstance(value.callee, nodes.Member):
        return root_of(walk, value.callee.base) if value.callee.name == "ReinterpretCast" else None
    if isinstance(value, nodes.Member) and not is_this(value.base):
        return None  # each object has its own
    made = walk.field_of(value)
    if made is None or made.dims:
        return None
    if made.kind == "local" and made.init is not None and not made.changes:
        if not isinstance(made.init, nodes.Call) or is_view(made.init):
            return root_of(walk, made.init) or made
    return made


def is_this(value: Expr) -> bool:
    return isinstance(value, nodes.Name) and value.name == "this"


def is_view(value: nodes.Call) -> bool:
    """Whether a call gives the tensor of its object, under another type."""
    return isinstance(value.callee, nodes.Member) and value.callee.name == "ReinterpretCast"
