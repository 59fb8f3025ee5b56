"""Where operands lie: their alignment, and whether they overlap."""

from __future__ import annotations

from pypto._record import Record
from pypto.lint import nodes
from pypto.lint.match import Match, match, size_of
from pypto.lint.nodes import Expr
from pypto.lint.rule import Rule, RuleSet
from pypto.lint.scope import Variable
from pypto.lint.types import TENSORS
from pypto.lint.walk import Walk

__all__ = ["RULES"]

_RULES = (
    Rule(
        "operand-alignment",
        "operands that begin where the instruction cannot read or write",
        "the address is cut down to the alignment: the instruction works on other elements",
    ),
    Rule(
        "operand-overlap",
        "destinations that share memory with a source where the instruction forbids it",
        "the instruction reads what it has written already",
    ),
)

_MAKERS = frozenset(("AllocTensor", "DeQue", "Get"))


class _Place(Record, eq=False):
    """Bytes from the start of a buffer; ``more``: an offset that is not constant, as text."""

    base: Variable
    offset: int
    more: str


def _call(walk: Walk, found: nodes.Call) -> None:
    matched = match(walk, found)
    if matched is None or not matched.forms:
        return
    places = {}
    for role, value, kind in zip(matched.roles, found.args, matched.kinds, strict=True):
        if kind is not None and kind.name in TENSORS:
            place = _place(walk, value)
            if place is not None:
                places[role] = (place, value)
    if places:
        _aligned(walk, matched, places)
        _apart(walk, matched, found, places)


def _place(walk: Walk, value: Expr) -> _Place | None:
    if isinstance(value, nodes.Name):
        made = walk.find(value.name)
        if made is None or made.dims or made.changes:
            return None
        if made.kind == "local" and made.init is not None and not _is_made(made.init):
            return _place(walk, made.init)
        return _Place(made, 0, "")
    if isinstance(value, nodes.Index):
        inner = _place(walk, value.base)
        if inner is None:
            return None
        index = walk.fold(value.index)
        size = size_of(walk.type(value.base))
        if isinstance(index, int) and size:
            return _Place(inner.base, inner.offset + index * size, inner.more)
        return _Place(inner.base, inner.offset, f"{inner.more}[{walk.text(value.index)}]")
    if isinstance(value, nodes.Call) and isinstance(value.callee, nodes.Member):
        if value.callee.name == "ReinterpretCast":
            return _place(walk, value.callee.base)
    return None


def _is_made(init: Expr) -> bool:
    callee = init.callee if isinstance(init, nodes.Call) else None
    return isinstance(callee, nodes.Member) and callee.name in _MAKERS


def _aligned(walk: Walk, matched: Match, places: dict[str, tuple[_Place, Expr]]) -> None:
    for one in matched.form.row.operands:
        if one.role not in places or one.space in ("GM", "scalar"):
            continue
        place, value = places[one.role]
        known = place.base.kind == "local" and place.base.init is not None and not place.more
        unit = _unit(one.align, size_of(walk.type(value)))
        if known and unit and place.offset % unit:
            walk.report(
                "operand-alignment",
                value.at,
                value.end,
                f"{one.role} of {matched.name} begins {place.offset} bytes behind the start of "
                f"'{place.base.name}'",
                f"it must begin at a multiple of {unit} bytes",
            )


def _unit(align: int | str | None, size: int) -> int:
    """Bytes of an alignment: a number, ``S`` or a multiple of it such as ``2*S``."""
    if isinstance(align, int):
        return align
    if align is None:
        return 0
    factor = align.removesuffix("S").removesuffix("*")
    return size * int(factor or 1)


def _apart(
    walk: Walk, matched: Match, found: nodes.Call, places: dict[str, tuple[_Place, Expr]]
) -> None:
    if "dst" not in places:
        return
    overlap = matched.form.row.facts.get("overlap", {})
    dst, value = places["dst"]
    for role, (src, source) in places.items():
        if not role.startswith("src") or src.base is not dst.base or src.more != dst.more:
            continue
        sizes = size_of(walk.type(value)), size_of(walk.type(source))
        if src.offset == dst.offset:
            widens = matched.name == "Cast" and sizes[0] > sizes[1] > 0
            if overlap.get("alias") == "no" or widens:
                what = f"{matched.name} writes over its own {role}"
                _overlaps(walk, found, what, "give it a destination of its own")
                return
        elif overlap.get("partial") == "no":
            count = _bytes(walk, matched, found, max(sizes))
            if abs(src.offset - dst.offset) < count:
                what = f"dst and {role} of {matched.name} share some of their {count} bytes"
                _overlaps(walk, found, what, "let them be equal or apart")
                return


def _overlaps(walk: Walk, found: nodes.Call, message: str, help: str) -> None:
    walk.report("operand-overlap", found.at, found.end, message, help)


def _bytes(walk: Walk, matched: Match, found: nodes.Call, size: int) -> int:
    """Bytes of an operand of a form that counts elements; 0 where the count is not constant."""
    if "count" not in matched.roles:
        return 0
    count = walk.fold(found.args[matched.roles.index("count")])
    return count * size if isinstance(count, int) else 0


RULES = RuleSet(_RULES, {nodes.Call: _call})
