"""The page of the documentation is the rules."""

from __future__ import annotations

from pathlib import Path

from pypto.lint import RULES
from pypto.lint.document import lint_page

PAGE = Path(__file__).parents[2] / "docs" / "lint.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == lint_page(), (
        "write it anew: python -m pypto.lint.document > docs/lint.md"
    )


def test_the_page_has_every_rule_once() -> None:
    page = lint_page()
    assert all(page.count(f"\n| `{rule}` | ") == 1 for rule in RULES)
    assert page.count("\n| `") == len(RULES)
