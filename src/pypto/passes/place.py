"""Local tensors that are only copied somewhere in the end are made there.

``out[:] = concat([a, b])`` stores two boxes of a local tensor, loads all of it and stores that to
``out``: the boxes are stored to ``out`` itself, and nothing is copied; so are boxes that loops
store. It may be so where the local tensor is loaded once, whole, for one store of just that, and
nothing touches the memory stored to from the first box on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from pypto.ir.expr import Expr, apply, const
from pypto.ir.sizes import Sizes
from pypto.ir.tensor import (
    Buffer,
    Dump,
    For,
    If,
    Kernel,
    Load,
    LoadScalar,
    Region,
    Simple,
    Statement,
    Store,
    Value,
    operands_of,
    root,
    walk,
)
from pypto.passes.access import store_sizes

__all__ = ["place"]


def place(kernel: Kernel, same: Mapping[Buffer, Buffer], sizes: Sizes) -> Kernel:
    """``kernel`` with local tensors made where they are copied to. ``same``: the buffer that stands
    for all with its memory; ``sizes``: which sizes are equal in every call."""
    touches: Counter[Buffer] = Counter()
    uses: Counter[Value] = Counter()
    for statement in walk(kernel.body):
        if isinstance(statement, Load | Store | LoadScalar | Dump):
            touches[root(statement.buffer)] += 1
        uses.update(operands_of(statement))
    pass_ = _Place(same, sizes, touches, uses)
    body = pass_.block(kernel.body)
    if not pass_.gone:
        return kernel
    return replace(kernel, body=body, locals=_rest(kernel.locals, pass_.gone))


def _rest(buffers: tuple[Buffer, ...], gone: set[Buffer]) -> tuple[Buffer, ...]:
    return tuple(b for b in buffers if root(b) not in gone)


class _Place:
    def __init__(
        self,
        same: Mapping[Buffer, Buffer],
        sizes: Sizes,
        touches: Counter[Buffer],
        uses: Counter[Value],
    ) -> None:
        self.same = same
        self.sizes = sizes
        self.touches = touches
        self.uses = uses
        self.gone: set[Buffer] = set()

    def block(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        out: list[Statement] = []
        for statement in body:
            if isinstance(statement, For):
                inner = self.block(statement.body)
                out.append(
                    replace(statement, body=inner, locals=_rest(statement.locals, self.gone))
                )
            elif isinstance(statement, If):
                then, other = self.block(statement.then), self.block(statement.other)
                out.append(replace(statement, then=then, other=other))
            else:
                out.append(statement)
                if isinstance(statement, Store):
                    self._end(out)
        return tuple(out)

    def _end(self, out: list[Statement]) -> None:
        """Make what the last statement of ``out`` stores in its place, if that may be."""
        last = out[-1]
        assert isinstance(last, Store)
        load = next(
            (s for s in reversed(out) if isinstance(s, Load) and s.result is last.value), None
        )
        if load is None or not self._copied(load, last):
            return
        count = [len(_stores(statement, load.buffer)) for statement in out]
        stores = [n for n, found in enumerate(count) if found]
        if not stores or sum(count) + 1 != self.touches[load.buffer]:
            return  # another block touches it, or another shape of it
        between = out[stores[0] : -1]
        memory = self.same[last.buffer]
        if out.index(load) < stores[-1] or not all(self._passes(s, memory) for s in between):
            return
        for n in stores:
            out[n] = _redirected(out[n], load.buffer, last)
        out.remove(load)
        out.pop()
        self.gone.add(load.buffer)
        self.touches[root(last.buffer)] += sum(count) - 1

    def _passes(self, statement: Statement, memory: Buffer) -> bool:
        """Whether what is stored to ``memory`` behind ``statement`` may be stored before it, too:
        nothing in it touches that memory, and it leaves no number that says where."""
        if isinstance(statement, For):
            return not statement.scalars and all(self._passes(s, memory) for s in statement.body)
        if isinstance(statement, Load | Store | LoadScalar):
            return self.same[statement.buffer] is not memory
        return isinstance(statement, Simple)

    def _copied(self, load: Load, store: Store) -> bool:
        """Whether ``store`` copies just what ``load`` reads, all of a local tensor."""
        local = load.buffer
        if local.param is not None or local.base is not None or load.axes is not None:
            return False
        if root(store.buffer) is local or self.uses[load.result] != 1:
            return False
        if not load.region.covers(local) or load.result.type.shape != local.type.shape:
            return False
        sizes = store_sizes(store)
        return len(sizes) == local.type.rank and all(
            map(self.sizes.equal, sizes, load.result.type.sizes)
        )


def _stores(statement: Statement, buffer: Buffer) -> list[Store]:
    """The stores to ``buffer`` in ``statement`` and in the loops that it is of."""
    return [s for s in walk((statement,)) if isinstance(s, Store) and s.buffer is buffer]


def _redirected(statement: Statement, buffer: Buffer, target: Store) -> Statement:
    """``statement`` with its stores to ``buffer`` as stores to what ``target`` stores to."""
    if isinstance(statement, For):
        body = tuple(_redirected(inner, buffer, target) for inner in statement.body)
        return replace(statement, body=body)
    if isinstance(statement, Store) and statement.buffer is buffer:
        return _moved(statement, target)
    return statement


def _moved(box: Store, target: Store) -> Store:
    """A store to a box of what ``target`` stores, as one to a box of the region of ``target``."""
    axes = target.axes or (*range(len(target.region.sizes)),)
    offsets: list[Expr] = [*target.region.offsets]
    sizes: list[Expr] = [const(1)] * len(offsets)
    for held, offset, size in zip(axes, box.region.offsets, box.region.sizes, strict=True):
        if held is not None:
            offsets[held] = apply("add", offsets[held], offset)
            sizes[held] = size
    own = box.axes or (*range(len(axes)),)
    made = tuple(None if a is None else axes[a] for a in own)
    whole = made == (*range(len(offsets)),)
    shape = box.shape
    return replace(
        box, buffer=target.buffer, region=Region(tuple(offsets), tuple(sizes)),
        axes=None if whole else made, shape=shape,
    )  # fmt: skip
