"""Planning on-chip memory: a slot for every local, an address and size for every slot.

Positions are the instructions of a plan in program order, loops once; what lives across a loop's
repetition lives through the whole loop. A slot may be used by one local after another when their
lifetimes do not meet, or exactly meet in an instruction that may write its own operand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pypto.ir.dtype import DataType
from pypto.ir.tensor import Buffer
from pypto.ir.tile import Area, Instr, Kind, Local, Slot
from pypto.passes.draft import Draft, DraftBlock

__all__ = ["NOTHING", "Capacity", "Keeping", "Memory", "plan_slots", "round_up", "slot_bytes"]

BLOCK = 32  # bytes; every slot starts at a multiple
REPEAT = 256  # bytes; Compare works on whole repeats of its operands
LIBRARY_SCRATCH = 8192  # bytes; library functions cut their work to what they get


@dataclass(frozen=True, slots=True)
class Keeping:
    """The tensors that one loop keeps on chip: where each lies, and how many bytes they take."""

    slots: Mapping[Buffer, Slot]
    bytes: int


NOTHING = Keeping({}, 0)


@dataclass(frozen=True, slots=True)
class Capacity:
    """What one step may hold: elements of a FULL local, rows, and elements of a ROW local."""

    step: int
    rows: int
    row: int


def slot_bytes(kind: Kind, dtype: DataType, capacity: Capacity) -> int:
    """Bytes of a slot for a local of ``kind`` and ``dtype``."""
    size = dtype.bytes
    rows8 = round_up(capacity.rows, 8)
    wanted = {
        Kind.FULL: capacity.step * size,
        Kind.TURNED: capacity.step * size,
        Kind.COL: rows8 * size,
        Kind.ROW: capacity.row * size,
        Kind.ONE: BLOCK,
        Kind.COL_BLOCKS: rows8 * BLOCK,
        Kind.ONE_BLOCKS: 8 * BLOCK,
        Kind.FOLD: capacity.rows * 256,
        Kind.FOLD_TWICE: capacity.rows * 512,
        Kind.ONE_TOTALS: 2 * REPEAT,
        Kind.PIECES: 2 * 64 * 32 * size,
        Kind.BYTES: LIBRARY_SCRATCH,
        Kind.FULL_BITS: bits(capacity.step),
        Kind.COL_BITS: bits(rows8),
        Kind.ROW_BITS: bits(capacity.row),
        Kind.ONE_BITS: BLOCK,
    }[kind]
    return round_up(wanted, BLOCK)


_USUAL = Capacity(8192, 64, 256)  # what lengths are compared by


def _longest(slot: Slot) -> tuple[Kind, DataType]:
    held = ((slot.kind, slot.dtype), *slot.others)
    return max(held, key=lambda one: slot_bytes(one[0], one[1], _USUAL))


def _usual_bytes(slot: Slot) -> int:
    kind, dtype = _longest(slot)
    return slot_bytes(kind, dtype, _USUAL)


def bits(elements: int) -> int:
    """Bytes of a bit for each element, in whole repeats of 2-byte elements."""
    return round_up(elements, REPEAT // 2) // 8


def round_up(value: int, unit: int) -> int:
    """``value``, or the next multiple of ``unit``."""
    return -(-value // unit) * unit


@dataclass(slots=True)
class _Life:
    """First and last position at which a local is needed."""

    first: int
    last: int


@dataclass(slots=True)
class Memory:
    """The slots of a plan, by area, in address order."""

    slots: list[Slot] = field(default_factory=list)
    unit: int = BLOCK  # bytes that slots are multiples of

    def layout(self, capacity: Capacity) -> dict[Area, int]:
        """Give each slot its offset and size; return the bytes of one buffer of each area."""
        ends: dict[tuple[Area, int], int] = {}
        areas: dict[Area, int] = {}
        for slot in self.slots:
            place = (slot.area, slot.phase)
            slot.offset = ends.get(place, 0)
            held = ((slot.kind, slot.dtype), *slot.others)
            wanted = max(slot_bytes(kind, dtype, capacity) for kind, dtype in held)
            slot.bytes = round_up(wanted, self.unit)
            ends[place] = slot.offset + slot.bytes
            areas[slot.area] = max(areas.get(slot.area, 0), ends[place])
        return areas

    def total(self, capacity: Capacity, depth: int) -> int:
        """On-chip bytes of the plan with ``depth`` buffers in the step's queues."""
        areas = self.layout(capacity)
        return sum(b * (depth if a in (Area.IN, Area.OUT) else 1) for a, b in areas.items())


