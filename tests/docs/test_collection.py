"""The test command runs all tests."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent


def test_no_directory_of_tests_is_left_out(pytestconfig: pytest.Config) -> None:
    skipped = pytestconfig.getini("norecursedirs")
    names = {p.name for f in TESTS.rglob("test_*.py") for p in f.relative_to(TESTS).parents}
    assert {"build", "passes"} <= names
    assert [n for n in names if any(fnmatch(n, pattern) for pattern in skipped)] == []
