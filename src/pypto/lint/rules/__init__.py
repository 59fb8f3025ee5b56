"""The rules, a module for each subject."""

from __future__ import annotations

from pypto.lint.rule import Rule, RuleSet
from pypto.lint.rules import (
    banned,
    buffers,
    cross,
    entry,
    flags,
    immediates,
    instructions,
    life,
    names,
    offsets,
    operands,
    sync,
    views,
)

__all__ = ["GROUPS", "OWN", "RULES"]

OWN = (
    Rule(
        "unreadable",
        "text that the linter cannot read",
        "what it cannot read it cannot check; kernels keep to a plain part of C++",
    ),
    Rule(
        "unknown-rule",
        "comments that switch off a rule that does not exist",
        "such a comment does nothing, and nobody would notice",
    ),
)
"""Rules about the text itself, which no module checks."""

GROUPS: tuple[RuleSet, ...] = (
    entry.RULES,
    sync.RULES,
    life.RULES,
    flags.RULES,
    cross.RULES,
    buffers.RULES,
    views.RULES,
    offsets.RULES,
    instructions.RULES,
    immediates.RULES,
    operands.RULES,
    names.RULES,
    banned.RULES,
)

RULES: dict[str, Rule] = {
    rule.id: rule for rules in (OWN, *(group.rules for group in GROUPS)) for rule in rules
}
"""Every rule by its id, in the order of the documentation."""
