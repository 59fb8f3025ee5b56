"""Misspelled names: which name is suggested."""

from __future__ import annotations

import pytest

from pypto._spelling import nearest
from pypto.elaborate.advice import renamed
from pypto.ops import registry

# What is written, and the operation that is meant.
SLIPS = {
    "exq": "exp",
    "epx": "exp",
    "expp": "exp",
    "exxp": "exp",
    "ex": "exp",
    "sbu": "sub",
    "summ": "sum",
    "tahn": "tanh",
    "dvi": "div",
    "lo": "log",
    "rsqt": "rsqrt",
    "maximun": "maximum",
    "floordiv": "floor_div",
    "logicaland": "logical_and",
    "Exp": "exp",
    "EXP2": "exp2",
    "isNaN": "isnan",
    "softmax2d": "softmax",
}


@pytest.mark.parametrize(("written", "meant"), SLIPS.items(), ids=SLIPS)
def test_the_operation_that_is_meant(written: str, meant: str) -> None:
    assert nearest(written, registry.names()) == meant


@pytest.mark.parametrize("written", ["z", "trace", "mean", "layer_norm", "", "x" * 200])
def test_nothing_is_suggested_for_other_words(written: str) -> None:
    assert nearest(written, registry.names()) is None


def test_a_known_name_is_itself_and_the_first_of_equals_is_taken() -> None:
    assert nearest("add", registry.names()) == "add"
    assert nearest("rox", ["row", "rod"]) == "row"
    assert nearest("NAME", ["name", "Name"]) == "name"
    assert nearest("anything", []) is None


def test_letters_exchanged_are_undone() -> None:
    names = registry.names()
    for name in names:
        for at in range(1, len(name) - 1):
            written = name[:at] + name[at + 1] + name[at] + name[at + 2 :]
            assert nearest(written, names) == (written if written in names else name), written


def test_names_of_torch_and_numpy_are_known() -> None:
    for name, written in {"arctan": "atan(input)", "clamp": "clip(input)", "less": "lt"}.items():
        assert f"pypto.{written}" in (renamed(name) or "")
    assert renamed("exp") is None
