"""Barriers between dependent vector instructions, and the point where a step's input is free.

The vector pipe issues in order but does not wait: two instructions that touch the same memory, one
of them writing, need ``PipeBarrier<PIPE_V>`` between them. Loops are walked twice, so conflicts
with the previous repetition are seen. Queue slots change hands through events and are fresh in
every step.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pypto.ir.tile import Area, Barrier, Block, Instr, Local, Slot
from pypto.passes.draft import Draft, DraftBlock

__all__ = ["synchronize"]


@dataclass(slots=True)
class _Since:
    """Slots read and written since the last barrier."""

    read: set[Slot] = field(default_factory=set)
    written: set[Slot] = field(default_factory=set)

    def conflicts(self, instr: Instr) -> bool:
        reads = {_slot(x) for x in instr.reads}
        writes = {_slot(x) for x in instr.writes}
        return bool(reads & self.written or writes & self.written or writes & self.read)

    def note(self, instr: Instr) -> None:
        self.read |= {_slot(x) for x in instr.reads}
        self.written |= {_slot(x) for x in instr.writes}

    def clear(self) -> None:
        self.read.clear()
        self.written.clear()

    def renew(self) -> None:
        """A new step: its queue slots are other buffers, ordered by the queues' events."""
        for slots in (self.read, self.written):
            slots -= {s for s in slots if s.area not in (Area.CALC, Area.CONST, Area.KEPT)}


def _slot(local: Local) -> Slot:
    assert local.slot is not None
    return local.slot


def synchronize(draft: Draft) -> dict[int, set[int]]:
    """Where barriers stand: per block (by id), the indices of instructions that need one before."""
    before: dict[int, set[int]] = {id(b): set() for b in draft.blocks()}
    since = _Since()

    def walk(block: DraftBlock) -> None:
        if block.loads or block.stores:
            since.renew()
        for index, instr in enumerate(block.instrs):
            if index in before[id(block)]:
                since.clear()
            elif since.conflicts(instr):
                before[id(block)].add(index)
                since.clear()
            since.note(instr)

    def walk_tile(steps: bool = True) -> None:
        walk(draft.head)
        for phase in draft.phases:
            walk(phase.start)
            for _ in range(0 if not steps else 2 if draft.form in ("chunks", "columns") else 1):
                walk(phase.step)
            walk(phase.finish)
        walk(draft.tail)

    walk(draft.prologue)
    walk_tile()
    walk_tile()
    if draft.form in ("chunks", "columns"):
        walk_tile(steps=False)  # along an axis that is empty
        walk_tile(steps=False)
    return before


def finish_block(draft: DraftBlock, before: set[int]) -> Block:
    """``draft`` with its barriers, and where its input slot is read for the last time."""
    body: list[Instr | Barrier] = []
    free_after = -1
    for index, instr in enumerate(draft.instrs):
        if index in before:
            body.append(Barrier())
        body.append(instr)
        if any(_slot(x).area in (Area.IN, Area.HEAD) for x in (*instr.reads, *instr.writes)):
            free_after = len(body) - 1
    return Block(
        tuple(draft.loads), tuple(body), tuple(draft.stores), free_after, tuple(draft.kept)
    )
