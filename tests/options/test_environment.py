"""``PYPTO_RUN_MODE``."""

from __future__ import annotations

import pytest

import pypto
from pypto import _options
from pypto._options.state import environment_run_mode
from pypto.error import FeValueError


@pytest.mark.parametrize(
    ("text", "mode"),
    [("sim", pypto.RunMode.SIM), ("NPU", pypto.RunMode.NPU), (" Sim ", pypto.RunMode.SIM)],
)
def test_it_wins_over_everything(
    text: str, mode: pypto.RunMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYPTO_RUN_MODE", text)
    other = pypto.RunMode(1 - mode)
    pypto.set_runtime_options(run_mode=other)
    assert _options.resolve({"runtime_options": {"run_mode": other}}).run_mode is mode


def test_it_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYPTO_RUN_MODE", "sim")
    assert environment_run_mode() is pypto.RunMode.SIM
    monkeypatch.setenv("PYPTO_RUN_MODE", "npu")
    assert _options.resolve().run_mode is pypto.RunMode.SIM


@pytest.mark.parametrize("text", [None, "", "  "])
def test_nothing_said(text: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if text is not None:
        monkeypatch.setenv("PYPTO_RUN_MODE", text)
    assert _options.resolve().run_mode is None
    assert _options.resolve({"runtime_options": {"run_mode": 1}}).run_mode is pypto.RunMode.SIM


@pytest.mark.parametrize("text", ["cpu", "1", "simulator"])
def test_garbage_is_one_clear_error(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYPTO_RUN_MODE", text)
    for _ in range(2):
        with pytest.raises(FeValueError) as caught:
            _options.resolve()
        assert str(caught.value) == (
            "ErrCode: F00002  the environment variable PYPTO_RUN_MODE has an unknown value\n"
            f"  expected  sim or npu\n  got       {text!r}"
        )
