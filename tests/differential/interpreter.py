"""Executes Tensor IR on torch tensors, statement by statement.

It says what a kernel's Tensor IR means without passes, code generation or C++: where it disagrees
with the kernel's text the front end is wrong, where the compiled kernel disagrees with it what
comes behind the front end is. Scalars are Python numbers. Every access is checked: a region lies
inside its buffer, sizes are those that the types state, and no element is used that nothing wrote.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from pypto.ir.expr import Apply, Const, Expr, Symbol, Variable, as_int
from pypto.ir.tensor import (
    Axes,
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
    Statement,
    Store,
    along,
    root,
)
from pypto.ops import registry
from tests.ops.reference import Ref, meaning

Number = int | float | bool

_STRANGE = {torch.int8: -77, torch.uint8: 177, torch.int16: -7777}  # what unwritten elements hold


class Fault(AssertionError):
    """The Tensor IR does what it must not."""


class Refused(Exception):
    """A precondition of the kernel does not hold for this call."""


@dataclass(slots=True)
class Elements:
    """The valid part of a tensor, and which of its elements something wrote."""

    data: torch.Tensor
    defined: torch.Tensor

    @staticmethod
    def whole(data: torch.Tensor) -> Elements:
        return Elements(data, torch.ones(data.shape, dtype=torch.bool))

    @staticmethod
    def unwritten(shape: Sequence[int], dtype: torch.dtype) -> Elements:
        strange = torch.nan if dtype.is_floating_point else _STRANGE.get(dtype, -77777)
        return Elements(torch.full(shape, strange, dtype=dtype), torch.zeros(shape).bool())

    def map(self, change: Callable[[torch.Tensor], torch.Tensor]) -> Elements:
        """The same view of both."""
        return Elements(change(self.data), change(self.defined))


def interpret(kernel: Kernel, values: Sequence[Any]) -> str:
    """Run ``kernel`` on its arguments ``values``, which it changes; the values of constants are
    not looked at. Raises Refused where a call would be refused, Fault where the IR is wrong.
    What it prints."""
    machine = _Machine(kernel, values)
    machine.run()
    return machine.printed


class _Machine:
    def __init__(self, kernel: Kernel, values: Sequence[Any]) -> None:
        self.kernel = kernel
        self.values = values
        self.scalars: dict[Variable, Number] = {}
        self.tensors: dict[int, Elements] = {}  # by the id of the value
        self.memory: dict[int, Elements] = {}  # by the identity of the buffer
        self.printed = ""

    def run(self) -> None:
        for condition in self.kernel.preconditions:
            if not self.scalar(condition.condition):
                raise Refused(condition.message)
        for param in self.kernel.params:
            if param.buffer is not None:
                given = self.values[param.index]
                self.memory[id(param.buffer)] = Elements.whole(given.reshape(given.shape or (1,)))
                self._expect(given.shape or (1,), param.buffer.type.shape, param.buffer)
        self.body(self.kernel.body)

    # --- scalars ---

    def scalar(self, expr: Expr) -> Any:
        """The value of ``expr`` now, by Python's rules."""
        if isinstance(expr, Const):
            return expr.value
        if isinstance(expr, Symbol):
            given = self.values[expr.param]
            return given if expr.axis is None else (tuple(given.shape) or (1,))[expr.axis]
        if isinstance(expr, Variable):
            if expr not in self.scalars:
                raise Fault(f"{expr} is used where it has no value")
            return self.scalars[expr]
        assert isinstance(expr, Apply)
        if expr.op in _LAZY:
            return self._lazy(expr)
        args = [self.scalar(a) for a in expr.args]
        result = args[0] if len(args) > 1 else _ONE[expr.op](args[0])
        for other in args[1:]:
            result = _TWO[expr.op](result, other)
        return result

    def _lazy(self, expr: Apply) -> Any:
        """Operations that do not look at all their operands: a guarded division is no error."""
        first = self.scalar(expr.args[0])
        if expr.op == "select":
            return self.scalar(expr.args[1 if first else 2])
        for argument in expr.args[1:]:
            if bool(first) is (expr.op == "or"):
                break
            first = self.scalar(argument)
        return bool(first)

    def sizes(self, shape: Sequence[Expr]) -> tuple[int, ...]:
        return tuple(self.scalar(s) for s in shape)

    # --- statements ---

    def body(self, body: Sequence[Statement]) -> None:
        for statement in body:
            if isinstance(statement, Load):
                self._load(statement)
            elif isinstance(statement, Store):
                self._store(statement)
            elif isinstance(statement, Compute):
                self._compute(statement)
            elif isinstance(statement, LoadScalar):
                self._load_scalar(statement)
            elif isinstance(statement, Dump):
                self.printed += self._dump(statement)
            elif isinstance(statement, Print):
                self.printed += self._text(statement)
            elif isinstance(statement, For):
                self._for(statement)
            else:
                self._if(statement)

    def _dump(self, dump: Dump) -> str:
        """As the twin writes it."""
        data = self._region(dump.buffer, dump.region).data.flatten()
        if not len(data):
            return ""
        count = min(len(data), 30 * 1024 // data.element_size())
        write = "{:g}" if data.is_floating_point() else "{:d}"
        shown = [write.format(element) for element in data[:count].tolist()]
        lines = [" ".join(shown[at : at + 8]) for at in range(0, count, 8)]
        head = f"DumpTensor desc={dump.span.line} count={count}"
        return "\n".join([head, *lines, ""])

    def _text(self, statement: Print) -> str:
        parts = (p if isinstance(p, str) else self.scalar(p) for p in statement.parts)
        return "".join(f"{p:f}" if isinstance(p, float) else str(p) for p in parts)

    def _for(self, loop: For) -> None:
        start, stop, step = (self.scalar(e) for e in (loop.start, loop.stop, loop.step))
        if step == 0:
            raise Fault(f"the loop at {loop.span.relative} has step 0")
        carried = [*loop.carried, *([loop.until] if loop.until is not None else [])]
        now = [self.scalar(c.initial) for c in carried]
        for index in range(start, stop, step):
            if loop.until is not None and now[-1]:
                break
            for buffer in loop.locals:
                self.memory.pop(id(buffer), None)
            self.scalars[loop.index] = index
            self.scalars |= {c.inner: v for c, v in zip(carried, now, strict=True)}
            self.body(loop.body)
            now = [self.scalar(c.next) for c in carried]
        for name in (loop.index, *(c.inner for c in carried)):
            self.scalars.pop(name, None)
        self.scalars |= {c.result: v for c, v in zip(carried, now, strict=True)}

    def _if(self, branch: If) -> None:
        condition = self.scalar(branch.condition)
        self.body(branch.then if condition else branch.other)
        merged = [self.scalar(m.then if condition else m.other) for m in branch.merges]
        self.scalars |= {m.result: v for m, v in zip(branch.merges, merged, strict=True)}

    def _load(self, load: Load) -> None:
        box = self._region(load.buffer, load.region)
        rank = load.result.type.rank
        part = box.map(lambda t: _to_value(t, load.axes).clone())
        if part.data.dim() != rank:
            raise Fault(f"{load.result} has not the rank of its region")
        self._expect(part.data.shape, load.result.type.sizes, load.result)
        self.tensors[load.result.id] = part

    def _store(self, store: Store) -> None:
        box = self._region(store.buffer, store.region)
        value = self.tensors[store.value.id]
        have = self.sizes(along(store.region.sizes, store.axes, store.value.type.rank))
        for axis, (want, stated) in enumerate(zip(have, store.value.type.shape, strict=True)):
            if as_int(stated) == 1:
                continue
            if value.data.shape[axis] < want:
                raise Fault(f"{store.value} of {list(value.data.shape)} goes into {list(have)}")
            value = value.map(lambda t, axis=axis, want=want: t.narrow(axis, 0, want))
        target = box.map(lambda t: _to_value(t, store.axes))
        if root(store.buffer).param is not None and not bool(value.defined.all()):
            raise Fault(f"unwritten elements are stored into {store.buffer}")
        target.data.copy_(value.data.expand(target.data.shape))
        target.defined.copy_(value.defined.expand(target.data.shape))

    def _load_scalar(self, load: LoadScalar) -> None:
        memory = self._memory(load.buffer)
        index = self.sizes(load.index)
        for i, size in zip(index, memory.data.shape, strict=True):
            if not 0 <= i < size:
                raise Fault(f"{load.buffer}{list(index)} is outside {list(memory.data.shape)}")
        if not bool(memory.defined[index]):
            raise Fault(f"{load.buffer}{list(index)} is read before it is written")
        self.scalars[load.result] = memory.data[index].item()

    def _compute(self, use: Compute) -> None:
        sizes = self.sizes(use.result.type.sizes)
        dtype = getattr(torch, use.result.type.dtype.torch_name or "")
        if use.op == "fill":
            (number,) = use.args
            assert isinstance(number, Expr)
            made = Elements.whole(torch.full(sizes, self.scalar(number), dtype=dtype))
        else:
            made = self._operation(use, sizes)
        if made.data.dtype != dtype:
            raise Fault(f"{use.op} makes {made.data.dtype}, its type says {dtype}")
        self._expect(made.data.shape, use.result.type.sizes, use.result)
        self.tensors[use.result.id] = made

    def _operation(self, use: Compute, sizes: tuple[int, ...]) -> Elements:
        spec = registry.get(use.op)
        bound = dict(use.attrs)
        names = [p.name for p in spec.params if p.name not in bound]
        masks = []
        reduces = "dim" in bound
        for name, arg in zip(names, use.args, strict=True):
            if isinstance(arg, Expr):
                bound[name] = self.scalar(arg)
                continue
            part = self.tensors[arg.id]
            if not reduces:  # the elements that the result is said to have
                part = part.map(lambda t, a=arg: _common(t, self.sizes(a.type.shape), sizes))
            bound[name] = Ref(part.data)
            masks.append(part.defined)
        data = meaning(spec, bound)
        if reduces:
            mask = masks[0].all(bound["dim"], True)
            wide = data.shape == masks[0].shape
            return Elements(data, mask.expand(data.shape) if wide else mask.reshape(data.shape))
        mask = torch.ones(data.shape, dtype=torch.bool)
        for other in masks:
            mask &= other
        return Elements(data, mask)

    # --- memory ---

    def _memory(self, buffer: Buffer) -> Elements:
        """All of ``buffer``, made when it is first used; views are made anew each time."""
        if buffer.base is not None:
            base, offset = self._memory(buffer.base), self.scalar(buffer.offset)
            shape = self.sizes(buffer.type.shape)
            if buffer.type.dtype is not buffer.base.type.dtype:
                return self._shown(base, buffer, shape)
            count = torch.Size(shape).numel()
            if count and not 0 <= offset <= base.data.numel() - count:
                raise Fault(f"the view {buffer} of {list(shape)} at {offset} leaves {buffer.base}")
            offset = offset if count else 0
            return base.map(lambda t: t.view(-1)[offset : offset + count].view(shape))
        if id(buffer) not in self.memory:
            if buffer.param is not None:
                raise Fault(f"{buffer} is no parameter of the kernel")
            dtype = getattr(torch, buffer.type.dtype.torch_name or "")
            self.memory[id(buffer)] = Elements.unwritten(self.sizes(buffer.type.shape), dtype)
        return self.memory[id(buffer)]

    def _shown(self, base: Elements, buffer: Buffer, shape: tuple[int, ...]) -> Elements:
        """The bytes of ``base`` in the dtype of ``buffer``. What is defined: for equal widths a
        view, for others what all bytes of an element are."""
        data = base.data.view(getattr(torch, buffer.type.dtype.torch_name or ""))
        if tuple(data.shape) != shape:
            raise Fault(f"the view {buffer} has {list(data.shape)}, its type says {list(shape)}")
        if data.shape == base.defined.shape:
            return Elements(data, base.defined)
        if not bool(base.defined.all()):
            raise Fault(f"{buffer} shows elements that are not written")
        return Elements.whole(data)

    def _region(self, buffer: Buffer, region: Region) -> Elements:
        memory = self._memory(buffer)
        offsets, sizes = self.sizes(region.offsets), self.sizes(region.sizes)
        shape = tuple(memory.data.shape)
        if len(offsets) != len(shape) or len(sizes) != len(shape) or min(sizes) < 0:
            raise Fault(f"a region {offsets} {sizes} of {buffer} {list(shape)}")
        if 0 in sizes:  # nothing is accessed, wherever it starts
            return Elements.unwritten(sizes, memory.data.dtype)
        for offset, size, have in zip(offsets, sizes, shape, strict=True):
            if offset < 0 or offset + size > have:
                raise Fault(f"a region {offsets} {sizes} leaves {buffer} {list(shape)}")
        box = tuple(slice(o, o + s) for o, s in zip(offsets, sizes, strict=True))
        return memory.map(lambda t: t[box])

    def _expect(self, have: Sequence[int], stated: Sequence[Expr], what: object) -> None:
        if tuple(have) != self.sizes(stated):
            raise Fault(f"{what} has sizes {list(have)}, its type says {list(self.sizes(stated))}")


def _to_value(box: torch.Tensor, axes: Axes | None) -> torch.Tensor:
    """A region's box along the axes of the value that lies there; the same memory."""
    if axes is None:
        return box
    used = [a for a in axes if a is not None]
    left = [a for a in range(box.dim()) if a not in used]
    if any(box.shape[a] != 1 for a in left):
        raise Fault(f"a region of sizes {list(box.shape)} loses an axis by {axes}")
    box = box.permute(*left, *used)[(0,) * len(left)]
    for position, axis in enumerate(axes):
        if axis is None:
            box = box.unsqueeze(position)
    return box


def _common(part: torch.Tensor, stated: Sequence[int], sizes: Sequence[int]) -> torch.Tensor:
    """The elements of an operand that an elementwise result of ``sizes`` uses."""
    skipped = len(sizes) - part.dim()
    for axis, full in enumerate(stated):
        if full != 1:
            part = part[(slice(None),) * axis + (slice(0, sizes[axis + skipped]),)]
    return part


_LAZY = ("and", "or", "select")
_ONE: dict[str, Callable[[Any], Any]] = {
    "neg": operator.neg, "abs": abs, "not": operator.not_, "to_float": float, "to_int": int,
}  # fmt: skip
_TWO: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "pow": operator.pow,
    "floordiv": operator.floordiv, "mod": operator.mod, "truediv": operator.truediv,
    "min": min, "max": max, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
    "ge": operator.ge, "eq": operator.eq, "ne": operator.ne,
}  # fmt: skip
