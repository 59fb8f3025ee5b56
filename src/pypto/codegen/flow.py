"""The kernel function: stages, loops, branches, waits and scalars read from memory, in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pypto.codegen.comments import source_line
from pypto.codegen.device import DeviceScalars, cpp_type
from pypto.codegen.plan import Globals, PlanWriter
from pypto.codegen.values import c_string
from pypto.codegen.views import FlowView, TensorView
from pypto.ir.dtype import DataType
from pypto.ir.expr import Expr, Variable, apply, as_int, const, variables_of
from pypto.ir.tensor import Buffer, Carried
from pypto.ir.tile import (
    LoopRange,
    PrintTensor,
    PrintText,
    Program,
    ReadScalar,
    TileBranch,
    TileLoop,
    TileNode,
    TileStage,
    Wait,
    walk_nodes,
)

__all__ = ["DUMP_BYTES", "FlowWriter", "variables_in"]

_WAITS = {
    Wait.CORES: "SyncAll<true>();  // what follows reads what other cores have written",
    Wait.CORE: "PipeBarrier<PIPE_ALL>();  // what follows reads what this core has written",
    Wait.VECTOR: "PipeBarrier<PIPE_V>();",
}


DUMP_BYTES = 30 * 1024
"""What one call of DumpTensor writes at most."""


class FlowWriter:
    """Writes the pieces of one kernel function. ``writers``: the classes of each stage."""

    def __init__(
        self, program: Program, shared: Globals, writers: Mapping[TileStage, Sequence[PlanWriter]]
    ) -> None:
        self.shared = shared
        self.writers = writers
        self.scalars = DeviceScalars(shared.arguments, shared.variables, shared.functions)
        # Global tensors that the function itself reads, by memory and what it is read as.
        self.read: dict[tuple[Buffer, DataType], str] = {}
        self.allocated = False
        self.sharing = False  # in a loop that is shared by the cores
        self.program = program
        self.out: list[FlowView] = []
        self.depth = 0

    def write(self) -> tuple[FlowView, ...]:
        """The lines of the whole function."""
        body = self.program.body
        for index, node in enumerate(body):
            waited = index > 0 and body[index - 1] is Wait.CORES
            if not isinstance(node, Wait):
                self._allocate(node, waited)
            self._node(node)
        return tuple(self.out)

    def _emit(self, macro: str, text: str = "") -> None:
        self.out.append(FlowView(macro, text, "    " * self.depth))

    def _lines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._emit("line", line)

    def _open(self, macro: str, text: str = "") -> None:
        self._emit(macro, text)
        self.depth += 1

    def _close(self, macro: str = "close") -> None:
        self.depth -= 1
        self._emit(macro)

    def tensors(self) -> tuple[TensorView, ...]:
        """The global tensors that the function needs for scalars."""
        return tuple(
            TensorView(dtype.cpp, member, self.shared.pointer(buffer))
            for (buffer, dtype), member in self.read.items()
        )

    def _allocate(self, node: TileNode, waited: bool) -> None:
        """Hand all of on-chip memory to ``node``, whatever had it before."""
        stages = [n for n in walk_nodes((node,)) if isinstance(n, TileStage)]
        if not stages:
            return
        if self.allocated:
            self._lines([] if waited else ["PipeBarrier<PIPE_ALL>();"])
            self._emit("line", "pipe.Reset();")
        self.allocated = True
        number = stages[0].shared
        if number is not None:
            self._emit("line", f"Memory{number} memory{number}(pipe);")

    # --- nodes ---

    def _nodes(self, nodes: Sequence[TileNode]) -> None:
        for node in nodes:
            self._node(node)

    def _node(self, node: TileNode) -> None:
        if isinstance(node, Wait):
            self._emit("line", _WAITS[node])
        elif isinstance(node, TileStage):
            self._stage(node)
        elif isinstance(node, TileLoop):
            made = f"strips of {node.strip} along an axis that the loop does not mix"
            self._emit("comment", source_line(node.span) if node.strip is None else made)
            if node.over_cores:
                self._shared_loop(node)
            else:
                self._loop(node)
        elif isinstance(node, TileBranch):
            self._emit("comment", source_line(node.span))
            self._branch(node)
        elif isinstance(node, PrintText):
            self._emit("comment", source_line(node.span))
            self._print(node)
        elif isinstance(node, PrintTensor):
            self._emit("comment", source_line(node.span))
            self._dump(node)
        else:
            self._emit("comment", source_line(node.span))
            self._read(node)

    def _stage(self, stage: TileStage) -> None:
        if stage.guard is None:
            self._run(stage)
            return
        self._open("branch", _bare(self.scalars.text(stage.guard, "guard")))
        self._run(stage)
        self._close()

    def _run(self, stage: TileStage) -> None:
        writers = self.writers[stage]
        calls = [f"{w.name}({w.arguments_of_call()}).Process();" for w in writers]
        if len(calls) == 1:
            self._lines(calls)
            return
        plan = writers[0].plan
        cols = self.scalars.term(plan.space.cols, "cols")
        condition = f"{cols} > 0"
        if plan.pitch is None:
            condition += f" && {cols} <= {plan.cols_max}"
        self._open("branch", condition)
        self._emit("line", calls[0])
        self._close("otherwise")
        self.depth += 1
        self._emit("line", calls[1])
        self._close()

    def _loop(self, loop: TileLoop) -> None:
        (bounds,) = loop.ranges
        self._lines(self._declared(c.inner, c.initial) for c in loop.scalars)
        index = self.shared.variables[bounds.index]
        stop = _bare(self.scalars.text(bounds.stop, f"{index}Stop"))
        if not stop.replace("args.", "").isidentifier() and not stop.lstrip("-").isdigit():
            self._emit("line", f"const int64_t {index}Stop = {stop};")
            stop = f"{index}Stop"
        condition = self._condition(bounds, stop)
        if loop.until is not None:
            condition = f"{condition} && !{self.shared.variables[loop.until.inner]}"
        start = _bare(self.scalars.text(bounds.start, f"{index}Start"))
        self._open("loop", f"int64_t {index} = {start}; {condition}; {self._step(bounds)}")
        self._nodes(loop.body)
        self._lines(self._next(loop.scalars))
        self._close()

    def _declared(self, variable: Variable, value: Expr) -> str:
        name = self.shared.variables[variable]
        return f"{cpp_type(variable)} {name} = {self.scalars.text(value, name)};"

    def _condition(self, bounds: LoopRange, stop: str) -> str:
        index, step = self.shared.variables[bounds.index], as_int(bounds.step)
        if step is not None:
            return f"{index} {'<' if step > 0 else '>'} {stop}"
        by = self.scalars.term(bounds.step, f"{index}Step")
        return f"({by} > 0 ? {index} < {stop} : {index} > {stop})"

    def _step(self, bounds: LoopRange) -> str:
        index, step = self.shared.variables[bounds.index], as_int(bounds.step)
        if step == 1:
            return f"++{index}"
        if step is not None and step < 0:
            return f"{index} -= {-step}"
        return f"{index} += {self.scalars.text(bounds.step, f'{index}Step')}"

    def _next(self, carried: Sequence[Carried]) -> list[str]:
        """Hand scalars on, all at once: none sees another's new value."""
        changed = [(self.shared.variables[c.inner], c) for c in carried if c.next != c.inner]
        texts = [_bare(self.scalars.text(c.next, name)) for name, c in changed]
        mixed = any(
            one.inner in variables_of(other.next)
            for _, one in changed
            for _, other in changed
            if one is not other
        )
        if not mixed:
            return [f"{name} = {text};" for (name, _), text in zip(changed, texts, strict=True)]
        first = [
            f"const {cpp_type(c.inner)} {name}Next = {text};"
            for (name, c), text in zip(changed, texts, strict=True)
        ]
        return [*first, *(f"{name} = {name}Next;" for name, _ in changed)]

    def _shared_loop(self, loop: TileLoop) -> None:
        """Iterations in equal runs, one for each core."""
        trips = [bounds.trips for bounds in loop.ranges]
        positions: list[str] = []
        behind: Expr = const(1)
        for bounds, count in reversed(list(zip(loop.ranges, trips, strict=True))):
            outermost = bounds is loop.ranges[0]
            positions.append(self._position(bounds, count, behind, outermost=outermost))
            behind = apply("mul", behind, count)
        if as_int(behind) == 1:
            self._open("branch", "GetBlockIdx() == 0")
            for bounds in loop.ranges:
                start = _bare(self.scalars.text(bounds.start, "start"))
                self._emit(
                    "line", f"const int64_t {self.shared.variables[bounds.index]} = {start};"
                )
            self._share(loop)
            return
        total = self.scalars.text(behind, "iterations")
        self._open("open")
        self._lines(
            [
                "// iterations are shared by the cores, in equal runs",
                "const int64_t cores = GetBlockNum() * GetSubBlockNum();",
                f"const int64_t total = {_bare(total)}, share = (total + cores - 1) / cores;",
                "const int64_t first = GetBlockIdx() * share;",
                "const int64_t end = first + share < total ? first + share : total;",
            ]
        )
        index = "iteration"
        if len(loop.ranges) == 1 and positions[0].endswith(" = iteration;"):
            index = self.shared.variables[loop.ranges[0].index]
            positions.clear()  # it counts iterations itself
        self._open("loop", f"int64_t {index} = first; {index} < end; ++{index}")
        self._lines(reversed(positions))
        self._share(loop)
        self._close()

    def _share(self, loop: TileLoop) -> None:
        """The body of a loop that the cores share, and its end."""
        self.sharing = True
        self._nodes(loop.body)
        self.sharing = False
        self._close()

    def _position(self, bounds: LoopRange, count: Expr, behind: Expr, *, outermost: bool) -> str:
        """The index of one loop from the number of the iteration of all of them."""
        text = "iteration"
        if as_int(behind) != 1:
            text = f"{text} / {self.scalars.factor(behind, 'inner')}"
        if not outermost:
            text = f"{text} % {self.scalars.factor(count, 'iterations')}"
        if as_int(bounds.step) != 1:
            text = f"{text} * {self.scalars.factor(bounds.step, 'stride')}"
        if as_int(bounds.start) != 0:
            text = f"{self.scalars.term(bounds.start, 'start')} + {text}"
        return f"const int64_t {self.shared.variables[bounds.index]} = {text};"

    def _branch(self, branch: TileBranch) -> None:
        names = [self.shared.variables[m.result] for m in branch.merges]
        for name, merge in zip(names, branch.merges, strict=True):
            self._emit("line", f"{cpp_type(merge.result)} {name};")
        self._open("branch", _bare(self.scalars.text(branch.condition, "condition")))
        self._nodes(branch.then)
        self._assign(names, [m.then for m in branch.merges])
        if branch.other or branch.merges:
            self._close("otherwise")
            self.depth += 1
            self._nodes(branch.other)
            self._assign(names, [m.other for m in branch.merges])
        self._close()

    def _assign(self, names: Sequence[str], values: Sequence[Expr]) -> None:
        for name, value in zip(names, values, strict=True):
            self._emit("line", f"{name} = {_bare(self.scalars.text(value, name))};")

    def _print(self, node: PrintText) -> None:
        """Of what all cores run together, one prints."""
        text, numbers = "", []
        for part in node.parts:
            if isinstance(part, str):
                text += part.replace("%", "%%")
                continue
            text += _FORMATS[part.kind]
            number = self.scalars.text(part, "printed")
            if part.kind == "bool":
                number = f'({number}) ? "True" : "False"'
            numbers.append(number)
        self._by_one([f"AscendC::printf({', '.join([c_string(text), *numbers])});"])

    def _by_one(self, lines: Iterable[str], condition: str = "") -> None:
        """``lines`` where ``condition`` holds, of the core that prints."""
        first = "" if self.sharing else "GetBlockIdx() == 0"
        both = " && ".join(filter(None, (first, condition)))
        if not both:
            self._lines(lines)
            return
        self._open("branch", both)
        self._lines(lines)
        self._close()

    def _dump(self, node: PrintTensor) -> None:
        """As many elements as a call of DumpTensor writes."""
        member = self._member(node.buffer, node.dtype)
        dtype = node.dtype
        lines = []
        if node.written:
            line = "CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT"
            lines.append(f"DataCacheCleanAndInvalid<{dtype.cpp}, {line}>({member});")
        most = DUMP_BYTES // dtype.bytes
        known = as_int(node.count)
        count = self.scalars.text(apply("min", node.count, most), "count")
        if known is None:
            count = f"static_cast<uint32_t>({_bare(count)})"
        offset = _bare(self.scalars.text(node.offset, "offset"))
        lines.append(f"DumpTensor({member}[{offset}], {node.span.line}, {count});")
        holds = "" if known is not None else f"{self.scalars.text(node.count, 'count')} > 0"
        if known != 0:
            self._by_one(lines, holds)

    def _member(self, buffer: Buffer, dtype: DataType) -> str:
        """The global tensor through which the function itself reads ``buffer`` as ``dtype``."""
        name = f"{self.shared.tensors[buffer]}Scalars"
        if dtype is not buffer.type.dtype:
            name += f"As{dtype.short.capitalize()}"
        return self.read.setdefault((buffer, dtype), name)

    def _read(self, read: ReadScalar) -> None:
        member = self._member(read.buffer, read.dtype)
        offset = _bare(self.scalars.text(read.offset, "offset"))
        if read.written:
            line = "CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT"
            type = read.dtype.cpp
            self._emit("line", f"DataCacheCleanAndInvalid<{type}, {line}>({member}[{offset}]);")
        name = self.shared.variables[read.result]
        value = f"{member}.GetValue({offset})"
        if read.dtype is DataType.DT_BF16:
            value = f"ToFloat({value})"  # bfloat16_t converts to nothing by itself
        self._emit("line", f"const {cpp_type(read.result)} {name} = {value};")
        if read.limit is not None:
            limit = self.scalars.text(read.limit, "limit")
            self._emit("line", f"ascendc_assert({name} >= 0 && {name} < {limit});")


def variables_in(program: Program) -> Iterator[tuple[Variable, str]]:
    """Every variable that the kernel function has, with the name that the program gave it; what a
    loop carries is one C++ variable inside and behind it."""
    for node in walk_nodes(program.body):
        if isinstance(node, TileLoop):
            yield from ((r.index, r.index.name) for r in node.ranges)
            yield from ((c.inner, c.result.name) for c in node.scalars)
        elif isinstance(node, TileBranch):
            yield from ((m.result, m.result.name) for m in node.merges)
        elif isinstance(node, ReadScalar):
            yield node.result, node.result.name


_FORMATS = {"int": "%ld", "float": "%f", "bool": "%s"}


def _bare(text: str) -> str:
    """``text`` without parentheses around all of it."""
    if not text.startswith("("):
        return text
    depth = 0
    for position, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return text[1:-1] if position == len(text) - 1 else text
    return text
