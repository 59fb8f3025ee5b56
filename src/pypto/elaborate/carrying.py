"""Names that a run-time loop changes: scalars and tensors that go from iteration to iteration.

The body is read once. Before that, each name that it assigns gets a deferred value: who reads it
before it is assigned gets what the iteration before has left. A guess that turns out wrong (a
number that becomes a float, a local tensor that is replaced and not written) is recorded, and the
kernel is read again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from pypto.elaborate import values as v
from pypto.elaborate.blocks import OpenFor, behind, in_front
from pypto.elaborate.diagnostics import Decide, Poisoned, refuse
from pypto.elaborate.exits import RETURN, VALUE
from pypto.elaborate.joining import (
    as_kind,
    common_kind,
    in_words,
    is_partial,
    refuse_partial,
    remedy,
    same,
    settled,
)
from pypto.elaborate.machine import Frame
from pypto.elaborate.scalars import number
from pypto.elaborate.tensors import check_written
from pypto.elaborate.values import Deferred, Item, Known, Scalar, Sequence
from pypto.error import FeTypeError, FeValueError, Span
from pypto.ir.expr import Expr, Kind, Variable, const
from pypto.ir.tensor import Buffer, Carried, TensorType, Value

__all__ = ["Carrier"]

_ZERO: dict[Kind, Expr] = {"bool": const(False), "int": const(0), "float": const(0.0)}


@dataclass(slots=True, eq=False)
class _Name:
    """One name, or an item of the tuple that a name has: ``label`` says which."""

    label: str
    before: Item | None
    free: bool = False  # without a value before the loop it may have any
    unwritten: bool = False  # a local tensor that holds nothing yet
    deferred: Deferred | None = None  # what it has at the start of the body
    variable: Variable | None = None  # a number that was read there
    buffer: Buffer | None = None  # a tensor that was read there
    entered: Value | None = None  # the tensor, as iterations read it
    sizes: dict[int, _Name] = field(default_factory=dict)  # valid sizes that change, by axis
    parts: list[_Name] = field(default_factory=list)  # a tuple that was read there


@dataclass(slots=True, eq=False)
class Carrier:
    """The names that one loop assigns. ``number``: which of the kernel's run-time loops it is.

    ``runs``: this loop or another part of the unrolled one that it belongs to runs at least once.
    """

    frame: Frame
    draft: OpenFor
    number: int
    runs: bool
    names: dict[str, _Name] = field(default_factory=dict)
    wrong: dict[tuple[object, ...], str] = field(default_factory=dict)  # guesses
    closed: bool = False

    def start(self, assigned: list[str]) -> None:
        """Inside the body: names that have a value before the loop get a deferred one."""
        for label in assigned:
            before = self.frame.locals.get(label)
            builder = self.frame.context.builder
            name = _Name(label, before, unwritten=builder.holds_nothing(before))
            self.names[label] = name
            if name.before is not None:
                name.deferred = Deferred(lambda span, name=name: self._enter(name, span))  # type: ignore[misc]
                self.frame.locals[label] = name.deferred

    def ends(self, away: Expr) -> None:
        """The loop ends where ``away`` is true at the end of an iteration."""
        builder, draft = self.frame.context.builder, self.draft
        what = "whether control leaves the loop"
        inner = builder.variable("left", "bool", draft.body, what, draft.span)
        result = builder.variable("left", "bool", draft.around, what, draft.span)
        draft.until = Carried(inner, const(False), away, result)
        if RETURN in self.frame.locals:
            self.names[RETURN] = _Name(RETURN, Known(False))
            self.names[VALUE] = _Name(VALUE, None, free=True)

    def end(self) -> None:
        """Behind the loop: each name gets its value there."""
        behind: dict[str, Item] = {}
        for label, name in self.names.items():
            last = self.frame.locals.pop(label, None)
            item = self._leave(name, last)
            if item is not None:
                behind[label] = item
        if self.wrong:
            raise Decide(self.wrong)
        self.closed = True
        self.frame.locals.update(behind)

    def _correct(self, label: str, decision: str) -> None:
        """A guess was wrong: read the kernel again, once all of this loop's are known."""
        self.wrong[self.number, label] = decision
        if self.closed:
            raise Decide(self.wrong)

    def _decided(self, name: _Name) -> str | None:
        return self.frame.context.decided.get((self.number, name.label))

    # --- into an iteration ---

    def _enter(self, name: _Name, span: Span) -> Item:
        """What ``name`` has at the start of an iteration, read at ``span``."""
        before = name.before
        if isinstance(before, Deferred):
            before = name.before = before.settle(span)
        if isinstance(before, v.Poison):
            raise Poisoned
        assert before is not None
        expr = number(before)
        if expr is not None and not _named(before):
            if isinstance(before, Known):
                self.frame.use(before, span)
            kind: Kind = self._decided(name) or expr.kind  # type: ignore[assignment]
            name.variable = self._variable(name, kind)
            return Scalar(name.variable)
        if isinstance(before, Value) or (v.is_tensor(before) and self._decided(name)):
            return self._enter_tensor(name, before, span)
        if isinstance(before, Sequence) and not before.mutable:
            name.parts = [_Name(f"{name.label}[{i}]", one) for i, one in enumerate(before.items)]
            return Sequence([self._enter(part, span) for part in name.parts], False)
        return before

    def _variable(self, name: _Name, kind: Kind) -> Variable:
        what = f"'{name.label}' as iterations leave it, in the loop"
        builder, label = self.frame.context.builder, _identifier(name.label)
        return builder.variable(label, kind, self.draft.body, what, self.draft.span)

    def _enter_tensor(self, name: _Name, before: v.Tensor, span: Span) -> Value:
        builder = self.frame.context.builder
        if not isinstance(before, Value):
            check_written(self.frame, before, span)
        buffer = name.buffer = self._buffer(name, before.type, span)
        in_front(self.draft, builder.copied(before, buffer, span))
        sizes = [*before.type.sizes]
        for axis, size in enumerate(sizes):
            part = _Name(f"{name.label}.valid[{axis}]", v.scalar(size))
            if self._decided(part):
                name.sizes[axis] = part
                part.variable = self._variable(part, "int")
                sizes[axis] = part.variable
        value, load = builder.read_back(
            buffer, _sized(before.type, sizes), before.name, span, block=self.draft.body
        )
        self.draft.body.first.append(load)
        name.entered = value
        builder.copies.note(value, before, self.draft.opened)
        return value

    # --- behind the loop ---

    def _leave(self, name: _Name, last: Item | None) -> Item | None:
        """What ``name`` has behind the loop; ``last``: at the end of an iteration."""
        if is_partial(last) and name.before is None and not name.free:
            return refuse_partial(name.label, self.draft.span)
        read = name.deferred is not None and name.deferred.found is not None
        last = settled(last)
        if last is name.deferred or same(last, name.before):
            if not (read and (name.variable or name.buffer or name.parts)):
                return name.before
        if last is None:
            return None if name.before is None else self._gone(name)
        if not read:
            return Deferred(lambda span: self._join(name, last, span))
        return self._join(name, last, self.draft.span)

    def _join(self, name: _Name, last: Item, span: Span) -> Item:
        """The value behind the loop of a name that has ``last`` at the end of an iteration."""
        last = last.settle(span) if isinstance(last, Deferred) else last
        if isinstance(last, v.Poison) or isinstance(name.before, v.Poison):
            return v.POISON
        if name.deferred is not None and name.deferred.found is not None:
            if name.variable is None and name.buffer is None and not name.parts:
                if same(last, name.before):
                    return last
                self._changed(name, last, self.draft.span)
                return last
        if isinstance(name.before, Deferred):
            name.before = name.before.settle(span)
        before: Item | None = name.before
        if before is None and not (self.runs or name.free):
            self._refuse_unset(name, last, span)
        final = number(last)
        if final is not None:
            return self._join_number(name, final, last, span)
        if v.is_tensor(last):
            return self._join_tensor(name, last, span)
        if isinstance(last, Sequence) and not last.mutable:
            return self._join_tuple(name, last, span)
        if before is None or (self._runs() and not name.parts):
            return last
        self._refuse_types(name, last, span)

    def _join_number(self, name: _Name, final: Expr, last: Item, span: Span) -> Item:
        if isinstance(last, Known):
            self.frame.use(last, span)
        initial = number(name.before) if name.before is not None else None
        if initial is None:
            if name.before is not None and not self._runs():
                self._refuse_types(name, last, span)
            initial = _ZERO[final.kind]
        kind = common_kind(initial, final)
        inner = name.variable
        if inner is not None:
            kind = max(kind, inner.kind, key=("bool", "int", "float").index)
            if kind != inner.kind:
                self._correct(name.label, kind)
                return Scalar(inner)
        else:
            inner = self._variable(name, kind)
        builder, label = self.frame.context.builder, _identifier(name.label)
        what = f"'{name.label}' behind the loop"
        result = builder.variable(label, kind, self.draft.around, what, self.draft.span)
        self.draft.carried.append(
            Carried(inner, as_kind(initial, kind), as_kind(final, kind), result)
        )
        return Scalar(result)

    def _join_tensor(self, name: _Name, last: v.Tensor, span: Span) -> Item:
        builder = self.frame.context.builder
        before = name.before
        if before is not None and (name.buffer is not None or not self._runs()):
            if not (v.is_tensor(before) and self._fits(name, before.type, last.type)):
                self._refuse_types(name, last, span)
        elif before is not None and not (v.is_tensor(before) and _equal(before.type, last.type)):
            before = None
        buffer, entered = name.buffer, name.buffer is not None
        if buffer is None:
            if not all(self.draft.around.sees(size) for size in last.type.shape):
                self._refuse_local_size(name, last, span)
            buffer = name.buffer = self._buffer(name, last.type, span)
            if v.is_tensor(before) and not name.unwritten:
                in_front(self.draft, builder.copied(before, buffer, span))
        self.draft.body.body += builder.copied(last, buffer, span)
        old = before.type.sizes if v.is_tensor(before) else None
        type = before.type if v.is_tensor(before) else last.type
        whole = [a == b for a, b in zip(last.type.sizes, last.type.shape, strict=True)]
        sizes = [
            self._join_size(
                name, axis, None if old is None else old[axis],
                type.shape[axis] if whole[axis] else size, entered, span,
            )
            for axis, size in enumerate(last.type.sizes)
        ]  # fmt: skip
        value, load = builder.read_back(
            buffer, _sized(type, sizes), last.name or _identifier(name.label), span,
            block=self.draft.around,
        )  # fmt: skip
        behind(self.draft, [load])
        for item in (None if self._runs() else before, last):
            builder.copies.note(value, item, self.draft.closed)
        if name.entered is not None:
            builder.copies.note(name.entered, last, self.draft.opened)
        return value

    def _join_size(
        self, name: _Name, axis: int, old: Expr | None, size: Expr, entered: bool, span: Span
    ) -> Expr:
        """The valid size of a tensor behind the loop, along one axis."""
        part = name.sizes.get(axis)
        if part is None:
            if old == size or (old is None and self.draft.around.sees(size)):
                return size
            part = _Name(f"{name.label}.valid[{axis}]", None if old is None else v.scalar(old))
            if entered:
                self._correct(part.label, "int")
                return size
        joined = number(self._join_number(part, size, v.scalar(size), span))
        assert joined is not None
        return joined

    def _fits(self, name: _Name, before: TensorType, last: TensorType) -> bool:
        """Whether iterations can hand the tensor on: its sizes are equal, or are asked to be."""
        what = f"the loop gives '{name.label}' a tensor of another size"
        builder, draft = self.frame.context.builder, self.draft
        return builder.make_equal(before, last, what, draft.span, draft.around)

    def _buffer(self, name: _Name, type: TensorType, span: Span) -> Buffer:
        """Memory for a tensor that goes from iteration to iteration."""
        whole = TensorType(type.dtype, type.shape)
        builder = self.frame.context.builder
        return builder.local(_identifier(name.label), whole, span, self.draft.around)

    def _join_tuple(self, name: _Name, last: Sequence, span: Span) -> Item:
        before = name.before
        parts = name.parts
        if not parts and isinstance(before, Sequence) and not before.mutable:
            parts = [_Name(f"{name.label}[{i}]", one) for i, one in enumerate(before.items)]
        elif not parts and (before is None or self._runs()):
            parts = [_Name(f"{name.label}[{i}]", None) for i, _ in enumerate(last.items)]
        if len(parts) != len(last.items):
            self._refuse_types(name, last, span)
        found = []
        for part, one in zip(parts, last.items, strict=True):
            kept = same(one, part.before) and part.variable is None and part.buffer is None
            found.append(one if kept else self._join(part, one, span))
        return Sequence(found, False)

    # --- what cannot be carried ---

    def _runs(self) -> bool:
        """Whether the loop itself is known to run at least once."""
        return self.draft.runs()

    def _changed(self, name: _Name, last: Item, span: Span) -> None:
        """The body has read ``name`` as if the loop left it alone."""
        before = settled(name.before)
        if v.is_tensor(before) and v.is_tensor(last) and self._fits(name, before.type, last.type):
            self._correct(name.label, "carried")
            return
        if not isinstance(last, v.Poison):
            self._refuse_types(name, last, span)

    def _gone(self, name: _Name) -> Item:
        def refused(span: Span) -> Item:
            refuse(
                FeValueError, f"'{name.label}' may have no value here: the loop deletes it", span,
                notes=(f"the loop is at {self.draft.span.location}",),
                help=f"delete '{name.label}' behind the loop",
            )  # fmt: skip

        return Deferred(refused)

    def _refuse_unset(self, name: _Name, last: Item, span: Span) -> NoReturn:
        refuse(
            FeValueError,
            f"'{name.label}' may have no value here: the loop that sets it may run zero times",
            span,
            notes=(f"the loop is at {self.draft.span.location}",),
            help=f"give '{name.label}' a value before the loop",
        )

    def _refuse_types(self, name: _Name, last: Item, span: Span) -> NoReturn:
        before = settled(name.before)
        assert before is not None
        refuse(
            FeTypeError,
            f"the loop changes what '{name.label}' is",
            span,
            expected=f"{in_words(before)}, as before the loop",
            got=f"{in_words(last)} at the end of an iteration",
            help=remedy(f"give '{name.label}'", name.label, before, last)
            or "numbers, and tensors of one dtype and shape, may change from iteration to "
            f"iteration; give '{name.label}' such a value before the loop, or use another name",
        )

    def _refuse_local_size(self, name: _Name, last: v.Tensor, span: Span) -> NoReturn:
        refuse(
            FeTypeError,
            f"the size of '{name.label}' is known only inside the loop",
            span,
            got=in_words(last),
            notes=(f"the loop is at {self.draft.span.location}",),
            help="write what is needed behind the loop into a local tensor of a fixed size",
        )


def _named(item: Item) -> bool:
    """A symbolic scalar that names something stays what it is."""
    return isinstance(item, Known) and not isinstance(item.value, bool | int | float)


def _identifier(label: str) -> str:
    return label.partition("[")[0].replace("<", "").replace(">", "")


def _sized(type: TensorType, sizes: list[Expr]) -> TensorType:
    valid = tuple(sizes)
    return TensorType(type.dtype, type.shape, None if valid == type.shape else valid)


def _equal(a: TensorType, b: TensorType) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape
