"""Only names of the interface are used: calls, types, members of enumerations."""

from __future__ import annotations

from pypto._spelling import nearest
from pypto.lint import nodes
from pypto.lint.context import Context
from pypto.lint.interface import CONSTANTS, FUNCTIONS, METHODS, NAMES_OF_TYPES
from pypto.lint.nodes import Class, Function, Template, Type
from pypto.lint.rule import Rule, RuleSet
from pypto.lint.rules.banned import HOST
from pypto.lint.scope import canonical
from pypto.lint.words import BUILT_IN

__all__ = ["RULES"]

_RULES = (
    Rule(
        "unknown-call",
        "calls of functions and methods that neither the text nor Ascend C has",
        "what the host's compiler happens to find is not there on the device",
    ),
    Rule(
        "unknown-type",
        "types that neither the text nor Ascend C has",
        "what the host's compiler happens to find is not there on the device",
    ),
    Rule(
        "unknown-name",
        "variables and members of enumerations that nothing declares",
        "a name of another chip or of the host compiles here and not there",
    ),
)

_ALL_METHODS = frozenset(name for names in METHODS.values() for name in names)


def _near(name: str, known: set[str]) -> str:
    found = nearest(name, sorted(known))
    return f"did you mean '{found}'?" if found else "declare it, or write it with other names"


def _call(walk: Context, found: nodes.Call) -> None:
    callee = found.callee
    if isinstance(callee, nodes.Member):
        _method(walk, callee)
    elif isinstance(callee, nodes.Name) and not _known_call(walk, callee.name):
        known = {*walk.interface.forms, *walk.interface.open, *FUNCTIONS, *walk.functions}
        name = callee.name.removeprefix("AscendC::")
        walk.report(
            "unknown-call",
            callee.at,
            callee.end,
            f"nothing that a kernel may call is named '{name}'",
            _near(name, known),
        )


def _known_call(walk: Context, name: str) -> bool:
    if walk.find(name) is not None or name.startswith("std::"):
        return True
    if "::" in name and name.split("::")[0] in (*walk.file.namespaces, "Std"):
        return True
    if name.startswith("AscendC::Std::"):
        return True
    short = canonical(name)
    return (
        short in walk.interface.forms
        or short in FUNCTIONS
        or short in walk.interface.open
        or short in walk.file.classes
        or short in NAMES_OF_TYPES
        or short in walk.target.param_structs
        or short in walk.file.aliases
        or short in HOST
    )


def _method(walk: Context, callee: nodes.Member) -> None:
    base = walk.type(callee.base)
    if base is None:
        if callee.name not in _ALL_METHODS and not _any_member(walk, callee.name):
            walk.report(
                "unknown-call",
                callee.at,
                callee.end,
                f"no type has a method '{callee.name}'",
                _near(callee.name, set(_ALL_METHODS)),
            )
        return
    methods = METHODS.get(base.name)
    if methods is not None and not base.pointers and callee.name not in methods:
        walk.report(
            "unknown-call",
            callee.at,
            callee.end,
            f"{base.name} has no method '{callee.name}'",
            _near(callee.name, set(methods)),
        )


def _any_member(walk: Context, name: str) -> bool:
    return name in walk.functions or any(name in names for names in walk.in_class.values())


def _name(walk: Context, found: nodes.Name) -> None:
    name = found.name
    if walk.find(name) is not None or name in CONSTANTS:
        return
    enum, _, member = name.removeprefix("AscendC::").rpartition("::")
    if not enum:
        _plain(walk, found)
        return
    members = walk.interface.enums.get(enum)
    if members is not None:
        _member(walk, enum, member, members, found.at, found.end)


def _plain(walk: Context, found: nodes.Name) -> None:
    name = found.name
    known = name in walk.functions or name in NAMES_OF_TYPES or name in walk.file.classes
    if not known and name not in BUILT_IN and not name.startswith("__"):
        names = {*CONSTANTS, *(n for block in walk.types.scope.blocks for n in block)}
        walk.report(
            "unknown-name", found.at, found.end, f"nothing declares '{name}'", _near(name, names)
        )


def _member(
    walk: Context, enum: str, member: str, members: frozenset[str], at: int, end: int
) -> None:
    if member not in members:
        walk.report(
            "unknown-name", at, end, f"{enum} has no '{member}'", _near(member, set(members))
        )


def _type(walk: Context, found: Type | None, known: frozenset[str] = frozenset()) -> None:
    if found is None:
        return
    name = canonical(found.name)
    for one in found.args or ():
        _argument(walk, one, known)
    if name in known or _known_type(walk, name):
        return
    enum, _, member = name.rpartition("::")
    members = walk.interface.enums.get(enum)
    if members is not None:
        _member(walk, enum, member, members, found.at, found.end)
        return
    types = {*NAMES_OF_TYPES, *walk.file.classes, *BUILT_IN, *walk.target.param_structs}
    walk.report(
        "unknown-type",
        found.at,
        found.end,
        f"no type that a kernel may use is named '{name}'",
        _near(name, types),
    )


def _known_type(walk: Context, name: str) -> bool:
    first = name.split()[0] if name else ""
    if first in BUILT_IN or name in NAMES_OF_TYPES or name in walk.target.param_structs:
        return True
    if name in walk.file.classes or name in walk.file.aliases or name in walk.file.enums:
        return True
    if name in walk.interface.enums or name.startswith(("decltype", "std::", "Std::", "Pattern::")):
        return True
    variable = walk.find(name)
    if variable is not None:
        return True
    head = name.split("::")[0]
    owners = (walk.file.namespaces, walk.file.classes, walk.file.enums, NAMES_OF_TYPES)
    return "::" in name and any(head in names for names in owners)


def _argument(walk: Context, found: Template, known: frozenset[str]) -> None:
    """A template argument that reads as a type may be a constant."""
    if isinstance(found, Type) and not (found.name in CONSTANTS and found.args is None):
        _type(walk, found, known)


def _declaration(walk: Context, found: nodes.Declaration) -> None:
    _type(walk, found.items[0].type)


def _cast(walk: Context, found: nodes.Cast) -> None:
    _type(walk, found.type)


def _brace(walk: Context, found: nodes.Brace) -> None:
    _type(walk, found.type)


def _arguments(walk: Context, found: nodes.Call) -> None:
    callee = found.callee
    if isinstance(callee, nodes.Name | nodes.Member):
        for one in callee.args or ():
            _argument(walk, one, frozenset())


def _called(walk: Context, found: nodes.Call) -> None:
    _call(walk, found)
    _arguments(walk, found)


def _function(walk: Context, made: Function) -> None:
    _type(walk, made.result)
    for one in made.parameters:
        _type(walk, one.type)


def _class(walk: Context, owner: Class) -> None:
    templates = frozenset(one.name for one in owner.templates or ())
    for base in owner.bases:
        _type(walk, base, templates)


RULES = RuleSet(
    _RULES,
    {
        nodes.Call: _called,
        nodes.Name: _name,
        nodes.Declaration: _declaration,
        nodes.Cast: _cast,
        nodes.Brace: _brace,
    },
    _function,
    _class,
)
