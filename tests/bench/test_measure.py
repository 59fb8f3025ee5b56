"""The arithmetic of the benchmarks: medians, ratios of the same round, goals, and their report."""

from __future__ import annotations

import itertools
from collections import Counter

from rich.console import Console

from bench.measure import Contender, Goal, Outcome, Result, Timing, compare, judge
from bench.report import as_json, show_outcomes, show_result

FAST = Timing((1.0, 2.0, 4.0), (1.0, 3.0, 4.0))
SLOW = Timing((2.0, 2.0, 16.0), (2.0, 2.0, 16.0))


def test_ratio_pairs_rounds() -> None:
    assert SLOW.ratio(FAST) == 2.0  # the median of 2, 1 and 4; of the medians it would be 1
    assert (SLOW.median, SLOW.best) == (2.0, 2.0)


def test_goals() -> None:
    goals = (
        Goal("slow", 2.0, "fast"),
        Goal("slow", 1.9, "fast"),
        Goal("fast", 2.0),
        Goal("fast", 1.0, "not timed"),
    )
    outcomes = judge(goals, {"fast": FAST, "slow": SLOW})
    assert [(outcome.value, outcome.reached) for outcome in outcomes] == [
        (2.0, True),
        (2.0, False),
        (2.0, True),
    ]


def test_contenders_take_turns() -> None:
    calls: list[str] = []

    def contender(name: str) -> Contender:
        def run() -> None:
            calls.append(name)

        def check() -> None:
            assert calls.pop() == name  # the untimed call came first

        return Contender(name, run, check, calls=10)

    timings = compare([contender("a"), contender("b")], rounds=4)
    assert set(Counter(calls)) == {"a", "b"}
    assert {name: len(timing.wall) for name, timing in timings.items()} == {"a": 4, "b": 4}
    changes = sum(one != other for one, other in itertools.pairwise(calls))
    # a b | b a | a b | b a after the two calls that find the number of repeats
    assert changes == 1 + 1 + 4


def _result() -> Result:
    outcomes = (Outcome(Goal("slow", 1.5, "fast"), 2.0), Outcome(Goal("fast", 5.0), 2.0))
    timings = {"fast": FAST, "slow": SLOW}
    return Result("case", "title", "fast", timings, frozenset({"slow"}), 10**9, outcomes)


def test_tables() -> None:
    console = Console(width=100)
    with console.capture() as captured:
        show_result(console, _result())
        show_outcomes(console, [_result()])
    text = captured.get()
    rows = {cells[0]: cells[1:] for cells in _cells(text)}
    assert rows["fast"] == ["2 s", "1 s", "3 s", "1.00", "0.5"]
    assert rows["slow (limit)"] == ["2 s", "2 s", "2 s", "2.00", "0.5"]
    assert ["case", "slow <= 1.5 x fast", "2.00 x", "missed"] in _cells(text)
    assert ["case", "fast <= 5 s", "2 s", "reached"] in _cells(text)


def _cells(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]


def test_json() -> None:
    written = as_json({"cores": "2"}, [_result()])
    case = written["cases"][0]
    assert written["machine"] == {"cores": "2"}
    assert [c["ratio"] for c in case["contenders"]] == [1.0, 2.0]
    assert [goal["reached"] for goal in case["goals"]] == [False, True]
