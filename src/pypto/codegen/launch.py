"""The CPU launch code of a kernel: arguments, preconditions, step sizes, workspace, blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pypto.codegen.arguments import Derived
from pypto.codegen.names import Names
from pypto.codegen.plan import Globals, PlanWriter
from pypto.codegen.values import host_expression
from pypto.codegen.views import Statement, WrapperView
from pypto.ir.expr import Apply, Expr, Symbol, const, product_of, symbols_of
from pypto.ir.tile import (
    Plan,
    PrintTensor,
    PrintText,
    Program,
    ReadScalar,
    TileLoop,
    TileStage,
    walk_nodes,
)

__all__ = ["CallInputs", "LaunchWriter"]


@dataclass(frozen=True, slots=True)
class CallInputs:
    """What the launcher passes to a kernel's binary, in order.

    ``ints``: ("size", parameter, axis) or ("scalar", parameter); ``floats``: parameters.
    """

    ints: tuple[tuple[str, int, int] | tuple[str, int], ...]
    floats: tuple[int, ...]


class LaunchWriter:
    """Writes the launch code when all fields of the arguments are known."""

    def __init__(
        self,
        program: Program,
        shared: Globals,
        name: str,
        writers: Mapping[TileStage, Sequence[PlanWriter]],
        pointers: Sequence[str],
    ) -> None:
        self.program = program
        self.shared = shared
        self.arguments = shared.arguments
        self.name = name
        self.writers = writers
        self.pointers = pointers

    def write(self) -> tuple[CallInputs, WrapperView]:
        inputs, symbols = self._inputs()
        return inputs, self._wrapper(symbols)

    def _expressions(self) -> list[Expr]:
        exprs = [s for s in self.arguments.sources.values() if isinstance(s, Expr)]
        exprs += [p.condition for p in self.program.preconditions]
        exprs += self.program.workspace.values()
        for stage in self.program.stages:
            exprs += [stage.elements, *(plan.bound for plan in stage.plans)]
            exprs += [plan.rows_bound for plan in stage.plans if plan.form == "tiles"]
            exprs += [plan.groups_bound for plan in stage.plans if plan.form == "columns"]
        nodes = walk_nodes(self.program.body)
        if any(isinstance(node, TileLoop | ReadScalar | PrintTensor) for node in nodes):
            # What is touched may depend on more than sizes: how large a tensor is must be known.
            used = [p.buffer for p in self.program.params if p.buffer and (p.read or p.written)]
            exprs += [size for buffer in used for size in buffer.type.shape]
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

    def _prints(self) -> bool:
        nodes = walk_nodes(self.program.body)
        return any(isinstance(node, PrintText | PrintTensor) for node in nodes)

    def _wrapper(self, host: dict[Symbol, str]) -> WrapperView:
        def text(expr: Expr) -> str:
            return host_expression(expr, host)

        types = {f.name: f.type for f in self.arguments.fields}
        assigns = [
            (name, _converted(source, types[name], text))
            for name, source in self.arguments.sources.items()
            if isinstance(source, Expr)
        ]
        workspace = tuple(
            (
                self.shared.offsets[b],
                self.shared.private.get(b, ""),
                f"Mul({text(elements)}, {b.type.dtype.bytes}, error)",
            )
            for b, elements in self.program.workspace.items()
        )
        floats = [n for s, n in host.items() if s.type == "float" and s.axis is None]
        ints = [n for n in host.values() if n not in floats]
        works, traffic = [], []
        for stage in self.program.stages:
            elements = text(stage.elements)
            works.append(f"{elements} * {stage.plans[0].cost}")
            traffic.append(f"{elements} * {_moved(stage.plans[0])}")
        return WrapperView(
            symbol=f"pypto_kernel_{self.name}",
            namespace=f"pypto_{self.name}",
            source=f"{self.name}.cpp",
            kernel=self.name,
            prints=self._prints(),
            kind="PYPTO_VECTOR" if self.program.kind == "__vector__" else "PYPTO_MIX_0_1",
            pointers=tuple(self.pointers),
            bytes=tuple(self._argument_bytes(host)),
            element_bytes=tuple(
                p.buffer.type.dtype.bytes for p in self.program.params if p.buffer is not None
            ),
            ints=tuple(ints),
            floats=tuple(floats),
            conditions=tuple(text(p.condition) for p in self.program.preconditions),
            assigns=tuple(assigns),
            workspace=workspace,
            any_blocks="false" if self.shared.private else "true",  # a part for each block
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
                found.append(host_expression(product_of((const(type.dtype.bytes), *known)), host))
        return found

    def _steps(self, text: Callable[[Expr], str]) -> list[Statement]:
        """How the launch code fills the derived fields: macros with plain operands."""
        out = []
        writers = [w for ws in self.writers.values() for w in ws]
        derived: dict[tuple[str, int], str] = {
            (s.kind, s.plan): n for n, s in self.arguments.sources.items() if isinstance(s, Derived)
        }
        for number, writer in enumerate(writers):
            plan = writer.plan
            step = derived["step", number]
            cols = text(plan.bound)
            if plan.form == "tiles":
                width, rows = derived["width", number], text(plan.rows_bound)
                operands = (width, rows, cols, str(plan.step_max), str(plan.bytes_per_element))
                out.append(Statement("tile_step", step, operands))
            elif plan.form == "rows":
                pitch = derived.get(("pitch", number))
                fixed = "" if plan.pitch is None else str(plan.pitch)
                out.append(
                    Statement(
                        "rows_step",
                        step,
                        (
                            pitch or "", fixed, cols, str(plan.align), str(plan.step_max),
                            str(plan.rows_max), str(plan.bytes_per_element),
                            str(plan.bytes_per_row), str(plan.row_granule),
                        ),
                    )
                )  # fmt: skip
            elif plan.form == "columns":
                width = derived["width", number]
                groups = text(plan.groups_bound)
                out.append(
                    Statement(
                        "strips_step",
                        step,
                        (
                            width, cols, groups, str(plan.align), str(plan.cols_max),
                            str(plan.step_max), str(plan.rows_max), str(plan.bytes_per_element),
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


def _useful_unit(plan: Plan) -> bool:
    return 64 <= plan.unit <= 1024 and plan.unit % 64 == 0 and plan.unit <= plan.step_max


def _converted(expr: Expr, target: str, text: Callable[[Expr], str]) -> str:
    """C++ of ``expr`` in the type ``target``; an int becomes a float in one rounding."""
    if target == "float" and isinstance(expr, Apply):
        if expr.op == "to_float":
            return f"static_cast<float>({text(expr.args[0])})"
        if expr.op == "neg":
            return f"-{_converted(expr.args[0], target, text)}"
    return f"static_cast<{target}>({text(expr)})"


def _moved(plan: Plan) -> int:
    """Bytes of global memory that a step moves per element of its space."""
    copies = [c for b in plan.blocks() for c in (*b.loads, *b.stores)]
    return sum(c.local.dtype.bytes for c in copies if c.has_col and (c.has_row or not c.outer))
