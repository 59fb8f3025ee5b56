"""Private names: in a class body Python reads ``__name`` as ``_Class__name``."""

from __future__ import annotations

import types
from collections.abc import Iterator

import libcst as cst

from pypto.elaborate.names import normal

__all__ = ["mangle"]


def mangle(node: cst.FunctionDef | cst.Lambda, code: types.CodeType) -> None:
    """Give the names below ``node`` the values that Python has for them, places unchanged."""
    owner = _class_of(code.co_qualname).lstrip("_")
    if not owner:
        return
    for name in _names(node):
        private = normal(name.value)
        if private.startswith("__") and not private.endswith("__"):
            # The tree is frozen, and a copy would lose the places of its nodes.
            object.__setattr__(name, "value", f"_{owner}{private}")


def _class_of(qualified: str) -> str:
    """The innermost class around a function of that qualified name; "" for none."""
    around = qualified.split(".")[:-1]
    while around and around[-1] == "<locals>":
        del around[-2:]
    return around[-1] if around else ""


def _names(node: cst.CSTNode) -> Iterator[cst.Name]:
    from pypto.elaborate.parse import children

    if isinstance(node, cst.Name):
        yield node
    for child in children(node):
        yield from _names(child)
