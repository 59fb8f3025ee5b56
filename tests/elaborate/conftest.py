"""The workshop that makes kernels of source text."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.elaborate.support import Workshop


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)
