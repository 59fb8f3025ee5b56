"""What operators, subscripts, loops and ``len`` do with objects of users' classes: special methods.

Python looks them up in the class, never in the object. Those with Python source are helpers, as
other methods are; what a decorator has written (the ``==`` of a dataclass) has none.
"""

from __future__ import annotations

import types

from pypto.elaborate.captures import method_kind
from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.machine import Frame
from pypto.elaborate.purity import is_foreign
from pypto.elaborate.values import Bound, Instance, Item, Known
from pypto.error import FeTypeError, Span

__all__ = ["call_special_method", "has_special_method", "operator_method"]

_NAMES = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow",
    "@": "matmul", "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip
_COMPARISONS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _method(item: Item, name: str) -> types.FunctionType | None:
    """The function of the special method ``name`` of ``item``; None: it has none with source."""
    if isinstance(item, Instance):
        kind = item.cls
    elif isinstance(item, Known) and not isinstance(item.value, type):
        kind = type(item.value)
    else:
        return None
    if kind.__module__ == "builtins" or kind.__module__.partition(".")[0] == "pypto":
        return None
    if method_kind(kind, None, name) != "method":
        return None
    function = next(vars(base)[name] for base in kind.__mro__ if name in vars(base))
    written = function.__code__.co_filename == "<string>"
    return None if written or is_foreign(function) else function


def has_special_method(item: Item, name: str) -> bool:
    """Whether the class of ``item`` has the special method ``name``, in Python."""
    return _method(item, name) is not None


def call_special_method(
    frame: Frame, item: Item, name: str, arguments: list[Item], span: Span
) -> Item | None:
    """``type(item).name(item, *arguments)``; None where there is no such method."""
    if _method(item, name) is None:
        return None
    owner = item.kind if isinstance(item, Instance) else item
    assert isinstance(owner, Known)
    method = Bound(frame.step(owner, ("method", name), span), item)
    return frame.call(method, [(argument, span) for argument in arguments], {}, span)


def operator_method(
    frame: Frame, symbol: str, a: Item, b: Item, span: Span, in_place: bool = False
) -> Item | None:
    """``a symbol b`` by a special method of ``a``, else of ``b``; None where neither has one."""
    compared = symbol in _COMPARISONS
    name = _COMPARISONS[symbol] if compared else _NAMES[symbol]
    other = f"__{_COMPARISONS[_MIRRORED[symbol]]}__" if compared else f"__r{name}__"
    tries = [(a, f"__i{name}__", b)] * in_place + [(a, f"__{name}__", b), (b, other, a)]
    tried = None
    for owner, method, argument in tries:
        found = call_special_method(frame, owner, method, [argument], span)
        if isinstance(found, Known) and found.value is NotImplemented:
            tried = owner
        elif found is not None:
            return found
    if tried is not None and symbol not in ("==", "!="):
        refuse(
            FeTypeError, f"the operator {symbol} of this object does not take the other operand",
            span, got="NotImplemented",
        )  # fmt: skip
    return None
