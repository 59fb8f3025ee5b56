"""Calls of functions, as rules about several functions need them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pypto.lint import nodes
from pypto.lint.nodes import Expr, Function, Parameter, Type
from pypto.lint.scope import Variable, canonical

__all__ = ["Called", "Facts", "deduce", "fitting", "forwarded", "matching", "reached", "substitute"]


@dataclass(slots=True, eq=False)
class Called:
    """A call of a name, where it stands, and the cores that come there (empty: no test).

    ``function``: what it runs, if that is part of the text; ``receiver``: the object whose method
    it is; ``bound``, ``numbers`` and ``types``: the variables, constants and types that its
    parameters stand for, those of its template among them; ``parted``: a condition that differs
    between cores and decides whether the call is reached; ``looped``: whether a loop is around it.
    """

    name: str
    node: nodes.Call
    core: str
    function: Function | None = None
    receiver: Variable | None = None
    bound: dict[str, Variable] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    types: dict[str, Type] = field(default_factory=dict)
    parted: Expr | None = None
    looped: bool = False


@dataclass(slots=True, eq=False)
class Facts:
    """What a function does, as far as rules about several functions need it.

    ``pipes``: the TPipe objects that it declares, by their places; ``looped``: those in a loop.
    """

    calls: list[Called] = field(default_factory=list)
    pipes: dict[int, bool] = field(default_factory=dict)


def fitting(functions: Iterable[Function], name: str, count: int) -> list[Function]:
    """The functions ``name`` that ``count`` arguments may be given."""
    return [
        made
        for made in functions
        if made.name == name
        and sum(one.default is None for one in made.parameters) <= count <= len(made.parameters)
    ]


def matching(functions: list[Function], name: str, count: int) -> Function | None:
    """The function ``name`` that takes ``count`` arguments, one with a body before others."""
    found = fitting(functions, name, count) or [made for made in functions if made.name == name]
    return max(found, key=lambda made: made.body is not None) if found else None


def forwarded(
    one: Called, types: Mapping[str, Type], numbers: Mapping[str, int]
) -> tuple[dict[str, Type], dict[str, int]]:
    """What the parameters of a called function stand for, where those of the caller stand for
    ``types`` and ``numbers``."""
    inner_types = {name: types.get(found.name, found) for name, found in one.types.items()}
    inner = dict(one.numbers)
    for name, variable in one.bound.items():
        if variable.kind in ("parameter", "template") and variable.name in numbers:
            inner[name] = numbers[variable.name]
    return inner_types, inner


def reached(facts: Mapping[Function, Facts], first: Function) -> dict[Function, bool]:
    """The functions that ``first`` leads to, itself among them, and whether a loop is around."""
    found = {first: False}
    todo = [first]
    while todo:
        made = todo.pop()
        for one in facts[made].calls:
            looped = found[made] or one.looped
            target = one.function
            if target is not None and (target not in found or (looped and not found[target])):
                found[target] = looped
                todo.append(target)
    return found


# --- template arguments ---


def deduce(
    templates: list[Parameter] | None, parameters: list[Parameter], kinds: list[Type | None]
) -> dict[str, nodes.Template]:
    """The template arguments that the types of the arguments tell."""
    names = {one.name for one in templates or ()}
    found: dict[str, nodes.Template] = {}
    for parameter, kind in zip(parameters, kinds, strict=False):
        if names and parameter.type is not None and kind is not None:
            _unify(parameter.type, kind, names, found)
    return found


def _unify(wanted: Type, given: Type, names: set[str], found: dict[str, nodes.Template]) -> None:
    if wanted.name in names:
        pointers = given.pointers - wanted.pointers
        if wanted.args is None and pointers >= 0 and given.name:
            found.setdefault(wanted.name, Type(given.name, given.args, pointers=pointers))
        return
    if canonical(wanted.name) != canonical(given.name):
        return
    for one, value in zip(wanted.args or (), given.args or (), strict=False):
        if isinstance(one, Type) and isinstance(value, Type):
            _unify(one, value, names, found)
        elif isinstance(one, Type) and one.name in names:
            found.setdefault(one.name, value)


def substitute(found: Type, bound: Mapping[str, nodes.Template]) -> Type:
    """``found`` with template parameters replaced by what they are bound to."""
    to = bound.get(found.name)
    if isinstance(to, Type):
        return Type(to.name, to.args, pointers=to.pointers + found.pointers, space=found.space)
    if not found.args:
        return found
    args = tuple(substitute(one, bound) if isinstance(one, Type) else one for one in found.args)
    if all(one is two for one, two in zip(args, found.args, strict=True)):
        return found
    return Type(found.name, args, found.const, found.pointers, found.reference, found.space)
