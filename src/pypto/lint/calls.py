"""Calls of functions, as rules about several functions need them."""

from __future__ import annotations

from dataclasses import dataclass, field

from pypto.lint import nodes
from pypto.lint.nodes import Expr, Function
from pypto.lint.scope import Variable

__all__ = ["Called", "Facts", "matching"]


@dataclass(slots=True, eq=False)
class Called:
    """A call of a name, where it stands, and the cores that come there (empty: no test).

    ``function``: what it runs, if that is part of the text; ``receiver``: the object whose method
    it is; ``bound`` and ``numbers``: variables and constants that its parameters stand for;
    ``parted``: a condition that differs between cores and decides whether the call is reached.
    """

    name: str
    node: nodes.Call
    core: str
    function: Function | None = None
    receiver: Variable | None = None
    bound: dict[str, Variable] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    parted: Expr | None = None


@dataclass(slots=True, eq=False)
class Facts:
    """What a function does, as far as rules about several functions need it."""

    calls: list[Called] = field(default_factory=list)


def matching(functions: list[Function], name: str, count: int) -> Function | None:
    """The function ``name`` that takes ``count`` arguments, one with a body before others."""
    found = [made for made in functions if made.name == name]
    if not found:
        return None
    fits = [
        made
        for made in found
        if sum(one.default is None for one in made.parameters) <= count <= len(made.parameters)
    ]
    return max(fits or found, key=lambda made: made.body is not None)
