"""Results as tables for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.measure import Outcome, Result

__all__ = ["as_json", "show_machine", "show_outcomes", "show_result"]


def show_machine(console: Console, machine: Mapping[str, str]) -> None:
    facts = "; ".join(f"{name} {value}" for name, value in machine.items())
    console.print(facts, style="dim", soft_wrap=True)


def show_result(console: Console, result: Result) -> None:
    """One table: median and best wall time, CPU time, ratio to the reference, rate."""
    table = Table(title=f"{result.name}: {result.title}", title_justify="left")
    table.add_column("contender")
    for heading in ("median", "best", "CPU", "ratio", *(["GB/s"] if result.traffic else [])):
        table.add_column(heading, justify="right")
    reference = result.timings[result.reference]
    for name, timing in result.timings.items():
        row = [
            f"{name} (limit)" if name in result.limits else name,
            _seconds(timing.median),
            _seconds(timing.best),
            _seconds(timing.work),
            f"{timing.ratio(reference):.2f}",
        ]
        if result.traffic:
            row.append(f"{result.traffic / timing.median / 1e9:.1f}")
        style = "bold" if name.startswith("pypto") else "dim" if name in result.limits else ""
        table.add_row(*row, style=style)
    console.print(table)


def show_outcomes(console: Console, results: Sequence[Result]) -> None:
    """All goals with what came out."""
    table = Table(title="goals", title_justify="left")
    for heading in ("case", "goal", "measured", ""):
        table.add_column(heading)
    for result in results:
        for outcome in result.outcomes:
            reached = "[green]reached[/]" if outcome.reached else "[bold red]missed[/]"
            table.add_row(result.name, str(outcome.goal), _measured(outcome), reached)
    if table.row_count:
        console.print(table)


def _measured(outcome: Outcome) -> str:
    return _seconds(outcome.value) if outcome.goal.against is None else f"{outcome.value:.2f} x"


def _seconds(value: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def as_json(machine: Mapping[str, str], results: Sequence[Result]) -> dict[str, Any]:
    """Everything measured, in seconds; goals with their bounds."""
    return {
        "machine": dict(machine),
        "cases": [
            {
                "name": result.name,
                "title": result.title,
                "reference": result.reference,
                "traffic_bytes": result.traffic,
                "contenders": [
                    {
                        "name": name,
                        "limit": name in result.limits,
                        "median": timing.median,
                        "best": timing.best,
                        "ratio": timing.ratio(result.timings[result.reference]),
                        "wall": list(timing.wall),
                        "cpu": list(timing.cpu),
                    }
                    for name, timing in result.timings.items()
                ],
                "goals": [
                    {
                        "contender": outcome.goal.contender,
                        "against": outcome.goal.against,
                        "bound": outcome.goal.bound,
                        "measured": outcome.value,
                        "reached": outcome.reached,
                    }
                    for outcome in result.outcomes
                ],
            }
            for result in results
        ],
    }
