"""Run-time branches: both sides are read, and names that differ behind them are merged."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pypto.elaborate import values as v
from pypto.elaborate.blocks import Block, OpenIf
from pypto.elaborate.conditions import negated
from pypto.elaborate.diagnostics import Poisoned
from pypto.elaborate.exits import (
    BREAK,
    CONTINUE,
    RETURN,
    VALUE,
    ContinueSignal,
    ExitSignal,
    LeftSignal,
    RaisedSignal,
    left,
    record,
)
from pypto.elaborate.joining import (
    as_kind,
    common_kind,
)
from pypto.elaborate.machine import REGION, Frame
from pypto.elaborate.merging import HIDDEN, Branch, Side
from pypto.elaborate.mutation import objects_held
from pypto.elaborate.scalars import as_number, number
from pypto.elaborate.settings import settings_held
from pypto.elaborate.values import Item, Known, Scalar
from pypto.error import Span
from pypto.ir.expr import Const, Expr, apply, symbols_of, variables_of

__all__ = ["as_condition", "choose", "repeat", "run_branch", "unless"]


def as_condition(expr: Expr) -> Expr:
    """Whether Python takes a number for true."""
    return expr if expr.kind == "bool" else apply("ne", as_number(expr), 0)


def run_branch(
    frame: Frame,
    condition: Expr,
    span: Span,
    then: Callable[[], None],
    other: Callable[[], None],
    rest: bool = False,
) -> None:
    """A branch of the running kernel; ``then`` and ``other`` evaluate its sides.

    ``rest``: the sides are where control goes on, and where it has left before.
    """
    branch = _open(frame, condition, span, rest)
    before = dict(frame.locals)
    marks = frame.context.builder.marks()
    sides: list[Side] = []  # but those where the kernel refuses the calls that get there
    for block, side in ((branch.draft.then, then), (branch.draft.other, other)):
        frame.locals.clear()
        frame.locals.update(before)
        end, changed = _end(frame, block, side)
        branch.leaves.append(end is not None)
        if not isinstance(end, RaisedSignal):
            sides.append(changed)
            continue
        frame.context.builder.forget(block, marks)
        if block is branch.draft.then:
            frame.locals.clear()
            frame.locals.update(before)
            other()
            return
    frame.context.builder.append(branch.draft)
    branch.end(*sides)
    if all(branch.leaves):
        raise LeftSignal


def unless(frame: Frame, away: Expr, span: Span, rest: Callable[[], None]) -> None:
    """What is reached only where control has not left: ``away`` says where it has."""

    def reached() -> None:
        for name in (*HIDDEN, VALUE):
            frame.locals.pop(name, None)
        rest()

    def gone() -> None:
        flags = [name for name in HIDDEN if name in frame.locals]
        if len(flags) == 1:
            frame.locals[flags[0]] = Known(True)
        raise LeftSignal

    run_branch(frame, negated(as_condition(away)), span, reached, gone, rest=True)


def repeat(frame: Frame, span: Span, turns: Iterable[Callable[[], None]]) -> None:
    """Run ``turns`` one after the other until control leaves them: the iterations of a loop.

    A ``break`` or ``return`` under a run-time condition is a flag behind the last one.
    """
    for turn in turns:
        away = left(frame, span, BREAK, RETURN)
        try:
            if away is None:
                turn()
            else:
                unless(frame, away, span, turn)
        except (ContinueSignal, LeftSignal):
            pass
        frame.locals.pop(CONTINUE, None)
        if isinstance(left(frame, span, BREAK, RETURN), Const):
            return


def _open(frame: Frame, condition: Expr, span: Span, rest: bool = False) -> Branch:
    frame.count(span, REGION)
    builder = frame.context.builder
    condition = as_condition(condition)
    opposite = negated(condition)
    then = builder.nested(builder.ranges.branch(condition), condition, loop=False)
    other = builder.nested(builder.ranges.branch(opposite), opposite, loop=False)
    then.opposite, other.opposite = other, then
    return Branch(frame, OpenIf(builder.block, condition, then, other, span), rest)


def _end(frame: Frame, block: Block, side: Callable[[], None]) -> tuple[ExitSignal | None, Side]:
    """Evaluate one side: how control always leaves it (None: it may get to its end), and what it
    leaves."""
    end: ExitSignal | None = None
    before, frame.bound = frame.bound, dict(frame.bound)
    with (
        objects_held(frame) as held,
        settings_held(frame),
        frame.context.builder.inside(block),
    ):
        try:
            side()
        except ExitSignal as signal:
            record(frame, signal)
            end = signal
    bound = {name: span for name, span in frame.bound.items() if before.get(name) is not span}
    frame.bound = before
    return end, Side(dict(frame.locals), bound, held.take(), held.objects)


def choose(
    frame: Frame,
    condition: Expr,
    span: Span,
    then: Callable[[], Item],
    other: Callable[[], Item],
    simple: Callable[[Expr, Expr], Expr] | None = None,
) -> Item:
    """``then() if condition else other()``.

    ``simple`` makes one number of the two where neither needs statements.
    """
    branch = _open(frame, condition, span)
    draft, builder = branch.draft, frame.context.builder
    branch.leaves.extend((False, False))
    before = dict(frame.locals)
    found: list[Item | None] = []
    sides: list[Side] = []
    marks = builder.marks()
    for block, side in ((draft.then, then), (draft.other, other)):
        frame.locals.clear()
        frame.locals.update(before)
        with objects_held(frame) as held, settings_held(frame), builder.inside(block):
            try:
                found.append(side())
            except RaisedSignal:
                found.append(None)
                builder.forget(block, marks)
        sides.append(Side(dict(frame.locals), {}, held.take(), held.objects))
    items = [item for item in found if item is not None]
    if len(items) < 2:
        return _chosen(branch, found, sides, span)
    a, b = (number(item) for item in items)
    branch.end(*sides)
    if any(isinstance(item, v.Poison) for item in items):
        raise Poisoned
    if a is not None and b is not None and not (draft.then.body or draft.other.body):
        for item in items:
            if isinstance(item, Known):
                frame.use(item, span)
        kind = common_kind(a, b)
        if not a.kind == b.kind and _specialisable(condition):
            frame.need(Scalar(condition), span, "a condition")  # Python's result has one kind
        a, b = as_kind(a, kind), as_kind(b, kind)
        return v.scalar(simple(a, b) if simple else apply("select", draft.condition, a, b))
    builder.append(draft)
    joined = branch.join("chosen", items[0], items[1], span)
    if joined is None:
        if _specialisable(condition):
            frame.need(Scalar(condition), span, "a condition")
        branch.refuse_types(None, items[0], items[1], span)
    return joined


def _chosen(branch: Branch, found: list[Item | None], sides: list[Side], span: Span) -> Item:
    """The value of the side that is not refused at the call."""
    frame = branch.frame
    side = next((side for side, item in enumerate(found) if item is not None), None)
    if side is None:
        raise RaisedSignal
    frame.context.builder.append(branch.draft)
    branch.end(sides[side])
    item = found[side]
    assert item is not None
    if branch.existed(item) or branch.sees(item):
        return item
    joined = branch.join("chosen", found[0], found[1], span)
    assert joined is not None, "one side alone has nothing to differ from"
    return joined


def _specialisable(condition: Expr) -> bool:
    """Whether the values of scalar parameters decide ``condition``."""
    parameters = all(symbol.axis is None for symbol in symbols_of(condition))
    return parameters and not variables_of(condition)
