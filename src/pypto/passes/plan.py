"""From a stage to its plans: the forms it can run in, step capacities, memory, barriers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pypto.error import Diagnostic, PassError
from pypto.ir.bounds import upper_bound
from pypto.ir.expr import Expr, apply, as_int, const, product_of, variables_of
from pypto.ir.ranges import Ranges
from pypto.ir.sizes import Sizes
from pypto.ir.tile import Area, Form, Instr, Kind, Local, Phase, Plan, TileStage
from pypto.passes.draft import Draft
from pypto.passes.kept import NotKept, check_kept, row_granule
from pypto.passes.memory import NOTHING, Capacity, Keeping, Memory, plan_slots, round_up
from pypto.passes.select import SUMMED_ROWS, select
from pypto.passes.space import Layout, merge_axes
from pypto.passes.stage import Stage
from pypto.passes.synchronize import finish_block, synchronize

__all__ = ["Terms", "launch_bound", "plan_stage"]

ROWS_LIMIT = 248  # repeat counts are 8 bits; Brcb takes rows in eights
REPEATS = 255
TURN = 16  # rows that one instruction transposes
TILE = 32  # what the rows and columns of a tile that is transposed are multiples of, but the last
FEWEST = 64  # elements that a step holds at least
STRIP = 1024  # columns of a strip: a row of it is 4 KiB of FP32
DYNAMIC_ROWS = 64  # rows that a step may hold when the row length is known at launch only

# CPU cost of an instruction per element, in nanoseconds of one core: for the choice between one
# thread and all of them only.
_COST = {"Exp": 0.4, "Ln": 0.5, "Tanh": 0.8, "Sigmoid": 0.6, "Power": 3.0, "Div": 0.15, "Gcd": 20.0}


# Forms that work on any number of elements.
_COUNTED = frozenset(
    {
        "count", "cast", "library", "fill", "move", "low_half", "flip_sign", "compare", "compares",
        "select", "selects", "mask", "bits", "gcd", "turn", "iota", "pair",
        "fill_bytes", "fill_halves",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Choice:
    capacity: Capacity
    depth: int


@dataclass(frozen=True, slots=True)
class Terms:
    """What the plans of a stage are made for. ``budget``: bytes of on-chip memory; ``unit``:
    elements of the user's tile; ``keeping``: what else of on-chip memory has a meaning."""

    budget: int
    unit: int
    sizes: Sizes
    ranges: Ranges
    keeping: Keeping = NOTHING


def plan_stage(stage: Stage, terms: Terms) -> TileStage:
    """``stage`` with memory and barriers planned."""
    layout = merge_axes(stage, terms.sizes)
    spans = [n.statement.span for n in stage.nodes] + [store.span for store, _ in stage.stores]
    sources = list(dict.fromkeys(span.source for span in spans))
    spans.sort(key=lambda span: (sources.index(span.source), span.line, span.column))
    space = layout.space
    sizes = [*space.outer, space.rows, space.cols]
    elements = product_of(tuple(launch_bound(size, terms) for size in sizes))
    plans = tuple(_plans(stage, layout, terms))
    return TileStage(plans, tuple(dict.fromkeys(spans)), elements, guard=_guard(stage))


def _guard(stage: Stage) -> Expr | None:
    """What must hold for the stage to have anything to do; None: nothing in particular."""
    conditions = [apply("gt", size, 0) for size in sorted(stage.guards, key=str)]
    if not conditions:
        return None
    result = conditions[0]
    for condition in conditions[1:]:
        result = apply("and", result, condition)
    return result


def _plans(stage: Stage, layout: Layout, terms: Terms) -> list[Plan]:
    if layout.turned:
        return [_plan(stage, layout, "tiles", terms)]
    if not layout.has_rows and stage.reduced is None:
        return [_plan(stage, layout, "run", terms)]
    if stage.columnwise:
        return [_plan(stage, layout, "columns", terms)]
    cols, width = layout.space.cols, _width(layout, terms)
    rows: list[Plan] = []
    if width is None and not variables_of(cols):
        rows = [_plan(stage, layout, "rows", terms)]
    elif width:
        try:
            rows = [_plan(stage, layout, "rows", terms)]
        except _DoesNotFit:
            pass
    if rows and width is not None and (terms.ranges.lower(cols) or 0) > 0:
        return rows
    return [*rows, _plan(stage, layout, "chunks", terms)]


_LONG = const(1 << 32)


def launch_bound(expr: Expr, terms: Terms) -> Expr:
    """What ``expr`` does not exceed, from what is known at launch; a large number, if need be."""
    if not variables_of(expr):
        return expr
    upper = terms.ranges.upper(expr)
    if upper is not None:
        return const(max(upper, 0))
    found = upper_bound(expr, terms.ranges)
    return _LONG if found is None else apply("max", found, 0)


