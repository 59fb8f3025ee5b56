"""One plan of the Tile IR as the view of one C++ class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from pypto.codegen.arguments import Arguments
from pypto.codegen.comments import source_line
from pypto.codegen.device import Members, cpp_type
from pypto.codegen.extents import Extents
from pypto.codegen.helpers import FILL_HALVES, SPREAD_HALVES, helper_for
from pypto.codegen.names import Names
from pypto.codegen.values import neutral
from pypto.codegen.views import (
    ConstantView,
    FunctionView,
    HelperView,
    PlanView,
    QueueView,
    Statement,
    TensorView,
)
from pypto.ir.dtype import DataType
from pypto.ir.expr import Expr, Variable, as_int
from pypto.ir.tensor import Buffer, root
from pypto.ir.tile import Area, Barrier, Block, Copy, Instr, Kind, Local, Phase, Plan, TileStage

__all__ = ["Globals", "PlanWriter", "queue_view"]

_POSITIONS = {
    Area.IN: ("VECIN", "inQue_"), Area.OUT: ("VECOUT", "outQue_"),
    Area.HEAD: ("VECIN", "headQue_"), Area.TAIL: ("VECOUT", "tailQue_"),
    Area.CONST: ("VECIN", "constQue_"), Area.CALC: ("VECCALC", "calcBuf_"),
    Area.KEPT: ("VECCALC", "keptBuf_"),
}  # fmt: skip
_BASES = {
    Area.IN: "inBuf", Area.OUT: "outBuf", Area.HEAD: "headBuf_", Area.TAIL: "tailBuf",
    Area.CONST: "constBuf_", Area.CALC: "calc",
}  # fmt: skip


@dataclass(slots=True)
class Globals:
    """What the classes of one kernel share: argument fields, tensor names, helpers."""

    arguments: Arguments
    tensors: dict[Buffer, str]  # name of each buffer in C++
    offsets: dict[Buffer, str]  # workspace buffers: field with their offset
    variables: dict[Variable, str]  # name of each variable in C++
    private: dict[Buffer, str] = field(default_factory=dict)  # field with the bytes of a core
    helpers: dict[HelperView, None] = field(default_factory=dict)
    functions: dict[str, None] = field(default_factory=dict)  # of scalars
    places: dict[Buffer, int] = field(init=False)  # of the tensors, in their order

    def __post_init__(self) -> None:
        self.places = {buffer: place for place, buffer in enumerate(self.tensors)}

    def pointer(self, buffer: Buffer) -> str:
        """Where ``buffer`` starts, in the kernel function and in constructors."""
        if buffer not in self.offsets:
            return self.tensors[buffer]
        text = f"workspace + args.{self.offsets[buffer]}"
        if buffer in self.private:
            text += f" + GetBlockIdx() * args.{self.private[buffer]}"
        return text


class PlanWriter:
    """Writes the view of one plan."""

    def __init__(
        self, stage: TileStage, plan: Plan, name: str, number: int, shared: Globals
    ) -> None:
        self.stage = stage
        self.plan = plan
        self.name = name
        self.shared = shared
        self.arguments = shared.arguments
        self.scalars = Members(shared.arguments, shared.variables, shared.functions)
        self.extents = Extents(plan, number, self.scalars)
        self.names: dict[Local, str] = {}
        self.kept = {copy.local: copy for block in plan.blocks() for copy in block.kept}
        self.area_types = {a: self._area_type(a) for a in plan.areas}
        self.types = {a: t.cpp for a, t in self.area_types.items()}
        # Global tensors, by memory, what it is read as, and offset.
        self.members: dict[tuple[Buffer, DataType, Expr], str] = {}
        self.member_names = Names()
        self.step = self.arguments.derived("step", number)
        self.width = self.extents.width
        if plan.form == "tiles":
            self.width = self.arguments.derived("width", number)
        self._name_locals()

    # --- names ---

    def _area_type(self, area: Area) -> DataType:
        """The dtype most locals of an area have; the others reinterpret."""
        found = (x.dtype for x in self.plan.locals() if x.slot and x.slot.area is area)
        types = Counter(found)
        return max(types, key=lambda t: (types[t], t.bytes, t))

    def _name_locals(self) -> None:
        names = Names()
        for local in dict.fromkeys([*self.plan.locals(), *self.kept]):
            self.names[local] = names.new(local.name)

    def _place(self, local: Local) -> str:
        """The expression of a local's memory, from its area's base."""
        slot = local.slot
        assert slot is not None
        if slot.area is Area.KEPT:
            # A view of its own memory alone, at the elements of this step.
            count = slot.bytes // local.dtype.bytes
            view = f"keptBuf_.GetWithOffset<{local.dtype.cpp}>({count}, {slot.offset})"
            return self.extents.place(self.kept[local], view)
        if local.kind is Kind.BYTES and slot.area is Area.CALC:
            # A library function works on all that its buffer has: the view ends with the slot.
            return f"calcBuf_.GetWithOffset<{local.dtype.cpp}>({slot.bytes}, {slot.offset})"
        base, own = _BASES[slot.area], self.area_types[slot.area]
        offset = slot.offset // own.bytes
        text = base if offset == 0 else f"{base}[{self._offset(offset)}]"
        return text if own == local.dtype else f"{text}.ReinterpretCast<{local.dtype.cpp}>()"

    def _offset(self, offset: int) -> str:
        step = self.plan.step_max
        if step > 1 and offset % step == 0:
            self.extents.constants.setdefault(
                "kStepMax",
                ConstantView("uint32_t", "kStepMax", str(step), "elements that a step may hold"),
            )
            return "kStepMax" if offset == step else f"{offset // step} * kStepMax"
        return str(offset)

    # --- functions ---

    def _declare(self, block: Block, areas_known: Sequence[Area]) -> list[Statement]:
        """Bases and locals that ``block`` mentions."""
        locals_: dict[Local, None] = {}
        for item in block.body:
            if isinstance(item, Instr):
                for local in (*item.srcs, *item.scratch, item.dst):
                    if local.base in self.kept:
                        locals_.setdefault(local.base)
                    locals_.setdefault(local)
        out: list[Statement] = []
        based = any(
            x.slot and x.slot.area is Area.CALC and x.kind is not Kind.BYTES for x in locals_
        )
        if based and Area.CALC in areas_known:
            cpp = self.types[Area.CALC]
            out.append(Statement("calc", "calc", (), cpp))
        groups: list[tuple[str, list[str]]] = []
        views: dict[str, str] = {}  # of kept memory: the first local that is there
        for local in locals_:
            name = self.names[local]
            if local.base in self.kept:
                place = self._place(local.base)
                first = views.setdefault(place, name)
                place = place if first == name else first
                place += "" if local.of is None else f".ReinterpretCast<{local.dtype.cpp}>()"
            else:
                place = self._place(local)
            text = f"{name} = {place}"
            room = groups and sum(map(len, groups[-1][1])) + len(text) < 80
            if groups and groups[-1][0] == local.dtype.cpp and room:
                groups[-1][1].append(text)
            else:
                groups.append((local.dtype.cpp, [text]))
        return out + [Statement("locals", "", tuple(parts), cpp) for cpp, parts in groups]

    def _compute(self, block: Block, queue_in: Area, queue_out: Area) -> list[Statement]:
        out: list[Statement] = []
        touches = {x.slot.area for x in self._touched(block) if x.slot is not None}
        if block.loads and queue_in is Area.IN:
            out.append(Statement("deque", "inBuf", ("inQue_",), self.types[Area.IN]))
        elif block.loads:
            base = _BASES[queue_in]
            out.append(Statement("redeque", base, (_POSITIONS[queue_in][1],), self.types[queue_in]))
        if block.stores and queue_out in touches:
            base, member = _BASES[queue_out], _POSITIONS[queue_out][1]
            out.append(Statement("alloc", base, (member,), self.types[queue_out]))
        out += self._declare(block, (Area.CALC,))
        out += self._body(block, free=bool(block.loads) and queue_in is Area.IN)
        if block.stores and queue_out in touches:
            out.append(Statement("enque", _POSITIONS[queue_out][1], (_BASES[queue_out],)))
        return out

    def _touched(self, block: Block) -> list[Local]:
        out = [c.local for c in block.stores]
        for item in block.body:
            if isinstance(item, Instr):
                out += [*item.srcs, *item.scratch, item.dst]
        return out

    def _body(self, block: Block, free: bool) -> list[Statement]:
        out: list[Statement] = []
        last_line: object = None
        freed = not free
        if free and block.free_after < 0:
            out.append(Statement("free", "inQue_", ("inBuf",)))
            freed = True
        for index, item in enumerate(block.body):
            if isinstance(item, Barrier):
                out.append(Statement("barrier"))
            else:
                comment: tuple[str, ...] = ()
                if (item.span.source, item.span.line) != last_line:
                    last_line = (item.span.source, item.span.line)
                    comment = (source_line(item.span),)
                out.append(self._instr(item, comment))
            if not freed and index == block.free_after:
                out.append(Statement("free", "inQue_", ("inBuf",)))
                freed = True
        return out

    def _instr(self, instr: Instr, comment: tuple[str, ...]) -> Statement:
        names = [self.names[x] for x in (instr.dst, *instr.srcs)]
        scalar_type = instr.srcs[0].dtype if instr.srcs else instr.dst.dtype
        if instr.form == "flip_sign":
            scalar_type = DataType.DT_INT32  # of the bits
        elif instr.form == "selects":
            scalar_type = instr.dst.dtype
        elif instr.form in ("fill_bytes", "fill_halves"):
            one = instr.dst.dtype.bytes == 1
            scalar_type = DataType.DT_INT16 if one else DataType.DT_INT32
            names = [f"{names[0]}.ReinterpretCast<{scalar_type.cpp}>()"]
        scalars = [self.scalars.scalar(s, scalar_type) for s in instr.scalars]
        count = self.extents.elements(instr.extent, instr.dst.dtype)
        self._help(instr)
        scratch = [self.names[x] for x in instr.scratch]
        operands: list[str]
        if instr.form in ("with_col", "with_row", "spread_col", "spread_row"):
            operands = [*names, *self.extents.dimensions(instr.extent)]
        elif instr.form == "accumulate_rows":
            operands = [names[0], names[1], *self.extents.dimensions(instr.extent)]
        elif instr.form == "reduce":
            operands = [*names, *scratch, *self.extents.dimensions(instr.extent)]
        elif instr.form == "accumulate":
            operands = [names[0], names[1], *scratch, "cols"]
        elif instr.form == "finish":
            operands = [*names, *scratch]
        elif instr.form == "neutral":
            operands = [names[0], neutral(instr.attrs[0], instr.dst.dtype), count]
        elif instr.form == "fill_bytes":
            half = str(-(-int(count) // 2)) if count.isdigit() else f"({count} + 1) / 2"
            operands = [*names, *scalars, half]
        elif instr.form == "spread_halves":
            operands = self._halves(instr, names, scratch, count)
        elif instr.form == "brcb":
            groups = "1" if instr.extent is Kind.ONE else "static_cast<uint8_t>((rows + 7) / 8)"
            operands = [*names, groups]
        elif instr.form == "cast":
            operands = [*names, f"RoundMode::CAST_{instr.attrs[0]}", count]
        elif instr.form in ("compare", "compares", "select", "selects", "mask", "bits"):
            operands = self._masked(instr, names, scalars, count)
        elif instr.form == "turn":
            return self._turn(instr, names, scratch, comment)
        elif instr.form in ("scan", "scan_down"):
            chunk = instr.attrs[1:] == ("chunk",)
            size = ("cols",) if chunk else self.extents.dimensions(instr.extent)
            operands = [*names, *scratch, *size]
        elif instr.form == "last_row":
            block = 32 // instr.dst.dtype.bytes
            row = f"{names[1]}[(rows - 1) * {self.extents.pitch}]"
            operands = [names[0], row, f"(cols + {block - 1}) / {block} * {block}"]
        elif instr.form == "pair":
            operands = [*names, *scratch, count]
        elif instr.form == "iota":
            start = instr.attrs[0]
            cpp = instr.dst.dtype.cpp
            operands = [names[0], f"static_cast<{cpp}>({start})", count]
        elif instr.form == "gcd":
            operands = [*names, *scratch, instr.attrs[0], count]
        elif instr.form == "library":
            operands = [*names, *scalars, *scratch, count]
        elif instr.form in ("move", "keep"):
            return self._move(instr, names, count, comment)
        else:
            operands = [*names, *scalars, count]
        return Statement(instr.form, instr.name, tuple(operands), scalar_type.cpp, comment)

    def _masked(self, instr: Instr, names: list[str], scalars: list[str], count: str) -> list[str]:
        """Operands of what works on bits."""
        dtype = instr.dst.dtype
        if instr.form in ("compare", "compares"):
            bits, *values = names
            whole = self.extents.repeats(instr.extent, instr.srcs[0].dtype)
            mode = f"CMPMODE::{instr.attrs[0]}"
            return [f"{bits}.ReinterpretCast<uint8_t>()", *values, *scalars, mode, whole]
        if instr.form in ("select", "selects"):
            mode = "TENSOR" if instr.form == "select" else "SCALAR"
            return [*names, *scalars, f"SELMODE::VSEL_TENSOR_{mode}_MODE", count]
        if instr.form == "mask":
            return [*names, self.extents.words(instr.extent, 1)]
        if dtype != DataType.DT_UINT16:
            names = [f"{name}.ReinterpretCast<uint16_t>()" for name in names]
        return [*names, self.extents.words(instr.extent, 8 * dtype.bytes)]

    def _help(self, instr: Instr) -> None:
        """Have the helper function of ``instr``, if it needs one."""
        helper = helper_for(instr)
        if helper is SPREAD_HALVES:
            self.shared.helpers.setdefault(FILL_HALVES)  # which it calls
        if helper is not None:
            self.shared.helpers.setdefault(helper)

    def _halves(self, instr: Instr, names: list[str], scratch: list[str], count: str) -> list[str]:
        """Operands of what repeats 8 bytes: one value for each row, or one in all."""
        halves = [f"{name}.ReinterpretCast<int32_t>()" for name in (*names, *scratch)]
        rows = instr.attrs[0] == Kind.COL.value
        sizes = self.extents.dimensions(instr.extent) if rows else ("1", count, "0")
        return [*halves, *sizes]

    def _turn(
        self, instr: Instr, names: list[str], scratch: list[str], comment: tuple[str, ...]
    ) -> Statement:
        """A tile transposed. BF16 is moved as the FP16 numbers of its bits, 8 bytes in halves."""
        self._help(instr)
        shown = {DataType.DT_BF16: "half"}.get(instr.dst.dtype)
        shown = "uint32_t" if instr.dst.dtype.bytes == 8 else shown
        if shown is not None:
            names = [f"{name}.ReinterpretCast<{shown}>()" for name in names]
        sizes = ["rows", "cols", "pitch", "tall"]
        if instr.dst.kind is Kind.FULL:
            sizes = ["cols", "rows", "tall", "pitch"]
        return Statement("turn", instr.name, (*names, *scratch, *sizes), comment=comment)

    def _move(
        self, instr: Instr, names: list[str], count: str, comment: tuple[str, ...]
    ) -> Statement:
        """A copy within on-chip memory: of whole blocks, but where it is kept to the element."""
        block = 32 // instr.dst.dtype.bytes
        known = as_int(self.plan.space.cols) or 0
        rows = instr.extent is Kind.FULL and self.plan.form == "rows" and known == self.plan.pitch
        if (count.isdigit() and int(count) % block == 0) or (rows and known % block == 0):
            return Statement("move", "DataCopy", (*names, count), comment=comment)
        if instr.form == "move":
            rounded = f"({count} + {block - 1}) / {block} * {block}"
            return Statement("move", "DataCopy", (*names, rounded), comment=comment)
        self._help(instr)
        return Statement("keep", "Keep", (*names, count), comment=comment)

    # --- copies ---

    def _global(self, copy: Copy) -> str:
        memory = root(copy.buffer)
        place = memory, copy.buffer.type.dtype, copy.offset
        member = self.members.get(place)
        if member is None:
            member = f"{self.member_names.plain(self.shared.tensors[memory])}_"
            self.members[place] = member
        return self.extents.place(copy, member)

    def _copies(self, copies: Sequence[Copy], area: Area, into: bool) -> list[Statement]:
        base, member = _BASES[area].rstrip("_"), _POSITIONS[area][1]
        kind = "alloc" if into else "deque"
        out = [Statement(kind, base, (member,), self.types[area])]
        params: dict[tuple[str, str, str, str], str] = {}
        pads: dict[str, str] = {}
        for copy in copies:
            shape = self.extents.run(copy)
            if shape not in params:
                name = "run" if not params else f"run{len(params) + 1}"
                params[shape] = name
                blocks, length, outside, inside = shape
                gaps = (outside, inside) if into else (inside, outside)
                out.append(Statement("copy_params", name, (blocks, length, *gaps)))
            cpp = copy.local.dtype.cpp
            if into and cpp not in pads:
                pads[cpp] = "noPad" if not pads else f"noPad{len(pads) + 1}"
                out.append(Statement("no_pad", pads[cpp], (), cpp))
        for copy in copies:
            place = self._place(copy.local).replace(_BASES[area], base, 1)
            shape, target = self.extents.run(copy), self._global(copy)
            operands: tuple[str, ...]
            if into:
                operands = (place, target, params[shape], pads[copy.local.dtype.cpp])
            else:
                operands = (target, place, params[shape])
            out.append(Statement("copy", "DataCopyPad", operands))
        out.append(Statement("enque" if into else "free", member, (base,)))
        return out

    # --- the class ---

    def view(self, lines: Sequence[str]) -> PlanView:
        plan = self.plan
        steps = tuple(
            tuple(self._phase(phase_number, len(plan.phases)))
            for phase_number in range(len(plan.phases))
        )
        prepare = self._once("Prepare", "", plan.prologue, Area.CONST)
        head = self._once("Head", self.extents.tile_position, plan.head, Area.HEAD)
        tail = self._tail()
        release = ["const"] if plan.prologue.loads else []
        places = self.shared.places
        tensors = tuple(
            self._tensor(*place, member)
            for place, member in sorted(self.members.items(), key=lambda item: places[item[0][0]])
        )
        members = [
            (f"LocalTensor<{self.types[a]}>", _BASES[a])
            for a in (Area.CONST, Area.HEAD)
            if a in plan.areas
        ]
        constants = self.extents.constants
        return PlanView(
            name=self.name,
            comment=tuple(lines),
            constants=tuple(constants[k] for k in sorted(constants)),
            params=self._params(),
            alone=self.stage.alone,
            shared=self.stage.shared is not None,
            computed=tuple((t, n, e) for n, (t, e) in self.scalars.texts.items()),
            tensors=tensors,
            queues=tuple(queue_view(a, size, plan.depth) for a, size in plan.areas.items()),
            process=plan.form,
            total=self.extents.total,
            rows=self.extents.rows,
            cols=self.extents.cols,
            step=f"args_.{self.step}",
            width=f"args_.{self.width}" if self.width else "",
            align=str(plan.align),
            outer=self.extents.outer,
            outer_product=" * ".join(self.extents.outer),
            chunk_parallel=plan.parallel_chunks,
            prepare=prepare,
            release=tuple(release),
            head=head,
            head_queue=bool(plan.head.loads),
            tail=tail,
            steps=steps,
            members=tuple(members),
        )

    def _pointers(self) -> list[Buffer]:
        """The buffers whose pointers the class takes, in the order of the kernel's parameters:
        the plans of one stage are constructed alike."""
        touched = {memory for memory, _, _ in self.members}
        used = sorted(touched, key=self.shared.places.__getitem__)
        workspace = [b for b in used if b in self.shared.offsets]
        return [b for b in used if b not in self.shared.offsets] + workspace[:1]

    def _pointer(self, buffer: Buffer) -> str:
        return "workspace" if buffer in self.shared.offsets else self.shared.tensors[buffer]

    def _tensor(self, memory: Buffer, dtype: DataType, offset: Expr, member: str) -> TensorView:
        start = self.scalars.term(offset, "start")
        source = self.shared.pointer(memory)
        return TensorView(dtype.cpp, member, source, "" if start == "0" else start)

    def arguments_of_call(self) -> str:
        """What the kernel function gives the constructor."""
        memory = "pipe" if self.stage.shared is None else f"memory{self.stage.shared}"
        pointers = (self._pointer(b) for b in self._pointers())
        variables = (self.shared.variables[v] for v in self.scalars.used)
        return ", ".join([memory, *pointers, "args", *variables])

    def _params(self) -> str:
        """The constructor's parameters."""
        shared = self.stage.shared
        memory = "TPipe& pipe" if shared is None else f"Memory{shared}& memory"
        pointers = (f"GM_ADDR {self._pointer(b)}" for b in self._pointers())
        variables = (f"{cpp_type(v)} {self.shared.variables[v]}" for v in self.scalars.used)
        return ", ".join([memory, *pointers, "const Args& args", *variables])

    def _phase(self, number: int, phases: int) -> list[FunctionView]:
        phase = self.plan.phases[number]
        suffix = str(number) if phases > 1 else ""
        columns = "uint32_t cols" if self.plan.form == "columns" else ""
        out: list[FunctionView] = []
        if not phase.start.empty:
            body = self._compute(phase.start, Area.IN, Area.OUT)
            out.append(FunctionView(f"Start{suffix}", columns, tuple(body)))
        if phase.step.loads:
            copies = self._copies(phase.step.loads, Area.IN, into=True)
            out.append(FunctionView(f"CopyIn{suffix}", self.extents.position, tuple(copies)))
        compute = self._compute(phase.step, Area.IN, Area.OUT)
        out.append(FunctionView(f"Compute{suffix}", self._compute_params(phase), tuple(compute)))
        if phase.step.stores:
            copies = self._copies(phase.step.stores, Area.OUT, into=False)
            out.append(FunctionView(f"CopyOut{suffix}", self.extents.position, tuple(copies)))
        if not phase.finish.empty:
            body = self._compute(phase.finish, Area.IN, Area.OUT)
            out.append(FunctionView(f"Finish{suffix}", columns, tuple(body)))
        return out

    def _compute_params(self, phase: Phase) -> str:
        """How large a step is, and where, if it works on parts of what is kept."""
        blocks = (self.plan.prologue, phase.step)
        kept = (copy.local for block in blocks for copy in block.kept)
        if any(self._place(local).endswith("]") for local in kept):
            return self.extents.position
        made = (i for i in phase.step.body if isinstance(i, Instr) and i.form == "iota")
        if any(instr.attrs[0] != "0" for instr in made):
            return self.extents.position
        return self.extents.amount

    def _once(self, name: str, params: str, block: Block, area: Area) -> FunctionView | None:
        if block.empty:
            return None
        out: list[Statement] = []
        if block.loads:
            out += self._copies(block.loads, area, into=True)
        out += self._compute(block, area, Area.OUT)
        return FunctionView(name, params, tuple(out))

    def _tail(self) -> FunctionView | None:
        block = self.plan.tail
        if block.empty:
            return None
        # The values were computed before; move them through the queue that MTE3 waits on.
        out: list[Statement] = []
        out.append(Statement("alloc", "tailBuf", ("tailQue_",), self.types[Area.TAIL]))
        out += self._declare(block, (Area.CALC,))
        out += self._body(block, free=False)
        out.append(Statement("enque", "tailQue_", ("tailBuf",)))
        moved = self._copies(block.stores, Area.TAIL, into=False)
        moved[0] = Statement("redeque", "tailBuf", ("tailQue_",), self.types[Area.TAIL])
        return FunctionView("Tail", self.extents.tile_position, tuple(out + moved))


def queue_view(area: Area, size: int, depth: int) -> QueueView:
    """The queue or buffer of ``area``."""
    position, member = _POSITIONS[area]
    if area in (Area.CALC, Area.KEPT):
        return QueueView(f"TBuf<TPosition::{position}>", member, str(size))
    count = depth if area in (Area.IN, Area.OUT) else 1
    return QueueView(f"TQue<TPosition::{position}, 1>", member, f"{count}, {size}")
