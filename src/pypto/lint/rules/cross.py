"""Flags between cores: who sets one and who waits for it."""

from __future__ import annotations

from pypto.lint.calls import Called
from pypto.lint.context import Context
from pypto.lint.nodes import Function
from pypto.lint.rule import Rule, RuleSet

__all__ = ["RULES"]

_RULES = (
    Rule(
        "sync-unpaired-cross-flag",
        "cross-core flags that a kernel only sets or only waits for",
        "one that is only waited for stops the core; one that is only set counts up to its limit",
    ),
)


def _done(walk: Context) -> None:
    for kernel in walk.file.functions:
        if "__global__" in kernel.marks:
            _pairs(walk, _reached(walk, kernel))


def _reached(walk: Context, kernel: Function) -> list[Called]:
    """All calls that ``kernel`` leads to."""
    calls: list[Called] = []
    seen = {kernel}
    todo = [kernel]
    while todo:
        for one in walk.facts[todo.pop()].calls:
            calls.append(one)
            if one.function is not None and one.function not in seen:
                seen.add(one.function)
                todo.append(one.function)
    return calls


def _pairs(walk: Context, calls: list[Called]) -> None:
    sets: dict[int, Called] = {}
    waits: dict[int, Called] = {}
    for one in calls:
        if one.name in ("CrossCoreSetFlag", "CrossCoreWaitFlag"):
            number = walk.fold(one.node.args[0]) if one.node.args else None
            if not isinstance(number, int):
                return  # which flag it is depends on the run
            (sets if one.name == "CrossCoreSetFlag" else waits).setdefault(number, one)
    for number in sorted(sets.keys() ^ waits.keys()):
        node = (sets.get(number) or waits[number]).node
        what = "sets" if number in sets else "waits for"
        walk.report(
            "sync-unpaired-cross-flag",
            node.at,
            node.end,
            f"the kernel {what} cross-core flag {number} and never "
            + ("waits for it" if number in sets else "sets it"),
            f"write CrossCoreWaitFlag({number}) on the cores that it releases"
            if number in sets
            else f"write CrossCoreSetFlag<mode, pipe>({number}) on the cores that it waits for",
        )


RULES = RuleSet(_RULES, {}, None, None, _done)