def _width(layout: Layout, terms: Terms) -> int | None:
    """The longest row, where that is a constant; None: known at launch at the earliest."""
    known = as_int(layout.space.cols)
    return terms.ranges.upper(layout.space.cols) if known is None else known


class _DoesNotFit(Exception):
    """Not even the smallest step fits."""


def _plan(stage: Stage, layout: Layout, form: Form, terms: Terms) -> Plan:
    draft = select(stage, layout, form, terms.sizes, terms.keeping.slots)
    memory = plan_slots(draft)
    align = _alignment(draft)
    width = _width(layout, terms) if form == "rows" else None
    try:
        choice = _choose(draft, memory, width, align, terms)
    except _DoesNotFit:
        if form == "rows":
            raise
        if terms.keeping.slots:
            raise NotKept(terms.keeping.slots) from None
        raise _too_much(stage, terms) from None
    areas = memory.layout(choice.capacity)
    if any(block.kept for block in draft.blocks()):
        areas[Area.KEPT] = terms.keeping.bytes
    barriers = synchronize(draft)
    finish = {id(b): finish_block(b, barriers[id(b)]) for b in draft.blocks()}
    phases = tuple(
        Phase(finish[id(p.start)], finish[id(p.step)], finish[id(p.finish)]) for p in draft.phases
    )
    per_element, per_row = _density(draft, memory)
    single_pass = len(draft.phases) == 1 and not draft.phases[0].start.instrs
    plan = Plan(
        form=form,
        space=layout.space,
        bound=launch_bound(layout.space.cols, terms),
        rows_bound=launch_bound(layout.space.rows, terms),
        groups_bound=product_of(tuple(launch_bound(s, terms) for s in layout.space.outer)),
        step_max=choice.capacity.step,
        rows_max=choice.capacity.rows,
        align=align,
        pitch=None if width is None else round_up(width, align),
        unit=terms.unit,
        cols_max=choice.capacity.row if form in ("rows", "columns") else None,
        row_granule=row_granule(draft),
        parallel_chunks=form == "chunks" and single_pass and not finish[id(draft.tail)].stores,
        prologue=finish[id(draft.prologue)],
        head=finish[id(draft.head)],
        phases=phases,
        tail=finish[id(draft.tail)],
        areas=areas,
        depth=choice.depth,
        bytes_per_element=per_element,
        bytes_per_row=per_row,
        cost=_cost(draft),
    )
    check_kept(plan)
    return plan


def _too_much(stage: Stage, terms: Terms) -> PassError:
    message = "the stage needs more on-chip memory than there is, even for the smallest step"
    return PassError(
        [
            Diagnostic(
                PassError, "F40001", message, stage.nodes[0].statement.span,
                expected=f"at most {terms.budget} bytes",
                help="split the kernel: store an intermediate value to a tensor",
            )
        ]
    )  # fmt: skip


def _alignment(draft: Draft) -> int:
    """Elements that a row's pitch must be a multiple of: 32 bytes of the narrowest dtype."""
    sizes = [
        x.dtype.bytes
        for b in draft.blocks()
        for x in [c.local for c in b.loads] + [i.dst for i in b.instrs]
        if x.kind in (Kind.FULL, Kind.TURNED, Kind.ROW)
    ]
    unit = 32 // min(sizes, default=4)
    return max(unit, TURN) if draft.form == "tiles" else unit


def _instrs(draft: Draft) -> list[Instr]:
    return [i for b in draft.blocks() for i in b.instrs]


