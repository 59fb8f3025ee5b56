"""Sizes that are equal inside a branch or loop alone: one of them stands for all there.

Passes take sizes for equal where they are one expression, or where every call is checked for it.
A call that does not get to a branch is not checked for what the branch needs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from pypto.ir.expr import Expr
from pypto.ir.sizes import Sizes
from pypto.ir.tensor import (
    Carried,
    Compute,
    Dump,
    Load,
    LoadScalar,
    Merge,
    Print,
    Region,
    Simple,
    Store,
    TensorType,
    Value,
)

__all__ = ["Equal"]


@dataclass(frozen=True, slots=True, eq=False)
class Equal:
    """Rewrites statements of one block by the ``equations`` that hold in it.

    ``values``: the values made here and around, as they are now. ``outer``: of the blocks around.
    """

    equations: tuple[Expr, ...] = ()
    sizes: Sizes | None = None
    values: dict[Value, Value] = field(default_factory=dict)
    outer: Equal | None = None

    def within(self, equations: Iterable[Expr]) -> Equal:
        """Inside a block where these hold, too."""
        both = (*self.equations, *equations)
        return Equal(both, Sizes(both), dict(self.values), self)

    def expr(self, expr: Expr) -> Expr:
        return expr if self.sizes is None else self.sizes.canonical(expr)

    def carried(self, one: Carried) -> Carried:
        return replace(one, initial=self.expr(one.initial), next=self.expr(one.next))

    def merge(self, one: Merge) -> Merge:
        return replace(one, then=self.expr(one.then), other=self.expr(one.other))

    def simple(
        self, statement: Simple | LoadScalar | Print | Dump
    ) -> Simple | LoadScalar | Print | Dump:
        if self.sizes is None:
            return statement
        if isinstance(statement, Print):
            parts = (p if isinstance(p, str) else self.expr(p) for p in statement.parts)
            return replace(statement, parts=tuple(parts))
        if isinstance(statement, Dump):
            return replace(statement, region=self._region(statement.region))
        if isinstance(statement, Load):
            region = self._region(statement.region)
            return replace(statement, result=self._made(statement.result), region=region)
        if isinstance(statement, Store):
            value = self.values.get(statement.value, statement.value)
            region = self._region(statement.region)
            # A value from outside keeps the sizes that it has there, and is stored with those.
            sizes = tuple(map(self._maker(statement.value).expr, statement.region.sizes))
            return replace(statement, value=value, region=replace(region, sizes=sizes))
        if isinstance(statement, Compute):
            args = tuple(
                self.values.get(one, one) if isinstance(one, Value) else self.expr(one)
                for one in statement.args
            )
            return replace(statement, result=self._made(statement.result), args=args)
        limit = None if statement.limit is None else self.expr(statement.limit)
        return replace(statement, index=tuple(map(self.expr, statement.index)), limit=limit)

    def _made(self, value: Value) -> Value:
        shape = tuple(map(self.expr, value.type.shape))
        valid = tuple(map(self.expr, value.type.sizes))
        type = TensorType(value.type.dtype, shape, None if valid == shape else valid)
        self.values[value] = value if type == value.type else replace(value, type=type)
        return self.values[value]

    def _maker(self, value: Value) -> Equal:
        """What rewrote the statement that makes ``value``."""
        chain: list[Equal] = [self]
        while chain[-1].outer is not None:
            chain.append(chain[-1].outer)
        return next((one for one in reversed(chain) if value in one.values), chain[-1])

    def _region(self, region: Region) -> Region:
        return Region(tuple(map(self.expr, region.offsets)), tuple(map(self.expr, region.sizes)))
