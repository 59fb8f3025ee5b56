"""Offsets into global memory are computed in 64 bits."""

from __future__ import annotations

from pypto.lint import nodes
from pypto.lint.context import Context
from pypto.lint.nodes import Expr
from pypto.lint.rule import Rule, RuleSet
from pypto.lint.scope import Variable

__all__ = ["RULES"]

_RULES = (
    Rule(
        "offset-32-bit",
        "32-bit products in offsets into global memory",
        "a tensor may hold more than 2^31 elements, and a product wraps before it is widened",
    ),
)

_LIMITS = {"int32_t": 1 << 31, "uint32_t": 1 << 32}
_SMALL = {"bool": 1, "int8_t": 1 << 7, "uint8_t": 255, "int16_t": 1 << 15, "uint16_t": 65535}


def _index(walk: Context, found: nodes.Index) -> None:
    base = walk.type(found.base)
    if base is not None and (base.name == "GlobalTensor" or base.space == "__gm__"):
        _check(walk, found.index)


def _call(walk: Context, found: nodes.Call) -> None:
    callee = found.callee
    if isinstance(callee, nodes.Member) and found.args:
        if callee.name in ("GetValue", "SetValue", "GetPhyAddr"):
            base = walk.type(callee.base)
            if base is not None and base.name == "GlobalTensor":
                _check(walk, found.args[0])
        elif callee.name == "SetGlobalBuffer":
            for one in found.args:
                _check(walk, one)
    elif isinstance(callee, nodes.Name) and len(found.args) == 1:
        base = walk.type(callee) if walk.find(callee.name) is not None else None
        if base is not None and base.name == "GlobalTensor":
            _check(walk, found.args[0])


def _check(walk: Context, offset: Expr) -> None:
    product = _overflowing(walk, offset, set())
    if product is not None:
        kind = walk.type(product)
        name = "32 bits" if kind is None else kind.name
        first = product.left if isinstance(product, nodes.Binary) else product
        walk.report(
            "offset-32-bit",
            product.at,
            product.end,
            f"this product is computed in {name} and is part of an offset into global memory",
            f"widen a factor first: static_cast<uint64_t>({walk.text(first)})",
        )


def _overflowing(walk: Context, value: Expr, seen: set[Variable]) -> Expr | None:
    """A product of 32 bits in ``value``, or in what its variables are made from, that can wrap."""
    if isinstance(value, nodes.Name):
        made = walk.find(value.name)
        if made is None or made.init is None or made in seen or made.value is not None:
            return None
        seen.add(made)
        return _overflowing(walk, made.init, seen) if made.kind == "local" else None
    if isinstance(value, nodes.Binary):
        if value.op in ("*", "<<") and _wraps(walk, value):
            return value
        if value.op in ("/", "%", "*", "+", "-", "<<", ">>"):
            return _overflowing(walk, value.left, seen) or _overflowing(walk, value.right, seen)
        return None
    if isinstance(value, nodes.Unary | nodes.Cast):
        return _overflowing(walk, value.operand, seen)
    if isinstance(value, nodes.Ternary):
        return _overflowing(walk, value.left, seen) or _overflowing(walk, value.right, seen)
    return None


def _wraps(walk: Context, product: nodes.Binary) -> bool:
    kind = walk.type(product)
    if kind is None or kind.name not in _LIMITS or walk.fold(product) is not None:
        return False
    if _counts_tiles(walk, product):
        return False
    left, right = _most(walk, product.left), _most(walk, product.right)
    if product.op == "<<":
        right = 1 << min(right, 64)
    return left * right >= _LIMITS[kind.name]


def _most(walk: Context, value: Expr) -> int:
    """A bound of the magnitude of ``value``."""
    known = walk.fold(value)
    if known is not None:
        return abs(int(known))
    if isinstance(value, nodes.Binary):
        if value.op == "%":
            return _most(walk, value.right)
        if value.op == "*":
            return _most(walk, value.left) * _most(walk, value.right)
        if value.op in ("+", "-"):
            return _most(walk, value.left) + _most(walk, value.right)
        if value.op == "/":
            by = walk.fold(value.right)
            return _most(walk, value.left) // int(by) if by else _most(walk, value.left)
    if isinstance(value, nodes.Name):
        return min(_of_type(walk, value), _of_variable(walk, value))
    if isinstance(value, nodes.Cast):
        return min(_most(walk, value.operand), _of_type(walk, value))
    if isinstance(value, nodes.Ternary):
        return max(_most(walk, value.left), _most(walk, value.right))
    return _of_type(walk, value)


def _of_variable(walk: Context, value: nodes.Name) -> int:
    """What a constant is made from, and what the condition of a loop allows."""
    made = walk.find(value.name)
    if made is None or made.kind != "local":
        return 1 << 63
    below = made.below
    if isinstance(below, nodes.Binary) and below.op == "<" and _is(below.left, value.name):
        return _most(walk, below.right)
    constant = made.type is not None and made.type.const
    return _most(walk, made.init) if constant and made.init is not None else 1 << 63


def _is(value: Expr, name: str) -> bool:
    return isinstance(value, nodes.Name) and value.name == name


def _of_type(walk: Context, value: Expr) -> int:
    kind = walk.type(value)
    name = "" if kind is None else kind.name
    return _SMALL.get(name, _LIMITS.get(name, 1 << 63))


def _counts_tiles(walk: Context, product: nodes.Binary) -> bool:
    """``i * size`` where a loop runs i below ``(n + size - 1) / size``: it stays below n + size."""
    for index, size in ((product.left, product.right), (product.right, product.left)):
        if not isinstance(index, nodes.Name):
            continue
        variable = walk.find(index.name)
        below = None if variable is None else variable.below
        if not (isinstance(below, nodes.Binary) and below.op == "<"):
            continue
        end = below.right
        if isinstance(end, nodes.Name):
            limit = walk.find(end.name)
            end = limit.init if limit is not None and limit.init is not None else end
        if isinstance(end, nodes.Binary) and end.op == "/":
            if walk.text(end.right) == walk.text(size):
                return True
    return False


RULES = RuleSet(_RULES, {nodes.Index: _index, nodes.Call: _call})
