"""Checks of Tile IR by walking it as a core would: memory, lifetimes, dtypes, barriers, stages.

The walk is independent of the passes: it follows bytes, not slots, and keeps for every slot which
local's value it holds. Loops are walked twice, so what crosses from one repetition into the next
is seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from pypto.error import Diagnostic, PyptoGeneralError, Span
from pypto.ir.dtype import DataType
from pypto.ir.expr import as_int, const
from pypto.ir.tensor import Buffer, root
from pypto.ir.tile import (
    Area,
    Barrier,
    Block,
    Copy,
    Instr,
    Kind,
    Local,
    Plan,
    Program,
    Slot,
    TileBranch,
    TileLoop,
    TileStage,
    Wait,
    walk_nodes,
)

if TYPE_CHECKING:
    from pypto.target import Target

__all__ = ["verify_tile"]

BLOCK = 32  # bytes
REPEAT = 256  # bytes
_STEP_AREAS = frozenset({Area.IN, Area.OUT})
_POSITIONS = {
    Area.IN: "VECIN", Area.HEAD: "VECIN", Area.CONST: "VECIN",
    Area.OUT: "VECOUT", Area.TAIL: "VECOUT",
}  # fmt: skip


def verify_tile(program: Program, target: Target) -> None:
    """Check ``program``; PyptoGeneralError names the first thing that is wrong.

    Checked: slots inside their areas, disjoint and large enough; the budget; queue counts; that
    every operand still holds its value when it is read; dtypes and rounding modes; a barrier
    between any two vector instructions that touch the same bytes; a core barrier between stages
    that touch the same global memory.
    """
    _check_stages(program)
    for stage in program.stages:
        for plan in stage.plans:
            _check_memory(plan, target, program.span)
            for instr in _instrs(plan):
                _check_types(instr, target)
            _Walk(plan).run()


def _defect(message: str, span: Span) -> NoReturn:
    code = PyptoGeneralError.default_code
    raise PyptoGeneralError([Diagnostic(PyptoGeneralError, code, f"Tile IR: {message}", span)])


def _instrs(plan: Plan) -> Iterator[Instr]:
    for block in plan.blocks():
        yield from (item for item in block.body if isinstance(item, Instr))


# --- stages ---


def _check_stages(program: Program) -> None:
    """Stages of a kernel without loops wait for what they need of other cores. Elsewhere that
    depends on what an iteration touches: the checked build of the twin sees it."""
    read: set[Buffer] = set()
    written: set[Buffer] = set()
    ready = {p.buffer for p in program.params if p.buffer is not None}
    straight = not any(isinstance(n, TileLoop | TileBranch) for n in program.body)
    for node in walk_nodes(program.body):
        if node is Wait.CORES:
            read, written = set(), set()
        if not isinstance(node, TileStage):
            continue
        for plan in node.plans:
            loads = [c for b in plan.blocks() for c in b.loads]
            stores = [c for b in plan.blocks() for c in b.stores]
            for copy in loads:
                if root(copy.buffer) not in ready:
                    _defect(f"{copy.buffer} is read before it is written", copy.span)
            for copy in loads + stores:
                memory = root(copy.buffer)
                empty = const(0) in copy.buffer.type.shape
                whole = straight and as_int(copy.offset) == 0 and not empty
                if whole and (memory in written or (copy in stores and memory in read)):
                    _defect(f"{copy.buffer} is used without waiting for other cores", copy.span)
            _check_in_place(loads, stores)
        for plan in node.plans:
            loads = [c for b in plan.blocks() for c in b.loads]
            stores = [c for b in plan.blocks() for c in b.stores]
            read |= {root(c.buffer) for c in loads if as_int(c.offset) == 0}
            written |= {root(c.buffer) for c in stores if as_int(c.offset) == 0}
            ready |= {root(c.buffer) for c in stores}


def _check_in_place(loads: list[Copy], stores: list[Copy]) -> None:
    """Within a stage memory that is written may be read only where the same step writes it, or in
    another part of the buffer."""
    for store in stores:
        for load in loads:
            same = root(load.buffer) is root(store.buffer) and load.offset == store.offset
            if same and load.strides != store.strides:
                _defect(f"{load.buffer} is read where another step writes it", load.span)


# --- memory ---


def _check_memory(plan: Plan, target: Target, span: Span) -> None:
    depth = {area: plan.depth if area in _STEP_AREAS else 1 for area in plan.areas}
    total = sum(size * depth[area] for area, size in plan.areas.items())
    if total > target.ub_budget:
        _defect(f"{total} bytes of on-chip memory, {target.ub_budget} are there", span)
    limits = target.limits["queues"]
    positions: Counter[str] = Counter()
    for area, count in depth.items():
        positions[_POSITIONS.get(area, "VECCALC")] += count
    for position in ("VECIN", "VECOUT"):
        if positions[position] > limits["buffers_per_position"]:
            _defect(f"{positions[position]} queue buffers at {position}", span)
    if sum(positions.values()) > limits["buffers_total"]:
        _defect(f"{sum(positions.values())} buffers in all", span)
    ranges: dict[tuple[Area, int], dict[tuple[int, int], Slot]] = {}
    for local in _locals(plan):
        place = (_slot(local).area, _slot(local).phase)
        _check_slot(plan, local, ranges.setdefault(place, {}), span)


def _locals(plan: Plan) -> list[Local]:
    stored = [c.local for b in plan.blocks() for c in b.stores]
    return list(dict.fromkeys([*plan.locals(), *stored]))


def _slot(local: Local) -> Slot:
    if local.slot is None:
        raise PyptoGeneralError(f"Tile IR: {local} has no memory")
    return local.slot


def _check_slot(plan: Plan, local: Local, ranges: dict[tuple[int, int], Slot], span: Span) -> None:
    slot = _slot(local)
    first, last = slot.offset, slot.offset + slot.bytes
    if slot.offset % BLOCK or slot.bytes % BLOCK:
        _defect(f"{local} is not aligned", span)
    if last > plan.areas[slot.area]:
        _defect(f"{local} ends at {last}, its area at {plan.areas[slot.area]}", span)
    if slot.area is not Area.KEPT and slot.bytes < _needed(plan, local):
        _defect(f"{local} needs {_needed(plan, local)} bytes and has {slot.bytes}", span)
    for (start, end), other in ranges.items():
        if other is not slot and first < end and start < last:
            _defect(f"{local} overlaps another buffer", span)
    ranges[first, last] = slot


def _needed(plan: Plan, local: Local) -> int:
    """Bytes that the largest step writes to ``local``."""
    size, rows = local.dtype.bytes, plan.rows_max
    eights = -(-rows // 8) * 8  # Brcb takes and gives rows in eights
    row = plan.step_max if plan.cols_max is None else plan.cols_max
    return {
        Kind.FULL: plan.step_max * size,
        Kind.TURNED: plan.step_max * size,
        Kind.COL: -(-rows * size // BLOCK) * BLOCK,
        Kind.ROW: row * size,
        Kind.ONE: BLOCK,
        Kind.COL_BLOCKS: eights * BLOCK,
        Kind.ONE_BLOCKS: 8 * BLOCK,
        Kind.FOLD: rows * REPEAT,
        Kind.FOLD_TWICE: 2 * rows * REPEAT,
        Kind.ONE_TOTALS: 2 * REPEAT,
        Kind.PIECES: 2 * 64 * 32 * size,
        Kind.BYTES: 2048,
        Kind.FULL_BITS: plan.step_max // 8,
        Kind.COL_BITS: rows // 8,
        Kind.ROW_BITS: row // 8,
        Kind.ONE_BITS: REPEAT // 8,
    }[local.kind]


# --- types ---


_NAMES = {"DataCopy": "DataCopy(UB->UB)", "GatherMask": "GatherMask(bits)"}
_SPREADS = {"spread_col": "Copy", "spread_one": "Copy", "spread_row": "DataCopy"}
_WHOLE = {"Sum": "WholeReduceSum", "Max": "WholeReduceMax", "Min": "WholeReduceMin"}
_CHOOSES = ("Compare", "Select(tensor,tensor)")  # the lanes of a sum that are numbers
_PAIR = {"Sum": "Add", "Prod": "Mul", "Max": "Max", "Min": "Min"}


def _check_types(instr: Instr, target: Target) -> None:
    dtypes = {x.dtype for x in (instr.dst, *instr.srcs)}
    dtype = instr.dst.dtype
    if instr.form == "cast":
        modes = target.cast_modes(instr.srcs[0].dtype, dtype)
        if f"CAST_{instr.attrs[0]}" not in modes:
            _defect(
                f"Cast from {instr.srcs[0].dtype} to {dtype} has no mode {instr.attrs[0]}",
                instr.span,
            )
        return
    if instr.form == "keep" and dtype.bytes not in (2, 4):
        _defect(f"{instr.name} takes dtypes of 2 and 4 bytes", instr.span)
    if instr.form == "spread_halves" and dtype.bytes != 8:
        _defect(f"{instr.name} takes dtypes of 8 bytes", instr.span)
    if instr.form in ("fill_bytes", "fill_halves", "spread_halves"):
        dtypes = {DataType.DT_INT32 if dtype.bytes == 8 else DataType.DT_INT16}
        (dtype,) = dtypes  # of the pairs or halves
    if instr.form == "turn":
        _check_turn(instr, target)
        return
    if instr.form == "pair":
        if ({x.dtype for x in instr.srcs}, dtype) != ({DataType.DT_INT32}, DataType.DT_INT64):
            _defect(f"{instr.name} takes INT32 to INT64", instr.span)
        return
    if instr.form == "low_half":
        if (instr.srcs[0].dtype, dtype) != (DataType.DT_INT64, DataType.DT_INT32):
            _defect(f"{instr.name} takes INT64 to INT32", instr.span)
        return
    if instr.form in _MASKED:
        _check_masked(instr, target)
        return
    if len(dtypes) != 1:
        _defect(f"{instr.name} mixes {', '.join(sorted(map(str, dtypes)))}", instr.span)
    if instr.form == "flip_sign":
        if dtype != DataType.DT_FP32:
            _defect(f"{instr.name} takes FP32", instr.span)
        dtype = DataType.DT_INT32  # its instructions work on the bits
    if instr.form == "bits":
        dtype = DataType.DT_UINT16  # of the bits, whatever they mean
    for name in _instructions(instr):
        rows = target.instruction(name).dtypes
        kinds = {row[0] for row in rows}
        if not any(target.takes(name, dtype, *row[1:]) for row in rows):
            _defect(f"{name} does not take {dtype}; it takes {sorted(kinds)}", instr.span)
    if instr.form == "finish" and instr.attrs[1:] == ("two_sum",):
        for name in _CHOOSES:
            if not target.takes(name, "uint8", dtype):
                _defect(f"{name} does not take {dtype}", instr.span)


def _check_turn(instr: Instr, target: Target) -> None:
    """A tile and its transpose, by blocks; 8-byte elements by the offsets of their halves."""
    (src,) = instr.srcs
    if {src.kind, instr.dst.kind} != {Kind.FULL, Kind.TURNED} or src.dtype != instr.dst.dtype:
        _defect(f"{instr.name} transposes {src} into {instr.dst}", instr.span)
    name = "Gather" if src.dtype.bytes == 8 else "TransDataTo5HD"
    dtype = {8: DataType.DT_INT32}.get(src.dtype.bytes, src.dtype)
    dtype = DataType.DT_FP16 if dtype is DataType.DT_BF16 else dtype  # the same bits
    if not target.takes(name, dtype):
        _defect(f"{name} does not take {dtype}", instr.span)


_MASKED = ("compare", "compares", "select", "selects")


def _check_masked(instr: Instr, target: Target) -> None:
    """Compare gives bits, Select takes them; Compare works on whole repeats of its operands."""
    data = list(instr.srcs)
    mask, name = instr.dst, instr.name
    if instr.form in ("select", "selects"):
        mask, data = data[0], [instr.dst, *data[1:]]
        name = f"Select(tensor,{'tensor' if instr.form == 'select' else 'scalar'})"
    dtype = data[0].dtype
    if mask.dtype != DataType.DT_UINT16 or mask.kind.elements is mask.kind:
        _defect(f"{instr.name}: {mask} holds no bits", instr.span)
    if any(x.dtype != dtype or x.kind is not mask.kind.elements for x in data):
        _defect(f"{instr.name} mixes {', '.join(str(x) for x in data)}", instr.span)
    if not target.takes(name, "uint8", dtype):
        _defect(f"{name} does not take {dtype}", instr.span)
    if instr.form in ("compare", "compares"):
        if instr.attrs[0] not in target.compare_modes(dtype):
            _defect(f"{name} of {dtype} has no mode {instr.attrs[0]}", instr.span)
        for local in data:
            slot = _slot(local)  # kept memory has most of a repeat behind what it holds
            if slot.area is not Area.KEPT and slot.bytes % REPEAT:
                _defect(f"{name} reads behind {local}", instr.span)


def _instructions(instr: Instr) -> list[str]:
    """Ascend C instructions that ``instr`` becomes."""
    if instr.form in ("with_col", "with_row", "with_one"):
        return [instr.attrs[0]]
    if instr.form in _SPREADS:
        return [_NAMES.get(_SPREADS[instr.form], _SPREADS[instr.form])]
    if instr.form in ("reduce", "finish", "accumulate", "accumulate_rows"):
        stem = instr.attrs[0]
        pair = [_PAIR[stem]]
        if instr.attrs[1:] == ("two_sum",):
            pair += ["Sub", "Adds"] if instr.form == "accumulate" else []
        if instr.form.startswith("accumulate"):
            return pair
        pairs = instr.attrs[1:] == ("pairs",)
        across = [_NAMES["GatherMask"], _PAIR[stem]] if pairs else [_WHOLE[stem]]
        return across if instr.attrs[1:] == ("direct",) else [*across, *pair]
    if instr.form == "fill_halves":
        return ["Duplicate"]
    if instr.form == "spread_halves":
        return ["Duplicate", "Gather"]
    if instr.form in ("scan", "scan_down", "last_row"):
        if instr.form == "last_row":
            return ["DataCopy(UB->UB)"]
        across = ["TransDataTo5HD", "Gather"] if instr.form == "scan" else []
        return [_PAIR[instr.attrs[0]], *across]
    if instr.form == "flip_sign":
        return ["ShiftRight", "Muls", "Add"]
    if instr.form == "keep":
        return ["DataCopy(UB->UB)", "Copy"]
    if instr.form == "gcd":
        return ["Adds", "Add", "Sub", "Mul", "Muls", "Max"]
    if instr.name == "Power":
        return ["Power(tensor,tensor)" if len(instr.srcs) == 2 else "Power(tensor,scalar)"]
    return [_NAMES.get(instr.name, instr.name)]


# --- the walk ---


@dataclass(slots=True)
class _Touched:
    """Byte ranges (area, first, end) that instructions since the last barrier read and wrote."""

    read: set[tuple[Area, int, int]] = field(default_factory=set)
    written: set[tuple[Area, int, int]] = field(default_factory=set)


class _Walk:
    """One core's way through a plan: what each slot holds, and which bytes wait for a barrier."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.holds: dict[tuple[Area, int], Local] = {}
        self.touched = _Touched()
        self.gone: set[Area] = set()  # areas handed back to their queue

    def run(self) -> None:
        plan = self.plan
        self._block(plan.prologue, Area.CONST, Area.OUT)
        for _ in range(2):
            self._forget({Area.HEAD, Area.TAIL})
            self._block(plan.head, Area.HEAD, Area.OUT)
            for phase in plan.phases:
                self._block(phase.start, Area.IN, Area.OUT)
                for _ in range(2 if plan.form in ("chunks", "columns") else 1):
                    self._forget(set(_STEP_AREAS))
                    self._block(phase.step, Area.IN, Area.OUT)
                    self._forget(set(_STEP_AREAS))
                self._block(phase.finish, Area.IN, Area.OUT)
            self._block(plan.tail, Area.HEAD, Area.TAIL)

    def _forget(self, areas: set[Area]) -> None:
        """The queues of ``areas`` give other buffers now, ordered by their events."""
        self.holds = {k: v for k, v in self.holds.items() if k[0] not in areas}
        for ranges in (self.touched.read, self.touched.written):
            ranges -= {r for r in ranges if r[0] in areas}

    def _block(self, block: Block, into: Area, out: Area) -> None:
        for copy in block.loads:
            if _slot(copy.local).area is not into:
                _defect(f"{copy.local} is not loaded to its queue", copy.span)
            self.holds[self._key(copy.local)] = copy.local
        made: set[Local] = set()
        makes = {item.dst for item in block.body if isinstance(item, Instr)}
        for copy in block.kept:
            if _slot(copy.local).area is not Area.KEPT:
                _defect(f"{copy.local} is not kept", copy.span)
            if copy.local not in makes:
                self.holds[self._key(copy.local)] = copy.local
        for index, item in enumerate(block.body):
            if isinstance(item, Barrier):
                self.touched = _Touched()
                continue
            self._instr(item)
            made.add(item.dst.base)
            late = block.loads and into is Area.IN and index > block.free_after
            if late and any(_slot(x).area is Area.IN for x in (*item.reads, *item.writes)):
                _defect(f"{item.name} uses an input that was given back", item.span)
        for copy in block.stores:
            if _slot(copy.local).area is not out:
                _defect(f"{copy.local} is not stored from its queue", copy.span)
            local = copy.local.base
            if local not in made or self.holds.get(self._key(local)) is not local:
                _defect(f"{copy.local} is stored after it was overwritten", copy.span)

    def _key(self, local: Local) -> tuple[Area, int]:
        slot = _slot(local)
        return slot.area, slot.offset

    def _instr(self, instr: Instr) -> None:
        for source in instr.srcs:
            if self.holds.get(self._key(source)) is not source.base:
                _defect(f"{instr.name} reads {source}, which is not there any more", instr.span)
        self._check_overlap(instr)
        reads = {self._range(x) for x in instr.srcs}
        writes = {self._range(x) for x in (instr.dst, *instr.scratch)}
        if (
            _meet(reads, self.touched.written)
            or _meet(writes, self.touched.written)
            or _meet(writes, self.touched.read)
        ):
            _defect(f"{instr.name} needs a barrier before it", instr.span)
        self.touched.read |= reads
        self.touched.written |= writes
        for local in (*instr.scratch, instr.dst):
            self.holds[self._key(local)] = local

    def _check_overlap(self, instr: Instr) -> None:
        used = {self._range(x) for x in instr.srcs}
        for scratch in instr.scratch:
            if _meet({self._range(scratch)}, used | {self._range(instr.dst)}):
                _defect(f"{instr.name} overwrites an operand by its scratch", instr.span)
        for source in instr.srcs:
            if not _meet({self._range(source)}, {self._range(instr.dst)}) or source is instr.dst:
                continue
            alike = (source.kind, source.dtype.bytes) == (instr.dst.kind, instr.dst.dtype.bytes)
            if not instr.in_place or not alike:
                _defect(f"{instr.name} overwrites its operand {source}", instr.span)

    def _range(self, local: Local) -> tuple[Area, int, int]:
        slot = _slot(local)
        return slot.area, slot.offset, slot.offset + slot.bytes


def _meet(a: set[tuple[Area, int, int]], b: set[tuple[Area, int, int]]) -> bool:
    return any(x[0] is y[0] and x[1] < y[2] and y[1] < x[2] for x in a for y in b)
