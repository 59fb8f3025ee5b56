"""Rewrite every operation into primitives, and check its tile while its own scratch is known."""

from __future__ import annotations

from dataclasses import replace

from pypto.ir.tensor import (
    Compute,
    For,
    If,
    Kernel,
    Load,
    Operand,
    Statement,
    Store,
    Value,
    walk,
)
from pypto.ops import registry
from pypto.ops.lowering import Lowering

__all__ = ["Use", "decompose"]


class Use:
    """One operation of the user's kernel and the primitives it became."""

    __slots__ = ("operation", "primitives")

    def __init__(self, operation: Compute, primitives: tuple[Compute, ...]) -> None:
        self.operation = operation
        self.primitives = primitives


def decompose(kernel: Kernel) -> tuple[Kernel, tuple[Use, ...]]:
    """``kernel`` in primitives, and what each operation became (for the tile rules)."""
    decomposition = _Decomposition(kernel)
    body = decomposition.body(kernel.body)
    return replace(kernel, body=body), tuple(decomposition.uses)


class _Decomposition:
    def __init__(self, kernel: Kernel) -> None:
        made = [s.result.id for s in walk(kernel.body) if isinstance(s, Load | Compute)]
        self.next_id = 1 + max(made, default=0)
        self.renamed: dict[Value, Value] = {}
        self.uses: list[Use] = []

    def body(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        out: list[Statement] = []
        for statement in body:
            if isinstance(statement, Store):
                value = self.renamed.get(statement.value, statement.value)
                out.append(replace(statement, value=value))
            elif isinstance(statement, For):
                out.append(replace(statement, body=self.body(statement.body)))
            elif isinstance(statement, If):
                then, other = self.body(statement.then), self.body(statement.other)
                out.append(replace(statement, then=then, other=other))
            elif isinstance(statement, Compute) and statement.op != "fill":
                out += self._compute(statement)
            else:
                out.append(statement)  # a fill is the front end's own: a scalar stored to a region
        return tuple(out)

    def _compute(self, statement: Compute) -> list[Compute]:
        use = replace(statement, args=tuple(self._current(a) for a in statement.args))
        build = Lowering(use, self.next_id)
        lower = registry.get(use.op).lower
        assert lower is not None  # else it is loads and stores
        result = lower(build, use)
        self.next_id = build.next_id
        primitives = _named(build.out, result, use.result)
        if primitives and primitives[-1].result.id == result.id:
            result = primitives[-1].result
        self.renamed[statement.result] = result
        self.uses.append(Use(use, tuple(primitives)))
        return primitives

    def _current(self, operand: Operand) -> Operand:
        return self.renamed.get(operand, operand) if isinstance(operand, Value) else operand


def _named(primitives: list[Compute], result: Value, user: Value) -> list[Compute]:
    """Give the primitive that makes the user's value its name and its very type: sizes that are
    equal by a precondition are one there, so that a store of the value is seen to fill a buffer."""
    if not primitives or primitives[-1].result is not result:
        return primitives
    last = primitives[-1]
    made = replace(result, type=user.type, name=user.name or result.name)
    return [*primitives[:-1], replace(last, result=made)]