def _choose(draft: Draft, memory: Memory, width: int | None, align: int, terms: Terms) -> _Choice:
    """The largest step that fits, double-buffered if a useful one does, else single-buffered."""
    strided = [i for i in _instrs(draft) if i.form not in _COUNTED]
    narrow = min((i.dst.dtype.bytes for i in strided), default=1)
    budget = terms.budget - terms.keeping.bytes
    limit = REPEATS * (256 // max(narrow, 2)) if strided else budget
    if any(i.dst.dtype.bytes == 4 or any(s.dtype.bytes >= 4 for s in i.srcs) for i in strided):
        limit = min(limit, REPEATS * 64)
    make = _capacities(draft, width, align, terms, limit)
    for depth in (2, 1):
        capacity = _largest(make, lambda c, d=depth: memory.total(c, d) <= budget)  # type: ignore[misc]
        if capacity is not None and (depth == 1 or _useful(draft, capacity)):
            return _Choice(capacity, depth)
    raise _DoesNotFit


def _useful(draft: Draft, capacity: Capacity) -> bool:
    """Whether a double-buffered step is worth having: not a sliver, or a whole row anyway."""
    return draft.form == "rows" or capacity.step >= 256


def _capacities(
    draft: Draft, width: int | None, align: int, terms: Terms, limit: int
) -> tuple[Callable[[int], Capacity], int]:
    """How a capacity grows with a count, and the largest count worth trying."""
    if draft.form == "columns":
        return _strips(draft, align, terms)
    if width is not None:
        pitch = round_up(width, align)
        if pitch > limit:
            raise _DoesNotFit
        rows = terms.ranges.upper(draft.layout.space.rows)
        most = min(ROWS_LIMIT, max(rows if rows is not None else ROWS_LIMIT, 1))
        return lambda n: Capacity(n * pitch, n, pitch), most
    if draft.form == "tiles":
        return lambda n: Capacity(n * TILE * TILE, 1, TILE), _tiles(draft, terms, limit)
    granule = max(FEWEST, align)
    if draft.form == "rows":
        return lambda n: Capacity(n * granule, DYNAMIC_ROWS, n * granule), limit // granule
    if granule < terms.unit <= 4096 and terms.unit % align == 0:
        granule = terms.unit
    most = limit // granule
    total = terms.ranges.upper(draft.layout.space.cols)
    if total is not None:
        most = min(most, max(1, -(-total // granule)))
    return lambda n: Capacity(n * granule, 1, n * granule), most


def _tiles(draft: Draft, terms: Terms, limit: int) -> int:
    """The largest count of tiles of TILE rows and columns that a step is worth."""
    space = draft.layout.space
    most, wanted = limit // (TILE * TILE), 1
    for size in (terms.ranges.upper(size) for size in (space.rows, space.cols)):
        if size is None:
            return most
        wanted *= -(-max(size, 1) // TILE)
    return max(1, min(most, wanted))


def _strips(draft: Draft, align: int, terms: Terms) -> tuple[Callable[[int], Capacity], int]:
    """Of strips of columns: many rows of few columns, so that each row of the result is made of
    few steps, but no fewer columns than a copy is worth. A row is a repeat of its own."""
    cols = terms.ranges.upper(draft.layout.space.cols)
    rows = terms.ranges.upper(draft.layout.space.rows)
    width = STRIP if cols is None else min(STRIP, max(round_up(cols, align), align))
    most = SUMMED_ROWS if rows is None else max(min(SUMMED_ROWS, rows), 1)
    return lambda n: Capacity(n * FEWEST, most, min(width, n * FEWEST)), -(-most * width // FEWEST)


def _largest(
    make: tuple[Callable[[int], Capacity], int], fits: Callable[[Capacity], bool]
) -> Capacity | None:
    grow, most = make
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if fits(grow(middle)):
            low = middle
        else:
            high = middle - 1
    if low == 0:
        return None
    if low > 8 and grow(low).rows > 8:
        low -= low % 8
    return grow(low)


def _density(draft: Draft, memory: Memory) -> tuple[int, int]:
    """Bytes that a CPU wants to keep cached per element of a step and per row of it.

    Loads that one instruction reads and results that go to global memory pass through: the twin
    has no copy of them on chip.
    """
    reads: dict[Local, int] = {}
    for instr in _instrs(draft):
        for local in {s.base for s in instr.srcs}:
            reads[local] = reads.get(local, 0) + 1
    through = draft.form != "columns"  # rows that lie apart are copied
    loaded = {c.local for b in draft.blocks() for c in b.loads if through}
    kept = {x.slot for x, n in reads.items() if x.slot is not None and n > (x in loaded)}
    per_element = sum(s.dtype.bytes for s in memory.slots if s.kind is Kind.FULL and s in kept)
    if draft.form == "tiles":  # what is transposed is read where it lies on chip
        moved = [s for s in memory.slots if s.kind in (Kind.FULL, Kind.TURNED)]
        per_element = sum(s.dtype.bytes for s in moved)
    per_row = {Kind.COL: 4, Kind.COL_BLOCKS: 32, Kind.FOLD: 256, Kind.FOLD_TWICE: 512}
    return max(per_element, 1), sum(per_row.get(s.kind, 0) for s in memory.slots)


def _cost(draft: Draft) -> float:
    """Nanoseconds of one core per element of the space, roughly."""
    copies = sum(len(b.loads) + len(b.stores) for b in draft.blocks())
    work = sum(_COST.get(i.name, 0.06) for i in _instrs(draft) if i.extent is Kind.FULL)
    return round(0.08 * copies + work, 3)
