"""Options are process-wide state: every test starts and ends with the defaults."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pypto._options import api, check, passes, state


@pytest.fixture(autouse=True)
def _defaults(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("PYPTO_RUN_MODE", raising=False)
    monkeypatch.setattr(check, "_warned", set())
    monkeypatch.setattr(api, "_globals", {})
    monkeypatch.setattr(passes, "_defaults", {})
    monkeypatch.setattr(passes, "_single", {})
    monkeypatch.setattr(passes, "_warned", False)
    state.environment_run_mode.cache_clear()
    state.reset()
    yield
    state.environment_run_mode.cache_clear()
    state.reset()
