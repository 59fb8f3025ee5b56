"""Stable text of Tile IR, for ``--dump=tile``, tests and bug reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pypto.ir.expr import as_int
from pypto.ir.tensor_print import printed_parts
from pypto.ir.tile import (
    Area,
    Barrier,
    Block,
    Copy,
    Instr,
    Local,
    Plan,
    PrintTensor,
    PrintText,
    Program,
    Space,
    TileBranch,
    TileLoop,
    TileNode,
    TileStage,
    Wait,
)

__all__ = ["print_program"]


def print_program(program: Program) -> str:
    """``program`` as text; positions are relative to the functions' ``def`` lines."""
    out = [f"program {program.name}  {program.kind}"]
    for buffer in program.workspace:
        own = "  each core its own" if buffer in program.private else ""
        out.append(f"  workspace {buffer.name}: {buffer.type}{own}")
    for number, shared in enumerate(program.shared):
        sizes = ", ".join(f"{a.value} {b} B" for a, b in shared.areas.items())
        out.append(f"  memory {number}: {sizes}, {shared.depth} x in and out")
    numbers = {stage: n for n, stage in enumerate(program.stages)}
    out += _nodes(program.body, numbers, "")
    return "\n".join(out) + "\n"


def _nodes(nodes: Sequence[TileNode], numbers: Mapping[TileStage, int], indent: str) -> list[str]:
    out: list[str] = []
    for node in nodes:
        if isinstance(node, Wait):
            out.append(f"{indent or '  '}-- {node.value} --")
        elif isinstance(node, TileStage):
            if node.guard is not None:
                out.append(f"{indent}only if {node.guard}")
            for plan in node.plans:
                out += [indent + line for line in _plan(numbers[node], plan, node)]
        elif isinstance(node, TileLoop):
            how = "over cores" if node.over_cores else "in sequence"
            ranges = ", ".join(f"{r.index} {r.start} : {r.stop} : {r.step}" for r in node.ranges)
            out.append(f"{indent}loop {ranges}  {how}  @{node.span.relative}")
            for one in node.scalars:
                out.append(f"{indent}  carry {one.inner} = {one.initial}, then {one.next}")
            out += _nodes(node.body, numbers, indent + "  ")
        elif isinstance(node, PrintTensor):
            text = f"print {node.count} elements of {node.buffer.name}[{node.offset}]"
            out.append(f"{indent}S     {text}  @{node.span.relative}")
        elif isinstance(node, PrintText):
            text = f"print {printed_parts(node.parts)}  @{node.span.relative}"
            out.append(f"{indent}S     {text}")
        elif isinstance(node, TileBranch):
            out.append(f"{indent}if {node.condition}  @{node.span.relative}")
            out += _nodes(node.then, numbers, indent + "  ")
            if node.other:
                out.append(f"{indent}else")
                out += _nodes(node.other, numbers, indent + "  ")
            for merge in node.merges:
                out.append(f"{indent}  {merge.result} = {merge.then} or {merge.other}")
        else:
            place = f"{node.buffer.name}[{node.offset}]  @{node.span.relative}"
            out.append(f"{indent}S     {node.result} <- {place}")
    return out


def _space(space: Space) -> str:
    axes = [*space.outer, space.rows, space.cols]
    return " x ".join(str(a) for a in axes)


def _plan(number: int, plan: Plan, stage: TileStage) -> list[str]:
    head = f"stage {number} {plan.form}{' alone' if stage.alone else ''}  space "
    head += _space(plan.space)
    if plan.form in ("rows", "columns"):
        head += f", at most {plan.rows_max} rows and {plan.step_max} elements a step"
    else:
        head += f", at most {plan.step_max} elements a step"
    if plan.cols_max is not None and not _constant(plan.space.cols):
        what = "strips of" if plan.form == "columns" else "rows up to"
        head += f", {what} {plan.cols_max}"
    out = [head]
    for area, size in plan.areas.items():
        depth = plan.depth if area in (Area.IN, Area.OUT) else 1
        out.append(f"  {area.value:<5} {depth} x {size:>6} B  {_slots(plan, area)}")
    out.append(f"  total {plan.total_bytes} B")
    named = [("core", plan.prologue), ("tile", plan.head)]
    for index, phase in enumerate(plan.phases):
        named += [
            (f"start {index}", phase.start), (f"step {index}", phase.step),
            (f"finish {index}", phase.finish),
        ]  # fmt: skip
    named.append(("end", plan.tail))
    for name, block in named:
        if not block.empty:
            out.append(f"  per {name}:")
            out += _block(block)
    return out


def _constant(size: object) -> bool:
    return str(size).isdigit()


def _slots(plan: Plan, area: Area) -> str:
    names: dict[int, list[str]] = {}
    for local in plan.locals():
        if local.slot is not None and local.slot.area is area:
            where = names.setdefault(local.slot.offset, [])
            if local.name not in where:
                where.append(local.name)
    return ", ".join(f"{'/'.join(n)} @{offset}" for offset, n in sorted(names.items()))


def _place(local: Local) -> str:
    assert local.slot is not None
    return f"{local.name}@{local.slot.area.value}+{local.slot.offset}"


def _block(block: Block) -> list[str]:
    out = [f"    MTE2  {_copy(c)}" for c in block.loads]
    out += [f"    kept  {_copy(c)}" for c in block.kept]
    for item in block.body:
        if isinstance(item, Barrier):
            out.append("    V     --barrier--")
        else:
            out.append(f"    V     {_instr(item)}")
    return out + [f"    MTE3  {_copy(c)}" for c in block.stores]


def _copy(copy: Copy) -> str:
    text = f"{_place(copy.local)} <-> {copy.buffer.name} {copy.kind.value}"
    if as_int(copy.offset) != 0:
        text += f" from {copy.offset}"
    if not copy.dense:
        text += f" strides ({', '.join('-' if s is None else str(s) for s in copy.strides)})"
    return f"{text}  @{copy.span.relative}"


def _instr(instr: Instr) -> str:
    operands = [_place(s) for s in instr.srcs] + [str(s) for s in instr.scalars]
    operands += [a for a in instr.attrs if instr.form in ("cast", "iota")]
    text = f"{instr.name} {instr.extent.value} {_place(instr.dst)} <- {', '.join(operands)}"
    return f"{text}  @{instr.span.relative}"
