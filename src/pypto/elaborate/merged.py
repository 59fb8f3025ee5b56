"""One value of those that the two sides of a run-time branch give: numbers and tensors.

Numbers become one variable; tensors of one dtype and shape go through a local tensor that both
sides store.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from pypto.elaborate import values as v
from pypto.elaborate.blocks import OpenIf, behind
from pypto.elaborate.conditions import negated
from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.exits import VALUE
from pypto.elaborate.joining import as_kind, common_kind, identifier_of, in_words, remedy, sees
from pypto.elaborate.machine import Frame
from pypto.elaborate.scalars import number
from pypto.elaborate.structures import Structure, is_structure, like, words
from pypto.elaborate.values import Item, Known, Scalar
from pypto.error import FeTypeError, FeValueError, Span
from pypto.ir.expr import Expr, Kind, const
from pypto.ir.tensor import Merge, TensorType

__all__ = ["Sides"]

_ZERO: dict[Kind, Expr] = {"bool": const(False), "int": const(0), "float": const(0.0)}


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """The two sides of one branch and its place, for messages."""

    frame: Frame
    draft: OpenIf
    rest: bool = False  # whether it parts what is reached from where control has left before
    leaves: list[bool] = field(default_factory=list)  # whether control never gets to a side's end
    bound: list[dict[str, Span]] = field(default_factory=list)  # where the sides set names

    def sees(self, item: Item) -> bool:
        """Whether ``item`` means the same behind the branch as inside."""
        return sees(self.frame.context.builder, item, self.draft.around)

    # --- values ---

    def _number(self, item: Item | None, span: Span) -> Expr | None:
        if isinstance(item, Known):
            self.frame.use(item, span)
        return None if item is None else number(item)

    def _join_numbers(self, name: str, then: Item | None, other: Item | None, span: Span) -> Item:
        a, b = self._number(then, span), self._number(other, span)
        some = a if a is not None else b
        assert some is not None
        a = _ZERO[some.kind] if a is None else a
        b = _ZERO[some.kind] if b is None else b
        return Scalar(self._merged(name, a, b, span))

    def _merged(self, name: str, a: Expr, b: Expr, span: Span) -> Expr:
        """The number that the two sides merge."""
        if (a, b) == (const(True), const(False)):
            return self.draft.condition
        if (a, b) == (const(False), const(True)):
            return negated(self.draft.condition)
        for merge in self.draft.merges:
            if (merge.then, merge.other) == (a, b):
                return merge.result
        kind, draft, name = common_kind(a, b), self.draft, identifier_of(name)
        what = f"'{name}' as the sides of a branch set it,"
        builder = self.frame.context.builder
        result = builder.variable(name, kind, draft.around, what, draft.span)
        draft.merges.append(Merge(result, as_kind(a, kind), as_kind(b, kind)))
        return result

    def _join_tensors(
        self, name: str, then: Item | None, other: Item | None, span: Span
    ) -> Item | None:
        sides = [item for item in (then, other) if item is not None]
        tensors = [item for item in sides if v.is_tensor(item)]
        some, draft, builder = tensors[0].type, self.draft, self.frame.context.builder
        for tensor in tensors:
            if not all(map(draft.around.sees, tensor.type.shape)):
                self._refuse_inner_size(name, tensor, span)
        what = f"the sides of the branch give '{name}' tensors of different sizes"
        # Behind the branch it has the sizes of the first side; those of the other are the same
        # wherever that one runs.
        if not builder.make_equal(some, tensors[-1].type, what, draft.span, draft.other):
            return None
        name = identifier_of(name)
        whole = TensorType(some.dtype, some.shape)
        buffer = builder.local(name, whole, span, draft.around)
        sizes = [
            self._join_sizes(f"{name}_size", then, other, axis, span) for axis in range(some.rank)
        ]
        for block, item in ((draft.then, then), (draft.other, other)):
            if v.is_tensor(item) and not builder.holds_nothing(item):
                block.body += builder.copied(item, buffer, span)
        valid = tuple(sizes)
        type = TensorType(some.dtype, some.shape, None if valid == some.shape else valid)
        value, load = builder.read_back(buffer, type, name, span, block=draft.around)
        behind(draft, [load])
        for item in tensors:
            builder.copies.note(value, item, draft.closed)
        return value

    def _join_sizes(
        self, name: str, then: Item | None, other: Item | None, axis: int, span: Span
    ) -> Expr:
        a = then.type.sizes[axis] if v.is_tensor(then) else None
        b = other.type.sizes[axis] if v.is_tensor(other) else None
        a, b = (b if a is None else a), (a if b is None else b)
        assert a is not None and b is not None
        whole = [item.type for item in (then, other) if v.is_tensor(item)]
        if all(type.sizes[axis] == type.shape[axis] for type in whole):
            return whole[0].shape[axis]
        if a == b and self.draft.around.sees(a):
            return a
        # A side without a tensor may not know the other's size: nothing of it is ever read there.
        sides = zip((then, other), (a, b), strict=True)
        a, b = (const(0) if item is None else size for item, size in sides)
        return self._merged(name, a, b, span)

    # --- what cannot be merged ---

    def _refuse_unset(self, name: str, in_then: bool, span: Span) -> NoReturn:
        side = "where the condition holds" if in_then else "where the condition does not hold"
        refuse(
            FeValueError,
            f"'{name}' may have no value here: the branch does not set it {side}",
            span,
            notes=(f"the branch is at {self.draft.span.location}",),
            help=f"set '{name}' on both sides, or before the branch",
        )

    def _refuse_inner_size(self, name: str, item: Item, span: Span) -> NoReturn:
        refuse(
            FeTypeError,
            f"the size of '{name}' is known only inside the branch",
            span,
            got=in_words(item),
            notes=(f"the branch is at {self.draft.span.location}",),
            help="write what is needed behind the branch into a local tensor of a fixed size",
        )

    def _refuse_contents(self, name: str, item: Item, span: Span) -> NoReturn:
        refuse(
            FeTypeError,
            f"'{name}' holds what only a side of a run-time branch knows",
            span,
            got=v.describe(item),
            notes=(f"the branch is at {self.draft.span.location}",),
            help="give the tensors and numbers in it names of their own",
        )

    def _refuse_places(
        self,
        label: str,
        item: Structure,
        then: dict[object, Item],
        other: dict[object, Item],
        span: Span,
    ) -> NoReturn:
        place = f"the branch is at {self.draft.span.location}"
        first, second = self._wording()
        refuse(
            FeTypeError,
            f"'{label}' would have other items on the two sides of a run-time branch",
            span,
            expected="the same number of items, or the same keys, on both sides",
            got=f"{words(like(item, then))} {first}, {words(like(item, other))} {second}",
            notes=() if self.draft.span == span else (place,),
            help="give it all of its items before the branch, and change them on its sides",
        )

    def _wording(self) -> tuple[str, str]:
        """Where each side is, for messages."""
        if self.rest:
            return "where control goes on", "where break, continue or return comes before"
        return "where the condition holds", "where not"

    def refuse_types(
        self, name: str | None, then: Item | None, other: Item | None, span: Span
    ) -> NoReturn:
        """``name`` (None: an expression) cannot have the values of both sides."""
        what, give = f"'{name}' has", f"give '{name}'"
        first, second = self._wording()
        if name is None:
            what, give = "the expression has", "write"
        elif name == VALUE:
            what, give, name = "the function returns", "return", None
            second = "where an earlier return ends it" if self.rest else second
        place = f"the branch is at {self.draft.span.location}"
        notes = [] if self.draft.span == span else [place]
        for where, bound in zip((first, second), self.bound, strict=False):
            if name is not None and name in bound:
                notes.append(f"'{name}' is set at {bound[name].location} {where}")
        refuse(
            FeTypeError,
            f"{what} different kinds of values on the two sides of a run-time branch",
            span,
            expected="two lists, dicts or objects with the same items"
            if is_structure(then) and is_structure(other)
            else "two numbers, two tensors of one dtype and shape, or one and the same object",
            got=f"{in_words(then)} {first}, {in_words(other)} {second}",
            notes=tuple(notes),
            help=remedy(give, name, then, other)
            or "use the value inside the branch, or make both sides of one kind",
        )
