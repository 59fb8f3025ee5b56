"""Calls of instructions against the instruction table: arguments, types and immediates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pypto._record import Record
from pypto.lint import nodes
from pypto.lint.interface import Form, element
from pypto.lint.nodes import Expr, Type
from pypto.lint.rule import Rule, RuleSet
from pypto.lint.scope import SIZES
from pypto.lint.types import TENSORS, element_of
from pypto.lint.walk import Walk

__all__ = ["RULES", "Match", "match", "size_of"]

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
    Rule(
        "immediate-range",
        "repeats, masks, counts and fields of parameter structs out of range",
        "the fields of an instruction are 8 or 16 bits wide: a larger value is cut off",
    ),
)


class Match(Record, eq=False):
    """A call and the form that it is of: the role and the type of each argument."""

    name: str
    form: Form
    roles: tuple[str, ...]
    kinds: list[Type | None]


def _fitting(walk: Walk, found: nodes.Call) -> tuple[str, list[Form]]:
    """The instruction that is called and its forms of as many arguments; "" for other calls."""
    callee = found.callee
    if not isinstance(callee, nodes.Name):
        return "", []
    name = callee.name.removeprefix("AscendC::")
    forms = walk.interface.forms.get(name)
    if forms is None or walk.find(name) is not None:
        return "", []
    count = len(found.args)
    return name, [form for form in forms if form.fewest <= count <= len(form.roles)]


def match(walk: Walk, found: nodes.Call) -> Match | None:
    """The form that a call is of; None for what is no instruction or has no such form."""
    name, fitting = _fitting(walk, found)
    if not fitting:
        return None
    kinds = [walk.type(one) for one in found.args]
    form = next((form for form in fitting if _shaped(walk, form, kinds)), fitting[0])
    return Match(name, form, _roles(form, len(kinds)), kinds)


def _call(walk: Walk, found: nodes.Call) -> None:
    callee = found.callee
    if not isinstance(callee, nodes.Name):
        return
    struct = callee.name.removeprefix("AscendC::")
    if struct in walk.target.param_structs and walk.find(struct) is None:
        _struct(walk, struct, found.args)
        return
    name, fitting = _fitting(walk, found)
    if not name:
        return
    if not fitting:
        if not _scalar_form(name, found):
            _wrong_count(walk, name, found, walk.interface.forms[name])
        return
    _templates(walk, name, callee, fitting)
    kinds = [walk.type(one) for one in found.args]
    if len(fitting) > 1:
        fitting = [form for form in fitting if _shaped(walk, form, kinds)] or fitting
    _types(walk, name, found, fitting, kinds)
    _values(walk, name, found, fitting[0], kinds)


def _scalar_form(name: str, found: nodes.Call) -> bool:
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


def _wrong_count(walk: Walk, name: str, found: nodes.Call, forms: Iterable[Form]) -> None:
    calls = dict.fromkeys(str(form["call"]) for one in forms for form in one.row.forms.values())
    walk.report(
        "argument-count",
        found.at,
        found.end,
        f"{name} has no form with {len(found.args)} argument{'s' * (len(found.args) != 1)}",
        "write one of its forms",
        tuple(f"form  {text}" for text in calls),
    )


def _templates(walk: Walk, name: str, callee: nodes.Name, forms: list[Form]) -> None:
    given = len(callee.args or ())
    needed = min(form.templates for form in forms)
    if given < needed:
        call = next(str(form["call"]) for form in forms[0].row.forms.values())
        walk.report(
            "template-count",
            callee.at,
            callee.end,
            f"{name} needs {needed} template argument{'s' * (needed != 1)}",
            f"write {call}",
        )


def _roles(form: Form, count: int) -> tuple[str, ...]:
    """The roles of ``count`` arguments: which optional ones are missing."""
    roles = form.roles
    for optional in ("count", "tmp"):
        if len(roles) > count and form.row.group.startswith("adv") and optional in roles:
            roles = tuple(role for role in roles if role != optional)
    return roles[:count]


def _shaped(walk: Walk, form: Form, kinds: list[Type | None]) -> bool:
    """Whether structs and tensors stand where this form has them."""
    spaces = {one.role: one.space for one in form.row.operands}
    structs = walk.target.param_structs
    for role, kind in zip(_roles(form, len(kinds)), kinds, strict=True):
        if kind is None:
            continue
        base = role.partition("(")[0].partition("<")[0].partition("{")[0]
        is_struct = base in structs or base.endswith(("Params", "ParamsV2", "ParamsV220"))
        if is_struct and (kind.name != base and kind.name in structs):
            return False
        if is_struct and (kind.name in SIZES or kind.name in TENSORS):
            return False
        if not is_struct and kind.name in structs:
            return False
        if kind.pointers and base in ("count", "repeat"):
            return False
        space = spaces.get(base)
        if space == "GM" and kind.name == "LocalTensor":
            return False
        if space not in (None, "GM", "scalar") and kind.name in (*SIZES, "GlobalTensor"):
            return False
        if space == "scalar" and kind.name in TENSORS:
            return False
    return True


def _types(
    walk: Walk, name: str, found: nodes.Call, forms: list[Form], kinds: list[Type | None]
) -> None:
    reasons = []
    for form in forms:
        if not form.row.dtypes:
            return
        given = _given(form, kinds)
        if any(_accepts(form, given, row) for row in form.row.dtypes):
            _modes(walk, name, found, form, kinds)
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
        f"{name} does not take {tensors}",
        "convert with Cast, or reinterpret the bits with ReinterpretCast",
        (f"where {shape}; (T0 T1 ...) is one of: {', '.join(allowed)}",),
    )


def _given(form: Form, kinds: list[Type | None]) -> dict[str, str]:
    """Table names of the element types of tensor arguments, where they are known, by role."""
    given = {}
    operands = {one.role for one in form.row.operands}
    for role, kind in zip(_roles(form, len(kinds)), kinds, strict=True):
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


def _modes(walk: Walk, name: str, found: nodes.Call, form: Form, kinds: list[Type | None]) -> None:
    given = _given(form, kinds)
    roles = _roles(form, len(kinds))
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


def _mode(walk: Walk, rule: str, value: Expr, modes: tuple[str, ...], what: str) -> None:
    if not (isinstance(value, nodes.Name) and "::" in value.name) or not modes:
        return
    mode = value.name.rpartition("::")[2]
    if mode not in modes and mode in {m for names in walk.target.enums.values() for m in names}:
        walk.report(
            rule, value.at, value.end, f"{what} has no mode {mode}", f"use {', '.join(modes)}"
        )


# --- immediates ---


def _values(walk: Walk, name: str, found: nodes.Call, form: Form, kinds: list[Type | None]) -> None:
    facts = form.row.facts
    size = _widest(kinds)
    source = next((s for k in kinds[1:] if (s := size_of(k))), size)
    if name in ("ShiftLeft", "ShiftRight") and size and len(found.args) > 2:
        amount = walk.fold(found.args[2])
        if isinstance(amount, int):
            _in_range(walk, found.args[2], amount, f"amount of {name}", 0, 8 * size)
    for role, value in zip(_roles(form, len(kinds)), found.args, strict=True):
        if role not in ("repeat", "mask", "count") and role not in facts.get("strides", ()):
            continue
        known = walk.fold(value)
        if not isinstance(known, int):
            continue
        if role == "repeat" and "repeat" in facts:
            _in_range(walk, value, known, f"repeat of {name}", *facts["repeat"])
        elif role == "mask" and size and "repeat" in form.roles:
            lanes = walk.target.limits["repeat_bytes"] // size
            _in_range(walk, value, known, f"mask of {name} in lanes", 0, lanes)
        elif role == "count" and "count" in facts:
            _count(walk, name, value, known, facts["count"]["expr"], source)
        elif role in facts.get("strides", ()):
            low, high = _stride(facts["strides"][role])
            _in_range(walk, value, known, f"{role} of {name}", low, high)


def size_of(kind: Type | None) -> int:
    """Bytes of an element of a tensor; 0 for what is none, or of a type that is not known."""
    name = element_of(kind)
    return 0 if name is None else SIZES.get(name, 0)


def _widest(kinds: list[Type | None]) -> int:
    """Bytes of the widest element; 0 where a tensor's type is not known."""
    sizes = [size_of(kind) for kind in kinds if kind is not None and kind.name in TENSORS]
    return max(sizes) if sizes and all(sizes) else 0


