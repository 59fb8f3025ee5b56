"""``python -m bench [CASE ...] [--rounds N] [--json FILE]``."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys

CASES = {
    "start": ("bench.starts", "start"),
    "call": ("bench.calls", "call"),
    "compile": ("bench.compile_times", "compile_times"),
    "add": ("bench.operators", "add"),
    "gelu": ("bench.operators", "gelu"),
    "softmax": ("bench.operators", "softmax"),
    "tiny": ("bench.operators", "tiny"),
    "transpose": ("bench.movement", "transpose"),
    "concat": ("bench.movement", "concat"),
    "pad": ("bench.movement", "pad"),
    "sum_first": ("bench.reductions", "sum_first"),
    "sum_middle": ("bench.reductions", "sum_middle"),
    "sum_last": ("bench.reductions", "sum_last"),
    "amax_first": ("bench.reductions", "amax_first"),
    "argmax_last": ("bench.reductions", "argmax_last"),
    "softmax_first": ("bench.reductions", "softmax_first"),
    "cumsum_first": ("bench.reductions", "cumsum_first"),
    "cumsum_last": ("bench.reductions", "cumsum_last"),
    "checked": ("bench.checked", "checked"),
}
_ROUNDS = {"start": 5, "call": 31, "compile": 3}


def main() -> int:
    """Run the chosen cases; 0, also where a goal is missed: this measures, it does not judge."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("case", nargs="*", help=f"one of {', '.join(CASES)} (default: all)")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds of each case")
    parser.add_argument("--json", metavar="FILE", help="write everything measured to FILE")
    parsed = parser.parse_args()
    for name in parsed.case:
        if name not in CASES:
            parser.error(f"there is no case '{name}'; there are {', '.join(CASES)}")
    if parsed.rounds is not None and parsed.rounds < 1:
        parser.error("--rounds needs a positive number")

    # Before any library with an OpenMP pool is loaded: waiting threads that spin would take the
    # cores from whoever runs next.
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    from rich.console import Console

    from bench import machine, report

    console = Console(highlight=False)
    facts = machine.describe()
    report.show_machine(console, facts)
    results = []
    for name in parsed.case or CASES:
        module, function = CASES[name]
        case = getattr(importlib.import_module(module), function)
        result = case(parsed.rounds or _ROUNDS.get(name, 11))
        results.append(result)
        report.show_result(console, result)
    report.show_outcomes(console, results)
    if parsed.json:
        with open(parsed.json, "w", encoding="utf-8") as file:
            json.dump(report.as_json(facts, results), file, indent=1)
            file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
