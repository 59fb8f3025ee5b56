"""``pypto.loop``: loops of the running kernel. The body is read once, whatever the bounds are.

With a list of factors it is read for each of them: a loop whose iteration is so many of the plain
one's, and behind it a loop over what is left for the next factor.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import libcst as cst

from pypto.elaborate import values as v
from pypto.elaborate.arithmetic import operand
from pypto.elaborate.assignments import assign
from pypto.elaborate.blocks import OpenFor, Turn, runs_once
from pypto.elaborate.branches import repeat, unless
from pypto.elaborate.carrying import Carrier
from pypto.elaborate.diagnostics import Poisoned, refuse
from pypto.elaborate.exits import BREAK, RETURN, ExitSignal, left, loop_flags, record
from pypto.elaborate.machine import REGION, Frame, identifier
from pypto.elaborate.mutation import objects_held
from pypto.elaborate.scalars import as_number
from pypto.elaborate.settings import settings_held
from pypto.elaborate.values import Item, Loop, Scalar
from pypto.error import FeTypeError, FeValueError, Span
from pypto.ir.expr import Expr, Variable, apply, as_int, const, variables_of
from pypto.ir.ranges import Ranges
from pypto.language import builtin
from pypto.language.builtin import Builtin

__all__ = ["at_bound", "make_loop", "run_loop"]

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
    run = _Run(frame, node, loop, [*dict.fromkeys(assigned)], body)
    if loop.factors is None:
        return run.part(_Part(loop.start, loop.stop, 1))
    span = frame.span(node.iter)
    with loop_flags(frame):
        for part in _parts(loop, frame.context.builder.ranges):
            away = left(frame, span, BREAK, RETURN)
            if away is None:
                run.flagged(part)
            else:
                unless(frame, away, span, functools.partial(run.flagged, part))
        return left(frame, span, BREAK, RETURN)


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Iterations of a loop that are run ``factor`` at a time."""

    start: Expr
    stop: Expr
    factor: int


def _parts(loop: Loop, ranges: Ranges) -> list[_Part]:
    """The largest multiple of the first factor, what is left of the second one, and so on."""
    left_over = apply("neg", apply("floordiv", apply("sub", loop.start, loop.stop), loop.step))
    if not ranges.nonnegative(left_over):
        left_over = apply("max", left_over, 0)
    found: list[_Part] = []
    start = loop.start
    for factor in loop.factors or ():
        count = apply("mul", apply("floordiv", left_over, factor), factor)
        stop = apply("add", start, apply("mul", count, loop.step))
        if as_int(count) != 0 or (factor == 1 and not found):
            found.append(_Part(start, stop, factor))
        left_over, start = apply("mod", left_over, factor), stop
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """A loop being evaluated; ``body`` evaluates the statements of its body."""

    frame: Frame
    node: cst.For
    loop: Loop
    assigned: list[str]
    body: Callable[[], None]

    @property
    def span(self) -> Span:
        return self.frame.span(self.node.iter)

    def flagged(self, part: _Part) -> None:
        """Evaluate ``part``; a flag says behind it whether control has left the whole loop."""
        away = self.part(part)
        if away is not None:
            self.frame.locals[BREAK] = Scalar(away)

    def part(self, part: _Part) -> Expr | None:
        """A loop over ``part``: whether control leaves it before its end; None: it cannot."""
        frame, loop, span = self.frame, self.loop, self.span
        frame.count(span, REGION)
        builder = frame.context.builder
        step = apply("mul", loop.step, part.factor)
        name = loop.name if loop.name and loop.name.isidentifier() else _target(self.node)
        around = builder.block
        inner = builder.nested(builder.ranges, _reached(part, step), loop=True)
        index = builder.variable(name, "int", inner, "the index of the loop", span)
        inner.ranges = builder.ranges.enter(index, part.start, part.stop, step)
        draft = OpenFor(
            around, index, part.start, part.stop, step, inner, span, loop.parallel, loop.name
        )
        draft.opened = builder.copies.time
        frame.context.loops += 1
        runs = runs_once(builder.ranges, loop.start, loop.stop, loop.step)
        carrier = Carrier(frame, draft, frame.context.loops, runs)
        with loop_flags(frame):
            with objects_held(frame, frame.context.loops) as held, builder.inside(inner):
                carrier.start(self.assigned, held)
                try:
                    self._iteration(index, part.factor)
                except ExitSignal as signal:
                    record(frame, signal)
                away = left(frame, span, BREAK, RETURN)
            builder.append(draft)
            if away is not None:
                carrier.ends(away)
            carrier.end()
        return None if draft.until is None else draft.until.result

    def _iteration(self, index: Variable, factor: int) -> None:
        """The statements of one iteration, or of ``factor`` of them one after the other."""
        if self.loop.pairs:
            pair = v.Sequence([Scalar(index), v.Known(factor)], False)
            self._turn(pair, index, Turn(self.loop, factor, True, True))
        elif factor == 1:
            self._turn(Scalar(index), index, Turn(self.loop, 1, True, True))
        else:
            repeat(self.frame, self.span, self._turns(index, factor))

    def _turns(self, index: Variable, factor: int) -> Iterator[Callable[[], None]]:
        for number in range(factor):
            self.frame.count(self.span)
            here = apply("add", index, apply("mul", self.loop.step, number))
            turn = Turn(self.loop, 1, number == 0, number == factor - 1)
            yield functools.partial(self._turn, Scalar(here), here, turn)

    def _turn(self, item: Item, index: Expr, turn: Turn) -> None:
        loops = self.frame.context.builder.loops
        loops[index] = turn
        try:
            with settings_held(self.frame):
                assign(self.frame, self.node.target, item, self.span, "loop variable")
                self.body()
        finally:
            del loops[index]


def _reached(part: _Part, step: Expr) -> Expr:
    """Where the loop runs at all."""
    up, down = apply("lt", part.start, part.stop), apply("gt", part.start, part.stop)
    known = as_int(step)
    if known is not None:
        return up if known > 0 else down
    return apply("select", apply("gt", step, 0), up, down)


def at_bound(frame: Frame, function: Builtin, argument: Argument) -> Item:
    """``is_loop_begin(i)`` and ``is_loop_end(i)`` of the loop that ``i`` is the index of."""
    item, span = argument
    if isinstance(item, v.Poison):
        raise Poisoned
    index = item.expr if isinstance(item, Scalar) else None
    turn = None if index is None else frame.context.builder.loops.get(index)
    if index is None or turn is None:
        refuse(
            FeTypeError, f"{function.name} takes the index of a run-time loop", span,
            got=v.describe(item), help="for i in pypto.loop(...): if pypto.is_loop_begin(i): ...",
        )  # fmt: skip
    loop = turn.loop
    if function is builtin.is_loop_begin:
        return v.scalar(apply("eq", index, loop.start)) if turn.first else v.Known(False)
    if not turn.last:
        return v.Known(False)
    following = apply("add", index, apply("mul", loop.step, turn.iterations))
    step = as_int(loop.step)
    up, down = apply("ge", following, loop.stop), apply("le", following, loop.stop)
    if step is not None:
        return v.scalar(up if step > 0 else down)
    return v.scalar(apply("select", apply("gt", loop.step, 0), up, down))


def _target(node: cst.For) -> str:
    target: cst.CSTNode = node.target
    if isinstance(target, cst.Tuple | cst.List) and target.elements:
        target = target.elements[0].value
    return identifier(target) if isinstance(target, cst.Name) else "i"
