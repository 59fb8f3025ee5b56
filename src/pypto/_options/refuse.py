"""Refusals of names and arguments that no option function has; loaded when one is refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from pypto._options.table import FAMILIES, TILE_FAMILY
from pypto._spelling import nearest
from pypto.error import Diagnostic, FeKeyError, FeTypeError

__all__ = ["refuse_argument", "refuse_name", "refuse_positional", "refuse_type", "where"]


def where(name: str) -> str | None:
    """Where the option or tile ``name`` is set, as a person writes it; None if there is none."""
    if name in FAMILIES[TILE_FAMILY]:
        return (
            f"{name} is a tile: pypto.set_{name}(...) inside the kernel, or "
            f"pypto.options({name}=...)"
        )
    if name in FAMILIES:
        return f"{name} is a family: pypto.set_{name}(...), or pypto.options({name}={{...}})"
    for family, options in FAMILIES.items():
        if name in options:
            return f"{name} is an option of {family}: {family}={{'{name}': ...}}"
    return None


def refuse_name(message: str, name: str, known: Iterable[str]) -> NoReturn:
    """FeKeyError with the nearest of the ``known`` names."""
    known = list(known)
    near = nearest(name, known)
    help = f"did you mean '{near}'?" if near else f"known: {', '.join(known)}"
    raise FeKeyError([Diagnostic(FeKeyError, "F00006", message, help=help)])


def refuse_argument(function: str, name: str, known: Iterable[str]) -> NoReturn:
    """FeKeyError for a keyword argument that ``pypto.<function>`` has not."""
    message = f"pypto.{function} has no argument '{name}'"
    place = where(name)
    if place is None:
        refuse_name(message, name, known)
    raise FeKeyError([Diagnostic(FeKeyError, "F00006", message, help=place)])


def refuse_positional(function: str, arguments: tuple[object, ...]) -> NoReturn:
    """FeTypeError for options that are given to ``pypto.<function>`` by position."""
    first = arguments[0]
    help = f"write pypto.{function}(name=value)"
    if isinstance(first, dict) and first and all(isinstance(key, str) for key in first):
        names = ", ".join(f"{key}={value!r}" for key, value in first.items())
        help = f"write pypto.{function}({names}), or pypto.{function}(**options)"
    refuse_type(f"pypto.{function} takes options by name", "keyword arguments", first, help)


def refuse_type(message: str, expected: str, value: object, help: str | None = None) -> NoReturn:
    """FeTypeError that shows ``value`` and its type."""
    got = f"{value!r} ({type(value).__name__})"
    raise FeTypeError([Diagnostic(FeTypeError, "F00001", message, None, expected, got, help)])
