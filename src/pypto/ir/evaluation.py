"""Values of expressions, as the launch code computes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pypto.ir.expr import FOLD, INT64, Apply, Const, Expr, Symbol, variables_of

__all__ = ["evaluate", "launch_parts"]


def launch_parts(expr: Expr) -> Iterator[Expr]:
    """The largest parts of ``expr`` that are known when the kernel is launched."""
    if not variables_of(expr):
        yield expr
    elif isinstance(expr, Apply):
        for argument in expr.args:
            yield from launch_parts(argument)


def evaluate(expr: Expr, value_of: Callable[[Symbol], int | float | bool]) -> int | float | bool:
    """``expr`` computed as the launch code computes it, from the values of its symbols.

    Raises OverflowError where an integer leaves 64 bits, on the way too, and ZeroDivisionError.
    """
    if isinstance(expr, Const):
        return expr.value
    if isinstance(expr, Symbol):
        return value_of(expr)
    assert isinstance(expr, Apply)
    first = evaluate(expr.args[0], value_of)
    if expr.op == "select":
        return evaluate(expr.args[1 if first else 2], value_of)
    if expr.op in ("and", "or") and bool(first) is (expr.op == "or"):
        return bool(first)
    if len(expr.args) == 1:
        return _checked(FOLD[expr.op](first))
    for argument in expr.args[1:]:
        first = _checked(FOLD[expr.op](first, evaluate(argument, value_of)))
    return first


def _checked(value: int | float | bool) -> int | float | bool:
    if isinstance(value, int) and value not in INT64:
        raise OverflowError("a value that does not fit into 64 bits")
    return value
