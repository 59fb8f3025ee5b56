"""What one place has as a run-time loop carries it: a number, or a tensor."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import NoReturn

from pypto.elaborate import values as v
from pypto.elaborate.blocks import OpenFor, behind, in_front
from pypto.elaborate.diagnostics import Decide, Poisoned, refuse
from pypto.elaborate.joining import (
    as_kind,
    common_kind,
    identifier_of,
    in_words,
    remedy,
    same,
    settled,
    way,
)
from pypto.elaborate.machine import Frame
from pypto.elaborate.scalars import number
from pypto.elaborate.structures import Structure, is_structure
from pypto.elaborate.tensors import check_written
from pypto.elaborate.values import Deferred, Item, Known, Scalar
from pypto.error import FeTypeError, FeValueError, Span
from pypto.ir.expr import Expr, Kind, Variable, const
from pypto.ir.tensor import Buffer, Carried, TensorType, Value

__all__ = ["Places", "Slot"]

_ZERO: dict[Kind, Expr] = {"bool": const(False), "int": const(0), "float": const(0.0)}


@dataclass(slots=True, eq=False)
class Slot:
    """A name, or a place of a list, dict or object: ``label`` says which, ``key`` to decisions.

    ``optimistic``: a number is taken for one that stays as it is, until a decision says otherwise.
    """

    label: str
    key: tuple[object, ...]
    before: Item | None
    free: bool = False  # without a value before the loop it may have any
    unwritten: bool = False  # a local tensor that holds nothing yet
    optimistic: bool = False
    deferred: Deferred | None = None  # what it has at the start of the body
    left: bool = False  # what it has behind the loop is made where it is read
    joining: bool = False  # that is being made
    variable: Variable | None = None  # a number that was read there
    buffer: Buffer | None = None  # a tensor that was read there
    entered: Value | None = None  # the tensor, as iterations read it
    sizes: dict[int, Slot] = field(default_factory=dict)  # valid sizes that change, by axis
    made: Structure | None = None  # the list, dict or object that is there
    parts: dict[object, Slot] = field(default_factory=dict)  # its places
    set_at: Span | None = None  # where the body gives it its last value

    @property
    def read(self) -> bool:
        """Whether the body reads what is there at its start."""
        own = self.deferred is not None and self.deferred.found is not None
        return own or any(part.read for part in self.parts.values())

    @property
    def at_once(self) -> Slot:
        """Stands for the decision that it is read at the start of the body, in any case."""
        return Slot(self.label, (*self.key, "read at once"), None)

    @property
    def carries(self) -> bool:
        """Whether what is read there is what the iteration before has left."""
        return not (self.variable is None and self.buffer is None and self.made is None)


@dataclass(slots=True, eq=False)
class Places(ABC):
    """The places that one loop changes. ``number``: which of the kernel's run-time loops it is.

    ``runs``: this loop or another part of the unrolled one that it belongs to runs at least once.
    """

    frame: Frame
    draft: OpenFor
    number: int
    runs: bool
    wrong: dict[tuple[object, ...], str] = field(default_factory=dict)  # guesses
    closed: bool = False

    def _correct(self, slot: Slot, decision: str) -> None:
        """A guess was wrong: read the kernel again, once all of this loop's are known."""
        self.wrong[self.number, *slot.key] = decision
        if self.closed:
            raise Decide(self.wrong)

    def _decided(self, slot: Slot) -> str | None:
        return self.frame.context.decided.get((self.number, *slot.key))

    # --- into an iteration ---

    def _enter(self, slot: Slot, span: Span) -> Item:
        """What ``slot``, which holds no structure, has at the start of an iteration."""
        if slot.left and not slot.joining:  # it is what another place hands on
            self._correct(slot.at_once, "read")
        before = slot.before
        if isinstance(before, Deferred):
            before = slot.before = before.settle(span)
        if isinstance(before, v.Poison):
            raise Poisoned
        assert before is not None
        expr, decided = number(before), self._decided(slot)
        if expr is not None and not _named(before) and (decided or not slot.optimistic):
            if isinstance(before, Known):
                self.frame.use(before, span)
            kind: Kind = decided if decided in _ZERO else expr.kind
            slot.variable = self._variable(slot, kind)
            return Scalar(slot.variable)
        if isinstance(before, Value) or (v.is_tensor(before) and decided):
            return self._enter_tensor(slot, before, span)
        return before

    def _variable(self, slot: Slot, kind: Kind) -> Variable:
        what = f"'{slot.label}' as iterations leave it, in the loop"
        builder, label = self.frame.context.builder, identifier_of(slot.label)
        return builder.variable(label, kind, self.draft.body, what, self.draft.span)

    def _enter_tensor(self, slot: Slot, before: v.Tensor, span: Span) -> Value:
        builder = self.frame.context.builder
        if not isinstance(before, Value):
            check_written(self.frame, before, span)
        buffer = slot.buffer = self._buffer(slot, before.type, span)
        in_front(self.draft, builder.copied(before, buffer, span))
        sizes = [*before.type.sizes]
        for axis, size in enumerate(sizes):
            part = Slot(f"{slot.label}.valid[{axis}]", (*slot.key, "valid", axis), v.scalar(size))
            if self._decided(part):
                slot.sizes[axis] = part
                part.variable = self._variable(part, "int")
                sizes[axis] = part.variable
        value, load = builder.read_back(
            buffer, _sized(before.type, sizes), before.name, span, block=self.draft.body
        )
        self.draft.body.first.append(load)
        slot.entered = value
        builder.copies.note(value, before, self.draft.opened)
        return value

    # --- behind the loop ---

    def _join(self, slot: Slot, last: Item, span: Span) -> Item:
        """The value behind the loop of a place that has ``last`` at the end of an iteration."""
        slot.joining = True
        last = last.settle(span) if isinstance(last, Deferred) else last
        slot.joining = False
        if isinstance(last, v.Poison) or isinstance(slot.before, v.Poison):
            return v.POISON
        if is_structure(last):
            return self._leave_structure(slot, last)
        if slot.read and not slot.carries:
            if not same(last, slot.before):
                self._changed(slot, last, self.draft.span)
            return last
        if isinstance(slot.before, Deferred):
            slot.before = slot.before.settle(span)
        before: Item | None = slot.before
        if before is None and not (self.runs or slot.free):
            self._refuse_unset(slot, last, span)
        fresh = before is None or (self._runs() and not slot.carries)
        how = way(last) if fresh else way(before, last)
        if how is None or (how == "object" and not fresh):
            self._refuse_types(slot, last, span)
        if how == "number":
            return self._join_number(slot, last, span)
        return self._join_tensor(slot, last, span) if v.is_tensor(last) else last

    @abstractmethod
    def _leave_structure(self, slot: Slot, last: Structure) -> Item:
        """What ``slot`` has behind the loop that has ``last`` at the end of an iteration."""

    def _join_number(self, slot: Slot, last: Item, span: Span) -> Item:
        if isinstance(last, Known):
            self.frame.use(last, span)
        final = number(last)
        assert final is not None
        initial = number(slot.before) if slot.before is not None else None
        if initial is None:
            initial = _ZERO[final.kind]
        kind = common_kind(initial, final)
        inner = slot.variable
        if inner is not None:
            kind = max(kind, inner.kind, key=("bool", "int", "float").index)
            if kind != inner.kind:
                self._correct(slot, kind)
                return Scalar(inner)
        else:
            inner = self._variable(slot, kind)
        builder, label = self.frame.context.builder, identifier_of(slot.label)
        what = f"'{slot.label}' behind the loop"
        result = builder.variable(label, kind, self.draft.around, what, self.draft.span)
        self.draft.carried.append(
            Carried(inner, as_kind(initial, kind), as_kind(final, kind), result)
        )
        return Scalar(result)

    def _join_tensor(self, slot: Slot, last: v.Tensor, span: Span) -> Item:
        builder = self.frame.context.builder
        before = slot.before
        if before is not None and (slot.buffer is not None or not self._runs()):
            if not (v.is_tensor(before) and self._fits(slot, before.type, last.type)):
                self._refuse_types(slot, last, span)
        elif before is not None and not (v.is_tensor(before) and _equal(before.type, last.type)):
            before = None
        buffer, entered = slot.buffer, slot.buffer is not None
        if buffer is None:
            if not all(self.draft.around.sees(size) for size in last.type.shape):
                self._refuse_local_size(slot, last, span)
            buffer = slot.buffer = self._buffer(slot, last.type, span)
            if v.is_tensor(before) and not slot.unwritten:
                in_front(self.draft, builder.copied(before, buffer, span))
        self.draft.body.body += builder.copied(last, buffer, span)
        old = before.type.sizes if v.is_tensor(before) else None
        type = before.type if v.is_tensor(before) else last.type
        whole = [a == b for a, b in zip(last.type.sizes, last.type.shape, strict=True)]
        sizes = [
            self._join_size(
                slot, axis, None if old is None else old[axis],
                type.shape[axis] if whole[axis] else size, entered, span,
            )
            for axis, size in enumerate(last.type.sizes)
        ]  # fmt: skip
        value, load = builder.read_back(
            buffer, _sized(type, sizes), last.name or identifier_of(slot.label), span,
            block=self.draft.around,
        )  # fmt: skip
        behind(self.draft, [load])
        for item in (None if self._runs() else before, last):
            builder.copies.note(value, item, self.draft.closed)
        if slot.entered is not None:
            builder.copies.note(slot.entered, last, self.draft.opened)
        return value

    def _join_size(
        self, slot: Slot, axis: int, old: Expr | None, size: Expr, entered: bool, span: Span
    ) -> Expr:
        """The valid size of a tensor behind the loop, along one axis."""
        part = slot.sizes.get(axis)
        if part is None:
            if old == size or (old is None and self.draft.around.sees(size)):
                return size
            part = Slot(
                f"{slot.label}.valid[{axis}]",
                (*slot.key, "valid", axis),
                None if old is None else v.scalar(old),
            )
            if entered:
                self._correct(part, "int")
                return size
        joined = number(self._join_number(part, v.scalar(size), span))
        assert joined is not None
        return joined

    def _fits(self, slot: Slot, before: TensorType, last: TensorType) -> bool:
        """Whether iterations can hand the tensor on: its sizes are equal, or are asked to be."""
        what = f"the loop gives '{slot.label}' a tensor of another size"
        builder, draft = self.frame.context.builder, self.draft
        return builder.make_equal(before, last, what, draft.span, draft.around)

    def _buffer(self, slot: Slot, type: TensorType, span: Span) -> Buffer:
        """Memory for a tensor that goes from iteration to iteration."""
        whole = TensorType(type.dtype, type.shape)
        builder = self.frame.context.builder
        return builder.local(identifier_of(slot.label), whole, span, self.draft.around)

    # --- what cannot be carried ---

    def _runs(self) -> bool:
        """Whether the loop itself is known to run at least once."""
        return self.draft.runs()

    def _changed(self, slot: Slot, last: Item, span: Span) -> None:
        """The body has read ``name`` as if the loop left it alone."""
        before = settled(slot.before)
        a, b = (None if one is None else number(one) for one in (before, last))
        if a is not None and b is not None and slot.optimistic:
            self._correct(slot, common_kind(a, b))
            return
        if v.is_tensor(before) and v.is_tensor(last) and self._fits(slot, before.type, last.type):
            self._correct(slot, "carried")
            return
        if not isinstance(last, v.Poison):
            self._refuse_types(slot, last, span)

    def _gone(self, slot: Slot) -> Item:
        def refused(span: Span) -> Item:
            refuse(
                FeValueError, f"'{slot.label}' may have no value here: the loop deletes it", span,
                notes=(f"the loop is at {self.draft.span.location}",),
                help=f"delete '{slot.label}' behind the loop",
            )  # fmt: skip

        return Deferred(refused)

    def _refuse_unset(self, slot: Slot, last: Item, span: Span) -> NoReturn:
        refuse(
            FeValueError,
            f"'{slot.label}' may have no value here: the loop that sets it may run zero times",
            span,
            notes=(f"the loop is at {self.draft.span.location}",),
            help=f"give '{slot.label}' a value before the loop",
        )

    def _refuse_types(self, slot: Slot, last: Item, span: Span) -> NoReturn:
        before = settled(slot.before)
        assert before is not None
        refuse(
            FeTypeError,
            f"the loop changes what '{slot.label}' is",
            slot.set_at or span,
            expected=f"{in_words(before)}, as before the loop",
            got=f"{in_words(last)} at the end of an iteration",
            notes=(f"the loop is at {self.draft.span.location}",) if slot.set_at else (),
            help=remedy(f"give '{slot.label}'", slot.label, before, last)
            or "numbers, and tensors of one dtype and shape, may change from iteration to "
            f"iteration; give '{slot.label}' such a value before the loop, or use another name",
        )

    def _refuse_local_size(self, slot: Slot, last: v.Tensor, span: Span) -> NoReturn:
        refuse(
            FeTypeError,
            f"the size of '{slot.label}' is known only inside the loop",
            span,
            got=in_words(last),
            notes=(f"the loop is at {self.draft.span.location}",),
            help="write what is needed behind the loop into a local tensor of a fixed size",
        )


def _named(item: Item) -> bool:
    """A symbolic scalar that names something stays what it is."""
    return isinstance(item, Known) and not isinstance(item.value, bool | int | float)


def _sized(type: TensorType, sizes: list[Expr]) -> TensorType:
    valid = tuple(sizes)
    return TensorType(type.dtype, type.shape, None if valid == type.shape else valid)


def _equal(a: TensorType, b: TensorType) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape
