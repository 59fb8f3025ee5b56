"""Where operands lie: their alignment, and whether they overlap."""

from __future__ import annotations

from pypto.lint import nodes
from pypto.lint.context import Context
from pypto.lint.extents import bytes_of, hazards, reach_of
from pypto.lint.interface import element
from pypto.lint.match import Match, match, size_of
from pypto.lint.nodes import Expr
from pypto.lint.places import Place, place_of
from pypto.lint.rule import Rule, RuleSet
from pypto.lint.scope import Variable, canonical
from pypto.lint.site import Use
from pypto.lint.types import TENSORS, element_of

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
    Rule(
        "operand-bounds",
        "operands that begin, or with a constant count end, behind their buffer",
        "nothing checks addresses on the device: the bytes belong to the next buffer",
    ),
)

_COUNTED = frozenset(("dst", "src", "src0", "src1"))


def _call(walk: Context, found: nodes.Call) -> None:
    _view(walk, found)
    matched = match(walk, found)
    if matched is None or not matched.forms:
        _passed(walk, found)
        return
    places = {}
    for role, value, kind in zip(matched.roles, found.args, matched.kinds, strict=True):
        if kind is not None and kind.name in TENSORS:
            place = place_of(walk, value)
            if place is not None:
                places[role] = (place, value)
    if places:
        _aligned(walk, matched, places)
        _apart(walk, matched, found, places)
    for role, (place, value) in places.items():
        count = 0
        if role in _COUNTED:
            count = bytes_of(walk, matched, found, role, size_of(walk.type(value)))
        _use(walk, place, count, matched.name, role, value)


def _view(walk: Context, found: nodes.Call) -> None:
    """``buffer.Get<T>(count)`` and ``buffer.GetWithOffset<T>(count, bytes)``."""
    callee = found.callee
    if not isinstance(callee, nodes.Member) or not found.args:
        return
    place = place_of(walk, found)
    count, size = walk.fold(found.args[0]), size_of(walk.type(found))
    if place is not None and isinstance(count, int) and size:
        _use(walk, place, count * size, callee.name, "the tensor", found)


def _passed(walk: Context, found: nodes.Call) -> None:
    """Tensors that a function of the text is given: they begin inside of their buffers."""
    target = walk.called(found.callee, len(found.args))
    for parameter, value in zip(target.parameters if target else (), found.args, strict=False):
        kind = walk.type(value)
        place = place_of(walk, value) if kind is not None and kind.name in TENSORS else None
        if place is not None and target is not None:
            _use(walk, place, 0, target.name, parameter.name, value)


def _use(walk: Context, place: Place, count: int, name: str, role: str, value: Expr) -> None:
    buffer = _buffer(place)
    if buffer is not None and not place.more:
        walk.uses.append(Use(buffer, place.offset, count, name, role, value, walk.where()))


def _buffer(place: Place) -> Variable | None:
    """The queue or buffer that a place is counted from; None where it is not the start of one."""
    kind = place.base.type
    if kind is not None and canonical(kind.name) == "TBuf":
        return place.base
    return place.base.buffer if place.base.kind == "local" else None


def _aligned(walk: Context, matched: Match, places: dict[str, tuple[Place, Expr]]) -> None:
    for one in matched.form.row.operands:
        if one.role not in places or one.space in ("GM", "scalar"):
            continue
        place, value = places[one.role]
        known = not place.more and (
            _buffer(place) is not None
            or (place.base.kind == "local" and place.base.init is not None)
        )
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
    walk: Context, matched: Match, found: nodes.Call, places: dict[str, tuple[Place, Expr]]
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
            if _rereads(walk, matched, found, role, sizes):
                what = f"a repeat of {matched.name} reads what an earlier one wrote"
                _overlaps(walk, found, what, "let dst and source go on by equal strides")
                return
        elif overlap.get("partial") == "no" and "count" in matched.roles:
            ends = [
                place.offset + bytes_of(walk, matched, found, one, size)
                for one, place, size in zip(("dst", role), (dst, src), sizes, strict=True)
            ]
            if dst.offset < ends[1] and src.offset < ends[0]:
                what = f"dst and {role} of {matched.name} share some of their bytes"
                _overlaps(walk, found, what, "let them be equal or apart")
                return


def _rereads(
    walk: Context, matched: Match, found: nodes.Call, role: str, sizes: tuple[int, int]
) -> bool:
    """Whether a repeat reads what an earlier one wrote, where that is no accumulation."""
    written = reach_of(walk, matched, found, "dst", sizes[0])
    read = reach_of(walk, matched, found, role, sizes[1])
    if written is None or read is None or not hazards(written, read, 0):
        return False
    kinds = matched.form.row.facts.get("overlap", {}).get("accumulate", ())
    element_ = element(element_of(matched.kinds[0]) or "")
    accumulates = role == "src1" and written.step == read.step == 0 and element_ in kinds
    return not accumulates


def _overlaps(walk: Context, found: nodes.Call, message: str, help: str) -> None:
    walk.report("operand-overlap", found.at, found.end, message, help)


# --- inside of buffers ---


def _done(walk: Context) -> None:
    sizes: dict[Variable, int | None] = {}
    for site in walk.sites.values():
        if site.kind == "InitBuffer" and site.variable is not None:
            before = sizes.get(site.variable, 0)
            known = None if before is None or site.bytes is None else max(before, site.bytes)
            sizes[site.variable] = known
    reported: set[int] = set()
    for use in walk.uses:
        size = sizes.get(use.buffer)
        if use.value.at in reported:
            continue
        if size is not None and (use.offset >= size or use.offset + use.bytes > size):
            ends = f"ends at byte {use.offset + use.bytes}" if use.bytes else ""
            where = ends or f"begins at byte {use.offset}"
            reported.add(use.value.at)
            walk.report(
                "operand-bounds",
                use.value.at,
                use.value.end,
                f"{use.role} of {use.name} {where} of '{use.buffer.name}', which has {size}",
                "make the buffer larger, or the operand smaller",
                use.notes,
            )


RULES = RuleSet(_RULES, {nodes.Call: _call}, None, None, _done, values=True)