def _stride(facts: Mapping[str, Any]) -> tuple[int, int]:
    if "range" in facts:
        low, _, high = str(facts["range"]).partition("..")
        return int(low), int(high)
    return 0, (1 << int(facts["bits"])) - 1


def _in_range(walk: Walk, value: Expr, known: int, what: str, low: int, high: int) -> None:
    if not low <= known <= high:
        walk.report(
            "immediate-range",
            value.at,
            value.end,
            f"{what} is {known}",
            f"it must be from {low} to {high}",
        )


def _count(walk: Walk, name: str, value: Expr, known: int, rule: str, size: int) -> None:
    if rule.startswith("count >= "):
        low = int(rule.rpartition(" ")[2])
        _in_range(walk, value, known, f"count of {name}", low, (1 << 31) - 1)
    elif rule.startswith("count*S % ") and size:
        unit = int(rule.split()[2])
        if known * size % unit:
            walk.report(
                "immediate-range",
                value.at,
                value.end,
                f"{name} of {known} elements of {size} bytes is no whole number of {unit} bytes",
                f"make it a multiple of {unit // size}"
                + (", or use DataCopyPad" if name == "DataCopy" else ""),
            )


# --- parameter structs ---


def _brace(walk: Walk, found: nodes.Brace) -> None:
    if found.type is not None:
        name = found.type.name.removeprefix("AscendC::")
        if name in walk.target.param_structs:
            _struct(walk, name, found.args)


