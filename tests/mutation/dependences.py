"""Which synchronisations the Tile IR needs: written apart from the pass that places them and from
the checked twin.

A plan is unrolled to a few repetitions of its loops. Two vector instructions depend on each other
when they touch the same bytes of the same buffer and one of them writes; a barrier between them
orders them, and so does a queue whose buffer goes round: what stood before it was given back is
over when it is filled, or asked for, again. An instruction may be a function of the text with
barriers of its own, which divide what it touches first from what it touches later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pypto.ir.expr import Const
from pypto.ir.tile import Area, Barrier, Block, Instr, Local, Plan, Program

from .mutants import Mutants, Site

__all__ = ["needed"]

_FUNCTION = re.compile(
    r"^__aicore__ inline void (\w+)\(([^)]*)\)\n{\n(.*?)^}\n", re.MULTILINE | re.DOTALL
)
_TENSOR = re.compile(r"const LocalTensor<\w+>& (\w+)")
_VIEW = re.compile(r"(\w+) = (\w+)\[")
_QUEUES = {"constQue_": Area.CONST, "headQue_": Area.HEAD}  # loaded before others
_WORD = re.compile(r"[A-Za-z_]\w*")

_ONCE = (Area.CONST, Area.CALC)  # their memory stays the same from step to step


def needed(mutants: Mutants, program: Program, text: str, often: Mapping[int, int]) -> set[int]:
    """The numbers of those sites without which a dependence of ``program`` has no order left.
    ``text`` is the Ascend C of it, unchanged; ``often``: how often a core comes to each site."""
    plans = [plan for stage in program.stages for plan in stage.plans]
    functions = {}  # by name and number of tensors
    for name, parameters, body in _FUNCTION.findall(text):
        function = _parts(parameters, body)
        functions[name, len(function.tensors)] = function
    classes = re.findall(r"^class (\w+) {", mutants.text, re.MULTILINE)
    classes = [name for name in classes if name != "MutantQueue"]
    assert len(classes) == len(plans)
    found: set[int] = set()
    for name, plan in zip(classes, plans, strict=True):
        sites = [site for site in mutants.sites if site.scope[0] == name]
        barriers = [site for site in sites if site.kind == "PipeBarrier<PIPE_V>"]
        times = [often.get(site.number, 0) for site in barriers]
        wanted = _needed_barriers(plan, functions, times)
        assert len(barriers) == len(wanted), f"{mutants.name}: the barriers of {name}"
        found |= {
            site.number for site, is_wanted in zip(barriers, wanted, strict=True) if is_wanted
        }
        found |= {site.number for site in sites if _queue_needed(site, plan, often)}
    # Stages share on-chip memory, and hand one another what they store.
    between = [s for s in mutants.sites if s.kind in ("PipeBarrier<PIPE_ALL>", "SyncAll")]
    return found | {site.number for site in between}


def _queue_needed(site: Site, plan: Plan, often: Mapping[int, int]) -> bool:
    """A buffer need not come back when the queue has one for each tensor."""
    if site.kind == "EnQue":
        return True  # DeQue would wait for ever
    if site.kind.startswith("forward"):
        area = next((a for name, a in _QUEUES.items() if name in site.text), None)
        return area is None or _used_first(plan, area)
    depth = plan.depth if "inQue_" in site.text or "outQue_" in site.text else 1
    if site.kind == "FreeTensor":
        return often.get(site.number, 0) > depth
    if site.kind.startswith("backward"):  # asked by AllocTensor and by FreeTensor
        return often.get(site.number, 0) > 2 * depth
    return False


def _used_first(plan: Plan, area: Area) -> bool:
    """Whether the vector pipe uses what was loaded to ``area`` before it waits for a later load,
    which is complete only when the earlier one is."""
    for block in plan.blocks():
        later = any(c.local.slot is not None and c.local.slot.area is not area for c in block.loads)
        if later:
            return False
        used = (x.slot for i in block.body if isinstance(i, Instr) for x in (*i.reads, *i.writes))
        if any(slot is not None and slot.area is area for slot in used):
            return True
    return False


def _one_tile(plan: Plan) -> bool:
    """Whether the tiles of ``plan``, of whole rows or parts of one, are of one row in all."""
    rows = plan.space.rows
    one = isinstance(rows, Const) and rows.value == 1
    return plan.form != "run" and one and not plan.space.outer


@dataclass(slots=True)
class _Part:
    """What a function does from one of its barriers to the next, by the names of its parameters."""

    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Function:
    """A function of the text that stands for one instruction: its tensors, and its parts."""

    tensors: list[str]
    parts: list[_Part]


def _parts(parameters: str, body: str) -> _Function:
    """The parts between the barriers that ``body`` comes to in any case: those outside of loops and
    branches, and those of loops from 0, which run once at least."""
    tensors = _TENSOR.findall(parameters)
    names = {name: name for name in tensors}
    parts = [_Part()]
    certain = [True]
    for line in body.splitlines():
        code = line.partition("//")[0].strip()
        if code.startswith("}"):
            certain.pop()
        if code.startswith("const LocalTensor"):
            names |= {view: names[of] for view, of in _VIEW.findall(code) if of in names}
        elif code == "PipeBarrier<PIPE_V>();":
            if all(certain):
                parts.append(_Part())
        else:
            _note(parts[-1], code, names)
        if code.endswith("{"):
            certain.append(code.startswith("for (uint32_t c = 0; c < cols;"))
    return _Function(tensors, parts)


def _note(part: _Part, code: str, names: dict[str, str]) -> None:
    """A call writes its first argument and reads all."""
    function, _, arguments = code.partition("(")
    first = True
    for word in _WORD.findall(arguments) if _WORD.fullmatch(function.split("<")[0]) else ():
        if word in names:
            (part.writes if first else part.reads).add(names[word])
            first = False


@dataclass(slots=True)
class _Access:
    """Bytes [begin, end) of a buffer: an area, and which of its buffers."""

    buffer: tuple[Area, int]
    begin: int
    end: int

    def meets(self, other: _Access) -> bool:
        return self.buffer == other.buffer and self.begin < other.end and other.begin < self.end


@dataclass(slots=True)
class _Issued:
    """An instruction, and its place in the order of the program."""

    place: int
    reads: list[_Access]
    writes: list[_Access]

    def conflicts(self, other: _Issued) -> bool:
        return any(
            a.meets(b)
            for mine, theirs in (
                (self.writes, other.writes),
                (self.writes, other.reads),
                (self.reads, other.writes),
            )
            for a in mine
            for b in theirs
        )


@dataclass(slots=True)
class _Walk:
    """The vector pipe on its way through a plan, without the barrier ``removed``."""

    plan: Plan
    functions: dict[tuple[str, int], _Function]
    removed: int
    place: int = 0
    since: list[_Issued] = field(default_factory=list)  # not known to be complete
    given: dict[Area, list[int]] = field(default_factory=dict)  # places where buffers were given on
    taken: dict[Area, int] = field(default_factory=dict)
    broken: bool = False

    def take(self, area: Area) -> None:
        """The next buffer of a queue: all before its last round is complete."""
        depth = self.plan.depth if area in (Area.IN, Area.OUT) else 1
        number = self.taken.get(area, 0)
        self.taken[area] = number + 1
        rounds = self.given.get(area, [])
        if number >= depth and number - depth < len(rounds):
            last = rounds[number - depth]
            self.since = [issued for issued in self.since if issued.place >= last]

    def give(self, area: Area) -> None:
        self.given.setdefault(area, []).append(self.place)

    def barrier(self, number: int) -> None:
        if number != self.removed:
            self.since.clear()

    def instruction(self, instr: Instr) -> None:
        operands = (instr.dst, *instr.srcs, *instr.scratch)
        function = self.functions.get((instr.name, len(operands)))
        if function is None and instr.dst in instr.srcs:  # printed once
            operands = (*(s for s in instr.srcs if s is instr.dst),)
            operands += (*(s for s in instr.srcs if s is not instr.dst), *instr.scratch)
            function = self.functions.get((instr.name, len(operands)))
        if function is None:
            return self.issue(instr.reads, instr.writes)
        named = dict(zip(function.tensors, operands, strict=True))
        for number, part in enumerate(function.parts):
            if number != 0:
                self.since.clear()
            reads = tuple(named[name] for name in sorted(part.reads))
            self.issue(reads, tuple(named[name] for name in sorted(part.writes)))

    def issue(self, reads: Sequence[Local], writes: Sequence[Local]) -> None:
        issued = _Issued(
            self.place, [self.access(x) for x in reads], [self.access(x) for x in writes]
        )
        self.place += 1
        self.broken |= any(issued.conflicts(earlier) for earlier in self.since)
        self.since.append(issued)

    def access(self, local: Local) -> _Access:
        slot = local.slot
        assert slot is not None
        number = 0 if slot.area in _ONCE else self.taken.get(slot.area, 0)
        return _Access((slot.area, number), slot.offset, slot.offset + slot.bytes)


def _needed_barriers(
    plan: Plan, functions: dict[tuple[str, int], _Function], times: Sequence[int]
) -> list[bool]:
    """For each barrier, in the order of the text, whether something depends on it; ``times``: how
    often a core comes to each."""
    numbers = {}
    for block in plan.blocks():
        for index, item in enumerate(block.body):
            if isinstance(item, Barrier):
                numbers[id(block), index] = len(numbers)
    rounds = plan.depth + 2
    intact = _walk(_Walk(plan, functions, -1), numbers, rounds)
    assert not intact.broken, "two dependent instructions have no barrier between them"
    return [
        _walk(_Walk(plan, functions, number), numbers, min(rounds, often)).broken
        for number, often in zip(range(len(numbers)), times, strict=True)
    ]


def _walk(walk: _Walk, numbers: dict[tuple[int, int], int], rounds: int) -> _Walk:
    """Through at most ``rounds`` tiles, of as many chunks each."""
    plan = walk.plan
    _run(walk, plan.prologue, numbers, (), ())
    for _ in range(1 if _one_tile(plan) else rounds):
        heads = [Area.HEAD] if plan.head.loads else []
        _run(walk, plan.head, numbers, heads, ())
        for phase in plan.phases:
            _run(walk, phase.start, numbers, (), ())
            for _ in range(rounds if plan.form == "chunks" else 1):
                step = phase.step
                ins = [Area.IN] if step.loads else []
                outs = [Area.OUT] if step.stores else []
                _run(walk, step, numbers, ins, outs)
            _run(walk, phase.finish, numbers, (), ())
        _run(walk, plan.tail, numbers, (), [Area.TAIL] if plan.tail.stores else [])
        for area in heads:
            walk.give(area)
    return walk


def _run(
    walk: _Walk,
    block: Block,
    numbers: dict[tuple[int, int], int],
    ins: Sequence[Area],
    outs: Sequence[Area],
) -> None:
    for area in (*ins, *outs):
        walk.take(area)
    for index, item in _until_freed(block):
        if isinstance(item, Barrier):
            walk.barrier(numbers[id(block), index])
        elif isinstance(item, Instr):
            walk.instruction(item)
        else:
            for area in ins:
                if area is Area.IN:
                    walk.give(area)
    for area in outs:
        walk.give(area)


def _until_freed(block: Block) -> Iterator[tuple[int, Instr | Barrier | None]]:
    """The body, with None where its input is free again."""
    for index, item in enumerate(block.body):
        yield index, item
        if index == block.free_after:
            yield index, None
    if block.free_after < 0 or block.free_after >= len(block.body):
        yield len(block.body), None
