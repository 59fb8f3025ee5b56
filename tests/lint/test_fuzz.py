"""Properties of the reader: it takes any text, and layout means nothing."""

from __future__ import annotations

import functools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypto.lint.tokens import tokenize
from tests.lint.support import KERNELS, found, shown

pytestmark = pytest.mark.property

TEXTS = tuple(path.read_text() for path in sorted(KERNELS.glob("*.cpp")))
MARKS = st.text("(){}<>[];,:*&=+-\"'#.~ \n\\/", max_size=4)


@functools.cache
def starts(text: str) -> list[int]:
    return tokenize(text).starts


@given(st.data())
def test_any_text_is_read(data: st.DataObject) -> None:
    """Words are cut out and marks put in: what is found may be anything, but it is found."""
    text = data.draw(st.sampled_from(TEXTS))
    places = starts(text)
    first = data.draw(st.integers(0, len(places) - 1))
    last = min(len(places) - 1, first + data.draw(st.integers(0, 9)))
    shown(text[: places[first]] + data.draw(MARKS) + text[places[last] :])


@given(st.text())
def test_text_that_is_no_kernel(text: str) -> None:
    shown(text)


@pytest.mark.parametrize(
    "text", ["__mix__()", "extern", "[", "class", "template", "operator", "a::", "~", "x(", "enum"]
)
def test_text_that_ends_early(text: str) -> None:
    shown(text)
    shown(f"class A {{ {text}")


def test_a_very_long_expression() -> None:
    (finding,) = found(f"int a = 0{'+1' * 100_000};")
    assert "unreadable" in finding


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_layout_means_nothing(number: int) -> None:
    """One word a line, and no comments; a broken text so that there is something to find."""
    text = TEXTS[number].replace("int64_t", "int32_t").replace("EnQue", "Enqueue")
    tokens = tokenize(text)
    directives = "\n".join(directive for _, directive in tokens.directives)
    spread = "\n".join([directives, *tokens.words])
    assert found(spread) == found(text)
