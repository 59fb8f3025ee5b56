"""Which names statements assign, write into or read."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from pypto.elaborate.machine import Frame, Target, identifier
from pypto.elaborate.parse import children

__all__ = ["names_read", "targets_of"]


def names_read(node: cst.CSTNode) -> Iterator[str]:
    """Names that ``node`` may read: all but those that it only gives a value."""
    if isinstance(node, cst.Name):
        yield identifier(node)
    for child in children(node):
        only_set = isinstance(child, cst.Name) and child is getattr(node, "target", None)
        if not only_set or isinstance(node, cst.AugAssign):
            yield from names_read(child)


def targets_of(frame: Frame, node: cst.CSTNode) -> tuple[Target, ...]:
    """Names that ``node`` assigns, and names of tensors that it writes into."""
    found = frame.context.targets.get(node)  # loops inside loops ask for the same statements
    if found is None:
        found = frame.context.targets[node] = tuple(_find_targets(frame, node))
    return found


def _find_targets(frame: Frame, node: cst.CSTNode) -> Iterator[Target]:
    waiting = [node]
    while waiting:
        inner = waiting.pop()
        kind = type(inner)
        if kind in _COMPOUND and inner is not node:
            yield from targets_of(frame, inner)
            continue
        if kind in _SETTING:
            yield from _own_targets(inner)
        if kind not in _ENDING:
            waiting += reversed([*children(inner)])


def _own_targets(node: cst.CSTNode) -> Iterator[Target]:
    """Those of ``node`` without what stands in it."""
    if type(node) in _ASSIGNING:
        yield from _target_names(node.target)  # type: ignore[attr-defined]
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        owner = node.func.value
        if isinstance(owner, cst.Name) and identifier(node.func.attr) == "move":
            yield identifier(owner), node
    if isinstance(node, cst.FunctionDef | cst.ClassDef):
        yield identifier(node.name), node.name
    if isinstance(node, cst.ImportAlias) and node.asname is None:
        package: cst.CSTNode = node.name
        while isinstance(package, cst.Attribute):
            package = package.value
        yield from _target_names(package)
    for part in _BINDING.get(type(node).__name__, ()):
        target = getattr(node, part)
        yield from _target_names(target)


# Refused syntax that gives names values, and where the names stand.
_BINDING = {
    "AsName": ("name",),
    "MatchAs": ("name",),
    "MatchMapping": ("rest",),
    "MatchStar": ("name",),
    "NamedExpr": ("target",),
    "TypeAlias": ("name",),
}

_ASSIGNING = frozenset({cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For})
_DEFINING = frozenset({cst.FunctionDef, cst.ClassDef})
_COMPOUND = frozenset({cst.For, cst.While, cst.If, cst.With, cst.Try})
_ENDING = _DEFINING | {cst.Name, cst.Integer, cst.Float}  # what is below them is no part of them
_SETTING = (
    _ASSIGNING | _DEFINING | {cst.Call, cst.ImportAlias} | {getattr(cst, n) for n in _BINDING}
)


def _target_names(target: cst.CSTNode | None) -> Iterator[Target]:
    if isinstance(target, cst.Name):
        yield identifier(target), target
    elif isinstance(target, cst.Tuple | cst.List):
        for element in target.elements:
            yield from _target_names(element.value)
    elif isinstance(target, cst.Subscript | cst.Attribute):
        owner: cst.CSTNode = target
        while isinstance(owner, cst.Subscript | cst.Attribute):
            owner = owner.value
        if isinstance(owner, cst.Name):
            yield identifier(owner), target
