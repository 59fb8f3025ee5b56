"""The name that a misspelled one is probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["nearest"]

_SLIP = 0.5  # letters exchanged, a letter doubled, an underscore: the commonest slips
_PART = 0.35  # how much of the longer name may be wrong
_ALIKE = 0.7  # how much of both names is in both, where words are missing or too many


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The one of ``known`` that ``name`` is probably meant to be, in upper or lower case.

    Slips are counted; of names that are equally far, the one that begins, then ends, alike is
    taken, then the first. Where none is that near, the one that shares most of its letters, as a
    part of a name does.
    """
    names = list(dict.fromkeys(known))
    if name in names:
        return name
    low = name.lower()
    found: tuple[tuple[float, int, int], str] | None = None
    for other in names:
        reached = other.lower()
        limit = _PART * max(len(low), len(reached))
        if abs(len(low) - len(reached)) > limit / _SLIP:
            continue
        distance = _distance(low, reached)
        rank = (distance, -_shared(low, reached), -_shared(low[::-1], reached[::-1]))
        if distance <= limit and (found is None or rank < found[0]):
            found = rank, other
    if found is not None:
        return found[1]
    import difflib

    lower = {other.lower(): other for other in reversed(names)}
    near = difflib.get_close_matches(low, lower, 1, _ALIKE)
    return lower[near[0]] if near else None


def _shared(a: str, b: str) -> int:
    """How many letters both begin with."""
    differ = (at for at, (one, other) in enumerate(zip(a, b, strict=False)) if one != other)
    return next(differ, min(len(a), len(b)))


def _distance(a: str, b: str) -> float:
    """What it takes to make ``b`` of ``a``: letters replaced, put in, taken out or exchanged."""
    rows = [[0.0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) + 1):
        for j in range(len(b) + 1):
            if not i and not j:
                continue
            ways = []
            if i and j:
                ways.append(rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]))
            if i:
                ways.append(rows[i - 1][j] + _single(a, i - 1))
            if j:
                ways.append(rows[i][j - 1] + _single(b, j - 1))
            if i > 1 and j > 1 and (a[i - 1], a[i - 2]) == (b[j - 2], b[j - 1]):
                ways.append(rows[i - 2][j - 2] + _SLIP)
            rows[i][j] = min(ways)
    return rows[-1][-1]


def _single(text: str, at: int) -> float:
    """What one letter too many costs: less when it is the one before it again."""
    letter = text[at]
    return _SLIP if letter == "_" or (at and text[at - 1] == letter) else 1.0
