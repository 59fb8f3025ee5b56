"""The blocks of a plan while they are filled, before memory and barriers are planned."""

from __future__ import annotations

from dataclasses import dataclass, field

from pypto.ir.tile import Copy, Form, Instr
from pypto.passes.space import Layout

__all__ = ["Draft", "DraftBlock", "DraftPhase"]


@dataclass(slots=True)
class DraftBlock:
    """A block being filled."""

    loads: list[Copy] = field(default_factory=list)
    instrs: list[Instr] = field(default_factory=list)
    stores: list[Copy] = field(default_factory=list)
    kept: list[Copy] = field(default_factory=list)


@dataclass(slots=True)
class DraftPhase:
    start: DraftBlock = field(default_factory=DraftBlock)
    step: DraftBlock = field(default_factory=DraftBlock)
    finish: DraftBlock = field(default_factory=DraftBlock)


@dataclass(slots=True)
class Draft:
    """The blocks of a plan."""

    form: Form
    layout: Layout
    prologue: DraftBlock = field(default_factory=DraftBlock)
    head: DraftBlock = field(default_factory=DraftBlock)
    phases: list[DraftPhase] = field(default_factory=list)
    tail: DraftBlock = field(default_factory=DraftBlock)

    def blocks(self) -> list[DraftBlock]:
        inner = [b for p in self.phases for b in (p.start, p.step, p.finish)]
        return [self.prologue, self.head, *inner, self.tail]
