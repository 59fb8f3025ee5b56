"""Constants in calls of instructions and in parameter structs are in range."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pypto.lint import nodes
from pypto.lint.context import Context
from pypto.lint.extents import arguments_of, constants_of, struct_of
from pypto.lint.match import Match, match, size_of
from pypto.lint.nodes import Expr, Type
from pypto.lint.rule import Rule, RuleSet
from pypto.lint.types import TENSORS

__all__ = ["RULES"]

_RULES = (
    Rule(
        "immediate-range",
        "repeats, masks, counts and fields of parameter structs out of range",
        "the fields of an instruction are 8 or 16 bits wide: a larger value is cut off",
    ),
)


_WRITTEN = frozenset(("dstBlkStride", "CopyRepeatParams.dstStride"))
"""Strides from one written block to the next: with 0 it is undefined which of them is left."""


def _call(walk: Context, found: nodes.Call) -> None:
    matched = match(walk, found)
    if matched is not None:
        if matched.forms:
            _values(walk, matched, found)
    elif isinstance(found.callee, nodes.Name):
        struct = found.callee.name.removeprefix("AscendC::")
        if struct in walk.target.param_structs and walk.find(struct) is None:
            _struct(walk, struct, found.args)


def _values(walk: Context, matched: Match, found: nodes.Call) -> None:
    name, form, kinds = matched.name, matched.form, matched.kinds
    facts = form.row.facts
    size = _widest(kinds)
    source = next((s for k in kinds[1:] if (s := size_of(k))), size)
    if name in ("ShiftLeft", "ShiftRight") and size and len(found.args) > 2:
        amount = walk.fold(found.args[2])
        if isinstance(amount, int):
            _in_range(walk, found.args[2], amount, f"amount of {name}", 0, 8 * size)
    for role, value in zip(matched.roles, found.args, strict=True):
        struct = struct_of(walk, role)
        if struct:
            _given(walk, matched, struct, value)
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
            low = max(low, int(role in _WRITTEN))
            _in_range(walk, value, known, f"{role} of {name}", low, high)


def _widest(kinds: list[Type | None]) -> int:
    """Bytes of the widest element; 0 where a tensor's type is not known."""
    sizes = [size_of(kind) for kind in kinds if kind is not None and kind.name in TENSORS]
    return max(sizes) if sizes and all(sizes) else 0


def _stride(facts: Mapping[str, Any]) -> tuple[int, int]:
    if "range" in facts:
        low, _, high = str(facts["range"]).partition("..")
        return int(low), int(high)
    return 0, (1 << int(facts["bits"])) - 1


def _in_range(walk: Context, value: Expr, known: int, what: str, low: int, high: int) -> None:
    if not low <= known <= high:
        walk.report(
            "immediate-range",
            value.at,
            value.end,
            f"{what} is {known}",
            f"it must be from {low} to {high}",
        )


def _count(walk: Context, name: str, value: Expr, known: int, rule: str, size: int) -> None:
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


def _given(walk: Context, matched: Match, struct: str, value: Expr) -> None:
    """A struct in a call: one without a type, what is left out, and what depends on a type."""
    fields = walk.target.param_structs[struct]
    if isinstance(value, nodes.Brace) and value.type is None:
        _struct(walk, struct, value.args)
    args = arguments_of(walk, struct, value)
    if args is None:
        return
    for field, facts in list(fields.items())[len(args) :]:
        if facts.get("default") == 0:
            _field_of(walk, struct, field, facts, value, 0)
    constants = constants_of(walk, struct, value) or {}
    size = next((s for kind in matched.kinds if (s := size_of(kind))), 0)
    if size:
        _of_elements(walk, struct, constants, size, value)
    if constants.get("repeatTimes") == 1:
        for field, facts in fields.items():
            if "repeatTimes is 1" in facts.get("note", ""):
                what = f"{struct}.{field} where repeatTimes is 1"
                _in_range(walk, value, constants.get(field, 0), what, 0, 0)


def _of_elements(
    walk: Context, struct: str, constants: Mapping[str, int], size: int, value: Expr
) -> None:
    if struct == "DataCopyPadExtParams":
        most = walk.target.limits["block_bytes"] // size
        for field in ("leftPadding", "rightPadding"):
            _in_range(walk, value, constants.get(field, 0), f"{struct}.{field}", 0, most)
        if size == 8:
            name = f"{struct}.paddingValue of elements of 8 bytes"
            _in_range(walk, value, constants.get("paddingValue", 0), name, 0, 0)
    elif struct == "DataCopyExtParams" and constants.get("blockLen", 0) % size:
        walk.report(
            "immediate-range",
            value.at,
            value.end,
            f"{struct}.blockLen is {constants['blockLen']} bytes, elements are of {size}",
            f"make it a multiple of {size}",
        )


def _brace(walk: Context, found: nodes.Brace) -> None:
    if found.type is not None:
        name = found.type.name.removeprefix("AscendC::")
        if name in walk.target.param_structs:
            _struct(walk, name, found.args)


def _declaration(walk: Context, found: nodes.Declaration) -> None:
    for item in found.items:
        name = item.type.name.removeprefix("AscendC::")
        if name in walk.target.param_structs and item.style in ("{", "(") and not item.dims:
            _struct(walk, name, item.init)


def _struct(walk: Context, name: str, args: list[Expr]) -> None:
    fields = walk.target.param_structs[name]
    for (field, facts), value in zip(fields.items(), args, strict=False):
        _field(walk, name, field, facts, value)


def _field(walk: Context, name: str, field: str, facts: Mapping[str, Any], value: Expr) -> None:
    known = walk.fold(value)
    if isinstance(known, int):
        _field_of(walk, name, field, facts, value, known)


def _field_of(
    walk: Context, name: str, field: str, facts: Mapping[str, Any], value: Expr, known: int
) -> None:
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
        low, high = facts["range"]
        if field in _WRITTEN or f"{name}.{field}" in _WRITTEN:
            low = max(low, 1)
        _in_range(walk, value, known, f"{name}.{field} ({facts['unit']})", low, high)


def _assigned(walk: Context, found: nodes.Binary) -> None:
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
    values=True,
)
