"""``python -m tests.mutation``: looks at all mutants and writes to docs/twin.md what came of it."""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.twin.harness import Harness

from .corpus import RANDOM, golden, random_kernel
from .examine import ORDERS, Kernel, Verdict, compiled, examine
from .handwritten import handwritten

_PAGE = Path(__file__).parents[2] / "docs" / "twin.md"
_PART = re.compile(r"(<!-- mutation: begin -->\n).*(<!-- mutation: end -->\n)", re.DOTALL)


def kernels(root: Path) -> Iterator[Kernel]:
    yield from compiled(golden())
    for first in RANDOM[::10]:
        yield from compiled([random_kernel(seed) for seed in range(first, first + 10)])
    yield from handwritten(Harness(root))


def page(verdicts: Iterable[Verdict], number: int) -> str:
    """Counts by kind of synchronisation, what was missed, and what nothing depends on."""
    counts: dict[str, Counter[str]] = {}
    missed, redundant = [], []
    for verdict in verdicts:
        count = counts.setdefault(_kind(verdict), Counter())
        count["mutants"] += 1
        count["orders"] += verdict.changed is not None
        count["matter"] += verdict.matters
        count["reported"] += verdict.matters and bool(verdict.rules)
        count["more"] += not verdict.matters and bool(verdict.rules)
        if verdict.matters and not verdict.rules:
            missed.append(f"* `{verdict.kernel}`: {verdict.site}")
        elif not verdict.matters and not verdict.rules:
            redundant.append((verdict.kernel, verdict.site))
    total: Counter[str] = Counter()
    rows = []
    for kind in sorted(counts):
        total.update(counts[kind])
        rows.append(_row(kind, counts[kind]))
    share = 100 * total["reported"] / total["matter"]
    lines = [
        f"{number} kernels, {total['mutants']} mutants, seeds 0 to {ORDERS - 1}; of those that "
        f"matter {share:.1f} % are reported.",
        "",
        "| taken away | mutants | numbers change | matter | reported | reported without that |",
        "|---|---|---|---|---|---|",
        *rows,
        _row("all", total),
        "",
        "Missed: " + ("none." if not missed else ""),
        *(["", *missed] if missed else []),
        "",
        "Nothing depends on these, in the calls that were made:",
        "",
        *_grouped(redundant),
    ]
    return "\n".join(lines) + "\n"


def _kind(verdict: Verdict) -> str:
    kind = verdict.site.kind
    direction, _, position = kind.partition(" ")
    return f"order of a queue, {direction}" if position else f"`{kind}`"


def _row(kind: str, count: Counter[str]) -> str:
    cells = (count[name] for name in ("mutants", "orders", "matter", "reported", "more"))
    return f"| {kind} | " + " | ".join(map(str, cells)) + " |"


def _grouped(redundant: Iterable[tuple[str, object]]) -> list[str]:
    by_kernel: dict[str, list[str]] = {}
    for kernel, site in redundant:
        by_kernel.setdefault(kernel, []).append(str(site))
    return [f"* `{kernel}`: {'; '.join(sites)}" for kernel, sites in by_kernel.items()]


def main() -> int:
    verdicts: list[Verdict] = []
    number = 0
    with tempfile.TemporaryDirectory() as root:
        for kernel in kernels(Path(root)):
            number += 1
            verdicts += examine(kernel)
            print(kernel.mutants.name, len(verdicts), flush=True)
    text = _PAGE.read_text(encoding="utf-8")
    changed = _PART.sub(lambda match: match[1] + page(verdicts, number) + match[2], text)
    assert changed != text or page(verdicts, number) in text
    _PAGE.write_text(changed, encoding="utf-8")
    return int(any(verdict.matters and not verdict.rules for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main())
