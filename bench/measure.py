"""Timing: contenders take turns in one process, and ratios are taken within a round.

On a shared machine absolute times drift; two calls of the same round drift together. So the figure
to trust is the median, over all rounds, of the ratio of two contenders in the same round.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Contender", "Goal", "Outcome", "Result", "Timing", "compare", "judge"]

_SHORTEST = 2e-3
"""Seconds that one turn lasts at least; short calls are repeated within a turn."""


@dataclass(frozen=True, slots=True)
class Contender:
    """``run`` does the work once, or ``calls`` times; ``check`` raises if its result is wrong.

    ``limit`` marks what the machine can do at best (a hand-written loop), rather than a rival.
    """

    name: str
    run: Callable[[], object]
    check: Callable[[], None] | None = None
    calls: int = 1
    limit: bool = False


@dataclass(frozen=True, slots=True)
class Goal:
    """What ``contender`` shall reach: at most ``bound`` times ``against``'s time, or at most
    ``bound`` seconds where ``against`` is None."""

    contender: str
    bound: float
    against: str | None = None

    def __str__(self) -> str:
        if self.against is None:
            return f"{self.contender} <= {self.bound:g} s"
        return f"{self.contender} <= {self.bound:g} x {self.against}"


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds per call of one contender in each round: wall time and CPU time of the process."""

    wall: tuple[float, ...]
    cpu: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.wall)

    @property
    def best(self) -> float:
        return min(self.wall)

    @property
    def work(self) -> float:
        """Median CPU seconds per call, over all threads: what other load disturbs least."""
        return statistics.median(self.cpu)

    def ratio(self, other: Timing) -> float:
        """Median of the ratios of wall times to ``other``'s in the same round."""
        return statistics.median(a / b for a, b in zip(self.wall, other.wall, strict=False))


@dataclass(frozen=True, slots=True)
class Outcome:
    """A goal and what came out: a ratio, or seconds."""

    goal: Goal
    value: float

    @property
    def reached(self) -> bool:
        return self.value <= self.goal.bound


@dataclass(frozen=True, slots=True)
class Result:
    """One case: timings by contender, in order, with the reference that ratios are shown to.

    ``traffic``: bytes that the work must move at least, for rates; 0: no rate is shown.
    """

    name: str
    title: str
    reference: str
    timings: Mapping[str, Timing]
    limits: frozenset[str] = frozenset()
    traffic: int = 0
    outcomes: tuple[Outcome, ...] = ()


def compare(contenders: Sequence[Contender], rounds: int) -> dict[str, Timing]:
    """Run all ``contenders`` in turn, ``rounds`` times, after an untimed call and its check.

    The order turns by one place from round to round, so that nobody always follows the same.
    """
    repeats: dict[str, int] = {}
    for contender in contenders:
        contender.run()
        if contender.check is not None:
            contender.check()
        repeats[contender.name] = _repeats(contender)
    wall: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    cpu: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    for number in range(rounds):
        shift = number % len(contenders)
        for contender in (*contenders[shift:], *contenders[:shift]):
            count = repeats[contender.name]
            run = contender.run
            started, used = time.perf_counter(), time.process_time()
            for _ in range(count):
                run()
            seconds, work = time.perf_counter() - started, time.process_time() - used
            wall[contender.name].append(seconds / (count * contender.calls))
            cpu[contender.name].append(work / (count * contender.calls))
    return {name: Timing(tuple(wall[name]), tuple(cpu[name])) for name in wall}


def _repeats(contender: Contender) -> int:
    started = time.perf_counter()
    contender.run()
    return max(1, round(_SHORTEST / max(time.perf_counter() - started, 1e-9)))


def judge(goals: Sequence[Goal], timings: Mapping[str, Timing]) -> tuple[Outcome, ...]:
    """The outcome of every goal whose contenders were timed."""
    outcomes = []
    for goal in goals:
        if goal.contender not in timings or (goal.against and goal.against not in timings):
            continue
        timing = timings[goal.contender]
        value = timing.ratio(timings[goal.against]) if goal.against else timing.median
        outcomes.append(Outcome(goal, value))
    return tuple(outcomes)
