"""Objects of users' classes: their methods and properties, and those that a kernel makes itself.

Methods with Python source are helpers whose first argument is the object. Dataclasses, named tuples
and plain classes can be made in a kernel; what they hold may be tensors.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import Any, NoReturn

from pypto.elaborate import values as v
from pypto.elaborate.binding import bind_arguments
from pypto.elaborate.captures import Unreadable, method_kind
from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.machine import Frame
from pypto.elaborate.purity import is_foreign
from pypto.elaborate.scalars import python_call
from pypto.elaborate.scopes import Parameters
from pypto.elaborate.tensors import Argument
from pypto.elaborate.values import Bound, Instance, Item, Known, Sequence
from pypto.error import FeError, FeTypeError, Span

__all__ = ["behaviour", "bound_member", "instance_attribute", "make_object"]


def behaviour(frame: Frame, owner: Known, name: str, span: Span) -> Item | None:
    """``owner.name`` where that is a method or property with source; None where it is not."""
    value = owner.value
    kind = value if isinstance(value, type) else type(value)
    stored = None if isinstance(value, type) else getattr(value, "__dict__", None)
    what = method_kind(kind, stored, name)
    if what is None or (isinstance(value, type) and what != "class"):
        return None  # read from the class as any other attribute
    function = frame.step(owner, ("method", name), span)
    if is_foreign(function.value):
        return None
    return bound_member(frame, what, function, owner, span)


def bound_member(frame: Frame, what: str, function: Known, owner: Item, span: Span) -> Item:
    """What reading a method, class method, static method or property gives."""
    if what == "static":
        return function
    if what == "class":
        return Bound(function, _class_of(frame, owner, span))
    if what == "property":
        return frame.call(function, [(owner, span)], {}, span)
    return Bound(function, owner)


def _class_of(frame: Frame, owner: Item, span: Span) -> Item:
    if isinstance(owner, Instance):
        return owner.kind
    assert isinstance(owner, Known)
    is_class = isinstance(owner.value, type)
    return owner if is_class else frame.step(owner, ("attr", "__class__"), span)


# --- objects that a kernel makes ---


def make_object(
    frame: Frame,
    callee: Known,
    positional: list[Argument],
    keyword: dict[str, Argument],
    span: Span,
) -> Item | None:
    """A call of the class ``callee``; None for classes whose objects a kernel cannot make."""
    kind: Any = callee.value
    if callee.origin is None or is_foreign(kind) or kind.__module__ == "builtins":
        return None
    if isinstance(kind, enum.EnumMeta):
        return _member(frame, callee, positional, keyword, span)
    if issubclass(kind, tuple) and "_field_defaults" in vars(kind):
        frame.use(callee, span)
        return _named_tuple(frame, callee, positional, keyword, span)
    if type(kind) is not type or not all(_is_plain(base) for base in kind.__mro__[:-1]):
        return None
    frame.use(callee, span)
    made = Instance(callee, {})
    own_init = method_kind(kind, None, "__init__") is not None
    generated = own_init and "__init__" in vars(kind) and _is_generated(kind)
    if generated:
        _fill_dataclass(frame, made, positional, keyword, span)
    elif own_init:
        init = frame.step(callee, ("method", "__init__"), span)
        frame.call(init, [(made, span), *positional], keyword, span)
    elif positional or keyword:
        refuse(FeTypeError, f"'{kind.__name__}' takes no arguments", span)
    return made


def _is_plain(base: Any) -> bool:
    """No base decides how objects are made or how attributes are set."""
    special = {"__new__", "__setattr__", "__getattribute__", "__getattr__"} & vars(base).keys()
    allowed = {"__setattr__"} if v.is_frozen(base) else set()
    return not special - allowed and not is_foreign(base)


def _is_generated(kind: Any) -> bool:
    """The ``__init__`` of ``kind`` is the one that ``dataclass`` wrote."""
    return "__dataclass_params__" in vars(kind) and kind.__dataclass_params__.init


def _member(
    frame: Frame,
    callee: Known,
    positional: list[Argument],
    keyword: dict[str, Argument],
    span: Span,
) -> Item:
    """``Mode(3)``: the member with that value."""
    values = [frame.python(item, place, "a member's value") for item, place in positional]
    if keyword or len(values) != 1:
        refuse(FeTypeError, "an enumeration is called with the value of a member", span)
    member = python_call(callee.value, span, values[0])  # type: ignore[arg-type]
    if "_missing_" in vars(type(member)) or member.name not in type(member).__members__:
        refuse(FeTypeError, "this member of the enumeration is made by code", span)
    found = frame.step(callee, ("attr", member.name), span)
    frame.use(found, span)
    return found


def _named_tuple(
    frame: Frame,
    callee: Known,
    positional: list[Argument],
    keyword: dict[str, Argument],
    span: Span,
) -> Item:
    kind: Any = callee.value

    def default(name: str) -> Item | None:
        if name not in kind._field_defaults:
            return None
        held = frame.step(callee, ("attr", "_field_defaults"), span)
        return frame.step(held, ("item", name), span)

    parameters = Parameters(positional=tuple(kind._fields))
    bound = bind_arguments(kind.__name__, parameters, default, positional, keyword, span)
    return Sequence([bound[name][0] for name in kind._fields], False, kind=callee)


def _fill_dataclass(
    frame: Frame,
    made: Instance,
    positional: list[Argument],
    keyword: dict[str, Argument],
    span: Span,
) -> None:
    """What the ``__init__`` of a dataclass does."""
    fields = {field.name: field for field in dataclasses.fields(made.cls)}

    def default(name: str) -> Item | None:
        held = frame.step(made.kind, ("attr", "__dataclass_fields__"), span)
        field = frame.step(held, ("item", name), span)
        if fields[name].default is not dataclasses.MISSING:
            return frame.step(field, ("attr", "default"), span)
        if fields[name].default_factory is dataclasses.MISSING:
            return None
        factory = frame.step(field, ("attr", "default_factory"), span)
        return frame.call(factory, [], {}, span)

    given = [field for field in fields.values() if field.init]
    parameters = Parameters(
        positional=tuple(field.name for field in given if not field.kw_only),
        keyword_only=tuple(field.name for field in given if field.kw_only),
    )
    bound = bind_arguments(made.cls.__name__, parameters, default, positional, keyword, span)
    for name, field in fields.items():
        item = bound[name][0] if field.init else default(name)
        if item is not None:
            made.fields[name] = item
    if method_kind(made.cls, None, "__post_init__") is not None:
        after = frame.step(made.kind, ("method", "__post_init__"), span)
        frame.call(after, [(made, span)], {}, span)


def instance_attribute(frame: Frame, owner: Instance, name: str, span: Span) -> Item:
    """``owner.name`` of an object that the kernel made."""
    what = method_kind(owner.cls, None, name)
    if name in owner.fields and what != "property":
        held = owner.fields[name]
        return held.settle(span) if isinstance(held, v.Deferred) else held
    if name == "__class__":
        return owner.kind
    try:
        if what is not None:
            function = frame.step(owner.kind, ("method", name), span)
            if not is_foreign(function.value):
                return bound_member(frame, what, function, owner, span)
        return frame.step(owner.kind, ("attr", name), span)
    except Unreadable as error:
        _no_attribute(owner, name, span, error)


def _no_attribute(owner: Item, name: str, span: Span, error: Unreadable) -> NoReturn:
    shown = v.describe(owner)
    if error.missing:
        has = ", ".join(owner.fields) if isinstance(owner, Instance) else ""
        refuse(
            FeError, f"{shown} has no attribute '{name}'", span, code="F00007",
            help=f"it has {has}" if has else None,
        )  # fmt: skip
    refuse(FeError, f"cannot read '{name}' of {shown}: {error}", span, code="F00007")
