"""``owner.name``: of tensors, of objects made outside and inside, and of pypto's own."""

from __future__ import annotations

import enum
import sys
import types

from pypto._spelling import nearest
from pypto.elaborate import advice
from pypto.elaborate import values as v
from pypto.elaborate.ancestors import super_attribute
from pypto.elaborate.captures import ABSENT, CapturedRead, Unreadable, method_kind, path_text
from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.machine import Frame
from pypto.elaborate.methods import has_method, refuse_method
from pypto.elaborate.numerics import attribute_of_numeric
from pypto.elaborate.objects import behaviour, instance_attribute
from pypto.elaborate.tensors import has_tensor_attribute, tensor_attribute
from pypto.elaborate.values import Instance, Item, Known, Method, Scalar, Sequence
from pypto.error import FeError, FeNameError, FeNotImplementedError, Span
from pypto.ir.dtype import DataType

__all__ = ["attribute", "has_attribute"]


def attribute(frame: Frame, owner: Item, name: str, span: Span) -> Item:
    """``owner.name``, which stands at ``span``."""
    if isinstance(owner, v.Tensor):
        return tensor_attribute(frame, owner, name, span)
    if isinstance(owner, Instance):
        return instance_attribute(frame, owner, name, span)
    if isinstance(owner, v.Super):
        return super_attribute(frame, owner, name, span)
    if isinstance(owner, Sequence) and owner.kind is not None:
        fields = owner.kind.value._fields  # type: ignore[attr-defined]
        if name in fields:
            held: Item = owner.items[fields.index(name)]
            return held.settle(span) if isinstance(held, v.Deferred) else held
    if has_method(owner, name):
        return Method(owner, name)
    refuse_method(owner, name, span)
    if not isinstance(owner, Known):
        if isinstance(owner, Scalar):
            frame.need(owner, span, f"the attribute '{name}'")
        refuse(FeError, f"{v.describe(owner)} has no attribute '{name}'", span, code="F00007")
    if _is_own(owner.value):
        return _own_attribute(frame, owner, name, span)
    if attribute_of_numeric(owner.value, name):
        return Known(getattr(frame.use(owner, span), name))
    try:
        found = behaviour(frame, owner, name, span)
        return frame.step(owner, ("attr", name), span) if found is None else found
    except Unreadable as error:
        shown = path_text(owner.origin) if owner.origin else v.describe(owner)
        plain = "pass the value as a parameter, or keep it in a plain attribute or global"
        help = error.help or plain
        if error.missing:
            help = _near_attribute(owner.value, name) or help
        refuse(FeError, f"cannot read '{shown}.{name}': {error}", span, code="F00007", help=help)


def has_attribute(frame: Frame, owner: Item, name: str, span: Span) -> bool:
    """``hasattr(owner, name)``; that something is not there is a read, too."""
    if isinstance(owner, v.Tensor):
        return has_tensor_attribute(name)
    if isinstance(owner, Instance):
        return name in owner.fields or _readable(frame, owner.kind, name, span)
    if isinstance(owner, Sequence) and owner.kind is not None:
        if name in owner.kind.value._fields:  # type: ignore[attr-defined]
            return True
    if has_method(owner, name):
        return True
    if not isinstance(owner, Known):
        return False
    if _is_own(owner.value):
        frame.use(owner, span)
        return hasattr(owner.value, name)
    return _readable(frame, owner, name, span)


def _readable(frame: Frame, owner: Known, name: str, span: Span) -> bool:
    """Whether ``owner``, made outside, has ``name``; reads what answers that."""
    if method_kind(type(owner.value), getattr(owner.value, "__dict__", None), name) is not None:
        frame.use(frame.step(owner, ("method", name), span), span)
        return True
    try:
        found = frame.step(owner, ("attr", name), span)
    except Unreadable as error:
        if not error.missing:
            refuse(FeError, f"cannot tell whether there is '{name}': {error}", span, code="F00007")
        if owner.origin is not None:
            path = (*owner.origin, ("attr", name))
            frame.context.reads.setdefault(path, CapturedRead(path, ABSENT))
        return False
    frame.use(found, span)
    return True


def _near_attribute(value: object, name: str) -> str | None:
    if name in dir(value):  # a slot or annotation without a value
        return f"set '{name}' before the kernel is called, or pass the value as a parameter"
    near = nearest(name, dir(value))
    return f"did you mean '{near}'?" if near else None


def _is_own(value: object) -> bool:
    """Modules and objects of pypto are constants of this version of the compiler."""
    name = value.__name__ if isinstance(value, types.ModuleType) else type(value).__module__
    if isinstance(value, type):
        name = value.__module__
    return name == "pypto" or name.startswith("pypto.")


def _own_text(owner: Known) -> str:
    """How a module, class or value of pypto is written."""
    value = owner.value
    if isinstance(value, type):
        return f"pypto.{value.__name__}"
    if isinstance(value, enum.Enum):
        kind = "" if isinstance(value, DataType) else f"{type(value).__name__}."
        return f"pypto.{kind}{value.name}"
    if isinstance(value, types.ModuleType):
        return value.__name__
    return path_text(owner.origin) if owner.origin else v.describe(owner)


def _own_attribute(frame: Frame, owner: Known, name: str, span: Span) -> Item:
    frame.use(owner, span)
    try:
        return Known(getattr(owner.value, name))
    except AttributeError:
        pass
    shown = _own_text(owner)
    package = owner.value is sys.modules["pypto"]
    if package and advice.is_missing(name):
        refuse(
            FeNotImplementedError, f"{shown}.{name} is not available in this version", span,
            help=advice.for_missing(name),
        )  # fmt: skip
    near = nearest(name, dir(owner.value))
    help = f"did you mean '{shown}.{near}'?" if near else None
    if package:
        help = advice.renamed(name) or help or advice.available()
    elif not near:
        known = getattr(owner.value, "__members__", getattr(owner.value, "__all__", ()))
        help = f"it has {', '.join(known)}" if known else None
    refuse(FeNameError, f"'{shown}' has no '{name}'", span, help=help)
