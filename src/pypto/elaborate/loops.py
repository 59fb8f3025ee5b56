"""``pypto.loop``: loops of the running kernel. The body is read once, whatever the bounds are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import libcst as cst

from pypto.elaborate import values as v
from pypto.elaborate.arithmetic import operand
from pypto.elaborate.assignments import assign
from pypto.elaborate.blocks import OpenFor
from pypto.elaborate.carrying import Carrier
from pypto.elaborate.diagnostics import Poisoned, refuse
from pypto.elaborate.exits import BREAK, RETURN, ExitSignal, left, loop_flags, record
from pypto.elaborate.machine import REGION, Frame, identifier
from pypto.elaborate.mutation import objects_held
from pypto.elaborate.scalars import as_number
from pypto.elaborate.values import Item, Loop, Scalar
from pypto.error import FeNotImplementedError, FeTypeError, FeValueError, Span
from pypto.ir.expr import Expr, Variable, apply, as_int, const, variables_of
from pypto.language import builtin
from pypto.language.builtin import Builtin

__all__ = ["make_loop", "run_loop"]

Argument = tuple[Item, Span]

_OPTIONS = {
    builtin.loop: ("name", "idx_name", "unroll_list", "submit_before_loop", "parallel"),
    builtin.loop_unroll: ("name", "idx_name", "unroll_list", "submit_before_loop"),
}


def make_loop(
    frame: Frame,
    function: Builtin,
    positional: list[Argument],
    keyword: dict[str, Argument],
    span: Span,
) -> Loop:
    """``pypto.loop(...)`` or ``pypto.loop_unroll(...)``, to be run by a ``for`` statement."""
    usage = function.usage
    if not 1 <= len(positional) <= 3:
        refuse(
            FeTypeError, f"{function.name} takes 1 to 3 bounds, got {len(positional)}", span,
            help=usage,
        )  # fmt: skip
    for key, (_, place) in keyword.items():
        if key not in _OPTIONS[function]:
            refuse(FeTypeError, f"{function.name} has no parameter '{key}'", place, help=usage)
    names = ("start", "stop", "step") if len(positional) > 1 else ("stop",)
    bounds = {
        name: _bound(frame, function, name, argument)
        for name, argument in zip(names, positional, strict=False)
    }
    step = bounds.get("step", const(1))
    _check_step(frame, step, positional[-1][1])
    given = {key: frame.python(*argument, key) for key, argument in keyword.items()}
    name = given.get("idx_name") or None
    if not isinstance(name, str | None):
        refuse(FeTypeError, "idx_name is a string", keyword["idx_name"][1], got=repr(name))
    factors = _factors(given.get("unroll_list"), keyword)
    pairs = function is builtin.loop_unroll
    return Loop(
        bounds.get("start", const(0)), bounds["stop"], step, bool(given.get("parallel")), name,
        factors if factors is not None or not pairs else (1,), pairs, span,
    )  # fmt: skip


def _bound(frame: Frame, function: Builtin, name: str, argument: Argument) -> Expr:
    item, span = argument
    if isinstance(item, v.Poison):
        raise Poisoned
    expr = operand(frame, item, span)
    if expr is None or expr.kind != "int":
        refuse(
            FeTypeError, f"{function.name}: '{name}' must be an int", span, got=v.describe(item),
            help=function.usage,
        )  # fmt: skip
    return as_number(expr)


def _check_step(frame: Frame, step: Expr, span: Span) -> None:
    builder = frame.context.builder
    if as_int(step) == 0:
        refuse(FeValueError, "the step of a loop is 0", span, expected="an int other than 0")
    if as_int(step) is not None or builder.ranges.nonnegative(apply("sub", step, 1)):
        return
    if variables_of(step):
        refuse(
            FeValueError, "the step of a loop may be 0", span, got=str(step),
            help="use a step that is known before the kernel runs",
        )  # fmt: skip
    builder.require(apply("ne", step, 0), "the step of a loop must not be 0", span)


def _factors(given: Any, keyword: dict[str, Argument]) -> tuple[int, ...] | None:
    if given is None:
        return None
    span = keyword["unroll_list"][1]
    plain = isinstance(given, list | tuple) and all(type(one) is int and one > 0 for one in given)
    if not plain:
        refuse(
            FeValueError, "unroll_list is a list of positive ints", span, got=repr(given),
            help="unroll_list=[4, 2, 1]",
        )  # fmt: skip
    return tuple(sorted({*given, 1}, reverse=True))


def run_loop(
    frame: Frame,
    node: cst.For,
    loop: Loop,
    assigned: Iterable[str],
    body: Callable[[], None],
) -> Expr | None:
    """``for target in loop:``; ``body`` evaluates the statements of the body.

    Whether control has left the loop before its end; None: it cannot.
    """
    if not loop.pairs:
        # A list of factors changes no result of such a loop: it is a hint.
        return _run(frame, node, loop, assigned, body, lambda index: Scalar(index))
    left_over = apply("max", apply("neg", _quotient(loop)), 0)
    start = loop.start
    for factor in loop.factors or (1,):
        count = apply("mul", apply("floordiv", left_over, factor), factor)
        stop = apply("add", start, apply("mul", count, loop.step))
        part = replace(loop, start=start, stop=stop, step=apply("mul", loop.step, factor))
        item = partial(_pair, factor)
        if as_int(count) != 0 and _run(frame, node, part, assigned, body, item) is not None:
            refuse(
                FeNotImplementedError,
                "a break or return out of pypto.loop_unroll is not available in this version",
                frame.span(node.iter),
                help="write pypto.loop, which can be left",
            )
        left_over, start = apply("mod", left_over, factor), stop
    return None


def _reached(loop: Loop) -> Expr:
    """Where the loop runs at all."""
    up, down = apply("lt", loop.start, loop.stop), apply("gt", loop.start, loop.stop)
    step = as_int(loop.step)
    if step is not None:
        return up if step > 0 else down
    return apply("select", apply("gt", loop.step, 0), up, down)


def _pair(factor: int, index: Expr) -> Item:
    return v.Sequence([v.scalar(index), v.Known(factor)], False)


def _quotient(loop: Loop) -> Expr:
    """The number of iterations, negative."""
    return apply("floordiv", apply("sub", loop.start, loop.stop), loop.step)


def _run(
    frame: Frame,
    node: cst.For,
    loop: Loop,
    assigned: Iterable[str],
    body: Callable[[], None],
    item: Callable[[Expr], Item],
) -> Expr | None:
    """One loop, whose target gets ``item`` of the index."""
    frame.count(frame.span(node.iter), REGION)
    builder = frame.context.builder
    name = loop.name if loop.name and loop.name.isidentifier() else _target(node)
    around, inner = builder.block, builder.nested(builder.ranges, _reached(loop), loop=True)
    index = builder.variable(name, "int", inner, "the index of the loop", frame.span(node.iter))
    inner.ranges = builder.ranges.enter(index, loop.start, loop.stop, loop.step)
    draft = OpenFor(
        around, index, loop.start, loop.stop, loop.step, inner, frame.span(node.iter),
        loop.parallel, loop.name,
    )  # fmt: skip
    draft.opened = builder.copies.time
    builder.loops[index] = draft
    frame.context.loops += 1
    carrier = Carrier(frame, draft, frame.context.loops)
    with loop_flags(frame):
        with objects_held(frame), builder.inside(inner):
            carrier.start([*dict.fromkeys(assigned)])
            assign(frame, node.target, item(index), frame.span(node.iter), "loop variable")
            try:
                body()
            except ExitSignal as signal:
                record(frame, signal)
            away = left(frame, frame.span(node.iter), BREAK, RETURN)
        builder.append(draft)
        if away is not None:
            carrier.ends(away)
        carrier.end()
    return None if draft.until is None else draft.until.result


def at_bound(frame: Frame, function: Builtin, argument: Argument) -> Item:
    """``is_loop_begin(i)`` and ``is_loop_end(i)`` of the loop that ``i`` is the index of."""
    item, span = argument
    if isinstance(item, v.Poison):
        raise Poisoned
    index = item.expr if isinstance(item, Scalar) else None
    loop = frame.context.builder.loops.get(index) if isinstance(index, Variable) else None
    if loop is None:
        refuse(
            FeTypeError, f"{function.name} takes the index of a run-time loop", span,
            got=v.describe(item), help="for i in pypto.loop(...): if pypto.is_loop_begin(i): ...",
        )  # fmt: skip
    if function is builtin.is_loop_begin:
        return v.scalar(apply("eq", loop.index, loop.start))
    following, step = apply("add", loop.index, loop.step), as_int(loop.step)
    up, down = apply("ge", following, loop.stop), apply("le", following, loop.stop)
    if step is not None:
        return v.scalar(up if step > 0 else down)
    return v.scalar(apply("select", apply("gt", loop.step, 0), up, down))


def _target(node: cst.For) -> str:
    target: cst.CSTNode = node.target
    if isinstance(target, cst.Tuple | cst.List) and target.elements:
        target = target.elements[0].value
    return identifier(target) if isinstance(target, cst.Name) else "i"
