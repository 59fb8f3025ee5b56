"""Tensors that are taken from one TBuf."""

from __future__ import annotations

from pypto.lint import nodes
from pypto.lint.context import Context
from pypto.lint.match import size_of
from pypto.lint.nodes import Function
from pypto.lint.places import taken_from
from pypto.lint.rule import Rule, RuleSet
from pypto.lint.site import View
from pypto.lint.types import element_of

__all__ = ["RULES"]

_RULES = (
    Rule(
        "buffer-shared",
        "two tensors of one TBuf that share memory while both are used",
        "Get hands out the same bytes again: what one tensor holds is written over by the other",
    ),
)


def _declaration(walk: Context, found: nodes.Declaration) -> None:
    for item in found.items:
        made = walk.find(item.name)
        place = None if made is None else made.place
        taken = taken_from(item.init[0]) if len(item.init) == 1 else None
        if made is None or place is None or taken is None or place.more or walk.function is None:
            continue
        end = 0
        if taken.args:
            count, size = walk.fold(taken.args[0]), size_of(made.type)
            if not isinstance(count, int) or not size:
                continue
            end = place.offset + count * size
        element = element_of(walk.types.resolve(made.type))
        view = View(made, place.base, element, place.offset, end, taken.at, taken.end)
        walk.views.append((walk.function, view))


def _name(walk: Context, found: nodes.Name) -> None:
    made = walk.find(found.name)
    if made is not None and made.place is not None and made.kind == "local":
        first, _ = walk.spans_of_use.get(made, (walk.statement, 0))
        walk.spans_of_use[made] = (first, walk.statement)


def _done(walk: Context) -> None:
    seen: dict[Function, list[View]] = {}
    for function, view in walk.views:
        for earlier in seen.get(function, ()):
            if _clash(earlier, view) and _together(walk, earlier, view):
                walk.report(
                    "buffer-shared",
                    view.at,
                    view.stop,
                    f"'{view.tensor.name}' shares bytes of '{view.buffer.name}' with "
                    f"'{earlier.tensor.name}', which is used at the same time",
                    "take GetWithOffset behind the other tensor, or ReinterpretCast of it",
                )
                break
        seen.setdefault(function, []).append(view)


def _together(walk: Context, one: View, two: View) -> bool:
    """Whether each of two tensors is used when the other has been: neither takes over memory that
    the other is done with."""
    if one.tensor not in walk.spans_of_use or two.tensor not in walk.spans_of_use:
        return False
    (first, last), (begin, end) = walk.spans_of_use[one.tensor], walk.spans_of_use[two.tensor]
    return first <= end and begin <= last


def _clash(one: View, two: View) -> bool:
    """Whether two tensors share memory without one being another view of the other."""
    if one.buffer is not two.buffer:
        return False
    if not (one.end and two.end):  # one is the whole buffer, and the other a part of it or the same
        return one.end == two.end and one.element == two.element
    if one.end <= two.begin or two.end <= one.begin:
        return False
    return one.element == two.element or one.begin != two.begin


RULES = RuleSet(_RULES, {nodes.Declaration: _declaration, nodes.Name: _name}, None, None, _done)
