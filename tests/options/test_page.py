"""The page of the documentation is the table."""

from __future__ import annotations

from pathlib import Path

from pypto._options.document import options_page

PAGE = Path(__file__).parents[2] / "docs" / "options.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == options_page(), (
        "write it anew: python -m pypto._options.document > docs/options.md"
    )
