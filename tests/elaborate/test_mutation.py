"""Compile-time objects from outside stay as they are inside a run-time loop."""

from __future__ import annotations

import pytest

from tests.elaborate.support import Workshop, body

OUTSIDE = """
import dataclasses
@dataclasses.dataclass
class State:
    n: object
    def grow(self): self.n = 3
def change(items): items.append(1)
"""

PLACES = "the run-time loop changes which items"
OUTSIDE_ONLY = "made outside of a run-time loop or branch cannot be changed inside"

CHANGING = {
    "a = [0]": ["a.append(1)", "a += [1]", "a *= 2", "del a[0]", "change(a)", "(lambda: a.pop())()",
                "[a.append(j) for j in range(2)]"],
    "a = {1: 0}": ["a[2] = 2", "a |= {2: 3}", "a.update({2: 3})", "del a[1]", "a.clear()"],
    "a = {1}": ["a.add(2)", "a |= {3}"],
    "a = ([0], 1)": ["a[0].append(1)"],
    "a = {'k': State([0])}": ["a['k'].n.append(1)"],
    "b = [0]; a = lambda: b.append(1)": ["a()"],
    "b = [0]; a = b.append": ["a(1)"],
    "a = iter([1, 2])": ["next(a)", "list(a)", "for v in a: pass"],
}  # fmt: skip

KEEPING = {
    "a = [0]": ["a[0] = 1", "a[0] += 1", "a.sort()", "a.append(1); a.pop()"],
    "a = {1: 0}": ["a[1] = 2", "a[1] += 1", "a.update({1: 3})"],
    "a = State(0)": ["a.n = 1", "a.n += 1", "a.grow()"],
    "a = {'k': State([0])}": ["a['k'].n = [2]", "a['k'].n[0] = 2", "a['k'] = State([1])"],
}


@pytest.mark.parametrize("made", CHANGING)
def test_a_loop_that_changes_which_items_there_are_is_refused(shop: Workshop, made: str) -> None:
    for line in CHANGING[made]:
        text = OUTSIDE + body(made, "for i in pypto.loop(4):", f"    {line}", "o[:] = x")
        (diagnostic,) = shop.error(text).diagnostics
        message = diagnostic.message
        assert message.startswith(PLACES) or message.endswith(OUTSIDE_ONLY)
        assert diagnostic.span is not None
        shop.ir(OUTSIDE + body(made, "for i in range(2):", "    pass", line, "o[:] = x"))


@pytest.mark.parametrize("made", KEEPING)
def test_a_loop_changes_what_places_hold(shop: Workshop, made: str) -> None:
    for line in KEEPING[made]:
        lines = (made, "for i in pypto.loop(4):", f"    {line}", "o[:] = x")
        assert "for i in 0 : 4" in shop.ir(OUTSIDE + body(*lines))


def test_what_is_made_inside_may_change(shop: Workshop) -> None:
    lines = (
        "for i in pypto.loop(4):", "    a = [x]", "    a.append(x + i)", "    s = State(0)",
        "    s.grow()", "    o[:] = a[1] * s.n",
        "a = [1]", "a.append(2)", "o[:] = o + len(a)",
    )  # fmt: skip
    assert " mul " in shop.ir(OUTSIDE + body(*lines))
