"""Every rule: a text that breaks it, with its whole message, and one that does not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pypto.lint import RULES
from tests.lint.examples import EXAMPLES
from tests.lint.support import found, shown

SOUND = [
    pytest.param(rule, sound, id=f"{rule}-{number}")
    for rule, pairs in EXAMPLES.items()
    for number, (_, sound) in enumerate(pairs)
]


def test_every_rule_has_an_example() -> None:
    assert set(EXAMPLES) == set(RULES)


@pytest.mark.parametrize("rule", EXAMPLES)
def test_broken(rule: str, golden: Callable[[str, str], None]) -> None:
    texts = [broken for broken, _ in EXAMPLES[rule]]
    assert all(rule in found(text) for text in texts), [found(text) for text in texts]
    golden(f"lint/{rule}", "\n\n".join(shown(text) for text in texts))


@pytest.mark.parametrize(("rule", "text"), SOUND)
def test_sound(rule: str, text: str) -> None:
    assert shown(text) == "", rule
