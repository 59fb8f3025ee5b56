"""Statement lists under construction: loops and branches stay open until the kernel is complete.

Whether a name's value is needed behind a loop or branch is known only when something reads it
there. Until then the loop or branch can still get carried values, merges and stores at its end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from pypto.error import Span
from pypto.ir.expr import Expr, Variable, apply, as_int, variables_of
from pypto.ir.ranges import Ranges
from pypto.ir.tensor import (
    Buffer,
    Carried,
    For,
    If,
    LoadScalar,
    Merge,
    Simple,
    Statement,
)

__all__ = ["Block", "Draft", "OpenFor", "OpenIf", "behind", "finish", "in_front"]


@dataclass(slots=True, eq=False)
class Block:
    """One list of statements: ``first`` are those before the others, loads of carried tensors.

    ``locals``: local tensors of the loop or kernel around. ``variables``: those defined here.
    ``ranges``: what is known of integers here.
    """

    outer: Block | None = None
    first: list[Draft] = field(default_factory=list)
    body: list[Draft] = field(default_factory=list)
    locals: list[Buffer] = field(default_factory=list)
    variables: set[Variable] = field(default_factory=set)
    ranges: Ranges = field(default_factory=Ranges)
    depth: int = 0

    @property
    def loop(self) -> Block:
        """The body of the loop (or kernel) around."""
        here = self
        while here.outer is not None and here.outer.locals is here.locals:
            here = here.outer
        return here

    def within(self, block: Block) -> bool:
        """Whether this is ``block`` or stands in it."""
        here: Block | None = self
        while here is not None and here is not block:
            here = here.outer
        return here is block

    def sees(self, expr: Expr) -> bool:
        """Whether everything in ``expr`` has a value here."""
        return all(self._defines(variable) for variable in variables_of(expr))

    def _defines(self, variable: Variable) -> bool:
        block: Block | None = self
        while block is not None:
            if variable in block.variables:
                return True
            block = block.outer
        return False


@dataclass(slots=True, eq=False)
class OpenFor:
    """A loop that may still get carried values. ``around``: the block that it stands in."""

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

    def runs(self) -> bool:
        """Whether it is known to run at least once."""
        step, length = as_int(self.step), apply("sub", self.stop, self.start)
        if step is None or step == 0:
            return False
        length = length if step > 0 else apply("neg", length)
        return self.around.ranges.nonnegative(apply("sub", length, 1))


@dataclass(slots=True, eq=False)
class OpenIf:
    """A branch that may still get merges. ``around``: the block that it stands in."""

    around: Block
    condition: Expr
    then: Block
    other: Block
    span: Span
    merges: list[Merge] = field(default_factory=list)


Draft: TypeAlias = Simple | LoadScalar | OpenFor | OpenIf


def finish(block: Block) -> tuple[Statement, ...]:
    """The statements of a block that gets no more."""
    drafts = (*block.first, *block.body)
    return tuple(_finished(draft) for draft in drafts if not _is_empty(draft))


def _is_empty(draft: Draft) -> bool:
    """Whether a branch says nothing."""
    if not isinstance(draft, OpenIf) or draft.merges:
        return False
    return all(map(_is_empty, (*draft.then.body, *draft.other.body)))


def _finished(draft: Draft) -> Statement:
    if isinstance(draft, OpenFor):
        return For(
            draft.index, draft.start, draft.stop, draft.step, finish(draft.body), draft.span,
            tuple(draft.carried), tuple(draft.body.locals), draft.until, draft.parallel, draft.name,
        )  # fmt: skip
    if isinstance(draft, OpenIf):
        return If(
            draft.condition, finish(draft.then), finish(draft.other), draft.span,
            tuple(draft.merges),
        )  # fmt: skip
    return draft


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
