"""Statements: what each does to names and tensors, and how errors are contained.

A statement that fails poisons the names it would have set; statements that use those are skipped
without a further message.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import libcst as cst

from pypto.elaborate import values as v
from pypto.elaborate.arithmetic import truth
from pypto.elaborate.assignments import (
    annotated_assignment,
    assign,
    assignment,
)
from pypto.elaborate.augmented import augmented_assignment
from pypto.elaborate.branches import repeat, run_branch, unless
from pypto.elaborate.closures import define, nonlocal_names, refuse_outer
from pypto.elaborate.contexts import with_statement
from pypto.elaborate.deletions import delete
from pypto.elaborate.diagnostics import OverLimit, Poisoned, refuse
from pypto.elaborate.endless import check_change_of, deciding
from pypto.elaborate.exits import (
    BREAK,
    RETURN,
    BreakSignal,
    ContinueSignal,
    LeftSignal,
    ReturnSignal,
    left,
    loop_flags,
)
from pypto.elaborate.iteration import iterate
from pypto.elaborate.joining import is_partial, refuse_partial
from pypto.elaborate.loops import run_loop
from pypto.elaborate.machine import Execute, Frame, identifier
from pypto.elaborate.parse import children
from pypto.elaborate.raising import assert_statement, raise_statement
from pypto.elaborate.scalars import number
from pypto.elaborate.targets import names_read, targets_of
from pypto.elaborate.values import POISON, Item, Known, Scalar, is_tensor
from pypto.error import (
    Diagnostic,
    FeTypeError,
    ParserError,
    PyptoError,
    Span,
    UnsupportedSyntaxError,
)
from pypto.ir.expr import Const, Expr
from pypto.ir.tensor import Buffer, root

__all__ = ["STATEMENTS", "execute"]


def execute(frame: Frame, node: cst.CSTNode) -> None:
    """Run one statement or block; errors are collected, never raised."""
    handler = frame.context.statements.get(type(node))
    if isinstance(node, cst.IndentedBlock | cst.SimpleStatementSuite | cst.SimpleStatementLine):
        _run_lines(frame, node.body)
        return
    if frame.caller is None:
        frame.place = frame.span(node)
    try:
        if handler is None:
            raise Poisoned  # refused syntax, reported by the syntax check
        handler(frame, node)
        return
    except Poisoned:
        frame.context.skipped = frame.context.skipped or frame.span(node)
    except PyptoError as error:
        _collect(frame, node, error.diagnostics)
    except OverLimit as limit:
        if not frame.context.over_limit:
            frame.context.over_limit = True
            _collect(frame, node, (limit.diagnostic,))
        if frame.context.unrolling or frame.caller is not None:
            raise  # what is around it would only go on
    except RecursionError:
        message = "this statement is nested too deeply"
        help = "split it into several statements"
        _collect(
            frame, node,
            (Diagnostic(ParserError, "F00005", message, frame.span(node), help=help),),
        )  # fmt: skip
    frame.failed = True
    frame.lost_return |= _returns(node)
    _poison(frame, node)
    if isinstance(node, cst.Return):
        raise ReturnSignal(POISON)


def _returns(node: cst.CSTNode) -> bool:
    """Whether ``node`` holds a return statement of the function it stands in."""
    if isinstance(node, cst.FunctionDef | cst.ClassDef | cst.BaseExpression):
        return False
    return isinstance(node, cst.Return) or any(map(_returns, children(node)))


def _run_lines(frame: Frame, lines: Sequence[cst.CSTNode]) -> None:
    """The statements of a block; those behind a run-time ``break`` only where it did not happen."""
    for at, line in enumerate(lines):
        execute(frame, line)
        rest = lines[at + 1 :]
        away = left(frame, frame.span(line)) if rest else None
        if away is not None:
            unless(frame, away, frame.span(line), functools.partial(_run_lines, frame, rest))
            return


def _collect(frame: Frame, node: cst.CSTNode, diagnostics: tuple[Diagnostic, ...]) -> None:
    place = frame.place or frame.span(node)
    for diagnostic in diagnostics:
        if diagnostic.span is None:
            diagnostic = replace(diagnostic, span=frame.span(node))
        frame.context.collector.add(diagnostic, place, frame.call_notes())


def _poison(frame: Frame, node: cst.CSTNode) -> None:
    """Let what follows an error follow it in silence: what ``node`` sets, writes and uses."""
    used = {name for name in names_read(node) if name in frame.tensor_parameters}
    for rebinding in frame.context.rebindings:
        rebinding.used_after |= rebinding.name in used
    for name in used:
        frame.context.builder.read.add(frame.tensor_parameters[name])
    for name, target in targets_of(frame, node):
        held = frame.locals.get(name)
        if isinstance(held, v.Deferred):
            held = frame.tensor_parameters.get(name)
        if isinstance(target, cst.Name):
            if not isinstance(held, Buffer) or name not in frame.tensor_parameters:
                frame.locals[name] = POISON
        if isinstance(held, v.Part):
            held = root(held.buffer)
        if isinstance(held, Buffer):
            # Whatever the failed statement wanted to write counts as written.
            frame.context.builder.written.add(held)


# --- control flow at compile time ---


def _if(frame: Frame, node: cst.If) -> None:
    test = frame.evaluate(node.test)
    span = frame.span(node.test)
    if isinstance(test, Scalar):
        run_branch(
            frame, test.expr, span, lambda: execute(frame, node.body), lambda: _else(frame, node)
        )
    elif truth(frame, test, span):
        execute(frame, node.body)
    else:
        _else(frame, node)


def _else(frame: Frame, node: cst.If) -> None:
    if isinstance(node.orelse, cst.If):
        execute(frame, node.orelse)
    elif node.orelse is not None:
        execute(frame, node.orelse.body)


def _for(frame: Frame, node: cst.For) -> None:
    iterated = frame.evaluate(node.iter)
    span = frame.span(node.iter)
    if isinstance(iterated, v.Loop):
        _check_targets(frame, node, iterated)
        names = [name for name, target in targets_of(frame, node) if isinstance(target, cst.Name)]
        names += sorted(nonlocal_names(frame) & frame.locals.keys())
        away = run_loop(frame, node, iterated, names, lambda: execute(frame, node.body))
        _otherwise(frame, node, away)
        return
    items = None if is_tensor(iterated) else iterate(frame, iterated, span)
    if items is None:
        refuse(
            FeTypeError,
            "a kernel can only loop over range(...), lists, tuples and dicts known at compile time",
            span,
            got=v.describe(iterated),
            help=_loop_help(iterated, span),
        )

    def turns() -> Iterator[Callable[[], None]]:
        for item in items:
            frame.count(span)
            yield functools.partial(_turn, frame, node, item, span)

    _unroll(frame, node, turns())


def _check_targets(frame: Frame, node: cst.For, loop: v.Loop) -> None:
    """A loop gives its index; one of ``loop_unroll`` gives the factor, too."""
    target = node.target
    parts = target.elements if isinstance(target, cst.Tuple | cst.List) else ()
    starred = any(isinstance(part, cst.StarredElement) for part in parts)
    if len(parts) == 2 * loop.pairs and not starred:
        return
    span = frame.span(target)
    if loop.pairs:
        refuse(
            FeTypeError, "pypto.loop_unroll gives an index and a factor", span,
            expected="2 names", got=span.text(),
            help="write for i, k in pypto.loop_unroll(...): k is how many iterations a part has",
        )  # fmt: skip
    refuse(
        FeTypeError, "pypto.loop gives an index alone", span, expected="1 name", got=span.text(),
        help="write for i in pypto.loop(...); pypto.loop_unroll gives an index and a factor",
    )  # fmt: skip


def _loop_help(iterated: Item, span: Span) -> str | None:
    text = span.text() if span.line == span.end_line else "..."
    if is_tensor(iterated):
        return f"operations take the whole tensor; its rows: for i in pypto.loop({text}.shape[0])"
    if number(iterated) is not None:
        return f"count in the running kernel with pypto.loop({text}), or unroll range({text})"
    return None


def _turn(frame: Frame, node: cst.For, item: Item, span: Span) -> None:
    assign(frame, node.target, item, span, "loop variable")
    execute(frame, node.body)


def _unroll(frame: Frame, node: cst.For | cst.While, turns: Iterator[Callable[[], None]]) -> None:
    """Run the iterations of a loop one by one until control leaves it."""
    span = frame.span(node)
    with loop_flags(frame), frame.context.unrolled():
        try:
            repeat(frame, span, turns)
        except BreakSignal:
            return
        away = left(frame, span, BREAK, RETURN)
        for name, item in frame.locals.items():
            if is_partial(item):
                frame.locals[name] = refuse_partial(name, span)
    if isinstance(away, Const):
        if left(frame, span, RETURN) is not None:
            raise LeftSignal
        return
    _otherwise(frame, node, away)


def _otherwise(frame: Frame, node: cst.For | cst.While, away: Expr | None) -> None:
    """The ``else`` of a loop, which runs unless control has left the loop."""
    if node.orelse is None:
        return
    body = node.orelse.body
    if away is None:
        execute(frame, body)
    else:
        unless(frame, away, frame.span(node), lambda: execute(frame, body))


def _while(frame: Frame, node: cst.While) -> None:
    """Unrolled: the condition is known at compile time each time it is asked."""
    span = frame.span(node.test)

    def turns() -> Iterator[Callable[[], None]]:
        while _holds(frame, node.test):
            frame.count(span)
            before = deciding(frame, node)
            yield lambda: execute(frame, node.body)
            if before is not None:
                check_change_of(frame, node, before)

    _unroll(frame, node, turns())


def _holds(frame: Frame, test: cst.BaseExpression) -> bool:
    item, span = frame.evaluate(test), frame.span(test)
    if isinstance(item, Scalar):
        return bool(frame.python(item, span, "the condition of a while statement"))
    return truth(frame, item, span)


def _break(frame: Frame, node: cst.Break) -> None:
    raise BreakSignal


def _continue(frame: Frame, node: cst.Continue) -> None:
    raise ContinueSignal


def _return(frame: Frame, node: cst.Return) -> None:
    if node.value is None:
        raise ReturnSignal(Known(None))
    if frame.caller is not None:
        raise ReturnSignal(frame.evaluate(node.value))
    item = frame.evaluate(node.value)
    if isinstance(item, Known) and item.value is None:
        raise ReturnSignal(item)
    refuse(
        UnsupportedSyntaxError,
        "a kernel returns nothing",
        frame.span(node),
        got=f"return of {v.describe(item)}",
        help="add a parameter for the result and write it: out[:] = value",
    )


def _expression(frame: Frame, node: cst.Expr) -> None:
    frame.evaluate(node.value)


def _nonlocal(frame: Frame, node: cst.Nonlocal) -> None:
    """What it means is in calls of the function that it stands in."""
    if frame.enclosing is None:
        refuse_outer(identifier(node.names[0].name), frame.span(node))


def _with(frame: Frame, node: cst.With) -> None:
    with_statement(frame, node, lambda: execute(frame, node.body))


def _pass(frame: Frame, node: cst.Pass) -> None:
    return None


STATEMENTS: dict[type, Execute] = {
    cst.AnnAssign: annotated_assignment,
    cst.Assert: assert_statement,
    cst.Assign: assignment,
    cst.AugAssign: augmented_assignment,
    cst.Break: _break,
    cst.Continue: _continue,
    cst.Del: delete,
    cst.Expr: _expression,
    cst.For: _for,
    cst.FunctionDef: define,
    cst.If: _if,
    cst.Nonlocal: _nonlocal,
    cst.Pass: _pass,
    cst.Raise: raise_statement,
    cst.Return: _return,
    cst.While: _while,
    cst.With: _with,
}
"""Every supported statement; blocks and lines are walked by :func:`execute` itself."""
