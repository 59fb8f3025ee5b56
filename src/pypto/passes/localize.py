"""Values that one run of statements makes and another one uses go through memory.

Loops, branches and elements read divide a kernel into runs of straight statements, and a stage is
made of one run's. What a run takes from before it is loaded again where memory still holds it,
filled again where it is a scalar, and stored to a local tensor otherwise: so is what was loaded
before a loop and is used in it, which may stay on chip. Elements are read as early as they can be,
so that they divide little.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pypto.ir.expr import as_int, const
from pypto.ir.tensor import (
    Buffer,
    Compute,
    Dump,
    For,
    If,
    Kernel,
    Load,
    LoadScalar,
    Print,
    Region,
    Simple,
    Statement,
    Store,
    TensorType,
    Value,
    operands_of,
    walk,
)
from pypto.passes.dead import written_in

__all__ = ["Localized", "localize"]


@dataclass(frozen=True, slots=True)
class Localized:
    """A kernel with no value used in another run than its own; and the local tensors that hold
    what memory has, too: worth having on chip only, by the value loaded."""

    kernel: Kernel
    copies: Mapping[Value, Buffer]


def localize(
    kernel: Kernel, same: dict[Buffer, Buffer], again: frozenset[Value] = frozenset()
) -> Localized:
    """``kernel`` in runs that share no value. Adds its local tensors to ``same``. ``again``: values
    that are loaded again in each loop that uses them."""
    if all(isinstance(s, Simple) for s in kernel.body):
        return Localized(kernel, {})
    kernel = replace(kernel, body=_early(kernel.body, same))
    pass_ = _Localize(same, written_in(kernel.body, same), again)
    pass_.find(kernel.body, 0)
    if not pass_.foreign:
        return Localized(kernel, {})
    pass_.next_id = 1 + max(s.result.id for s in walk(kernel.body) if isinstance(s, Load | Compute))
    locals_: list[Buffer] = []
    body = pass_.block(kernel.body, locals_)
    kernel = replace(kernel, body=body, locals=(*kernel.locals, *locals_))
    spilled = {value: load.buffer for value, load in pass_.spilled.items()}
    return Localized(kernel, {v: b for v, b in spilled.items() if pass_.unchanged(v)})


@dataclass(slots=True)
class _Localize:
    same: dict[Buffer, Buffer]
    written: set[Buffer]
    again: frozenset[Value]
    made: dict[Value, tuple[Load | Compute, int, int]] = field(default_factory=dict)
    # by value: what makes it, in which run, inside how many loops
    foreign: set[Value] = field(default_factory=set)  # used in another run than their own
    deeper: set[Value] = field(default_factory=set)  # loaded inside a loop, used in one inside that
    spilled: dict[Value, Load] = field(default_factory=dict)
    runs: int = 0
    next_id: int = 0

    def find(self, body: tuple[Statement, ...], depth: int) -> None:
        """Note which values other runs use. ``depth``: how many loops are around ``body``."""
        self.runs += 1
        for statement in body:
            if isinstance(statement, Simple):
                for value in operands_of(statement):
                    made, run, outer = self.made[value]
                    if run != self.runs:
                        self.foreign.add(value)
                        if isinstance(made, Load) and 0 < outer < depth:
                            self.deeper.add(value)
                if not isinstance(statement, Store):
                    self.made[statement.result] = (statement, self.runs, depth)
                continue
            if isinstance(statement, For):
                self.find(statement.body, depth + 1)
            elif isinstance(statement, If):
                self.find(statement.then, depth)
                self.find(statement.other, depth)
            self.runs += 1

    def block(self, body: tuple[Statement, ...], locals_: list[Buffer]) -> tuple[Statement, ...]:
        """``body`` with what it takes from outside made in it. ``locals_``: of the iteration."""
        own: dict[Value, Value] = {}
        out: list[Statement] = []
        defined: set[Value] = set()
        for statement in body:
            if not isinstance(statement, Simple | Print):
                own, defined = {}, set()
            if isinstance(statement, For):
                inner: list[Buffer] = []
                nested = self.block(statement.body, inner)
                out.append(replace(statement, body=nested, locals=(*statement.locals, *inner)))
            elif isinstance(statement, If):
                then, other = (
                    self.block(statement.then, locals_),
                    self.block(statement.other, locals_),
                )
                out.append(replace(statement, then=then, other=other))
            elif isinstance(statement, LoadScalar | Print | Dump):
                out.append(statement)
            else:
                for value in operands_of(statement):
                    if value not in defined and value not in own:
                        out.append(self._again(value, own))
                out.append(_renamed(statement, own))
                if not isinstance(statement, Store):
                    defined.add(statement.result)
                    if statement.result in self.foreign and not self._kept(statement):
                        out.append(self._spill(statement, locals_))
        return tuple(out)

    def _kept(self, statement: Load | Compute) -> bool:
        """Whether the value is had again without memory of its own."""
        if isinstance(statement, Load):
            value = statement.result
            stays = value in self.deeper and value not in self.again and _fixed(value.type)
            return self.unchanged(value) and not stays
        return statement.op == "fill"

    def unchanged(self, value: Value) -> bool:
        """Whether memory that nothing writes holds ``value``."""
        made, *_ = self.made[value]
        return isinstance(made, Load) and self.same[made.buffer] not in self.written

    def _again(self, value: Value, own: dict[Value, Value]) -> Load | Compute:
        """A statement that makes ``value`` anew in this run."""
        made, *_ = self.made[value]
        if not self._kept(made):
            made = self.spilled[value]
        copy = Value(self.next_id, value.type, value.name)
        self.next_id += 1
        own[value] = copy
        return replace(made, result=copy)

    def _spill(self, statement: Load | Compute, locals_: list[Buffer]) -> Store:
        value = statement.result
        name = f"{value.name or 't'}_{value.id}"
        whole = TensorType(value.type.dtype, value.type.shape)
        buffer = Buffer(name, whole, None, statement.span)
        self.same[buffer] = buffer
        locals_.append(buffer)
        region = Region(tuple(const(0) for _ in value.type.shape), value.type.sizes)
        self.spilled[value] = Load(value, buffer, region, statement.span)
        return Store(buffer, region, value, statement.span, None, value.type.shape)


def _fixed(type: TensorType) -> bool:
    return all(as_int(size) is not None for size in type.shape)


def _early(body: tuple[Statement, ...], same: Mapping[Buffer, Buffer]) -> tuple[Statement, ...]:
    """``body`` with elements read before the straight statements that do not write their memory."""
    out: list[Statement] = []
    first = 0  # where the run at the end of ``out`` starts
    for statement in body:
        if isinstance(statement, LoadScalar):
            run = out[first:]
            memory = same[statement.buffer]
            if any(isinstance(s, Store) and same[s.buffer] is memory for s in run):
                out.append(statement)
            else:
                out.insert(first, statement)
                first += 1
                continue
        elif isinstance(statement, For):
            out.append(replace(statement, body=_early(statement.body, same)))
        elif isinstance(statement, If):
            then, other = _early(statement.then, same), _early(statement.other, same)
            out.append(replace(statement, then=then, other=other))
        else:
            out.append(statement)
            continue
        first = len(out)
    return tuple(out)


def _renamed(statement: Simple, own: Mapping[Value, Value]) -> Simple:
    if isinstance(statement, Store):
        return replace(statement, value=own.get(statement.value, statement.value))
    if isinstance(statement, Compute):
        args = tuple(own.get(a, a) if isinstance(a, Value) else a for a in statement.args)
        return replace(statement, args=args)
    return statement
