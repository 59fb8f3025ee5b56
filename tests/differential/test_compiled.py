"""Generated programs: compiled kernels do what torch does with their text, on two twins.

Many programs share a C++ compilation. By default a fixed slice runs; ``tox -e fuzz`` runs two
thousand new programs on the fast twin and on the checked one.
"""

from __future__ import annotations

import pytest

from tests.differential.compare import Report, check_compiled
from tests.differential.generate import write
from tests.differential.test_front_end import LONG, MANY, REFUSED
from tests.ops.programs import Seeded

TOGETHER = 25  # programs of one compilation
TWINS = ("fast", "checked")


def run(first: int, count: int, kind: str) -> Report:
    report = Report()
    programs = (write(Seeded(seed), f"k{seed}") for seed in range(first, first + count))
    check_compiled(programs, report, kind)
    print(f"seeds from {first}: {report}")
    assert not report.wrong, report.wrong[0]
    return report


@pytest.mark.parametrize("kind", TWINS)
def test_programs_of_fixed_seeds(kind: str) -> None:
    report = run(0, 16, kind)
    assert report.refused.total() <= REFUSED * report.programs


if LONG:

    @pytest.mark.property
    @pytest.mark.parametrize("kind", TWINS)
    @pytest.mark.parametrize("part", range(MANY // TOGETHER))
    def test_two_thousand_programs(testrun_uid: str, part: int, kind: str) -> None:
        run(int(testrun_uid, 16) % 2**40 + part * TOGETHER, TOGETHER, kind)
