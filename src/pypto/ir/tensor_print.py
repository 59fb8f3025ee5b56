"""Stable text of Tensor IR, for ``--dump=tensor``, tests and bug reports."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pypto.ir.expr import Const, Expr
from pypto.ir.tensor import (
    Axes,
    Buffer,
    Carried,
    Compute,
    Dump,
    For,
    If,
    Kernel,
    Load,
    LoadScalar,
    Param,
    Print,
    Region,
    Statement,
    Store,
)

__all__ = ["print_kernel", "printed_parts"]

_Line = tuple[str, str]  # text, place


def print_kernel(kernel: Kernel) -> str:
    """Stable text of ``kernel``; positions are relative to the functions' ``def`` lines."""
    out = [f"kernel {kernel.name}({', '.join(_param(p) for p in kernel.params)})"]
    out += [f"  {_local(b)}" for b in kernel.locals]
    out += [f"  require {p.condition}" for p in kernel.preconditions]
    lines = list(_lines(kernel.body, "  "))
    width = max((len(text) for text, _ in lines), default=0)
    out += [f"{text:<{width}}  @{where}" for text, where in lines]
    return "\n".join(out) + "\n"


def _param(param: Param) -> str:
    if param.buffer is not None:
        use = [word for flag, word in ((param.read, "read"), (param.written, "write")) if flag]
        return f"{param.name}: {param.buffer.type} {'+'.join(use) or 'unused'}"
    if param.kind == "constant":
        return f"{param.name} = {param.value!r}"
    return f"{param.name}: {param.kind}"


def _local(buffer: Buffer) -> str:
    if buffer.base is None:
        return f"local {buffer.name}: {buffer.type}"
    return f"view {buffer.name}: {buffer.type} of {buffer.base.name} from {buffer.offset}"


def _lines(body: tuple[Statement, ...], indent: str) -> Iterator[_Line]:
    for statement in body:
        where = statement.span.relative
        inner = indent + "  "
        if isinstance(statement, For):
            yield indent + _for(statement), where
            yield from ((f"{inner}{_local(b)}", b.span.relative) for b in statement.locals)
            yield from _lines(statement.body, inner)
        elif isinstance(statement, If):
            yield f"{indent}if {statement.condition}", where
            yield from _lines(statement.then, inner)
            if statement.other:
                yield f"{indent}else", where
                yield from _lines(statement.other, inner)
            for merge in statement.merges:
                yield f"{indent}{merge.result} = {merge.then} or {merge.other}", where
        else:
            yield indent + _statement(statement), where


def _for(loop: For) -> str:
    text = f"for {loop.index} in {loop.start} : {loop.stop} : {loop.step}"
    if loop.parallel:
        text += " parallel"
    text += "".join(f" carry {_carried(c)}" for c in loop.carried)
    if loop.until is not None:
        text += f" until {_carried(loop.until)}"
    return text


def _carried(carried: Carried) -> str:
    return f"{carried.inner} ({carried.initial} -> {carried.next} -> {carried.result})"


def _region(buffer: Buffer, region: Region, axes: Axes | None) -> str:
    if region.covers(buffer):
        text = f"{buffer.name}[:]"
    else:
        spans = (f"{o}:+{s}" for o, s in zip(region.offsets, region.sizes, strict=True))
        text = f"{buffer.name}[{', '.join(spans)}]"
    if axes is not None:
        text += f" axes ({', '.join('-' if a is None else str(a) for a in axes)})"
    return text


def _statement(statement: Load | Store | LoadScalar | Print | Dump | Compute) -> str:
    if isinstance(statement, Load):
        text = _region(statement.buffer, statement.region, statement.axes)
        return f"{statement.result} = load {text}"
    if isinstance(statement, Store):
        text = _region(statement.buffer, statement.region, statement.axes)
        return f"store {text}, {statement.value}"
    if isinstance(statement, Dump):
        return f"print {_region(statement.buffer, statement.region, None)}"
    if isinstance(statement, Print):
        return f"print {printed_parts(statement.parts)}"
    if isinstance(statement, LoadScalar):
        index = ", ".join(str(i) for i in statement.index)
        below = "" if statement.limit is None else f" of 0 : {statement.limit}"
        return f"{statement.result} = element {statement.buffer.name}[{index}]{below}"
    parts = [str(a) for a in statement.args]
    parts += [f"{name}={_attr(value)}" for name, value in statement.attrs]
    text = f"{statement.result} = {statement.op} {', '.join(parts)} : {statement.result.type}"
    if statement.tile is not None:
        text += f" tile ({','.join(str(t) for t in statement.tile)})"
    return text


def printed_parts(parts: tuple[str | Expr, ...]) -> str:
    """``"i is ", i``"""
    return ", ".join(json.dumps(part) if isinstance(part, str) else str(part) for part in parts)


def _attr(value: object) -> str:
    if isinstance(value, Const):
        return str(value)
    return getattr(value, "name", None) or repr(value)