def _declaration(walk: Walk, found: nodes.Declaration) -> None:
    for item in found.items:
        name = item.type.name.removeprefix("AscendC::")
        if name in walk.target.param_structs and item.style in ("{", "(") and not item.dims:
            _struct(walk, name, item.init)


def _struct(walk: Walk, name: str, args: list[Expr]) -> None:
    fields = walk.target.param_structs[name]
    for (field, facts), value in zip(fields.items(), args, strict=False):
        _field(walk, name, field, facts, value)


def _field(walk: Walk, name: str, field: str, facts: Mapping[str, Any], value: Expr) -> None:
    known = walk.fold(value)
    if not isinstance(known, int):
        return
    values = facts.get("values")
    if values is not None:
        if known not in values:
            shown = " or ".join(map(str, values))
            walk.report(
                "immediate-range",
                value.at,
                value.end,
                f"{name}.{field} is {known}",
                f"it must be {shown}",
            )
    elif facts.get("range") is not None:
        _in_range(walk, value, known, f"{name}.{field} ({facts['unit']})", *facts["range"])


def _assigned(walk: Walk, found: nodes.Binary) -> None:
    left = found.left
    if found.op == "=" and isinstance(left, nodes.Member):
        kind = walk.type(left.base)
        if kind is not None and kind.name in walk.target.param_structs:
            facts = walk.target.param_structs[kind.name].get(left.name)
            if facts is not None:
                _field(walk, kind.name, left.name, facts, found.right)


RULES = RuleSet(
    _RULES,
    {
        nodes.Call: _call,
        nodes.Brace: _brace,
        nodes.Declaration: _declaration,
        nodes.Binary: _assigned,
    },
)
