"""Generated programs: whole, the same each time, and of every kind."""

from __future__ import annotations

from collections import Counter

import hypothesis
import pytest
import torch
from hypothesis import strategies as st

from tests.differential import shim
from tests.differential.compare import copied
from tests.differential.generate import KINDS, write
from tests.ops.programs import Drawn, Seeded


def results(text: str, name: str, values: tuple[object, ...]) -> list[object] | None:
    after = copied(values)
    try:
        shim.run(text, name, after)
    except shim.Undefined:
        return None
    return [a.tolist() if isinstance(a, torch.Tensor) else a for a in after]


@hypothesis.given(data=st.data())
def test_programs_run_and_read_nothing_unwritten(data: st.DataObject) -> None:
    program = write(Drawn(data), "k", 8)
    for values in program.calls(2):
        first = results(program.text, "k", values)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(shim, "UNWRITTEN", (12345.0, 12345))
            second = results(program.text, "k", values)
        assert repr(first) == repr(second), program.text


def test_seeds_decide() -> None:
    first, second, other = (write(Seeded(seed), "k") for seed in (3, 3, 4))
    assert first.text == second.text != other.text
    for a, b in zip(first.arguments(2), second.arguments(2), strict=True):
        assert torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b


def test_every_kind_is_used_often_enough() -> None:
    """Kinds that occur in five of a hundred programs occur in a hundred of two thousand."""
    kinds: Counter[str] = Counter()
    count = 600
    for seed in range(count):
        kinds.update(write(Seeded(seed), "k").kinds.keys())
    assert set(kinds) == set(KINDS)
    rare = {kind: uses for kind, uses in kinds.items() if uses < count * 0.055}
    assert not rare


@pytest.mark.parametrize("number", range(8))
def test_calls_have_sizes_around_the_tiles(number: int) -> None:
    programs = (write(Seeded(seed), "k") for seed in range(99))
    program = next(p for p in programs if "x: pypto.Tensor([N, M]" in p.text)
    x, y, w, g, o, p, *_ = program.arguments(number)
    assert x.shape == y.shape == o.shape and g.shape == p.shape == (x.shape[0], 1)
    assert w.shape == (x.shape[1],) and x.shape[1] > 0
