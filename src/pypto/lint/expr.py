"""Parts of expressions and statements, and whether they depend on the core."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from pypto.lint import nodes
from pypto.lint.nodes import Expr, Statement, Type
from pypto.lint.scope import Variable, canonical

__all__ = ["by_core", "children", "leaves"]

_CORE_CALLS = frozenset(("GetBlockIdx", "GetSubBlockIdx"))
_CORE_NAMES = frozenset(("block_idx", "sub_block_idx"))
_DEEPEST = 8
"""Variables that are followed to what they are made from."""


def by_core(
    value: Expr,
    find: Callable[[str], Variable | None],
    functions: Collection[str],
    depth: int = _DEEPEST,
) -> bool:
    """Whether ``value`` differs between cores; ``find`` gives the variables in scope.

    ``functions``: those of the text whose results do.
    """
    if isinstance(value, nodes.Name):
        if value.name in _CORE_NAMES:
            return True
        made = find(value.name)
        if made is None or made.by_core:
            return made is not None
        init = made.init if made.kind == "local" else None
        return init is not None and depth > 0 and by_core(init, find, functions, depth - 1)
    if isinstance(value, nodes.Call):
        callee = value.callee
        name = canonical(callee.name) if isinstance(callee, nodes.Name | nodes.Member) else ""
        if name in _CORE_CALLS or name.rpartition("::")[2] in functions:
            return True
        return any(by_core(one, find, functions, depth) for one in value.args)
    if isinstance(value, nodes.Member) and _is_this(value.base):
        made = find(value.name)
        return made is not None and made.kind == "field" and made.by_core
    return any(by_core(one, find, functions, depth) for one in children(value))


def _is_this(base: Expr) -> bool:
    return isinstance(base, nodes.Name) and base.name == "this"


def children(value: Expr) -> Iterable[Expr]:
    """The operands of ``value``; none for calls."""
    reader = _CHILDREN.get(type(value))
    return () if reader is None else reader(value)


_CHILDREN: dict[type, Callable[[Any], Iterable[Expr]]] = {
    nodes.Member: lambda v: (v.base,),
    nodes.Index: lambda v: (v.base, v.index),
    nodes.Unary: lambda v: (v.operand,),
    nodes.Binary: lambda v: (v.left, v.right),
    nodes.Ternary: lambda v: (v.condition, v.left, v.right),
    nodes.Cast: lambda v: (v.operand,),
    nodes.Brace: lambda v: v.args,
    nodes.SizeOf: lambda v: () if isinstance(v.of, Type) else (v.of,),
    nodes.Word: lambda v: () if v.operand is None else (v.operand,),
}


def leaves(found: Statement) -> bool:
    """Whether control does not come behind ``found``."""
    while isinstance(found, nodes.Block) and found.body:
        found = found.body[-1]
    return isinstance(found, nodes.Return)
