"""What a rule is, and what it reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pypto._record import Record

if TYPE_CHECKING:
    from pypto.lint.context import Context

__all__ = ["Finding", "Handler", "Rule", "RuleSet"]

Handler = Callable[["Context", Any], None]


class Rule(Record):
    """``id`` is stable. ``what``: what it refuses, one line; ``why``: the reason, one sentence."""

    id: str
    what: str
    why: str


class RuleSet(Record, eq=False):
    """Rules that one module checks.

    ``on``: what to call for each node of a type; ``functions``, ``classes``, ``done``: for each
    function and class before its body, and for the text when all of it has been seen.
    """

    rules: tuple[Rule, ...]
    on: Mapping[type, Handler]
    function: Handler | None = None
    class_: Handler | None = None
    done: Callable[[Context], None] | None = None
    values: bool = False


class Finding(Record):
    """One broken rule. ``at`` and ``end`` are words; ``help`` is the remedy."""

    rule: str
    at: int
    end: int
    message: str
    help: str
    notes: tuple[str, ...] = ()
