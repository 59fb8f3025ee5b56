"""Fixtures of the twin's tests."""

from __future__ import annotations

import pytest

from .harness import Harness


@pytest.fixture(scope="session")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Harness:
    """The harness of this test run; parallel workers share its directory."""
    base = tmp_path_factory.getbasetemp()
    root = (base.parent if base.name.startswith("popen-") else base) / "twin"
    root.mkdir(exist_ok=True)
    return Harness(root)
