"""Parts of expressions and statements, and whether they depend on the core."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pypto.lint import nodes
from pypto.lint.nodes import Expr, Statement, Type
from pypto.lint.scope import Variable, canonical

__all__ = ["by_core", "children", "leaves"]

_CORE_CALLS = frozenset(("GetBlockIdx", "GetSubBlockIdx"))
_CORE_NAMES = frozenset(("block_idx", "sub_block_idx"))
_DEEPEST = 8
"""Variables that are followed to what they are made from."""


def by_core(value: Expr, find: Callable[[str], Variable | None], depth: int = _DEEPEST) -> bool:
    """Whether ``value`` differs between cores; ``find`` gives the variables in scope."""
    if isinstance(value, nodes.Name):
        if value.name in _CORE_NAMES:
            return True
        made = find(value.name)
        init = None if made is None or made.kind != "local" else made.init
        return init is not None and depth > 0 and by_core(init, find, depth - 1)
    if isinstance(value, nodes.Call):
        callee = value.callee
        if isinstance(callee, nodes.Name) and canonical(callee.name) in _CORE_CALLS:
            return True
        return any(by_core(one, find, depth) for one in value.args)
    return any(by_core(one, find, depth) for one in children(value))


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