class _Positions:
    """Program order of a draft's instructions, and the loops around them."""

    def __init__(self, draft: Draft) -> None:
        self.block_range: dict[int, tuple[int, int]] = {}  # id(block) -> first, last position
        position = 0
        for block in draft.blocks():
            end = position + len(block.instrs) + 1
            self.block_range[id(block)] = (position, end)
            position = end + 1
        self.end = position
        self.steps = [self.block_range[id(p.step)] for p in draft.phases]
        self.loops = list(self.steps) if draft.form in ("chunks", "columns") else []
        first = self.block_range[id(draft.head)][0]
        self.loops.append((first, self.end))  # the tile loop


def plan_slots(draft: Draft) -> Memory:
    """Assign a slot to every local of ``draft``."""
    return _Planner(draft).run()


class _Planner:
    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.positions = _Positions(draft)
        self.lives: dict[Local, _Life] = {}
        self.memory = Memory()
        self.owner: dict[Slot, Local] = {}  # the first local of a slot
        self.busy: dict[Slot, list[Local]] = {}  # locals of a slot that may still be needed
        self.makers: dict[Local, Instr] = {}  # the first instruction that writes a local
        self.home: dict[Local, Slot] = {}  # slots that queues dictate

    def run(self) -> Memory:
        for block in self.draft.blocks():
            self._measure(block)
        for life in self.lives.values():
            self._stretch(life)
        areas = {
            id(self.draft.prologue): (Area.CONST, Area.CALC),
            id(self.draft.head): (Area.HEAD, Area.CALC),
            id(self.draft.tail): (Area.HEAD, Area.TAIL),
        }
        phases = {id(p.step): n for n, p in enumerate(self.draft.phases)}
        for block in self.draft.blocks():
            into, out = areas.get(id(block), (Area.IN, Area.OUT))
            phase = phases.get(id(block), 0)
            for copy in block.loads:
                self._fixed(copy.local, into, phase)
            for copy in block.stores:
                if copy.local.base not in self.home:
                    self._fixed(copy.local.base, out, phase)
        for block in self.draft.blocks():
            start, _ = self.positions.block_range[id(block)]
            for index, instr in enumerate(block.instrs):
                self._assign(instr, start + index + 1)
                if instr.form in ("compare", "compares"):
                    self.memory.unit = REPEAT
        self._share()
        return self.memory

    def _share(self) -> None:
        """A local that shows another one's bits lies where that does."""
        for block in self.draft.blocks():
            shown = [s for i in block.instrs for s in i.srcs] + [c.local for c in block.stores]
            for local in shown:
                local.slot = local.base.slot

    def _measure(self, block: DraftBlock) -> None:
        start, end = self.positions.block_range[id(block)]
        for copy in block.loads:
            self._touch(copy.local, start)
        for index, instr in enumerate(block.instrs):
            self.makers.setdefault(instr.dst, instr)
            for local in (*instr.srcs, *instr.scratch, instr.dst):
                self._touch(local, start + index + 1)
        for copy in block.stores:
            self._touch(copy.local, end)

    def _touch(self, local: Local, position: int) -> None:
        life = self.lives.setdefault(local.base, _Life(position, position))
        life.last = max(life.last, position)

    def _stretch(self, life: _Life) -> None:
        for first, last in self.positions.loops:
            if life.first < first <= life.last:
                life.last = max(life.last, last)

    def _fixed(self, local: Local, area: Area, phase: int) -> None:
        slot = Slot(area, local.kind, local.dtype, phase)
        self.memory.slots.append(slot)
        self.home[local] = slot
        self._occupy(slot, local)

    def _occupy(self, slot: Slot, local: Local) -> None:
        local.slot = slot
        self.owner.setdefault(slot, local)
        self.busy.setdefault(slot, []).append(local)

    def _assign(self, instr: Instr, position: int) -> None:
        for scratch in instr.scratch:
            if scratch.slot is None:
                self._occupy(self._find(scratch, None, position), scratch)
        if instr.dst.slot is None:
            self._occupy(self._find(instr.dst, instr, position), instr.dst)

    def _find(self, local: Local, instr: Instr | None, position: int) -> Slot:
        life = self.lives[local]
        if instr is not None and instr.in_place:
            for source in (s.base for s in instr.srcs):
                slot = source.slot
                dying = self.lives[source].last == position
                if slot is not None and dying and self._suits(slot, local, life, position):
                    return slot
        # The input queue's memory last: using it longer delays the next copy in.
        for inputs in (False, True):
            for slot in self.memory.slots:
                if (slot.area is Area.IN) is inputs and self._suits(slot, local, life, None):
                    return slot
        longer = self._lengthened(local, life)
        if longer is not None:
            return longer
        slot = Slot(Area.CALC, local.kind, local.dtype)
        self.memory.slots.append(slot)
        return slot

    def _lengthened(self, local: Local, life: _Life) -> Slot | None:
        """The longest scratch slot that is free and not longer than ``local``, made longer: that
        takes less than another slot. A longer one is left to those that need its length."""
        wanted = slot_bytes(local.kind, local.dtype, _USUAL)
        shorter = [
            slot
            for slot in self.memory.slots
            if slot.area is Area.CALC
            and _usual_bytes(slot) <= wanted
            and self._free(slot, local, life)
        ]
        slot = max(shorter, key=_usual_bytes, default=None)
        if slot is not None:
            slot.others += ((local.kind, local.dtype),)
        return slot

    def _suits(self, slot: Slot, local: Local, life: _Life, meeting: int | None) -> bool:
        """True when ``slot`` has the right size and is free during ``life``; a user that ends at
        ``meeting``, where ``local`` begins, does not disturb."""
        kind, dtype = _longest(slot)
        if (kind, dtype.bytes) != (local.kind, local.dtype.bytes):
            return False
        if slot.area in (Area.CONST, Area.HEAD, Area.TAIL, Area.KEPT):
            return False
        if slot.area in (Area.IN, Area.OUT) and not self._same_step(slot, life):
            return False
        return self._free(slot, local, life, meeting)

    def _free(self, slot: Slot, local: Local, life: _Life, meeting: int | None = None) -> bool:
        """Whether nothing in ``slot`` is needed during ``life``."""
        # Locals get their slots in program order: who is not needed now never will be again.
        users = [u for u in self.busy[slot] if self.lives[u].last >= life.first]
        self.busy[slot] = users
        for user in users:
            other = self.lives[user]
            # In place only where elements take the same bytes.
            alike = (user.kind, user.dtype.bytes) == (local.kind, local.dtype.bytes)
            if alike and meeting is not None and other.last == meeting == life.first:
                continue
            if alike and other.first == life.last and self._in_place(user, local):
                continue
            if other.first <= life.last:
                return False
        return True

    def _in_place(self, later: Local, source: Local) -> bool:
        """True when ``later`` begins in an instruction that may overwrite ``source``."""
        maker = self.makers.get(later)
        return maker is not None and maker.in_place and source in [s.base for s in maker.srcs]

    def _same_step(self, slot: Slot, life: _Life) -> bool:
        """Queue slots are handed back each step: only locals of the same step may use one."""
        owner = self.lives[self.owner[slot]]
        return any(
            first <= owner.first
            and owner.last <= last
            and first <= life.first
            and life.last <= last
            for first, last in self.positions.steps
        )
