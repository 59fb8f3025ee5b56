"""Calls of instructions against the instruction table: arguments, types and immediates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pypto.lint import nodes
from pypto.lint.context import Context
from pypto.lint.interface import Form, element
from pypto.lint.match import Match, match, roles_of
from pypto.lint.nodes import Expr, Type
from pypto.lint.rule import Rule, RuleSet
from pypto.lint.types import element_of

__all__ = ["RULES"]

_RULES = (
    Rule(
        "argument-count",
        "calls of an instruction with a number of arguments that no form takes",
        "another number means another form, with other meanings at the same places",
    ),
    Rule(
        "template-count",
        "missing template arguments that nothing can deduce",
        "events, pipes and atomic types are fixed when the kernel is compiled",
    ),
    Rule(
        "operand-type",
        "element types that an instruction does not take",
        "some are refused by the compiler, others silently give wrong results on the device",
    ),
    Rule(
        "rounding-mode",
        "rounding modes that a pair of Cast does not have",
        "a mode that is not listed is undefined on the device",
    ),
    Rule(
        "compare-mode",
        "comparisons that a type does not have",
        "int32_t compares for equality alone",
    ),
)


def _call(walk: Context, found: nodes.Call) -> None:
    matched = match(walk, found)
    if matched is None:
        return
    if matched.forms:
        _templates(walk, matched, found)
        _types(walk, matched, found)
    elif not _other_form(matched.name, found):
        _wrong_count(walk, matched.name, found, walk.interface.forms[matched.name])


def _other_form(name: str, found: nodes.Call) -> bool:
    """Overloads of the scalar unit, and forms that the table leaves out."""
    count = len(found.args)
    return count in {
        "Cast": (1,),
        "DataCopy": (4, 5),
        "DataCopyPad": (3, 4),
        "CastDequant": (3, 4, 5),
        "Broadcast": (4, 5),
        "Transpose": (4, 5),
        "TransDataTo5HD": (3,),
        "Duplicate": (6,),
        "AscendQuant": (5, 7),
        "Sort": (5,),
        "LoadData": (3, 4),
    }.get(name, ())


def _wrong_count(walk: Context, name: str, found: nodes.Call, forms: Iterable[Form]) -> None:
    calls = dict.fromkeys(str(form["call"]) for one in forms for form in one.row.forms.values())
    walk.report(
        "argument-count",
        found.at,
        found.end,
        f"{name} has no form with {len(found.args)} argument{'s' * (len(found.args) != 1)}",
        "write one of its forms",
        tuple(f"form  {text}" for text in calls),
    )


def _templates(walk: Context, matched: Match, found: nodes.Call) -> None:
    callee = found.callee
    given = len(callee.args or ()) if isinstance(callee, nodes.Name) else 0
    needed = min(form.templates for form in matched.forms)
    if given < needed:
        call = next(str(form["call"]) for form in matched.form.row.forms.values())
        walk.report(
            "template-count",
            callee.at,
            callee.end,
            f"{matched.name} needs {needed} template argument{'s' * (needed != 1)}",
            f"write {call}",
        )


def _types(walk: Context, matched: Match, found: nodes.Call) -> None:
    reasons = []
    for form in matched.forms:
        if not form.row.dtypes:
            return
        given = _given(form, matched.kinds)
        if any(_accepts(form, given, row) for row in form.row.dtypes):
            _modes(walk, matched, found, form)
            return
        reasons.append((form, given))
    form, given = reasons[0]
    tensors = ", ".join(f"{role} {kind}" for role, kind in given.items())
    types = {one.role: one.type for one in form.row.operands}
    shape = ", ".join(f"{role} {types[role]}" for role in given)
    allowed = dict.fromkeys(" ".join(row) for one, _ in reasons for row in one.row.dtypes)
    walk.report(
        "operand-type",
        found.at,
        found.end,
        f"{matched.name} does not take {tensors}",
        "convert with Cast, or reinterpret the bits with ReinterpretCast",
        (f"where {shape}; (T0 T1 ...) is one of: {', '.join(allowed)}",),
    )


def _given(form: Form, kinds: list[Type | None]) -> dict[str, str]:
    """Table names of the element types of tensor arguments, where they are known, by role."""
    given = {}
    operands = {one.role for one in form.row.operands}
    for role, kind in zip(roles_of(form, len(kinds)), kinds, strict=True):
        name = element_of(kind)
        known = None if name is None else element(name)
        if known is not None and role in operands:
            given[role] = known
    return given


def _accepts(form: Form, given: Mapping[str, str], row: tuple[str, ...]) -> bool:
    for one in form.row.operands:
        have = given.get(one.role)
        if have is None or one.type is None:
            continue
        want = row[int(one.type[1:])] if one.type[0] == "T" and one.type[1:].isdigit() else one.type
        if have != want:
            return False
    return True


def _modes(walk: Context, matched: Match, found: nodes.Call, form: Form) -> None:
    given = _given(form, matched.kinds)
    roles = roles_of(form, len(matched.kinds))
    name = matched.name
    if name == "Cast" and len(given) == 2:
        modes = walk.target.cast_modes(given["src"], given["dst"])
        _mode(
            walk,
            "rounding-mode",
            found.args[roles.index("roundMode")],
            modes,
            f"Cast from {given['src']} to {given['dst']}",
        )
    elif "cmpMode" in roles:
        source = given.get("src0") or given.get("src")
        if source is not None:
            _mode(
                walk,
                "compare-mode",
                found.args[roles.index("cmpMode")],
                walk.target.compare_modes(source),
                f"{name} on {source}",
            )


def _mode(walk: Context, rule: str, value: Expr, modes: tuple[str, ...], what: str) -> None:
    if not isinstance(value, nodes.Name) or not modes:
        return
    mode = walk.named(value.name).rpartition("::")[2]
    if mode not in modes and mode in {m for names in walk.target.enums.values() for m in names}:
        walk.report(
            rule, value.at, value.end, f"{what} has no mode {mode}", f"use {', '.join(modes)}"
        )


RULES = RuleSet(_RULES, {nodes.Call: _call}, values=True)
