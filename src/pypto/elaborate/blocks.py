"""Statement lists under construction: loops and branches stay open until the kernel is complete.

Whether a name's value is needed behind a loop or branch is known only when something reads it
there. Until then the loop or branch can still get carried values, merges and stores at its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from pypto.elaborate.equal import Equal
from pypto.elaborate.values import Loop
from pypto.error import Span
from pypto.ir.expr import Expr, Variable, apply, as_int, const, variables_of
from pypto.ir.ranges import Ranges
from pypto.ir.tensor import (
    Buffer,
    Carried,
    Dump,
    For,
    If,
    LoadScalar,
    Merge,
    Print,
    Simple,
    Statement,
)

__all__ = [
    "Block", "Draft", "OpenFor", "OpenIf", "Turn", "behind", "finish", "in_front", "runs_once",
]  # fmt: skip

_TRUE = const(True)


@dataclass(slots=True, eq=False)
class Block:
    """One list of statements: ``first`` are those before the others, loads of carried tensors.

    ``locals``: local tensors of the loop or kernel around. ``variables``: those defined here.
    ``ranges``: what is known of integers here. ``reached``: it runs, once at least, where this
    holds and the block around it runs. ``equal``: equations that every call that gets here meets.
    ``opposite``: the other side of the branch that it is a side of.
    """

    outer: Block | None = None
    first: list[Draft] = field(default_factory=list)
    body: list[Draft] = field(default_factory=list)
    locals: list[Buffer] = field(default_factory=list)
    variables: set[Variable] = field(default_factory=set)
    ranges: Ranges = field(default_factory=Ranges)
    depth: int = 0
    reached: Expr = _TRUE
    equal: list[Expr] = field(default_factory=list)
    opposite: Block | None = None

    @property
    def choice(self) -> Block:
        """The innermost block around that calls get to or not, by what is known at launch."""
        for block in self.chain():
            if block.outer is None or not (block.reached == _TRUE or variables_of(block.reached)):
                break
        return block

    def path(self) -> Iterator[Expr]:
        """The conditions under which this block runs, from the outermost on."""
        if self.outer is not None:
            yield from self.outer.path()
        if self.reached != _TRUE:
            yield self.reached

    def chain(self) -> Iterator[Block]:
        """This block and those around it."""
        block: Block | None = self
        while block is not None:
            yield block
            block = block.outer

    @property
    def loop(self) -> Block:
        """The body of the loop (or kernel) around."""
        here = self
        while here.outer is not None and here.outer.locals is here.locals:
            here = here.outer
        return here

    def within(self, block: Block) -> bool:
        """Whether this is ``block`` or stands in it."""
        return any(here is block for here in self.chain())

    def sees(self, expr: Expr) -> bool:
        """Whether everything in ``expr`` has a value here."""
        return all(
            any(variable in block.variables for block in self.chain())
            for variable in variables_of(expr)
        )


@dataclass(slots=True, eq=False)
class OpenFor:
    """A loop that may still get carried values. ``around``: the block that it stands in.

    ``opened``, ``closed``: the times (of :mod:`copies`) at its start and end.
    """

    around: Block
    index: Variable
    start: Expr
    stop: Expr
    step: Expr
    body: Block
    span: Span
    parallel: bool
    name: str | None
    carried: list[Carried] = field(default_factory=list)
    until: Carried | None = None
    opened: int = 0
    closed: int = 0

    def runs(self) -> bool:
        """Whether it is known to run at least once."""
        return runs_once(self.around.ranges, self.start, self.stop, self.step)


def runs_once(ranges: Ranges, start: Expr, stop: Expr, step: Expr) -> bool:
    """Whether a loop with these bounds is known to run at least once."""
    known, length = as_int(step), apply("sub", stop, start)
    if known is None or known == 0:
        return False
    length = length if known > 0 else apply("neg", length)
    return ranges.nonnegative(apply("sub", length, 1))


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """One reading of a loop's body: ``iterations`` of the loop that the program states.

    ``first``, ``last``: whether it can be the first one of all, and the last.
    """

    loop: Loop
    iterations: int
    first: bool
    last: bool


@dataclass(slots=True, eq=False)
class OpenIf:
    """A branch that may still get merges. ``around``: the block that it stands in.

    ``closed``: the time (of :mod:`copies`) at its end.
    """

    around: Block
    condition: Expr
    then: Block
    other: Block
    span: Span
    merges: list[Merge] = field(default_factory=list)
    closed: int = 0


Draft: TypeAlias = Simple | LoadScalar | Print | Dump | OpenFor | OpenIf


def finish(block: Block, same: Equal | None = None) -> tuple[Statement, ...]:
    """The statements of a block that gets no more."""
    same = same or Equal()
    if block.equal:
        same = same.within(block.equal)
    drafts = (*block.first, *block.body)
    return tuple(_finished(draft, same) for draft in drafts if not _is_empty(draft))


def _is_empty(draft: Draft) -> bool:
    """Whether a branch says nothing."""
    if not isinstance(draft, OpenIf) or draft.merges:
        return False
    return all(map(_is_empty, (*draft.then.body, *draft.other.body)))


def _finished(draft: Draft, same: Equal) -> Statement:
    if isinstance(draft, OpenFor):
        until = None if draft.until is None else same.carried(draft.until)
        return For(
            draft.index, same.expr(draft.start), same.expr(draft.stop), same.expr(draft.step),
            finish(draft.body, same), draft.span, tuple(map(same.carried, draft.carried)),
            tuple(draft.body.locals), until, draft.parallel, draft.name,
        )  # fmt: skip
    if isinstance(draft, OpenIf):
        then, other = finish(draft.then, same), finish(draft.other, same)
        merges = tuple(map(same.merge, draft.merges))
        return If(same.expr(draft.condition), then, other, draft.span, merges)
    return same.simple(draft)


def in_front(draft: OpenFor | OpenIf, statements: Iterable[Draft]) -> None:
    """Put ``statements`` right before a loop or branch, which may still be read."""
    body = draft.around.body
    at = next((i for i, one in enumerate(body) if one is draft), len(body))
    body[at:at] = statements


def behind(draft: OpenFor | OpenIf, statements: Iterable[Draft]) -> None:
    """Put ``statements`` right behind a loop or branch."""
    body = draft.around.body
    at = next(i for i, one in enumerate(body) if one is draft)
    body[at + 1 : at + 1] = statements
