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

CHANGING = {
    "a = [0]": ["a.append(1)", "a[0] = 1", "a[0] += 1", "a += [1]", "a *= 2", "del a[0]",
                "a.sort()", "change(a)", "(lambda: a.pop())()", "[a.append(j) for j in range(2)]"],
    "a = {1: 0}": ["a[1] = 2", "a |= {2: 3}", "a.update({1: 3})", "del a[1]", "a[1] += 1"],
    "a = {1}": ["a.add(2)", "a |= {3}"],
    "a = State(0)": ["a.n = 1", "a.n += 1", "a.grow()"],
    "a = ([0], 1)": ["a[0].append(1)"],
    "a = {'k': State([0])}": ["a['k'].n.append(1)", "a['k'].n = 2"],
    "b = [0]; a = lambda: b.append(1)": ["a()"],
    "b = [0]; a = b.append": ["a(1)"],
    "a = iter([1, 2])": ["next(a)", "list(a)", "for v in a: pass"],
}  # fmt: skip


@pytest.mark.parametrize("made", CHANGING)
def test_a_change_inside_a_loop_is_refused(shop: Workshop, made: str) -> None:
    for line in CHANGING[made]:
        text = OUTSIDE + body(made, "for i in pypto.loop(4):", f"    {line}", "o[:] = x")
        (diagnostic,) = shop.error(text).diagnostics
        assert diagnostic.message.endswith(
            "made outside of a run-time loop or branch cannot be changed inside"
        )
        assert diagnostic.span is not None
        shop.ir(OUTSIDE + body(made, "for i in range(2):", "    pass", line, "o[:] = x"))


def test_what_is_made_inside_may_change(shop: Workshop) -> None:
    lines = (
        "for i in pypto.loop(4):", "    a = [x]", "    a.append(x + i)", "    s = State(0)",
        "    s.grow()", "    o[:] = a[1] * s.n",
        "a = [1]", "a.append(2)", "o[:] = o + len(a)",
    )  # fmt: skip
    assert " mul " in shop.ir(OUTSIDE + body(*lines))
