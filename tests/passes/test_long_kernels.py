"""What is compared and proved grows as a kernel does: counted, for kernels of several kinds."""

from __future__ import annotations

import pytest

from bench.compile_times import kernel_of
from pypto import passes, target
from pypto._options import Options
from pypto.elaborate import KernelSource, elaborate
from pypto.elaborate.annotations import signature_of
from pypto.ir.ranges import Ranges
from pypto.passes.touches import Scope

LENGTHS = (20, 40, 80)
KINDS = ("slices", "in_place", "loops", "nested", "branches", "stored_branches", "unrolled")


@pytest.mark.parametrize("kind", KINDS)
def test_comparisons_and_proofs(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"meet": 0, "_lower": 0}
    for owner, name in ((Scope, "meet"), (Ranges, "_lower")):
        _count(monkeypatch, owner, name, counts)
    seen: list[int] = []
    for length in LENGTHS:
        counts.update(meet=0, _lower=0)
        function = kernel_of(kind, length)
        signature = signature_of(function)
        kernel = elaborate(KernelSource.capture(function), signature, Options(), {}).kernel
        passes.lower(kernel, signature.alias, target.get())
        seen.append(sum(counts.values()))
    small, middle, large = seen
    # Twice for linear work, four times for quadratic work.
    assert large - middle <= 2.4 * max(middle - small, 20), seen


def _count(patch: pytest.MonkeyPatch, owner: type, name: str, counts: dict[str, int]) -> None:
    run = getattr(owner, name)

    def counted(*args: object) -> object:
        counts[name] += 1
        return run(*args)

    patch.setattr(owner, name, counted)
