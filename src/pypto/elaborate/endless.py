"""``while`` loops that are known never to end: what their condition reads stays as it is."""

from __future__ import annotations

import libcst as cst

from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.machine import Frame, identifier
from pypto.elaborate.parse import children
from pypto.elaborate.values import Item, Known, Scalar
from pypto.error import FeValueError

__all__ = ["check_change_of", "deciding"]

_PLAIN = (
    cst.Name, cst.Integer, cst.Float, cst.Comparison, cst.ComparisonTarget, cst.BooleanOperation,
    cst.UnaryOperation, cst.BinaryOperation, cst.BaseCompOp, cst.BaseBooleanOp, cst.BaseUnaryOp,
    cst.BaseBinaryOp,
)  # fmt: skip


_CONSTANTS = ("True", "False", "None")
_OUTSIDE = Known(None)  # stands for the value of a global


def deciding(frame: Frame, node: cst.While) -> dict[str, Item] | None:
    """The local numbers that alone decide whether the loop goes on; None when there may be more."""
    if not _is_plain(node.test) or _leaves(node.body):
        return None
    items: dict[str, Item] = {}
    for name in _names(node.test) - set(_CONSTANTS):
        item = frame.locals.get(name)
        if item is None and frame.enclosing is None:
            item = _OUTSIDE  # a kernel changes no global
        if not isinstance(item, Known | Scalar):
            return None
        items[name] = item
    return items


def check_change_of(frame: Frame, node: cst.While, before: dict[str, Item]) -> None:
    """Refuse a loop whose body has left all of these as they were."""
    if any(frame.locals.get(name, _OUTSIDE) is not item for name, item in before.items()):
        return
    named = " and ".join(f"'{name}'" for name in sorted(before))
    why = f"its body leaves {named} unchanged" if named else "nothing leaves it"
    refuse(
        FeValueError,
        f"this loop never ends: {why}",
        frame.span(node.test),
        help="change what the condition reads, or leave the loop with break",
    )


def _is_plain(node: cst.CSTNode) -> bool:
    return isinstance(node, _PLAIN) and all(map(_is_plain, children(node)))


def _names(node: cst.CSTNode) -> set[str]:
    if isinstance(node, cst.Name):
        return {identifier(node)}
    return set().union(*map(_names, children(node)))


def _leaves(node: cst.CSTNode) -> bool:
    """Whether a statement in ``node`` may end the loop."""
    if isinstance(node, cst.Break | cst.Return | cst.Raise):
        return True
    return any(map(_leaves, children(node)))
