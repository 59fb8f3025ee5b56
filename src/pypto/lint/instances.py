"""Functions with the arguments of one of their calls.

A function is walked as it is written, and again for every call that tells more: types of a
template, constants, and where tensors lie.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pypto.lint import nodes
from pypto.lint.calls import Called, deduce, fitting, substitute
from pypto.lint.nodes import Class, Expr, Function, Template, Type
from pypto.lint.places import Place, buffer_of, is_followed, place_of, root_of
from pypto.lint.scope import SIZES, Scope, Variable, canonical, converted
from pypto.lint.site import BUFFERS
from pypto.lint.types import TENSORS

if TYPE_CHECKING:
    from pypto.lint.context import Context

__all__ = ["Instance", "bind", "chosen", "instance_of"]


@dataclass(slots=True, eq=False)
class Instance:
    """A function as one call runs it. ``at``: the call; ``owner``: what the parameters of its
    class template stand for; ``names``: parameters that stand for a member of an enumeration."""

    function: Function
    at: int
    owner: dict[str, Template] = field(default_factory=dict)
    types: dict[str, Type] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    names: dict[str, nodes.Name] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    buffers: dict[str, Variable] = field(default_factory=dict)

    def empty(self) -> bool:
        told = (self.owner, self.types, self.numbers, self.names, self.places, self.buffers)
        return not any(told)

    def key(self) -> Hashable:
        """Equal for calls that tell the same."""
        return (
            id(self.function),
            _texts(self.owner),
            _texts(self.types),
            tuple(sorted(self.numbers.items())),
            tuple((name, value.name) for name, value in self.names.items()),
            tuple((n, id(p.base), p.offset, p.more) for n, p in self.places.items()),
            tuple((name, id(made)) for name, made in self.buffers.items()),
        )

    def given(self) -> str:
        """What the arguments tell, for a message."""
        parts = [f"{name} = {found}" for name, found in (self.owner | self.types).items()]
        parts += [f"{name} = {value}" for name, value in self.numbers.items()]
        parts += [f"{name} = {value.name}" for name, value in self.names.items()]
        parts += [
            f"{name} = {place.base.name}{place.more and ' + ...'}"
            + (f" + {place.offset} bytes" if place.offset else "")
            for name, place in self.places.items()
        ]
        parts += [f"{name} = {made.name}" for name, made in self.buffers.items()]
        return ", ".join(parts)

    def declare(self, scope: Scope, changed: set[str]) -> None:
        """The parameters as names in ``scope``; those in ``changed`` do not keep their values."""
        for one in self.function.templates or ():
            made = Variable(one.name, "template", one.type, one.at)
            made.value, made.bound = self.numbers.get(one.name), self.types.get(one.name)
            scope.add(made)
        for one in self.function.parameters:
            made = Variable(one.name, "parameter", one.type, one.at)
            if one.name not in changed:
                made.value = self.numbers.get(one.name)
                made.init = self.names.get(one.name)
                made.place = self.places.get(one.name)
                made.buffer = self.buffers.get(one.name)
            scope.add(made)

    def declare_owner(self, scope: Scope, templates: list[nodes.Parameter] | None) -> None:
        """The template parameters of the class."""
        for one in templates or ():
            to = self.owner.get(one.name)
            if to is not None:
                made = Variable(one.name, "template", one.type, one.at)
                if isinstance(to, Type):
                    made.bound = to
                elif isinstance(to, nodes.Literal):
                    made.value = int(to.text)
                scope.add(made)


def _texts(found: dict[str, Type] | dict[str, Template]) -> Hashable:
    return tuple(
        (name, value.text if isinstance(value, nodes.Literal) else str(value))
        for name, value in sorted(found.items())
    )


# --- what a call tells ---


def bind(walk: Context, found: Called, target: Function) -> None:
    """Note what the parameters of ``target`` stand for in a call."""
    callee = found.node.callee
    if isinstance(callee, nodes.Member):
        found.receiver = walk.field_of(callee.base)
    _bind_templates(walk, found, target)
    for parameter, value in zip(target.parameters, found.node.args, strict=False):
        given = walk.type(value)
        is_tensor = given is not None and given.name in TENSORS
        variable = root_of(walk, value) if is_tensor else walk.field_of(value)
        known = _number(walk, value, parameter.type, found.types)
        if known is not None:
            found.numbers[parameter.name] = known
        elif variable is not None:
            found.bound[parameter.name] = variable
        kind = parameter.type
        if variable is not None and kind is not None and kind.reference and not kind.const:
            if canonical(kind.name) in SIZES:
                variable.changes = True  # the function may give it another value


def _bind_templates(walk: Context, found: Called, target: Function) -> None:
    templates = target.templates
    if not templates:
        return
    callee = found.node.callee
    given = callee.args if isinstance(callee, nodes.Name | nodes.Member) else None
    kinds = [walk.type(value) for value in found.node.args]
    deduced = deduce(templates, target.parameters, kinds)
    for number, parameter in enumerate(templates):
        explicit = given[number] if given is not None and number < len(given) else None
        value = explicit or deduced.get(parameter.name) or parameter.default
        if value is None:
            continue
        known = walk.fold(value)
        if parameter.type is not None and isinstance(known, int):
            found.numbers[parameter.name] = known
        elif isinstance(value, Type) and _is_known(walk, value):
            resolved = walk.types.resolve(substitute(value, found.types))
            if resolved is not None:
                found.types[parameter.name] = resolved
        elif isinstance(value, Type | nodes.Name):
            variable = walk.find(value.name)
            if variable is not None:
                found.types[parameter.name] = Type(value.name)  # forwarded: the caller's own
                found.bound[parameter.name] = variable


def _is_known(walk: Context, found: Type) -> bool:
    """Whether ``found`` names no template parameter that stands for nothing yet."""
    made = walk.find(found.name)
    if made is not None and made.kind == "template" and made.bound is None:
        return False
    return all(_is_known(walk, one) for one in found.args or () if isinstance(one, Type))


def _number(walk: Context, value: Expr, kind: Type | None, types: dict[str, Type]) -> int | None:
    """The constant that a parameter of type ``kind`` is given."""
    known = walk.fold(value)
    if not isinstance(known, int) or kind is None:
        return None
    to = walk.types.resolve(substitute(kind, types))
    if to is not None and canonical(to.name) in SIZES and not to.pointers:
        known = converted(known, canonical(to.name))
    return known if isinstance(known, int) else None


def instance_of(walk: Context, found: Called) -> Instance | None:
    """The function that a call runs, with what the call tells; None where it tells nothing."""
    target = found.function
    if target is None or target.body is None:
        return None
    made = Instance(target, found.node.at, _owner(walk, found, target))
    made.types = {name: one for name, one in found.types.items() if _is_known(walk, one)}
    made.numbers = dict(found.numbers)
    for parameter in target.parameters[len(found.node.args) :]:
        known = _number_of_default(walk, parameter)
        if known is not None:
            made.numbers[parameter.name] = known
    for parameter, value in zip(target.parameters, found.node.args, strict=False):
        kind = walk.type(value)
        if isinstance(value, nodes.Name):
            meant = walk.named(value.name)
            if "::" in meant and walk.find(meant) is None:
                made.names[parameter.name] = nodes.Name(value.at, value.end, meant, None)
        if kind is not None and kind.name in TENSORS and not kind.pointers:
            place = place_of(walk, value)
            if place is not None and is_followed(place):
                made.places[parameter.name] = place
        elif kind is not None and kind.name in BUFFERS:
            buffer = buffer_of(walk, value)
            if buffer is not None and buffer.kind != "parameter":
                made.buffers[parameter.name] = buffer
    return None if made.empty() else made


def _number_of_default(walk: Context, parameter: nodes.Parameter) -> int | None:
    if parameter.default is None or isinstance(parameter.default, Type):
        return None
    return _number(walk, parameter.default, parameter.type, {})


def chosen(walk: Context, node: nodes.Call, target: Function) -> Function | None:
    """The overload that is called; None where several may be meant. ``target``: one of them."""
    candidates = walk.candidates(node.callee)
    count = len(node.args)
    if candidates:
        candidates = fitting(candidates, candidates[0].name, count)
    if len({id(one) for one in candidates if one.body is not None}) <= 1:
        return target
    kinds = [walk.type(value) for value in node.args]
    left = [one for one in candidates if one.body is not None and _takes(one, kinds)]
    return left[0] if len(left) == 1 else None


def _takes(made: Function, kinds: list[Type | None]) -> bool:
    names = {one.name for one in made.templates or ()}
    return all(
        parameter.type is None or kind is None or _may_be(parameter.type, kind, names)
        for parameter, kind in zip(made.parameters, kinds, strict=False)
    )


def _may_be(wanted: Type, given: Type, names: set[str]) -> bool:
    if wanted.name in names:
        return True
    one, two = canonical(wanted.name), canonical(given.name)
    if one in SIZES and two in SIZES:
        return wanted.pointers == given.pointers
    if one != two:
        return False
    pairs = zip(wanted.args or (), given.args or (), strict=False)
    return all(
        not (isinstance(a, Type) and isinstance(b, Type))
        or a.name in names
        or canonical(a.name) == canonical(b.name)
        for a, b in pairs
    )


def _owner(walk: Context, found: Called, target: Function) -> dict[str, Template]:
    """What the parameters of the class template stand for whose method is called."""
    owner = walk.file.classes.get(target.owner)
    if owner is None or not owner.templates:
        return {}
    args = _class_arguments(walk, found, owner)
    if args is None:
        same = walk.instance is not None and walk.instance.function.owner == target.owner
        return walk.instance.owner if same and walk.instance is not None else {}
    made: dict[str, Template] = {}
    for parameter, value in zip(owner.templates, args, strict=False):
        known = walk.fold(value)
        if isinstance(known, int):
            made[parameter.name] = nodes.Literal(value.at, value.end, str(known))
        elif isinstance(value, Type) and _is_known(walk, value):
            resolved = walk.types.resolve(value)
            if resolved is not None:
                made[parameter.name] = resolved
    return made


def _class_arguments(walk: Context, found: Called, owner: Class) -> tuple[Template, ...] | None:
    callee = found.node.callee
    if isinstance(callee, nodes.Name):
        return callee.args if canonical(callee.name) == owner.name else None
    if isinstance(callee, nodes.Member):
        if isinstance(callee.base, nodes.Name) and callee.base.name == "this":
            return None
        kind = walk.type(callee.base)
        return None if kind is None else kind.args
    return None
