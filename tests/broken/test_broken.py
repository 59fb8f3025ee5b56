"""Kernels with mistakes of every kind: each is compiled, or refused with a place. None hangs.

By default fixed seeds run; ``tox -e fuzz`` tries twenty thousand new ones.
"""

from __future__ import annotations

import ast

import hypothesis
import pytest

from tests.broken import corpus
from tests.broken.answers import Answers, answer, kernel_of

SLICE = 60
MANY = 20_000
WORKERS = 4
LONG = hypothesis.settings.get_current_profile_name() == "fuzz"


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("last", ["tensor", "ascendc"])
def test_broken_kernels_of_fixed_seeds(last: str) -> None:
    answers = Answers()
    for seed in range(SLICE if last == "tensor" else SLICE // 3):
        answer(seed, answers, last)
    print(answers)
    assert not answers.wrong, answers.wrong[0]
    assert answers.compiled > 5 and answers.refused > 5 and answers.unusable < 2


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_whole_kernels_compile() -> None:
    """Before they are broken, the kernels that show each construct are in order."""
    answers = Answers()
    for kernel in (*corpus.constructs()[: len(corpus.BODIES)], corpus.generated(0)):
        answers.check(kernel, kernel.text, kernel.names[0], "tensor")
    for kernel in corpus.samples():
        for name in kernel.names:
            answers.check(kernel, kernel.text, name, "tensor")
    assert not answers.wrong and not answers.unusable
    assert not answers.refused, answers.messages


def test_seeds_decide_and_changes_differ() -> None:
    texts = [kernel_of(seed)[1] for seed in range(40)]
    assert texts == [kernel_of(seed)[1] for seed in range(40)]
    assert len(set(texts)) == 40
    for seed, text in enumerate(texts):
        ast.parse(text)
        assert text != kernel_of(seed)[0].text


if LONG:

    @pytest.mark.property
    @pytest.mark.filterwarnings("ignore::SyntaxWarning")
    @pytest.mark.parametrize("part", range(WORKERS))
    def test_new_broken_kernels(
        part: int, testrun_uid: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        first = int(testrun_uid, 16) % 2**40 + part * MANY
        answers = Answers()
        for seed in range(first, first + MANY // WORKERS):
            answer(seed, answers, "ascendc" if seed % 4 == 0 else "tensor")
        with capsys.disabled():
            print(f"\nseeds from {first}: {answers}")
        assert not answers.wrong, "\n\n".join(answers.wrong[:5])
