"""Generated programs: their Tensor IR, interpreted, does what torch does with their text.

By default a fixed slice runs; ``tox -e fuzz`` tries two thousand new programs.
"""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import strategies as st

from tests.differential.compare import Report, check_front_end
from tests.differential.generate import KINDS, write
from tests.ops.programs import Drawn, Seeded

MANY = 2000  # programs of one long run
ENOUGH = 100  # of them that use a kind of statement
REFUSED = 0.1  # of them that may be refused
LONG = hypothesis.settings.get_current_profile_name() == "fuzz"


def test_programs_of_fixed_seeds() -> None:
    report = Report()
    for seed in range(40):
        check_front_end(write(Seeded(seed), f"k{seed}"), report)
    print(report)
    assert not report.wrong, report.wrong[0]
    assert report.refused.total() <= REFUSED * report.programs


@pytest.mark.property
@hypothesis.given(data=st.data())
def test_new_programs(data: st.DataObject) -> None:
    """Small ones, which hypothesis makes smaller still."""
    report = Report()
    check_front_end(write(Drawn(data), "k", 6), report, calls=2)
    assert not report.wrong, report.wrong[0]


if LONG:

    @pytest.mark.property
    def test_two_thousand_programs(testrun_uid: str, capsys: pytest.CaptureFixture[str]) -> None:
        """The same programs as those that ``test_compiled`` runs; the counts are printed."""
        first = int(testrun_uid, 16) % 2**40
        report = Report()
        for seed in range(first, first + MANY):
            check_front_end(write(Seeded(seed), f"k{seed}"), report)
        with capsys.disabled():
            print(f"\nseeds from {first}: {report}")
        assert not report.wrong, report.wrong[0]
        assert report.refused.total() <= REFUSED * report.programs
        rare = {kind: report.kinds[kind] for kind in KINDS if report.kinds[kind] < ENOUGH}
        assert not rare
