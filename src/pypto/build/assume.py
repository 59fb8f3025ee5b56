"""Rules of the device that nothing documents, and what a build of the twin takes them to be.

The instruction table names them (``assumptions``): each has choices, of which the first is what
torch does. `PYPTO_ASSUME="max_nan=ignore int_add=saturate"` chooses others. They become part of the
build's name, and so of every key: ``checked max_nan=ignore``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pypto._spelling import nearest
from pypto.error import FeValueError

__all__ = ["flags", "named", "split"]


def named(kind: str, text: str) -> str:
    """The name of build ``kind`` under the assumptions in ``text``: ``name=choice``, separated by
    spaces or commas. Those that are the default are left out, the others sorted. Raises
    FeValueError for a name or a choice that does not exist, and for a name that is given twice."""
    known = _known()
    chosen: dict[str, str] = {}
    for word in text.replace(",", " ").split():
        name, equals, choice = word.partition("=")
        if name not in known:
            raise FeValueError(_unknown(name, known))
        choices = known[name]["choices"]
        if not equals or choice not in choices:
            wanted = " or ".join(f"{name}={one}" for one in choices)
            raise FeValueError(f"'{word}' is not an assumption: write {wanted}")
        if chosen.setdefault(name, choice) != choice:
            raise FeValueError(f"assumption '{name}' is given twice: {chosen[name]} and {choice}")
    others = sorted(f"{n}={c}" for n, c in chosen.items() if c != known[n]["choices"][0])
    return " ".join((kind, *others))


def split(kind: str) -> tuple[str, tuple[str, ...]]:
    """The kind of build proper, and its assumptions."""
    base, *assumptions = kind.split(" ")
    return base, tuple(assumptions)


def flags(assumptions: tuple[str, ...]) -> tuple[str, ...]:
    """What the compiler is told of them."""
    if not assumptions:
        return ()
    known = _known()
    out = []
    for one in assumptions:
        name, _, choice = one.partition("=")
        number = known[name]["choices"].index(choice)
        out.append(f"-DPYPTO_ASSUME_{name.upper()}={number}")
    return tuple(out)


def _known() -> Mapping[str, Mapping[str, Any]]:
    from pypto import target  # the table is not on the path of a warm kernel

    return target.get().assumptions


def _unknown(name: str, known: Mapping[str, object]) -> str:
    near = nearest(name, known)
    hint = f"; did you mean '{near}'?" if near else f"; there are {', '.join(known)}"
    return f"there is no assumption '{name}'{hint}"
