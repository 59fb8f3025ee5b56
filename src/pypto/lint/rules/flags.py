"""Which ids of flags a kernel may use."""

from __future__ import annotations

from pypto.lint import nodes
from pypto.lint.calls import reached
from pypto.lint.context import Context
from pypto.lint.nodes import Declaration, Expr, Function
from pypto.lint.rule import Rule, RuleSet
from pypto.lint.scope import canonical
from pypto.lint.site import FlagUse

__all__ = ["RULES"]

_RULES = (
    Rule(
        "sync-flag-id",
        "constant ids of flags that a kernel may not use",
        "there are ids 0 to 7; in a kernel without a TPipe 6 and 7 are not its own",
    ),
)

_MOST = 7
_MOST_WITHOUT_PIPE = 5


def _call(walk: Context, found: nodes.Call) -> None:
    callee = found.callee
    if not isinstance(callee, nodes.Name | nodes.Member) or not found.args:
        return
    if callee.name not in ("SetFlag", "WaitFlag") or walk.function is None:
        return
    value = found.args[0]
    while isinstance(value, nodes.Cast):
        value = value.operand
    number = walk.fold(value)
    if not isinstance(number, int):
        return
    if not 0 <= number <= _MOST:
        _report(walk, value, number, _MOST, ())
    elif number > _MOST_WITHOUT_PIPE:
        walk.flags.append(FlagUse(walk.function, value, number, walk.where()))


def _report(walk: Context, value: Expr, number: int, most: int, notes: tuple[str, ...]) -> None:
    walk.report(
        "sync-flag-id",
        value.at,
        value.end,
        f"a kernel may not use flag {number}",
        f"use an id from 0 to {most}, or one that TPipe gives: FetchEventID",
        notes,
    )


def _done(walk: Context) -> None:
    reported: set[int] = set()
    for kernel in walk.file.functions:
        if "__global__" not in kernel.marks:
            continue
        functions = reached(walk.facts, kernel)
        if any(_has_pipe(walk, made) for made in functions):
            continue
        for one in walk.flags:
            if one.function in functions and one.value.at not in reported:
                reported.add(one.value.at)
                _report(walk, one.value, one.number, _MOST_WITHOUT_PIPE, one.notes)


def _has_pipe(walk: Context, made: Function) -> bool:
    """Whether ``made`` makes a TPipe, or is a method of a class that holds one."""
    if walk.facts[made].pipes:
        return True
    owner = walk.file.classes.get(made.owner)
    held = [] if owner is None else owner.fields
    return any(_is_pipe(one) for one in (*held, *walk.file.globals))


def _is_pipe(found: Declaration) -> bool:
    return any(
        canonical(item.type.name) == "TPipe" and not (item.type.pointers or item.type.reference)
        for item in found.items
    )


RULES = RuleSet(_RULES, {nodes.Call: _call}, None, None, _done, values=True)
