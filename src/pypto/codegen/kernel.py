"""A whole Tile IR program as the views of its Ascend C text and its CPU launch code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pypto.codegen.arguments import Arguments
from pypto.codegen.comments import safe, source_line
from pypto.codegen.flow import FlowWriter, variables_in
from pypto.codegen.launch import CallInputs, LaunchWriter
from pypto.codegen.names import Names, kernel_name
from pypto.codegen.plan import Globals, PlanWriter, queue_view
from pypto.codegen.views import KernelView, MemoryView, WrapperView
from pypto.ir.expr import as_int
from pypto.ir.tensor import Param
from pypto.ir.tile import Area, Plan, Program, TileLoop, TileStage, walk_nodes
from pypto.target import Target

__all__ = ["CallInputs", "Generated", "generate"]


@dataclass(frozen=True, slots=True)
class Generated:
    """The views of one kernel, its C++ name, and what its binary is passed."""

    kernel: KernelView
    wrapper: WrapperView
    inputs: CallInputs
    name: str


def generate(program: Program, target: Target) -> Generated:
    """The views of ``program`` for ``target``."""
    return _Writer(program, target).write()


class _Writer:
    def __init__(self, program: Program, target: Target) -> None:
        self.program = program
        self.target = target
        names = Names()
        self.arguments = Arguments()
        tensors = {p.buffer: names.new(p.name) for p in program.params if p.buffer is not None}
        tensors |= {b: names.new(b.name) for b in program.workspace}
        offsets = {
            b: self.arguments.workspace(f"{tensors[b]}Offset", "bytes into the workspace")
            for b in program.workspace
        }
        private = {
            b: self.arguments.workspace(f"{tensors[b]}Bytes", "bytes that each core has of it")
            for b in program.workspace
            if b in program.private
        }
        variables = {v: names.new(name) for v, name in variables_in(program)}
        for node in walk_nodes(program.body):
            if isinstance(node, TileLoop):
                variables |= {c.result: variables[c.inner] for c in node.scalars}
        self.shared = Globals(self.arguments, tensors, offsets, variables, private)
        self.name = kernel_name(program.name)
        self.writers: dict[TileStage, list[PlanWriter]] = {}

    def write(self) -> Generated:
        number = 0
        for index, stage in enumerate(self.program.stages):
            writers = self.writers.setdefault(stage, [])
            for plan in stage.plans:
                suffix = "Chunks" if len(stage.plans) > 1 and plan.form == "chunks" else ""
                name = f"Stage{index}{suffix}"
                writers.append(PlanWriter(stage, plan, name, number, self.shared))
                number += 1
        plans = tuple(w.view(self._plan_lines(s, w)) for s, ws in self.writers.items() for w in ws)
        flow = FlowWriter(self.program, self.shared, self.writers)
        pieces = flow.write()
        kernel = KernelView(
            self.name,
            tuple(self._header()),
            tuple(self.arguments.fields),
            tuple(self.shared.functions),
            tuple(self.shared.helpers),
            tuple(self._memories()),
            plans,
            self.program.kind,
            self._kernel_params(),
            flow.tensors(),
            pieces,
        )
        launch = LaunchWriter(self.program, self.shared, self.name, self.writers, self._pointers())
        inputs, wrapper = launch.write()
        return Generated(kernel, wrapper, inputs, self.name)

    # --- the kernel function ---

    def _pointers(self) -> list[str]:
        names = [self.shared.tensors[p.buffer] for p in self.program.params if p.buffer is not None]
        return names + (["workspace"] if self.program.workspace else [])

    def _kernel_params(self) -> str:
        return ", ".join([*(f"GM_ADDR {n}" for n in self._pointers()), "Args args"])

    def _memories(self) -> Iterator[MemoryView]:
        users: dict[int | None, list[str]] = {}
        for stage, writers in self.writers.items():
            users.setdefault(stage.shared, []).extend(writer.name for writer in writers)
        for number, shared in enumerate(self.program.shared):
            names = users.get(number, [])
            queues = tuple(queue_view(a, b, shared.depth) for a, b in shared.areas.items())
            verb = "uses" if len(names) == 1 else "use in turn"
            comment = f"what {' and '.join(names)} {verb}"
            yield MemoryView(f"Memory{number}", comment, queues)

    # --- comments ---

    def _plan_lines(self, stage: TileStage, writer: PlanWriter) -> list[str]:
        lines = [source_line(s) for s in stage.lines]
        head = _form_text(writer.plan)
        shown: list[str] = list(dict.fromkeys(lines))
        if len(shown) > 6:
            shown = [*shown[:5], f"... {len(shown) - 5} more"]
        return [f"{writer.name}: {head}", *(f"  {line}" for line in shown)]

    def _header(self) -> list[str]:
        program = self.program
        out = [f"{self.name}  @{program.span.relative}"]
        width = max((len(p.name) for p in program.params), default=1)
        for param in program.params:
            out.append(f"  {safe(param.name):<{width}}  {_described(param)}")
        cores = "vector cores" + (", synchronised" if program.kind != "__vector__" else "")
        out.append(f"target  {self.target.name} ({self.target.npu_arch}), {cores}")
        tile = program.tile
        out.append(f"tile    ({', '.join(map(str, tile))})" if tile else "tile    chosen by pypto")
        out.append("")
        out.append(f"on-chip memory, bytes (budget {self.target.ub_budget})")
        for writers in self.writers.values():
            for writer in writers:
                out += self._memory(writer)
        return out

    def _memory(self, writer: PlanWriter) -> list[str]:
        plan = writer.plan
        rows = f", {plan.rows_max} rows" if plan.form in ("rows", "columns") else ""
        out = [f"  {writer.name}, a step of at most {plan.step_max} elements{rows}"]
        words = {
            Area.IN: "queue in", Area.OUT: "queue out", Area.CALC: "calc", Area.CONST: "const",
            Area.HEAD: "head", Area.TAIL: "tail", Area.KEPT: "kept",
        }  # fmt: skip
        for area, size in plan.areas.items():
            depth = plan.depth if area in (Area.IN, Area.OUT) else 1
            out.append(f"    {words[area]:<9} {depth} x {size:>6}  {_slots(writer, area)}")
        share = round(100 * plan.total_bytes / self.target.ub_budget)
        out.append(f"    total     {plan.total_bytes} ({share} %)")
        return out


def _form_text(plan: Plan) -> str:
    """How the plan walks its space, in a few words."""
    cols = as_int(plan.space.cols)
    if plan.form == "run":
        unit = f", {plan.unit} of them a tile" if plan.unit > 1 else ""
        return f"the axes merge to one run of elements{unit}"
    if plan.form == "tiles":
        return "tiles of rows and columns, transposed on chip"
    if plan.form == "chunks":
        return "rows longer than on-chip memory, in chunks"
    if plan.form == "columns":
        return f"rows are reduced to one, in strips of at most {plan.cols_max} columns"
    if cols is None:
        return "whole rows"
    apart = f", pitch {plan.pitch}" if plan.pitch != cols else ""
    return f"whole rows of {cols} columns{apart}"


def _slots(writer: PlanWriter, area: Area) -> str:
    found: dict[int, dict[str, None]] = {}
    for local in writer.plan.locals():
        if local.slot is not None and local.slot.area is area:
            found.setdefault(local.slot.offset, {})[writer.names[local]] = None
    names = {offset: list(shown) for offset, shown in found.items()}
    parts = [
        f"{'/'.join(n[:4])}{'/…' if len(n) > 4 else ''} @{o}" for o, n in sorted(names.items())
    ]
    return ", ".join(parts)


def _described(param: Param) -> str:
    if param.buffer is not None:
        sizes = (str(s) if as_int(s) is not None else "DYNAMIC" for s in param.buffer.type.shape)
        use = " and ".join(w for f, w in ((param.read, "read"), (param.written, "written")) if f)
        return f"[{', '.join(sizes)}] {param.buffer.type.dtype.short}  {use or 'unused'}"
    if param.kind == "constant":
        return f"constant {safe(repr(param.value))}"
    return f"{param.kind}, a run-time scalar"
