"""Configuration of single passes."""

from __future__ import annotations

import pytest

import pypto
from pypto.error import PassTypeError, PassValueError

KEY = pypto.PassConfigKey.KEY_DUMP_GRAPH


def test_defaults_and_single_passes() -> None:
    assert pypto.get_pass_default_config(KEY, True) is True
    with pytest.warns(pypto.PyptoWarning, match="no effect yet") as caught:
        pypto.set_pass_default_config(KEY, True)
        pypto.set_pass_config("PVC2_OOO", "ExpandFunction", KEY, True)
    assert len(caught) == 1
    pypto.set_pass_default_config(KEY, False)
    assert pypto.get_pass_default_config(KEY, True) is False
    assert pypto.get_pass_config("PVC2_OOO", "ExpandFunction", KEY, False) is True
    assert pypto.get_pass_config("PVC2_OOO", "OtherPass", KEY, True) is False
    configs = pypto.get_pass_configs("PVC2_OOO", "ExpandFunction")
    assert configs.dumpGraph and not configs.disablePass
    with pytest.raises(AttributeError):
        configs.dumpGraph = False  # type: ignore[misc]


def test_errors() -> None:
    with pytest.raises(PassTypeError) as wrong:
        pypto.set_pass_default_config(KEY, 1)  # type: ignore[arg-type]
    assert wrong.value.code == "F00001" and isinstance(wrong.value, TypeError)
    with pytest.raises(PassValueError) as key:
        pypto.set_pass_default_config("KEY_DUMP_GRAPH", True)  # type: ignore[arg-type]
    assert key.value.code == "F00002" and isinstance(key.value, ValueError)
    assert isinstance(key.value, pypto.error.PassError)
    with pytest.raises(PassTypeError, match="strategy and identifier are names"):
        pypto.get_pass_configs("PVC2_OOO", 3)  # type: ignore[arg-type]
