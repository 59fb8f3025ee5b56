"""Rewrite every operation into primitives, and check its tile while its own scratch is known."""

from __future__ import annotations

from dataclasses import replace

from pypto.ir.tensor import Compute, Kernel, Load, Operand, Statement, Store, Value
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
    renamed: dict[Value, Value] = {}
    next_id = 1 + max((_result_id(s) for s in kernel.body), default=0)
    body: list[Statement] = []
    uses: list[Use] = []

    def current(operand: Operand) -> Operand:
        return renamed.get(operand, operand) if isinstance(operand, Value) else operand

    for statement in kernel.body:
        if isinstance(statement, Load):
            body.append(statement)
        elif isinstance(statement, Store):
            value = renamed.get(statement.value, statement.value)
            body.append(replace(statement, value=value))
        elif statement.op == "fill":
            body.append(statement)  # the front end's own: a scalar stored to a region
        else:
            use = replace(statement, args=tuple(current(a) for a in statement.args))
            build = Lowering(use, next_id)
            result = registry.get(use.op).lower(build, use)
            next_id = build.next_id
            primitives = _named(build.out, result, use.result)
            if primitives and primitives[-1].result.id == result.id:
                result = primitives[-1].result
            renamed[statement.result] = result
            body.extend(primitives)
            uses.append(Use(use, tuple(primitives)))
    return replace(kernel, body=tuple(body)), tuple(uses)


def _result_id(statement: Statement) -> int:
    return -1 if isinstance(statement, Store) else statement.result.id


def _named(primitives: list[Compute], result: Value, user: Value) -> list[Compute]:
    """Give the primitive that makes the user's value its name and its very type: sizes that are
    equal by a precondition are one there, so that a store of the value is seen to fill a buffer."""
    if not primitives or primitives[-1].result is not result:
        return primitives
    last = primitives[-1]
    made = replace(result, type=user.type, name=user.name or result.name)
    return [*primitives[:-1], replace(last, result=made)]
