"""``super()``: attributes of the classes behind the one that a method stands in."""

from __future__ import annotations

from pypto.elaborate import values as v
from pypto.elaborate.captures import method_kind
from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.machine import Argument, Frame
from pypto.elaborate.objects import bound_member
from pypto.elaborate.purity import is_foreign
from pypto.elaborate.values import Instance, Item, Known, Super
from pypto.error import FeError, FeTypeError, Span

__all__ = ["make_super", "super_attribute"]

_USAGE = "write super() in a method, or super(Class, object)"


def make_super(
    frame: Frame, positional: list[Argument], keyword: dict[str, Argument], span: Span
) -> Item:
    """``super()`` in a method, or ``super(Class, object)``."""
    if keyword or len(positional) not in (0, 2):
        refuse(FeTypeError, "super takes no arguments, or a class and an object", span, help=_USAGE)
    if positional:
        (kind, _), (receiver, _) = positional
    else:
        kind, receiver = _of_method(frame, span)
    after = kind.value if isinstance(kind, Known) else None
    order = _class_of(frame, receiver, span)
    if not isinstance(after, type) or order is None or after not in _mro(order):
        refuse(
            FeTypeError, "super needs an object of the class", span, got=v.describe(receiver),
            help=_USAGE,
        )  # fmt: skip
    return Super(after, order, receiver)


def _of_method(frame: Frame, span: Span) -> tuple[Item, Item]:
    """The class that the method around stands in, and its first argument."""
    outer = frame
    while outer.enclosing is not None:
        outer = outer.enclosing
    code = outer.parsed.function.__code__
    found = outer.outer("__class__") if "__class__" in code.co_freevars else None
    if found is None or not code.co_argcount:
        refuse(FeTypeError, "super() stands in no method", span, help=_USAGE)
    return found, outer.lookup(code.co_varnames[0], span)


def _class_of(frame: Frame, receiver: Item, span: Span) -> Known | None:
    """The class whose order of bases counts."""
    if isinstance(receiver, Instance):
        return receiver.kind
    if not isinstance(receiver, Known):
        return None
    if isinstance(receiver.value, type):
        return receiver
    return frame.step(receiver, ("attr", "__class__"), span)


def _mro(kind: Known) -> tuple[type, ...]:
    assert isinstance(kind.value, type)
    return kind.value.__mro__


def super_attribute(frame: Frame, owner: Super, name: str, span: Span) -> Item:
    """``super().name``."""
    order = _mro(owner.order)
    for at in range(order.index(owner.after) + 1, len(order)):
        base = order[at]
        if name not in vars(base):
            continue
        if base is object and name == "__init__":
            return Known(object.__init__)
        read = frame.step(owner.order, ("base", at), span)
        what = method_kind(base, None, name)
        if what is None or is_foreign(base):
            return frame.step(read, ("attr", name), span)
        function = frame.step(read, ("method", name), span)
        return bound_member(frame, what, function, owner.receiver, span)
    refuse(
        FeError, f"no class behind '{owner.after.__name__}' has '{name}'", span, code="F00007",
        help="call a method of a base class",
    )  # fmt: skip
