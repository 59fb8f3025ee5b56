"""The page of the operations is the registry."""

from __future__ import annotations

from pathlib import Path

from pypto.ops import registry
from pypto.ops.document import operations_page

PAGE = Path(__file__).parent.parent.parent / "docs" / "operations.md"


def test_page() -> None:
    assert PAGE.read_text(encoding="utf-8") == operations_page(), (
        "write it anew: python -m pypto.ops.document > docs/operations.md"
    )


def test_every_operation_is_on_it() -> None:
    page = operations_page()
    assert [n for n in registry.names() if f"### {n}\n" not in page] == []
