"""A whole Tile IR program as the views of its Ascend C text and its CPU launch code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pypto.codegen.arguments import Arguments, Derived
from pypto.codegen.comments import safe, source_line
from pypto.codegen.names import Names, kernel_name
from pypto.codegen.plan import Globals, PlanWriter
from pypto.codegen.values import host_expression
from pypto.codegen.views import EntryView, KernelView, Statement, WrapperView
from pypto.ir.expr import Apply, Expr, Symbol, apply, as_int, const, symbols_of
from pypto.ir.tensor import Buffer, Param
from pypto.ir.tile import Area, Plan, Program, TileStage
from pypto.target import Target

__all__ = ["CallInputs", "Generated", "generate"]

# A FULL buffer's share of the CPU's first-level cache decides the step there.
WORKSPACE_ALIGN = 512


@dataclass(frozen=True, slots=True)
class CallInputs:
    """What the launcher passes to a kernel's binary, in order.

    ``ints``: ("size", parameter, axis) or ("scalar", parameter); ``floats``: parameters.
    """

    ints: tuple[tuple[str, int, int] | tuple[str, int], ...]
    floats: tuple[int, ...]


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
        offsets = {b: self.arguments.offset(f"{tensors[b]}Offset") for b in program.workspace}
        self.shared = Globals(self.arguments, tensors, offsets)
        self.name = kernel_name(program.name)
        self.writers: list[tuple[TileStage, list[PlanWriter]]] = []

    def write(self) -> Generated:
        number = 0
        for index, stage in enumerate(self.program.stages):
            writers = []
            for plan in stage.plans:
                suffix = "Chunks" if len(stage.plans) > 1 and plan.form == "chunks" else ""
                writers.append(PlanWriter(plan, f"Stage{index}{suffix}", number, self.shared))
                number += 1
            self.writers.append((stage, writers))
        plans = tuple(w.view(self._plan_lines(s, w)) for s, ws in self.writers for w in ws)
        kernel = KernelView(
            self.name,
            tuple(self._header()),
            tuple(self.arguments.fields),
            tuple(self.shared.helpers),
            plans,
            self.program.kind,
            self._kernel_params(),
            tuple(self._entries()),
        )
        inputs, symbols = self._inputs()
        return Generated(kernel, self._wrapper(symbols, inputs), inputs, self.name)

    # --- the kernel function ---

    def _pointers(self) -> list[str]:
        names = [self.shared.tensors[p.buffer] for p in self.program.params if p.buffer is not None]
        return names + (["workspace"] if self.program.workspace else [])

    def _kernel_params(self) -> str:
        return ", ".join([*(f"GM_ADDR {n}" for n in self._pointers()), "Args args"])

    def _entries(self) -> list[EntryView]:
        out = []
        for index, (stage, writers) in enumerate(self.writers):
            first, otherwise = writers[0], writers[1] if len(writers) > 1 else None
            condition = ""
            if otherwise is not None:
                cols = first.extents.cols.replace("args_.", "args.")
                condition = f"{cols} > 0 && {cols} <= {first.plan.cols_max}"
            out.append(
                EntryView(
                    stage.sync,
                    index == 0,
                    first.name,
                    otherwise.name if otherwise else None,
                    condition,
                    first.arguments_of_call(),
                )
            )
        return out

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
        for stage, writers in self.writers:
            del stage
            for writer in writers:
                out += self._memory(writer)
        return out

    def _memory(self, writer: PlanWriter) -> list[str]:
        plan = writer.plan
        rows = f", {plan.rows_max} rows" if plan.form == "rows" else ""
        out = [f"  {writer.name}, a step of at most {plan.step_max} elements{rows}"]
        words = {
            Area.IN: "queue in", Area.OUT: "queue out", Area.CALC: "calc", Area.CONST: "const",
            Area.HEAD: "head", Area.TAIL: "tail",
        }  # fmt: skip
        for area, size in plan.areas.items():
            depth = plan.depth if area in (Area.IN, Area.OUT) else 1
            out.append(f"    {words[area]:<9} {depth} x {size:>6}  {_slots(writer, area)}")
        share = round(100 * plan.total_bytes / self.target.ub_budget)
        out.append(f"    total     {plan.total_bytes} ({share} %)")
        return out

    # --- the launch code ---

    def _expressions(self) -> list[Expr]:
        exprs = [s for s in self.arguments.sources.values() if isinstance(s, Expr)]
        exprs += [p.condition for p in self.program.preconditions]
        exprs += [s for b in self.program.workspace for s in b.type.shape]
        for stage in self.program.stages:
            space = stage.plans[0].space
            exprs += [*space.outer, space.rows, space.cols]
        return exprs

    def _inputs(self) -> tuple[CallInputs, dict[Symbol, str]]:
        symbols = sorted(
            set().union(*(symbols_of(e) for e in self._expressions())),
            key=lambda s: (s.param, -1 if s.axis is None else s.axis, s.name),
        )
        ints: list[tuple[str, int, int] | tuple[str, int]] = []
        floats: list[int] = []
        names: dict[Symbol, str] = {}
        unique = Names()
        for symbol in symbols:
            names[symbol] = unique.new(symbol.name.replace(".shape[", "_").replace("]", ""))
            if symbol.axis is not None:
                ints.append(("size", symbol.param, symbol.axis))
            elif symbol.type == "float":
                floats.append(symbol.param)
            else:
                ints.append(("scalar", symbol.param))
        return CallInputs(tuple(ints), tuple(floats)), names

    def _wrapper(self, symbols: dict[Symbol, str], inputs: CallInputs) -> WrapperView:
        del inputs
        host = {s: n for s, n in symbols.items()}

        def text(expr: Expr) -> str:
            return host_expression(expr, host)

        types = {f.name: f.type for f in self.arguments.fields}
        assigns = [
            (name, _converted(source, types[name], text))
            for name, source in self.arguments.sources.items()
            if isinstance(source, Expr)
        ]
        workspace = tuple(
            (self.shared.offsets[b], f"Mul({text(_elements(b))}, {b.type.dtype.bytes}, error)")
            for b in self.program.workspace
        )
        floats = [n for s, n in symbols.items() if s.type == "float" and s.axis is None]
        ints = [n for s, n in symbols.items() if n not in floats]
        works, traffic = [], []
        for stage in self.program.stages:
            space = stage.plans[0].space
            elements = text(_product([*space.outer, space.rows, space.cols]))
            works.append(f"{elements} * {stage.plans[0].cost}")
            traffic.append(f"{elements} * {_moved(stage.plans[0])}")
        return WrapperView(
            symbol=f"pypto_kernel_{self.name}",
            namespace=f"pypto_{self.name}",
            source=f"{self.name}.cpp",
            kernel=self.name,
            kind="PYPTO_VECTOR" if self.program.kind == "__vector__" else "PYPTO_MIX_0_1",
            pointers=tuple(self._pointers()),
            bytes=tuple(self._argument_bytes(host)),
            element_bytes=tuple(
                p.buffer.type.dtype.bytes for p in self.program.params if p.buffer is not None
            ),
            ints=tuple(ints),
            floats=tuple(floats),
            conditions=tuple(text(p.condition) for p in self.program.preconditions),
            assigns=tuple(assigns),
            workspace=workspace,
            steps=tuple(self._steps(text)),
            work=tuple(works),
            traffic=" + ".join(traffic) or "0",
        )

    def _argument_bytes(self, host: dict[Symbol, str]) -> list[str]:
        """Bytes of each tensor argument, none of one that is not used. A size that no expression of
        the kernel needs is not known here, and no instruction can depend on it."""
        found = []
        for param in self.program.params:
            if param.buffer is not None:
                type = param.buffer.type
                if not (param.read or param.written):
                    found.append("0")
                    continue
                known = [size for size in type.shape if symbols_of(size) <= host.keys()]
                found.append(host_expression(_product([const(type.dtype.bytes), *known]), host))
        return found

    def _steps(self, text: object) -> list[Statement]:
        """How the launch code fills the derived fields: macros with plain operands."""
        out = []
        writers = [w for _, ws in self.writers for w in ws]
        derived: dict[tuple[str, int], str] = {
            (s.kind, s.plan): n for n, s in self.arguments.sources.items() if isinstance(s, Derived)
        }
        for number, writer in enumerate(writers):
            plan = writer.plan
            step = derived["step", number]
            cols = text(plan.space.cols)  # type: ignore[operator]
            if plan.form == "rows":
                pitch = derived.get(("pitch", number))
                known = as_int(plan.space.cols)
                fixed = "" if known is None else str(-(-known // plan.align) * plan.align)
                out.append(
                    Statement(
                        "rows_step",
                        step,
                        (
                            pitch or "", fixed, cols, str(plan.align), str(plan.step_max),
                            str(plan.rows_max), str(plan.bytes_per_element),
                            str(plan.bytes_per_row),
                        ),
                    )
                )  # fmt: skip
            else:
                granule = str(plan.unit if _useful_unit(plan) else 64)
                # A core that walks a whole row alone cuts it alike however many others there are:
                # the order of a sum does not depend on their number.
                alone = plan.form == "chunks" and not plan.parallel_chunks
                parts = "1" if alone else "runtime->workers"
                operands = (cols, parts, granule, str(plan.step_max), str(plan.bytes_per_element))
                out.append(Statement("flat_step", step, operands))
        return out


def _form_text(plan: Plan) -> str:
    """How the plan walks its space, in a few words."""
    cols = as_int(plan.space.cols)
    if plan.form == "run":
        unit = f", {plan.unit} of them a tile" if plan.unit > 1 else ""
        return f"the axes merge to one run of elements{unit}"
    if plan.form == "chunks":
        return "rows longer than on-chip memory, in chunks"
    if cols is None:
        return "whole rows"
    pitch = -(-cols // plan.align) * plan.align
    return f"whole rows of {cols} columns" + (f", pitch {pitch}" if pitch != cols else "")


def _useful_unit(plan: Plan) -> bool:
    return 64 <= plan.unit <= 1024 and plan.unit % 64 == 0 and plan.unit <= plan.step_max


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


def _converted(expr: Expr, target: str, text: Callable[[Expr], str]) -> str:
    """C++ of ``expr`` in the type ``target``; an int becomes a float in one rounding."""
    if target == "float" and isinstance(expr, Apply):
        if expr.op == "to_float":
            return f"static_cast<float>({text(expr.args[0])})"
        if expr.op == "neg":
            return f"-{_converted(expr.args[0], target, text)}"
    return f"static_cast<{target}>({text(expr)})"


def _product(sizes: list[Expr]) -> Expr:
    result: Expr = const(1)
    for size in sizes:
        result = apply("mul", result, size)
    return result


def _elements(buffer: Buffer) -> Expr:
    return _product(list(buffer.type.shape))


def _moved(plan: Plan) -> int:
    """Bytes of global memory that a step moves per element of its space."""
    copies = [c for b in plan.blocks() for c in (*b.loads, *b.stores)]
    return sum(c.local.dtype.bytes for c in copies if c.has_col and (c.has_row or not c.outer))
