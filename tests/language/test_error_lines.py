"""Source lines of errors: long ones are cut to what is around the caret."""

from __future__ import annotations

import pytest

from pypto.error import Diagnostic, FeValueError, SourceText, Span

LONG = "".join(f"{number:05} " for number in range(20000))


def _rendered(lines: tuple[str, ...], line: int, column: int, end: int) -> list[str]:
    span = Span(SourceText("k", "k.py", 1, lines), line, column, line, end)
    return Diagnostic(FeValueError, "F00002", "wrong", span).render().splitlines()


@pytest.mark.parametrize("column", [0, 30, 199, 60_000, 119_990])
def test_a_long_line_is_cut_around_the_caret(column: int) -> None:
    shown = _rendered((LONG,), 1, column, column + 5)
    head, place, text, carets = shown
    assert head == "ErrCode: F00002  wrong" and place == f"  --> k.py:1:{column + 1}"
    assert max(map(len, shown)) <= 220
    start = carets.index("^")
    assert carets[start:] == "^^^^^"
    assert text[start : start + 5] == LONG[column : column + 5]
    assert text.startswith("  1 | ...") == (column > 50)
    assert text.endswith(" ...") == (column < 119_000)


def test_a_range_that_does_not_end_in_what_is_shown() -> None:
    text, carets = _rendered((LONG,), 1, 60_000, 110_000)[2:]
    assert len(carets) <= len(text) <= 220
    assert set(carets.replace("  ", "", 1).replace("|", "")) == {" ", "^"}


def test_a_long_neighbour_is_cut_at_its_end() -> None:
    shown = _rendered((LONG, "x = y", LONG), 2, 4, 5)
    cut = LONG[:200].rstrip() if LONG[:200].endswith(" ") else LONG[:200]
    assert shown[2].rstrip(".").rstrip() == f"  1 | {cut}"
    assert shown[3:] == ["  2 | x = y", "    |     ^"]


def test_a_line_of_two_hundred_characters_is_whole() -> None:
    line = "x" * 200
    assert _rendered((line,), 1, 199, 200)[2:] == [f"  1 | {line}", "    | " + " " * 199 + "^"]
